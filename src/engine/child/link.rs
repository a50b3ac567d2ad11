//! The child's end of the socket.
//!
//! Owns what was written and not sent, and what came and was not looked at. It blocks: there is nothing else that its
//! thread could do. A host that is gone, or that breaks the protocol, ends the process. It calls the system alone.

use std::io::{self, Stdin};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::codemode::wire::{Frames, ToChild, ToHost, Violation};
use crate::engine::child::Ready;
use crate::engine::exit;
use crate::engine::spin::{Look, Spin};

/// What was written is sent when it takes this much.
const HELD_BACK: usize = 64 * 1024;

/// Room for what is written that is kept for the rest of a run.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// The host is no more, or not a host.
const FORSAKEN: i32 = 3;

/// The socket is this process's standard input.
pub(super) struct Link {
    socket: Stdin,
    frames: Frames,
    out: Vec<u8>,
    spin: Spin,
    /// The host says nothing more.
    closed: bool,
}

impl Link {
    pub(super) fn open() -> Self {
        Self {
            socket: io::stdin(),
            frames: Frames::default(),
            out: Vec::new(),
            spin: Spin::new(),
            closed: false,
        }
    }

    /// Writes a message, to be sent with what follows.
    pub(super) fn write(&mut self, message: &ToHost<'_>) {
        message.encode(&mut self.out);
        if self.out.len() >= HELD_BACK {
            self.flush();
        }
    }

    /// Sends what was written.
    pub(super) fn flush(&mut self) {
        let mut sent = 0;
        while let Some(rest) = self.out.get(sent..).filter(|rest| !rest.is_empty()) {
            match send(self.socket.as_fd(), rest, SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::INTR) => {}
                Err(_) => exit::end(FORSAKEN),
            }
        }
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES);
    }

    /// Says that this process cannot be a child.
    pub(super) fn fail(&mut self, reason: &str) {
        self.ready(&Ready::new(Vec::new(), Some(reason.to_owned())));
    }

    /// Says that a program can come.
    pub(super) fn ready(&mut self, ready: &Ready) {
        self.frames.rest();
        self.out = Vec::new();
        self.spin.renew();
        let text = serde_json::to_string(ready).unwrap_or_default();
        self.write(&ToHost::Ready(&text));
        self.flush();
    }

    /// The next message that is there; `read` is asked for it once. The host has said all when there is none and the link
    /// is closed.
    pub(super) fn next<T>(&mut self, read: impl FnOnce(ToChild<'_>) -> T) -> Option<T> {
        let message = self.frames.next(usize::MAX).and_then(|frame| frame.map(ToChild::decode).transpose());
        match message {
            Ok(message) => message.map(read),
            Err(violation) => broken(&violation),
        }
    }

    /// Waits for more; at most so long, or for ever.
    pub(super) fn wait(&mut self, most: Option<Duration>) {
        let Self { socket, frames, spin, closed, .. } = self;
        spin.wait(|look| {
            let flags = match look {
                Look::Awake => RecvFlags::DONTWAIT,
                Look::Asleep => RecvFlags::empty(),
            };
            if let (Look::Asleep, Some(most)) = (look, most) {
                let timeout = Timespec::try_from(most).ok();
                let mut ready = [PollFd::new(&*socket, PollFlags::IN)];
                match poll(&mut ready, timeout.as_ref()) {
                    Ok(0) | Err(Errno::INTR) => return false,
                    Ok(_) => {}
                    Err(_) => exit::end(FORSAKEN),
                }
            }
            let come = take(socket, frames, flags);
            *closed |= come == Some(0);
            come.is_some()
        });
    }

    /// Takes what is there without waiting.
    pub(super) fn look(&mut self) {
        let come = take(&self.socket, &mut self.frames, RecvFlags::DONTWAIT);
        self.closed |= come == Some(0);
    }

    /// The next message, however long it takes; nothing when the host has said all.
    pub(super) fn receive<T>(&mut self, mut read: impl FnMut(ToChild<'_>) -> T) -> Option<T> {
        loop {
            if let Some(message) = self.next(&mut read) {
                return Some(message);
            }
            if self.closed {
                return None;
            }
            self.wait(None);
        }
    }

    /// Whether the host says nothing more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Takes bytes that came, and says how many; none when the host says nothing more, and nothing when none has come.
fn take(socket: &Stdin, frames: &mut Frames, flags: RecvFlags) -> Option<usize> {
    match recv(socket.as_fd(), spare_capacity(frames.room()), flags) {
        Ok((bytes, _)) => Some(bytes),
        Err(Errno::INTR | Errno::AGAIN) => None,
        Err(_) => exit::end(FORSAKEN),
    }
}

/// The host does not keep to the protocol: there is nothing that this process could still be for.
pub(super) fn broken(_violation: &Violation) -> ! {
    exit::end(FORSAKEN)
}
