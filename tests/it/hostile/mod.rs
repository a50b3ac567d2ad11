//! The hostile suite: programs by class, each with its exact outcome (E-8).
//!
//! Owns the table's form and the check: a row is a class, a program and what comes of it, as [`said`] writes it. After
//! each hostile program the next honest one on the same host gives the right result. The classes are those of the
//! threat model: T is time, M memory, V values, L language. What the isolation in the process cannot promise is in
//! `docs/limitations.md`.

mod language;
mod memory;
mod time;
mod values;

use std::fmt::Write as _;

use isolane::limits::RunLimits;

use crate::support::{Host, Isolation, said, small_limits};

/// A class, a program, and its outcome. `{busy}` and the like stand for the messages in [`messages`].
pub(crate) type Row = (&'static str, &'static str, &'static str);

/// What small limits say.
pub(crate) fn messages(text: &str) -> String {
    let messages = [
        (
            "{busy}",
            "busy-timeout: the program executed JavaScript for more than 200 ms without finishing (time waiting for \
             tools does not count); look for a loop that never ends or an expression that takes too long",
        ),
        ("{wall}", "wall-timeout: the run took longer than 300 ms; do less in one program"),
        (
            "{heap}",
            "heap: the program used more than 32 MiB of memory; work on smaller pieces and keep only what you need",
        ),
        (
            "{buffers}",
            "heap: the program's array buffers and typed arrays used more than 8 MiB; work on smaller pieces",
        ),
        ("{listed}", "exception: RangeError: the list is too long for Intl.ListFormat; join the texts"),
        ("{stack}", "exception: RangeError: Maximum call stack size exceeded"),
        ("{long}", "exception: RangeError: Invalid string length"),
        (
            "{calls}",
            "call-limit: the program made more than 50 tool calls; do the work in fewer calls, or in several programs",
        ),
        ("{timers}", "call-limit: the program had more than 20 timers waiting at the same time"),
        (
            "{printed}",
            "output-limit: the program printed more than 2000 bytes; print a summary, or only the part you need",
        ),
        (
            "{nobody}",
            "exception: a promise was rejected and nobody handled it (write `await` before the call): ",
        ),
        ("{code}", "exception: EvalError: Code generation from strings disallowed for this context"),
    ];
    messages.iter().fold(text.to_owned(), |text, (mark, message)| text.replace(mark, message))
}

/// An honest program that notices what an earlier run could have left behind.
pub(crate) const HONEST: &str = "
    const clean = [Object.prototype, Array.prototype, Function.prototype].every((it) => !('left' in it));
    const sum = await tools.add({ a: 20, b: 22 });
    await new Promise((done) => setTimeout(done, 1));
    return { sum, clean, globals: typeof globalThis.left, json: JSON.stringify([1, { a: [] }]) };
";

pub(crate) const HONEST_OUTCOME: &str =
    r#"value {"sum":42,"clean":true,"globals":"undefined","json":"[1,{\"a\":[]}]"}"#;

/// Rows that take a moment each, with their limits: tricks, depth, values, and a few loops.
pub(crate) fn cheap() -> Vec<(RunLimits, Row)> {
    let tables = [
        (language::limits(), language::PATCHED.to_vec()),
        (memory::limits(), memory::DEEP.to_vec()),
        (values::limits(), values::exact()),
        (small_limits(), time::LOOPS[..8].to_vec()),
    ];
    let rows = |(limits, rows): (RunLimits, Vec<Row>)| rows.into_iter().map(move |row| (limits.clone(), row));
    tables.into_iter().flat_map(rows).collect()
}

async fn check(limits: RunLimits, rows: &[Row]) {
    for isolation in [Isolation::Process, Isolation::InProcess] {
        check_in(isolation, limits.clone(), rows).await;
    }
}

async fn check_in(isolation: Isolation, limits: RunLimits, rows: &[Row]) {
    let host = Host::isolated(limits, isolation);
    // The honest program is not measured: the machine may be busy.
    let mut honest_limits = host.limits.clone();
    honest_limits.busy = RunLimits::default().busy;
    honest_limits.wall = RunLimits::default().wall;
    let mut report = String::new();
    for (class, program, expected) in rows {
        let expected = messages(expected);
        let actual = said(&host.run(program).await);
        if actual != expected {
            let _ = write!(
                report,
                "\n{isolation:?} {class}: {program}\n  expected {expected}\n  actual   {actual}\n"
            );
        }
        let honest = said(&host.run_limited(HONEST, honest_limits.clone()).await);
        if honest != HONEST_OUTCOME {
            let _ = write!(
                report,
                "\n{isolation:?} {class}: {program}\n  the honest program after it: {honest}\n"
            );
        }
    }
    assert!(report.is_empty(), "{report}");
}
