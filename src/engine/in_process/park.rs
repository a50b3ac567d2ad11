//! Waiting on the isolate's thread.
//!
//! Owns the smallest executor there is: one future, this thread, parked until woken. Waking the thread that is
//! already running costs one atomic and no system call, which is what keeps a call of a quick tool cheap. It never
//! looks into the future and calls nothing else.
//!
//! The flag and the parking are a protocol of its own, so a model checker walks through every interleaving of them:
//!
//! ```text
//! RUSTFLAGS='--cfg isolane_loom' cargo test --lib park::model
//! ```

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
#[cfg(not(all(test, isolane_loom)))]
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
#[cfg(not(all(test, isolane_loom)))]
use std::thread::{self, Thread};

#[cfg(all(test, isolane_loom))]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(all(test, isolane_loom))]
use loom::thread::{self, Thread};

struct Parker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.thread.unpark();
        }
    }
}

/// The executor of the thread that it was made on.
pub(super) struct Park {
    parker: Arc<Parker>,
    waker: Waker,
}

impl Park {
    /// For this thread.
    pub(super) fn new() -> Self {
        let parker = Arc::new(Parker { thread: thread::current(), woken: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&parker));
        Self { parker, waker }
    }

    /// Works `future` to its end.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut context = Context::from_waker(&self.waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            while !self.parker.woken.swap(false, Ordering::AcqRel) {
                thread::park();
            }
        }
    }
}

#[cfg(all(test, isolane_loom))]
mod model {
    use std::future::poll_fn;

    use loom::future::AtomicWaker;

    use super::*;

    /// A wake-up that comes at any moment ends the wait; a missed one is a deadlock, which the model reports.
    #[test]
    fn no_wake_up_is_missed_in_any_order() {
        loom::model(|| {
            let shared = loom::sync::Arc::new((AtomicBool::new(false), AtomicWaker::new()));
            let waiting = {
                let shared = loom::sync::Arc::clone(&shared);
                thread::spawn(move || {
                    Park::new().block_on(poll_fn(|context| {
                        shared.1.register_by_ref(context.waker());
                        if shared.0.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
                    }));
                })
            };
            // Once for nothing, once with something to see.
            shared.1.wake();
            shared.0.store(true, Ordering::Release);
            shared.1.wake();
            waiting.join().unwrap();
        });
    }
}
