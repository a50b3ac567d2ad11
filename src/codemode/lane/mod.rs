//! The driver lane: every ordered step of every sub-call of one run (5.4).
//!
//! Owns the queue of sub-calls, their launching, their commits and their reports. It names no V8 type and knows
//! no isolate: whoever holds the [`LaneHandle`] submits calls and takes settlements. It calls the pipeline and puts
//! events into the ledger.
//!
//! Three types share one run. The [`LaneHandle`] is the program's side and never waits. The [`LaneDriver`] is the
//! host's side; its one future does everything in order, and only tool bodies overlap. The [`LaneReport`] is
//! what remains when both are done.

mod commit;
mod driver;
mod recorded;
mod report;
mod shared;
mod sync;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::ids::{CallId, ParentToken, ScopeId, SessionId};
use crate::ledger::Ledger;
use crate::pipeline::Pipeline;
use crate::tool::ProgressSink;

pub use driver::LaneDriver;
pub use recorded::{CallDivergence, RecordedCall, RecordedCalls, RecordedOutcome};
pub use report::LaneReport;
pub use shared::{LaneHandle, Settlement, SubmitError};

/// When the program gets the outcomes of parallel calls (CM-19).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitOrder {
    /// In order of completion: no call waits for an unrelated slow one.
    #[default]
    Completion,
    /// In order of submission, like a native step (S-4).
    Submission,
}

/// How a lane works.
#[derive(Clone, Debug)]
pub struct LaneConfig {
    /// Bodies that run at the same time; 0 counts as 1 (CM-18, CM-20).
    pub max_parallel: usize,
    /// When outcomes are delivered.
    pub commit_order: CommitOrder,
    /// Sub-calls that a run may make (E-6).
    pub max_calls: u64,
    /// What the arguments of calls that wait may take together, in bytes as JSON (V11).
    pub max_queued_bytes: usize,
    /// What one call may give the program, in bytes as JSON.
    pub max_value_bytes: usize,
    /// Blocks that are not text and are kept for the model (CM-12).
    pub forwarded_blocks: usize,
    /// Whether the values that programs get are recorded, so that a run can be replayed (L-9); otherwise they enter no
    /// durable event (T-12).
    pub record_values: bool,
    /// How long bodies that were told to stop, and interceptors that review calls, are waited for when the run ends;
    /// absent: for ever (P-14). After one review has not come in this time, no other is waited for.
    pub drain: Option<Duration>,
}

/// The call on whose behalf a lane works, and what every sub-call inherits from it.
#[derive(Clone)]
pub struct LaneRoot {
    /// The call whose program makes the sub-calls.
    pub parent: CallId,
    /// The outermost call; the same as `parent` unless programs are nested.
    pub root: CallId,
    /// The session.
    pub session: SessionId,
    /// The agent scope; absent for a run that the host started by itself.
    pub scope: Option<ScopeId>,
    /// The run's signal. Ending the run cancels it, and cancelling it ends the run: nothing more is launched.
    pub cancel: CancellationToken,
    /// The working root of tools.
    pub working_root: Option<Arc<Path>>,
    /// Where progress of bodies goes.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl LaneRoot {
    pub(crate) fn token(&self) -> ParentToken {
        ParentToken::new(self.root.clone(), self.parent.clone())
    }
}

impl std::fmt::Debug for LaneRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneRoot")
            .field("parent", &self.parent)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// Opens a lane for one run.
pub fn open(
    pipeline: Pipeline,
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    root: LaneRoot,
    config: LaneConfig,
) -> (LaneHandle, LaneDriver) {
    let handle = LaneHandle::new(config.max_calls, config.max_queued_bytes, root.cancel.clone());
    let driver = LaneDriver::new(handle.clone(), pipeline, ledger, clock, root, config);
    (handle, driver)
}
