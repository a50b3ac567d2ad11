//! The in-process runtime: isolates on threads of the host (E-1).
//!
//! Owns the host's side of a run: taking an isolate, handing it the program, and having an outcome whatever
//! becomes of the isolate's thread. What this isolation cannot promise (a V8 abort ends the host; a built-in that
//! never looks up keeps a thread) is in `docs/limitations.md`. It calls the pool and the lane.

mod near;
mod park;
mod pool;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::clock::{Clock, SystemClock};
use crate::codemode::lane::{LaneDriver, LaneHandle};
use crate::codemode::{CodeRuntime, RunReport, RunRequest};
use crate::engine::execution::{Ended, engine_exit, shorten};
use crate::engine::isolate::IsolateLimits;
use crate::engine::shared_lane::{self, SharedLane};
use crate::engine::state::{Logs, Trip};
use crate::engine::supervision::{Meter, Resort};
use crate::engine::surroundings::host_runtime;
use crate::limits::RunLimits;
use crate::outcome::RunFailure;
use crate::pipeline::BoxFuture;

use pool::Pool;
use worker::Job;

/// How the in-process runtime works.
#[derive(Clone, Debug)]
pub struct InProcessOptions {
    /// Isolates that are made before they are needed. Each costs about 2 MiB; 0 makes them on demand. Default 1.
    pub ready: usize,
    /// The limits that ready isolates are made with; a run with other heap limits gets an isolate of its own.
    pub limits: RunLimits,
}

impl Default for InProcessOptions {
    fn default() -> Self {
        Self { ready: 1, limits: RunLimits::default() }
    }
}

/// Runs programs in isolates inside this process, each on a thread of its own. Cloning shares the isolates.
///
/// V8 starts with the first isolate. Runs need a tokio runtime with time enabled.
#[derive(Clone)]
pub struct InProcessRuntime {
    pool: Pool,
    lost: Arc<AtomicU64>,
}

impl InProcessRuntime {
    /// A runtime that starts making its ready isolates at once.
    pub fn new(options: &InProcessOptions) -> Self {
        let pool = Pool::new(isolate_limits(&options.limits), options.ready);
        Self { pool, lost: Arc::default() }
    }

    /// Threads that were given up because V8 did not listen; each goes on until V8 comes back by itself.
    pub fn lost_threads(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    async fn run_one(self, mut request: RunRequest, handle: LaneHandle, driver: LaneDriver) -> RunReport {
        let logs = Arc::new(Logs::new(request.logs.take()));
        let lane = SharedLane::new(driver);
        // A host that drops this future cancels the run.
        let cancel = request.cancel.child_token();
        request.cancel = cancel.clone();
        let _cancels = cancel.drop_guard();
        let mut notes = Vec::new();
        let started = match host_runtime() {
            Ok(host) => self.start(request, &handle, &lane, &logs, &host, &mut notes).await,
            Err(failure) => Err(failure),
        };
        let Ended { mut result, busy, notes: ended, inputs, stray } =
            started.unwrap_or_else(|failure| Ended::without_program(failure, Duration::ZERO));
        notes.extend(ended);
        handle.close();
        let report = shared_lane::finish(&handle, lane).await;
        let printed = logs.take();
        if let Err(failure) = &mut result {
            shorten(&mut failure.message);
        }
        RunReport { result, logs: printed, notes, inputs, stray, lane: report, busy }
    }

    /// Runs the program to its end, or to the point where its thread is lost.
    async fn start(
        &self,
        request: RunRequest,
        handle: &LaneHandle,
        lane: &SharedLane,
        logs: &Arc<Logs>,
        host: &Handle,
        notes: &mut Vec<String>,
    ) -> Result<Ended, RunFailure> {
        let RunRequest { program, bindings, origin, limits, session: _, clock, state, cancel, logs: _ } =
            request;
        // Preparing and waiting for an isolate are part of the run: they count, and they end with it.
        let begun = clock.monotonic();
        let (program, told) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Trip::Abort.failure(&limits)),
            prepared = program.prepare(&bindings) => prepared?,
            () = clock.sleep(limits.wall) => return Err(Trip::Wall.failure(&limits)),
        };
        *notes = told;
        let spent = clock.monotonic().saturating_sub(begun);
        let waiting = SystemClock::new();
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Trip::Abort.failure(&limits)),
            ready = self.pool.take(isolate_limits(&limits)) => ready.map_err(|error| engine_exit(&error.to_string()))?,
            () = waiting.sleep(limits.wall.saturating_sub(spent)) => return Err(Trip::Wall.failure(&limits)),
        };
        let spent = spent.saturating_add(waiting.monotonic());
        let meter = Meter::new(&limits, spent, cancel.clone(), ready.isolate(), Resort::Forsake);
        let (reply, ended) = oneshot::channel();
        let job = Job {
            program,
            bindings,
            limits: limits.clone(),
            state,
            cancel,
            handle: handle.clone(),
            lane: lane.clone(),
            logs: Arc::clone(logs),
            meter: Arc::clone(&meter),
            origin,
            spent,
            host: host.clone(),
            pool: self.pool.clone(),
            reply,
        };
        ready.run(job).map_err(|()| engine_exit("an isolate's thread ended before its run"))?;
        tokio::select! {
            ended = ended => ended.map_err(|_| engine_exit("the isolate's thread ended in the middle of the run")),
            () = meter.gave_up() => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                let trip = meter.tripped().unwrap_or(Trip::Busy);
                Ok(Ended::without_program(trip.failure(&limits), meter.busy()))
            }
        }
    }
}

/// Built-ins do not look up while they allocate, and V8, out of memory, would end the host when the next single allocation
/// does not fit; no array and no string takes more than this.
const UNWINDING_BYTES: usize = 1024 * 1024 * 1024;

fn isolate_limits(limits: &RunLimits) -> IsolateLimits {
    IsolateLimits::of(limits, UNWINDING_BYTES)
}

impl CodeRuntime for InProcessRuntime {
    fn language(&self) -> &'static str {
        "ts"
    }

    fn run(
        &self,
        request: RunRequest,
        handle: LaneHandle,
        driver: LaneDriver,
    ) -> BoxFuture<'static, RunReport> {
        Box::pin(self.clone().run_one(request, handle, driver))
    }
}

impl fmt::Debug for InProcessRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcessRuntime").field("lost_threads", &self.lost_threads()).finish_non_exhaustive()
    }
}
