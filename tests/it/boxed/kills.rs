//! Children and hosts that are killed at the worst moment (E-3, E-4).
//!
//! Owns the moments: a call that runs, a loop, a wait, a start, a child that waits, and the end of the host itself. The
//! run that it hits has a typed end with settled calls, the next one is right, and no process is left.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::codemode::{LogLevel, LogSink};
use isolane::engine::ProcessRuntime;
use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use isolane::outcome::SubCallState;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::Notify;

use crate::boxed::{Program, children, host_on, wait_for_host, wait_until};
use crate::support::{Host, said};

const KILLED: &str = "engine-exit: the engine failed: the process that ran the program was ended by signal 9; running the \
                      program again may help";

/// Kills the children of a program when a line is printed, as a system does that is out of memory.
struct KillOnLine {
    program: Arc<Program>,
    killed: Mutex<Vec<Pid>>,
}

impl LogSink for KillOnLine {
    fn line(&self, _level: LogLevel, _text: &str) {
        let pids = self.program.children();
        for pid in &pids {
            kill_process(*pid, Signal::KILL).unwrap();
        }
        self.killed.lock().unwrap().extend(pids);
    }
}

fn killing(host: &mut Host, program: &Arc<Program>) -> Arc<KillOnLine> {
    let kills = Arc::new(KillOnLine { program: Arc::clone(program), killed: Mutex::default() });
    host.logs = Some(Arc::clone(&kills) as Arc<dyn LogSink>);
    kills
}

/// E-3, L-5: whatever a program is at, the kill of its child is the typed end of this one run, with its lines and its
/// calls, and the pool has another child for the next.
#[tokio::test]
async fn a_child_that_is_killed_fails_its_run_alone() {
    let program = Arc::new(Program::isolane());
    let limits = RunLimits::default();
    let runtime = program.runtime(&limits);
    for at in [
        "for (;;);",
        "await new Promise((done) => setTimeout(done, 600_000));",
        "await tools.slow({ ms: 600_000 });",
        "await Promise.all(Array.from({ length: 50 }, () => tools.slow({ ms: 600_000 })));",
        "const all = []; for (;;) { all.push(tools.add({ a: 1, b: 2 })); await null }",
    ] {
        let mut host = host_on(&runtime, &limits);
        let kills = killing(&mut host, &program);
        let code = format!(
            "state.set('kept', 1); state.commit(); state.set('lost', 1);
             const sum = await tools.add({{ a: 20, b: 22 }});
             console.log(sum);
             {at}"
        );
        let outcome = host.run(&code).await;
        let text = said(&outcome);
        let failure = outcome.result.as_ref().unwrap_err();
        assert_eq!(failure.to_string(), KILLED, "{at}: {text}");
        assert_eq!(outcome.logs, ["42"], "{at}");
        assert_eq!(outcome.sub_calls[0].state, SubCallState::Finished, "{at}");
        assert!(outcome.sub_calls[0].delivered, "{at}");
        for call in &outcome.sub_calls {
            assert_ne!(call.state, SubCallState::Unknown, "{at}: {call:?}");
        }
        assert_eq!(isolane::ledger::unsettled(&host.events()).len(), 0, "{at}");
        // What was committed has been kept, and what was not is gone.
        assert_eq!(host.state.keys(), ["kept"], "{at}");
        let puts = host.events().iter().filter(|event| matches!(event.body, EventBody::StatePut(_))).count();
        assert_eq!(puts, 1, "{at}");
        host.logs = None;
        // A warm one was hit as well, and is not to be taken for alive.
        let killed = std::mem::take(&mut *kills.killed.lock().unwrap());
        wait_for_host(&killed);
        assert_eq!(said(&host.run("return state.keys()").await), r#"value ["kept"]"#, "{at}");
    }
}

/// E-3: a call that its program's end found at work is told to stop and said to have been aborted, and one that waited
/// for its turn never started.
#[tokio::test]
async fn calls_of_a_killed_child_are_settled() {
    let program = Arc::new(Program::isolane());
    let mut limits = RunLimits::default();
    limits.max_parallel_sub_calls = 2;
    let mut host = host_on(&program.runtime(&limits), &limits);
    killing(&mut host, &program);
    let code = "
        const calls = [1, 2, 3, 4].map(() => tools.slow({ ms: 600_000 }));
        await new Promise((done) => setTimeout(done, 50));
        console.log('.');
        await Promise.all(calls);
    ";
    let outcome = host.run(code).await;
    assert_eq!(outcome.result.as_ref().unwrap_err().to_string(), KILLED);
    let states: Vec<_> = outcome.sub_calls.iter().map(|call| call.state).collect();
    let (aborted, waiting) = (SubCallState::Aborted, SubCallState::NotStarted);
    assert_eq!(states, [aborted, aborted, waiting, waiting]);
    assert!(outcome.sub_calls.iter().all(|call| !call.delivered));
}

/// Says that a line was printed.
#[derive(Default)]
struct Told(Notify);

impl LogSink for Told {
    fn line(&self, _level: LogLevel, _text: &str) {
        self.0.notify_one();
    }
}

/// E-3: other runs of the same runtime do not notice.
#[tokio::test]
async fn the_kill_of_one_child_is_not_that_of_another() {
    let program = Program::isolane();
    let limits = RunLimits::default();
    let mut options = program.options(&limits);
    options.warm = 0;
    let runtime = ProcessRuntime::new(options).unwrap();
    let (mut hit, mut other) = (host_on(&runtime, &limits), host_on(&runtime, &limits));
    let (hit_begun, other_begun) = (Arc::new(Told::default()), Arc::new(Told::default()));
    hit.logs = Some(Arc::clone(&hit_begun) as Arc<dyn LogSink>);
    other.logs = Some(Arc::clone(&other_begun) as Arc<dyn LogSink>);
    let hit = hit.run("console.log('.'); await new Promise((done) => setTimeout(done, 600_000))");
    let others = async {
        hit_begun.0.notified().await;
        // There is no other child yet.
        let victim = program.children();
        assert_eq!(victim.len(), 1);
        let kill = async {
            other_begun.0.notified().await;
            kill_process(victim[0], Signal::KILL).unwrap();
        };
        let run = other
            .run("console.log('.'); await tools.slow({ ms: 200 }); return await tools.add({ a: 1, b: 2 })");
        tokio::join!(run, kill).0
    };
    let (hit, other) = tokio::join!(hit, others);
    assert_eq!(said(&hit), format!("{KILLED}\nlog ."));
    assert_eq!(said(&other), "value 3\nlog .");
}

/// E-3: killed as it starts, a child fails at most the run that waits for it.
#[tokio::test]
async fn a_child_that_is_killed_as_it_starts_is_started_again() {
    let program = Program::isolane();
    let limits = RunLimits::default();
    for _ in 0..5 {
        let runtime = program.runtime(&limits);
        // The warm one is on its way.
        let started = program.wait(|children| !children.is_empty());
        Program::kill(&started);
        let host = host_on(&runtime, &limits);
        assert_eq!(said(&host.run("return 1").await), "value 1");
    }
}

/// E-2, E-3: killed while they wait, children are not given a program.
#[tokio::test]
async fn children_that_are_killed_while_they_wait_are_not_missed() {
    let program = Program::isolane();
    let limits = RunLimits::default();
    let mut options = program.options(&limits);
    options.warm = 5;
    let runtime = ProcessRuntime::new(options).unwrap();
    let host = host_on(&runtime, &limits);
    for _ in 0..2 {
        let warm = program.wait(|children| children.len() >= 5);
        assert!(runtime.layers().await.is_ok());
        assert_eq!(said(&host.run("return 1").await), "value 1");
        Program::kill(&warm);
        assert_eq!(said(&host.run("return 2").await), "value 2");
    }
    drop((host, runtime));
    program.wait(<[_]>::is_empty);
}

/// Starts the built program on code that prints a line and goes on; gives it and its child once the line is there.
fn host_process(code: &str) -> (Child, Vec<u32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolane"));
    command.args(["run", "--busy-timeout", "10m", "--timeout", "10m", "-e", code]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut host = command.spawn().unwrap();
    host.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let boxed = children(host.id());
    assert!(!boxed.is_empty());
    (host, boxed)
}

/// Whether a process has ended; nobody may have asked how.
fn is_gone(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// E-4: a host that is killed takes its children along, whatever they are at.
#[test]
fn a_killed_host_leaves_no_child() {
    for at in
        ["for (;;);", "await new Promise((done) => setTimeout(done, 600_000))", "for (;;) await tools.list()"]
    {
        let (mut host, boxed) = host_process(&format!("console.log('.'); {at}"));
        host.kill().unwrap();
        host.wait().unwrap();
        for pid in boxed {
            assert!(wait_until(|| is_gone(pid)), "{at}: {pid} is still there");
        }
    }
}

/// E-4: so does one that is stopped by a signal that it heeds.
#[test]
fn a_stopped_host_leaves_no_child() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut host, boxed) = host_process("console.log('.'); for (;;);");
        // Whoever reads its output is gone as well.
        drop((host.stdin.take(), host.stdout.take()));
        kill_process(Pid::from_child(&host), signal).unwrap();
        assert_eq!(host.wait().unwrap().code(), Some(128 + signal.as_raw()));
        for pid in boxed {
            assert!(wait_until(|| is_gone(pid)), "{pid} is still there");
        }
    }
}

/// E-3, P-13: a run that was cancelled and whose child does not heed it has ended within its grace, and so has the child.
#[tokio::test]
async fn a_child_that_is_stopped_cannot_stay() {
    let program = Arc::new(Program::isolane());
    let limits = RunLimits::default();
    let runtime = program.runtime(&limits);
    let mut host = host_on(&runtime, &limits);
    host.logs = Some(Arc::new(StopOnLine(Arc::clone(&program), host.cancel.clone())));
    let outcome = host.run("console.log('.'); await new Promise(() => setTimeout(() => {}, 600_000))").await;
    assert_eq!(said(&outcome), "abort: the run was cancelled\nlog .");
    // So did the warm one, which a run that takes it would wait for.
    drop((host, runtime));
    program.wait(<[_]>::is_empty);
}

/// Has the system halt the children, and cancels: they hear nothing of it.
struct StopOnLine(Arc<Program>, tokio_util::sync::CancellationToken);

impl LogSink for StopOnLine {
    fn line(&self, _level: LogLevel, _text: &str) {
        for pid in self.0.children() {
            kill_process(pid, Signal::STOP).unwrap();
        }
        self.1.cancel();
    }
}

/// E-6: a child that the system halts ends with its time.
#[tokio::test]
async fn a_child_that_stands_still_ends_by_the_wall_limit() {
    let program = Arc::new(Program::isolane());
    let mut limits = RunLimits::default();
    limits.wall = Duration::from_secs(2);
    let mut host = host_on(&program.runtime(&limits), &limits);
    host.logs = Some(Arc::new(StopOnLine(Arc::clone(&program), tokio_util::sync::CancellationToken::new())));
    let outcome = host.run("console.log('.'); for (;;);").await;
    assert_eq!(said(&outcome), "wall-timeout: the run took longer than 2 s; do less in one program\nlog .");
    program.wait(|children| children.len() <= 1);
}
