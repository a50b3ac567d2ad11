//! What a sub-call costs in the driver lane, and what a store that is too slow costs (L-4, CM-22), without V8.
//!
//! `cargo bench --bench lane --no-default-features`. The program's side is a loop that submits and takes; times are of
//! whole rounds, divided by their calls. Memory is the process's private memory. Nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod memory;
mod table;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::lane::{self, CommitOrder, LaneConfig, LaneHandle, LaneRoot};
use isolane::ids::SessionId;
use isolane::ledger::{Ledger, LedgerEvent, LedgerOptions, LedgerStore, StoreError};
use isolane::limits::CallLimits;
use isolane::pipeline::Pipeline;
use isolane::registry::{Registry, Target};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use memory::private_kib;
use serde_json::{Value, json};
use table::{heading, row, since};
use tokio_util::sync::CancellationToken;

/// How long a tool takes, and a hundred times as long for an event.
const TOOL: Duration = Duration::from_micros(5);
const STORE: Duration = Duration::from_micros(500);

/// Takes its time for every event, and keeps none.
#[derive(Debug)]
struct Slow(Arc<AtomicU64>);

impl LedgerStore for Slow {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        for event in events {
            std::thread::sleep(STORE);
            self.0.store(event.seq, Ordering::Relaxed);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn last_seq(&mut self, _session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.0.load(Ordering::Relaxed))
    }

    fn read(&mut self, _session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        Ok(Vec::new())
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        Ok(Vec::new())
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        heading();
        // First, while nothing that was freed is there to be used again.
        for (name, bytes) in [("{}", 0), ("100 bytes", 100), ("1 KiB", 1_024)] {
            queued(name, bytes).await;
        }
        sequential().await;
        slow_store().await;
    });
}

fn clock() -> Arc<dyn Clock> {
    SystemClock::shared()
}

fn pipeline(takes: Duration) -> Pipeline {
    let registry = Registry::new();
    let tool = Tool::builder("noop")
        .parameters(json!({"type": "object"}))
        .output(json!({"type": "integer"}))
        .concurrency(Concurrency::Parallel)
        .handler(move |_args: Value, _context: ToolContext| async move {
            let clock = SystemClock::new();
            while clock.monotonic() < takes {
                std::hint::spin_loop();
            }
            Ok::<_, ToolError>(json!(1))
        })
        .unwrap();
    registry.register(&Target::Global, tool).unwrap().keep();
    Pipeline::new(registry, CallLimits::default(), None)
}

fn open(ledger: Ledger, takes: Duration) -> (LaneHandle, tokio::task::JoinHandle<lane::LaneReport>) {
    let root = LaneRoot {
        parent: "c".into(),
        root: "c".into(),
        session: "s".into(),
        scope: None,
        cancel: CancellationToken::new(),
        working_root: None,
        progress: None,
    };
    let config = LaneConfig {
        record_values: false,
        max_parallel: 10,
        commit_order: CommitOrder::Completion,
        max_calls: 1_000_000,
        max_queued_bytes: 1 << 30,
        max_value_bytes: 1 << 20,
        forwarded_blocks: 8,
        drain: None,
    };
    let (handle, driver) = lane::open(pipeline(takes), ledger, clock(), root, config);
    (handle, tokio::spawn(driver.drive()))
}

async fn take(handle: &LaneHandle) {
    poll_fn(|context| handle.poll_settled(context)).await.result.unwrap();
}

async fn end(handle: LaneHandle, driving: tokio::task::JoinHandle<lane::LaneReport>, calls: u64) {
    handle.close();
    assert_eq!(driving.await.unwrap().started, calls);
}

/// 100,000 calls that wait, and then run.
async fn queued(name: &str, bytes: usize) {
    const CALLS: u32 = 100_000;
    let clock = SystemClock::new();
    let before = private_kib(std::process::id());
    let (handle, driving) = open(Ledger::disabled("s".into(), self::clock()), Duration::ZERO);
    let begun = clock.monotonic();
    for _ in 0..CALLS {
        let args = if bytes == 0 { json!({}) } else { json!({"text": "x".repeat(bytes)}) };
        handle.submit("noop".into(), args).unwrap();
    }
    let grown = private_kib(std::process::id()).saturating_sub(before);
    for _ in 0..CALLS {
        take(&handle).await;
    }
    row(&format!("call, 100,000 queued with {name}"), &mut [since(&clock, begun) / CALLS]);
    println!("{:<58} {:>6} B", "  memory of each that waits", grown * 1_024 / u64::from(CALLS));
    end(handle, driving, u64::from(CALLS)).await;
}

async fn sequential() {
    for calls in [10_000_u32, 100_000] {
        let clock = SystemClock::new();
        let mut times = Vec::new();
        for _ in 0..10 {
            let (handle, driving) = open(Ledger::disabled("s".into(), self::clock()), Duration::ZERO);
            let begun = clock.monotonic();
            for _ in 0..calls {
                handle.submit("noop".into(), json!({})).unwrap();
                take(&handle).await;
            }
            times.push(since(&clock, begun) / calls);
            end(handle, driving, u64::from(calls)).await;
        }
        row(&format!("call, {calls} in sequence"), &mut times);
    }
}

/// A store 100 times slower than the tools.
async fn slow_store() {
    let clock = SystemClock::new();
    let options = LedgerOptions::default();
    let free = u32::try_from(options.backlog / 2).unwrap();
    let store = Box::new(Slow(Arc::default()));
    let ledger = Ledger::new("s".into(), self::clock(), store, options).unwrap();
    let (handle, driving) = open(ledger, TOOL);
    let mut made = 0;
    for (name, until) in
        [("until the backlog is full", free), ("to the 1,000th", 1_000), ("to the 20,000th", 20_000)]
    {
        let begun = clock.monotonic();
        for _ in made..until {
            handle.submit("noop".into(), json!({"text": "x".repeat(1_024)})).unwrap();
            take(&handle).await;
        }
        row(&format!("call, store 100 times slower, {name}"), &mut [since(&clock, begun) / (until - made)]);
        println!("{:<58} {:>6} KiB", "  private memory then", private_kib(std::process::id()));
        made = until;
    }
    end(handle, driving, u64::from(made)).await;
}
