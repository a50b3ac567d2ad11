//! Which children there are: how many, how long, and whose (E-2, E-3, E-4).
//!
//! Owns programs on runtimes whose options make the pool's choices visible from outside, as processes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::{LogLevel, LogSink};
use isolane::engine::{Layer, ProcessOptions, ProcessRuntime};
use isolane::limits::RunLimits;
use rustix::process::Pid;

use crate::boxed::liar::forged;
use crate::boxed::{Program, host_on, wait_until};
use crate::support::{Host, said};

/// Looks which children there are whenever a line is printed.
struct Count {
    program: Arc<Program>,
    seen: Mutex<Vec<Vec<Pid>>>,
}

impl LogSink for Count {
    fn line(&self, _level: LogLevel, _text: &str) {
        self.seen.lock().unwrap().push(self.program.children());
    }
}

/// Hosts of several sessions on one runtime.
struct Sessions {
    program: Arc<Program>,
    count: Arc<Count>,
    runtime: ProcessRuntime,
    limits: RunLimits,
}

impl Sessions {
    fn new(set: fn(&mut ProcessOptions)) -> Self {
        let (program, limits) = (Arc::new(Program::isolane()), RunLimits::default());
        let mut options = program.options(&limits);
        options.warm = 0;
        set(&mut options);
        let runtime = ProcessRuntime::new(options).unwrap();
        let count = Arc::new(Count { program: Arc::clone(&program), seen: Mutex::default() });
        Self { program, count, runtime, limits }
    }

    fn host(&self, session: &str) -> Host {
        let mut host = host_on(&self.runtime, &self.limits);
        host.session = session.into();
        host.logs = Some(Arc::clone(&self.count) as Arc<dyn LogSink>);
        host
    }

    /// Runs a program of a session; the children that there were meanwhile.
    async fn run(&self, session: &str) -> BTreeSet<i32> {
        assert_eq!(said(&self.host(session).run("console.log('.'); return 1").await), "value 1\nlog .");
        let seen = self.count.seen.lock().unwrap().pop().unwrap();
        seen.iter().map(|pid| pid.as_raw_nonzero().get()).collect()
    }
}

/// E-2: sessions do not share a child.
#[tokio::test]
async fn a_child_serves_one_session() {
    let sessions = Sessions::new(|_| {});
    let first = sessions.run("a").await;
    assert_eq!(first.len(), 1);
    let both = sessions.run("b").await;
    assert!(both.len() == 2 && both.is_superset(&first), "{first:?}, {both:?}");
    let three = sessions.run("c").await;
    assert!(three.len() == 3 && three.is_superset(&both), "{both:?}, {three:?}");
}

/// E-2: where there is room for one child, its session has it again, at once and later, and another one has another.
#[tokio::test]
async fn the_last_place_changes_hands_with_a_new_child() {
    let sessions = Sessions::new(|options| options.max_children = 1);
    let first = sessions.run("a").await;
    assert_eq!(sessions.run("a").await, first);
    let second = sessions.run("b").await;
    assert!(second.len() == 1 && second != first, "{first:?}, {second:?}");
    let third = sessions.run("a").await;
    assert!(third.len() == 1 && third != first && third != second, "{first:?}, {second:?}, {third:?}");
}

/// E-2: after so many programs a child is replaced.
#[tokio::test]
async fn a_child_is_replaced_after_its_programs() {
    let sessions = Sessions::new(|options| (options.runs_per_child, options.max_children) = (3, 1));
    let mut generations = Vec::new();
    for _ in 0..3 {
        let first = sessions.run("a").await;
        assert_eq!(first.len(), 1);
        assert_eq!(sessions.run("a").await, first);
        assert_eq!(sessions.run("a").await, first);
        sessions.program.wait(<[_]>::is_empty);
        generations.push(first);
    }
    assert!(generations[0] != generations[1] && generations[1] != generations[2], "{generations:?}");
}

/// E-2: no more children wait for their sessions than may, and those that were used last do.
#[tokio::test]
async fn children_that_wait_are_few() {
    let sessions = Sessions::new(|options| options.max_idle = 2);
    for session in ["a", "b", "c", "d", "e"] {
        sessions.run(session).await;
    }
    let left = sessions.program.wait(|children| children.len() == 2);
    let left: BTreeSet<_> = left.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
    assert_eq!(sessions.run("e").await, left);
    assert_eq!(sessions.run("d").await, left);
    let more = sessions.run("a").await;
    assert!(more.len() == 3 && more.is_superset(&left), "{left:?}, {more:?}");
    sessions.program.wait(|children| children.len() == 2);
}

/// E-4: more runs than there may be children wait for one, and all have their turn.
#[tokio::test]
async fn there_are_no_more_children_than_may_be() {
    let sessions = Sessions::new(|options| {
        options.max_children = 2;
        options.warm = 5;
    });
    let hosts: Vec<_> = (0..12).map(|n| sessions.host(&format!("s{}", n % 5))).collect();
    let runs = hosts.iter().enumerate().map(|(n, host)| async move {
        let code = format!("console.log('.'); return await tools.add({{ a: {n}, b: 1 }})");
        said(&host.run(&code).await)
    });
    for (n, said) in futures_util::future::join_all(runs).await.into_iter().enumerate() {
        assert_eq!(said, format!("value {}\nlog .", n + 1));
    }
    let seen = sessions.count.seen.lock().unwrap();
    assert_eq!(seen.len(), 12);
    assert!(seen.iter().all(|children| (1..=2).contains(&children.len())), "{seen:?}");
    assert!(sessions.runtime.children() <= 2);
}

/// E-6: a run that waits for a place ends by its wall limit, and by being cancelled.
#[tokio::test]
async fn waiting_for_a_place_is_part_of_a_run() {
    let sessions = Sessions::new(|options| options.max_children = 1);
    let (holder, mut waiter, cancelled) = (sessions.host("a"), sessions.host("a"), sessions.host("a"));
    waiter.limits.wall = Duration::from_millis(200);
    let hold = holder.run("await new Promise((done) => setTimeout(done, 600_000))");
    let wait = async {
        let waited = said(&waiter.run("return 1").await);
        let (run, ()) = tokio::join!(cancelled.run("return 1"), async { cancelled.cancel.cancel() });
        holder.cancel.cancel();
        (waited, said(&run))
    };
    let (held, (waited, cancelled)) = tokio::join!(hold, wait);
    assert_eq!(said(&held), "abort: the run was cancelled");
    assert_eq!(waited, "wall-timeout: the run took longer than 200 ms; do less in one program");
    assert_eq!(cancelled, "abort: the run was cancelled");
    assert_eq!(said(&sessions.host("a").run("return 1").await), "value 1");
}

/// E-3: a program that cannot be started, or that ends before it is used, is started again more and more slowly.
#[tokio::test]
async fn failed_starts_are_repeated_slowly() {
    for part in ["fails-and-counts", "dies-and-counts"] {
        let program = forged(part);
        let clock = SystemClock::new();
        let mut options = program.options(&RunLimits::default());
        options.warm = 1;
        let runtime = ProcessRuntime::new(options).unwrap();
        let starts = program.folder.path().join("starts");
        let count = || std::fs::read_to_string(&starts).map_or(0, |text| text.lines().count());
        assert!(wait_until(|| count() >= 4), "{part}: {} starts", count());
        // 50 ms before the second start, then 100, then 200.
        assert!(clock.monotonic() >= Duration::from_millis(350), "{part}: {:?}", clock.monotonic());
        drop(runtime);
    }
}

/// E-3: what was wrong with the program is mended while the host runs.
#[tokio::test]
async fn a_program_that_comes_late_is_started() {
    let program = Program::isolane();
    std::fs::remove_file(&program.path).unwrap();
    let limits = RunLimits::default();
    let host = host_on(&program.runtime(&limits), &limits);
    for _ in 0..3 {
        let said = said(&host.run("return 1").await);
        assert!(said.contains("could be started to run the program: No such file or directory"), "{said}");
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_isolane"), &program.path).unwrap();
    // A run that waits does not wait for the next try of the pool; it may share the one that has just failed.
    let mut last = String::new();
    for _ in 0..3 {
        last = said(&host.run("return 1").await);
    }
    assert_eq!(last, "value 1");
}

/// E-4: the layers of a child are told, and both with and without a compiler it has them all.
#[tokio::test]
async fn a_child_without_a_compiler_runs_programs_in_its_sandbox() {
    let code = "
        const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);
        const words = 'one two three'.replace(/(\\w+) (\\w+)/, '$2 $1').split(' ');
        const bytes = new Uint8Array(1000).fill(7).reduce((sum, it) => sum + it);
        const sum = await tools.add({ a: 20, b: 22 });
        return [fib(20), words, bytes, sum, new Intl.NumberFormat('en').format(12345.6)];
    ";
    for jitless in [false, true] {
        let program = Program::isolane();
        let mut limits = RunLimits::default();
        limits.heap_bytes = 16 << 20;
        let mut options = program.options(&limits);
        (options.jitless, options.require_sandbox) = (jitless, true);
        let runtime = ProcessRuntime::new(options).unwrap();
        let host = host_on(&runtime, &limits);
        for _ in 0..2 {
            assert_eq!(
                said(&host.run(code).await),
                r#"value [6765,["two","one","three"],7000,42,"12,345.6"]"#
            );
        }
        let outcome = said(&host.run("const all = []; for (;;) all.push({})").await);
        assert!(outcome.starts_with("heap: the program used more than 16 MiB"), "{outcome}");
        let layers = runtime.layers().await.unwrap();
        assert_eq!(layers.iter().map(|report| report.layer).collect::<Vec<_>>(), Layer::ALL);
        assert!(layers.iter().all(|report| report.state.is_on()), "{layers:?}");
    }
}
