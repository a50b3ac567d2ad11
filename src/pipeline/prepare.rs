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
use crate::pipeline::admission::Admission;
use crate::pipeline::chain::PreNext;
use crate::pipeline::drain::Overdue;
use crate::pipeline::{
    ApprovalAnswer, ApprovalQuestion, Call, CallRequest, Decision, Pipeline, PreExecute, Prepared, Route,
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
        let mut prepared = self.begin_bounded(request, too_deep);
        self.decide(&mut prepared).await;
        prepared
    }

    /// [`Pipeline::begin`] for a caller who had to make the arguments safe, and knows whether they were too deep.
    pub(super) fn begin_bounded(&self, request: CallRequest, too_deep: bool) -> Prepared {
        let mut prepared = self.begin(request);
        if too_deep && matches!(prepared.route, Route::Dispatch) {
            let limit = self.shared.limits.depth.min(MAX_VALUE_DEPTH);
            prepared.route = settled(arguments_too_deep(&prepared.call.tool, limit));
        }
        prepared
    }

    /// The part of `prepare` that asks nobody: what the call is and what it resolves to. It has no right to run yet,
    /// and can be finished with any failure (P-9, P-10). The arguments are safe to copy and drop.
    pub(crate) fn begin(&self, mut request: CallRequest) -> Prepared {
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
            call,
            chains: self.chains(),
            view: None,
            tool: None,
            context,
            route: Route::Dispatch,
            body: Admission::closed(),
            overdue: Overdue::default(),
        };
        if let Err(failure) = self.resolve(&mut prepared) {
            prepared.route = settled(failure);
        }
        prepared
    }

    /// The part of `prepare` that asks others.
    pub(crate) async fn decide(&self, prepared: &mut Prepared) {
        match self.admit(prepared).await {
            Ok(()) => prepared.body.admit(),
            Err(route) => prepared.route = route,
        }
    }

    /// Looks the tool up, as the registry is now. A tool that was found before stays for what is left to do.
    fn resolve(&self, prepared: &mut Prepared) -> Result<(), CallFailure> {
        let call = &*prepared.call;
        let view = self
            .registry()
            .view(call.scope.as_ref())
            .map_err(|error| CallFailure::new(ErrorCode::UnknownTool, error.to_string()))?;
        let view = &*prepared.view.insert(view);
        match view.resolve_execution(call.tool.as_str(), call.parent.is_some()) {
            Resolution::Tool(tool) => {
                prepared.tool = Some(tool);
                Ok(())
            }
            Resolution::Collapsed(tool) => Err(collapsed(prepared.tool.insert(tool))),
            Resolution::Hidden => Err(unknown(call, view, true)),
            Resolution::Unknown => Err(unknown(call, view, self.registry().exists_anywhere(&call.tool))),
        }
    }

    async fn admit(&self, prepared: &mut Prepared) -> Result<(), Route> {
        let call = Arc::clone(&prepared.call);
        let aborted = || settled(aborted_before_dispatch(&call.tool));
        if call.cancel.is_cancelled() {
            return Err(aborted());
        }
        if !matches!(prepared.route, Route::Dispatch) {
            return Err(prepared.take_route());
        }
        self.check_args(prepared).map_err(settled)?;
        let chain = prepared.chains.pre(prepared.view.as_deref());
        if !chain.is_empty() {
            match consult(&call, &chain).await? {
                Decision::Allow => {}
                Decision::Ask { reason } => self.ask(&call, reason.as_deref()).await.map_err(denied)?,
                Decision::Deny { reason } => return Err(vetoed(&call.tool, &reason)),
            }
            self.resolve_again(prepared).map_err(settled)?;
        }
        let guards = prepared.view.as_ref().map_or(&[][..], |view| view.guards());
        for guard in guards {
            let veto = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guard.veto(&call.info())));
            match veto {
                Ok(None) => {}
                Ok(Some(reason)) => return Err(vetoed(&call.tool, &reason)),
                // A guard that cannot answer must not let a call through.
                Err(_) => return Err(denied(panicked(&call.tool, "a guard"))),
            }
        }
        if call.cancel.is_cancelled() {
            return Err(aborted());
        }
        Ok(())
    }

    /// Deciding may take as long as a person thinks. What was restricted, guarded, replaced or taken back meanwhile
    /// holds for this call, too (P-4, R-9).
    fn resolve_again(&self, prepared: &mut Prepared) -> Result<(), CallFailure> {
        let before = prepared.tool.as_ref().map(|tool| tool.id());
        if self.generation(prepared.call.scope.as_ref())
            == prepared.view.as_ref().map(|view| view.generation())
        {
            return Ok(());
        }
        self.resolve(prepared)?;
        if prepared.tool.as_ref().map(|tool| tool.id()) != before {
            self.check_args(prepared)?;
        }
        Ok(())
    }

    fn check_args(&self, prepared: &Prepared) -> Result<(), CallFailure> {
        let (call, Some(tool)) = (&*prepared.call, &prepared.tool) else { return Ok(()) };
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

async fn consult(call: &Call, chain: &[Arc<dyn PreExecute>]) -> Result<Decision, Route> {
    let deciding = std::panic::AssertUnwindSafe(async { PreNext { call, rest: chain }.decide().await });
    deciding.catch_unwind().await.map_err(|_| denied(panicked(&call.tool, "an interceptor")))
}

fn vetoed(tool: &ToolName, reason: &str) -> Route {
    denied(CallFailure::new(ErrorCode::Denied, format!("`{tool}` was denied: {reason}")))
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
