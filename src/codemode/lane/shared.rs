//! What the two sides of a lane share.
//!
//! Owns the queue of submitted calls, the queue of settlements, and the wake-ups between them. It never waits and
//! holds no lock across a call of anything else. It calls nobody.
//!
//! Every wake-up has one form: the waiting side registers its waker and then looks under the lock; the other side
//! changes the state under the lock and then wakes. Whichever order the two take, one of them sees the other.
//!
//! This is the one place of the lane that synchronises by itself, so a model checker walks through every interleaving
//! of it, with its own lock and waker cell in the place of the real ones (see [`super::sync`]):
//!
//! ```text
//! RUSTFLAGS='--cfg isolane_loom' cargo test --no-default-features --lib lane::tests::model
//! ```
//!
//! What the model takes for granted: that the real waker cell, `futures_util`'s, does what the model's does, and that
//! raising the run's signal, tokio's, is seen by whoever asks after it. The driver, the pool and the commits have
//! nothing to check: they are one future that owns its state. A stress test over real threads stands in `tests`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::codemode::lane::sync::{AtomicWaker, MAX_UNTAKEN, Mutex, MutexGuard};
use crate::ids::ToolName;
use crate::json::estimated_size;
use crate::ledger::bound_value;
use crate::outcome::CallFailure;

/// A sub-call that the lane has not launched yet.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) n: u64,
    pub(super) tool: ToolName,
    pub(super) args: Value,
    /// What the program took since the call before; empty when it took nothing.
    pub(super) inputs: String,
    /// About what the arguments take, as JSON.
    bytes: usize,
    /// The arguments were too deep to be handled safely, and `args` is only the ledger's stand-in for them.
    pub(super) too_deep: bool,
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
    /// The arguments of the calls that wait take more than they may.
    #[error("the calls that wait have arguments of more than {limit} bytes; await some before making more")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The run is over.
    #[error("the run is over; no more tools can be called")]
    Closed,
}

/// Why a lane takes no more work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The program settled, one way or another (CM-21).
    Settled,
    /// The host cancelled the run.
    Cancelled,
}

impl Ending {
    /// The reason as it stands in the failures of calls that this stopped.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Settled => "run_code settled",
            Self::Cancelled => "run cancelled",
        }
    }
}

/// What the driver can go on with.
#[derive(Debug)]
pub(super) enum Work {
    /// The head of the queue, taken out of it.
    Call(Queued),
    /// Nothing is to be launched any more.
    Ended,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Queued>,
    /// What the arguments in the queue take together.
    queued_bytes: usize,
    settled: VecDeque<Settlement>,
    /// For each submitted call, whether the program has its outcome.
    delivered: Vec<bool>,
    delivered_count: u64,
    peak_in_flight: u64,
    ending: Option<Ending>,
}

impl State {
    fn submitted(&self) -> u64 {
        u64::try_from(self.delivered.len()).unwrap_or(u64::MAX)
    }
}

struct Shared {
    state: Mutex<State>,
    max_calls: u64,
    max_queued_bytes: usize,
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
    pub(super) fn new(max_calls: u64, max_queued_bytes: usize, cancel: CancellationToken) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                max_calls,
                max_queued_bytes,
                cancel,
                driver: AtomicWaker::new(),
                program: AtomicWaker::new(),
            }),
        }
    }

    /// Joins a sub-call to the queue and returns its number. Never waits.
    ///
    /// Arguments of any depth are safe; those that no tool could get are refused when their turn comes.
    pub fn submit(&self, tool: ToolName, args: Value) -> Result<u64, SubmitError> {
        let bytes = estimated_size(&args);
        self.submit_read(tool, args, bytes, String::new())
    }

    /// The same for arguments that were read from so many bytes of text, with what the program took since the call before
    /// (L-9).
    pub fn submit_read(
        &self,
        tool: ToolName,
        mut args: Value,
        bytes: usize,
        inputs: String,
    ) -> Result<u64, SubmitError> {
        let too_deep = bound_value(&mut args);
        let n = {
            let mut state = self.lock();
            if state.ending.is_some() {
                return Err(SubmitError::Closed);
            }
            if state.submitted() >= self.shared.max_calls {
                return Err(SubmitError::TooMany { limit: self.shared.max_calls });
            }
            let limit = self.shared.max_queued_bytes;
            let queued_bytes = state.queued_bytes.saturating_add(bytes);
            if queued_bytes > limit {
                return Err(SubmitError::TooLarge { limit });
            }
            state.queued_bytes = queued_bytes;
            state.delivered.push(false);
            let n = state.submitted();
            state.peak_in_flight = state.peak_in_flight.max(n - state.delivered_count);
            state.queue.push_back(Queued { n, tool, args, inputs, bytes, too_deep });
            n
        };
        self.shared.driver.wake();
        Ok(n)
    }

    /// The next outcome, in the lane's order; nothing when none is ready.
    pub fn take_settled(&self) -> Option<Settlement> {
        let (settlement, was_full) = {
            let mut state = self.lock();
            let was_full = state.settled.len() >= MAX_UNTAKEN;
            let settlement = state.settled.pop_front()?;
            state.delivered_count += 1;
            let index = usize::try_from(settlement.n).unwrap_or(usize::MAX).wrapping_sub(1);
            if let Some(delivered) = state.delivered.get_mut(index) {
                *delivered = true;
            }
            (settlement, was_full)
        };
        if was_full {
            self.shared.driver.wake();
        }
        Some(settlement)
    }

    /// The program did not have these outcomes after all, which were taken for it.
    pub fn take_back(&self, numbers: &[u64]) {
        let mut state = self.lock();
        for number in numbers {
            let index = usize::try_from(*number).unwrap_or(usize::MAX).wrapping_sub(1);
            if let Some(delivered) = state.delivered.get_mut(index)
                && std::mem::take(delivered)
            {
                state.delivered_count -= 1;
            }
        }
    }

    /// Ready when an outcome is; for the program's event loop. One task at a time may wait here.
    pub fn poll_settled(&self, context: &mut Context<'_>) -> Poll<Settlement> {
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
        state.submitted() - state.delivered_count
    }

    /// Most sub-calls that had no outcome at the same time.
    pub(super) fn peak_in_flight(&self) -> u64 {
        self.lock().peak_in_flight
    }

    /// Sub-calls that were submitted.
    pub fn submitted(&self) -> u64 {
        self.lock().submitted()
    }

    /// Ends the run's side: nothing more is accepted or delivered, bodies are told to stop, and the driver winds
    /// down (CM-21).
    pub fn close(&self) {
        let cancelled = self.shared.cancel.is_cancelled();
        self.end(if cancelled { Ending::Cancelled } else { Ending::Settled });
    }

    /// The first ending stays.
    pub(super) fn end(&self, ending: Ending) {
        self.lock().ending.get_or_insert(ending);
        self.shared.cancel.cancel();
        self.shared.driver.wake();
    }

    /// Why nothing is to be launched or delivered any more; nothing while the run goes on.
    ///
    /// Asks the signal as well, which the host may have raised a moment ago.
    pub(super) fn ending(&self) -> Option<Ending> {
        let cancelled = self.shared.cancel.is_cancelled();
        let mut state = self.lock();
        if cancelled {
            state.ending.get_or_insert(Ending::Cancelled);
        }
        state.ending
    }

    /// Ready with the head of the queue if there is `room` for a call, or with the end of the run.
    pub(super) fn poll_work(&self, context: &mut Context<'_>, room: bool) -> Poll<Work> {
        self.shared.driver.register(context.waker());
        let mut state = self.lock();
        if state.ending.is_some() {
            return Poll::Ready(Work::Ended);
        }
        if !room || state.settled.len() >= MAX_UNTAKEN {
            return Poll::Pending;
        }
        let Some(queued) = state.queue.pop_front() else { return Poll::Pending };
        state.queued_bytes = state.queued_bytes.saturating_sub(queued.bytes);
        Poll::Ready(Work::Call(queued))
    }

    /// Ready when the run has ended.
    pub(super) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        self.shared.driver.register(context.waker());
        if self.lock().ending.is_some() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Gives the head of the queue back.
    pub(super) fn put_back(&self, queued: Queued) {
        let mut state = self.lock();
        state.queued_bytes = state.queued_bytes.saturating_add(queued.bytes);
        state.queue.push_front(queued);
    }

    /// Takes every call that never started, in order.
    pub(super) fn drop_queued(&self) -> VecDeque<Queued> {
        std::mem::take(&mut self.lock().queue)
    }

    /// Gives the program an outcome. A run that has ended takes none.
    pub(super) fn settle(&self, settlement: Settlement) {
        let cancelled = self.shared.cancel.is_cancelled();
        {
            let mut state = self.lock();
            if cancelled || state.ending.is_some() {
                return;
            }
            state.settled.push_back(settlement);
        }
        self.shared.program.wake();
    }

    /// For each submitted call, whether the program has its outcome. Outcomes that nobody took are let go.
    pub(super) fn take_delivered(&self) -> Vec<bool> {
        let mut state = self.lock();
        state.settled = VecDeque::new();
        state.delivered.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LaneHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("LaneHandle")
            .field("submitted", &state.submitted())
            .field("queued", &state.queue.len())
            .field("delivered", &state.delivered_count)
            .field("ending", &state.ending)
            .finish_non_exhaustive()
    }
}
