//! The child's end of the socket.
//!
//! Owns what was written and not sent, and what came and was not looked at. It blocks: there is nothing else that its
//! thread could do. A host that is gone, or that breaks the protocol, ends the process. It calls the system alone.

use std::io::{self, Stdin};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::codemode::wire::{Frames, ToChild, ToHost, Violation};
use crate::engine::child::Ready;
use crate::engine::exit;

/// Most bytes of one read.
const CHUNK: usize = 64 * 1024;

/// What was written is sent when it takes this much.
const HELD_BACK: usize = 64 * 1024;

/// The host is no more, or not a host.
const FORSAKEN: i32 = 3;

/// The socket is this process's standard input.
pub(super) struct Link {
    socket: Stdin,
    frames: Frames,
    out: Vec<u8>,
    chunk: Box<[u8]>,
    /// The host says nothing more.
    closed: bool,
}

impl Link {
    pub(super) fn open() -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Self { socket: io::stdin(), frames: Frames::default(), out: Vec::new(), chunk, closed: false }
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
        self.out.shrink_to(2 * HELD_BACK);
    }

    /// Says that this process cannot be a child.
    pub(super) fn fail(&mut self, reason: &str) {
        self.ready(&Ready::new(Vec::new(), Some(reason.to_owned())));
    }

    /// Says that a program can come.
    pub(super) fn ready(&mut self, ready: &Ready) {
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
        if let Some(most) = most {
            let timeout = Timespec::try_from(most).ok();
            let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut ready, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) => return,
                Ok(_) => {}
                Err(_) => exit::end(FORSAKEN),
            }
        }
        self.read(RecvFlags::empty());
    }

    /// Takes what is there without waiting.
    pub(super) fn look(&mut self) {
        self.read(RecvFlags::DONTWAIT);
    }

    fn read(&mut self, flags: RecvFlags) {
        if self.closed {
            return;
        }
        match recv(self.socket.as_fd(), &mut *self.chunk, flags) {
            Ok((_, 0)) => self.closed = true,
            Ok((_, bytes)) => self.frames.push(self.chunk.get(..bytes).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => exit::end(FORSAKEN),
        }
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

/// The host does not keep to the protocol: there is nothing that this process could still be for.
pub(super) fn broken(_violation: &Violation) -> ! {
    exit::end(FORSAKEN)
}
