//! The thread of one isolate.
//!
//! Owns the life of an isolate: made, announced, used for one job, discarded. It calls the event loop.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::clock::SystemClock;
use crate::codemode::RunRequest;
use crate::codemode::lane::LaneHandle;
use crate::engine::in_process::event_loop::Returned;
use crate::engine::in_process::{SharedLane, event_loop, park, pool::Pool, rejections::Rejections};
use crate::engine::isolate::{FreshIsolate, IsolateLimits};
use crate::engine::lost::Running;
use crate::engine::state::{Logs, RunState, Timers};
use crate::engine::supervision::Meter;
use crate::outcome::RunFailure;

/// One run, on its way to an isolate's thread.
pub(super) struct Job {
    pub(super) request: RunRequest,
    pub(super) handle: LaneHandle,
    pub(super) lane: SharedLane,
    pub(super) logs: Arc<Logs>,
    pub(super) meter: Arc<Meter>,
    /// The host's runtime: bodies and timers belong to it.
    pub(super) host: tokio::runtime::Handle,
    /// Where the next isolate is made ready once this program has begun.
    pub(super) pool: Pool,
    pub(super) reply: oneshot::Sender<Ended>,
}

/// How the program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) result: Result<Option<Value>, RunFailure>,
    pub(super) busy: Duration,
    pub(super) notes: Vec<String>,
}

/// Makes an isolate, announces it, and runs the one job that comes.
pub(super) fn serve(limits: IsolateLimits, jobs: &Receiver<Job>, announce: impl FnOnce(v8::IsolateHandle)) {
    let isolate = match FreshIsolate::new(limits) {
        Ok(isolate) => isolate,
        // Not announced: whoever waits is told that no isolate could be made.
        Err(error) => return tracing::error!(%error, "the engine cannot start"),
    };
    announce(isolate.isolate.thread_safe_handle());
    // Nothing comes when the pool has been dropped.
    if let Ok(job) = jobs.recv() {
        run(isolate, job);
    }
}

fn run(mut isolate: FreshIsolate, job: Job) {
    let Job { request, handle, lane, logs, meter, host, pool, reply } = job;
    let _runtime = host.enter();
    let RunRequest { program, bindings, limits, cancel, state: kept, spent: _, logs: _ } = request;
    let state = RunState {
        context: isolate.context.clone(),
        program,
        bindings,
        limits,
        meter: Arc::clone(&meter),
        lane: handle.clone(),
        logs,
        kept,
        clock: Arc::new(SystemClock::new()),
        buffers: Arc::clone(&isolate.buffers),
        timers: Timers::default(),
        printed_bytes: 0,
        promise: None,
        unhandled: Rejections::default(),
        interrupted_at: None,
    };
    isolate.begin_run(state);
    let running = Running::begin(&meter);
    let returned = park::block_on(event_loop::run(&mut isolate, &lane, &cancel, || pool.refill()));
    let timers = isolate.state().map_or(0, |state| state.timers.waiting());
    isolate.end_run();
    let (result, notes) = match returned {
        Ok(Returned { value, late }) => {
            (Ok(value), late.into_iter().chain((timers > 0).then(|| left_timers(timers))).collect())
        }
        Err(failure) => (Err(failure), Vec::new()),
    };
    let sent = reply.send(Ended { result, busy: meter.busy(), notes });
    if sent.is_err() && !meter.is_given_up() {
        // The host let go of the run: nobody else ends its calls and tells the ledger.
        handle.close();
        park::block_on(lane.finish());
    }
    drop(running);
}

fn left_timers(count: usize) -> String {
    let (timers, they) =
        if count == 1 { ("1 timer was".to_owned(), "it") } else { (format!("{count} timers were"), "they") };
    format!(
        "{timers} still waiting when the program ended, and what {they} would have done did not happen; await a promise that the timer settles"
    )
}
