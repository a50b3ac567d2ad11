//! Running the programs of a session again (L-9, L-10).
//!
//! Owns what becomes of calls of whose end nothing is known: somebody decides, and nothing is done before all is decided.
//! It calls the program runner.

use crate::codemode::lane::{RecordedCall, RecordedOutcome};
use crate::codemode::{Recording, RecordingError, Replayed};
use crate::host::Session;
use crate::host::session::RunOptions;
use crate::ids::CallId;
use crate::ledger::{CodeDispatchStart, LedgerEvent};
use crate::outcome::RunOutcome;

/// What becomes of a call that had started when its run was interrupted (L-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is made again. Its effects may happen twice.
    Retry,
    /// It fails as `ABORTED`, and the program goes on from there.
    Fail,
    /// Somebody has to say: the run does not go on.
    Ask,
}

/// Why a run cannot be run again, or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The host runs no programs.
    #[error("this host has no runtime for programs")]
    NoRuntime,
    /// The run is not there, not whole, at its end, or goes another way.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Somebody has to say what becomes of these calls, which had started.
    #[error(
        "nothing is known of the end of {}; find out what came of it, and say whether it is made again or fails",
        spell(.calls)
    )]
    Undecided {
        /// The calls as they had started.
        calls: Vec<CodeDispatchStart>,
    },
}

/// Most characters of arguments that a text shows.
const SHOWN: usize = 200;

fn spell(calls: &[CodeDispatchStart]) -> String {
    let spell = |call: &CodeDispatchStart| {
        let mut args = call.arguments.to_string();
        if let Some((end, _)) = args.char_indices().nth(SHOWN) {
            args.truncate(end);
            args.push_str("...");
        }
        format!("`{}` (`{}` with {args})", call.call, call.tool)
    };
    calls.iter().map(spell).collect::<Vec<_>>().join(", ")
}

impl Session {
    /// Runs a program again as this session recorded it, from the events of its ledger (L-9): no tool is touched, nothing
    /// is recorded or kept.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub async fn replay(
        &self,
        events: &[LedgerEvent],
        call: &CallId,
        options: RunOptions,
    ) -> Result<Replayed, ReplayError> {
        let runner = self.inner.host.shared.runner.as_ref().ok_or(ReplayError::NoRuntime)?;
        let recording = Recording::find(events, call)?;
        Ok(runner.replay(self.program_run(options), &recording).await)
    }

    /// Goes on with a run of this session that was interrupted (L-10): the host's process ended in the middle of it. Calls
    /// that had settled are answered from `events`; `decide` says what becomes of those that had started and of whose end
    /// nothing is known. The events that follow go to the session's ledger, which `events` are from.
    ///
    /// # Errors
    /// [`ReplayError`]; with [`ReplayError::Undecided`] nothing has been done.
    pub async fn resume(
        &self,
        events: &[LedgerEvent],
        call: &CallId,
        decide: impl Fn(&RecordedCall) -> Decision,
        options: RunOptions,
    ) -> Result<RunOutcome, ReplayError> {
        let runner = self.inner.host.shared.runner.as_ref().ok_or(ReplayError::NoRuntime)?;
        let mut recording = Recording::find(events, call)?;
        if recording.end.is_some() {
            return Err(RecordingError::Ended { call: call.clone() }.into());
        }
        let mut undecided = Vec::new();
        for recorded in recording.calls.values_mut() {
            if matches!(recorded.outcome, RecordedOutcome::Settled(_)) {
                continue;
            }
            match decide(recorded) {
                Decision::Retry => recorded.outcome = RecordedOutcome::Again,
                Decision::Fail => recorded.outcome = RecordedOutcome::Lost,
                Decision::Ask => undecided.push(recorded.start.clone()),
            }
        }
        if !undecided.is_empty() {
            return Err(ReplayError::Undecided { calls: undecided });
        }
        Ok(runner.resume(self.program_run(options), &recording).await?)
    }

    /// What may be decided of a call without asking: that a tool which says that it can be called again is (L-10).
    pub fn retry_if_idempotent(&self) -> impl Fn(&RecordedCall) -> Decision + use<> {
        let view = self.view().ok();
        move |recorded| {
            let tool = view.as_ref().and_then(|view| view.get(recorded.start.tool.as_str()));
            let idempotent = tool.is_some_and(|tool| tool.definition().scheduler().idempotent);
            if idempotent { Decision::Retry } else { Decision::Ask }
        }
    }
}
