//! The thread of one isolate.
//!
//! Owns the life of an isolate: made, announced, used for one job, discarded. It calls the execution.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::codemode::StateDraft;
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::Origin;
use crate::codemode::lane::LaneHandle;
use crate::codemode::program::PreparedProgram;
use crate::engine::execution::{Ended, Execution, Outside, execute};
use crate::engine::in_process::near::Near;
use crate::engine::in_process::park::Park;
use crate::engine::in_process::pool::Pool;
use crate::engine::isolate::{FreshIsolate, IsolateLimits};
use crate::engine::shared_lane::SharedLane;
use crate::engine::state::Logs;
use crate::engine::supervision::Meter;
use crate::limits::RunLimits;

/// One run, on its way to an isolate's thread.
pub(super) struct Job {
    pub(super) program: Arc<PreparedProgram>,
    pub(super) bindings: Arc<Bindings>,
    pub(super) limits: RunLimits,
    pub(super) state: StateDraft,
    pub(super) cancel: CancellationToken,
    pub(super) handle: LaneHandle,
    pub(super) lane: SharedLane,
    pub(super) logs: Arc<Logs>,
    pub(super) meter: Arc<Meter>,
    pub(super) origin: Origin,
    /// What has passed of the run already.
    pub(super) spent: Duration,
    /// The host's runtime: bodies and timers belong to it.
    pub(super) host: tokio::runtime::Handle,
    /// Where the next isolate is made ready once this program has begun.
    pub(super) pool: Pool,
    pub(super) reply: oneshot::Sender<Ended>,
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
    let Job {
        program,
        bindings,
        limits,
        state,
        cancel,
        handle,
        lane,
        logs,
        meter,
        origin,
        spent,
        host,
        pool,
        reply,
    } = job;
    let _runtime = host.enter();
    let near = Rc::new(Near {
        park: Park::new(),
        handle,
        lane,
        bindings: Arc::clone(&bindings),
        most: limits.value_bytes(),
        state,
        logs,
        cancel,
    });
    let outside = Rc::clone(&near) as Rc<dyn Outside>;
    let execution =
        Execution { program, bindings, limits, meter: Arc::clone(&meter), outside, origin, spent };
    let ended = execute(&mut isolate, execution, || pool.refill());
    if reply.send(ended).is_err() && !meter.is_given_up() {
        // The host let go of the run: nobody else ends its calls and tells the ledger.
        near.wind_down();
    }
}
