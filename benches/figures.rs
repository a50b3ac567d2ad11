//! The figures of section 7.3, as one table for each isolation.
//!
//! `cargo bench --bench figures`, with `-- boxed` or `-- in-process` for one of them. Medians and 99th percentiles of many
//! single measurements; nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod memory;
mod subject;
mod table;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use isolane::codemode::{LogLevel, LogSink};
use isolane::host::{Host, RunOptions, Session, SessionOptions};
use isolane::ids::SessionId;
use isolane::ledger::{FsyncPolicy, JsonLinesStore, Ledger, LedgerOptions};
use memory::private_kib;
use subject::{Isolation, children};
use table::{heading, row, since};

fn main() {
    isolane::child::run_if_child();
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The process grows: what is said of its memory is said first.
    for (name, isolation) in [("boxed", Isolation::Boxed), ("in-process", Isolation::InProcess)] {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            println!("\n{name}");
            runtime.block_on(figures(isolation));
        }
    }
    println!("\nboth");
    before_a_run();
}

fn session(host: &Host) -> Session {
    host.session(SessionOptions::new("bench")).unwrap()
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

/// What costs the same in either isolation.
fn before_a_run() {
    let clock = SystemClock::new();
    let limits = ProgramLimits::default();
    let hints = ToolHints { names: &["noop", "echo"], ..ToolHints::default() };
    heading();
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
}

async fn figures(isolation: Isolation) {
    // First, while nothing that was freed is there to be used again.
    in_memory(isolation).await;
    heading();
    starts(isolation).await;
    for tools in [0, 5_000] {
        let host = isolation.host(1, tools);
        let calls = session(&host);
        for count in [10_u32, 10_000, 100_000] {
            let code = format!("for (let i = 0; i < {count}; i++) await tools.noop({{n: i}}); return 0");
            each(&format!("sequential call, {count} in a row, {} tools", tools + 2), &calls, &code, count)
                .await;
        }
        let code = "await Promise.all(Array.from({length: 10000}, (_, i) => tools.noop({n: i}))); return 0";
        each(&format!("parallel call, 10000 at once, {} tools", tools + 2), &calls, code, 10_000).await;
    }
    let host = isolation.host(1, 0);
    let open = |name: String| host.session(SessionOptions::new(name)).unwrap();
    let _others: Vec<_> = (0..999).map(|index| open(format!("other-{index}"))).collect();
    let code = "for (let i = 0; i < 10000; i++) await tools.noop({n: i}); return 0";
    each("sequential call, 10000 in a row, 1000 sessions open", &session(&host), code, 10_000).await;
    let code =
        "const text = 'x'.repeat(1 << 20); for (let i = 0; i < 50; i++) await tools.echo({text}); return 0";
    each("1 MiB in and out", &session(&host), code, 50).await;
    again(&host).await;
}

/// What a run of 2,000 calls takes with a ledger in a file, and what it takes to run it again (L-9).
async fn again(host: &Host) {
    let (clock, shared) = (SystemClock::new(), SystemClock::shared());
    let folder = tempfile::tempdir().unwrap();
    let (mut live, mut replayed) = (Vec::new(), Vec::new());
    for code in [
        "let sum = 0; for (let n = 0; n < 2000; n++) sum += await tools.noop({n}); return sum",
        "return (await Promise.all(Array.from({length: 2000}, (_, n) => tools.noop({n})))).length",
    ] {
        for round in 0..10 {
            let path = folder.path().join(format!("{round}.jsonl"));
            let id = SessionId::from(format!("recorded-{round}"));
            let store = Box::new(JsonLinesStore::open(&path, FsyncPolicy::Never).unwrap());
            let ledger =
                Ledger::new(id.clone(), Arc::clone(&shared), store, LedgerOptions::default()).unwrap();
            let session = host.session(SessionOptions::new(id).ledger(ledger)).unwrap();
            clock.sleep(Duration::from_millis(15)).await;
            let begun = clock.monotonic();
            let outcome = session.run(code).await;
            live.push(since(&clock, begun));
            let events = session.ledger().events().await.unwrap();
            clock.sleep(Duration::from_millis(15)).await;
            let begun = clock.monotonic();
            let call = "call-1".into();
            let again = session.replay(&events, &call, RunOptions::default()).await.unwrap();
            replayed.push(since(&clock, begun));
            assert_eq!((again.divergence, again.outcome.result), (None, outcome.result));
            drop(session);
            std::fs::remove_file(path).unwrap();
        }
        let how = if code.contains("Promise") { "at once" } else { "in a row" };
        row(&format!("2000 calls {how}, recorded in a file"), &mut live);
        row("the same, run again", &mut replayed);
        live.clear();
        replayed.clear();
    }
}

async fn starts(isolation: Isolation) {
    let clock = SystemClock::new();
    let host = isolation.host(1, 0);
    let warm = session(&host);
    let mut to_first_line = Vec::new();
    let mut whole = Vec::new();
    for _ in 0..200 {
        // One is ready: there has been time to make it.
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
    if isolation == Isolation::Boxed {
        let host = isolation.host(4, 0);
        let mut first = Vec::new();
        for index in 0..50 {
            clock.sleep(Duration::from_millis(60)).await;
            let session = host.session(SessionOptions::new(format!("session-{index}"))).unwrap();
            let begun = clock.monotonic();
            session.run("return 1").await.result.unwrap();
            first.push(since(&clock, begun));
        }
        row("the same, first run of a session, warm child", &mut first);
        let mut cold = Vec::new();
        for _ in 0..30 {
            let begun = clock.monotonic();
            session(&isolation.host(0, 0)).run("return 1").await.result.unwrap();
            cold.push(since(&clock, begun));
        }
        row("the same, child started on demand", &mut cold);
    }

    let cold = isolation.host(0, 0);
    let cold = session(&cold);
    let mut fresh = Vec::new();
    let begun = clock.monotonic();
    for _ in 0..300 {
        let begun = clock.monotonic();
        cold.run("return 1").await.result.unwrap();
        fresh.push(since(&clock, begun));
    }
    row("run right after another: request to outcome", &mut fresh);
    let per_second = 300.0 / since(&clock, begun).as_secs_f64();
    println!("{:<58} {per_second:>8.0}/s", "fresh isolates, one after the other");

    let flag = if isolation == Isolation::Boxed { "process" } else { "in-process" };
    let mut whole = Vec::new();
    for _ in 0..40 {
        let begun = clock.monotonic();
        let mut command = Command::new(env!("CARGO_BIN_EXE_isolane"));
        assert!(
            command.args(["run", "-e", "return 1", "--isolation", flag]).output().unwrap().status.success()
        );
        whole.push(since(&clock, begun));
    }
    row("the whole command line, from its start to its end", &mut whole);
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

/// What one more costs that waits: a child's private memory, or what the process grows by.
async fn in_memory(isolation: Isolation) {
    const HELD: usize = 20;
    let clock = SystemClock::new();
    let (before, there) = (private_kib(std::process::id()), children());
    let held = isolation.host(HELD, 0);
    // As many children as there are to be; isolates come one after the other.
    clock.sleep(Duration::from_secs(2)).await;
    let each = match isolation {
        Isolation::Boxed => {
            let new: Vec<_> = children().into_iter().filter(|pid| !there.contains(pid)).collect();
            assert_eq!(new.len(), HELD);
            new.into_iter().map(private_kib).sum::<u64>()
        }
        Isolation::InProcess => private_kib(std::process::id()).saturating_sub(before),
    };
    println!("{:<58} {:>7} KiB", "one more that is ready, private", each / HELD as u64);
    println!("{:<58} {:>7} KiB", "the host's process with them, private", private_kib(std::process::id()));
    drop(held);
}
