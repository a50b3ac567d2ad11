//! The second half of a call's way through the lane: commit, settle, settled event (CM-17, CM-19).
//!
//! Owns the order of commits and the end of the run, after which every started call has exactly one settled event
//! (L-5). It never launches anything. It calls the pipeline's last stage, the ledger and the handle.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;

use crate::codemode::lane::CommitOrder;
use crate::codemode::lane::driver::LaneDriver;
use crate::codemode::lane::recorded::{RecordedOutcome, lost_before};
use crate::codemode::lane::report::{Handed, not_text};
use crate::codemode::lane::shared::{LaneHandle, Settlement};
use crate::ids::{CallId, ToolName};
use crate::json::estimated_size;
use crate::ledger::{CodeDispatchStart, Settled};
use crate::outcome::{CallFailure, CallResult, CallSuccess, ErrorCode, SubCallState};
use crate::pipeline::{Arrival, AtRest, Left, Prepared, Stage, lost};

/// A call that has a start event and no settled event yet.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) tool: ToolName,
    /// What the start event said, and its `seq`; absent when there is none.
    pub(super) event: Option<(CodeDispatchStart, u64)>,
    /// Its dispatch vanished: nothing is known of its end.
    pub(super) lost: bool,
    /// What is to be said of it if the lane is dropped now (P-13).
    pub(super) stage: Stage,
}

impl LaneDriver {
    pub(super) async fn commit_at_rest(&mut self, at_rest: AtRest) {
        let AtRest { n, prepared, result } = at_rest;
        if let Some(started) = self.started.get_mut(&n) {
            started.lost = result.is_none();
        }
        let arrival = match result {
            Some(result) => Arrival::Review(prepared, result),
            None => Arrival::Finish(prepared, Err(lost())),
        };
        self.arrive(n, arrival).await;
        // Post-execute and the settled event are part of the barrier.
        self.barrier = false;
        self.head_waits = false;
    }

    /// Commits a call, at once or when its turn comes.
    pub(super) async fn arrive(&mut self, n: u64, arrival: Arrival) {
        match self.config.commit_order {
            CommitOrder::Completion => self.commit(n, arrival).await,
            CommitOrder::Submission => {
                self.waiting.insert(n, arrival);
                while let Some(arrival) = self.waiting.remove(&self.next_commit) {
                    self.commit(self.next_commit, arrival).await;
                    self.next_commit += 1;
                }
            }
        }
    }

    async fn commit(&mut self, n: u64, arrival: Arrival) {
        let result = match arrival {
            Arrival::Finish(prepared, result) => {
                let result = result.map_err(|failure| self.explain(failure));
                self.pipeline.finish(&prepared, result)
            }
            Arrival::Review(prepared, result) => {
                let result = self.fitting(&prepared, result).map_err(|failure| self.explain(failure));
                let fits = result.as_ref().ok().map(|success| Arc::clone(&success.value));
                let denial = prepared.denial(&result);
                self.reach(n, Stage::Underway(Arc::clone(&prepared), denial.clone()));
                let pipeline = self.pipeline.clone();
                let reviewed = self.ordered(pipeline.finalize(&prepared, result)).await;
                let reviewed = reviewed.unwrap_or_else(|| {
                    let failure = self.explain(prepared.unreviewed(denial));
                    pipeline.finish(&prepared, Err(failure))
                });
                let same =
                    reviewed.as_ref().ok().zip(fits).is_some_and(|(new, old)| Arc::ptr_eq(&new.value, &old));
                // A reviewer may have put another value in its place.
                if same { reviewed } else { self.fitting(&prepared, reviewed) }
            }
        };
        self.reach(n, Stage::Finished(result));
        self.deliver(n).await;
    }

    /// A value that the program cannot take is none: what it is told, the report and the ledger say the same (CM-31).
    fn fitting(&self, prepared: &Prepared, result: CallResult) -> CallResult {
        let success = result?;
        let most = self.config.max_value_bytes;
        // The estimate is never below half of the size (T-17).
        if estimated_size(&success.value) <= most / 2 {
            return Ok(success);
        }
        let bytes = success.value.to_string().len();
        if bytes <= most {
            return Ok(success);
        }
        let message = format!(
            "what `{}` gave takes {bytes} bytes, and a program can take {most} at a time; ask it for less; effects of \
             the call stand",
            prepared.call().tool
        );
        let mut failure = CallFailure::new(ErrorCode::InvalidToolOutput, message);
        failure.deferred = success.deferred;
        Err(failure)
    }

    /// Notes how far a started call has come.
    pub(super) fn reach(&mut self, n: u64, stage: Stage) {
        if let Some(started) = self.started.get_mut(&n) {
            started.stage = stage;
        }
    }

    /// Gives the program its outcome and hands the settled event to the side path (L-4).
    pub(super) async fn deliver(&mut self, n: u64) {
        // Reserved first: a store that falls behind holds the lane here instead of growing the backlog.
        let slot = self.reserve().await;
        // Taken out only now, so that a lane that is dropped while it waits still knows of the call.
        let Some(Started { tool, event, lost, stage: Stage::Finished(result) }) = self.started.remove(&n)
        else {
            return;
        };
        let (outcome, settled) = match result {
            Ok(CallSuccess { value, content, deferred, concludes_turn, meta: _ }) => {
                let blocks = not_text(&content);
                self.records.succeed(n, Handed { deferred, concludes_turn, blocks });
                let kept = self.config.record_values.then(|| Arc::clone(&value));
                (Ok(value), event.is_some().then(|| Settled::success(content).with_value(kept)))
            }
            Err(failure) => {
                let state = if lost { SubCallState::Unknown } else { state_of(failure.code) };
                self.records.fail(n, state, &failure);
                let settled = event.is_some().then(|| settled(&failure));
                (Err(failure), settled)
            }
        };
        self.handle.settle(Settlement { n, tool, result: outcome });
        if let (Some((start, seq)), Some(settled)) = (event, settled) {
            slot.record(start.settle(settled), [seq]);
        }
    }

    /// Aborts and drains what runs, drops what waits (CM-21).
    pub(super) async fn wind_down(&mut self) {
        self.handle.close();
        let aside = std::mem::take(&mut self.aside);
        for queued in aside.into_iter().chain(self.handle.drop_queued()) {
            let id = self.root.parent.sub_call(queued.n);
            // It is compared all the same: nobody may have waited for it.
            let recorded = match self.divergence {
                None => self.recorded.take(queued.n, &queued.tool, &queued.args),
                Some(_) => Ok(None),
            };
            match recorded {
                Ok(Some(recorded)) => {
                    self.recall(queued.n, id, &queued.tool, recorded.outcome);
                    continue;
                }
                Ok(None) => {}
                Err(divergence) => self.divergence = Some(divergence),
            }
            self.records.never_started(id, queued.tool);
            // They have no event that could keep it.
            self.inputs.push(' ');
            self.inputs.push_str(&queued.inputs);
        }
        while self.pool.len() > 0 {
            let at_rest = poll_fn(|context| {
                if let Poll::Ready(at_rest) = self.pool.poll_next(context) {
                    return Poll::Ready(Some(at_rest));
                }
                self.waits.poll(context).map(|()| None)
            });
            match at_rest.await {
                Some(at_rest) => self.commit_at_rest(at_rest).await,
                None => return self.leave_undrained().await,
            }
        }
    }

    /// What is to be reported of a call that is not made now and had started when its run was recorded.
    fn recall(&mut self, n: u64, id: CallId, tool: &ToolName, outcome: RecordedOutcome) {
        self.records.start(id, tool.clone());
        match outcome {
            RecordedOutcome::Settled(Ok(CallSuccess { content, deferred, concludes_turn, .. })) => {
                let blocks = not_text(&content);
                self.records.succeed(n, Handed { deferred, concludes_turn, blocks });
            }
            RecordedOutcome::Settled(Err(failure)) => self.records.fail(n, state_of(failure.code), &failure),
            RecordedOutcome::Lost | RecordedOutcome::Again => {
                self.records.fail(n, SubCallState::Unknown, &lost_before(tool));
            }
        }
    }

    /// Bodies that do not heed their signal go on by themselves; the run does not wait for them (P-14).
    async fn leave_undrained(&mut self) {
        // Some are at rest, and only waited for their turn.
        let mut last = std::mem::take(&mut self.waiting);
        for Left { n, prepared, failure } in self.pool.leave(&self.pipeline) {
            last.insert(n, Arrival::Finish(prepared, Err(failure)));
        }
        for (n, arrival) in last {
            self.commit(n, arrival).await;
        }
    }

    /// Adds to the failure of a call that the end of the run stopped what that end was (CM-21).
    pub(super) fn explain(&self, failure: CallFailure) -> CallFailure {
        let stopped = matches!(
            failure.code,
            ErrorCode::Aborted | ErrorCode::AbortedBeforeDispatch | ErrorCode::ApprovalCancelled
        );
        if stopped { explain(&self.handle, failure) } else { failure }
    }
}

impl Drop for LaneDriver {
    fn drop(&mut self) {
        self.handle.close();
        for AtRest { n, prepared, result } in self.pool.take_at_rest() {
            self.waiting.extend(result.map(|result| (n, Arrival::Review(prepared, result))));
        }
        for Left { n, prepared, failure } in self.pool.leave(&self.pipeline) {
            let failure = self.explain(failure);
            self.waiting.insert(n, Arrival::Finish(prepared, Err(failure)));
        }
        for (n, Started { tool, event, stage, .. }) in std::mem::take(&mut self.started) {
            let arrival = self.waiting.remove(&n);
            let result = stage.give_up(&self.pipeline, &tool, arrival, || dropped(&tool));
            if let Some((start, seq)) = event
                && let Some(slot) = self.ledger.try_reserve()
            {
                let settled = match result {
                    Ok(success) => Settled::success(success.content),
                    Err(failure) => settled(&self.explain(failure)),
                };
                slot.record(start.settle(settled), [seq]);
            }
        }
    }
}

fn explain(handle: &LaneHandle, mut failure: CallFailure) -> CallFailure {
    let Some(ending) = handle.ending() else { return failure };
    let mut details = match failure.details.take() {
        None => serde_json::Map::new(),
        Some(Value::Object(details)) => details,
        Some(other) => serde_json::Map::from_iter([("details".to_owned(), other)]),
    };
    details.insert("reason".to_owned(), ending.reason().into());
    failure.with_details(Value::Object(details))
}

fn dropped(tool: &ToolName) -> CallFailure {
    let message = format!("`{tool}` had started when its run was given up; effects may have happened");
    CallFailure::new(ErrorCode::Aborted, message)
}

fn state_of(code: ErrorCode) -> SubCallState {
    match code {
        ErrorCode::Aborted => SubCallState::Aborted,
        ErrorCode::AbortedBeforeDispatch => SubCallState::NotStarted,
        _ => SubCallState::Failed,
    }
}

fn settled(failure: &CallFailure) -> Settled {
    let CallFailure { code, message, details, content, deferred: _ } = failure.clone();
    Settled::failure(code, message, details, content)
}
