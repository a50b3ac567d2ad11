//! isolane's own lines for the comparison with others.
//!
//! `cargo bench --bench peers` prints a table, `-- --json` the lines that `benches/peers/run` puts beside those of the
//! peers, `-- --quick` measures less often, `-- --case NAME` one case alone. The cases, the rest between runs and what counts are those of
//! `benches/peers/common.mjs`; `benches/peers/README.md` says what they mean.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod memory;
mod subject;

use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::host::{Host, SessionOptions};
use memory::private_kib;
use serde_json::{Value, json};
use subject::{Isolation, children};

struct Case {
    name: &'static str,
    program: &'static str,
    value: i64,
    /// Units of work in one run.
    per: u32,
    runs: usize,
}

const CASES: [Case; 7] = [
    case("start and return", include_str!("peers/programs/start.js"), 1, 1, 200),
    case("one call", include_str!("peers/programs/one_call.js"), 1, 1, 200),
    case("sequential call", include_str!("peers/programs/sequential.js"), 499_500, 1000, 30),
    case("parallel call", include_str!("peers/programs/parallel.js"), 499_500, 1000, 30),
    case("1 MiB in and out", include_str!("peers/programs/mebibyte.js"), 10 << 20, 10, 20),
    case("fib(25)", include_str!("peers/programs/fib.js"), 75_025, 1, 30),
    case("loop of 10 million", include_str!("peers/programs/loop.js"), 49_999_995_000_000, 1, 15),
];

const fn case(name: &'static str, program: &'static str, value: i64, per: u32, runs: usize) -> Case {
    Case { name, program, value, per, runs }
}

/// Runs that do not count, as for the peers.
const WARMING: usize = 3;

/// Between runs, as for the peers.
const REST: Duration = Duration::from_millis(15);

fn main() {
    isolane::child::run_if_child();
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    let (as_json, quick) = (has("--json"), has("--quick"));
    let only = std::env::args().skip_while(|argument| argument != "--case").nth(1);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for (peer, isolation) in
        [("isolane boxed", Isolation::Boxed), ("isolane in-process", Isolation::InProcess)]
    {
        let print = |line: Line| line.print(peer, as_json);
        runtime.block_on(measure(isolation, quick, only.as_deref(), &print));
    }
}

/// One case of one peer.
struct Line {
    case: &'static str,
    unit: &'static str,
    p50: f64,
    p99: Option<f64>,
    n: usize,
    note: String,
}

impl Line {
    fn print(&self, peer: &str, as_json: bool) {
        let Self { case, unit, p50, p99, n, note } = self;
        if as_json {
            let version = format!("{}, V8 {}", env!("CARGO_PKG_VERSION"), isolane::engine::v8_version());
            let line = json!({
                "peer": peer, "version": version, "case": case, "unit": unit, "p50": p50, "p99": p99, "n": n,
                "note": note,
            });
            println!("{line}");
        } else {
            let p99 = p99.map(|value| format!("{value:.1}")).unwrap_or_default();
            println!("{peer:20} {case:20} {p50:>10.1} {p99:>10} {unit:4} {note}");
        }
    }
}

async fn measure(isolation: Isolation, quick: bool, only: Option<&str>, print: &impl Fn(Line)) {
    // Memory first, while nothing that was freed is there to be used again.
    if only.is_none() {
        let held = if quick { 10 } else { 100 };
        let each = idle(isolation, held).await;
        print(Line { case: "idle sandbox", unit: "KiB", p50: each, p99: None, n: held, note: String::new() });
    }
    let host = isolation.host(1, 0);
    for case in CASES.iter().filter(|case| only.is_none_or(|only| only == case.name)) {
        let runs = if quick { case.runs.div_ceil(10) + 3 } else { case.runs };
        // One conversation, and its programs one after the other: each has a fresh isolate.
        let times = timed(&host, case, runs, |_| "conversation".to_owned()).await;
        let mut note = String::new();
        if isolation == Isolation::Boxed && case.per == 1 && case.runs == 200 {
            let host = isolation.host(4, 0);
            let first = timed(&host, case, runs, |run| format!("conversation-{run}")).await;
            note = format!("first program of a conversation, in a warm process: {:.0} us", at(&first, 0.5));
        }
        let (p50, p99) = (at(&times, 0.5), at(&times, 0.99));
        print(Line { case: case.name, unit: "us", p50, p99: Some(p99), n: times.len(), note });
    }
}

/// Microseconds for each unit of work, in order.
async fn timed(host: &Host, case: &Case, runs: usize, name: impl Fn(usize) -> String) -> Vec<f64> {
    let clock = SystemClock::new();
    let mut times = Vec::new();
    for run in 0..runs + WARMING {
        let session = host.session(SessionOptions::new(name(run))).unwrap();
        clock.sleep(REST).await;
        let begun = clock.monotonic();
        let outcome = session.run(case.program).await;
        let taken = clock.monotonic().saturating_sub(begun);
        assert_eq!(outcome.result.unwrap(), Some(Value::from(case.value)), "{}", case.name);
        if run >= WARMING {
            times.push(taken.as_secs_f64() * 1e6 / f64::from(case.per));
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index"
)]
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Private memory of one that waits, in KiB: of the children themselves, or what this process grows by.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
async fn idle(isolation: Isolation, count: usize) -> f64 {
    let clock = SystemClock::new();
    let own = std::process::id();
    // One that does not count: what the first brings into the process is shared by all.
    let first = isolation.host(1, 0);
    clock.sleep(Duration::from_millis(500)).await;
    let (before, there) = (private_kib(own), children());
    let held = isolation.host(count, 0);
    let sum = match isolation {
        Isolation::Boxed => {
            let new = || children().into_iter().filter(|pid| !there.contains(pid)).collect::<Vec<_>>();
            while new().len() < count {
                clock.sleep(Duration::from_millis(100)).await;
            }
            clock.sleep(Duration::from_secs(3)).await;
            new().into_iter().map(private_kib).sum()
        }
        Isolation::InProcess => {
            clock.sleep(Duration::from_secs(3)).await;
            private_kib(own).saturating_sub(before)
        }
    };
    drop((first, held));
    sum as f64 / count as f64
}
