//! The last stage: post-execute, final content, observers (P-8 to P-10).
//!
//! Owns what may still change a settled result. Nothing here can turn a failure into a success (P-5). It calls
//! the interceptors, the definition's `finalize_content` and the observers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use crate::json;
use crate::outcome::{CallFailure, CallResult, DeferredContext, ErrorCode};
use crate::pipeline::chain::PostNext;
use crate::pipeline::normalize::{Maker, bound, normalize};
use crate::pipeline::prepare::{aborted_before_dispatch, panicked};
use crate::pipeline::{Pipeline, PostDecision, Prepared};

impl Pipeline {
    /// Post-execute, then [`Pipeline::finish`] (P-11).
    pub async fn finalize(&self, prepared: &Prepared, result: CallResult) -> CallResult {
        let chain = prepared.chains.post(prepared.view.as_deref());
        if chain.is_empty() {
            return self.finish(prepared, result);
        }
        let call = &*prepared.call;
        let reviewing =
            AssertUnwindSafe(async { PostNext { call, result: &result, rest: &chain }.review().await });
        let decision = reviewing.catch_unwind().await;
        let reviewed = match decision {
            Ok(decision) => apply(prepared, result, decision),
            // The effects stand, but nobody vouches for the result.
            Err(_) => Err(panicked(&call.tool, "an interceptor")),
        };
        self.finish(prepared, reviewed)
    }

    /// Final content and observers only (P-11). Runs exactly once for each result (P-9).
    pub fn finish(&self, prepared: &Prepared, mut result: CallResult) -> CallResult {
        bound(&mut result);
        let call = &*prepared.call;
        let finalize =
            prepared.tool.as_ref().and_then(|tool| tool.definition().scheduler().finalize_content.clone());
        if let Some(finalize) = finalize {
            match catch_unwind(AssertUnwindSafe(|| finalize(&call.info(), &result))) {
                Ok(Some(content)) => {
                    match &mut result {
                        Ok(success) => success.content = content,
                        Err(failure) => failure.content = content,
                    }
                    bound(&mut result);
                }
                Ok(None) => {}
                Err(_) => {
                    tracing::warn!(tool = %call.tool, call = %call.id, "finalize_content panicked; content kept");
                }
            }
        }
        for observer in prepared.chains.observers(prepared.view.as_deref()) {
            if catch_unwind(AssertUnwindSafe(|| observer.observe(call, &result))).is_err() {
                tracing::warn!(tool = %call.tool, call = %call.id, "a result observer panicked");
            }
        }
        result
    }
}

impl Prepared {
    /// The denial that `result` is. It needs no reviewer to stand, for there is no body to vouch for.
    pub(crate) fn denial(&self, result: &CallResult) -> Option<CallFailure> {
        if self.body.has_started() { None } else { result.as_ref().err().cloned() }
    }

    /// What a cancelled call comes to when post-execute is not waited for any more: a denial stands, and for what a
    /// body made nobody vouches (P-13).
    pub(crate) fn unreviewed(&self, denial: Option<CallFailure>) -> CallFailure {
        let tool = &self.call.tool;
        if !self.body.has_started() {
            return denial.unwrap_or_else(|| aborted_before_dispatch(tool));
        }
        let message = format!(
            "`{tool}` was cancelled after it had started, and its result was not reviewed in time; effects may have \
             happened"
        );
        CallFailure::new(ErrorCode::Aborted, message)
    }

    pub(super) fn has_reviewers(&self) -> bool {
        !self.chains.post(self.view.as_deref()).is_empty()
    }
}

fn apply(prepared: &Prepared, result: CallResult, decision: PostDecision) -> CallResult {
    match (decision, result) {
        (PostDecision::Accept, result) => result,
        (PostDecision::AcceptContent(content), Ok(mut success)) => {
            success.content = content;
            Ok(success)
        }
        (PostDecision::AcceptContent(content), Err(mut failure)) => {
            failure.content = content;
            Err(failure)
        }
        (PostDecision::AcceptValue(value), Ok(success)) => {
            let Some(tool) = &prepared.tool else {
                json::dismantle(value);
                return Ok(success);
            };
            let replaced = normalize(tool.definition(), &prepared.call, value, Maker::Interceptor);
            let mut replaced = defer(replaced, success.deferred);
            if let Ok(replaced) = &mut replaced {
                replaced.concludes_turn = success.concludes_turn;
            }
            replaced
        }
        (PostDecision::AcceptValue(value), Err(failure)) => {
            json::dismantle(value);
            tracing::warn!(tool = %prepared.call.tool, "an interceptor gave a value to a failed call; ignored");
            Err(failure)
        }
        (PostDecision::Block { feedback, deferred }, result) => {
            // A failure keeps its code: a denial that is reworded is still a denial. A success is no denial: it ran.
            let code = result.err().map_or(ErrorCode::ResultBlocked, |failure| failure.code);
            let mut failure = CallFailure::new(code, feedback);
            failure.deferred = deferred;
            Err(failure)
        }
        (PostDecision::Deferring { decision, deferred }, result) => {
            defer(apply(prepared, result, *decision), deferred)
        }
    }
}

/// Adds messages to what a call defers already.
pub(super) fn defer(mut result: CallResult, more: Vec<DeferredContext>) -> CallResult {
    match &mut result {
        Ok(success) => success.deferred.extend(more),
        Err(failure) => failure.deferred.extend(more),
    }
    result
}
