//! The second half of a call's way through a step: commit, in model order (S-4).
//!
//! Owns the contiguous prefix of committed results, and the results of calls that never start. It never launches
//! anything. It calls the pipeline's last stage and the ledger.

use std::sync::Arc;

use serde_json::json;

use crate::ids::{CallId, ToolName};
use crate::ledger::ToolResult;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::{AtRest, Prepared, undrained};
use crate::step::driver::{Driver, Started};
use crate::step::{StepError, StepResult};

/// How far a call has come when it is to be committed.
pub(super) enum Arrival {
    /// Still to be seen by post-execute.
    Review(Arc<Prepared>, CallResult),
    /// Settled for good; final content and observers are left.
    Finish(Arc<Prepared>, CallResult),
    /// Out of the pipeline's reach.
    Report(CallFailure),
}

impl Driver<'_> {
    pub(super) async fn commit_at_rest(&mut self, at_rest: AtRest) -> Result<(), StepError> {
        let AtRest { n, prepared, result } = at_rest;
        let Some(result) = result else {
            return Err(StepError::Lost { call: prepared.call().id.clone() });
        };
        self.arrive(n, Arrival::Review(prepared, result)).await?;
        self.make_room();
        Ok(())
    }

    /// Commits a call when its turn comes, and those that waited for it.
    pub(super) async fn arrive(&mut self, n: u64, arrival: Arrival) -> Result<(), StepError> {
        self.waiting.insert(n, arrival);
        while let Some(arrival) = self.waiting.remove(&self.next()) {
            self.commit(self.next(), arrival).await?;
        }
        Ok(())
    }

    /// Bodies that do not heed their signal go on by themselves; the step does not wait for them (P-14).
    pub(super) async fn leave(&mut self) -> Result<(), StepError> {
        for (n, prepared) in self.pool.leave(self.pipeline) {
            let failure = undrained(&prepared.call().tool);
            self.arrive(n, Arrival::Finish(prepared, Err(failure))).await?;
        }
        self.make_room();
        Ok(())
    }

    /// The number of the call that is committed next.
    fn next(&self) -> u64 {
        u64::try_from(self.results.len()).unwrap_or(u64::MAX)
    }

    async fn commit(&mut self, n: u64, arrival: Arrival) -> Result<(), StepError> {
        let pipeline = self.pipeline;
        let result = match arrival {
            Arrival::Report(failure) => Err(failure),
            Arrival::Finish(prepared, result) => pipeline.finish(&prepared, result),
            Arrival::Review(prepared, result) => {
                let reviewed = self.ordered(pipeline.finalize(&prepared, result)).await;
                reviewed
                    .unwrap_or_else(|| pipeline.finish(&prepared, Err(never_reviewed(&prepared.call().tool))))
            }
        };
        let slot = self.reserve().await;
        // It stays among the started calls until its result is recorded, so that a step that ends here knows of it.
        let Some(Started { id, tool, seq }) = self.started.get(&n).cloned() else { return Ok(()) };
        let event = || ToolResult::new(id.clone(), tool.clone(), &result);
        self.recorded(slot.record_with(event, seq))?;
        self.started.remove(&n);
        if result.is_err() {
            self.failed.get_or_insert_with(|| id.clone());
        }
        self.results.push(StepResult { id, tool, result });
        Ok(())
    }

    /// Whether an event was taken; without a ledger none is, and that is no failure.
    pub(super) fn recorded(&mut self, seq: Option<u64>) -> Result<Option<u64>, StepError> {
        match seq {
            Some(seq) => self.last_event = Some(seq),
            None => self.ledger.health().map_or(Ok(()), |error| Err(StepError::from(error)))?,
        }
        Ok(seq)
    }

    /// Nothing leaves the step before it is durable (S-1).
    pub(super) async fn all_written(&mut self) -> Result<(), StepError> {
        match self.last_event {
            Some(seq) => Ok(self.ledger.written(seq).await?),
            None => Ok(()),
        }
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if self.started.is_empty() {
            return;
        }
        self.stop();
        for Started { id, tool, seq } in std::mem::take(&mut self.started).into_values() {
            let Some(slot) = self.ledger.try_reserve() else { return };
            let result = Err(dropped(&tool));
            slot.record_with(|| ToolResult::new(id, tool, &result), seq);
        }
    }
}

/// The result of a call that is kept from starting by an earlier failure (S-8).
pub(super) fn not_started(tool: &ToolName, failed: Option<&CallId>) -> CallFailure {
    let message = format!(
        "`{tool}` was not started, because an earlier call of this step failed; nothing happened. Call it again if it \
         is still wanted"
    );
    let details = json!({"reason": "earlier call failed", "failed": failed.map(CallId::as_str)});
    CallFailure::new(ErrorCode::AbortedBeforeDispatch, message).with_details(details)
}

fn never_reviewed(tool: &ToolName) -> CallFailure {
    let message = format!(
        "`{tool}` had started when the step was cancelled, and its result was not reviewed in time; effects may have \
         happened"
    );
    CallFailure::new(ErrorCode::Aborted, message)
}

fn dropped(tool: &ToolName) -> CallFailure {
    let message = format!("`{tool}` had started when its step was given up; effects may have happened");
    CallFailure::new(ErrorCode::Aborted, message)
}
