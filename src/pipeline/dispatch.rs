//! The second stage: the around chain and the body (P-6, P-13 to P-15).
//!
//! Owns the only part of a call that may overlap with others. It never runs a body that was not admitted, or one that
//! was dispatched before, and it never abandons a body: cancelled or not, it waits for it to come to rest (P-14). It
//! calls the handler and `normalize`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::FutureExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::json;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::admission::Admission;
use crate::pipeline::chain::AroundNext;
use crate::pipeline::drain::{GivenUp, Overdue};
use crate::pipeline::finalize::defer;
use crate::pipeline::normalize::{Maker, bound, bound_failure, normalize, too_deep};
use crate::pipeline::prepare::{aborted_before_dispatch, invalid_arguments, panicked};
use crate::pipeline::{Call, Pipeline, Prepared};
use crate::registry::RegisteredTool;
use crate::tool::{ToolContext, ToolDefinition};

impl Pipeline {
    /// Runs the body of a call that was routed to dispatch (P-11).
    ///
    /// Once: a call that was not routed here, or that was dispatched already, is a bug of whoever dispatches it. Its
    /// body does not run, and the result says so.
    pub async fn dispatch(&self, prepared: &Prepared) -> CallResult {
        let call = &*prepared.call;
        let (Some(tool), true) = (&prepared.tool, prepared.body.dispatch()) else {
            let message = format!(
                "`{}` was dispatched without having been admitted, or for the second time; its body did not run",
                call.tool
            );
            return Err(CallFailure::new(ErrorCode::HostBug, message));
        };
        let body = Body {
            call,
            tool,
            context: &prepared.context,
            admission: &prepared.body,
            overdue: &prepared.overdue,
            normalised: Mutex::default(),
        };
        let chain = prepared.chains.around(prepared.view.as_deref());
        let result = if chain.is_empty() {
            body.run(None).await
        } else {
            let wrapped = async { AroundNext { body: &body, rest: &chain, signal: None }.run().await };
            let result = std::panic::AssertUnwindSafe(wrapped).catch_unwind().await;
            result.unwrap_or_else(|_| Err(panicked(&call.tool, "an interceptor")))
        };
        body.settle_cancellation(result)
    }
}

/// The end of the around chain.
pub(crate) struct Body<'a> {
    call: &'a Call,
    tool: &'a RegisteredTool,
    context: &'a ToolContext,
    /// Knows whether the handler was ever invoked, which decides between the two kinds of abort (P-13).
    admission: &'a Admission,
    overdue: &'a Overdue,
    /// The values that were validated and still live, to recognise one that an interceptor made up.
    normalised: Mutex<Vec<Weak<Value>>>,
}

impl<'a> Body<'a> {
    pub(super) fn call(&self) -> &'a Call {
        self.call
    }

    pub(super) fn definition(&self) -> &'a ToolDefinition {
        self.tool.definition()
    }

    pub(super) fn give_up(&self, mut failure: CallFailure) -> GivenUp<'a> {
        bound_failure(&mut failure);
        self.overdue.give_up(failure)
    }

    pub(super) fn has_started(&self) -> bool {
        self.admission.has_started()
    }

    /// Invokes the handler under the caller's signal fused with `extra`.
    pub(super) async fn run(&self, extra: Option<&CancellationToken>) -> CallResult {
        if self.call.cancel.is_cancelled() || extra.is_some_and(CancellationToken::is_cancelled) {
            return Err(self.aborted());
        }
        // Asked last, and at once with the note that it starts: nobody must have answered for it meanwhile.
        if !self.admission.start() {
            return Err(self.aborted());
        }
        // A child, so that a body that cancels what it was given cancels nothing else.
        let signal = self.call.cancel.child_token();
        let mut context = self.context.clone();
        context.cancel = signal.clone();
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
            Ok(Ok(value)) => normalize(self.tool.definition(), self.call, value, Maker::Tool),
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
                self.remember(&success.value);
                Ok(success)
            }
            Err(mut failure) => {
                failure.deferred = handback.deferred;
                Err(failure)
            }
        }
    }

    /// A success whose value did not come from the body is held to the output contract as well (P-7, T-10).
    pub(super) fn accept(&self, mut result: CallResult) -> CallResult {
        bound(&mut result);
        let success = result?;
        let known = self.lock_normalised().iter().any(|known| known.as_ptr() == Arc::as_ptr(&success.value));
        if known {
            return Ok(success);
        }
        let normalised = if too_deep(&success.value) {
            // Not even copied: that would recurse, as dropping it would.
            if let Some(value) = Arc::into_inner(success.value) {
                json::dismantle(value);
            }
            Err(Maker::Interceptor.too_deep(self.call))
        } else {
            let value = success.value.as_ref().clone();
            normalize(self.tool.definition(), self.call, value, Maker::Interceptor)
        };
        let mut normalised = defer(normalised, success.deferred)?;
        normalised.concludes_turn = success.concludes_turn;
        self.remember(&normalised.value);
        Ok(normalised)
    }

    /// The caller's cancellation has the last word, whatever the body or a wrapper made of it (P-14).
    fn settle_cancellation(&self, result: CallResult) -> CallResult {
        let started = self.has_started();
        if !self.call.cancel.is_cancelled() {
            return match result {
                // What a wrapper kept from an attempt that did not start does not hold for those that did (P-13).
                Err(failure) if started && failure.code == ErrorCode::AbortedBeforeDispatch => {
                    defer(Err(self.aborted()), failure.deferred)
                }
                result => result,
            };
        }
        let mut failure = self.aborted();
        if !started {
            return Err(failure);
        }
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

    /// How a call ends that was stopped, by whether any attempt has started (P-13).
    fn aborted(&self) -> CallFailure {
        let tool = &self.call.tool;
        if !self.has_started() {
            return aborted_before_dispatch(tool);
        }
        let message = format!("`{tool}` was cancelled after it had started; effects may have happened");
        CallFailure::new(ErrorCode::Aborted, message)
    }

    /// As long as it is remembered, nobody can change it in place, and no other value has its address.
    fn remember(&self, value: &Arc<Value>) {
        let mut normalised = self.lock_normalised();
        normalised.retain(|known| known.strong_count() > 0);
        normalised.push(Arc::downgrade(value));
    }

    fn lock_normalised(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Value>>> {
        self.normalised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
