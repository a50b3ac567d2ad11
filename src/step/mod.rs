//! The native calls of one model step: who runs when, and in which order results count (section 4).
//!
//! Owns the groups, the rolling pool, the order of commits and the results of calls that never start. It never runs a
//! tool by itself and knows no model: it is handed the calls in the order in which a model made them. It calls the
//! pipeline's four parts and puts events into the ledger.
//!
//! A [`StepScheduler`] is a deployment's, a [`StepRoot`] is what the calls of one step have in common, and a
//! [`StepOutcome`] has one result for each call, in model order. There is no other way out but [`StepFailure`], which
//! means that the scheduler itself could not go on.
//!
//! # Who does what
//!
//! One future does everything in order: the event of a call, `prepare`, the launch, the commit. Only bodies overlap,
//! and they are part of the same future, so that dropping it leaves none running. A call goes
//! `queue -> prepare -> pool -> commit`, and calls that may not run go `queue -> prepare -> commit`. A call at rest
//! waits for the commits of all calls before it (S-4).
//!
//! # Interleavings
//!
//! There is nothing here for a model checker. A step is one future that owns all of its state: it shares no memory
//! with another thread, takes no lock, has no atomic and no waker of its own, and every wait of it is a poll of
//! somebody else's future (`FuturesUnordered`, a cancellation token, the ledger's slots, the clock). Whatever order
//! threads take shows to it as the order in which those futures become ready, and that order is what the property test
//! in `tests` draws at random. The list of bodies left behind is the pipeline's; it is one lock around one vector, and
//! the two sides never wait for each other.

mod commit;
mod driver;
mod error;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::ids::{CallId, ScopeId, SessionId, ToolName};
use crate::ledger::Ledger;
use crate::outcome::{CallResult, DeferredContext};
use crate::pipeline::Pipeline;
use crate::tool::ProgressSink;

pub use error::{StepError, StepFailure};

use driver::Driver;

/// One call as a model made it.
#[derive(Clone, Debug, PartialEq)]
pub struct StepCall {
    /// The model's id of the call. Results are told apart by their place, so that two calls of one id do no harm.
    pub id: CallId,
    /// The tool, by the name that the model used.
    pub tool: ToolName,
    /// The arguments; a string when the model's text was not JSON, which no tool accepts.
    pub args: Value,
}

impl StepCall {
    /// A call.
    pub fn new(id: impl Into<CallId>, tool: impl Into<ToolName>, args: Value) -> Self {
        Self { id: id.into(), tool: tool.into(), args }
    }
}

/// How the calls of one step may overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchRule {
    /// Parallel calls next to each other form a group; an exclusive call is a barrier (S-2).
    #[default]
    Groups,
    /// One exclusive call among them makes all of them run one by one, and the first failure keeps the rest from
    /// starting (S-8). The rule is asked again whenever the registry changes.
    AllOrSerial,
}

/// How steps are scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepConfig {
    /// Bodies that run at the same time (S-3). Default 10; 1 is strictly serial (S-9), and 0 counts as 1.
    pub max_parallel: usize,
    /// How calls may overlap. Default [`BatchRule::Groups`].
    pub batch_rule: BatchRule,
    /// How long bodies that were told to stop, and interceptors that review calls, are waited for after the step was
    /// cancelled; absent: for ever (P-14). After one review has not come in this time, no other is waited for. It does
    /// not limit a step that nobody cancels.
    pub drain: Option<Duration>,
}

impl Default for StepConfig {
    fn default() -> Self {
        Self { max_parallel: 10, batch_rule: BatchRule::default(), drain: None }
    }
}

/// What every call of a step inherits.
#[derive(Clone)]
pub struct StepRoot {
    /// The session.
    pub session: SessionId,
    /// The agent scope; absent: the global layer, where nobody can be asked for approval.
    pub scope: Option<ScopeId>,
    /// The host's power to end the step (S-6).
    pub cancel: CancellationToken,
    /// The working root of tools; absent when the session has none.
    pub working_root: Option<Arc<Path>>,
    /// Where progress of bodies goes; absent when nobody listens.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl StepRoot {
    /// A root outside of every scope, which nobody can cancel.
    pub fn new(session: impl Into<SessionId>) -> Self {
        Self {
            session: session.into(),
            scope: None,
            cancel: CancellationToken::new(),
            working_root: None,
            progress: None,
        }
    }
}

impl fmt::Debug for StepRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepRoot")
            .field("session", &self.session)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// The result of one call of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The call.
    pub id: CallId,
    /// Its tool.
    pub tool: ToolName,
    /// What it gave back; for a call that never started, `ABORTED_BEFORE_DISPATCH`.
    pub result: CallResult,
}

/// What became of a step: one result for each call, in model order (S-1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepOutcome {
    /// The results.
    pub results: Vec<StepResult>,
}

impl StepOutcome {
    /// What the calls deferred, successes and failures alike, in the order of the results (S-4). The messages are those
    /// that stand in the results; they follow the results to the model.
    pub fn deferred(&self) -> impl Iterator<Item = &DeferredContext> {
        self.results.iter().flat_map(|result| match &result.result {
            Ok(success) => &success.deferred,
            Err(failure) => &failure.deferred,
        })
    }

    /// Whether a call that succeeded asked to conclude the turn (T-14). The calls after it have run all the same.
    pub fn concludes_turn(&self) -> bool {
        self.results.iter().any(|result| result.result.as_ref().is_ok_and(|success| success.concludes_turn))
    }
}

/// Schedules the steps of one session's models.
///
/// ```
/// # use isolane::{clock::{Clock, SystemClock}, ledger::Ledger, limits::CallLimits, pipeline::Pipeline};
/// # use isolane::{registry::Registry, step::{StepCall, StepConfig, StepRoot, StepScheduler}};
/// # async fn example() -> Result<(), isolane::step::StepFailure> {
/// # let clock = SystemClock::shared();
/// # let (ledger, _) = Ledger::in_memory("s".into(), clock.clone());
/// # let pipeline = Pipeline::new(Registry::new(), CallLimits::default(), None);
/// let steps = StepScheduler::new(pipeline, ledger, clock, StepConfig::default());
/// let calls = vec![StepCall::new("call-1", "read", serde_json::json!({"path": "a.txt"}))];
/// let outcome = steps.execute(StepRoot::new("s"), calls).await?;
/// assert_eq!(outcome.results.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StepScheduler {
    pipeline: Pipeline,
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    config: StepConfig,
}

impl StepScheduler {
    /// A scheduler over a pipeline, which records into `ledger`. The clock measures the drain deadline only.
    pub fn new(pipeline: Pipeline, ledger: Ledger, clock: Arc<dyn Clock>, config: StepConfig) -> Self {
        Self { pipeline, ledger, clock, config }
    }

    /// Works through the calls of one step. The outcome has exactly one result for each, in model order (S-1), and
    /// all of them are in the ledger's store by then.
    ///
    /// Dropping the future drops the bodies that run after telling them to stop, and the ledger gets a result for each
    /// call that it has begun with, as far as it takes them without waiting: `ABORTED` for a call whose body had
    /// started and whose result is not known or was not reviewed, `ABORTED_BEFORE_DISPATCH` for one whose body had not.
    ///
    /// A ledger whose store falls behind holds the step back, however long that takes; bodies go on meanwhile.
    ///
    /// # Errors
    /// [`StepFailure`] when the scheduler itself cannot go on; what was in flight has come to rest by then, and no
    /// result was made up for it (S-7). No tool and no model can cause one, and no policy by what it decides or by a
    /// panic that the pipeline contains. What can is the ledger's failure, and host code that breaks outside of that,
    /// such as an interceptor that panics when it is dropped.
    pub async fn execute(&self, root: StepRoot, calls: Vec<StepCall>) -> Result<StepOutcome, StepFailure> {
        Driver::new(self, root, calls).drive().await
    }
}
