//! A run around a scripted runtime, without an engine.
//!
//! Owns a runtime that submits a list of calls and awaits the first few. It never prepares or executes a program.

use serde_json::{Value, json};

use super::*;
use crate::clock::ManualClock;
use crate::codemode::lane::{LaneDriver, LaneHandle};
use crate::ledger::{EventBody, MemoryStore};
use crate::limits::CallLimits;
use crate::outcome::SubCallState;
use crate::pipeline::BoxFuture;
use crate::registry::{Registry, Target};
use crate::tool::{Concurrency, Tool, ToolContext, ToolError};

/// Submits calls, awaits the first `awaited` outcomes, and returns.
#[derive(Debug, Default)]
struct Scripted {
    calls: Vec<&'static str>,
    awaited: usize,
    seen: Mutex<Vec<Arc<Bindings>>>,
}

impl CodeRuntime for Scripted {
    fn language(&self) -> &'static str {
        "typescript"
    }

    fn run(
        &self,
        request: RunRequest,
        handle: LaneHandle,
        driver: LaneDriver,
    ) -> BoxFuture<'static, RunReport> {
        self.seen.lock().unwrap().push(Arc::clone(&request.bindings));
        let (calls, awaited) = (self.calls.clone(), self.awaited);
        let program = async move {
            for tool in calls {
                handle.submit(tool.into(), json!({})).unwrap();
            }
            for _ in 0..awaited {
                std::future::poll_fn(|context| handle.poll_settled(context)).await;
            }
            handle.close();
        };
        Box::pin(async move {
            let (lane, ()) = tokio::join!(driver.drive(), program);
            let result = Ok(None);
            RunReport {
                result,
                logs: Vec::new(),
                notes: Vec::new(),
                inputs: String::new(),
                stray: None,
                lane,
                busy: Duration::from_millis(3),
            }
        })
    }
}

struct Bench {
    runner: ProgramRunner,
    runtime: Arc<Scripted>,
    run: ProgramRun,
    store: MemoryStore,
}

fn bench(calls: &[&'static str], awaited: usize) -> Bench {
    let registry = Registry::new();
    let read = |_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!("text")) };
    let slow = |_args: Value, context: ToolContext| async move {
        context.cancel.cancelled().await;
        Ok::<_, ToolError>(json!("late"))
    };
    let builder =
        |name| Tool::builder(name).output(json!({"type": "string"})).concurrency(Concurrency::Parallel);
    registry.register(&Target::Global, builder("read").handler(read).unwrap()).unwrap().keep();
    registry.register(&Target::Global, builder("slow").handler(slow).unwrap()).unwrap().keep();
    let clock = Arc::new(ManualClock::new());
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(&clock) as _);
    let runtime = Arc::new(Scripted { calls: calls.to_vec(), awaited, ..Scripted::default() });
    let pipeline = Pipeline::new(registry, CallLimits::default(), None);
    let run = ProgramRun {
        call: "c".into(),
        parent: None,
        code: "return 1;".to_owned(),
        description: Some("one".to_owned()),
        session: "s".into(),
        scope: None,
        limits: RunLimits::default(),
        commit_order: CommitOrder::Completion,
        record_values: false,
        drain: None,
        cancel: CancellationToken::new(),
        ledger,
        state: SessionState::default(),
        logs: None,
        progress: None,
        working_root: None,
    };
    Bench { runner: ProgramRunner::new(pipeline, Arc::clone(&runtime) as _, clock), runtime, run, store }
}

/// L-5, CM-21, CM-31
#[tokio::test]
async fn every_started_call_is_settled_before_the_run_has_its_end() {
    let bench = bench(&["read", "slow"], 1);
    let outcome = bench.runner.run(bench.run.clone()).await;
    let events = bench.store.events();
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind()).collect();
    let (start, settled) = ("tool/code-dispatch-start", "tool/code-dispatch");
    assert_eq!(kinds, ["run/start", start, settled, start, settled, "run/end"]);
    assert_eq!(events[5].source_seqs, [1]);
    let states: Vec<_> = outcome.sub_calls.iter().map(|call| (call.state, call.delivered)).collect();
    assert_eq!(states, [(SubCallState::Finished, true), (SubCallState::Aborted, false)]);
    assert_eq!(
        outcome.notes[0],
        "1 tool call was not awaited when the program ended: slow (aborted after it had started, effects may have \
         happened). Write `await` before the call, or await it with Promise.all"
    );
    let stats = (outcome.stats.sub_calls, outcome.stats.failed_sub_calls, outcome.stats.busy_ms);
    assert_eq!(stats, (2, 1, 3));
    assert!(!bench.run.cancel.is_cancelled(), "a run ends its own calls, never the caller's other work");
}

/// L-2
#[tokio::test]
async fn a_run_inside_another_call_keeps_the_outermost_call_as_root() {
    let mut bench = bench(&["read"], 1);
    bench.run.parent = Some(ParentToken::new("top".into(), "middle".into()));
    bench.runner.run(bench.run.clone()).await;
    let events = bench.store.events();
    let EventBody::CodeDispatch(settled) = &events[2].body else { panic!("{events:?}") };
    let ids = (settled.root.as_str(), settled.parent.as_str(), settled.call.as_str());
    assert_eq!(ids, ("top", "c", "c:code:1"));
}

/// CM-23
#[tokio::test]
async fn a_scope_that_is_gone_is_a_typed_failure_with_both_events() {
    let mut bench = bench(&[], 0);
    bench.run.scope = Some("gone".into());
    let outcome = bench.runner.run(bench.run.clone()).await;
    assert_eq!(outcome.result.unwrap_err().kind, RunFailureKind::Abort);
    let kinds: Vec<_> = bench.store.events().iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["run/start", "run/end"]);
}

/// Made from a sealed view and anew when that changes. For what is in them, see SDK-1.
#[tokio::test]
async fn bindings_are_made_once_for_each_state_of_the_registry() {
    let bench = bench(&[], 0);
    bench.runner.run(bench.run.clone()).await;
    bench.runner.run(bench.run.clone()).await;
    let tool = Tool::builder("new").output(json!({"type": "null"}));
    let nothing = |_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) };
    let registry = bench.runner.pipeline().registry();
    registry.register(&Target::Global, tool.handler(nothing).unwrap()).unwrap().keep();
    bench.runner.run(bench.run.clone()).await;
    let seen = bench.runtime.seen.lock().unwrap();
    assert!(Arc::ptr_eq(&seen[0], &seen[1]));
    assert_eq!((seen[1].names().len(), seen[2].names().len()), (2, 3));
}
