//! Calls that a recording knows (L-9, L-10).
//!
//! Owns what became of each call of a run when it ran before, and the comparison with what its program calls now. A call
//! with a known outcome reaches no policy and no tool, and leaves no event: it has its events already. It calls nobody.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::ids::ToolName;
use crate::ledger::{CodeDispatchStart, same_arguments};
use crate::outcome::{CallFailure, CallResult, ErrorCode};

/// One call of a run that was recorded.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// What its start event said.
    pub start: CodeDispatchStart,
    /// The `seq` of that.
    pub seq: u64,
    /// What became of it.
    pub outcome: RecordedOutcome,
}

/// What became of a call that had started.
#[derive(Clone, Debug)]
pub enum RecordedOutcome {
    /// It settled.
    Settled(CallResult),
    /// Nothing is known of its end, and it is to be done again.
    Again,
    /// Nothing is known of its end, and it is not to be done again: it fails.
    Lost,
}

/// The calls of a run that was recorded, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct RecordedCalls {
    /// The calls that had started.
    pub calls: BTreeMap<u64, RecordedCall>,
    /// Nothing is done beyond the recording: what had not started then, never does.
    pub complete: bool,
}

/// The first call that a program makes otherwise than when it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallDivergence {
    /// Its number, counted from 1.
    pub n: u64,
    /// What was recorded.
    pub recorded: (ToolName, Value),
    /// What the program calls now; absent when it makes no such call.
    pub made: Option<(ToolName, Value)>,
}

impl fmt::Display for CallDivergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, recorded, made } = self;
        write!(f, "call {n} was `{}` with {} when it was recorded, and is ", recorded.0, recorded.1)?;
        match made {
            Some((tool, args)) => write!(f, "`{tool}` with {args} now"),
            None => write!(f, "not made now"),
        }
    }
}

impl RecordedCalls {
    /// Whether a call with this number is none that the recording knows, and none that may be made besides.
    pub(super) fn never_starts(&self, n: u64) -> bool {
        self.complete && !self.calls.contains_key(&n)
    }

    /// What is known of a call; nothing for one that is new.
    ///
    /// # Errors
    /// The recording knows another call of this number.
    pub(super) fn take(
        &mut self,
        n: u64,
        tool: &ToolName,
        args: &Value,
    ) -> Result<Option<RecordedCall>, Box<CallDivergence>> {
        let Some(recorded) = self.calls.remove(&n) else { return Ok(None) };
        if recorded.start.tool == *tool && same_arguments(&recorded.start.arguments, args) {
            return Ok(Some(recorded));
        }
        let was = (recorded.start.tool.clone(), (*recorded.start.arguments).clone());
        Err(Box::new(CallDivergence { n, recorded: was, made: Some((tool.clone(), args.clone())) }))
    }

    /// The first call that was recorded and has not been made, of a run that is at its end.
    pub(super) fn missing(&mut self) -> Option<Box<CallDivergence>> {
        let (n, RecordedCall { start, .. }) = self.calls.pop_first()?;
        let recorded = (start.tool, (*start.arguments).clone());
        Some(Box::new(CallDivergence { n, recorded, made: None }))
    }
}

/// The failure of a call of whose end nothing is known.
pub(super) fn lost_before(tool: &ToolName) -> CallFailure {
    let message = format!(
        "`{tool}` had started when its program was interrupted, and nothing is known of its end; effects may have \
         happened: look before you call it again"
    );
    CallFailure::new(ErrorCode::Aborted, message)
}
