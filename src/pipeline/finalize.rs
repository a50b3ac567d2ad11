//! The last stage: post-execute, final content, observers (P-8 to P-10).
//!
//! Owns what may still change a settled result. Nothing here can turn a failure into a success (P-5). It calls
//! the interceptors, the definition's `finalize_content` and the observers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use crate::ids::ScopeId;
use crate::json;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::chain::PostNext;
use crate::pipeline::normalize::{bound, normalize};
use crate::pipeline::prepare::panicked;
use crate::pipeline::{Pipeline, PostDecision, Prepared};

impl Pipeline {
    /// Post-execute, then [`Pipeline::finish`] (P-11).
    pub async fn finalize(&self, prepared: &Prepared, result: CallResult) -> CallResult {
        let chain = self.chains().post(scope_chain(prepared));
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
        for observer in self.chains().observers(scope_chain(prepared)) {
            if catch_unwind(AssertUnwindSafe(|| observer.observe(call, &result))).is_err() {
                tracing::warn!(tool = %call.tool, call = %call.id, "a result observer panicked");
            }
        }
        result
    }
}

fn scope_chain(prepared: &Prepared) -> &[ScopeId] {
    prepared.view.as_ref().map_or(&[], |view| view.chain())
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
            let mut replaced = normalize(tool.definition(), &prepared.call, value)?;
            replaced.deferred = success.deferred;
            replaced.concludes_turn = success.concludes_turn;
            Ok(replaced)
        }
        (PostDecision::AcceptValue(value), Err(failure)) => {
            json::dismantle(value);
            tracing::warn!(tool = %prepared.call.tool, "an interceptor gave a value to a failed call; ignored");
            Err(failure)
        }
        (PostDecision::Block { feedback, deferred }, result) => {
            // A failure keeps its code: a denial that is reworded is still a denial.
            let code = result.err().map_or(ErrorCode::Denied, |failure| failure.code);
            let mut failure = CallFailure::new(code, feedback);
            failure.deferred = deferred;
            Err(failure)
        }
    }
}
