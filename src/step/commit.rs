//! The second half of a call's way through a step: commit, in model order (S-4).
//!
//! Owns the contiguous prefix of committed results, and the results of calls that never start. It never launches
//! anything. It calls the pipeline's last stage and the ledger.

use std::sync::Arc;

use serde_json::json;

use crate::ids::{CallId, ToolName};
use crate::ledger::ToolResult;
use crate::outcome::{CallFailure, ErrorCode};
use crate::pipeline::{Arrival, AtRest, Left, Stage};
use crate::step::driver::{Driver, Started};
use crate::step::{StepError, StepResult};

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
        for Left { n, prepared, failure } in self.pool.leave(self.pipeline) {
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
            Arrival::Finish(prepared, result) => pipeline.finish(&prepared, result),
            Arrival::Review(prepared, result) => {
                let denial = prepared.denial(&result);
                self.reach(n, Stage::Underway(Arc::clone(&prepared), denial.clone()));
                let reviewed = self.ordered(pipeline.finalize(&prepared, result)).await;
                reviewed.unwrap_or_else(|| pipeline.finish(&prepared, Err(prepared.unreviewed(denial))))
            }
        };
        self.reach(n, Stage::Finished(result));
        let slot = self.reserve().await;
        // It stays among the started calls until its result is recorded, so that a step that ends here knows of it.
        let Some(Started { id, tool, seq, stage: Stage::Finished(result) }) = self.started.get(&n) else {
            return Ok(());
        };
        let event = || ToolResult::new(id.clone(), tool.clone(), result);
        let recorded = slot.record_with(event, *seq);
        self.recorded(recorded)?;
        let Some(Started { id, tool, stage: Stage::Finished(result), .. }) = self.started.remove(&n) else {
            return Ok(());
        };
        if result.is_err() {
            self.failed.get_or_insert_with(|| id.clone());
        }
        self.results.push(StepResult { id, tool, result });
        Ok(())
    }

    /// Notes how far a started call has come.
    pub(super) fn reach(&mut self, n: u64, stage: Stage) {
        if let Some(started) = self.started.get_mut(&n) {
            started.stage = stage;
        }
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
        for AtRest { n, prepared, result } in self.pool.take_at_rest() {
            self.waiting.extend(result.map(|result| (n, Arrival::Review(prepared, result))));
        }
        for (n, Started { id, tool, seq, stage }) in std::mem::take(&mut self.started) {
            let arrival = self.waiting.remove(&n);
            let result = stage.give_up(self.pipeline, &tool, arrival, || dropped(&tool));
            let Some(slot) = self.ledger.try_reserve() else { continue };
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

fn dropped(tool: &ToolName) -> CallFailure {
    let message = format!("`{tool}` had started when its step was given up; effects may have happened");
    CallFailure::new(ErrorCode::Aborted, message)
}
