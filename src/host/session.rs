//! One conversation: calls and programs on behalf of one scope, with one ledger.
//!
//! Owns call ids and the events of native calls. Everything else is the pipeline's and the runner's. It calls both.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::codemode::{LogSink, ProgramRun, SessionState};
use crate::host::Host;
use crate::ids::{CallId, ScopeId, SessionId};
use crate::ledger::{Ledger, ToolCall, ToolResult};
use crate::limits::RunLimits;
use crate::outcome::{CallResult, RunFailure, RunFailureKind, RunOutcome};
use crate::pipeline::CallRequest;
use crate::registry::{RegistryError, RegistryView};
use crate::tool::ProgressSink;

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The session's id; also the ledger's.
    pub id: SessionId,
    /// The agent scope; absent: the global layer, where nobody can be asked for approval.
    pub scope: Option<ScopeId>,
    /// Where events go; absent: nowhere.
    pub ledger: Option<Ledger>,
}

impl SessionOptions {
    /// A session outside of every scope, without a ledger.
    pub fn new(id: impl Into<SessionId>) -> Self {
        Self { id: id.into(), scope: None, ledger: None }
    }

    /// Acts on behalf of a scope.
    pub fn scope(mut self, scope: impl Into<ScopeId>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Records events.
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }
}

/// What one run may have of its own.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// Limits; absent: the host's.
    pub limits: Option<RunLimits>,
    /// A short title for people.
    pub description: Option<String>,
    /// Where lines go as they are printed.
    pub logs: Option<Arc<dyn LogSink>>,
    /// Where progress of tools goes.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// The power to end the run; absent: nobody has it.
    pub cancel: Option<CancellationToken>,
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// One conversation of an agent. Cloning shares it.
#[derive(Clone)]
pub struct Session {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) host: Host,
    id: SessionId,
    pub(super) scope: Option<ScopeId>,
    ledger: Ledger,
    state: SessionState,
    calls: AtomicU64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut open = self.host.shared.ledgers.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.id);
    }
}

impl Session {
    pub(super) fn open(host: Host, options: SessionOptions) -> Self {
        let ledger =
            options.ledger.unwrap_or_else(|| Ledger::disabled(options.id.clone(), Arc::clone(host.clock())));
        let state = SessionState::default();
        host.shared
            .ledgers
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(options.id.clone(), (ledger.clone(), state.clone()));
        let inner =
            Inner { host, id: options.id, scope: options.scope, ledger, state, calls: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// The session's ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// What the session's scope sees now.
    pub fn view(&self) -> Result<Arc<RegistryView>, RegistryError> {
        self.inner.host.registry().view(self.inner.scope.as_ref())
    }

    /// Runs a program with the host's limits.
    pub async fn run(&self, code: impl Into<String>) -> RunOutcome {
        self.run_with(code, RunOptions::default()).await
    }

    /// Runs a program.
    pub async fn run_with(&self, code: impl Into<String>, options: RunOptions) -> RunOutcome {
        let shared = &self.inner.host.shared;
        let Some(runner) = &shared.runner else { return without_runtime() };
        let run = ProgramRun {
            call: self.next_call(),
            parent: None,
            code: code.into(),
            description: options.description,
            session: self.inner.id.clone(),
            scope: self.inner.scope.clone(),
            limits: options.limits.unwrap_or_else(|| shared.limits.clone()),
            commit_order: shared.commit_order,
            drain: shared.drain,
            cancel: options.cancel.unwrap_or_default(),
            ledger: self.inner.ledger.clone(),
            state: self.inner.state.clone(),
            logs: options.logs,
            progress: options.progress,
            working_root: shared.working_root.clone(),
        };
        runner.run(run).await
    }

    /// Makes one native call, as a model does, and records it.
    pub async fn call(&self, tool: &str, args: Value) -> CallResult {
        self.call_with(tool, args, CancellationToken::new()).await
    }

    /// The same with the power to cancel.
    pub async fn call_with(&self, tool: &str, args: Value, cancel: CancellationToken) -> CallResult {
        let id = self.next_call();
        let ledger = &self.inner.ledger;
        let event = || ToolCall { call: id.clone(), tool: tool.into(), arguments: Arc::new(args.clone()) };
        let call = ledger.reserve().await.record_with(event, []);
        let mut request = CallRequest::new(id.clone(), tool, args, self.inner.id.clone());
        request.scope.clone_from(&self.inner.scope);
        request.cancel = cancel;
        request.root.clone_from(&self.inner.host.shared.working_root);
        let result = self.inner.host.pipeline().execute(request).await;
        ledger.reserve().await.record_with(|| ToolResult::new(id, tool.into(), &result), call);
        result
    }

    fn next_call(&self) -> CallId {
        CallId::new(format!("call-{}", self.inner.calls.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.inner.id)
            .field("scope", &self.inner.scope)
            .finish_non_exhaustive()
    }
}

fn without_runtime() -> RunOutcome {
    let failure = RunFailure::new(
        RunFailureKind::EngineExit,
        "this host has no runtime for programs; give it one with `HostBuilder::runtime`",
    );
    RunOutcome::failed(failure)
}
