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
use crate::codemode::check::{CheckMode, ProgramCheck, TypeChecker};
use crate::codemode::divergence::{Course, Replayed};
use crate::codemode::inputs::Origin;
use crate::codemode::lane::{self, CommitOrder, LaneConfig, LaneReport, LaneRoot, RecordedCalls};
use crate::codemode::notes;
use crate::codemode::recording::{Recording, RecordingError};
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
    /// Whether the values that the program gets are recorded, so that the run can be replayed (L-9).
    pub record_values: bool,
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
        let origin = Origin::new(self.clock.now());
        let start = || RunStart {
            call: run.call.clone(),
            program: run.code.as_str().into(),
            description: run.description.clone(),
            at: Some(origin.at),
            seed: Some(origin.seed.to_string()),
        };
        let start = run.ledger.reserve().await.record_with(start, []);
        let state = run.state.draft(run.limits.state_bytes, run.call.clone(), run.ledger.clone(), start);
        let (outcome, course) = self.run_from(&run, origin, state, RecordedCalls::default()).await;
        end(&run, start, &outcome, course).await;
        outcome
    }

    /// Runs a program again as it was recorded: its calls are answered from the recording, and no tool is touched (L-9).
    ///
    /// Of `run`, what the recording does not say counts: limits, scope, who watches. Nothing is recorded and nothing kept.
    pub async fn replay(&self, run: ProgramRun, recording: &Recording) -> Replayed {
        let run = ProgramRun {
            call: recording.start.0.call.clone(),
            code: recording.program().to_string(),
            ledger: Ledger::disabled(run.session.clone(), Arc::clone(&self.clock)),
            state: recording.state.clone(),
            ..run
        };
        let state = run.state.draft(run.limits.state_bytes, run.call.clone(), run.ledger.clone(), None);
        let calls = recording.recorded_calls(false);
        let (outcome, course) = self.run_from(&run, recording.origin(false), state, calls).await;
        Replayed::compare(recording, outcome, course)
    }

    /// Goes on with a run that was interrupted, from the first of its calls of whose end nothing is known (L-10).
    ///
    /// Calls that had settled are answered from the recording; what became of the others, `recording` says. Of `run`, its
    /// ledger is the one that the recording is from, and its state what the session keeps now. The program reads what was
    /// kept when it started, and what it keeps goes to the session; what it had kept before it was interrupted does not
    /// once more.
    ///
    /// # Errors
    /// [`RecordingError::Ended`] when the run has come to its end. [`RecordingError::Diverged`] when the program does not do
    /// again what it had done; the ledger then has what was done, if anything, and no end of the run.
    pub async fn resume(&self, run: ProgramRun, recording: &Recording) -> Result<RunOutcome, RecordingError> {
        if recording.end.is_some() {
            return Err(RecordingError::Ended { call: recording.start.0.call.clone() });
        }
        let run = ProgramRun {
            call: recording.start.0.call.clone(),
            code: recording.program().to_string(),
            description: recording.start.0.description.clone(),
            ..run
        };
        let start = Some(recording.start.1);
        let state =
            recording.state.draft(run.limits.state_bytes, run.call.clone(), run.ledger.clone(), start);
        let state = state.for_session(run.state.clone(), recording.kept.clone());
        let calls = recording.recorded_calls(true);
        let (outcome, course) = self.run_from(&run, recording.origin(true), state, calls).await;
        if let Some(divergence) = course.divergence() {
            return Err(RecordingError::Diverged { divergence: Box::new(divergence) });
        }
        end(&run, start, &outcome, course).await;
        Ok(outcome)
    }

    /// Runs the program from where it begins.
    async fn run_from(
        &self,
        run: &ProgramRun,
        origin: Origin,
        state: StateDraft,
        recorded: RecordedCalls,
    ) -> (RunOutcome, Course) {
        let begun = self.clock.monotonic();
        tracing::debug!(call = %run.call, bytes = run.code.len(), "a program starts");
        let mut course = Course::default();
        let mut outcome = match self.pipeline.registry().view(run.scope.as_ref()) {
            Err(error) => RunOutcome::failed(RunFailure::new(RunFailureKind::Abort, error.to_string())),
            Ok(view) => {
                let mut report = self.execute(run, origin, view, state, recorded).await;
                course = Course::of(&mut report);
                assemble(&run.limits, report)
            }
        };
        outcome.stats.wall_ms = millis(self.clock.monotonic().saturating_sub(begun));
        let failed = outcome.result.as_ref().err().map(|failure| failure.kind.as_str());
        let RunStats { wall_ms, busy_ms, sub_calls, .. } = outcome.stats;
        tracing::debug!(call = %run.call, wall_ms, busy_ms, sub_calls, failed, "a program has ended");
        (outcome, course)
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
        recorded: RecordedCalls,
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
            record_values: run.record_values,
            drain: run.drain,
        };
        let (handle, driver) =
            lane::open(self.pipeline.clone(), run.ledger.clone(), Arc::clone(&self.clock), root, config);
        // A call that is not as it was recorded ends the run at once.
        let cancel = run.cancel.child_token();
        let driver = driver.with_recorded(recorded, cancel.clone());
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
            cancel,
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

/// Records the end of a run whose start has the `seq` `start`.
async fn end(run: &ProgramRun, start: Option<u64>, outcome: &RunOutcome, course: Course) {
    let slot = run.ledger.reserve().await;
    slot.record_with(|| RunEnd { inputs: course.inputs, ..RunEnd::new(run.call.clone(), outcome) }, start);
}

fn assemble(limits: &RunLimits, report: RunReport) -> RunOutcome {
    let RunReport { result, logs, notes: engine_notes, inputs: _, stray: _, lane, busy } = report;
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
        inputs: _,
        divergence: _,
        missing: _,
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
