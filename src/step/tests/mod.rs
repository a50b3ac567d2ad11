//! The rules of one model step, with scripted tools, a clock that stands still and a ledger that tells.
//!
//! Owns the bench: a test starts a step, releases bodies one by one, and compares the whole trace. The step is a task of
//! its own, so that a wake-up that is missed shows as a trace that stops. Each area has its own file. It calls the
//! scheduler as a host does.

mod ending;
mod failure;
mod order;
mod property;
mod rule;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::task::JoinHandle;

use super::*;
use crate::ledger::{EventBody, LedgerEvent, LedgerOptions};
use crate::limits::CallLimits;
use crate::outcome::ErrorCode;
use crate::pipeline::script::{Bodies, DRAIN, Reply, number};
use crate::pipeline::{Attachment, BoxFuture, Call, Decision, PreExecute, PreNext};
use crate::registry::{Disposer, Registry, Restriction, Target};
use crate::tool::{Concurrency, Tool, ToolContext, ToolError};

fn config() -> StepConfig {
    StepConfig { drain: Some(DRAIN), ..StepConfig::default() }
}

/// The parts of a step that has not begun.
type Setup = crate::pipeline::script::Setup<StepConfig>;

impl Setup {
    fn scheduler(&self) -> StepScheduler {
        let clock = Arc::new(self.clock.clone());
        StepScheduler::new(self.pipeline.clone(), self.ledger.clone(), clock, self.config.clone())
    }

    fn root(&self) -> StepRoot {
        StepRoot { scope: Some("agent".into()), cancel: self.cancel.clone(), ..StepRoot::new("s") }
    }

    fn register(&self, tool: Tool) -> Disposer {
        self.pipeline.registry().register(&Target::Global, tool).unwrap()
    }

    fn start(self, tools: &[&str]) -> Bench {
        self.start_calls(calls(tools))
    }

    fn start_calls(self, calls: Vec<StepCall>) -> Bench {
        let (scheduler, root) = (self.scheduler(), self.root());
        let stepping = tokio::spawn(async move { scheduler.execute(root, calls).await });
        Bench { setup: self, stepping: Some(stepping), seen: 0 }
    }
}

/// Calls of these tools, with the ids `c:1`, `c:2` and so on.
fn calls(tools: &[&str]) -> Vec<StepCall> {
    (1..).zip(tools).map(|(n, tool)| StepCall::new(id(n).as_str(), *tool, json!({}))).collect()
}

fn id(n: u64) -> String {
    format!("c:{n}")
}

struct Bench {
    setup: Setup,
    stepping: Option<JoinHandle<Result<StepOutcome, StepFailure>>>,
    seen: usize,
}

impl Bench {
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

    async fn is_done(&self) -> bool {
        self.quiet().await;
        self.stepping.as_ref().is_none_or(JoinHandle::is_finished)
    }

    async fn end(&mut self) -> Result<StepOutcome, StepFailure> {
        assert!(self.is_done().await, "the step has not ended: {:?}", self.setup.bodies.trace.lines());
        self.stepping.take().unwrap().await.unwrap()
    }

    /// The outcome of a step that is done.
    async fn outcome(&mut self) -> StepOutcome {
        let outcome = self.end().await.unwrap();
        check_ledger(&self.setup.store.events(), &outcome);
        outcome
    }
}

/// S-1, S-5, L-1: numbering without a gap; for each call one `tool/call` and one `tool/result`, both in model order, the
/// result after its call and referring back to it, and the same result in the outcome.
fn check_ledger(events: &[LedgerEvent], outcome: &StepOutcome) {
    let mut open = BTreeMap::new();
    let (mut called, mut settled) = (0_usize, 0_usize);
    for (seq, event) in (1..).zip(events) {
        assert_eq!(event.seq, seq);
        match &event.body {
            EventBody::ToolCall(data) => {
                assert_eq!((&data.call, &data.tool), {
                    let result = &outcome.results[called];
                    (&result.id, &result.tool)
                });
                open.insert(called, seq);
                called += 1;
            }
            EventBody::ToolResult(data) => {
                let StepResult { id, tool, result } = &outcome.results[settled];
                assert_eq!(*data, crate::ledger::ToolResult::new(id.clone(), tool.clone(), result));
                assert_eq!(event.source_seqs, [open.remove(&settled).expect("a result follows its call")]);
                settled += 1;
            }
            other => panic!("a step writes no {}", other.kind()),
        }
    }
    assert_eq!((called, settled), (outcome.results.len(), outcome.results.len()));
}

/// The codes of an outcome, `ok` for successes.
fn codes(outcome: &StepOutcome) -> Vec<&'static str> {
    let code =
        |result: &StepResult| result.result.as_ref().map_or_else(|failure| failure.code.as_str(), |_| "ok");
    outcome.results.iter().map(code).collect()
}

fn failure(outcome: &StepOutcome, n: usize) -> (ErrorCode, &str, Option<&Value>) {
    let failure = outcome.results[n - 1].result.as_ref().unwrap_err();
    (failure.code, failure.message.as_str(), failure.details.as_ref())
}
