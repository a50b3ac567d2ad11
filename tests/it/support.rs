//! A host for one test: scripted tools, an in-memory ledger, the in-process runtime.
//!
//! Owns the tools that the tests call and the short text of an outcome. Nothing here sleeps: a tool that takes its
//! time waits on the clock, and every wait of a test ends by a limit or a signal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::check::CheckMode;
use isolane::codemode::lane::CommitOrder;
use isolane::codemode::{CodeRuntime, LogLevel, LogSink, ProgramRun, ProgramRunner, SessionState};
use isolane::engine::{
    ChildProgram, InProcessOptions, InProcessRuntime, ProcessOptions, ProcessRuntime, TypeScriptChecker,
};
use isolane::ids::{ScopeId, SessionId};
use isolane::ledger::{FORMAT_SCHEMA, Ledger, LedgerEvent, MemoryStore};
use isolane::limits::{CallLimits, RunLimits};
use isolane::outcome::RunOutcome;
use isolane::pipeline::Pipeline;
use isolane::registry::{Registry, Target};
use isolane::schema::Schema;
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Where programs run (E-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    Process,
    InProcess,
}

/// Where the programs of these tests run: both have the same tests, and `ISOLANE_TEST_ISOLATION=in-process` asks for
/// those of the other.
pub(crate) fn isolation() -> Isolation {
    match std::env::var("ISOLANE_TEST_ISOLATION").as_deref() {
        Err(_) | Ok("process") => Isolation::Process,
        Ok("in-process") => Isolation::InProcess,
        Ok(other) => panic!("ISOLANE_TEST_ISOLATION is `{other}`, and can be `process` or `in-process`"),
    }
}

/// A runtime for these limits; once more by its name if it is the one with threads of the host.
pub(crate) fn runtime(
    isolation: Isolation,
    limits: &RunLimits,
) -> (Arc<dyn CodeRuntime>, Option<InProcessRuntime>) {
    match isolation {
        Isolation::Process => (Arc::new(children(limits)), None),
        Isolation::InProcess => {
            let threads = InProcessRuntime::new(&InProcessOptions { ready: 1, limits: limits.clone() });
            (Arc::new(threads.clone()), Some(threads))
        }
    }
}

/// Children of the program that is built beside the tests.
pub(crate) fn children(limits: &RunLimits) -> ProcessRuntime {
    ProcessRuntime::new(child_options(limits)).unwrap()
}

pub(crate) fn child_options(limits: &RunLimits) -> ProcessOptions {
    let mut options = ProcessOptions::default();
    options.program = ChildProgram::At(env!("CARGO_BIN_EXE_isolane").into());
    options.limits = limits.clone();
    options
}

/// One test's host.
pub(crate) struct Host {
    pub(crate) runner: ProgramRunner,
    threads: Option<InProcessRuntime>,
    pub(crate) ledger: Ledger,
    pub(crate) state: SessionState,
    store: MemoryStore,
    pub(crate) limits: RunLimits,
    pub(crate) cancel: CancellationToken,
    pub(crate) scope: Option<ScopeId>,
    pub(crate) session: SessionId,
    pub(crate) logs: Option<Arc<dyn LogSink>>,
    runs: AtomicU64,
}

impl Host {
    /// A host with the tools of [`tools`].
    pub(crate) fn new() -> Self {
        Self::with_limits(RunLimits::default())
    }

    pub(crate) fn with_limits(limits: RunLimits) -> Self {
        Self::with_tools(limits, tools())
    }

    pub(crate) fn with_tools(limits: RunLimits, tools: Vec<Tool>) -> Self {
        Self::assemble(limits, tools, SystemClock::shared(), isolation())
    }

    /// A host whose programs run there.
    pub(crate) fn isolated(limits: RunLimits, isolation: Isolation) -> Self {
        Self::assemble(limits, tools(), SystemClock::shared(), isolation)
    }

    /// The clock is the host's; an engine reads its own.
    pub(crate) fn assemble(
        limits: RunLimits,
        tools: Vec<Tool>,
        clock: Arc<dyn Clock>,
        isolation: Isolation,
    ) -> Self {
        let (runtime, threads) = runtime(isolation, &limits);
        Self { threads, ..Self::on(runtime, limits, tools, clock) }
    }

    /// A host whose programs run in that runtime.
    pub(crate) fn on(
        runtime: Arc<dyn CodeRuntime>,
        limits: RunLimits,
        tools: Vec<Tool>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let registry = Registry::new();
        for tool in tools {
            registry.register(&Target::Global, tool).unwrap().keep();
        }
        let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(&clock));
        let pipeline = Pipeline::new(registry, CallLimits::default(), None);
        let runner = ProgramRunner::new(pipeline, runtime, clock);
        let cancel = CancellationToken::new();
        Self {
            runner,
            threads: None,
            ledger,
            state: SessionState::default(),
            store,
            limits,
            cancel,
            scope: None,
            session: "s".into(),
            logs: None,
            runs: AtomicU64::new(0),
        }
    }

    /// A host with the tools of [`tools`] that checks programs before they run.
    pub(crate) fn checked(checker: TypeScriptChecker, mode: CheckMode) -> Self {
        let mut host = Self::new();
        host.runner = host.runner.with_check(Arc::new(checker), mode, Arc::default());
        host
    }

    /// Threads that V8 did not give back; none are lost where there are none.
    pub(crate) fn lost_threads(&self) -> Option<u64> {
        self.threads.as_ref().map(InProcessRuntime::lost_threads)
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.runner.pipeline().registry()
    }

    /// Runs a program to its end.
    pub(crate) async fn run(&self, code: &str) -> RunOutcome {
        self.run_limited(code, self.limits.clone()).await
    }

    /// The same with limits of its own.
    pub(crate) async fn run_limited(&self, code: &str, limits: RunLimits) -> RunOutcome {
        let n = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let run = ProgramRun { call: format!("r{n}").as_str().into(), ..self.program_run(code, limits) };
        self.runner.run(run).await
    }

    pub(crate) fn program_run(&self, code: &str, limits: RunLimits) -> ProgramRun {
        ProgramRun {
            call: "none".into(),
            parent: None,
            code: code.to_owned(),
            description: None,
            session: self.session.clone(),
            scope: self.scope.clone(),
            limits,
            commit_order: CommitOrder::Completion,
            record_values: true,
            drain: Some(Duration::from_secs(5)),
            cancel: self.cancel.clone(),
            ledger: self.ledger.clone(),
            state: self.state.clone(),
            logs: self.logs.clone(),
            progress: None,
            working_root: None,
        }
    }

    pub(crate) fn events(&self) -> Vec<LedgerEvent> {
        let events = self.store.events();
        for event in &events {
            check_event(&serde_json::to_value(event).unwrap());
        }
        events
    }
}

/// L-1: every event that anything emits fits the published schema.
pub(crate) fn check_event(event: &Value) {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| Schema::compile(serde_json::from_str(FORMAT_SCHEMA).unwrap()).unwrap());
    if let Err(problems) = SCHEMA.validate(event) {
        panic!("{event:#}: {problems}");
    }
}

/// The outcome in short: the value, or kind, message and place.
pub(crate) fn brief(outcome: &RunOutcome) -> Value {
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

/// The outcome as text: `value 3`, `nothing` or `<kind>: <message>`, then lines and notes.
pub(crate) fn said(outcome: &RunOutcome) -> String {
    let mut text = match &outcome.result {
        Ok(Some(value)) => format!("value {value}"),
        Ok(None) => "nothing".to_owned(),
        Err(failure) => failure.to_string(),
    };
    for line in &outcome.logs {
        text.push_str("\nlog ");
        text.push_str(line);
    }
    for note in &outcome.notes {
        text.push_str("\nnote ");
        text.push_str(note);
    }
    text
}

/// Limits that make a program that goes wrong end soon.
pub(crate) fn small_limits() -> RunLimits {
    let mut limits = RunLimits::default();
    limits.busy = Duration::from_millis(200);
    limits.wall = Duration::from_secs(20);
    limits.heap_bytes = 32 * 1024 * 1024;
    limits.array_buffer_bytes = 8 * 1024 * 1024;
    limits
}

/// Keeps the lines with their levels.
#[derive(Default)]
pub(crate) struct Lines(std::sync::Mutex<Vec<(LogLevel, String)>>);

impl Lines {
    pub(crate) fn take(&self) -> Vec<(LogLevel, String)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl LogSink for Lines {
    fn line(&self, level: LogLevel, text: &str) {
        self.0.lock().unwrap().push((level, text.to_owned()));
    }
}

/// `add`, `fail` (with a message), `slow` (takes some milliseconds, heeds its signal), `big` (gives so many bytes),
/// `panics`, and `echo` with others of odd names, which give back what they are given.
pub(crate) fn tools() -> Vec<Tool> {
    let mut tools = vec![
        tool("add", &json!({"a": {"type": "integer"}, "b": {"type": "integer"}}), &["a", "b"], |args| {
            Ok(json!(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)))
        }),
        tool("fail", &json!({"message": {"type": "string"}}), &[], |args| {
            Err(ToolError::failed(args["message"].as_str().unwrap_or("it failed")))
        }),
        tool("big", &json!({"bytes": {"type": "integer"}}), &["bytes"], |args| {
            let bytes = usize::try_from(args["bytes"].as_u64().unwrap_or(0)).unwrap();
            Ok(json!("x".repeat(bytes)))
        }),
        tool("panics", &json!({}), &[], |_args| panic!("a tool's own fault")),
    ];
    for name in ["echo", "fetch-url", "get_user", "getUser", "a.b", "then", "__proto__"] {
        tools.push(tool(name, &json!({}), &[], move |args| Ok(json!({"tool": name, "args": args}))));
    }
    tools.push(slow());
    tools
}

fn slow() -> Tool {
    Tool::builder("slow")
        .description("Takes its time.")
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
        })
        .unwrap()
}

/// A parallel tool over plain values.
pub(crate) fn tool(
    name: &str,
    properties: &Value,
    required: &[&str],
    body: impl Fn(Value) -> Result<Value, ToolError> + Clone + Send + Sync + 'static,
) -> Tool {
    Tool::builder(name)
        .description(format!("The tool {name}."))
        .foreign_parameters(json!({"type": "object", "properties": properties, "required": required}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |args: Value, _context: ToolContext| {
            let body = body.clone();
            async move { body(args) }
        })
        .unwrap()
}

/// Runs this test alone in a process of its own, where its threads can be counted; true in that process.
#[cfg(target_os = "linux")]
pub(crate) fn alone(test: &str) -> bool {
    const ALONE: &str = "ISOLANE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    // By this name it starts even when it was built anew in the meantime.
    let status = std::process::Command::new("/proc/self/exe")
        .args([test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        // What a backtrace reads stays in memory, which is counted there.
        .env("RUST_BACKTRACE", "0")
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed alone: {status}");
    false
}
