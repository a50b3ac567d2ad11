//! The in-process runtime: isolates on threads of the host (E-1).
//!
//! Owns the host's side of a run: taking an isolate, handing it the program, and having an outcome whatever
//! becomes of the isolate's thread. What this isolation cannot promise (a V8 abort ends the host; a built-in that
//! never looks up keeps a thread) is in `docs/limitations.md`. It calls the pool and the lane.

mod event_loop;
mod failure;
mod park;
mod pool;
pub(super) mod rejections;
mod turn;
mod worker;

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::clock::{Clock, SystemClock};
use crate::codemode::lane::{LaneDriver, LaneHandle, LaneReport};
use crate::codemode::{CodeRuntime, RunReport, RunRequest};
use crate::engine::isolate::IsolateLimits;
use crate::engine::state::{Logs, Trip};
use crate::engine::supervision::Meter;
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunFailureKind};
use crate::pipeline::BoxFuture;

use pool::Pool;
use worker::{Ended, Job};

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
        let started = match host_runtime() {
            Ok(host) => self.start(request, &handle, &lane, &logs, &host).await,
            Err(failure) => Err(failure),
        };
        let (mut result, busy, notes) = match started {
            Ok(Ended { result, busy, notes }) => (result, busy, notes),
            Err(failure) => (Err(failure), Duration::ZERO, Vec::new()),
        };
        handle.close();
        let report = finish(&handle, lane).await;
        let printed = logs.take();
        if let Err(failure) = &mut result {
            shorten(&mut failure.message);
        }
        RunReport { result, logs: printed, notes, lane: report, busy }
    }

    /// Runs the program to its end, or to the point where its thread is lost.
    async fn start(
        &self,
        request: RunRequest,
        handle: &LaneHandle,
        lane: &SharedLane,
        logs: &Arc<Logs>,
        host: &Handle,
    ) -> Result<Ended, RunFailure> {
        let limits = request.limits.clone();
        // Waiting for an isolate is part of the run: it counts, and it ends with it.
        let clock = SystemClock::new();
        let left = limits.wall.saturating_sub(request.spent);
        let ready = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(Trip::Abort.failure(&limits)),
            ready = self.pool.take(isolate_limits(&limits)) => ready.map_err(|error| engine_exit(&error.to_string()))?,
            () = clock.sleep(left) => return Err(Trip::Wall.failure(&limits)),
        };
        let spent = request.spent.saturating_add(clock.monotonic());
        let meter = Meter::new(&limits, spent, request.cancel.clone(), ready.isolate());
        let (reply, ended) = oneshot::channel();
        let job = Job {
            request,
            handle: handle.clone(),
            lane: lane.clone(),
            logs: Arc::clone(logs),
            meter: Arc::clone(&meter),
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
                Ok(Ended { result: Err(trip.failure(&limits)), busy: meter.busy(), notes: Vec::new() })
            }
        }
    }
}

/// The host's runtime, or what it lacks.
fn host_runtime() -> Result<Handle, RunFailure> {
    let host = Handle::try_current()
        .map_err(|_| unusable("programs need a tokio runtime around them, and there is none"))?;
    // There is no way to ask, and a wait without timers panics: better here than in the middle of a run.
    let waits = || drop(SystemClock::new().sleep(Duration::ZERO));
    catch_unwind(waits).map_err(|_| {
        unusable("the host's tokio runtime has no timers; build it with `enable_time()` or `enable_all()`")
    })?;
    Ok(host)
}

fn unusable(what: &str) -> RunFailure {
    RunFailure::new(RunFailureKind::EngineExit, what)
}

/// Waits until every started call is settled, which goes on when the host stops waiting.
async fn finish(handle: &LaneHandle, lane: SharedLane) -> LaneReport {
    match Handle::try_current() {
        Ok(host) if handle.submitted() > 0 => {
            host.spawn(async move { lane.finish().await }).await.unwrap_or_default()
        }
        _ => lane.finish().await,
    }
}

fn isolate_limits(limits: &RunLimits) -> IsolateLimits {
    IsolateLimits { heap_bytes: limits.heap_bytes, array_buffer_bytes: limits.array_buffer_bytes }
}

fn engine_exit(reason: &str) -> RunFailure {
    RunFailure::new(
        RunFailureKind::EngineExit,
        format!("the engine failed: {reason}; running the program again may help"),
    )
}

/// The longest message of a failure, in bytes. The limit of output does not hold for it: what went wrong has to be
/// told whatever was printed before, and however little may be.
const MAX_MESSAGE: usize = 16 * 1024;

/// Keeps the beginning of a message that is too long, and says so.
pub(super) fn shorten(message: &mut String) {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push_str("... (the rest of the message was cut)");
    }
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

/// The lane's one future. The isolate's thread works it while the program runs, so that a call costs no change of
/// threads; the host works it to its end afterwards, also when that thread is lost.
#[derive(Clone)]
struct SharedLane {
    driving: Arc<Mutex<Driving>>,
}

enum Driving {
    Works(Pin<Box<dyn Future<Output = LaneReport> + Send>>),
    /// At its end; the report is there until it is taken.
    Done(Option<LaneReport>),
    /// It panicked. It must not be polled again.
    Broken,
}

impl SharedLane {
    fn new(driver: LaneDriver) -> Self {
        Self { driving: Arc::new(Mutex::new(Driving::Works(Box::pin(driver.drive())))) }
    }

    /// Does what there is to do. False when the lane is broken: what it has not settled yet, it never will.
    fn work(&self, context: &mut Context<'_>) -> bool {
        let mut driving = self.driving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Driving::Works(future) = &mut *driving {
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(report)) => *driving = Driving::Done(Some(report)),
                Err(_) => *driving = Driving::Broken,
            }
        }
        !matches!(*driving, Driving::Broken)
    }

    async fn finish(&self) -> LaneReport {
        poll_fn(|context| {
            self.work(context);
            match &mut *self.driving.lock().unwrap_or_else(PoisonError::into_inner) {
                Driving::Works(_) => Poll::Pending,
                Driving::Done(report) => Poll::Ready(report.take().unwrap_or_default()),
                Driving::Broken => Poll::Ready(LaneReport::default()),
            }
        })
        .await
    }
}
