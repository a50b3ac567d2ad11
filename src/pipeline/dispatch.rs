//! The second stage: the around chain and the body (P-6, P-13 to P-15).
//!
//! Owns the only part of a call that may overlap with others. It never abandons a body: cancelled or not, it
//! waits for it to come to rest (P-14). It calls the handler and `normalize`.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::json;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::chain::AroundNext;
use crate::pipeline::drain::{GivenUp, Overdue};
use crate::pipeline::normalize::{MAX_OUTPUT_DEPTH, bound, normalize, too_deep};
use crate::pipeline::prepare::{aborted_before_dispatch, invalid_arguments, panicked};
use crate::pipeline::{Call, Pipeline, Prepared};
use crate::registry::RegisteredTool;
use crate::tool::{ToolContext, ToolDefinition};

impl Pipeline {
    /// Runs the body of a call that was routed to dispatch (P-11).
    pub async fn dispatch(&self, prepared: &Prepared) -> CallResult {
        let call = &*prepared.call;
        let (Some(tool), Some(view)) = (&prepared.tool, &prepared.view) else {
            let message = format!("`{}` was dispatched without having been resolved", call.tool);
            return Err(CallFailure::new(ErrorCode::HostBug, message));
        };
        let body = Body {
            call,
            tool,
            context: &prepared.context,
            overdue: &prepared.overdue,
            started: AtomicBool::new(false),
            normalised: Mutex::new(None),
        };
        let chain = self.chains().around(view.chain());
        let result = if chain.is_empty() {
            body.run(None).await
        } else {
            let wrapped = async { AroundNext { body: &body, rest: &chain, signal: None }.run().await };
            let result = std::panic::AssertUnwindSafe(wrapped).catch_unwind().await;
            body.accept(result.unwrap_or_else(|_| Err(panicked(&call.tool, "an interceptor"))))
        };
        body.settle_cancellation(result)
    }
}

/// The end of the around chain.
pub(crate) struct Body<'a> {
    call: &'a Call,
    tool: &'a RegisteredTool,
    context: &'a ToolContext,
    overdue: &'a Overdue,
    /// Whether the handler was ever invoked: decides between the two kinds of abort (P-13).
    started: AtomicBool,
    /// The value that was validated last, to recognise one that an interceptor made up.
    normalised: Mutex<Option<Arc<Value>>>,
}

impl<'a> Body<'a> {
    pub(super) fn call(&self) -> &'a Call {
        self.call
    }

    pub(super) fn definition(&self) -> &'a ToolDefinition {
        self.tool.definition()
    }

    pub(super) fn give_up(&self, failure: CallFailure) -> GivenUp<'a> {
        self.overdue.give_up(failure)
    }

    pub(super) fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Invokes the handler under the caller's signal fused with `extra`.
    pub(super) async fn run(&self, extra: Option<&CancellationToken>) -> CallResult {
        if self.call.cancel.is_cancelled() || extra.is_some_and(CancellationToken::is_cancelled) {
            return Err(aborted_before_dispatch(&self.call.tool));
        }
        // A child, so that a body that cancels what it was given cancels nothing else.
        let signal = self.call.cancel.child_token();
        let mut context = self.context.clone();
        context.cancel = signal.clone();
        self.started.store(true, Ordering::Relaxed);
        let args = self.call.args.clone();
        let handler = self.tool.tool().handler();
        let invoking =
            std::panic::AssertUnwindSafe(async move { handler.call(args, context).await }).catch_unwind();
        let reply = match extra {
            None => invoking.await,
            Some(extra) => {
                tokio::pin!(invoking);
                tokio::select! {
                    reply = &mut invoking => reply,
                    () = extra.cancelled() => {
                        signal.cancel();
                        invoking.await
                    }
                }
            }
        };
        let mut result = match reply {
            Err(_) => Err(CallFailure::new(
                ErrorCode::ToolPanicked,
                format!(
                    "the tool `{}` panicked; this is a bug of the tool, other tools still work",
                    self.call.tool
                ),
            )),
            Ok(Err(error)) => {
                let mut failure = match (error.invalid_arguments, error.unsupported) {
                    (true, _) => invalid_arguments(&self.call.tool, &error.message),
                    (false, true) => CallFailure::new(ErrorCode::ToolUnsupported, error.message),
                    (false, false) => CallFailure::new(ErrorCode::ToolFailed, error.message),
                };
                failure.details = error.details;
                failure.content.extend(error.blocks);
                Err(failure)
            }
            Ok(Ok(value)) => normalize(self.tool.definition(), self.call, value),
        };
        bound(&mut result);
        let handback = self.context.take_handback();
        match result {
            Ok(mut success) => {
                success.deferred = handback.deferred;
                success.concludes_turn = handback.conclude_turn;
                if let Some(content) = handback.content {
                    success.content = content;
                }
                *self.lock_normalised() = Some(Arc::clone(&success.value));
                Ok(success)
            }
            Err(mut failure) => {
                failure.deferred = handback.deferred;
                Err(failure)
            }
        }
    }

    /// A success whose value did not come from the body is held to the output contract as well (T-10).
    fn accept(&self, mut result: CallResult) -> CallResult {
        bound(&mut result);
        let success = result?;
        let known = self.lock_normalised().as_ref().is_some_and(|value| Arc::ptr_eq(value, &success.value));
        if known {
            return Ok(success);
        }
        if json::depth_exceeds(&success.value, MAX_OUTPUT_DEPTH) {
            // Not even copied: that would recurse, as dropping it would.
            if let Some(value) = Arc::into_inner(success.value) {
                json::dismantle(value);
            }
            return Err(too_deep(self.call));
        }
        let mut normalised = normalize(self.tool.definition(), self.call, success.value.as_ref().clone())?;
        normalised.deferred = success.deferred;
        normalised.concludes_turn = success.concludes_turn;
        Ok(normalised)
    }

    /// The caller's cancellation has the last word, whatever the body or a wrapper made of it (P-14).
    fn settle_cancellation(&self, result: CallResult) -> CallResult {
        if !self.call.cancel.is_cancelled() {
            return result;
        }
        if !self.has_started() {
            return Err(aborted_before_dispatch(&self.call.tool));
        }
        let message =
            format!("`{}` was cancelled after it had started; effects may have happened", self.call.tool);
        let mut failure = CallFailure::new(ErrorCode::Aborted, message);
        match result {
            Ok(success) => failure.deferred = success.deferred,
            // The tool's own code broke: that is worth more than the cancellation.
            Err(broken) if broken.code == ErrorCode::ToolPanicked => return Err(broken),
            Err(cause) => {
                let mut details = serde_json::json!({"code": cause.code, "message": cause.message});
                if let (Some(more), Some(members)) = (cause.details, details.as_object_mut()) {
                    members.insert("details".to_owned(), more);
                }
                failure.details = Some(details);
                // What the body had to say of its own end, such as what it had done by then.
                if cause.code == ErrorCode::ToolFailed {
                    failure.content.extend(cause.content);
                }
                failure.deferred = cause.deferred;
            }
        }
        Err(failure)
    }

    fn lock_normalised(&self) -> std::sync::MutexGuard<'_, Option<Arc<Value>>> {
        self.normalised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
