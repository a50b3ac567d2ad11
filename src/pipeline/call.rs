//! One call on its way.
//!
//! Owns the request, the immutable identity of a call, and the route that `prepare` chose. It never changes
//! after it was prepared (P-6). It calls nobody.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ids::{CallId, ParentToken, ScopeId, SessionId, ToolName};
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::admission::Admission;
use crate::pipeline::chain::Chains;
use crate::pipeline::drain::Overdue;
use crate::registry::{RegisteredTool, RegistryView};
use crate::tool::{CallInfo, ProgressSink, ToolContext};

/// What a caller asks for.
#[derive(Clone)]
pub struct CallRequest {
    /// The call's id, chosen by the caller.
    pub id: CallId,
    /// The tool's name.
    pub tool: ToolName,
    /// The arguments; the caller keeps no part of them.
    pub args: Value,
    /// The session that the call belongs to.
    pub session: SessionId,
    /// The agent scope; absent for a direct call by the host, which then cannot be asked about (P-2).
    pub scope: Option<ScopeId>,
    /// Present exactly for calls from a program or another tool (CM-4).
    pub parent: Option<ParentToken>,
    /// The caller's power to cancel; nothing can take it away (P-6).
    pub cancel: CancellationToken,
    /// The working root; absent when the session has none.
    pub root: Option<Arc<Path>>,
    /// Where the body's progress goes; absent when nobody listens.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// The `seq` of the call's event in its session's ledger; absent when it is not recorded.
    pub event: Option<u64>,
}

impl CallRequest {
    /// A top-level call outside of every scope, which nobody can cancel.
    pub fn new(id: impl Into<CallId>, tool: impl Into<ToolName>, args: Value, session: SessionId) -> Self {
        Self {
            id: id.into(),
            tool: tool.into(),
            args,
            session,
            scope: None,
            parent: None,
            cancel: CancellationToken::new(),
            root: None,
            progress: None,
            event: None,
        }
    }

    /// A call that the body of another tool makes: on behalf of the same scope and session, stopped with the outer
    /// call, and nested, so the outer call's result is what the model sees (CM-4).
    ///
    /// The body hands on what the call deferred with [`ToolContext::forward_deferred`] (T-15).
    pub fn nested(
        outer: &ToolContext,
        id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        args: Value,
    ) -> Self {
        let root = outer.parent.as_ref().map_or(&outer.call, ParentToken::root);
        Self {
            id: id.into(),
            tool: tool.into(),
            args,
            session: outer.session.clone(),
            scope: outer.scope.clone(),
            parent: Some(ParentToken::new(root.clone(), outer.call.clone())),
            cancel: outer.cancel.clone(),
            root: outer.root().map(Into::into),
            progress: outer.progress_sink(),
            event: None,
        }
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRequest").field("id", &self.id).field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// The identity of a call, immutable from here on (P-6).
#[derive(Debug)]
pub struct Call {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub tool: ToolName,
    /// The arguments as the caller gave them.
    pub args: Value,
    /// The session.
    pub session: SessionId,
    /// The agent scope; absent for a direct call by the host.
    pub scope: Option<ScopeId>,
    /// Present exactly for nested calls (CM-4).
    pub parent: Option<ParentToken>,
    /// The caller's signal.
    pub cancel: CancellationToken,
    /// The `seq` of the call's event in its session's ledger; absent when it is not recorded.
    pub event: Option<u64>,
}

impl Call {
    /// The call as guards and tools look at it.
    pub fn info(&self) -> CallInfo<'_> {
        CallInfo {
            id: &self.id,
            tool: &self.tool,
            args: &self.args,
            session: &self.session,
            scope: self.scope.as_ref(),
            parent: self.parent.as_ref(),
        }
    }
}

/// Where a prepared call goes next (P-11).
#[derive(Debug)]
pub enum Route {
    /// The body may run.
    Dispatch,
    /// Settled, still to be seen by post-execute: denials.
    PostResult(CallResult),
    /// Settled for good: collapse refusals, unknown tools, unusable arguments, early cancellation.
    Final(CallResult),
}

/// A call that went through `prepare`.
pub struct Prepared {
    pub(super) call: Arc<Call>,
    /// The interceptors as they were when the call came: a call sees one state of them.
    pub(super) chains: Arc<Chains>,
    /// The view under which the call was decided on; absent when its scope is gone.
    pub(super) view: Option<Arc<RegistryView>>,
    /// What the name resolved to; absent when it means nothing.
    pub(super) tool: Option<Arc<RegisteredTool>>,
    pub(super) context: ToolContext,
    pub(super) route: Route,
    pub(super) body: Admission,
    pub(super) overdue: Overdue,
}

impl Prepared {
    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Where it goes next.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Takes the route out, with the result that it may hold. A call has one: asked again, a call that is settled is
    /// told to be a bug of the host, and one that may run can be dispatched once all the same.
    pub fn take_route(&mut self) -> Route {
        match &mut self.route {
            Route::Dispatch => Route::Dispatch,
            settled => {
                let message = format!("the route of `{}` was taken twice", self.call.tool);
                std::mem::replace(settled, Route::Final(Err(CallFailure::new(ErrorCode::HostBug, message))))
            }
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("call", &self.call)
            .field("route", &self.route)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
