//! Isolates that are ready before they are needed.
//!
//! Owns the threads that each hold one fresh isolate and wait for a job. A thread runs one job and ends; nothing
//! of a run is ever used again (E-2). It calls `platform` for threads and `worker` for their work.

use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::engine::in_process::worker::{self, Job};
use crate::engine::isolate::IsolateLimits;
use crate::engine::platform;

/// A thread with a fresh isolate. Dropping it ends both.
pub(super) struct Ready {
    isolate: v8::IsolateHandle,
    jobs: SyncSender<Job>,
}

impl Ready {
    /// The handle by which the watchdog stops the isolate.
    pub(super) fn isolate(&self) -> v8::IsolateHandle {
        self.isolate.clone()
    }

    /// Hands over the one job.
    pub(super) fn run(self, job: Job) -> Result<(), ()> {
        self.jobs.send(job).map_err(|_| ())
    }
}

/// Why there is no isolate.
#[derive(Debug, thiserror::Error)]
pub(super) enum PoolError {
    #[error("a thread could not be started: {0}")]
    Thread(#[from] io::Error),
    #[error("an isolate could not be made")]
    Isolate,
}

type Waiting = oneshot::Receiver<Ready>;

/// Ready isolates of one kind. Cloning shares them.
#[derive(Clone)]
pub(super) struct Pool {
    limits: IsolateLimits,
    target: usize,
    /// Isolates that are ready or being made, oldest first.
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

impl Pool {
    pub(super) fn new(limits: IsolateLimits, target: usize) -> Self {
        let pool = Self { limits, target, waiting: Arc::default() };
        pool.refill();
        pool
    }

    /// A ready isolate, or a new one. Isolates that were lost while they waited are passed over.
    ///
    /// Whoever takes one calls [`Pool::refill`] once its program has begun: making an isolate maps so much memory
    /// that the program next door would start at a third of the speed.
    pub(super) async fn take(&self, limits: IsolateLimits) -> Result<Ready, PoolError> {
        if limits == self.limits {
            while let Some(waiting) = self.next_waiting() {
                if let Ok(ready) = waiting.await {
                    return Ok(ready);
                }
            }
        }
        make(limits)?.await.map_err(|_| PoolError::Isolate)
    }

    fn next_waiting(&self) -> Option<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() { None } else { Some(waiting.remove(0)) }
    }

    /// Makes as many isolates ready as the pool is to hold.
    pub(super) fn refill(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.len() < self.target {
            match make(self.limits) {
                Ok(made) => waiting.push(made),
                // The next run makes its own and reports what is wrong.
                Err(error) => return tracing::warn!(%error, "no isolate could be made ready"),
            }
        }
    }
}

fn make(limits: IsolateLimits) -> Result<Waiting, PoolError> {
    let (announce, waiting) = oneshot::channel();
    platform::spawn("isolane-isolate", move || {
        let (jobs, received) = sync_channel(1);
        worker::serve(limits, &received, |isolate| {
            // Nobody waits any more: the pool is gone.
            let _ = announce.send(Ready { isolate, jobs });
        });
    })?;
    Ok(waiting)
}
