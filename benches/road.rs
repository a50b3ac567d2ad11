//! What the road of a call costs without V8: views of the registry, the pipeline, native steps.
//!
//! `cargo bench --bench road --no-default-features`. Each figure is the time of one call or lookup, from rounds of
//! many; nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod table;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::ids::ScopeId;
use isolane::ledger::Ledger;
use isolane::limits::CallLimits;
use isolane::outcome::CallResult;
use isolane::pipeline::{
    AroundDispatch, AroundNext, BoxFuture, Call, CallRequest, Decision, Pipeline, PostDecision, PostExecute,
    PostNext, PreExecute, PreNext,
};
use isolane::registry::{Registry, Restriction, Target};
use isolane::step::{StepCall, StepConfig, StepRoot, StepScheduler};
use isolane::tool::{CallInfo, Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};
use table::{heading, row, since};

const ROUNDS: usize = 30;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    heading();
    views();
    runtime.block_on(async {
        for tools in [10, 100, 1_000, 5_000] {
            calls(&format!("call, empty pipeline, {tools} tools"), &pipeline(tools)).await;
        }
        let guarded = pipeline(10);
        for _ in 0..10 {
            guarded.add_pre(None, Arc::new(Passes)).keep();
            guarded.add_around(None, Arc::new(Passes)).keep();
            guarded.add_post(None, Arc::new(Passes)).keep();
            let abstains = |_: &CallInfo<'_>| None;
            guarded.registry().guard(&Target::Global, Arc::new(abstains)).unwrap().keep();
        }
        calls("call, 10 interceptors in each chain and 10 guards", &guarded).await;
        steps().await;
    });
}

fn noop(name: String) -> Tool {
    Tool::builder(name)
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .output(json!({"type": "integer"}))
        .concurrency(Concurrency::Parallel)
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(1)) })
        .unwrap()
}

fn registry(tools: usize) -> Registry {
    let registry = Registry::new();
    for index in 0..tools {
        registry.register(&Target::Global, noop(format!("tool_{index}"))).unwrap().keep();
    }
    registry
}

fn pipeline(tools: usize) -> Pipeline {
    Pipeline::new(registry(tools), CallLimits::default(), None)
}

/// 1,000 tools and a chain of 5 scopes, each with a tool and a restriction of its own.
fn views() {
    let clock = SystemClock::new();
    let registry = registry(1_000);
    let mut parent = None;
    for depth in 0..5 {
        let scope = ScopeId::from(format!("scope-{depth}"));
        registry.open_scope(scope.clone(), parent.clone()).unwrap();
        let target = Target::Scope(scope.clone());
        registry.register(&target, noop(format!("own_{depth}"))).unwrap().keep();
        let hidden = format!("tool_{depth}");
        registry.restrict(&target, Restriction::deny([hidden.as_str()])).unwrap().keep();
        parent = Some(scope);
    }
    let mut built = Vec::new();
    for _ in 0..ROUNDS {
        let change = registry.register(&Target::Global, noop("comes_and_goes".to_owned())).unwrap();
        let begun = clock.monotonic();
        black_box(registry.view(parent.as_ref()).unwrap());
        built.push(since(&clock, begun));
        drop(change);
    }
    row("view of 1,000 tools and 5 scopes, after a change", &mut built);
    let names: Vec<_> = (0..1_000).map(|index| format!("tool_{index}")).collect();
    let mut lookups = Vec::new();
    for _ in 0..ROUNDS {
        let begun = clock.monotonic();
        for name in names.iter().cycle().take(1_000_000) {
            let view = registry.view(parent.as_ref()).unwrap();
            black_box(view.resolve_execution(name, true));
        }
        lookups.push(since(&clock, begun) / 1_000);
    }
    row("1,000 lookups in it, of 1,000,000, each asking for the view", &mut lookups);
}

/// One call, from a round of 10,000.
async fn calls(name: &str, pipeline: &Pipeline) {
    const CALLS: u32 = 10_000;
    let clock = SystemClock::new();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = clock.monotonic();
        for _ in 0..CALLS {
            let request = CallRequest::new("c", "tool_7", json!({"n": 7}), "s".into());
            pipeline.execute(request).await.unwrap();
        }
        times.push(since(&clock, begun) / CALLS);
    }
    row(name, &mut times);
}

/// One call of a step of ten, both its events recorded.
async fn steps() {
    const STEPS: u32 = 500;
    let clock = Arc::new(SystemClock::new());
    let (ledger, _events) = Ledger::in_memory("s".into(), Arc::clone(&clock) as Arc<dyn Clock>);
    let scheduler =
        StepScheduler::new(pipeline(10), ledger, Arc::clone(&clock) as Arc<dyn Clock>, StepConfig::default());
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..ROUNDS {
        let begun = clock.monotonic();
        for step in 0..STEPS {
            let calls =
                (0..10).map(|n| StepCall::new(format!("{step}.{n}"), format!("tool_{n}"), json!({"n": n})));
            scheduler.execute(StepRoot::new("s"), calls.collect()).await.unwrap();
        }
        times.push(since(&clock, begun) / (STEPS * 10));
    }
    row("call in a native step of 10, with a ledger in memory", &mut times);
}

/// An interceptor of every chain that changes nothing.
struct Passes;

impl PreExecute for Passes {
    fn decide<'a>(&'a self, _call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        next.decide()
    }
}

impl AroundDispatch for Passes {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        next.run()
    }
}

impl PostExecute for Passes {
    fn review<'a>(
        &'a self,
        _call: &'a Call,
        _result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        next.review()
    }
}
