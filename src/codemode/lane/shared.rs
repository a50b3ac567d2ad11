//! What the two sides of a lane share.
//!
//! Owns the queue of submitted calls, the queue of settlements, and the wake-ups between them. It never waits and
//! holds no lock across a call of anything else. It calls nobody.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::task::AtomicWaker;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ids::ToolName;
use crate::outcome::CallFailure;

/// A sub-call that the lane has not launched yet.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) n: u64,
    pub(super) tool: ToolName,
    pub(super) args: Value,
}

/// The outcome of one sub-call on its way to the program.
#[derive(Debug)]
pub struct Settlement {
    /// The number of the sub-call, counted from 1 in submission order.
    pub n: u64,
    /// The tool.
    pub tool: ToolName,
    /// The value, or why there is none.
    pub result: Result<Arc<Value>, CallFailure>,
}

/// A sub-call that was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The run has made all the calls it may.
    #[error(
        "the program made more than {limit} tool calls; do the work in fewer calls, or in several programs"
    )]
    TooMany {
        /// The limit.
        limit: u64,
    },
    /// The run is over.
    #[error("the run is over; no more tools can be called")]
    Closed,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Queued>,
    settled: VecDeque<Settlement>,
    submitted: u64,
    /// Calls whose outcome the program has.
    delivered: u64,
    undelivered: std::collections::BTreeSet<u64>,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    max_calls: u64,
    /// The run's signal: whatever waits in the lane must hear of the end.
    cancel: CancellationToken,
    driver: AtomicWaker,
    program: AtomicWaker,
}

/// The program's side of a lane. Cloning shares it.
#[derive(Clone)]
pub struct LaneHandle {
    shared: Arc<Shared>,
}

impl LaneHandle {
    pub(super) fn new(max_calls: u64, cancel: CancellationToken) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                max_calls,
                cancel,
                driver: AtomicWaker::new(),
                program: AtomicWaker::new(),
            }),
        }
    }

    /// Joins a sub-call to the queue and returns its number. Never waits.
    pub fn submit(&self, tool: ToolName, args: Value) -> Result<u64, SubmitError> {
        let n = {
            let mut state = self.lock();
            if state.closed {
                return Err(SubmitError::Closed);
            }
            if state.submitted >= self.shared.max_calls {
                return Err(SubmitError::TooMany { limit: self.shared.max_calls });
            }
            state.submitted += 1;
            let n = state.submitted;
            state.undelivered.insert(n);
            state.queue.push_back(Queued { n, tool, args });
            n
        };
        self.shared.driver.wake();
        Ok(n)
    }

    /// The next outcome, in the lane's order; nothing when none is ready.
    pub fn take_settled(&self) -> Option<Settlement> {
        let mut state = self.lock();
        let settlement = state.settled.pop_front()?;
        state.delivered += 1;
        state.undelivered.remove(&settlement.n);
        Some(settlement)
    }

    /// Ready when an outcome is; for the program's event loop.
    pub fn poll_settled(&self, context: &mut std::task::Context<'_>) -> Poll<Settlement> {
        if let Some(settlement) = self.take_settled() {
            return Poll::Ready(settlement);
        }
        self.shared.program.register(context.waker());
        // Again, since an outcome may have come between the look and the registration.
        self.take_settled().map_or(Poll::Pending, Poll::Ready)
    }

    /// Sub-calls whose outcome the program does not have yet.
    pub fn outstanding(&self) -> u64 {
        let state = self.lock();
        state.submitted - state.delivered
    }

    /// Sub-calls that were submitted.
    pub fn submitted(&self) -> u64 {
        self.lock().submitted
    }

    /// Ends the run's side: nothing more is accepted, bodies are told to stop, and the driver winds down (CM-21).
    pub fn close(&self) {
        self.lock().closed = true;
        self.shared.cancel.cancel();
        self.shared.driver.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn next_queued(&self) -> Option<Queued> {
        self.lock().queue.pop_front()
    }

    pub(super) fn put_back(&self, queued: Queued) {
        self.lock().queue.push_front(queued);
    }

    /// Takes every call that never started.
    pub(super) fn drop_queued(&self) -> VecDeque<Queued> {
        std::mem::take(&mut self.lock().queue)
    }

    pub(super) fn settle(&self, settlement: Settlement) {
        self.lock().settled.push_back(settlement);
        self.shared.program.wake();
    }

    pub(super) fn undelivered(&self) -> std::collections::BTreeSet<u64> {
        self.lock().undelivered.clone()
    }

    /// Ready when the driver has something to look at: a queued call or the end of the run.
    pub(super) fn poll_work(&self, context: &mut std::task::Context<'_>, seen: u64) -> Poll<()> {
        self.shared.driver.register(context.waker());
        let state = self.lock();
        if state.closed || state.submitted > seen { Poll::Ready(()) } else { Poll::Pending }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LaneHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LaneHandle").field(&*self.lock()).finish()
    }
}
