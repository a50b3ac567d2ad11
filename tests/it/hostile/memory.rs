//! M: programs that want more memory, stack or size than there is.

use std::time::Duration;

use isolane::ledger::{EventBody, LedgerEvent};
use isolane::limits::RunLimits;
use isolane::outcome::SubCallState;

use crate::hostile::{Row, check};
use crate::support::{Host, said, small_limits};

/// Small memory and much time: what grows must end by memory, however slow the machine is.
pub(super) fn limits() -> RunLimits {
    let mut limits = small_limits();
    limits.busy = Duration::from_secs(60);
    limits.wall = Duration::from_secs(120);
    limits
}

const HEAP: &[Row] = &[
    ("M1", "const a = []; for (;;) a.push({})", "{heap}"),
    ("M1", "let list = null; for (;;) list = { list, pad: [1, 2, 3] }", "{heap}"),
    ("M1", "const a = []; for (let i = 0; ; i++) a.push(`text number ${i} of many`.split(' '))", "{heap}"),
    ("M1", "const a = []; for (;;) { a.push(new Date(), /x/, new Error('x')); await null }", "{heap}"),
    ("M1", "const o = {}; for (let i = 0; ; i++) o['key' + i] = i", "{heap}"),
    (
        "M1",
        "try { const a = []; for (;;) a.push({}) } catch { return 'caught' } finally { return 'finally' }",
        "{heap}",
    ),
    ("M1", "console.log('before'); const a = []; for (;;) a.push([])", "{heap}\nlog before"),
    ("M1", "const p = []; for (;;) p.push(new Promise(() => {}))", "{heap}"),
    ("M1", "const f = async () => { await null; await f() }; await f()", "{heap}"),
    ("M2", r#"return [..."x".repeat(2 ** 27)].length"#, "{heap}"),
    ("M2", "const a = new Array(2 ** 25).fill(0); await null; return a.length", "{heap}"),
    ("M2", "return new Array(2 ** 25).fill(0).length", "{heap}"),
    (
        "M2",
        "let a = new Array(2 ** 23).fill(0); a = 1; for (let i = 0; i < 2e6; i++) a = [i]; return 'peaks count'",
        "{heap}",
    ),
    ("M2", "const s = 'x'.repeat(2 ** 27); s.charCodeAt(0); return s.length", "{heap}"),
    (
        "M2",
        "let n = 0; for (let i = 0; i < 50; i++) { n += new Array(2 ** 20).fill(i).length; await null } return n",
        "value 52428800",
    ),
    ("M2", "let a = [1]; for (;;) a = [...a, ...a]", "{heap}"),
    ("M2", "const a = []; for (;;) a.push(...new Array(10000).fill({}))", "{heap}"),
    ("M3", "let s = 'x'; for (;;) s += s", "{long}"),
    (
        "M3",
        "let s = 'x'; try { for (;;) s += s } catch (e) { return [e.name, s.length] }",
        r#"value ["RangeError",268435456]"#,
    ),
    ("M3", "'x'.repeat(2 ** 30)", "exception: RangeError: Invalid string length"),
    ("M3", "'x'.padStart(2 ** 30)", "{long}"),
    ("M3", "'x'.padEnd(2 ** 30, 'ab')", "{long}"),
    ("M3", "Array(2 ** 20).fill('x'.repeat(2 ** 12)).join('')", "{long}"),
    ("M3", "const big = 'x'.repeat(2 ** 20); return big.replaceAll('x', big)", "{long}"),
    ("M3", "let s = 'x'; for (;;) s = `${s}${s}${s}`", "{long}"),
    ("M3", "'x'.repeat(-1)", "exception: RangeError: Invalid count value: -1"),
    (
        "M3",
        "return 'x'.repeat(2 ** 28)",
        "output-limit: the program's value takes 268435458 bytes, and 1048576 of 1048576 are left for it; return a summary, or only the part you need",
    ),
    ("M3", "new URL('http://a/' + 'x'.repeat(2 ** 28))", "exception: RangeError: the text is too long"),
    (
        "M3",
        "const s = 'x'.repeat(5 * 2 ** 20), q = new URLSearchParams(); for (let i = 0; i < 150; i++) q.append('a', s); try { q.toString() } catch (e) { return [e.name, e.message, q.size] }",
        r#"value ["RangeError","the text is too long",150]"#,
    ),
    (
        "M3",
        "const q = new URLSearchParams({ a: '\u{1f600}'.repeat(2 ** 20 * 2) }); q.toString()",
        "exception: RangeError: the text is too long",
    ),
    ("M3", "return new URLSearchParams('a&'.repeat(8e6)).size", "{heap}"),
    (
        "M3",
        "const s = 'x'.repeat(1e6); s.charCodeAt(5); return structuredClone(Array(4000).fill(s)).length",
        "value 4000",
    ),
    (
        "M3",
        "const s = 'x'.repeat(1e6); s.charCodeAt(5); return structuredClone(Array.from({ length: 4000 }, () => new String(s))).length",
        "{heap}",
    ),
    ("M3", "structuredClone(new String('x'.repeat(2 ** 28)))", "exception: RangeError: the text is too long"),
    (
        "M3",
        "const e = new Error('x'.repeat(1e6)), s = e.message; s.charCodeAt(5); const all = Array.from({ length: 2000 }, () => Object.assign(new Error(), { message: s })); return structuredClone(all).length",
        "value 2000",
    ),
    ("M4", "new ArrayBuffer(1e11)", "{buffers}"),
    ("M4", "try { new ArrayBuffer(1e11) } catch { return 'caught' }", "{buffers}"),
    ("M4", "new Uint8Array(9 * 2 ** 20)", "{buffers}"),
    ("M4", "const a = []; for (;;) a.push(new Uint8Array(2 ** 20))", "{buffers}"),
    ("M4", "const a = []; for (;;) a.push(new Float64Array(1000).buffer.slice(0))", "{buffers}"),
    (
        "M4",
        "for (let i = 0; i < 200; i++) new Uint8Array(2 ** 20); return 'garbage does not count'",
        r#"value "garbage does not count""#,
    ),
    (
        "M4",
        "for (let i = 0; i < 40; i++) new TextEncoder().encode('x'.repeat(2 ** 19)); return 'garbage does not count'",
        r#"value "garbage does not count""#,
    ),
    (
        "M4",
        "new ArrayBuffer(8, { maxByteLength: 2 ** 30 })",
        "exception: TypeError: an ArrayBuffer cannot be made to grow here; make it as large as you need it",
    ),
    (
        "M4",
        "let asked = 0; const b = new ArrayBuffer(8, { get maxByteLength() { return asked++ ? 2 ** 30 : undefined } }); return [asked, b.resizable]",
        "value [1,false]",
    ),
    (
        "M4",
        "return Reflect.construct(ArrayBuffer, [8], class extends ArrayBuffer {}).resizable",
        "value false",
    ),
    ("M4", "structuredClone(new Uint8Array(5 * 2 ** 20))", "{buffers}"),
    (
        "M4",
        "const b = new Uint8Array(2 ** 20), keep = []; for (;;) keep.push(structuredClone(b))",
        "{buffers}",
    ),
    ("M4", "const keep = []; for (;;) keep.push(structuredClone(Uint8Array.of(1)))", "{heap}"),
    (
        "M4",
        "for (let i = 0; i < 60; i++) structuredClone(new Uint8Array(2 ** 20)); return 'garbage does not count'",
        r#"value "garbage does not count""#,
    ),
    ("M1", "const o = { a: [1, 2, { b: 3 }] }, keep = []; for (;;) keep.push(structuredClone(o))", "{heap}"),
    (
        "M1",
        "const a = Array.from({ length: 1e5 }, (_, i) => ({ i })), keep = []; for (;;) keep.push(structuredClone(a))",
        "{heap}",
    ),
    (
        "M5",
        "const m = new Map([[{}, new Set([1])]]), keep = []; for (;;) keep.push(structuredClone(m))",
        "{heap}",
    ),
    ("M4", "new TextEncoder().encode('x'.repeat(2 ** 28))", "{buffers}"),
    (
        "M4",
        "const b = new ArrayBuffer(2 ** 20); for (let i = 0, c = b; i < 50; i++) c = c.transfer(2 ** 20 + i); return b.detached",
        "value true",
    ),
    ("M4", "new ArrayBuffer(2 ** 20).transfer(2 ** 30)", "{buffers}"),
    ("M4", "new ArrayBuffer(-1)", "exception: RangeError: Invalid array buffer length"),
    ("M5", "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)", "{heap}"),
    ("M5", "const s = new Set(); for (let i = 0; ; i++) s.add({ i })", "{heap}"),
    (
        "M5",
        "const w = new WeakMap(), keep = []; for (;;) { const key = {}; keep.push(key); w.set(key, {}) }",
        "{heap}",
    ),
    ("M5", "const f = []; for (let i = 0; ; i++) f.push(() => i)", "{heap}"),
    ("M5", "const s = []; for (let i = 0; ; i++) s.push(Symbol.for('key' + i))", "{heap}"),
    ("M5", "const r = []; for (;;) r.push(Promise.reject(1))", "{heap}"),
    ("M6", "return [typeof WebAssembly, 'WebAssembly' in globalThis]", r#"value ["undefined",false]"#),
    (
        "M6",
        "new WebAssembly.Memory({ initial: 65536 })",
        "exception: ReferenceError: WebAssembly is not defined. `WebAssembly` does not exist in a program; it is not part of the sandbox",
    ),
    ("M7", "new Intl.ListFormat('en').format((function* () { for (;;) yield 'x' })())", "{listed}"),
    ("M7", "new Intl.ListFormat('en').formatToParts(Array(1e6).fill('x'))", "{listed}"),
    ("M7", "const s = 'x'.repeat(2 ** 20); new Intl.ListFormat('en').format([s, s])", "{listed}"),
    (
        "M7",
        "Array.prototype[Symbol.iterator] = () => { throw 1 }; return new Intl.ListFormat('en').format((function* () { yield* 'abc' })())",
        r#"value "a, b, and c""#,
    ),
    (
        "M7",
        "const f = new Intl.ListFormat('en', { type: 'disjunction' }); return [f.format(['a', 'b']), f.format(), f.formatToParts(['a']).length, f.format.name]",
        r#"value ["a or b","",1,"format"]"#,
    ),
    (
        "M7",
        "new Intl.ListFormat('en').format([1])",
        "exception: TypeError: Iterable yielded 1 which is not a string",
    ),
    (
        "M8",
        "const keep = []; for (;;) { keep.push(new Array(50).fill(0)); for (let i = 0; i < 200; i++) new Array(50).fill(i) }",
        "{heap}",
    ),
    (
        "M8",
        "const keep = []; for (let i = 0; ; i++) { keep.push('text ' + i); if (i % 1000 === 0) keep.map((it) => it + 1) }",
        "{heap}",
    ),
    ("T2", "const f = () => Promise.resolve().then(f); await f()", "{heap}"),
];

/// E-2, E-6, E-8: M1 to M8
#[tokio::test]
async fn memory_ends_at_its_limit() {
    check(limits(), HEAP).await;
}

pub(super) const DEEP: &[Row] = &[
    ("M9", "const f = () => f(); f()", "{stack}"),
    (
        "M9",
        "const f = () => f(); try { f() } catch (e) { return [e instanceof RangeError, e.constructor === RangeError] }",
        "value [true,true]",
    ),
    ("M9", "const even = (n) => odd(n), odd = (n) => even(n); even(1)", "{stack}"),
    ("M9", "const o = { get x() { return this.x } }; o.x", "{stack}"),
    ("M9", "const o = { toString() { return `${this}` } }; `${o}`", "{stack}"),
    ("M9", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", "{stack}"),
    ("M9", "const a = [2, 1]; const cmp = () => { a.slice().sort(cmp); return 1 }; a.sort(cmp)", "{stack}"),
    ("M9", "const f = async () => { await f() }; await f()", "{stack}"),
    (
        "M9",
        "const f = async () => { await f() }; try { await f() } catch (e) { return e.name }",
        r#"value "RangeError""#,
    ),
    ("M9", "class A { constructor() { new A() } } new A()", "{stack}"),
    ("M9", "function* g() { yield* g() } [...g()]", "{stack}"),
    (
        "M9",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return JSON.stringify(o).length",
        "value 600002",
    ),
    ("M9", "let o = []; for (let i = 0; i < 1e5; i++) o = [o]; return o.flat(Infinity).length", "{stack}"),
    ("M9", "let o = []; for (let i = 0; i < 1e5; i++) o = [o]; `${o}`", "{stack}"),
    (
        "M9",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return Object.keys(structuredClone(o))",
        r#"value ["o"]"#,
    ),
    ("M9", "const o = { get o() { return structuredClone(o) } }; structuredClone(o)", "{stack}"),
    (
        "M9",
        "const e = new Error('deep'); e.cause = { toString() { return `${this}` } }; throw e",
        "exception: Error: deep\ncaused by { toString: [Function: toString] }",
    ),
    ("M9", "String.fromCharCode.apply(null, new Array(5e6))", "{stack}"),
    (
        "M10",
        "let o = {}; for (let i = 0; i < 200; i++) o = { o }; return o",
        "invalid-output: result.o.o.o.o.o.o ... .o.o.o is nested more than 127 levels deep; return a flatter value",
    ),
    (
        "M10",
        "let o = []; for (let i = 0; i < 1e5; i++) o = [o]; return o",
        "invalid-output: result[0][0][0][0][0][0] ... [0][0][0] is nested more than 127 levels deep; return a flatter value",
    ),
    (
        "M10",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; await tools.echo(o)",
        "exception: TypeError: args.o.o.o.o.o.o ... .o.o.o is nested more than 127 levels deep; pass a flatter value",
    ),
    ("M10", "const text = '['.repeat(1e5) + ']'.repeat(1e5); return JSON.parse(text).length", "value 1"),
    (
        "M10",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; console.log(o)",
        "nothing\nlog { o: { o: { o: { o: { o: [Object] } } } } }",
    ),
    (
        "M10",
        "let e = new Error('0'); for (let i = 0; i < 1e5; i++) e = new Error(`${i}`, { cause: e }); throw e",
        "exception: Error: 99999\ncaused by Error: 99998\ncaused by Error: 99997\ncaused by Error: 99996",
    ),
];

/// E-2, E-8: M9, M10
#[tokio::test]
async fn depth_ends_in_errors_that_a_program_can_catch() {
    check(limits(), DEEP).await;
}

/// E-8: M10, M11. What is refused before it runs.
#[tokio::test]
async fn sources_that_are_too_deep_or_too_long_are_refused_before_they_run() {
    let mut host = Host::new();
    host.limits.program_bytes = 100_000;
    let deep = [
        format!("return {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("return {}{}", "[".repeat(10_000), "]".repeat(10_000)),
        format!("{}{}", "{".repeat(10_000), "}".repeat(10_000)),
        format!("return {}1", "!".repeat(50_000)),
        format!("return {}1", "() => ".repeat(10_000)),
        format!("return {}``{}", "`${".repeat(5_000), "}`".repeat(5_000)),
    ];
    for program in &deep {
        let outcome = host.run(program).await;
        let said = said(&outcome);
        assert!(said.starts_with("syntax: "), "{}...: {said}", &program[..40]);
    }
    let long = format!("return {}", "1 + ".repeat(30_000));
    assert_eq!(
        said(&host.run(&long).await),
        "syntax: the program has more than 100000 bytes; pass large data through tools, not in the text"
    );
    // Long but legal.
    let line = format!("const text = '{}'; return text.length", "x".repeat(90_000));
    assert_eq!(said(&host.run(&line).await), "value 90000");
    let functions: Vec<_> = (0..2_000).map(|n| format!("function f{n}() {{ return {n} }}")).collect();
    let functions = functions.join("\n");
    assert_eq!(said(&host.run(&format!("{functions}return f1999()")).await), "value 1999");
    let template = format!("return `{}`.length", "${1}".repeat(4_000));
    assert_eq!(said(&host.run(&template).await), "value 4000");
    assert_eq!(said(&host.run("return 1").await), "value 1");
}

/// E-8, CM-31: M2, V14. What a tool gives is held to the program's memory.
#[tokio::test]
async fn a_value_that_is_too_large_for_the_program_fails_its_call_alone() {
    let host = Host::with_limits(limits());
    let program = "
        const small = await tools.big({ bytes: 1000 });
        let message = '';
        try { await tools.big({ bytes: 9 * 2 ** 20 }) } catch (error) { message = `${error.code}: ${error.message}` }
        return [small.length, message, await tools.add({ a: 1, b: 2 })];
    ";
    let outcome = host.run(program).await;
    assert_eq!(
        said(&outcome),
        r#"value [1000,"INVALID_TOOL_OUTPUT: what `big` gave takes 9437186 bytes, and a program can take 8388608 at a time; ask it for less; effects of the call stand",3]"#
    );
    // The report and the ledger say what the program was told.
    assert_eq!((outcome.sub_calls[1].state, outcome.stats.failed_sub_calls), (SubCallState::Failed, 1));
    let failed =
        |event: &LedgerEvent| matches!(&event.body, EventBody::CodeDispatch(data) if data.code.is_some());
    assert_eq!(host.events().iter().filter(|event| failed(event)).count(), 1);
}
