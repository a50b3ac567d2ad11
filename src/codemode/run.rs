//! One run of a program, from its text to its outcome.
//!
//! Owns the order: record the start, bind the tools, run, note what the model must know, record the end. It never
//! prepares or executes anything itself. It calls `bindings`, the lane and a runtime.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::Origin;
use crate::codemode::check::{CheckMode, ProgramCheck, TypeChecker};
use crate::codemode::lane::{self, CommitOrder, LaneConfig, LaneReport, LaneRoot};
use crate::codemode::notes;
use crate::codemode::runtime::{CodeRuntime, LogSink, RunReport, RunRequest};
use crate::codemode::state::{SessionState, StateDraft};
use crate::codemode::written::WrittenProgram;
use crate::ids::{CallId, ParentToken, ScopeId, SessionId};
use crate::ledger::{Ledger, RunEnd, RunStart};
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunFailureKind, RunOutcome, RunStats};
use crate::pipeline::Pipeline;
use crate::registry::RegistryView;
use crate::sdk::SdkCache;
use crate::tool::ProgressSink;

/// What a run needs to know.
#[derive(Clone)]
pub struct ProgramRun {
    /// The call that carries the program; sub-calls are named after it.
    pub call: CallId,
    /// Present when the run was itself made from inside another call.
    pub parent: Option<ParentToken>,
    /// The program's text as the model wrote it.
    pub code: String,
    /// A short title for people; absent when the model gave none.
    pub description: Option<String>,
    /// The session.
    pub session: SessionId,
    /// The agent scope whose tools the program may call; absent: the global layer's.
    pub scope: Option<ScopeId>,
    /// What the run may use.
    pub limits: RunLimits,
    /// When outcomes of parallel calls are delivered.
    pub commit_order: CommitOrder,
    /// How long bodies that were told to stop are waited for; absent: for ever.
    pub drain: Option<Duration>,
    /// The host's power to end the run.
    pub cancel: CancellationToken,
    /// Where events go.
    pub ledger: Ledger,
    /// What programs of the session keep between their runs (CM-11).
    pub state: SessionState,
    /// Where lines go as they are printed.
    pub logs: Option<Arc<dyn LogSink>>,
    /// Where progress of tools goes.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// The working root of tools.
    pub working_root: Option<Arc<Path>>,
}

impl fmt::Debug for ProgramRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramRun")
            .field("call", &self.call)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// Runs programs against one pipeline. Cloning shares it.
#[derive(Clone, Debug)]
pub struct ProgramRunner {
    pipeline: Pipeline,
    runtime: Arc<dyn CodeRuntime>,
    clock: Arc<dyn Clock>,
    check: Option<ProgramCheck>,
    bindings: Arc<Mutex<BindingCache>>,
}

/// The bindings of the scopes that ran last, by the view they were made from.
#[derive(Debug, Default)]
struct BindingCache {
    recent: Vec<(Option<ScopeId>, usize, Arc<Bindings>)>,
}

const CACHED_SCOPES: usize = 16;

impl ProgramRunner {
    /// A runner over a pipeline and a runtime.
    pub fn new(pipeline: Pipeline, runtime: Arc<dyn CodeRuntime>, clock: Arc<dyn Clock>) -> Self {
        Self { pipeline, runtime, clock, check: None, bindings: Arc::default() }
    }

    /// Checks the types of every program before it runs (CM-27), against the SDKs of the pipeline's registry.
    pub fn with_check(mut self, checker: Arc<dyn TypeChecker>, mode: CheckMode, sdks: Arc<SdkCache>) -> Self {
        self.check = ProgramCheck::new(checker, mode, sdks);
        self
    }

    /// The pipeline that sub-calls go through.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Runs one program to its end. Every outcome is typed; nothing a program does makes this fail.
    pub async fn run(&self, run: ProgramRun) -> RunOutcome {
        let begun = self.clock.monotonic();
        let origin = Origin::new(self.clock.now());
        let start = || RunStart {
            call: run.call.clone(),
            program: run.code.as_str().into(),
            description: run.description.clone(),
            at: Some(origin.at),
            seed: Some(origin.seed.to_string()),
        };
        let start = run.ledger.reserve().await.record_with(start, []);
        tracing::debug!(call = %run.call, bytes = run.code.len(), "a program starts");
        let state = run.state.draft(run.limits.state_bytes, run.call.clone(), run.ledger.clone(), start);
        let mut inputs = String::new();
        let mut outcome = match self.pipeline.registry().view(run.scope.as_ref()) {
            Err(error) => RunOutcome::failed(RunFailure::new(RunFailureKind::Abort, error.to_string())),
            Ok(view) => {
                let mut report = self.execute(&run, origin, view, state).await;
                inputs = std::mem::take(&mut report.inputs);
                assemble(&run.limits, report)
            }
        };
        outcome.stats.wall_ms = millis(self.clock.monotonic().saturating_sub(begun));
        let failed = outcome.result.as_ref().err().map(|failure| failure.kind.as_str());
        let RunStats { wall_ms, busy_ms, sub_calls, .. } = outcome.stats;
        tracing::debug!(call = %run.call, wall_ms, busy_ms, sub_calls, failed, "a program has ended");
        let slot = run.ledger.reserve().await;
        slot.record_with(|| RunEnd { inputs, ..RunEnd::new(run.call.clone(), &outcome) }, start);
        outcome
    }

    fn bindings(&self, run: &ProgramRun, view: &RegistryView) -> Arc<Bindings> {
        let limit = run.limits.argument_bytes;
        let mut cache = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cache.recent.iter().find(|(scope, bytes, bindings)| {
            *scope == run.scope && *bytes == limit && bindings.generation() == view.generation()
        });
        if let Some((_, _, bindings)) = cached {
            return Arc::clone(bindings);
        }
        let bindings = Arc::new(Bindings::new(view, limit));
        cache.recent.retain(|(scope, bytes, _)| (scope, *bytes) != (&run.scope, limit));
        cache.recent.insert(0, (run.scope.clone(), limit, Arc::clone(&bindings)));
        cache.recent.truncate(CACHED_SCOPES);
        bindings
    }

    async fn execute(
        &self,
        run: &ProgramRun,
        origin: Origin,
        view: Arc<RegistryView>,
        state: StateDraft,
    ) -> RunReport {
        let root = LaneRoot {
            parent: run.call.clone(),
            root: run.parent.as_ref().map_or_else(|| run.call.clone(), |token| token.root().clone()),
            session: run.session.clone(),
            scope: run.scope.clone(),
            // A child: the run ends its own calls, never the caller's other work.
            cancel: run.cancel.child_token(),
            working_root: run.working_root.clone(),
            progress: run.progress.clone(),
        };
        let config = LaneConfig {
            max_parallel: run.limits.max_parallel_sub_calls,
            commit_order: run.commit_order,
            max_calls: run.limits.sub_calls,
            max_queued_bytes: run.limits.queued_argument_bytes,
            max_value_bytes: run.limits.value_bytes(),
            forwarded_blocks: run.limits.forwarded_blocks,
            drain: run.drain,
        };
        let (handle, driver) =
            lane::open(self.pipeline.clone(), run.ledger.clone(), Arc::clone(&self.clock), root, config);
        let request = RunRequest {
            bindings: self.bindings(run, &view),
            program: WrittenProgram {
                text: run.code.as_str().into(),
                max_bytes: run.limits.program_bytes,
                review: self.check.as_ref().map(|check| check.review(view)),
            },
            origin,
            session: run.session.clone(),
            clock: Arc::clone(&self.clock),
            limits: run.limits.clone(),
            state: state.clone(),
            cancel: run.cancel.clone(),
            logs: run.logs.clone(),
        };
        let mut report = self.runtime.run(request, handle, driver).await;
        if report.result.is_ok()
            && let Err(error) = state.commit()
        {
            report.result =
                Err(RunFailure::new(RunFailureKind::Exception, format!("state was not kept: {error}")));
        }
        state.close();
        state.record().await;
        report
    }
}

fn assemble(limits: &RunLimits, report: RunReport) -> RunOutcome {
    let RunReport { result, logs, notes: engine_notes, inputs: _, lane, busy } = report;
    let notes = notes::collect(&result, &logs, &lane, limits.forwarded_blocks, engine_notes);
    let LaneReport {
        sub_calls,
        deferred,
        concludes_turn,
        blocks,
        blocks_left_out: _,
        started,
        failed,
        peak_parallel,
        peak_in_flight,
    } = lane;
    let stats = RunStats {
        wall_ms: 0,
        busy_ms: millis(busy),
        sub_calls: started,
        failed_sub_calls: failed,
        peak_parallel,
        peak_in_flight,
    };
    RunOutcome { result, logs, notes, sub_calls, blocks, deferred, concludes_turn, stats }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
