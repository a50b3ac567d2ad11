//! Threads that V8 does not give back.
//!
//! Owns the last resort against an isolate that is out of memory: V8 would end the process, so the isolate's thread
//! is held for ever instead, and the run ends without it. Its heap stays where it is. Threads of V8's own are
//! not held: there V8 ends the process as it wants to. It calls the meter.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

use crate::engine::state::Trip;
use crate::engine::supervision::Meter;

thread_local! {
    /// The meter of the run on this thread; absent on threads that run no program.
    static RUNNING: RefCell<Option<Arc<Meter>>> = const { RefCell::new(None) };
}

/// Marks this thread as the one of a run, until it is dropped.
#[derive(Debug)]
pub(super) struct Running(());

impl Running {
    pub(super) fn begin(meter: &Arc<Meter>) -> Self {
        RUNNING.set(Some(Arc::clone(meter)));
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

/// Ends the run of this thread and never returns; returns at once on a thread without a run.
pub(super) fn hold_thread() {
    let Some(meter) = RUNNING.take() else { return };
    meter.trip(Trip::Heap);
    meter.abandon();
    drop(meter);
    loop {
        thread::park();
    }
}
