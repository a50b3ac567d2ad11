//! T: programs that never end, or that end when it is too late.

use std::sync::Arc;
use std::time::Duration;

use isolane::outcome::SubCallState;

use crate::hostile::{Row, check, messages};
use crate::support::{Host, Lines, said, small_limits};

pub(super) const LOOPS: &[Row] = &[
    ("T1", "while (true) {}", "{busy}"),
    ("T1", "for (;;);", "{busy}"),
    ("T1", "outer: for (;;) { for (const _ of [1]) continue outer; }", "{busy}"),
    ("T1", "const f = () => { for (;;); }; [1].forEach(f)", "{busy}"),
    ("T1", "let i = 0; do { i = (i + 1) % 7 } while (i >= 0)", "{busy}"),
    ("T1", "({ get x() { for (;;); } }).x", "{busy}"),
    ("T1", "[3, 2, 1].sort(() => { for (;;); })", "{busy}"),
    (
        "T1",
        "new Proxy({}, { ownKeys() { for (;;); } }); Object.keys(new Proxy({}, { ownKeys() { for (;;); } }))",
        "{busy}",
    ),
    ("T1", "`${{ toString() { for (;;); } }}`", "{busy}"),
    ("T1", "JSON.stringify({ toJSON() { for (;;); } })", "{busy}"),
    ("T1", "return { toJSON() { for (;;); } }", "{busy}"),
    ("T1", "throw { get message() { for (;;); } }.message", "{busy}"),
    ("T1", "throw Object.defineProperty(new Error(), 'message', { get() { for (;;); } })", "{busy}"),
    ("T1", "await tools.echo({ get a() { for (;;); } })", "{busy}"),
    ("T1", "console.log(1); for (;;);", "{busy}\nlog 1"),
    ("T1", "setTimeout(() => { for (;;); }, 1); await new Promise(() => {})", "{busy}"),
    ("T1", "await tools.add({ a: 1, b: 2 }); for (;;);", "{busy}"),
    ("T1", "for (const _ of (function* () { for (;;) yield 1 })());", "{busy}"),
    ("T1", "for (const _ of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) });", "{busy}"),
    (
        "T1",
        "Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false, get value() { for (;;); } }) }) })",
        "{busy}",
    ),
    ("T1", "const o = { get a() { for (;;); } }; structuredClone([o])", "{busy}"),
    (
        "T1",
        "const a = Array.from({ length: 1000 }, (_, i) => ({ i })); for (;;) structuredClone(a)",
        "{busy}",
    ),
    ("M7", "const all = []; for (;;) all.push(new Intl.NumberFormat())", "{busy}"),
    ("M7", "for (const _ of new Intl.Segmenter().segment('x '.repeat(2 ** 20)));", "{busy}"),
    ("T2", "for (;;) await null", "{busy}"),
    ("T2", "const f = () => queueMicrotask(f); f(); await new Promise(() => {})", "{busy}"),
    ("T2", "for await (const _ of (async function* () { for (;;) yield 1 })());", "{busy}"),
    (
        "T2",
        "const f = async () => { for (;;) await f2() }, f2 = async () => 1; await Promise.all([f(), f()])",
        "{busy}",
    ),
    ("T2", "const t = { then(done) { done(t) } }; await t", "{busy}"),
    ("T4", r#"/^(a+)+$/.test("a".repeat(40) + "b")"#, "{busy}"),
    ("T4", r#""a".repeat(40).match(/^(a|a)*$(?<=b)/)"#, "{busy}"),
    ("T4", r#"("x".repeat(50000)).replace(/(x+x+)+y/, "")"#, "{busy}"),
    ("T4", r#"/(?:\s*\w+\s*)+:/.exec("a ".repeat(60))"#, "{busy}"),
    (
        "T7",
        "const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e4; i++) r.register({}, i); return 'done'",
        r#"value "done""#,
    ),
    ("T7", "const r = new WeakRef({}); await null; return typeof r.deref()", r#"value "object""#),
    ("T8", "try { for (;;); } catch { return 'caught' } finally { return 'finally' }", "{busy}"),
    ("T8", "for (;;) { try { for (;;); } catch { continue } finally { continue } }", "{busy}"),
    ("T8", "const f = () => { try { f() } finally { f() } }; f()", "{busy}"),
    (
        "T8",
        "const g = (async function* () { try { for (;;) yield 1 } finally { for (;;); } })(); await g.next(); await g.return(1)",
        "{busy}",
    ),
    (
        "T8",
        "const g = (async function* () { for (;;) { try { for (;;); } finally { yield 1 } } })(); g.next(); return await g.return('out')",
        "{busy}",
    ),
    (
        "T8",
        "return await (async () => { for (;;); })().catch(() => 'caught').finally(() => 'finally')",
        "{busy}",
    ),
    ("T8", "return await Promise.race([(async () => { for (;;); })(), 'won'])", "{busy}"),
    ("T8", "try { new Proxy({}, { get() { for (;;); } }).x } catch { return 'caught' }", "{busy}"),
    ("T8", "setTimeout(() => { throw 1 }, 1); try { for (;;); } catch { }", "{busy}"),
    (
        "T8",
        "globalThis.process = { on() {} }; globalThis.onerror = globalThis.onterminate = () => true; for (;;);",
        "{busy}",
    ),
];

/// E-2, E-7, E-8: T1, T2, T4, T7, T8, M7
#[tokio::test]
async fn programs_that_never_end_are_ended() {
    check(small_limits(), LOOPS).await;
}

const DEADLOCK: &str = "promise that nothing will ever settle: no tool call and no timer is pending";

const WAITS: &[Row] = &[
    ("T5", "setInterval(() => {}, 0); await new Promise(() => {})", "{wall}"),
    ("T5", "const f = () => setTimeout(f, 0); f(); await new Promise(() => {})", "{wall}"),
    (
        "T5",
        "for (let i = 0; i < 500; i++) clearTimeout(setTimeout(() => {}, 1e9)); return 'ok'",
        r#"value "ok""#,
    ),
    (
        "T5",
        "setTimeout(() => console.log('late'), 1e300); return 1",
        "value 1\nnote 1 timer was still waiting when the program ended, and what it would have done did not happen; await a promise that the timer settles",
    ),
    (
        "T5",
        "for (const ms of [-5, NaN, undefined, null, '1', -Infinity, { valueOf: () => 1 }]) await new Promise((done) => setTimeout(done, ms)); return 1",
        "value 1",
    ),
    ("T5", "await new Promise((done) => setTimeout(done, Infinity))", "{wall}"),
    (
        "T5",
        "setTimeout(() => console.log('late'), 1); return 1",
        "value 1\nnote 1 timer was still waiting when the program ended, and what it would have done did not happen; await a promise that the timer settles",
    ),
    (
        "T5",
        "setTimeout(() => { throw new Error('in a timer') }, 1); await new Promise(() => {})",
        "exception: Error: in a timer",
    ),
    (
        "T5",
        "setTimeout(async () => { throw new Error('later') }, 1); await new Promise((done) => setTimeout(done, 5)); return 1",
        "{nobody}Error: later",
    ),
    (
        "T9",
        "await tools.slow({ ms: 60000 })",
        "{wall}\nnote the program had no outcome yet of 1 tool call when the run ended: slow (aborted after it had started, effects may have happened)",
    ),
    (
        "T9",
        "try { await tools.slow({ ms: 60000 }) } catch { return 'caught' } finally { return 'finally' }",
        "{wall}\nnote the program had no outcome yet of 1 tool call when the run ended: slow (aborted after it had started, effects may have happened)",
    ),
];

const TIMERS: &[Row] = &[
    ("T5", "for (;;) setTimeout(() => {}, 0)", "{timers}"),
    ("T5", "for (;;) setInterval(() => {}, 1e9)", "{timers}"),
    ("T5", "for (;;) AbortSignal.timeout(1e9)", "{timers}"),
];

/// E-6, E-8: T5
#[tokio::test]
async fn timers_are_counted() {
    let mut limits = small_limits();
    limits.busy = Duration::from_secs(10);
    limits.pending_timers = 20;
    check(limits, TIMERS).await;
}

/// E-2, E-6, E-8: T5, T9
#[tokio::test]
async fn waits_end_by_the_wall_limit() {
    let mut limits = small_limits();
    limits.wall = Duration::from_millis(300);
    limits.busy = Duration::from_secs(10);
    check(limits, WAITS).await;
}

/// CM-24, E-8: T6
#[tokio::test]
async fn a_wait_that_can_never_end_is_a_deadlock_at_once() {
    let host = Host::new();
    for program in [
        "await new Promise(() => {})",
        "await { then() {} }",
        "let b; const a = (async () => { await null; await b })(); b = (async () => { await a })(); await a",
        "await Promise.race([])",
        "await Promise.all([new Promise(() => {}), tools.add({ a: 1, b: 2 })])",
        "const t = setTimeout(() => {}, 1e9); clearTimeout(t); await new Promise(() => {})",
        "try { await new Promise(() => {}) } catch { return 1 } finally { return 2 }",
        "for await (const _ of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });",
    ] {
        let outcome = host.run(program).await;
        let said = said(&outcome);
        assert!(said.starts_with("deadlock: the program waits"), "{program}: {said}");
        assert!(said.contains(DEADLOCK), "{program}: {said}");
        assert!(outcome.stats.wall_ms < 5_000, "{program} took {} ms", outcome.stats.wall_ms);
    }
}

/// CM-24: the line is named where it is certain; else the lines that it may be.
#[tokio::test]
async fn a_deadlock_names_its_line_or_those_it_may_be() {
    let host = Host::new();
    let one = "const p = new Promise(() => {});\nconst sum = await tools.add({ a: 1, b: 2 });\n\nawait p;";
    let failure = host.run(one).await.result.unwrap_err();
    assert_eq!((failure.line, failure.column), (Some(4), Some(1)), "{failure:?}");
    assert!(failure.frame.is_some() && failure.message.contains(" at line 4 "), "{failure:?}");
    let several = "const p = new Promise(() => {});\nconst helper = async () => 1;\n\n\nawait helper();\n\nawait Promise.all([p, helper()]);";
    let failure = host.run(several).await.result.unwrap_err();
    assert_eq!((failure.line, failure.column, failure.frame), (None, None, None));
    assert!(failure.message.contains(" at one of the lines 5, 7 "), "{}", failure.message);
    let same = "const p = new Promise(() => {});\nawait null; await p;";
    let failure = host.run(same).await.result.unwrap_err();
    assert_eq!((failure.line, failure.column), (Some(2), None), "{failure:?}");
}

/// E-7, E-8: T3. Whatever the built-in, the run ends at its limit and the next one is served.
#[tokio::test]
async fn the_known_built_ins_that_do_not_listen_end_their_runs() {
    let rows: Vec<Row> = [
        "Array.prototype.lastIndexOf.call({ length: 6e7 }, 1)",
        "Array.prototype.copyWithin.call({ length: 2e7 }, 0, 1)",
        "Array.prototype.join.call({ length: 2e7 }, '')",
        "Array.prototype.fill.call({ length: 2e7, set 0(_) {} }, 0, 1)",
        "const a = new Float64Array(2 ** 19); for (;;) { for (let i = 0; i < a.length; i++) a[i] = -i; a.sort() }",
        "const a = new Uint8Array(2 ** 22); for (;;) a.fill(1)",
        "for (;;) 'x'.repeat(2 ** 20).split('')",
        "for (;;) '\u{fb01}'.repeat(2 ** 20).normalize('NFKC')",
        "for (;;) Array.from({ length: 1e5 })",
        "for (;;) Math.max.apply(null, new Array(5e4))",
    ]
    .map(|program| ("T3", program, "{busy}"))
    .into();
    check(small_limits(), &rows).await;
}

/// E-7, E-8: T3. A built-in that never looks up keeps its thread; the run ends all the same.
#[tokio::test]
async fn a_built_in_that_does_not_listen_is_given_up() {
    let lines = Arc::new(Lines::default());
    let mut host = Host::with_limits(small_limits());
    host.logs = Some(Arc::clone(&lines) as _);
    // Long enough to outlast limit and grace many times, short enough to come back by itself.
    let program = "console.log('before'); await tools.add({ a: 1, b: 1 }); \
                   Array.prototype.reverse.call({ length: 2e8, 0: 1 }); console.log('after'); return 1";
    let outcome = host.run(program).await;
    assert_eq!(said(&outcome), messages("{busy}\nlog before"));
    assert!(matches!(host.lost_threads(), None | Some(1)));
    assert_eq!(outcome.sub_calls.len(), 1);
    assert_eq!(outcome.sub_calls[0].state, SubCallState::Finished);
    assert!(outcome.stats.busy_ms >= 200);
    // The thread is still busy; the next run has another one.
    host.limits.busy = Duration::from_secs(10);
    assert_eq!(said(&host.run("return await tools.add({ a: 1, b: 2 })").await), "value 3");
    let texts: Vec<_> = lines.take().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["before"]);
}
