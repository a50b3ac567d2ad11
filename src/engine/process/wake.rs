//! Waking a thread that waits for a socket.
//!
//! Owns one descriptor that is readable when a sleeper was woken. Ringing costs no call of the system while the thread
//! is awake: it looks before it sleeps. It calls the system alone.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Wake;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// The thread is awake, and nothing has come since it last looked.
const QUIET: u8 = 0;
/// It was rung.
const RUNG: u8 = 1;
/// It sleeps, or is about to.
const ASLEEP: u8 = 2;

/// Wakes one thread, which sleeps in [`Bell::sleep`].
pub(super) struct Bell {
    fd: OwnedFd,
    state: AtomicU8,
}

impl Bell {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self { fd, state: AtomicU8::new(QUIET) }))
    }

    /// Wakes the thread, now or when it next would sleep.
    pub(super) fn ring(&self) {
        if self.state.swap(RUNG, Ordering::AcqRel) == ASLEEP {
            // It can only fail by being full, which wakes all the more.
            let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        }
    }

    /// To be called by the thread before it looks at what there is: whoever rings from here on keeps it awake.
    pub(super) fn heard(&self) {
        self.state.swap(QUIET, Ordering::AcqRel);
    }

    /// Whether it was rung since it was last heard.
    pub(super) fn is_rung(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNG
    }

    /// Sleeps until it is rung, or so long, or until the socket is as it is waited for. Not at all if it was rung since
    /// it was last heard.
    pub(super) fn sleep(&self, socket: Option<(BorrowedFd<'_>, PollFlags)>, most: Option<&Timespec>) {
        if self.state.compare_exchange(QUIET, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return;
        }
        let own = PollFd::new(&self.fd, PollFlags::IN);
        // Interrupted is as good as woken.
        let woken = if let Some((socket, flags)) = socket {
            let mut both = [own, PollFd::from_borrowed_fd(socket, flags)];
            let _ = poll(&mut both, most);
            both[0].revents()
        } else {
            let mut alone = [own];
            let _ = poll(&mut alone, most);
            alone[0].revents()
        };
        // A ring keeps its state, to be heard. One that comes between the two writes when all is awake: the next sleep
        // is short for it, and nothing is lost.
        let _ = self.state.compare_exchange(ASLEEP, QUIET, Ordering::AcqRel, Ordering::Acquire);
        if woken.contains(PollFlags::IN) {
            let _ = rustix::io::read(&self.fd, &mut [0_u8; 8]);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
