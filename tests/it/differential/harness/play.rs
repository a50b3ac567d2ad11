//! Has a case done: scripted tools, a clock that stands still, and a conductor that keeps to the plan.
//!
//! Owns what the tools do and when. It lets nothing happen before all is there that the plan expects until then, so the
//! same case gives the same trace in every runtime. It never judges what it sees: that is for `verdict`. It calls the
//! runner of programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::clock::{Clock, ManualClock, SystemClock};
use isolane::codemode::lane::CommitOrder;
use isolane::codemode::{CodeRuntime, LogLevel, LogSink, ProgramRun, ProgramRunner, SessionState};
use isolane::ids::{CallId, SessionId};
use isolane::ledger::{Ledger, LedgerEvent, LedgerOptions, LedgerStore, MemoryStore, StoreError};
use isolane::limits::{CallLimits, RunLimits};
use isolane::outcome::RunOutcome;
use isolane::pipeline::{Attachment, BoxFuture, Call, Decision, Pipeline, PreExecute, PreNext};
use isolane::policy::{Policy, TimeoutPolicy};
use isolane::registry::{Registry, Target};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::Case;
use super::model::{Action, Moment, Reply, TIMEOUT, value};
use super::program::ToolKind;

/// How long anything may take that the plan expects: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// The wall limit of a run that is to reach it.
const WALL: Duration = Duration::from_millis(1_500);

/// What was seen of a run.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) outcome: RunOutcome,
    pub(crate) events: Vec<LedgerEvent>,
    /// What each body was called with, by the number of its call.
    pub(crate) bodies: BTreeMap<u64, (String, Value)>,
    /// What the plan expected and never came.
    pub(crate) missed: Option<String>,
}

#[derive(Debug, Default)]
struct Stage {
    gates: Mutex<BTreeMap<u64, oneshot::Sender<Reply>>>,
    bodies: Mutex<BTreeMap<u64, (String, Value)>>,
    logs: Mutex<usize>,
    events: Mutex<usize>,
    news: Notify,
}

impl Stage {
    fn running(&self) -> BTreeSet<u64> {
        self.gates.lock().unwrap().keys().copied().collect()
    }

    fn is_at(&self, moment: &Moment) -> bool {
        // The first event is that of the run itself.
        *self.events.lock().unwrap() == moment.events + 1
            && *self.logs.lock().unwrap() == moment.logs
            && self.running() == moment.running
    }

    /// More has happened than may have by then: what is expected will never be.
    fn is_beyond(&self, moment: &Moment) -> bool {
        *self.events.lock().unwrap() > moment.events + 1 || *self.logs.lock().unwrap() > moment.logs
    }

    fn show(&self) -> String {
        let (events, logs) = (*self.events.lock().unwrap(), *self.logs.lock().unwrap());
        format!("events {}, lines {logs}, running {:?}", events.saturating_sub(1), self.running())
    }
}

impl LogSink for Stage {
    fn line(&self, _level: LogLevel, _text: &str) {
        *self.logs.lock().unwrap() += 1;
        self.news.notify_one();
    }
}

/// Keeps events in memory and tells of each.
#[derive(Debug)]
struct Telling {
    kept: MemoryStore,
    stage: Arc<Stage>,
}

impl LedgerStore for Telling {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        self.kept.append(events)?;
        *self.stage.events.lock().unwrap() += events.len();
        self.stage.news.notify_one();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.kept.sync()
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        self.kept.last_seq(session)
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read(session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read_all()
    }

    fn wants_thread(&self) -> bool {
        false
    }
}

struct Denies;

impl PreExecute for Denies {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        if call.tool.as_str().starts_with("denied") {
            return Box::pin(std::future::ready(Decision::Deny { reason: "not here".to_owned() }));
        }
        next.decide()
    }
}

pub(crate) fn number(call: &CallId) -> u64 {
    call.as_str().rsplit(':').next().unwrap().parse().unwrap()
}

fn tool(kind: ToolKind, stage: &Arc<Stage>) -> Tool {
    let stage = Arc::clone(stage);
    let alone = matches!(kind, ToolKind::Alone | ToolKind::DeniedAlone);
    let builder = Tool::builder(kind.name())
        .description("A scripted tool.")
        .parameters(
            json!({"type": "object", "properties": {"id": {"type": "integer"}, "made": {"type": "integer"}}}),
        )
        .output(json!({"type": "integer"}))
        .concurrency(if alone { Concurrency::Exclusive } else { Concurrency::Parallel });
    let builder =
        if kind == ToolKind::Timed { builder.timeout(Duration::from_millis(TIMEOUT)) } else { builder };
    let body = move |args: Value, context: ToolContext| {
        let stage = Arc::clone(&stage);
        async move {
            let n = number(&context.call);
            let (release, released) = oneshot::channel();
            stage.bodies.lock().unwrap().insert(n, (kind.name().to_owned(), args));
            stage.gates.lock().unwrap().insert(n, release);
            stage.news.notify_one();
            let reply = tokio::select! {
                biased;
                reply = released => reply.ok(),
                () = context.cancel.cancelled() => None,
            };
            stage.gates.lock().unwrap().remove(&n);
            stage.news.notify_one();
            match reply {
                Some(Reply::Value) => Ok(json!(value(n))),
                Some(Reply::Fail) => Err(ToolError::failed(format!("no {n}"))),
                None => Err(ToolError::failed("told to stop")),
            }
        }
    };
    builder.handler(body).unwrap()
}

/// Runs the case's program in that runtime.
pub(crate) async fn play(case: &Case, runtime: Arc<dyn CodeRuntime>) -> Seen {
    let stage = Arc::new(Stage::default());
    let registry = Registry::new();
    for kind in [
        ToolKind::Par,
        ToolKind::Other,
        ToolKind::Alone,
        ToolKind::Timed,
        ToolKind::Denied,
        ToolKind::DeniedAlone,
    ] {
        registry.register(&Target::Global, tool(kind, &stage)).unwrap().keep();
    }
    let clock = ManualClock::new();
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let pipeline = Pipeline::new(registry, CallLimits::default(), None);
    pipeline.add_pre(None, Arc::new(Denies)).keep();
    TimeoutPolicy::new().attach(&pipeline, &shared, None).into_iter().for_each(Attachment::keep);
    let kept = MemoryStore::new();
    let store = Box::new(Telling { kept: kept.clone(), stage: Arc::clone(&stage) });
    let ledger = Ledger::new("s".into(), Arc::clone(&shared), store, LedgerOptions::default()).unwrap();
    let setting = case.program.setting;
    let mut limits = RunLimits::default();
    limits.max_parallel_sub_calls = setting.max_parallel;
    limits.sub_calls = setting.calls;
    if case.plan.moments.last().is_some_and(|moment| moment.action == Action::Wall) {
        limits.wall = WALL;
    }
    let cancel = CancellationToken::new();
    let run = ProgramRun {
        record_values: false,
        call: "r".into(),
        parent: None,
        code: case.program.text(),
        description: None,
        session: "s".into(),
        scope: None,
        limits,
        commit_order: if setting.in_order { CommitOrder::Submission } else { CommitOrder::Completion },
        drain: None,
        cancel: cancel.clone(),
        ledger,
        state: SessionState::default(),
        logs: Some(Arc::clone(&stage) as Arc<dyn LogSink>),
        progress: None,
        working_root: None,
    };
    let runner = ProgramRunner::new(pipeline, runtime, shared);
    let mut running = std::pin::pin!(runner.run(run));
    let moments = &case.plan.moments;
    let missed = tokio::select! {
        biased;
        missed = conduct(&stage, moments, &clock, &cancel) => missed,
        outcome = &mut running => {
            let missed = Some(format!("the run ended before its time: {}", stage.show()));
            return Seen { outcome, events: kept.events(), bodies: bodies(&stage), missed };
        }
    };
    if let Some(outcome) = soon(&mut running).await {
        return Seen { outcome, events: kept.events(), bodies: bodies(&stage), missed };
    }
    let missed = Some(format!("the run did not end: {}", stage.show()));
    cancel.cancel();
    Seen { outcome: running.await, events: kept.events(), bodies: bodies(&stage), missed }
}

/// What comes within the time that a test may take for it.
async fn soon<F: Future>(coming: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        come = coming => Some(come),
        () = SystemClock::new().sleep(PATIENCE) => None,
    }
}

fn bodies(stage: &Stage) -> BTreeMap<u64, (String, Value)> {
    stage.bodies.lock().unwrap().clone()
}

/// Keeps to the plan; gives what of it never came, in which case the run is cancelled.
async fn conduct(
    stage: &Stage,
    moments: &[Moment],
    clock: &ManualClock,
    cancel: &CancellationToken,
) -> Option<String> {
    for moment in moments {
        let there = async {
            while !stage.is_at(moment) {
                if stage.is_beyond(moment) {
                    return false;
                }
                stage.news.notified().await;
            }
            true
        };
        if !soon(there).await.unwrap_or(false) {
            cancel.cancel();
            return Some(format!("expected {moment:?}, and there is {}", stage.show()));
        }
        clock.advance(Duration::from_millis(moment.advance));
        match moment.action {
            Action::Release(n, reply) => {
                let gate = stage.gates.lock().unwrap().remove(&n);
                let _ = gate.map(|gate| gate.send(reply));
            }
            Action::Cancel => cancel.cancel(),
            Action::Expire(_) | Action::Wall => {}
        }
    }
    None
}
