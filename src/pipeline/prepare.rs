//! The first stage: may this call run? (P-1 to P-5)
//!
//! Owns resolution, argument limits and validation, the pre-execute chain, approval and guards, in this order.
//! Never overlaps with itself in a scheduler (P-11). It calls the registry and the approval service.

use std::sync::Arc;

use futures_util::FutureExt;

use crate::ids::{ToolName, nearest, tool_reference};
use crate::json;
use crate::ledger::{MAX_VALUE_DEPTH, bound_value};
use crate::outcome::{CallFailure, ErrorCode};
use crate::pipeline::chain::PreNext;
use crate::pipeline::drain::Overdue;
use crate::pipeline::{
    ApprovalAnswer, ApprovalQuestion, Call, CallRequest, Decision, Pipeline, Prepared, Route,
};
use crate::registry::{RUN_CODE, RegisteredTool, RegistryView, Resolution};
use crate::tool::ToolContext;

impl Pipeline {
    /// Decides whether a call may run (P-11). Schedulers await one after the other.
    ///
    /// Arguments of any depth are safe: those that are too deep for an event are refused, and the call has their text
    /// in their place (T-8).
    pub async fn prepare(&self, mut request: CallRequest) -> Prepared {
        let too_deep = bound_value(&mut request.args);
        self.prepare_bounded(request, too_deep).await
    }

    /// The same for a caller who had to make the arguments safe, and knows whether they were too deep.
    pub(crate) async fn prepare_bounded(&self, mut request: CallRequest, too_deep: bool) -> Prepared {
        // An integer is one however it is spelled; bodies read integers by `serde`, which asks for digits alone.
        json::spell_whole_numbers(&mut request.args);
        let mut context =
            ToolContext::new(request.id.clone(), request.session.clone(), request.cancel.clone())
                .with_root(request.root)
                .with_progress(request.progress);
        context.parent.clone_from(&request.parent);
        context.scope.clone_from(&request.scope);
        let call = Arc::new(Call {
            id: request.id,
            tool: request.tool,
            args: request.args,
            session: request.session,
            scope: request.scope,
            parent: request.parent,
            cancel: request.cancel,
            event: request.event,
        });
        let mut prepared = Prepared {
            call: Arc::clone(&call),
            view: None,
            tool: None,
            context,
            route: Route::Dispatch,
            overdue: Overdue::default(),
        };
        prepared.route = match self.admit(&call, &mut prepared, too_deep).await {
            Ok(()) => Route::Dispatch,
            Err(route) => route,
        };
        prepared
    }

    async fn admit(&self, call: &Call, prepared: &mut Prepared, too_deep: bool) -> Result<(), Route> {
        if call.cancel.is_cancelled() {
            return Err(settled(aborted_before_dispatch(&call.tool)));
        }
        let view = self
            .registry()
            .view(call.scope.as_ref())
            .map_err(|error| settled(CallFailure::new(ErrorCode::UnknownTool, error.to_string())))?;
        let view = &*prepared.view.insert(view);
        let tool = match view.resolve_execution(call.tool.as_str(), call.parent.is_some()) {
            Resolution::Tool(tool) => &*prepared.tool.insert(tool),
            Resolution::Collapsed(tool) => return Err(settled(collapsed(&tool))),
            Resolution::Hidden => return Err(settled(unknown(call, view, true))),
            Resolution::Unknown => {
                let hidden = self.registry().exists_anywhere(&call.tool);
                return Err(settled(unknown(call, view, hidden)));
            }
        };
        if too_deep {
            let limit = self.shared.limits.depth.min(MAX_VALUE_DEPTH);
            return Err(settled(arguments_too_deep(&call.tool, limit)));
        }
        self.check_args(call, tool).map_err(settled)?;
        let decision = self.decide(call, view).await?;
        if let Decision::Ask { reason } = &decision {
            self.ask(call, reason.as_deref()).await.map_err(denied)?;
        } else if let Decision::Deny { reason } = decision {
            let message = format!("`{}` was denied: {reason}", call.tool);
            return Err(denied(CallFailure::new(ErrorCode::Denied, message)));
        }
        for guard in view.guards() {
            let veto = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guard.veto(&call.info())));
            match veto {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    let message = format!("`{}` was denied: {reason}", call.tool);
                    return Err(denied(CallFailure::new(ErrorCode::Denied, message)));
                }
                // A guard that cannot answer must not let a call through.
                Err(_) => return Err(denied(panicked(&call.tool, "a guard"))),
            }
        }
        if call.cancel.is_cancelled() {
            return Err(settled(aborted_before_dispatch(&call.tool)));
        }
        Ok(())
    }

    fn check_args(&self, call: &Call, tool: &RegisteredTool) -> Result<(), CallFailure> {
        let limits = &self.shared.limits;
        let size = json::estimated_size(&call.args);
        if size > limits.argument_bytes {
            let message = format!(
                "the arguments of `{}` take about {size} bytes; at most {} are allowed. Pass less, or a path or \
                 handle instead of the content",
                call.tool, limits.argument_bytes
            );
            return Err(CallFailure::new(ErrorCode::ToolArgsTooLarge, message));
        }
        if json::depth_exceeds(&call.args, limits.depth) {
            return Err(arguments_too_deep(&call.tool, limits.depth));
        }
        tool.definition().parameters().validate(&call.args).map_err(|problems| {
            let details = serde_json::to_value(&problems).unwrap_or_default();
            invalid_arguments(&call.tool, &problems.to_string()).with_details(details)
        })
    }

    async fn decide(&self, call: &Call, view: &RegistryView) -> Result<Decision, Route> {
        let chain = self.chains().pre(view.chain());
        if chain.is_empty() {
            return Ok(Decision::Allow);
        }
        let deciding = std::panic::AssertUnwindSafe(async { PreNext { call, rest: &chain }.decide().await });
        deciding.catch_unwind().await.map_err(|_| denied(panicked(&call.tool, "an interceptor")))
    }

    /// Only an explicit grant grants; the four ways not to are told apart (P-2).
    async fn ask(&self, call: &Call, reason: Option<&str>) -> Result<(), CallFailure> {
        let tool = &call.tool;
        let refused =
            |why| Err(CallFailure::new(ErrorCode::Denied, format!("`{tool}` needs approval, and {why}")));
        let Some(service) = &self.shared.approval else {
            return refused("this deployment has nobody to ask");
        };
        let Some(scope) = &call.scope else {
            return refused("a call outside of every agent scope cannot be asked about");
        };
        let question = ApprovalQuestion {
            call: &call.id,
            tool,
            args: &call.args,
            scope,
            session: &call.session,
            reason,
            event: call.event,
            cancel: &call.cancel,
        };
        let asking = std::panic::AssertUnwindSafe(async { service.ask(question).await }).catch_unwind();
        let answer = tokio::select! {
            // The service first: it may have a word to record on a question that is withdrawn.
            biased;
            answer = asking => answer.unwrap_or_else(|_| ApprovalAnswer::Unavailable {
                reason: "the approval service panicked".to_owned(),
            }),
            () = call.cancel.cancelled() => ApprovalAnswer::Cancelled,
        };
        let (code, message) = match answer {
            ApprovalAnswer::AllowedOnce => return Ok(()),
            ApprovalAnswer::Rejected { note } => {
                let note = note.map(|note| format!(": {note}")).unwrap_or_default();
                (ErrorCode::ApprovalRejected, format!("approval for `{tool}` was rejected{note}"))
            }
            ApprovalAnswer::Cancelled => (
                ErrorCode::ApprovalCancelled,
                format!("the question for approval of `{tool}` was withdrawn before it was answered"),
            ),
            ApprovalAnswer::Unavailable { reason } => (
                ErrorCode::ApprovalUnavailable,
                format!("approval for `{tool}` could not be asked for: {reason}"),
            ),
        };
        Err(CallFailure::new(code, message))
    }
}

fn settled(failure: CallFailure) -> Route {
    Route::Final(Err(failure))
}

fn denied(failure: CallFailure) -> Route {
    Route::PostResult(Err(failure))
}

pub(super) fn panicked(tool: &ToolName, part: &str) -> CallFailure {
    CallFailure::new(ErrorCode::ToolPanicked, format!("{part} panicked while `{tool}` was called"))
}

pub(super) fn invalid_arguments(tool: &ToolName, problems: &str) -> CallFailure {
    CallFailure::new(ErrorCode::ToolArgsInvalid, format!("arguments of `{tool}`: {problems}"))
}

pub(crate) fn arguments_too_deep(tool: &ToolName, levels: usize) -> CallFailure {
    let message =
        format!("the arguments of `{tool}` are nested more than {levels} levels deep; pass a flatter value");
    CallFailure::new(ErrorCode::ToolArgsTooLarge, message)
}

pub(crate) fn aborted_before_dispatch(tool: &ToolName) -> CallFailure {
    let message = format!("`{tool}` was cancelled before it started; nothing happened");
    CallFailure::new(ErrorCode::AbortedBeforeDispatch, message)
}

fn collapsed(tool: &RegisteredTool) -> CallFailure {
    let name = tool.definition().name().as_str();
    let access = tool_reference(name);
    let message =
        format!("`{name}` can be called from a program only: inside run_code, `await {access}({{...}})`");
    CallFailure::new(ErrorCode::Collapsed, message)
}

/// Bytes of the longest unknown name that a near one is looked for.
const LONGEST_MISSPELT: usize = 256;

fn unknown(call: &Call, view: &RegistryView, hidden: bool) -> CallFailure {
    let name = call.tool.as_str();
    let message = if hidden && name != RUN_CODE {
        format!("the tool `{name}` exists but is not available here")
    } else {
        let visible = view.callable().map(|tool| tool.definition().name().as_str());
        // What is longer than any name of a tool was not meant to be one, and is not worth a walk over all of them.
        let near = (name.len() <= LONGEST_MISSPELT).then(|| nearest(name, visible)).flatten();
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("there is no tool `{}`{hint}", name.chars().take(100).collect::<String>())
    };
    CallFailure::new(ErrorCode::UnknownTool, message)
}
