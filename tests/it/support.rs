//! A host for one test: scripted tools, an in-memory ledger, the in-process runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::lane::CommitOrder;
use isolane::codemode::{ProgramRun, ProgramRunner};
use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::ledger::{Ledger, LedgerEvent, MemoryStore};
use isolane::limits::{CallLimits, RunLimits};
use isolane::outcome::RunOutcome;
use isolane::pipeline::Pipeline;
use isolane::registry::{Registry, Target};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// One test's host.
pub struct Host {
    runner: ProgramRunner,
    runtime: InProcessRuntime,
    pub ledger: Ledger,
    store: MemoryStore,
    pub limits: RunLimits,
    pub cancel: CancellationToken,
    runs: AtomicU64,
}

impl Host {
    /// A host with the tools `echo`, `add`, `fail`, `slow` (ms) and some with odd names.
    pub fn new() -> Self {
        Self::with_limits(RunLimits::default())
    }

    pub fn with_limits(limits: RunLimits) -> Self {
        let registry = Registry::new();
        for tool in tools() {
            registry.register(&Target::Global, tool).unwrap().keep();
        }
        let clock = SystemClock::shared();
        let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(&clock));
        let pipeline = Pipeline::new(registry, CallLimits::default(), None);
        let options = InProcessOptions { ready: 1, limits: limits.clone() };
        let runtime = InProcessRuntime::new(&options);
        let runner = ProgramRunner::new(pipeline, Arc::new(runtime.clone()), clock);
        Self {
            runner,
            runtime,
            ledger,
            store,
            limits,
            cancel: CancellationToken::new(),
            runs: AtomicU64::new(0),
        }
    }

    pub fn registry(&self) -> &Registry {
        self.runner.pipeline().registry()
    }

    pub fn lost_threads(&self) -> u64 {
        self.runtime.lost_threads()
    }

    /// Runs a program to its end.
    pub async fn run(&self, code: &str) -> RunOutcome {
        let n = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let run = ProgramRun {
            call: format!("r{n}").as_str().into(),
            parent: None,
            code: code.to_owned(),
            description: None,
            session: "s".into(),
            scope: None,
            limits: self.limits.clone(),
            commit_order: CommitOrder::Completion,
            drain: Some(Duration::from_secs(5)),
            cancel: self.cancel.clone(),
            ledger: self.ledger.clone(),
            logs: None,
            progress: None,
            working_root: None,
        };
        self.runner.run(run).await
    }

    pub fn events(&self) -> Vec<LedgerEvent> {
        self.store.events()
    }
}

/// The outcome in short: the value, or kind, message and place.
pub fn brief(outcome: &RunOutcome) -> Value {
    let mut brief = match &outcome.result {
        Ok(value) => json!({"value": value}),
        Err(failure) => {
            json!({"kind": failure.kind, "message": failure.message, "line": failure.line, "column": failure.column})
        }
    };
    if !outcome.logs.is_empty() {
        brief["logs"] = json!(outcome.logs);
    }
    if !outcome.notes.is_empty() {
        brief["notes"] = json!(outcome.notes);
    }
    brief
}

fn tools() -> Vec<Tool> {
    let mut tools = vec![
        tool("add", &json!({"a": {"type": "integer"}, "b": {"type": "integer"}}), &["a", "b"], |args| {
            Ok(json!(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)))
        }),
        tool("fail", &json!({"message": {"type": "string"}}), &[], |args| {
            Err(ToolError::failed(args["message"].as_str().unwrap_or("it failed")))
        }),
    ];
    for name in ["echo", "fetch-url", "get_user", "getUser", "a.b", "then", "__proto__"] {
        tools.push(tool(name, &json!({}), &[], move |args| Ok(json!({"tool": name, "args": args}))));
    }
    let slow = Tool::builder("slow")
        .parameters(json!({"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"]}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, context: ToolContext| async move {
            let clock = SystemClock::new();
            let wait = Duration::from_millis(args["ms"].as_u64().unwrap_or(0));
            tokio::select! {
                () = clock.sleep(wait) => Ok(args["ms"].clone()),
                () = context.cancel.cancelled() => Err(ToolError::failed("told to stop")),
            }
        });
    tools.push(slow.unwrap());
    tools
}

/// A parallel tool over plain values.
pub fn tool(
    name: &str,
    properties: &Value,
    required: &[&str],
    body: impl Fn(Value) -> Result<Value, ToolError> + Clone + Send + Sync + 'static,
) -> Tool {
    Tool::builder(name)
        .description(format!("The tool {name}."))
        .parameters(json!({"type": "object", "properties": properties, "required": required}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |args: Value, _context: ToolContext| {
            let reply = body(args);
            async move { reply }
        })
        .unwrap()
}
