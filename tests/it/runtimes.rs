//! The in-process runtime seen by its host: flavours of tokio, cancellation, panics, threads.
//!
//! Owns what the host may do to a run, or forget about it, and what is left behind. No test waits for a time to pass:
//! each waits for a signal that comes from the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use isolane::clock::{Clock, Sleep, SystemClock, Timestamp};
use isolane::codemode::{LogLevel, LogSink};
use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::host::{self, SessionOptions};
use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use isolane::outcome::{RunFailureKind, SubCallState};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};
use tokio::sync::Notify;

#[cfg(target_os = "linux")]
use crate::support::alone;
use crate::support::{Host, Isolation, brief, isolation, said, tools};

const PROGRAM: &str = "const all = await Promise.all([1, 2, 3].map((ms) => tools.slow({ ms }))); \
                       await new Promise((done) => setTimeout(done, 1)); return all";

/// The in-process half of what is asked, see E-1.
#[test]
fn runs_work_on_every_flavour_of_tokio() {
    let mut one = tokio::runtime::Builder::new_current_thread();
    let mut many = tokio::runtime::Builder::new_multi_thread();
    for builder in [&mut one, many.worker_threads(2)] {
        let tokio = builder.enable_time().build().unwrap();
        let outcome = tokio.block_on(async { Host::new().run(PROGRAM).await });
        assert_eq!(said(&outcome), "value [1,2,3]");
    }
}

/// One runtime serves tokio runtimes that come and go.
#[test]
fn a_runtime_outlives_the_tokio_runtime_that_it_was_made_in() {
    let runtime = InProcessRuntime::new(&InProcessOptions::default());
    for _ in 0..2 {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let host = host::Host::builder().runtime(runtime.clone()).build().unwrap();
        let outcome = tokio
            .block_on(async move { host.session(SessionOptions::new("s")).unwrap().run("return 1").await });
        assert_eq!(said(&outcome), "value 1");
    }
}

/// What the host lacks is said before the program starts.
#[test]
fn a_host_without_timers_or_without_tokio_is_told_so() {
    let host =
        host::Host::builder().runtime(InProcessRuntime::new(&InProcessOptions::default())).build().unwrap();
    let run = || {
        let host = host.clone();
        async move { host.session(SessionOptions::new("s")).unwrap().run("return 1").await }
    };
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(
        said(&tokio.block_on(run())),
        "engine-exit: the host's tokio runtime has no timers; build it with `enable_time()` or `enable_all()`"
    );
    assert_eq!(
        said(&futures_util::FutureExt::now_or_never(run()).expect("nothing to wait for")),
        "engine-exit: programs need a tokio runtime around them, and there is none"
    );
}

/// A tool that says when it has started, and when it was told to stop.
struct Watched {
    started: Arc<Notify>,
    stopped: Arc<AtomicUsize>,
    tool: Tool,
}

fn watched() -> Watched {
    let (started, stopped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (starting, stopping) = (Arc::clone(&started), Arc::clone(&stopped));
    let tool = Tool::builder("watched")
        .description("Waits until it is told to stop.")
        .parameters(json!({"type": "object", "properties": {}}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |_args: Value, context: ToolContext| {
            let (starting, stopping) = (Arc::clone(&starting), Arc::clone(&stopping));
            async move {
                starting.notify_one();
                context.cancel.cancelled().await;
                stopping.fetch_add(1, Ordering::SeqCst);
                Err::<Value, _>(ToolError::failed("told to stop"))
            }
        })
        .unwrap();
    Watched { started, stopped, tool }
}

/// E-8, P-13: T10. Cancelled in the middle of a wait, and twice: prompt, idempotent, and the tool is told.
#[tokio::test]
async fn a_cancelled_wait_ends_and_its_tool_is_told() {
    let Watched { started, stopped, tool } = watched();
    let host = Host::with_tools(RunLimits::default(), vec![tool]);
    let run =
        host.run("try { await tools.watched({}) } catch { return 'caught' } finally { return 'finally' }");
    let cancel = async {
        started.notified().await;
        host.cancel.cancel();
        host.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    assert_eq!(said(&outcome).lines().next(), Some("abort: the run was cancelled"));
    assert_eq!(outcome.sub_calls[0].state, SubCallState::Aborted);
    assert_eq!(stopped.load(Ordering::SeqCst), 1);
    // After the end it changes nothing.
    host.cancel.cancel();
    assert_eq!(isolane::ledger::unsettled(&host.events()).len(), 0);
}

/// Cancels its token when a line is printed.
struct CancelOnLine(tokio_util::sync::CancellationToken);

impl LogSink for CancelOnLine {
    fn line(&self, _level: LogLevel, _text: &str) {
        self.0.cancel();
    }
}

/// E-8: T10. Cancelled while JavaScript runs.
#[tokio::test]
async fn a_cancelled_loop_ends() {
    let mut host = Host::new();
    host.logs = Some(Arc::new(CancelOnLine(host.cancel.clone())));
    let outcome = host.run("console.log('now');\nfor (;;) { try { for (;;); } catch { continue } }").await;
    assert_eq!(said(&outcome), "abort: the run was cancelled\nlog now");
    assert_eq!(outcome.result.unwrap_err().line, Some(2));
}

/// E-8: T10. Cancelled before it starts: nothing of it runs.
#[tokio::test]
async fn a_run_that_is_cancelled_before_it_starts_does_nothing() {
    let host = Host::new();
    host.cancel.cancel();
    let outcome = host.run("console.log('ran'); await tools.add({ a: 1, b: 2 })").await;
    assert_eq!(said(&outcome), "abort: the run was cancelled");
    assert!(outcome.sub_calls.is_empty());
}

/// Whoever looks at it finds that another minute has passed.
#[derive(Debug, Default)]
struct Leaping(AtomicU64);

impl Clock for Leaping {
    fn now(&self) -> Timestamp {
        SystemClock::new().now()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(60 * self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        SystemClock::new().sleep(duration)
    }
}

/// E-6: the wall limit counts from the beginning of the run: what preparing the program takes is part of it.
#[tokio::test]
async fn preparing_a_program_counts_as_time_of_its_run() {
    let mut limits = RunLimits::default();
    for (minutes, expected) in
        [(2, "value 1"), (1, "wall-timeout: the run took longer than 60 s; do less in one program")]
    {
        limits.wall = Duration::from_secs(60 * minutes);
        let host =
            Host::assemble(limits.clone(), tools(), Arc::new(Leaping::default()), Isolation::InProcess);
        assert_eq!(said(&host.run("return 1").await), expected);
    }
}

/// All waiting is over at once.
#[derive(Debug)]
struct Hasty;

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        SystemClock::new().now()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _duration: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

/// E-6, M11: a run does not wait for the end of its preparation when its time is over.
#[tokio::test]
async fn a_program_that_takes_long_to_prepare_ends_by_the_wall_limit() {
    let host = Host::assemble(RunLimits::default(), tools(), Arc::new(Hasty), Isolation::InProcess);
    assert_eq!(said(&host.run("return 1").await), "value 1");
    let large = "function f(a: number) { return a }\n".repeat(20_000);
    assert_eq!(
        said(&host.run(&large).await),
        "wall-timeout: the run took longer than 300 s; do less in one program"
    );
}

/// L-5: a host that forgets a run has cancelled it. Its tools are told, and the ledger hears of their end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_the_host_drops_is_wound_down() {
    let Watched { started, stopped, tool } = watched();
    let host = Host::with_tools(RunLimits::default(), vec![tool]);
    {
        let run = host.run("for (;;) { try { await tools.watched({}) } catch { } }");
        tokio::select! {
            outcome = run => panic!("ended by itself: {}", brief(&outcome)),
            () = started.notified() => {}
        }
    }
    let clock = SystemClock::new();
    let settled = || host.events().iter().any(|event| matches!(event.body, EventBody::CodeDispatch(_)));
    for _ in 0..1000 {
        if settled() {
            break;
        }
        clock.sleep(Duration::from_millis(5)).await;
    }
    assert!(settled(), "the call that had started has no end in the ledger");
    assert_eq!(stopped.load(Ordering::SeqCst), 1);
}

/// A sink with a fault.
struct Faulty;

impl LogSink for Faulty {
    fn line(&self, _level: LogLevel, text: &str) {
        assert!(!text.contains("boom"), "a fault of the host");
    }
}

/// A panic of the host's own code on the isolate's thread ends the run, not the process, and its calls are
/// settled.
#[tokio::test]
async fn a_panic_of_the_host_ends_the_run_alone() {
    let Watched { tool, .. } = watched();
    let mut host = Host::with_tools(RunLimits::default(), vec![tool]);
    host.logs = Some(Arc::new(Faulty));
    let outcome = host
        .run("tools.watched({});\nconsole.log('fine'); try { console.log('boom') } catch { return 1 }")
        .await;
    let failure = outcome.result.as_ref().unwrap_err();
    assert_eq!(
        failure.to_string(),
        "engine-exit: a part of the host panicked while the program ran; this is a bug of the host"
    );
    // A child is not asked where it is before it is killed.
    let line = matches!(isolation(), Isolation::InProcess).then_some(2);
    assert_eq!(failure.line, line);
    assert_eq!(outcome.logs, ["fine", "boom"]);
    assert_eq!(outcome.sub_calls.len(), 1);
    assert_eq!(isolane::ledger::unsettled(&host.events()).len(), 0);
    host.logs = None;
    assert_eq!(said(&host.run("return 1").await), "value 1");
}

/// Calls that settle at once do not keep timers waiting, nor the other way round.
#[tokio::test]
async fn calls_and_timers_take_turns() {
    let host = Host::new();
    let program = "
        let on = true, calls = 0;
        setTimeout(() => { on = false }, 5);
        while (on) { await tools.add({ a: 1, b: 1 }); calls++ }
        return calls > 0;
    ";
    assert_eq!(said(&host.run(program).await), "value true");
    let program = "
        let on = true;
        const again = () => { if (on) setTimeout(again, 0) };
        again();
        for (let i = 0; i < 50; i++) await tools.add({ a: i, b: 1 });
        on = false;
        await new Promise((done) => setTimeout(done, 1));
        return 'both';
    ";
    assert_eq!(said(&host.run(program).await), r#"value "both""#);
}

/// Nothing of a run is left when it has ended: its thread lets go of all that the host lent it.
#[tokio::test]
async fn a_run_lets_go_of_everything() {
    let mut host = Host::new();
    let sink: Arc<dyn LogSink> = Arc::new(Faulty);
    let weak = Arc::downgrade(&sink);
    host.logs = Some(sink);
    for program in [
        "console.log('fine'); return 1",
        "throw 1",
        "await new Promise(() => {})",
        "setInterval(() => console.log('fine'), 1); await tools.slow({ ms: 5 }); return 1",
    ] {
        let _ = host.run(program).await;
    }
    host.logs = None;
    assert_eq!(weak.strong_count(), 0);
}

#[cfg(target_os = "linux")]
fn isolate_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with("isolane-isolate"))
        .count()
}

/// Each run's thread ends with it, and ready isolates end with the runtime.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left_behind() {
    if !alone("runtimes::no_thread_is_left_behind") {
        return;
    }
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let host = Host::new();
    tokio.block_on(async {
        for n in 0..50 {
            assert_eq!(said(&host.run(&format!("return {n}")).await), format!("value {n}"));
        }
        // A run that fails, and a run that the host drops before it begins.
        assert!(host.run("throw 1").await.result.is_err());
        drop(host.run("return 1"));
    });
    // The ready one, the next one being made, and the last one that is about to end.
    assert!(isolate_threads() <= 3, "{} threads", isolate_threads());
    drop(host);
    let clock = SystemClock::new();
    tokio.block_on(async {
        for _ in 0..1000 {
            if isolate_threads() == 0 {
                break;
            }
            clock.sleep(Duration::from_millis(5)).await;
        }
    });
    assert_eq!(isolate_threads(), 0);
}

/// E-8: M2, M12; how a child ends, see E-3. An isolate that is out of memory for good costs its thread, and never the host.
#[test]
#[cfg(target_os = "linux")]
fn an_isolate_that_is_out_of_memory_costs_its_thread_alone() {
    if !alone("runtimes::an_isolate_that_is_out_of_memory_costs_its_thread_alone") {
        return;
    }
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio.block_on(async {
        let mut limits = RunLimits::default();
        limits.heap_bytes = 32 << 20;
        let host = Host::with_limits(limits);
        // No built-in of this program looks up while it allocates.
        let hungry = "console.log('before'); return 'x'.repeat(2 ** 28).replaceAll('x', 'yy').length";
        let outcome = host.run(hungry).await;
        let kind = outcome.result.as_ref().map_err(|failure| failure.kind);
        assert_eq!(kind, Err(RunFailureKind::Heap), "{}", said(&outcome));
        assert_eq!(outcome.logs, ["before"]);
        // While the lost thread runs into the end of its memory, and after that.
        for n in 0..40 {
            let program = format!("await tools.slow({{ ms: 100 }}); return {n}");
            assert_eq!(said(&host.run(&program).await), format!("value {n}"));
        }
        assert!(matches!(host.lost_threads(), None | Some(1)));
    });
}
