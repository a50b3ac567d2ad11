//! One conversation: calls and programs on behalf of one scope, with one ledger.
//!
//! Owns call ids and the events of native calls. Everything else is the pipeline's and the runner's. It never gives
//! an id twice in one ledger, whoever wrote to it before. It calls both.

use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::codemode::check::{CheckError, CheckReport, check_text};
use crate::codemode::{LogSink, ProgramRun, SessionState};
use crate::host::Host;
use crate::ids::{CallId, ScopeId, SessionId};
use crate::ledger::{Ledger, ToolCall, ToolResult, bound_value};
use crate::limits::RunLimits;
use crate::outcome::{CallResult, RunFailure, RunFailureKind, RunOutcome};
use crate::pipeline::CallRequest;
use crate::registry::{RegistryError, RegistryView};
use crate::tool::ProgressSink;

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// The session's id; also the ledger's. A host has one open session of an id at a time.
    pub id: SessionId,
    /// The agent scope; absent: the global layer, where nobody can be asked for approval.
    pub scope: Option<ScopeId>,
    /// Where events go; absent: nowhere. One that has events already is gone on with: no call id of it comes again.
    /// It serves one session at a time.
    pub ledger: Option<Ledger>,
    /// What programs kept before (CM-11), for example [`SessionState::restored`] from the ledger's events; absent:
    /// nothing.
    pub state: Option<SessionState>,
}

/// Why a session cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The host has a session of this id that is still in use, by a clone or by a call under way.
    #[error(
        "the session `{id}` is open already; clone it, or drop it and every clone before it is opened again"
    )]
    AlreadyOpen {
        /// The id.
        id: SessionId,
    },
    /// The ledger is another session's.
    #[error(
        "the ledger is that of session `{ledger}` and cannot record session `{id}`; open one under its own id"
    )]
    LedgerOfAnother {
        /// The session that was to be opened.
        id: SessionId,
        /// The ledger's own session.
        ledger: SessionId,
    },
}

/// Why a program could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionCheckError {
    /// The host was built without a compiler.
    #[error("this host has no type checker; give it one with `HostBuilder::type_check`")]
    NoChecker,
    /// The session's scope is gone.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// There is no answer.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl SessionOptions {
    /// A session outside of every scope, without a ledger.
    pub fn new(id: impl Into<SessionId>) -> Self {
        Self { id: id.into(), scope: None, ledger: None, state: None }
    }

    /// Acts on behalf of a scope.
    pub fn scope(mut self, scope: impl Into<ScopeId>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Goes on with what programs kept before.
    pub fn state(mut self, state: SessionState) -> Self {
        self.state = Some(state);
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

/// One conversation of an agent. Cloning shares it; it is open until the last clone is dropped.
///
/// Calls are named `call-<n>`, counted from 1. When the ledger has events already, they are named `call-<seq>.<n>`
/// after the `seq` that it goes on with, so that no two calls of one ledger have one name (L-2).
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
    /// What the ids of this opening begin with.
    prefix: String,
    calls: AtomicU64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut open = self.host.shared.ledgers.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.id);
    }
}

impl Session {
    pub(super) fn open(host: Host, options: SessionOptions) -> Result<Self, SessionError> {
        let SessionOptions { id, scope, ledger, state } = options;
        let ledger = ledger.unwrap_or_else(|| Ledger::disabled(id.clone(), Arc::clone(host.clock())));
        if *ledger.session() != id {
            return Err(SessionError::LedgerOfAnother { id, ledger: ledger.session().clone() });
        }
        let state = state.unwrap_or_default();
        match host.shared.ledgers.open.lock().unwrap_or_else(PoisonError::into_inner).entry(id.clone()) {
            Entry::Occupied(_) => return Err(SessionError::AlreadyOpen { id }),
            Entry::Vacant(free) => free.insert((ledger.clone(), state.clone())),
        };
        // Two openings that go on with the same `seq` have no events between them, and so no name in the ledger. To
        // count on from the last number would not do: a call that is given up before its event uses one up.
        let prefix = match ledger.last_seq() {
            0 => "call-".to_owned(),
            last => format!("call-{}.", last.saturating_add(1)),
        };
        let calls = AtomicU64::new(0);
        Ok(Self { inner: Arc::new(Inner { host, id, scope, ledger, state, prefix, calls }) })
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// The session's ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Sets the turn of the conversation that calls, programs and their events belong to from here on; nothing
    /// outside of turns. Nobody can be asked for approval outside of a turn (PO-8).
    pub fn set_turn(&self, turn: Option<u64>) {
        self.inner.ledger.set_turn(turn);
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
        let Some(runner) = &self.inner.host.shared.runner else { return without_runtime() };
        let code = code.into();
        runner.run(ProgramRun { call: self.next_call(), code, ..self.program_run(options) }).await
    }

    pub(super) fn program_run(&self, options: RunOptions) -> ProgramRun {
        let shared = &self.inner.host.shared;
        ProgramRun {
            call: "".into(),
            parent: None,
            code: String::new(),
            description: options.description,
            session: self.inner.id.clone(),
            scope: self.inner.scope.clone(),
            limits: options.limits.unwrap_or_else(|| shared.limits.clone()),
            commit_order: shared.commit_order,
            record_values: shared.record_values,
            drain: shared.drain,
            cancel: options.cancel.unwrap_or_default(),
            ledger: self.inner.ledger.clone(),
            state: self.inner.state.clone(),
            logs: options.logs,
            progress: options.progress,
            working_root: shared.working_root.clone(),
        }
    }

    /// Checks the types of a program without running it (CM-27). Nothing is recorded.
    ///
    /// ```
    /// # #[cfg(feature = "engine")]
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use isolane::codemode::check::CheckMode;
    /// use isolane::engine::{TypeScriptChecker, TypeScriptOptions};
    /// use isolane::host::{Host, SessionOptions};
    ///
    /// let checker = TypeScriptChecker::new(TypeScriptOptions::default());
    /// let host = Host::builder().type_check(checker, CheckMode::Off).build()?;
    /// let session = host.session(SessionOptions::new("conversation-1"))?;
    /// let report = session.check("const words: string[] = [];\nreturn words.lenght").await?;
    /// assert_eq!(report.diagnostics[0].code, "TS2551");
    /// assert_eq!((report.diagnostics[0].line, report.diagnostics[0].column), (Some(2), Some(14)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn check(&self, code: &str) -> Result<CheckReport, SessionCheckError> {
        let shared = &self.inner.host.shared;
        let checker = shared.checker.as_ref().ok_or(SessionCheckError::NoChecker)?;
        Ok(check_text(&**checker, &shared.sdks, &*self.view()?, code, &shared.limits).await?)
    }

    /// Makes one native call, as a model does, and records it.
    pub async fn call(&self, tool: &str, args: Value) -> CallResult {
        self.call_with(tool, args, CancellationToken::new()).await
    }

    /// The same with the power to cancel.
    pub async fn call_with(&self, tool: &str, mut args: Value, cancel: CancellationToken) -> CallResult {
        // Before the event takes its copy, and before a wait in which all of this may be dropped (T-8).
        let too_deep = bound_value(&mut args);
        let id = self.next_call();
        let ledger = &self.inner.ledger;
        let event = || ToolCall::new(id.clone(), tool, args.clone());
        let call = ledger.reserve().await.record_with(event, []);
        let mut request = CallRequest::new(id.clone(), tool, args, self.inner.id.clone());
        request.scope.clone_from(&self.inner.scope);
        request.cancel = cancel;
        request.root.clone_from(&self.inner.host.shared.working_root);
        request.event = call;
        let result = self.inner.host.pipeline().execute_bounded(request, too_deep).await;
        ledger.reserve().await.record_with(|| ToolResult::new(id, tool.into(), &result), call);
        result
    }

    fn next_call(&self) -> CallId {
        CallId::new(format!("{}{}", self.inner.prefix, self.inner.calls.fetch_add(1, Ordering::Relaxed) + 1))
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
        "this host has no runtime for programs; give it a mode with `run_code`, or a runtime with `HostBuilder::runtime`",
    );
    RunOutcome::failed(failure)
}

#[cfg(test)]
mod tests;
