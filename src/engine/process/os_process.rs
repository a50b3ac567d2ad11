//! One child process, as its host holds it.
//!
//! Owns the start of the program, the socket, and the end of the process: dropping it kills it and waits for it, so that
//! none is left behind. It knows nothing of runs. It calls the system and the frames.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{Timespec, poll};

use crate::clock::{Clock, SystemClock};
use crate::codemode::wire::Frames;
use crate::engine::child::MARK;
use crate::engine::exit;
use crate::engine::process::options::{ChildProgram, ProcessError};
use crate::engine::process::watch::Watch;
use crate::engine::state::Trip;

/// Most bytes of one read.
const CHUNK: usize = 64 * 1024;

/// Most bytes that are read before something else has its turn.
const READ_AT_ONCE: usize = 16 * CHUNK;

/// What has been sent is kept until it is so much, or all.
const MOST_SENT: usize = 4 * 1024 * 1024;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// A limit that V8 would not heed ended it.
    Limit(Trip),
    /// It ended by itself.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The system does not tell.
    Unknown,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit(_) => f.write_str("ended by a limit"),
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Unknown => f.write_str("ended"),
        }
    }
}

/// A child and its socket.
pub(super) struct Process {
    child: Child,
    socket: UnixStream,
    chunk: Box<[u8]>,
    pub(super) frames: Frames,
    /// What is to be sent, behind what has been.
    pub(super) out: Vec<u8>,
    /// How much of that has been.
    sent: usize,
    /// It says nothing more.
    pub(super) ended: bool,
    pub(super) watch: Watch,
}

impl Process {
    /// Starts the program of a child: without environment, and without descriptors but the socket.
    pub(super) fn start(program: &ChildProgram) -> Result<Self, ProcessError> {
        let path = path(program);
        let failed = |error: io::Error| ProcessError::Start {
            program: path.display().to_string(),
            reason: error.to_string(),
        };
        let (socket, its) = UnixStream::pair().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let child = Command::new(&path)
            .arg(MARK)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What a terminal tells its foreground is for the host, which tells its children what it wants of them.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut child = child;
        let Some(watch) = Watch::open(child.id()) else {
            // Nobody would see what it takes. It fails when it has ended already.
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(io::Error::other("what it takes of the machine cannot be read from /proc")));
        };
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Ok(Self {
            child,
            socket,
            chunk,
            frames: Frames::default(),
            out: Vec::new(),
            sent: 0,
            ended: false,
            watch,
        })
    }

    /// Sends what it takes of what is to be sent.
    pub(super) fn send(&mut self) {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.socket.write(rest) {
                Ok(0) => break,
                Ok(more) => self.sent += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // It is gone, or does not listen; reading tells.
                Err(_) => self.sent = self.out.len(),
            }
        }
        // What was sent is let go of all at once: bit by bit, a large outcome would be moved again and again.
        if self.sent == self.out.len() {
            self.out.clear();
            self.out.shrink_to(4 * CHUNK);
            self.sent = 0;
        } else if self.sent > MOST_SENT {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Takes what has come.
    pub(super) fn receive(&mut self) {
        let mut taken = 0;
        while !self.ended && taken < READ_AT_ONCE {
            match self.socket.read(&mut self.chunk) {
                Ok(0) => self.ended = true,
                Ok(bytes) => {
                    self.frames.push(self.chunk.get(..bytes).unwrap_or_default());
                    taken += bytes;
                    if bytes < self.chunk.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.ended = true,
            }
        }
    }

    /// Tells it that nothing more will be said: what it runs is cancelled.
    pub(super) fn say_no_more(&self) {
        // It fails when the child is gone already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; nothing while it has not.
    pub(super) fn exited(&mut self) -> Option<Exit> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(exit_of(status)),
            // Somebody else has waited for it.
            Err(_) => Some(Exit::Unknown),
        }
    }

    /// How it ended, waiting so long for it to end by itself and killing it then.
    pub(super) fn end(&mut self, patience: Duration) -> Exit {
        let clock = SystemClock::new();
        loop {
            if let Some(exit) = self.exited() {
                return exit;
            }
            if clock.monotonic() >= patience {
                break;
            }
            // A process that has closed its socket is about to end.
            let _ = poll(&mut [], Timespec::try_from(Duration::from_micros(500)).ok().as_ref());
        }
        // It fails when it has ended already.
        let _ = self.child.kill();
        self.child.wait().map_or(Exit::Unknown, exit_of)
    }

    /// Bounds its processor time from now on (E-4): the kernel's own limit, behind all others.
    pub(super) fn bound_processor(&self, used: Duration, more: Duration) {
        let seconds = used.saturating_add(more).as_secs().saturating_add(1);
        let limit = rustix::process::Rlimit { current: Some(seconds), maximum: None };
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        let resource = rustix::process::Resource::Cpu;
        if let Err(error) = pid.map_or(Ok(limit), |pid| rustix::process::prlimit(Some(pid), resource, limit))
        {
            tracing::debug!(%error, "the processor time of a child is not bounded by the kernel");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => exit::limit_of(code).map_or(Exit::Code(code), Exit::Limit),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// The program's path. That of the host itself is the kernel's name for it, which is right also when the file has been
/// replaced since.
pub(super) fn path(program: &ChildProgram) -> PathBuf {
    match program {
        ChildProgram::Own => PathBuf::from("/proc/self/exe"),
        ChildProgram::At(path) => path.clone(),
    }
}
