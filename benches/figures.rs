//! The figures of section 7.3, for the in-process runtime, as one table.
//!
//! `cargo bench --bench figures`. Medians and 99th percentiles of many single measurements; nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod memory;
mod table;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use isolane::codemode::{LogLevel, LogSink};
use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::host::{Host, RunOptions, Session, SessionOptions};
use isolane::limits::{CallLimits, RunLimits};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use memory::resident_kib;
use serde_json::{Value, json};
use table::{heading, row, since};

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(figures());
}

fn noop() -> Tool {
    Tool::builder("noop")
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .output(json!({"type": "integer"}))
        .concurrency(Concurrency::Parallel)
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(1)) })
        .unwrap()
}

fn echo() -> Tool {
    Tool::builder("echo")
        .parameters(json!({"type": "object", "properties": {"text": {"type": "string"}}}))
        .output(json!({"type": "string"}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, _context: ToolContext| async move { Ok::<_, ToolError>(args["text"].clone()) })
        .unwrap()
}

fn session(ready: usize, more_tools: usize) -> Session {
    let limits = generous();
    let options = InProcessOptions { ready, limits: limits.clone() };
    let mut call_limits = CallLimits::default();
    call_limits.argument_bytes = limits.argument_bytes;
    let mut builder = Host::builder()
        .tools([noop(), echo()])
        .runtime(InProcessRuntime::new(&options))
        .limits(limits)
        .call_limits(call_limits);
    for index in 0..more_tools {
        let tool = Tool::builder(format!("tool_{index}"))
            .output(json!({"type": "null"}))
            .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) });
        builder = builder.tools([tool.unwrap()]);
    }
    builder.build().unwrap().session(SessionOptions::new("bench")).unwrap()
}

fn generous() -> RunLimits {
    let mut limits = RunLimits::default();
    limits.sub_calls = 1_000_000;
    limits.argument_bytes = 4 << 20;
    limits.output_bytes = 16 << 20;
    limits
}

/// The moment of the first printed line.
struct FirstLine {
    clock: SystemClock,
    at: Mutex<Option<Duration>>,
}

impl LogSink for FirstLine {
    fn line(&self, _level: LogLevel, _text: &str) {
        self.at.lock().unwrap().get_or_insert(self.clock.monotonic());
    }
}

async fn figures() {
    let clock = SystemClock::new();
    // First, while nothing that was freed is there to be used again.
    isolates_in_memory().await;
    heading();

    let limits = ProgramLimits::default();
    let hints = ToolHints { names: &["noop", "echo"], ..ToolHints::default() };
    for (name, text) in [
        ("one line", "console.log(1)".to_owned()),
        ("50 lines", "print((await tools.noop({n: 1})) as number);\n".repeat(50)),
    ] {
        let mut times = Vec::new();
        for _ in 0..200 {
            let begun = clock.monotonic();
            drop(prepare(&text, &limits, &hints).unwrap());
            times.push(since(&clock, begun));
        }
        row(&format!("preparing a program, {name}"), &mut times);
    }

    let warm = session(1, 0);
    let mut to_first_line = Vec::new();
    let mut whole = Vec::new();
    for _ in 0..200 {
        // A ready isolate at hand: the pool has had time to make one.
        clock.sleep(Duration::from_millis(15)).await;
        let sink = Arc::new(FirstLine { clock: SystemClock::new(), at: Mutex::default() });
        let options =
            RunOptions { logs: Some(Arc::clone(&sink) as Arc<dyn LogSink>), ..RunOptions::default() };
        let begun = clock.monotonic();
        warm.run_with("console.log(1)", options).await.result.unwrap();
        whole.push(since(&clock, begun));
        to_first_line.push(sink.at.lock().unwrap().unwrap());
    }
    row("run, ready isolate: request to first printed line", &mut to_first_line);
    row("run, ready isolate: request to outcome", &mut whole);

    let cold = session(0, 0);
    let mut fresh = Vec::new();
    let begun = clock.monotonic();
    for _ in 0..300 {
        let begun = clock.monotonic();
        cold.run("return 1").await.result.unwrap();
        fresh.push(since(&clock, begun));
    }
    row("run, isolate made on demand: request to outcome", &mut fresh);
    println!(
        "{:<58} {:>8.0}/s",
        "fresh isolates, one after the other",
        300.0 / (since(&clock, begun)).as_secs_f64()
    );

    for tools in [0, 5_000] {
        let calls = session(1, tools);
        for count in [10_u32, 10_000, 100_000] {
            let code = format!("for (let i = 0; i < {count}; i++) await tools.noop({{n: i}}); return 0");
            each(&format!("sequential call, {count} in a row, {} tools", tools + 2), &calls, &code, count)
                .await;
        }
        let code = "await Promise.all(Array.from({length: 10000}, (_, i) => tools.noop({n: i}))); return 0";
        each(&format!("parallel call, 10000 at once, {} tools", tools + 2), &calls, code, 10_000).await;
    }
    let calls = session(1, 0);
    let code =
        "const text = 'x'.repeat(1 << 20); for (let i = 0; i < 50; i++) await tools.echo({text}); return 0";
    each("1 MiB in and out", &calls, code, 50).await;
}

/// Time per call of one run, from the run's own wall clock around the loop.
async fn each(name: &str, session: &Session, code: &str, count: u32) {
    let clock = SystemClock::new();
    let mut times = Vec::new();
    for _ in 0..10 {
        clock.sleep(Duration::from_millis(15)).await;
        let begun = clock.monotonic();
        session.run("return 0").await.result.unwrap();
        let empty = since(&clock, begun);
        clock.sleep(Duration::from_millis(15)).await;
        let begun = clock.monotonic();
        session.run(code).await.result.unwrap();
        times.push((since(&clock, begun)).saturating_sub(empty) / count);
    }
    row(name, &mut times);
}

async fn isolates_in_memory() {
    let clock = SystemClock::new();
    let before = resident_kib();
    let held: Vec<_> = (0..20).map(|_| session(1, 0)).collect();
    clock.sleep(Duration::from_millis(500)).await;
    let each = resident_kib().saturating_sub(before) / 20;
    println!("{:<58} {:>7} KiB", "one more ready isolate, resident", each);
    println!("{:<58} {:>7} KiB", "this process, resident", resident_kib());
    drop(held);
}
