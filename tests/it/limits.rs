//! Every limit of E-6 trips, and no program can keep it from doing so.
//!
//! Owns one tripping piece of program per limit, and the shapes that it is wrapped in. A limit that stops tripping
//! shows as a value, as a wrong kind, or as a run that ends by the wall limit of the test.

use std::fmt::Write as _;
use std::time::Duration;

use isolane::limits::RunLimits;
use isolane::outcome::SubCallState;
use serde_json::json;

use crate::support::{Host, said};

struct Limit {
    name: &'static str,
    /// Trips the limit; may hold `await`.
    trip: &'static str,
    /// Stays just below it.
    spare: &'static str,
    lower: fn(&mut RunLimits),
    kind: &'static str,
}

const LIMITS: &[Limit] = &[
    Limit {
        name: "busy",
        trip: "for (;;);",
        spare: "for (let i = 0; i < 1000; i++);",
        lower: |limits| limits.busy = Duration::from_millis(200),
        kind: "busy-timeout",
    },
    Limit {
        name: "busy over many short turns",
        trip: "for (;;) { for (let i = 0; i < 1e5; i++); await tools.add({ a: 1, b: 1 }) }",
        spare: "await tools.slow({ ms: 300 }); await new Promise((done) => setTimeout(done, 20))",
        lower: |limits| {
            limits.busy = Duration::from_millis(250);
            limits.sub_calls = u64::MAX;
        },
        kind: "busy-timeout",
    },
    Limit {
        name: "wall while waiting",
        trip: "await tools.slow({ ms: 60000 });",
        spare: "await tools.slow({ ms: 1 });",
        lower: |limits| limits.wall = Duration::from_millis(400),
        kind: "wall-timeout",
    },
    Limit {
        name: "wall while busy",
        trip: "for (;;);",
        spare: "",
        lower: |limits| limits.wall = Duration::from_millis(400),
        kind: "wall-timeout",
    },
    Limit {
        name: "wall while there is always something to do",
        trip: "for (;;) await tools.add({ a: 1, b: 1 });",
        spare: "await tools.add({ a: 1, b: 1 });",
        lower: |limits| {
            limits.wall = Duration::from_millis(400);
            limits.sub_calls = u64::MAX;
        },
        kind: "wall-timeout",
    },
    Limit {
        name: "heap",
        trip: "const a = []; for (;;) a.push({});",
        spare: "const a = []; for (let i = 0; i < 1e5; i++) a.push({});",
        lower: |limits| limits.heap_bytes = 32 << 20,
        kind: "heap",
    },
    Limit {
        name: "array buffers",
        trip: "const a = []; for (;;) a.push(new Uint8Array(1 << 20));",
        spare: "for (let i = 0; i < 64; i++) new Uint8Array(1 << 20);",
        lower: |limits| limits.array_buffer_bytes = 8 << 20,
        kind: "heap",
    },
    Limit {
        name: "output",
        trip: "for (;;) console.log('x'.repeat(100));",
        spare: "for (let i = 0; i < 9; i++) console.log('x'.repeat(100));",
        lower: |limits| limits.output_bytes = 1000,
        kind: "output-limit",
    },
    Limit {
        name: "sub-calls at once",
        trip: "for (;;) tools.add({ a: 1, b: 1 });",
        spare: "await Promise.all(Array.from({ length: 20 }, () => tools.add({ a: 1, b: 1 })));",
        lower: |limits| limits.sub_calls = 20,
        kind: "call-limit",
    },
    Limit {
        name: "sub-calls one by one",
        trip: "for (;;) await tools.add({ a: 1, b: 1 });",
        spare: "for (let i = 0; i < 20; i++) await tools.add({ a: 1, b: 1 });",
        lower: |limits| limits.sub_calls = 20,
        kind: "call-limit",
    },
    Limit {
        name: "arguments that wait",
        trip: "for (;;) tools.slow({ ms: 60000 });",
        spare: "for (let i = 0; i < 100; i++) await tools.slow({ ms: 0 });",
        lower: |limits| limits.queued_argument_bytes = 1_000,
        kind: "call-limit",
    },
    Limit {
        name: "timers",
        trip: "for (;;) setTimeout(() => {}, 1e6);",
        spare: "for (let i = 0; i < 20; i++) setTimeout(() => {}, 1e6);",
        lower: |limits| limits.pending_timers = 20,
        kind: "call-limit",
    },
];

/// The shapes in which a program would keep an end from being its end.
const SHAPES: &[&str] = &[
    "{TRIP}",
    "try { {TRIP} } catch (error) { return 'caught' } finally { return 'finally' }",
    "for (;;) { try { {TRIP} } catch { continue } finally { continue } }",
    "return await (async () => { {TRIP} })().catch(() => 'caught').finally(() => {})",
    "return await Promise.allSettled([(async () => { {TRIP} })()])",
    "return await Promise.race([(async () => { {TRIP} })(), new Promise((done) => setTimeout(() => done('other'), 1e6))])",
    "const g = (async function* () { try { {TRIP} yield 1 } catch { yield 'caught' } finally { yield 'finally' } })(); \
     for await (const _ of g); return await g.return('out')",
    "const f = async (n) => { try { if (n > 0) await f(n - 1); else { {TRIP} } } finally { await null } }; \
     try { await f(5) } catch { return 'caught' }",
    "setTimeout(async () => { try { {TRIP} } catch { console.debug('caught') } }, 1); await new Promise(() => {})",
];

fn host(lower: fn(&mut RunLimits)) -> Host {
    let mut limits = RunLimits::default();
    // The limits that are not meant must not trip first on a slow machine.
    limits.busy = Duration::from_secs(60);
    limits.wall = Duration::from_secs(120);
    lower(&mut limits);
    Host::with_limits(limits)
}

async fn trips_in_every_shape(limits: impl Iterator<Item = &'static Limit>) {
    let mut report = String::new();
    for Limit { name, trip, spare, lower, kind } in limits {
        let host = host(*lower);
        for shape in SHAPES {
            let program = shape.replace("{TRIP}", trip);
            let outcome = host.run(&program).await;
            let actual = outcome.result.as_ref().err().map(|failure| failure.kind.as_str());
            if actual != Some(*kind) {
                let _ = write!(report, "\n{name}: {program}\n  expected {kind}, actual {}\n", said(&outcome));
            }
            if outcome.logs.iter().any(|line| line == "caught") {
                let _ = write!(report, "\n{name}: {program}\n  was caught\n");
            }
        }
        let spared = host.run(&format!("{spare}\nreturn 'spared'")).await;
        if spared.result != Ok(Some(json!("spared"))) {
            let _ = write!(report, "\n{name}: {spare}\n  was not spared: {}\n", said(&spared));
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// E-6, E-7
#[tokio::test]
async fn time_limits_trip_in_every_shape() {
    trips_in_every_shape(LIMITS.iter().filter(|limit| limit.kind.ends_with("timeout"))).await;
}

/// E-6
#[tokio::test]
async fn memory_limits_trip_in_every_shape() {
    trips_in_every_shape(LIMITS.iter().filter(|limit| limit.kind == "heap")).await;
}

/// E-6
#[tokio::test]
async fn count_and_output_limits_trip_in_every_shape() {
    trips_in_every_shape(LIMITS.iter().filter(|limit| limit.kind.ends_with("limit"))).await;
}

/// E-6: the program's text
#[tokio::test]
async fn a_program_that_is_too_long_does_not_run() {
    let host = host(|limits| limits.program_bytes = 100);
    let long = format!("console.log(1) // {}", "x".repeat(100));
    assert_eq!(
        said(&host.run(&long).await),
        "syntax: the program has more than 100 bytes; pass large data through tools, not in the text"
    );
    assert_eq!(said(&host.run("return 1").await), "value 1");
}

/// E-6: a call's arguments. This one is an ordinary error: nothing has happened, and the program can do better.
#[tokio::test]
async fn arguments_that_are_too_large_are_never_dispatched() {
    let host = host(|limits| limits.argument_bytes = 1000);
    let outcome = host.run("await tools.echo({ text: 'x'.repeat(1000) })").await;
    let failure = outcome.result.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "exception: TypeError: args is over 1000 bytes as JSON; pass less, or split it"
    );
    assert!(outcome.sub_calls.is_empty());
    let caught = "try { await tools.echo({ text: 'x'.repeat(1000) }) } catch { return (await tools.echo({ text: 'x' })).args }";
    let outcome = host.run(caught).await;
    assert_eq!(outcome.result, Ok(Some(json!({"text": "x"}))));
    assert_eq!(outcome.sub_calls.len(), 1);
    assert_eq!(outcome.sub_calls[0].state, SubCallState::Finished);
    // Bytes count, not letters.
    let outcome = host.run("await tools.echo({ text: '\\u20ac'.repeat(400) })").await;
    assert!(outcome.result.is_err(), "{}", said(&outcome));
}

/// CM-23: a program that throws what looks like a limit has thrown, no more.
#[tokio::test]
async fn a_limit_cannot_be_faked() {
    let host = Host::new();
    for (program, expected) in [
        (
            "throw Object.assign(new Error('the program used more than 128 MiB'), { kind: 'heap' })",
            "exception: Error: the program used more than 128 MiB",
        ),
        (
            "class RunFailure extends Error { kind = 'busy-timeout'; name = 'busy-timeout' } throw new RunFailure('late')",
            "exception: busy-timeout: late",
        ),
        ("throw new ToolCallError('add', 'ABORTED', 'stop')", "exception: ToolCallError: stop"),
        ("throw 'terminated'", "exception: thrown value is not an Error: 'terminated'"),
    ] {
        assert_eq!(said(&host.run(program).await), expected, "{program}");
    }
}

/// E-6: the place where a limit found the program.
#[tokio::test]
async fn a_limit_tells_the_line_that_it_found() {
    for (lower, program) in [
        (
            (|limits| limits.busy = Duration::from_millis(200)) as fn(&mut RunLimits),
            "const a = 1;\nfor (;;);",
        ),
        (|limits| limits.heap_bytes = 32 << 20, "const a = [];\nfor (;;) a.push({})"),
        (|limits| limits.output_bytes = 1000, "let a;\nfor (;;) console.log('text')"),
        (|limits| limits.sub_calls = 5, "let a;\nfor (;;) tools.add({ a: 1, b: 1 })"),
        (|limits| limits.pending_timers = 5, "let a;\nfor (;;) setTimeout(() => {}, 1)"),
    ] {
        let failure = host(lower).run(program).await.result.unwrap_err();
        assert_eq!(failure.line, Some(2), "{program}: {failure}");
        assert!(failure.frame.is_some(), "{program}");
    }
}
