//! What is left when a program ends or is ended, and what it must not cost (E-2, E-3, E-7).
//!
//! Owns the moments between two programs of one child, and those between the end of a program and that of its calls.

use std::fmt::Write as _;
use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::engine::ProcessRuntime;
use isolane::ledger::EventBody;
use isolane::limits::RunLimits;

use crate::boxed::{Program, host_on};
use crate::support::{Host, Isolation, said};

/// E-2, E-3: an outcome that nobody waited for comes after the end of its program, and costs the next one nothing.
#[tokio::test]
async fn what_comes_after_the_end_of_a_program_is_not_for_the_next() {
    let program = Program::isolane();
    let limits = RunLimits::default();
    let mut options = program.options(&limits);
    options.max_children = 1;
    let host = host_on(&ProcessRuntime::new(options).unwrap(), &limits);
    let racing = "
        const first = await Promise.race([tools.add({ a: 1, b: 1 }), tools.slow({ ms: 20 })]);
        const end = Date.now() + 60;
        while (Date.now() < end) {}
        return first;
    ";
    let mut children = Vec::new();
    for round in 0..5 {
        let (one, two) = tokio::join!(host.run(racing), host.run("return 3"));
        assert_eq!((said(&one).lines().next(), said(&two).as_str()), (Some("value 2"), "value 3"), "{round}");
        children.extend(program.children());
    }
    children.dedup();
    assert_eq!(children.len(), 1, "the child was not kept");
}

/// E-3: a large outcome on its way to the child and a large question on its way to the host pass each other.
#[tokio::test]
async fn a_question_and_an_outcome_that_fill_the_socket_pass_each_other() {
    let mut limits = RunLimits::default();
    limits.busy = Duration::from_secs(100);
    let host = Host::isolated(limits, Isolation::Process);
    let program = "
        const big = tools.big({ bytes: 3_000_000 });
        const end = Date.now() + 300;
        while (Date.now() < end) {}
        for (let i = 0; i < 20; i++) state.set('k', 'x'.repeat(900_000 + i));
        return [(await big).length, state.get('k').length];
    ";
    assert_eq!(said(&host.run(program).await), "value [3000000,900019]");
}

/// E-7, CM-21: once a limit has ended a program, none of its calls that wait is started any more, in either isolation.
#[tokio::test]
async fn no_call_starts_after_a_limit_has_ended_its_program() {
    let mut report = String::new();
    for isolation in [Isolation::Process, Isolation::InProcess] {
        let mut limits = RunLimits::default();
        limits.wall = Duration::from_millis(700);
        limits.busy = Duration::from_secs(100);
        limits.max_parallel_sub_calls = 1;
        let host = Host::isolated(limits, isolation);
        // The child is deaf when its time is over, and its queue is full.
        let program = "
            for (let i = 0; i < 40; i++) tools.slow({ ms: 100 });
            await tools.slow({ ms: 1 }).catch(() => {});
        ";
        let outcome = host.run(program).await;
        let events = host.events();
        let starts = || events.iter().filter(|event| matches!(event.body, EventBody::CodeDispatchStart(_)));
        let first = events.first().unwrap().time.0;
        let late = starts().filter(|event| event.time.0 > first + 900).count();
        let said = said(&outcome);
        let kind = said.split(':').next().unwrap_or_default();
        if (kind, late) != ("wall-timeout", 0) || starts().count() > 12 {
            let _ = write!(report, "\n{isolation:?}: {} starts, {late} late: {said}", starts().count());
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// E-6, M11: what prepares a program in a child ends by the wall limit too, and a text that is too long is not sent.
#[tokio::test]
async fn a_program_that_takes_long_to_prepare_in_a_child_ends_by_the_wall_limit() {
    let mut limits = RunLimits::default();
    limits.wall = Duration::from_millis(5);
    let warm = Host::isolated(RunLimits::default(), Isolation::Process);
    assert_eq!(said(&warm.run("return 1").await), "value 1");
    let large = "function f(a: number): number { return (((a as any) + 1) as any) }\n".repeat(15_000);
    let clock = SystemClock::new();
    let outcome = warm.run_limited(&large, limits).await;
    assert_eq!(said(&outcome), "wall-timeout: the run took longer than 5 ms; do less in one program");
    assert!(isolane::clock::Clock::monotonic(&clock) < Duration::from_secs(20));
    let endless = "x".repeat(3 << 20);
    let told = said(&warm.run(&endless).await);
    assert!(told.starts_with("syntax: the program has more than 1048576 bytes"), "{told}");
    assert_eq!(said(&warm.run("return 2").await), "value 2");
}
