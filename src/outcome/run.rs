//! The outcome of one run of a program.
//!
//! Owns what CM-23 and CM-31 promise: a typed failure with its place, the logs that were printed before it, and
//! every sub-call with its state. It never holds a limit's enforcement. It calls `ids`, `content`, siblings.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;
use crate::ids::{CallId, ToolName};
use crate::outcome::{DeferredContext, ErrorCode};

/// Why a run failed (CM-23). Limits are judged by the host; a program cannot fake one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RunFailureKind {
    /// The program threw, or left a rejection unhandled.
    Exception,
    /// The text is not a program that can be run.
    Syntax,
    /// The type check refused the program before it ran.
    Type,
    /// JavaScript ran for longer than the busy limit.
    BusyTimeout,
    /// The run took longer than the wall limit.
    WallTimeout,
    /// The heap or the array buffers outgrew their limit.
    Heap,
    /// Logs and result outgrew their limit.
    OutputLimit,
    /// More sub-calls, or more waiting timers, than allowed.
    CallLimit,
    /// The program waits for something that can never happen.
    Deadlock,
    /// The host cancelled the run.
    Abort,
    /// The engine died under the run.
    EngineExit,
    /// The value of the program is not JSON.
    InvalidOutput,
}

impl RunFailureKind {
    /// The stable name, as it is serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exception => "exception",
            Self::Syntax => "syntax",
            Self::Type => "type",
            Self::BusyTimeout => "busy-timeout",
            Self::WallTimeout => "wall-timeout",
            Self::Heap => "heap",
            Self::OutputLimit => "output-limit",
            Self::CallLimit => "call-limit",
            Self::Deadlock => "deadlock",
            Self::Abort => "abort",
            Self::EngineExit => "engine-exit",
            Self::InvalidOutput => "invalid-output",
        }
    }
}

/// A failed run. The logs and sub-calls of CM-23 stand beside it in [`RunOutcome`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", kind.as_str())]
pub struct RunFailure {
    /// What kind of failure.
    pub kind: RunFailureKind,
    /// One or a few lines that say what happened and what to do next.
    pub message: String,
    /// The line in the program as written, counted from 1; absent when the failure has no place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in UTF-16 units, counted from 1; absent when the failure has no place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The line itself with a caret under the column; absent when the failure has no place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// The program's own stack, innermost first; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

impl RunFailure {
    /// A failure without a place.
    pub fn new(kind: RunFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None, column: None, frame: None, stack: None }
    }
}

/// What became of one sub-call (CM-31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubCallState {
    /// It succeeded.
    Finished,
    /// It failed; its code says how.
    Failed,
    /// It had started and was cancelled: effects may have happened.
    Aborted,
    /// It was queued and never started: nothing happened.
    NotStarted,
    /// It had started and nothing is known of its end.
    Unknown,
}

impl SubCallState {
    /// The stable name, as it is serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::NotStarted => "not-started",
            Self::Unknown => "unknown",
        }
    }
}

/// One sub-call of a run (CM-31).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubCallReport {
    /// `<parent>:code:<n>`.
    pub id: CallId,
    /// The tool that was called.
    pub tool: ToolName,
    /// What became of it.
    pub state: SubCallState,
    /// Why it failed or was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The message that went with the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the program had its outcome before it ended; false means that nobody awaited it.
    pub delivered: bool,
}

/// What a run used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStats {
    /// From the request to the outcome, in milliseconds.
    pub wall_ms: u64,
    /// JavaScript execution, in milliseconds.
    pub busy_ms: u64,
    /// Sub-calls that started.
    pub sub_calls: u64,
    /// Sub-calls that failed or were aborted.
    pub failed_sub_calls: u64,
    /// Most sub-call bodies that ran at the same time.
    pub peak_parallel: u64,
    /// Most sub-calls that were submitted and had no outcome yet.
    pub peak_in_flight: u64,
}

/// Everything that a run gave back, whether it succeeded or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The program's value (nothing when it returned none), or why it failed.
    pub result: Result<Option<Value>, RunFailure>,
    /// Every line that the program printed, in order.
    pub logs: Vec<String>,
    /// Remarks for the model: calls that nobody awaited, values that were dropped.
    pub notes: Vec<String>,
    /// Every sub-call, in submission order (CM-31).
    pub sub_calls: Vec<SubCallReport>,
    /// Blocks of nested results that are not text, for the model (CM-12).
    pub blocks: Vec<ContentBlock>,
    /// Deferred messages of sub-calls, in submission order (CM-19).
    pub deferred: Vec<DeferredContext>,
    /// Whether a sub-call asked to conclude the turn.
    pub concludes_turn: bool,
    /// What the run used.
    pub stats: RunStats,
}

impl RunOutcome {
    /// The outcome of a run that failed before its program began.
    pub fn failed(failure: RunFailure) -> Self {
        Self {
            result: Err(failure),
            logs: Vec::new(),
            notes: Vec::new(),
            sub_calls: Vec::new(),
            blocks: Vec::new(),
            deferred: Vec::new(),
            concludes_turn: false,
            stats: RunStats::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-23, CM-31
    #[test]
    fn kinds_serialise_as_their_names() {
        use SubCallState::{Aborted, Failed, Finished, NotStarted, Unknown};
        for kind in [RunFailureKind::BusyTimeout, RunFailureKind::InvalidOutput, RunFailureKind::Abort] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for state in [Finished, Failed, Aborted, NotStarted, Unknown] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
