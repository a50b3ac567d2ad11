//! How far a call has come, for schedulers that commit in an order of their own.
//!
//! Owns the two ways in which a call arrives at its commit, and what a call comes to whose scheduler is given up before
//! that. It never commits anything. It calls the pipeline's last stage.

use std::sync::Arc;

use crate::ids::ToolName;
use crate::outcome::{CallFailure, CallResult};
use crate::pipeline::{Pipeline, Prepared, aborted_before_dispatch};

/// A call that is to be committed.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Still to be seen by post-execute.
    Review(Arc<Prepared>, CallResult),
    /// Settled for good; final content and observers are left.
    Finish(Arc<Prepared>, CallResult),
}

/// How far a started call has come that has not arrived.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Nothing is decided yet.
    Deciding,
    /// It runs, or it is being reviewed; with the denial that is reviewed, if it is one.
    Underway(Arc<Prepared>, Option<CallFailure>),
    /// It went through the whole pipeline, observers included; its record is left.
    Finished(CallResult),
}

impl Stage {
    /// The result of a call whose scheduler is given up, by what is known of its body (P-13). `running` words the end
    /// of a body that was under way.
    ///
    /// Observers get it unless they had the result before (P-10), or nothing of the call was decided yet.
    pub(crate) fn give_up(
        self,
        pipeline: &Pipeline,
        tool: &ToolName,
        arrival: Option<Arrival>,
        running: impl FnOnce() -> CallFailure,
    ) -> CallResult {
        let (prepared, result) = match (self, arrival) {
            (Self::Finished(result), _) => return result,
            (_, Some(Arrival::Finish(prepared, result))) => (prepared, result),
            (_, Some(Arrival::Review(prepared, result))) => {
                // Nobody can be asked any more. Where there is nobody to ask, the result is what it is.
                let denial = prepared.denial(&result);
                let result = if prepared.has_reviewers() { Err(prepared.unreviewed(denial)) } else { result };
                (prepared, result)
            }
            (Self::Underway(prepared, denial), None) => {
                let started = prepared.body.has_started();
                let failure = if started { running() } else { prepared.unreviewed(denial) };
                (prepared, Err(failure))
            }
            (Self::Deciding, None) => return Err(aborted_before_dispatch(tool)),
        };
        pipeline.finish(&prepared, result)
    }
}
