//! The public face: wires a deployment together.
//!
//! Owns the three things that an agent host needs: assemble (what a scope's model is shown), execute (calls and
//! programs), observe (events). It holds no rule of its own; everything here is reachable part by part. It calls
//! every module below it.
//!
//! Three nouns carry the API. A [`Host`] is shared by the whole process, a [`Session`] is one conversation, and a
//! [`RegistryView`] is what one scope sees at one moment.
//!
//! [`RegistryView`]: crate::registry::RegistryView
#![cfg_attr(feature = "engine", doc = "\n# A complete host\n\n```standalone_crate")]
#![cfg_attr(feature = "engine", doc = include_str!("../../examples/host.rs"))]
#![cfg_attr(feature = "engine", doc = "```")]

mod prompt;
mod replay;
mod session;
mod step;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::codemode::check::{CheckMode, TypeChecker};
use crate::codemode::lane::CommitOrder;
use crate::codemode::{
    CodeRuntime, OpenSessions, ProgramRunner, RunCodeSettings, SessionState, run_code_tool,
};
#[cfg(feature = "engine")]
use crate::engine::{ProcessError, ProcessOptions, ProcessRuntime};
use crate::ids::SessionId;
use crate::ledger::{Ledger, SessionLedgers};
use crate::limits::{CallLimits, RunLimits};
use crate::pipeline::{ApprovalService, Attachment, Pipeline};
use crate::policy::approval::Approvals;
use crate::policy::{Policy, TimeoutPolicy};
use crate::registry::{PresentationMode, Registry, RegistryError, Target};
use crate::sdk::SdkCache;
use crate::tool::{DefinitionError, Tool};

pub use prompt::Prompt;
pub use replay::{Decision, ReplayError};
pub use session::{RunOptions, Session, SessionCheckError, SessionError, SessionOptions};
pub use step::StepOptions;

/// How long tools that were told to stop are waited for at the end of a run, unless the host says otherwise.
const DEFAULT_DRAIN: Duration = Duration::from_secs(10);

/// A deployment: tools, pipeline, and an engine for programs. Cloning shares it.
///
/// ```no_run
/// # #[cfg(feature = "engine")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use isolane::builtin::files::{FileToolOptions, Root, file_tools};
/// use isolane::host::{Host, SessionOptions};
/// use isolane::registry::PresentationMode;
///
/// // `main` began with `isolane::child::run_if_child()`.
/// let host = Host::builder()
///     .tools(file_tools(Root::open(".".as_ref())?, FileToolOptions::default())?)
///     .mode(PresentationMode::Both)
///     .build()?;
/// let session = host.session(SessionOptions::new("conversation-1"))?;
/// let outcome = session.run("return (await tools.list({})).entries.length").await;
/// assert!(outcome.result.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

struct Shared {
    pipeline: Pipeline,
    runner: Option<ProgramRunner>,
    checker: Option<Arc<dyn TypeChecker>>,
    clock: Arc<dyn Clock>,
    limits: RunLimits,
    commit_order: CommitOrder,
    record_values: bool,
    drain: Option<Duration>,
    working_root: Option<Arc<Path>>,
    ledgers: Arc<Ledgers>,
    /// The registry's, for all sessions.
    sdks: Arc<SdkCache>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The tool holds the runner, the runner the pipeline, and the pipeline the registry that holds the tool.
        self.pipeline.registry().clear_run_code();
    }
}

/// The ledgers of open sessions and what their programs keep, for `run_code`.
#[derive(Debug, Default)]
struct Ledgers {
    open: Mutex<HashMap<SessionId, (Ledger, SessionState)>>,
}

impl Ledgers {
    fn open(&self, session: &SessionId) -> Option<(Ledger, SessionState)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }
}

impl SessionLedgers for Ledgers {
    fn ledger(&self, session: &SessionId) -> Option<Ledger> {
        self.open(session).map(|(ledger, _)| ledger)
    }
}

impl OpenSessions for Ledgers {
    fn state(&self, session: &SessionId) -> Option<SessionState> {
        self.open(session).map(|(_, state)| state)
    }
}

/// Why a deployment cannot be assembled. Its debugging text is its text: a `main` that returns it shows what to do.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A tool was refused.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// `run_code` itself could not be defined.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A mode with `run_code` needs a runtime, and without the feature `engine` there is none by itself.
    #[error("the presentation mode `{mode:?}` needs a runtime for programs; call `.runtime(..)`")]
    RuntimeMissing {
        /// The mode.
        mode: PresentationMode,
    },
    /// Programs cannot run in child processes, and no other runtime was given.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl fmt::Debug for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Assembles a [`Host`].
#[derive(Default)]
pub struct HostBuilder {
    tools: Vec<Tool>,
    runtime: Option<Arc<dyn CodeRuntime>>,
    checker: Option<(Arc<dyn TypeChecker>, CheckMode)>,
    approval: Option<Arc<dyn ApprovalService>>,
    approvals: Option<Approvals>,
    policies: Vec<Box<dyn Policy>>,
    clock: Option<Arc<dyn Clock>>,
    mode: PresentationMode,
    limits: RunLimits,
    call_limits: CallLimits,
    commit_order: CommitOrder,
    record_values: bool,
    drain: Option<Duration>,
    working_root: Option<Arc<Path>>,
}

impl HostBuilder {
    /// Adds tools to the global layer.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets the engine for programs. Absent: in a mode with `run_code`, programs run in child processes of this program,
    /// whose `main` begins with `isolane::child::run_if_child()`; otherwise tools can be called, and programs cannot be
    /// run.
    pub fn runtime(self, runtime: impl CodeRuntime + 'static) -> Self {
        self.shared_runtime(Arc::new(runtime))
    }

    /// The same with one that others use as well.
    pub fn shared_runtime(mut self, runtime: Arc<dyn CodeRuntime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Checks the types of every program before it runs (CM-27), and makes [`Session::check`] possible. Absent: nothing is
    /// checked.
    pub fn type_check(mut self, checker: impl TypeChecker + 'static, mode: CheckMode) -> Self {
        self.checker = Some((Arc::new(checker), mode));
        self
    }

    /// Sets how approval is asked for, and whom (PO-8). Absent: whatever needs approval is denied (P-2).
    ///
    /// A question belongs to a turn of its session, which [`Session::set_turn`] begins; outside of turns nobody is asked.
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Sets an approval service of the host's own in place of [`HostBuilder::approvals`].
    pub fn approval(mut self, service: Arc<dyn ApprovalService>) -> Self {
        self.approval = Some(service);
        self
    }

    /// Holds every call to a policy. Policies wrap a call in the order in which they are given, the first one
    /// outermost; one replaces an earlier one of the same name.
    ///
    /// Unless a [`TimeoutPolicy`] is given, one without exceptions comes first: every tool is held to the timeout that
    /// it declares.
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        let policy: Box<dyn Policy> = Box::new(policy);
        match self.policies.iter_mut().find(|present| present.name() == policy.name()) {
            Some(present) => *present = policy,
            None => self.policies.push(policy),
        }
        self
    }

    /// Sets the clock. Absent: the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the deployment's presentation mode. Absent: native (CM-1).
    pub fn mode(mut self, mode: PresentationMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets what runs may use.
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what single calls may carry.
    pub fn call_limits(mut self, limits: CallLimits) -> Self {
        self.call_limits = limits;
        self
    }

    /// Sets when outcomes of parallel sub-calls are delivered.
    pub fn commit_order(mut self, order: CommitOrder) -> Self {
        self.commit_order = order;
        self
    }

    /// Sets how long tools that were told to stop are waited for at the end of a run. Absent: 10 s (P-14).
    ///
    /// Cancelled calls and steps wait a second longer, for one of their calls may be a run that waits itself. What
    /// still runs after that is in [`Pipeline::undrained`].
    pub fn drain(mut self, deadline: Duration) -> Self {
        self.drain = Some(deadline);
        self
    }

    /// Records the values that programs get from their calls, so that their runs can be run again (L-9) and can go on after
    /// a crash (L-10). Absent: values enter no durable event (T-12), and no run can.
    pub fn record_values(mut self, records: bool) -> Self {
        self.record_values = records;
        self
    }

    /// Sets the working root that tools see.
    pub fn working_root(mut self, root: impl Into<Arc<Path>>) -> Self {
        self.working_root = Some(root.into());
        self
    }

    /// Registers the tools and wires the parts.
    pub fn build(self) -> Result<Host, HostError> {
        let runtime = match self.runtime {
            None if self.mode != PresentationMode::Native => Some(own_runtime(self.mode, &self.limits)?),
            given => given,
        };
        let registry = Registry::new();
        for tool in self.tools {
            registry.register(&Target::Global, tool)?.keep();
        }
        registry.set_default_mode(self.mode);
        let clock = self.clock.unwrap_or_else(SystemClock::shared);
        let ledgers = Arc::new(Ledgers::default());
        let approvals = self.approvals.filter(|_| self.approval.is_none());
        let desk = approvals.map(|approvals| approvals.open(Arc::clone(&ledgers) as _));
        let approval = self.approval.or_else(|| desk.clone().map(|desk| desk as _));
        let pipeline = Pipeline::new(registry, self.call_limits, approval);
        let asking = desk.iter().flat_map(|desk| desk.attach(&pipeline));
        let mut policies = self.policies;
        if !policies.iter().any(|policy| policy.name() == TimeoutPolicy::NAME) {
            policies.insert(0, Box::new(TimeoutPolicy::new()));
        }
        let policies = policies.iter().flat_map(|policy| policy.attach(&pipeline, &clock, None));
        asking.chain(policies).for_each(Attachment::keep);
        let drain = Some(self.drain.unwrap_or(DEFAULT_DRAIN));
        if let Some(limit) = drain.map(step::outer_drain) {
            pipeline.set_drain(Arc::clone(&clock), limit);
        }
        let sdks = Arc::new(SdkCache::new());
        let runner = runtime.map(|runtime| {
            let runner = ProgramRunner::new(pipeline.clone(), runtime, Arc::clone(&clock));
            match &self.checker {
                Some((checker, mode)) => runner.with_check(Arc::clone(checker), *mode, Arc::clone(&sdks)),
                None => runner,
            }
        });
        if let Some(runner) = &runner {
            let settings = RunCodeSettings {
                limits: self.limits.clone(),
                commit_order: self.commit_order,
                drain,
                record_values: self.record_values,
            };
            let sessions: Arc<dyn OpenSessions> = Arc::clone(&ledgers) as _;
            let tool = run_code_tool(runner.clone(), settings, sessions, Arc::clone(&clock))?;
            pipeline.registry().set_run_code(tool);
        }
        let shared = Shared {
            pipeline,
            runner,
            checker: self.checker.map(|(checker, _)| checker),
            clock,
            limits: self.limits,
            commit_order: self.commit_order,
            record_values: self.record_values,
            drain,
            working_root: self.working_root,
            ledgers,
            sdks,
        };
        Ok(Host { shared: Arc::new(shared) })
    }
}

/// What runs programs where nothing else was asked for (E-1).
#[cfg(feature = "engine")]
fn own_runtime(_: PresentationMode, limits: &RunLimits) -> Result<Arc<dyn CodeRuntime>, HostError> {
    Ok(Arc::new(ProcessRuntime::new(ProcessOptions::for_limits(limits))?))
}

#[cfg(not(feature = "engine"))]
fn own_runtime(mode: PresentationMode, _: &RunLimits) -> Result<Arc<dyn CodeRuntime>, HostError> {
    Err(HostError::RuntimeMissing { mode })
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("tools", &self.tools)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Starts a deployment.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// The registry, for scopes, restrictions, guards and more tools.
    pub fn registry(&self) -> &Registry {
        self.shared.pipeline.registry()
    }

    /// The pipeline, for interceptors and for calls outside of sessions.
    pub fn pipeline(&self) -> &Pipeline {
        &self.shared.pipeline
    }

    /// The clock of the deployment.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`SessionError::AlreadyOpen`] while the host has one of this id, and [`SessionError::LedgerOfAnother`].
    pub fn session(&self, options: SessionOptions) -> Result<Session, SessionError> {
        Session::open(self.clone(), options)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("pipeline", &self.shared.pipeline).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
