//! The failures of the scheduler itself (S-7).
//!
//! Owns what a host is told when a step could not be worked through. A tool that fails is no failure of the step: its
//! result says so. It never makes up the result of a call. It calls nobody.

use crate::ids::CallId;
use crate::ledger::LedgerError;
use crate::step::StepResult;

/// Why the scheduler could not go on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The ledger stopped recording: no further result could be made durable.
    #[error("the step cannot be recorded: {0}")]
    Ledger(#[from] LedgerError),
    /// The dispatch of a call vanished: it panicked outside of what the pipeline contains, in code of the host.
    #[error("the host broke while the call `{call}` was running; effects may have happened")]
    Lost {
        /// The call.
        call: CallId,
    },
    /// An ordered part of the step panicked, in code of the host.
    #[error("the host panicked while it scheduled the calls of a step")]
    Panicked,
}

/// A step that was given up, with what is known of its calls (S-7).
///
/// Calls that stand in neither list never started, and nothing is recorded of them.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct StepFailure {
    /// The first error.
    #[source]
    pub error: StepError,
    /// The results of the first calls, as far as they were committed. When the ledger failed, the last of them may be
    /// missing from its store.
    pub committed: Vec<StepResult>,
    /// The calls that had started and have no result, in model order. Effects may have happened.
    pub unsettled: Vec<CallId>,
}
