//! The process runtime: programs in child processes that have no powers (E-1, the default).
//!
//! Owns the host's side of a run: a child from the pool, the job for the thread that conducts it, and an outcome whatever
//! becomes of the child (E-3). It never starts V8 in the host. It calls the pool and the lane.

mod conductor;
mod converse;
mod options;
mod os_process;
mod pool;
mod wake;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::clock::{Clock, SystemClock};
use crate::codemode::lane::{LaneDriver, LaneHandle};
use crate::codemode::{CodeRuntime, RunReport, RunRequest};
use crate::engine::child::LayerReport;
use crate::engine::execution::{Ended, engine_exit, shorten};
use crate::engine::shared_lane::{self, SharedLane};
use crate::engine::state::{Logs, Trip};
use crate::engine::surroundings::host_runtime;
use crate::outcome::RunFailure;
use crate::pipeline::BoxFuture;

pub use options::{ChildProgram, ProcessError, ProcessOptions};

use converse::{Answer, Job};
use pool::Pool;

/// How often a run is offered to another child when the one that it was for died before it began.
const OFFERS: usize = 3;

/// Runs programs in child processes that have no powers of their own (E-4). Cloning shares the children.
///
/// A session is known by its id: hosts whose sessions must not share a child, and may have ids in common, have a runtime
/// each.
///
/// Each child has one thread of the host that conducts it. Runs need a tokio runtime with time enabled.
#[derive(Clone)]
pub struct ProcessRuntime {
    pool: Arc<Pool>,
    /// As many as there may be children.
    places: Arc<Semaphore>,
}

impl ProcessRuntime {
    /// A runtime that starts its warm children at once.
    ///
    /// # Errors
    /// [`ProcessError::NotAChild`] when its own executable is to be the child's and does not begin with
    /// [`run_if_child`](crate::engine::child::run_if_child).
    pub fn new(options: ProcessOptions) -> Result<Self, ProcessError> {
        let places = Arc::new(Semaphore::new(options.max_children.clamp(1, Semaphore::MAX_PERMITS)));
        Ok(Self { pool: Pool::open(options)?, places })
    }

    /// The layers of a child's sandbox as the first child reports them, once there is one (E-4).
    ///
    /// # Errors
    /// Why no child can be started.
    pub async fn layers(&self) -> Result<Vec<LayerReport>, ProcessError> {
        self.pool.layers().await
    }

    /// Children that are there, whatever they do; with those that are being started.
    pub fn children(&self) -> usize {
        self.pool.children()
    }

    async fn run_one(self, mut request: RunRequest, handle: LaneHandle, driver: LaneDriver) -> RunReport {
        let logs = Arc::new(Logs::new(request.logs.take()));
        let lane = SharedLane::new(driver);
        // A host that drops this future cancels the run.
        let cancel = request.cancel.child_token();
        request.cancel = cancel.clone();
        let _cancels = cancel.drop_guard();
        let started = self.start(request, &handle, &lane, &logs).await;
        let Ended { mut result, busy, notes, inputs, stray } =
            started.unwrap_or_else(|failure| Ended::without_program(failure, Duration::ZERO));
        handle.close();
        let report = shared_lane::finish(&handle, lane).await;
        let printed = logs.take();
        if let Err(failure) = &mut result {
            shorten(&mut failure.message);
        }
        RunReport { result, logs: printed, notes, inputs, stray, lane: report, busy }
    }

    async fn start(
        &self,
        request: RunRequest,
        handle: &LaneHandle,
        lane: &SharedLane,
        logs: &Arc<Logs>,
    ) -> Result<Ended, RunFailure> {
        let host = host_runtime()?;
        if let Some(failure) = request.program.oversized(&request.bindings) {
            return Err(failure);
        }
        let begun = Arc::new(SystemClock::new());
        let (limits, cancel) = (request.limits.clone(), request.cancel.clone());
        let mut wall = begun.sleep(limits.wall);
        let session = request.session.clone();
        let _place = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Trip::Abort.failure(&limits)),
            place = Arc::clone(&self.places).acquire_owned() => place.ok(),
            () = &mut wall => return Err(Trip::Wall.failure(&limits)),
        };
        let mut request = request;
        for _ in 0..OFFERS {
            // Waiting for a child is part of the run: it counts, and it ends with it.
            let child = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Trip::Abort.failure(&limits)),
                child = self.pool.take(&session) => child.map_err(|error| error.for_program())?,
                () = &mut wall => return Err(Trip::Wall.failure(&limits)),
            };
            let (reply, answer) = oneshot::channel();
            child.offer(Job {
                request,
                handle: handle.clone(),
                lane: lane.clone(),
                logs: Arc::clone(logs),
                host: host.clone(),
                begun: Arc::clone(&begun),
                reply,
            });
            match answer.await {
                Ok(Answer::Ended(ended)) => return Ok(ended),
                Ok(Answer::NotBegun(given_back)) => request = *given_back,
                Err(_) => return Err(engine_exit("the thread that conducts the child has ended")),
            }
        }
        Err(engine_exit("its children die before they are given a program"))
    }
}

impl CodeRuntime for ProcessRuntime {
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

impl fmt::Debug for ProcessRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessRuntime").field("children", &self.children()).finish_non_exhaustive()
    }
}
