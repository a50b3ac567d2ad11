//! The rules of the lane, with scripted tools, a clock that stands still and a ledger that tells.
//!
//! Owns the bench: a test submits calls, lets the lane run until nothing moves, releases bodies one by one, and
//! compares the whole trace. Driver and program are tasks of their own on one thread, so that a wake-up that is
//! missed shows as a trace that stops. Each area has its own file.

mod ending;
mod given_up;
#[cfg(isolane_loom)]
mod model;
mod order;
mod property;
mod settling;
mod volume;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::content::ContentBlock;
use crate::ledger::{EventBody, LedgerEvent, LedgerOptions, WatchedStore};
use crate::outcome::{CallFailure, CallResult, ErrorCode, SubCallState};
use crate::pipeline::Call;
use crate::pipeline::script::{DRAIN, Reply, number};
use crate::registry::{Disposer, Target};
use crate::tool::{Concurrency, Tool, ToolContext};

fn config() -> LaneConfig {
    LaneConfig {
        max_parallel: 10,
        commit_order: CommitOrder::Completion,
        max_calls: 1_000,
        max_queued_bytes: 1_000_000,
        max_value_bytes: 1_000_000,
        forwarded_blocks: 8,
        record_values: false,
        drain: Some(DRAIN),
    }
}

/// The parts of a lane that is not driven yet.
type Setup = crate::pipeline::script::Setup<LaneConfig>;

impl Setup {
    fn open(&self) -> (LaneHandle, LaneDriver) {
        let root = LaneRoot {
            parent: "c".into(),
            root: "top".into(),
            session: "s".into(),
            scope: Some("agent".into()),
            cancel: self.cancel.child_token(),
            working_root: None,
            progress: None,
        };
        let clock = Arc::new(self.clock.clone());
        open(self.pipeline.clone(), self.ledger.clone(), clock, root, self.config.clone())
    }

    /// Starts the driver, and a program that takes every outcome.
    fn start(self) -> Bench {
        let (handle, driver) = self.open();
        let driving = tokio::spawn(driver.drive());
        let settlements = Arc::new(Mutex::new(BTreeMap::new()));
        let program = {
            let (handle, settlements) = (handle.clone(), Arc::clone(&settlements));
            let trace = self.bodies.trace.clone();
            tokio::spawn(async move {
                loop {
                    let settlement = std::future::poll_fn(|context| handle.poll_settled(context)).await;
                    trace.note("value", settlement.n);
                    let twice = settlements.lock().unwrap().insert(settlement.n, settlement.result);
                    assert_eq!(twice, None, "{} settled twice", settlement.n);
                }
            })
        };
        Bench { setup: self, handle, driving: Some(driving), program, settlements, seen: 0 }
    }
}

type Outcomes = BTreeMap<u64, Result<Arc<Value>, CallFailure>>;

struct Bench {
    setup: Setup,
    handle: LaneHandle,
    driving: Option<JoinHandle<LaneReport>>,
    program: JoinHandle<()>,
    settlements: Arc<Mutex<Outcomes>>,
    seen: usize,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.program.abort();
    }
}

impl Bench {
    fn new(config: LaneConfig) -> Self {
        Setup::new(config).start()
    }

    fn submit(&self, tool: &str) -> u64 {
        self.handle.submit(tool.into(), json!({})).unwrap()
    }

    fn submit_all(&self, tools: &[&str]) {
        for tool in tools {
            self.submit(tool);
        }
    }

    /// Lets every task run until nothing moves.
    async fn quiet(&self) {
        let mut still = 0;
        let mut before = self.setup.bodies.trace.len();
        while still < 8 {
            tokio::task::yield_now().await;
            let now = self.setup.bodies.trace.len();
            still = if now == before { still + 1 } else { 0 };
            before = now;
        }
    }

    async fn release(&self, n: u64, reply: Reply) {
        self.setup.bodies.release(n, reply);
        self.quiet().await;
    }

    /// What happened since the last look.
    async fn trace(&mut self) -> String {
        self.quiet().await;
        let lines = self.setup.bodies.trace.lines();
        let new = lines[self.seen..].join(", ");
        self.seen = lines.len();
        new
    }

    /// The program's outcome of a call, if it has one.
    fn outcome(&self, n: u64) -> Option<Result<Value, (ErrorCode, String)>> {
        let outcomes = self.settlements.lock().unwrap();
        let outcome = outcomes.get(&n)?;
        Some(match outcome {
            Ok(value) => Ok(value.as_ref().clone()),
            Err(failure) => Err((failure.code, failure.message.clone())),
        })
    }

    fn outcomes(&self) -> usize {
        self.settlements.lock().unwrap().len()
    }

    /// Whether the driver has ended.
    async fn is_done(&self) -> bool {
        self.quiet().await;
        self.driving.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The report of a lane that is done.
    async fn report(&mut self) -> LaneReport {
        assert!(self.is_done().await, "the driver has not ended: {:?}", self.setup.bodies.trace.lines());
        let report = self.driving.take().unwrap().await.unwrap();
        check_ledger(&self.setup.store.events(), &report);
        report
    }

    async fn close(&mut self) -> LaneReport {
        self.handle.close();
        self.report().await
    }

    /// The settled event of a call.
    fn settled_event(&self, n: u64) -> crate::ledger::CodeDispatch {
        let events = self.setup.store.events();
        let found = events.into_iter().find_map(|event| match event.body {
            EventBody::CodeDispatch(data) if number(&data.call) == n => Some(data),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{n} has no settled event"))
    }
}

/// L-1, L-2, L-5: numbering without a gap; starts in submission order; each start with exactly one settled event
/// that refers back to it and repeats what it said; nothing of calls that never started.
fn check_ledger(events: &[LedgerEvent], report: &LaneReport) {
    let mut open = BTreeMap::new();
    let mut starts = 0;
    for (seq, event) in (1..).zip(events) {
        assert_eq!(event.seq, seq);
        match &event.body {
            EventBody::CodeDispatchStart(data) => {
                starts += 1;
                assert_eq!(number(&data.call), starts, "starts come in submission order");
                open.insert(data.call.clone(), (seq, data.clone()));
            }
            EventBody::CodeDispatch(data) => {
                let (start_seq, start) = open.remove(&data.call).expect("a settled event follows its start");
                assert_eq!(event.source_seqs, [start_seq]);
                assert_eq!(
                    (&data.root, &data.parent, &data.tool, &data.arguments),
                    (&start.root, &start.parent, &start.tool, &start.arguments)
                );
            }
            other => panic!("a lane writes no {}", other.kind()),
        }
    }
    assert!(open.is_empty(), "started and never settled: {:?}", open.keys());
    assert_eq!(starts, report.started);
    for (n, call) in (1..).zip(&report.sub_calls) {
        assert_eq!(call.id.as_str(), format!("c:code:{n}"));
        if n > starts {
            assert_eq!((call.state, call.code), (SubCallState::NotStarted, None));
        }
    }
}

fn states(report: &LaneReport) -> Vec<SubCallState> {
    report.sub_calls.iter().map(|call| call.state).collect()
}

fn register(setup: &Setup, tool: Tool) -> Disposer {
    setup.pipeline.registry().register(&Target::Global, tool).unwrap()
}

/// The calls whose bodies the pipeline knows to run on with nobody waiting.
fn listed(bench: &Bench) -> Vec<String> {
    bench.setup.pipeline.undrained().iter().map(|call| call.id.to_string()).collect()
}
