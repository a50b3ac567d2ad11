//! Threads that V8 does not give back.
//!
//! Owns the last resort against an isolate that is out of memory: V8 would end the process, so the isolate's thread
//! is held for ever instead, and the run ends without it. Its heap stays where it is. Threads of V8's own are
//! not held: there V8 ends the process as it wants to. It calls the meter.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio_util::sync::CancellationToken;

use crate::engine::exit;
use crate::engine::state::Trip;
use crate::engine::supervision::Meter;

/// What a thread works on.
enum Work {
    /// A run, with its meter.
    Run(Arc<Meter>),
    /// The check of a program; whoever waits for it sees this.
    Check(CancellationToken),
}

thread_local! {
    /// What this thread works on; absent on V8's own threads.
    static RUNNING: RefCell<Option<Work>> = const { RefCell::new(None) };
}

/// Marks this thread as the one of a run or a check, until it is dropped.
#[derive(Debug)]
pub(super) struct Running(());

impl Running {
    pub(super) fn begin(meter: &Arc<Meter>) -> Self {
        RUNNING.set(Some(Work::Run(Arc::clone(meter))));
        Self(())
    }

    /// For a thread that checks programs; `lost` is cancelled when it is held.
    pub(super) fn check(lost: CancellationToken) -> Self {
        RUNNING.set(Some(Work::Check(lost)));
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

/// This process has one run at a time and may end for it (E-3).
static EXPENDABLE: AtomicBool = AtomicBool::new(false);

/// From now on, what is out of memory ends the process, on V8's own threads too.
pub(super) fn make_expendable() {
    EXPENDABLE.store(true, Ordering::Release);
}

/// Ends the run of this thread and never returns; returns at once on a thread without work.
pub(super) fn hold_thread() {
    if EXPENDABLE.load(Ordering::Acquire) {
        exit::by_limit(Trip::Heap)
    }
    match RUNNING.take() {
        None => return,
        Some(Work::Run(meter)) => {
            meter.trip(Trip::Heap);
            meter.abandon();
        }
        Some(Work::Check(lost)) => lost.cancel(),
    }
    loop {
        thread::park();
    }
}
