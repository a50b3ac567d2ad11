//! Each limit of E-6 trips where it is low, and the same program passes where it is higher.
//!
//! Owns a table of programs that end by themselves, so that a limit that has stopped tripping shows as the value; and the
//! limits that a host holds from outside, whatever its child does. The shapes in which a program would keep a limit from
//! tripping are in `limits.rs` beside.

use std::fmt::Write as _;
use std::time::Duration;

use isolane::engine::ProcessRuntime;
use isolane::limits::RunLimits;

use crate::boxed::host_on;
use crate::boxed::liar::forged;
use crate::support::{Host, Isolation, child_options, said};

struct Limit {
    program: &'static str,
    low: fn(&mut RunLimits),
    /// What comes of it then, as [`said`] begins.
    trips: &'static str,
    high: fn(&mut RunLimits),
    /// What comes of it then.
    passes: &'static str,
}

const LIMITS: &[Limit] = &[
    Limit {
        program: "const end = Date.now() + 600; while (Date.now() < end); return 'done'",
        low: |limits| limits.busy = Duration::from_millis(100),
        trips: "busy-timeout: the program executed JavaScript for more than 100 ms without finishing (time waiting for \
                tools does not count); look for a loop that never ends or an expression that takes too long",
        high: |limits| limits.busy = Duration::from_secs(100),
        passes: r#"value "done""#,
    },
    Limit {
        program: "await tools.slow({ ms: 1500 }); return 'done'",
        low: |limits| limits.wall = Duration::from_millis(300),
        trips: "wall-timeout: the run took longer than 300 ms; do less in one program",
        high: |limits| limits.wall = Duration::from_secs(200),
        passes: r#"value "done""#,
    },
    Limit {
        program: "const all = []; for (let i = 0; i < 1e6; i++) all.push({ i }); return all.length",
        low: |limits| limits.heap_bytes = 16 << 20,
        trips: "heap: the program used more than 16 MiB of memory; work on smaller pieces and keep only what you need",
        high: |limits| limits.heap_bytes = 200 << 20,
        passes: "value 1000000",
    },
    Limit {
        program: "return new Uint8Array(9 * 2 ** 20).length",
        low: |limits| limits.array_buffer_bytes = 8 << 20,
        trips: "heap: the program's array buffers and typed arrays used more than 8 MiB; work on smaller pieces",
        high: |limits| limits.array_buffer_bytes = 10 << 20,
        passes: "value 9437184",
    },
    Limit {
        program: "console.log('x'.repeat(2000))",
        low: |limits| limits.output_bytes = 2000,
        trips: "output-limit: the program printed more than 2000 bytes; print a summary, or only the part you need",
        high: |limits| limits.output_bytes = 2001,
        passes: "nothing",
    },
    Limit {
        program: "return [1, 2, 3]",
        low: |limits| limits.output_bytes = 6,
        trips: "output-limit: the program's value takes 7 bytes, and 6 of 6 are left for it; return a summary, or only the \
                part you need",
        high: |limits| limits.output_bytes = 7,
        passes: "value [1,2,3]",
    },
    Limit {
        program: "for (let i = 0; i < 21; i++) await tools.add({ a: 1, b: 1 }); return 'done'",
        low: |limits| limits.sub_calls = 20,
        trips: "call-limit: the program made more than 20 tool calls; do the work in fewer calls, or in several programs",
        high: |limits| limits.sub_calls = 21,
        passes: r#"value "done""#,
    },
    Limit {
        program: "const text = 'x'.repeat(400_000); \
                  const all = [tools.slow({ ms: 1000 }), ...[1, 2, 3].map(() => tools.echo({ text }))]; \
                  return (await Promise.all(all)).length",
        low: |limits| (limits.queued_argument_bytes, limits.max_parallel_sub_calls) = (1 << 20, 1),
        trips: "call-limit: the program made calls with more than 1 MiB of arguments that nobody had taken yet; await some \
                calls before making more",
        high: |limits| (limits.queued_argument_bytes, limits.max_parallel_sub_calls) = (2 << 20, 1),
        passes: "value 4",
    },
    Limit {
        program: "await Promise.all(Array.from({ length: 21 }, () => new Promise((done) => setTimeout(done, 1)))); return 1",
        low: |limits| limits.pending_timers = 20,
        trips: "call-limit: the program had more than 20 timers waiting at the same time",
        high: |limits| limits.pending_timers = 21,
        passes: "value 1",
    },
    Limit {
        program: "return 1 // and more",
        low: |limits| limits.program_bytes = 19,
        trips: "syntax: the program has more than 19 bytes; pass large data through tools, not in the text",
        high: |limits| limits.program_bytes = 20,
        passes: "value 1",
    },
    Limit {
        program: "await tools.echo({ text: 'x'.repeat(90) }); return 1",
        low: |limits| limits.argument_bytes = 100,
        trips: "exception: TypeError: args is over 100 bytes as JSON; pass less, or split it",
        high: |limits| limits.argument_bytes = 101,
        passes: "value 1",
    },
    Limit {
        program: "state.set('k', 'x'.repeat(65)); return 1",
        low: |limits| limits.state_bytes = 99,
        trips: "exception: RangeError: state would take 100 bytes, and a session may keep 99; keep less, or delete keys that \
                are not needed any more (each key costs 32 bytes beside its name and its value as JSON)",
        high: |limits| limits.state_bytes = 100,
        passes: "value 1",
    },
    Limit {
        program: "return (await tools.big({ bytes: 5 * 2 ** 20 })).length",
        low: |limits| limits.heap_bytes = 16 << 20,
        trips: "exception: ToolCallError (big, INVALID_TOOL_OUTPUT): what `big` gave takes 5242882 bytes, and a program can \
                take 4194304 at a time; ask it for less",
        high: |limits| limits.heap_bytes = 64 << 20,
        passes: "value 5242880",
    },
];

/// The limits that are not meant must not trip first on a busy machine.
fn limits(set: fn(&mut RunLimits)) -> RunLimits {
    let mut limits = RunLimits::default();
    limits.busy = Duration::from_secs(100);
    limits.wall = Duration::from_secs(200);
    set(&mut limits);
    limits
}

/// E-6
#[tokio::test]
async fn the_same_program_trips_a_low_limit_and_passes_a_high_one() {
    let mut report = String::new();
    for isolation in [Isolation::Process, Isolation::InProcess] {
        for Limit { program, low, trips, high, passes } in LIMITS {
            let tripped = said(&Host::isolated(limits(*low), isolation).run(program).await);
            if !tripped.starts_with(trips) {
                let _ = write!(
                    report,
                    "\n{isolation:?}, low: {program}\n  expected {trips}\n  actual   {tripped}\n"
                );
            }
            let passed = said(&Host::isolated(limits(*high), isolation).run(program).await);
            if passed.lines().next() != Some(passes) {
                let _ = write!(
                    report,
                    "\n{isolation:?}, high: {program}\n  expected {passes}\n  actual   {passed}\n"
                );
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// E-6: what a child has in memory, whatever for. Its isolate's own limits do not speak of all of it.
#[tokio::test]
async fn the_memory_of_a_child_is_held_from_outside() {
    let limits = limits(|limits| limits.array_buffer_bytes = 300 << 20);
    let program = "const keep = new Uint8Array(250 * 2 ** 20).fill(1); await tools.slow({ ms: 1000 }); return keep.length";
    for (resident, expected) in [
        (
            200,
            "heap: the program used more than 200 MiB of memory in all; work on smaller pieces and keep only what you need",
        ),
        (2000, "value 262144000"),
    ] {
        let mut options = child_options(&limits);
        options.resident_bytes = resident << 20;
        let host = host_on(&ProcessRuntime::new(options).unwrap(), &limits);
        let said = said(&host.run(program).await);
        assert_eq!(said.lines().next(), Some(expected));
    }
}

/// E-6, E-7: a child without a watchdog of its own is held to its time and its memory all the same.
#[tokio::test]
async fn a_child_that_holds_no_limit_is_held_to_them() {
    let mut limits = limits(|_| {});
    limits.busy = Duration::from_millis(200);
    for (part, expected) in [
        ("spins", "busy-timeout: the program executed JavaScript for more than 200 ms without finishing"),
        (
            "grows",
            "heap: the program used more than 512 MiB of memory in all; work on smaller pieces and keep only what you need",
        ),
    ] {
        let program = forged(part);
        let host = host_on(&program.runtime(&limits), &limits);
        let said = said(&host.run("return 1").await);
        assert!(said.starts_with(expected), "{part}: {said}");
        program.wait(|children| children.len() <= 1);
    }
}

/// E-3, E-8: V11, V16. Neither side waits for the other when both have more to say than a socket holds.
#[tokio::test]
async fn large_calls_and_large_outcomes_pass_each_other() {
    let limits = limits(|limits| limits.queued_argument_bytes = 100 << 20);
    let host = Host::with_limits(limits);
    let program = "
        const text = 'x'.repeat(1_000_000);
        const all = await Promise.all(Array.from({ length: 12 }, () => tools.echo({ text })));
        return all.every((it) => it.args.text === text);
    ";
    assert_eq!(said(&host.run(program).await), "value true");
}
