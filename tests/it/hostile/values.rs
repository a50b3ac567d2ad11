//! V: calls, values across the boundary, and output.

use std::time::Duration;

use isolane::limits::RunLimits;
use isolane::outcome::SubCallState;
use serde_json::json;

use crate::hostile::{Row, check, messages};
use crate::support::{Host, said, small_limits};

pub(super) fn limits() -> RunLimits {
    let mut limits = small_limits();
    limits.busy = Duration::from_secs(20);
    limits.sub_calls = 50;
    limits.output_bytes = 2000;
    limits
}

const CALLS: &[Row] = &[
    (
        "V1",
        "tools.add({ a: 1, b: 2 }); return 1",
        "value 1\nnote 1 tool call was not awaited when the program ended: add (never started, nothing happened). Write `await` before the call, or await it with Promise.all",
    ),
    (
        "V1",
        "tools.slow({ ms: 60000 }); await tools.add({ a: 1, b: 2 }); return 1",
        "value 1\nnote 1 tool call was not awaited when the program ended: slow (aborted after it had started, effects may have happened). Write `await` before the call, or await it with Promise.all",
    ),
    (
        "V1",
        "tools.fail({ message: 'disk full' }); await tools.add({ a: 1, b: 2 }); return 1",
        "{nobody}ToolCallError (fail, TOOL_FAILED): disk full",
    ),
    ("V2", "Promise.reject(new Error('x')); return 1", "{nobody}Error: x"),
    ("V2", "Promise.reject(undefined); return 1", "{nobody}thrown value is not an Error: undefined"),
    (
        "V2",
        "(async () => { for (let i = 0; i < 9; i++) await null; throw new Error('late') })(); return 1",
        "value 1\nnote a promise was rejected at line 1 after the program had returned, and nobody handled it; await it before you return, or catch it: Error: late",
    ),
    (
        "V2",
        "(async () => { for (let i = 0; i < 9; i++) await null; Promise.reject(1); throw 'late' })(); return 1",
        "value 1\nnote a promise was rejected at line 1 after the program had returned, and 1 more after it, and nobody handled it; await it before you return, or catch it: thrown value is not an Error: 1",
    ),
    (
        "V2",
        "(async () => { await null; throw new Error('early') })(); for (let i = 0; i < 9; i++) await null; return 1",
        "{nobody}Error: early",
    ),
    (
        "V2",
        "Promise.reject(new Error('early')); (async () => { for (let i = 0; i < 9; i++) await null; throw new Error('late') })(); return 1",
        "{nobody}Error: early",
    ),
    (
        "V2",
        "const p = (async () => { for (let i = 0; i < 9; i++) await null; throw new Error('late') })(); (async () => { for (let i = 0; i < 20; i++) await null; p.catch(() => {}) })(); return 1",
        "value 1",
    ),
    (
        "V2",
        "(async () => { for (let i = 0; i < 9; i++) await null; throw { toString() { for (;;); } } })(); return 1",
        "value 1\nnote a promise was rejected at line 1 after the program had returned, and nobody handled it; await it before you return, or catch it: thrown value is not an Error: { toString: [Function: toString] }",
    ),
    (
        "V2",
        "return { get a() { Promise.reject(new Error('while it is read')); return 1 } }",
        "value {\"a\":1}\nnote a promise was rejected at line 1 after the program had returned, and nobody handled it; await it before you return, or catch it: Error: while it is read",
    ),
    (
        "V2",
        "(async () => { for (let i = 0; i < 9; i++) await null; for (let i = 0; i < 20000; i++) Promise.reject(i) })(); return 1",
        "value 1\nnote a promise was rejected at line 1 after the program had returned, and 19999 more after it, and nobody handled it; await it before you return, or catch it: thrown value is not an Error: 0",
    ),
    (
        "V2",
        "Promise.reject(1).finally(() => {}); await null; await null; await null; return 1",
        "{nobody}thrown value is not an Error: 1",
    ),
    (
        "V2",
        "const p = Promise.reject(1); await tools.add({ a: 1, b: 2 }); try { await p } catch { return 'late' }",
        r#"value "late""#,
    ),
    ("V2", "for (let i = 0; i < 20000; i++) Promise.reject(i).catch(() => {}); return 1", "value 1"),
    (
        "V2",
        "const p = []; for (let i = 0; i < 20000; i++) p.push(Promise.reject(i)); await Promise.allSettled(p); return 1",
        "value 1",
    ),
    (
        "V2",
        "const p = []; for (let i = 0; i < 20000; i++) p.push(Promise.reject(i)); await Promise.allSettled(p.slice(0, 10000)); return 1",
        "exception: 10000 promises were rejected and nobody handled them",
    ),
    (
        "V2",
        "globalThis.onunhandledrejection = () => true; Promise.reject(1); return 1",
        "{nobody}thrown value is not an Error: 1",
    ),
    (
        "V2",
        "Promise.reject({ get message() { for (;;); }, toString() { throw 1 } }); return 1",
        "{nobody}thrown value is not an Error: { message: [Getter], toString: [Function: toString] }",
    ),
    (
        "V2",
        "(async () => { throw Object.create(null) })(); return 1",
        "{nobody}thrown value is not an Error: [Object: null prototype] {}",
    ),
    ("V3", "throw undefined", "exception: thrown value is not an Error: undefined"),
    ("V3", "throw Object.assign(new Error('m'), { name: Symbol('n') })", "exception: Error: m"),
    (
        "V3",
        "throw new Proxy(new Error('x'), { get() { throw 1 } })",
        "exception: thrown value is not an Error: [Proxy]",
    ),
    (
        "V3",
        "const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy",
        "exception: thrown value is not an Error: [Proxy]",
    ),
    (
        "V3",
        "throw Object.defineProperty(new Error('x'), 'stack', { get() { throw 1 } })",
        "exception: Error: x",
    ),
    ("V3", "const e = new Error('x'); e.cause = e; throw e", "exception: Error: x\ncaused by itself"),
    ("V3", "throw Object.freeze(new TypeError('cold'))", "exception: TypeError: cold"),
    ("V3", "throw new Error('\\ud800 \\u0000 \\u001b[31m')", "exception: Error: \u{fffd} \u{0} \u{1b}[31m"),
    (
        "V3",
        "class BusyTimeout extends Error { constructor() { super('x'); this.kind = 'busy-timeout' } } throw new BusyTimeout()",
        "exception: BusyTimeout: x",
    ),
    (
        "V4",
        "let n = 0; const r = await tools.echo({ get a() { return ++n } }); return [n, r.args.a]",
        "value [1,1]",
    ),
    (
        "V4",
        "let n = 0; const r = await tools.echo({ a: { toJSON() { n++; return n } } }); return [n, r.args.a]",
        "value [1,1]",
    ),
    (
        "V4",
        "const a = { x: [1] }; const p = tools.echo(a); a.x[0] = 2; a.y = 1; return (await p).args",
        r#"value {"x":[1]}"#,
    ),
    (
        "V4",
        "const seen = []; await tools.echo(new Proxy({ a: 1 }, { get(t, k) { seen.push(String(k)); return t[k] }, ownKeys: () => { seen.push('keys'); return ['a'] } })); return seen",
        r#"value ["keys","a"]"#,
    ),
    (
        "V4",
        "await tools.add({ a: { valueOf: () => 1, [Symbol.toPrimitive]: () => 1 }, b: 1 })",
        "exception: TypeError: args.a.valueOf is a function, which JSON cannot hold; pass what it gives when called, or leave it out",
    ),
    (
        "V5",
        "const a = {}; a.a = a; await tools.echo(a)",
        "exception: TypeError: args.a is the same object as args: JSON cannot hold a cycle; leave it out, or pass an id in its place",
    ),
    (
        "V5",
        "const a = []; a.push([a]); return a",
        "invalid-output: result[0][0] is the same object as result: JSON cannot hold a cycle; leave it out, or return an id in its place",
    ),
    (
        "V6",
        "return [new Date(0), -0, 1e21, null, Object(1), Object('s')]",
        r#"value ["1970-01-01T00:00:00.000Z",0,1e+21,null,1,"s"]"#,
    ),
    ("V6", "return { a: undefined, f: [undefined] }", r#"value {"f":[null]}"#),
    (
        "V6",
        "return [new Map()]",
        "invalid-output: result[0] is a Map, which JSON cannot hold; return Object.fromEntries(map), or [...map] if its keys are not strings",
    ),
    (
        "V6",
        "return [Infinity]",
        "invalid-output: result[0] is Infinity, which JSON cannot hold; return null or leave it out",
    ),
    (
        "V6",
        "return { a: Symbol('x') }",
        "invalid-output: result.a is a symbol, which JSON cannot hold; return a string",
    ),
    (
        "V6",
        "return { a: new Uint8Array(3) }",
        "invalid-output: result.a is a typed array, which JSON cannot hold; return Array.from(bytes), or a string",
    ),
    (
        "V6",
        "await tools.echo({ a: /x/ })",
        "exception: TypeError: args.a is a RegExp, which JSON cannot hold; pass its source: regexp.source",
    ),
    (
        "V7",
        "return { id: 9007199254740993n, max: 2n ** 64n - 1n, min: -(2n ** 63n) }",
        r#"value {"id":9007199254740993,"max":18446744073709551615,"min":-9223372036854775808}"#,
    ),
    (
        "V7",
        "return (await tools.echo({ id: 9007199254740993n })).args.id === 9007199254740993n",
        "value true",
    ),
    (
        "V7",
        "const n = 2 ** 62, back = (state.set('n', n), state.get('n')), { n: echoed } = (await tools.echo({ n })).args; return [back === n, echoed === BigInt(n), n]",
        "value [true,true,4.611686018427388e+18]",
    ),
    ("V7", "return 2n ** 64n", "invalid-output: result is an integer beyond 64 bits; return it as a string"),
    (
        "V7",
        "return [0.1 + 0.2, 5e-324, 1.7976931348623157e308, 123456789.12345679]",
        "value [0.30000000000000004,5e-324,1.7976931348623157e+308,123456789.12345679]",
    ),
    ("V8", "return '\\u0000\\uffff\\u202e\\ufeff'", "value \"\\u0000\u{ffff}\u{202e}\u{feff}\""),
    (
        "V8",
        "return '\\udc00'",
        "invalid-output: result holds half of a surrogate pair; return text.toWellFormed()",
    ),
    (
        "V8",
        "await tools.echo({ a: ['\\ud800'] })",
        "exception: TypeError: args.a[0] holds half of a surrogate pair; pass text.toWellFormed()",
    ),
    ("V8", "console.log('\\ud800', ['\\udc00'])", "nothing\nlog \u{fffd} [ '\u{fffd}' ]"),
    ("V8", "return { '': 1, ['k'.repeat(300)]: 2 }[''] ", "value 1"),
    (
        "V9",
        r#"return { ["__proto__"]: { x: 1 }, constructor: 1, prototype: 2, toString: "s", hasOwnProperty: 3, length: 4, then: 5 }"#,
        r#"value {"__proto__":{"x":1},"constructor":1,"prototype":2,"toString":"s","hasOwnProperty":3,"length":4,"then":5}"#,
    ),
    (
        "V9",
        r#"const r = (await tools.echo(JSON.parse('{"__proto__": {"left": 1}, "constructor": {"prototype": {"left": 1}}}'))).args; return [Object.keys(r), r.left === undefined, ({}).left === undefined, Object.getPrototypeOf(r) === Object.prototype]"#,
        r#"value [["__proto__","constructor"],true,true,true]"#,
    ),
    (
        "V10",
        r#"const r = (await tools.echo(JSON.parse('{"then": "data"}'))).args; return [r.then, await r]"#,
        r#"value ["data",{"then":"data"}]"#,
    ),
    (
        "V10",
        "Object.prototype.then = function (done) { done('stolen') }; const r = await tools.echo({ a: 1 }); delete Object.prototype.then; return r.args",
        r#"value {"a":1}"#,
    ),
    ("V10", "return { then: (done) => done('adopted') }", r#"value "adopted""#),
    ("V11", "for (let i = 0; i < 100000; i++) tools.add({ a: 1, b: 1 })", "{calls}\nnote {left}"),
    ("V11", "for (;;) { try { await tools.fail({ message: 'again' }) } catch { } }", "{calls}"),
    ("V11", "for (;;) await tools.add({ a: 1, b: 1 }).catch(() => {}).finally(() => {})", "{calls}"),
    (
        "V11",
        "const r = await Promise.all(Array.from({ length: 50 }, (_, i) => tools.add({ a: i, b: 1 }))); return r.reduce((a, b) => a + b)",
        "value 1275",
    ),
    (
        "V12",
        "await tools.add(1, 2)",
        "exception: TypeError: arguments are one object: await tools.add({a: number, b: number}) (given a number and 1 more)",
    ),
    (
        "V12",
        "await tools.add([1, 2])",
        "exception: TypeError: arguments are one object: await tools.add({a: number, b: number}) (given an array)",
    ),
    (
        "V12",
        "await tools.add(null)",
        "exception: TypeError: arguments are one object: await tools.add({a: number, b: number}) (given null)",
    ),
    (
        "V12",
        "await tools.add('a')",
        "exception: TypeError: arguments are one object: await tools.add({a: number, b: number}) (given a string)",
    ),
    (
        "V13",
        "await tools.ad({ a: 1, b: 2 })",
        r#"exception: TypeError: there is no tool "ad"; did you mean tools.add or tools["a.b"]?"#,
    ),
    ("V13", "tools.add = () => 5", "exception: TypeError: tools is read-only: tools.add cannot be set"),
    ("V13", "delete tools.add", "exception: TypeError: tools is read-only: no tool can be deleted"),
    ("V13", "tools = {}; return typeof tools.add", r#"value "undefined""#),
    ("V13", "const { add } = tools; return await add({ a: 1, b: 2 })", "value 3"),
    ("V13", "return await tools.add.call(null, { a: 1, b: 2 })", "value 3"),
    (
        "V14",
        "await tools.panics({})",
        "exception: ToolCallError (panics, TOOL_PANICKED): the tool `panics` panicked; this is a bug of the tool, other tools still work",
    ),
    (
        "V14",
        "try { await tools.panics({}) } catch (e) { return [e.constructor === ToolCallError, Object.getPrototypeOf(e) === ToolCallError.prototype, e.stack.includes('.rs')] }",
        "value [true,true,false]",
    ),
    (
        "V14",
        "try { await tools.fail({ message: 'x' }) } catch (e) { return e.constructor.constructor('return 1')() }",
        "{code}",
    ),
    ("V15", "for (;;) console.log('')", "{flood}"),
    ("V15", "for (;;) console.error('x'.repeat(100))", "{flood}"),
    ("V15", "console.log('x'.repeat(3000))", "{flood}"),
    ("V15", "try { for (;;) print('x'.repeat(500)) } catch { return 'caught' }", "{flood}"),
    (
        "V15",
        "console.log('%s %d %j %%', { toString() { throw 1 } }, 1n, { a: 1 })",
        "nothing\nlog { toString: [Function: toString] } 1n {\"a\":1} %",
    ),
    (
        "V15",
        "console.log({ get a() { throw 1 } }, new Proxy({}, { get() { throw 1 } }), { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 }, inspect() { throw 1 } })",
        "nothing\nlog { a: [Getter] } [Proxy] {\n  inspect: [Function: inspect],\n  [Symbol(nodejs.util.inspect.custom)]: [Function: [nodejs.util.inspect.custom]]\n}",
    ),
    ("V15", "console.log(['\\u001b[31mred'])", "nothing\nlog [ '\\x1B[31mred' ]"),
    ("V15", "console.log.call = null; console.log = () => { throw 1 }; print('still')", "nothing\nlog still"),
    (
        "V16",
        "return 'x'.repeat(2100)",
        "output-limit: the program's value takes 2102 bytes, and 2000 of 2000 are left for it; return a summary, or only the part you need",
    ),
    (
        "V16",
        "console.log('x'.repeat(999)); return 'x'.repeat(1500)",
        "output-limit: the program's value takes 1502 bytes, and 1000 of 2000 are left for it; return a summary, or only the part you need\nlog {999}",
    ),
    (
        "V16",
        "return Array.from({ length: 1000 }, (_, i) => i)",
        "output-limit: the program's value takes 3891 bytes, and 2000 of 2000 are left for it; return a summary, or only the part you need",
    ),
    (
        "V16",
        "return '\\u20ac'.repeat(700)",
        "output-limit: the program's value takes 2102 bytes, and 2000 of 2000 are left for it; return a summary, or only the part you need",
    ),
    ("V16", "throw new Error('x'.repeat(1e6))", "{cut}"),
];

/// The rows but for outcomes that are long and regular, which are looked at in the tests below.
pub(super) fn exact() -> Vec<Row> {
    let marks = ["{flood}", "{left}", "{999}", "{cut}"];
    let is_exact = |row: &Row| !marks.iter().any(|mark| row.2.contains(mark));
    CALLS.iter().copied().filter(is_exact).collect()
}

/// E-2, E-6, E-8, CM-13, CM-14, CM-15, CM-16, CM-25: V1 to V16
#[tokio::test]
async fn calls_and_values_hold_whatever_a_program_does() {
    check(limits(), &exact()).await;
}

/// E-6, E-8: V11, V15, V16. The outcomes that are too long to write down.
#[tokio::test]
async fn floods_are_cut_at_their_limit() {
    let host = Host::with_limits(limits());
    for (class, program, expected) in CALLS {
        let outcome = host.run(program).await;
        let failure = outcome.result.clone().map_err(|failure| failure.to_string());
        let printed: usize = outcome.logs.iter().map(|line| line.len() + 1).sum();
        match *expected {
            "{flood}" => {
                assert_eq!(failure, Err(messages("{printed}")), "{class}: {program}");
                // The last line is cut and has no byte for its end.
                assert!((1000..=2001).contains(&printed), "{class}: {program}: {printed} bytes");
            }
            "{cut}" => {
                // The limit of output does not hold for what went wrong; a bound of its own does.
                let cut = "... (the rest of the message was cut)";
                let kept = "x".repeat(16 * 1024 - "Error: ".len() - cut.len());
                let expected = format!("exception: Error: {kept}{cut}");
                assert_eq!(failure, Err(expected));
            }
            _ if expected.contains("{left}") => {
                assert_eq!(failure, Err(messages("{calls}")), "{class}: {program}");
                assert_eq!(outcome.sub_calls.len(), 50);
                assert!(outcome.sub_calls.iter().all(|call| call.state == SubCallState::NotStarted));
                assert_eq!(outcome.notes.len(), 1);
                assert!(
                    outcome.notes[0].starts_with("the program had no outcome yet of 50 tool calls"),
                    "{}",
                    outcome.notes[0]
                );
            }
            _ if expected.contains("{999}") => {
                assert_eq!(said(&outcome), expected.replace("{999}", &"x".repeat(999)), "{class}: {program}");
            }
            _ => {}
        }
    }
}

/// E-8: V12. The message names the tool, the path, what was expected and what was given.
#[tokio::test]
async fn arguments_of_the_wrong_shape_are_refused_by_path() {
    let host = Host::new();
    for (program, words) in [
        ("await tools.add({ a: 1 })", &["add", "`b`"][..]),
        ("await tools.add({ a: 'one', b: 2 })", &["`add`", "/a", "expected integer", "got a string"]),
        ("await tools.slow({})", &["slow", "`ms`"]),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert!(failure.message.starts_with("ToolCallError ("), "{program}: {}", failure.message);
        assert!(failure.message.contains("TOOL_ARGS_INVALID"), "{program}: {}", failure.message);
        for word in words {
            assert!(failure.message.contains(word), "{program}: {} lacks {word}", failure.message);
        }
    }
}

/// E-8: V14. What breaks its own contract is an error, never a value.
#[tokio::test]
async fn a_tool_that_breaks_its_own_contract_fails_its_call() {
    use isolane::tool::{Tool, ToolContext};
    let tool = Tool::builder("count")
        .description("Counts.")
        .parameters(json!({"type": "object", "properties": {}}))
        .output(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
        .handler(|_args: serde_json::Value, _context: ToolContext| async move { Ok(json!({"n": "many"})) })
        .unwrap();
    let host = Host::with_tools(RunLimits::default(), vec![tool]);
    let outcome = host.run("try { return await tools.count({}) } catch (error) { return error.code }").await;
    assert_eq!(said(&outcome), r#"value "INVALID_TOOL_OUTPUT""#);
}

/// E-8: V13. What a program kept of an earlier run reaches nothing.
#[tokio::test]
async fn a_call_after_the_end_never_starts() {
    let host = Host::new();
    let program = "setTimeout(() => tools.add({ a: 1, b: 2 }), 5); tools.echo({}).then(() => tools.echo({ late: true })); return 1";
    let outcome = host.run(program).await;
    assert_eq!(outcome.result.unwrap(), Some(json!(1)));
    assert_eq!(outcome.sub_calls.len(), 1);
    assert_eq!(outcome.sub_calls[0].state, SubCallState::NotStarted);
}
