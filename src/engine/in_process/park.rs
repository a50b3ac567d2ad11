//! Waiting on the isolate's thread.
//!
//! Owns the smallest executor there is: one future, this thread, parked until woken. Waking the thread that is
//! already running costs one atomic and no system call, which is what keeps a call of a quick tool cheap.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

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

/// Works `future` to its end on this thread.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&parker));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !parker.woken.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }
}
