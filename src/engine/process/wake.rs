//! Waking a thread that waits for a socket.
//!
//! Owns one descriptor that is readable when there is something to do. Waking costs nothing while the thread has not
//! yet looked at the last time. It calls the system alone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};

/// Wakes one thread, which polls [`Bell::fd`].
pub(super) struct Bell {
    fd: OwnedFd,
    rung: AtomicBool,
}

impl Bell {
    pub(super) fn new() -> std::io::Result<Arc<Self>> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self { fd, rung: AtomicBool::new(false) }))
    }

    /// Wakes the thread, now or when it next waits.
    pub(super) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // It can only fail by being full, which is rung all the more.
            let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        }
    }

    /// Whether it was rung since the last time; to be asked by the thread before it looks at what there is.
    pub(super) fn heard(&self) -> bool {
        if !self.rung.load(Ordering::Acquire) {
            return false;
        }
        let _ = rustix::io::read(&self.fd, &mut [0_u8; 8]);
        // Before the look at what there is, which a plain store might pass: whoever rings from here on rings anew.
        self.rung.swap(false, Ordering::AcqRel)
    }

    /// Readable while it has been rung.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
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
