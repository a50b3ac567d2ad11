//! What a program can reach, and what it cannot (CM-9, E-9), and that none of it outlasts a run (E-2).
//!
//! Owns the snapshot of every object that can be reached from a program without calling anything, with the names of
//! its properties. A new name there is a decision, not an accident.

use crate::support::{Host, said};

/// Walks own properties and prototypes, breadth first, so that each object is named by its shortest path. The seeds
/// are what no property leads to: the makers behind syntax, and the prototypes of iterators.
pub(crate) const WALK: &str = r#"
const name = (key) => typeof key === "symbol" ? `@@${key.description.replace("Symbol.", "")}` : key;
const seeds = [
    ["globalThis", globalThis],
    ["(function)", function () {}], ["(async function)", async function () {}],
    ["(generator)", function* () {}], ["(async generator)", async function* () {}],
    ["(array iterator)", [].values()], ["(map iterator)", new Map().entries()], ["(set iterator)", new Set().values()],
    ["(string iterator)", ""[Symbol.iterator]()], ["(match iterator)", "".matchAll(/x/g)],
    ["(iterator helper)", [].values().map((x) => x)], ["(wrapped iterator)", Iterator.from({ next() {} })],
    ["(concat iterator)", Iterator.concat ? Iterator.concat([]) : []],
    ["(arguments)", (function () { return arguments })()], ["(template)", ((parts) => parts)``],
    ["(segments)", new Intl.Segmenter().segment("a")], ["(segment iterator)", new Intl.Segmenter().segment("a")[Symbol.iterator]()],
    ["(error)", new Error("x")], ["(call error)", new ToolCallError("t", "c", "m")], ["(tool)", tools.echo],
    ["(promise of a tool)", tools.echo({})], ["(value of a tool)", await tools.echo({})], ["(signal)", AbortSignal.abort()],
    ["(url)", new URL("http://a/")], ["(query)", new URL("http://a/").searchParams], ["(query iterator)", new URLSearchParams().entries()],
    ["(encoder)", new TextEncoder()], ["(decoder)", new TextDecoder()], ["(timer)", setTimeout(() => {}, 0)],
    ["(clone)", structuredClone({})], ["(import meta)", undefined],
];
const known = new Map(), queue = [], lines = [];
const visit = (path, value) => {
    if (Object(value) !== value || known.has(value)) return;
    known.set(value, path);
    queue.push(value);
};
for (const [path, value] of seeds) visit(path, value);
for (let at = 0; at < queue.length; at++) {
    const object = queue[at], path = known.get(object), names = [];
    for (const key of Reflect.ownKeys(object)) {
        const desc = Object.getOwnPropertyDescriptor(object, key), label = name(key);
        const step = typeof key === "symbol" ? `[${label}]` : path === "globalThis" ? key : `.${key}`;
        const child = path === "globalThis" ? step : path + step;
        names.push(label + (desc.get ? " get" : "") + (desc.set ? " set" : ""));
        if ("value" in desc) visit(child, desc.value);
        visit(`get ${child}`, desc.get);
        visit(`set ${child}`, desc.set);
    }
    const proto = Object.getPrototypeOf(object);
    visit(`${path}.[[Prototype]]`, proto);
    // Plain functions differ in nothing but their name.
    const plain = typeof object === "function" && proto === Function.prototype && !names.some((n) => !["length", "name"].includes(n));
    if (!plain) lines.push(`${path}: ${names.sort().join(", ")}${Object.isFrozen(object) ? " (frozen)" : ""}`);
}
"#;

/// Gives what the walk found.
const LINES: &str = r#"return lines.sort().join("\n");"#;

/// The same, with the beginning of every function's text.
const ALL: &str = r#"
for (const [value, path] of known) if (typeof value === "function") lines.push(`${path}: ${String(value).slice(0, 60)}`);
return lines.sort().join("\n");
"#;

/// Adds a property to every object that the walk found, puts another function in the place of every function, and
/// leaves behind what can be left: timers, a call, a rejected promise, a symbol, the state of expressions. It gives how
/// much it changed. What it works with it took before.
const SPOIL: &str = r#"
const { defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
const spoilt = () => "left";
globalThis.left = 1;
setInterval(spoilt, 1e6);
setTimeout(() => { throw new Error("left") }, 1e6);
tools.echo({ left: 1 });
Symbol.for("left").description;
/(left)/.exec("left");
let changed = 0;
const change = (object, key, value) => {
    try { if (defineProperty(object, key, { __proto__: null, value })) changed++ } catch { /* it is frozen */ }
};
for (let at = 0; at < queue.length; at++) {
    const object = queue[at], keys = ownKeys(object);
    change(object, "left", 1);
    for (let index = 0; index < keys.length; index++) {
        const known = getOwnPropertyDescriptor(object, keys[index]);
        if (typeof known.value === "function" && keys[index] !== "constructor") change(object, keys[index], spoilt);
    }
}
return changed;
"#;

/// E-2
#[tokio::test]
async fn a_run_leaves_nothing_for_the_next() {
    let host = Host::new();
    let look = format!("{WALK}{ALL}");
    let before = host.run(&look).await;
    let changed = host.run(&format!("{WALK}{SPOIL}")).await.result.unwrap().unwrap();
    assert!(changed.as_u64().unwrap() > 1000, "{changed}");
    let after = host.run(&look).await;
    assert_eq!((after.logs, after.notes), (before.logs, before.notes));
    let [before, after] = [before.result, after.result].map(|result| result.unwrap().unwrap());
    for (before, after) in before.as_str().unwrap().lines().zip(after.as_str().unwrap().lines()) {
        assert_eq!(before, after);
    }
    assert_eq!(before, after);
    let state = "return [typeof left, RegExp.$1, Symbol.keyFor(Symbol.for('left')), [3, 1].sort().map((it) => it + 1)]";
    assert_eq!(said(&host.run(state).await), r#"value ["undefined","","left",[2,4]]"#);
}

/// CM-9, E-9
#[tokio::test]
async fn every_object_within_reach_is_known() {
    let outcome = Host::new().run(&format!("{WALK}{LINES}")).await;
    let value = outcome.result.unwrap().unwrap();
    insta::assert_snapshot!("reachable", value.as_str().unwrap());
}

/// Every way to make code of a string.
const STRINGS_TO_CODE: [&str; 17] = [
    "eval('1')",
    "(0, eval)('1')",
    "globalThis.eval('1')",
    "eval.call(null, '1')",
    "Reflect.apply(eval, null, ['1'])",
    "[].map.call(['1'], eval)",
    "new Function('return 1')()",
    "Function('return 1')()",
    "(() => {}).constructor('return 1')()",
    "Reflect.construct(Function, ['return 1'])()",
    "new (class extends Function {})('return 1')()",
    "tools.echo.constructor('return 1')()",
    "Object.getPrototypeOf(async function () {}).constructor('return 1')()",
    "Object.getPrototypeOf(function* () {}).constructor('return 1')()",
    "Object.getPrototypeOf(async function* () {}).constructor('return 1')()",
    "console.log.constructor('return 1')()",
    "Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted').get.constructor('return 1')()",
];

/// E-9
#[tokio::test]
async fn no_string_becomes_code() {
    let host = Host::new();
    for attempt in STRINGS_TO_CODE {
        let program =
            format!("try {{ return {attempt} }} catch (error) {{ return [error.name, error.message] }}");
        let outcome = host.run(&program).await;
        assert_eq!(
            said(&outcome),
            r#"value ["EvalError","Code generation from strings disallowed for this context"]"#,
            "{attempt}"
        );
    }
}

/// E-9
#[tokio::test]
async fn a_string_is_no_callback() {
    let host = Host::new();
    for (program, expected) in [
        (
            "setTimeout('globalThis.x = 1', 0)",
            "exception: TypeError: setTimeout takes a function, not a string",
        ),
        (
            "setInterval('globalThis.x = 1', 0)",
            "exception: TypeError: setInterval takes a function, not a string",
        ),
        ("queueMicrotask('1')", "exception: TypeError: queueMicrotask takes a function, not a string"),
        (
            "return typeof new Function",
            "exception: EvalError: Code generation from strings disallowed for this context",
        ),
        // An object that is not a string is given back as it is, as the language says.
        ("return eval(5)", "value 5"),
    ] {
        assert_eq!(said(&host.run(program).await), expected, "{program}");
    }
}

/// CM-9, E-9
#[tokio::test]
async fn what_would_share_memory_or_make_machine_code_is_absent() {
    let names = [
        "WebAssembly",
        "Temporal",
        "SharedArrayBuffer",
        "Atomics",
        "ShadowRealm",
        "process",
        "require",
        "module",
        "exports",
        "Deno",
        "Bun",
        "fetch",
        "XMLHttpRequest",
        "Worker",
        "importScripts",
        "global",
        "window",
        "self",
        "gc",
        "d8",
        "print_",
        "load",
        "read",
        "quit",
        "__bootstrap",
        "__native",
        "__rt",
        "__proto",
        "constructor_",
    ];
    let program = format!(
        "return {}.filter((name) => name in globalThis || Reflect.ownKeys(globalThis).includes(name))",
        serde_json::json!(names)
    );
    assert_eq!(said(&Host::new().run(&program).await), "value []");
}

/// E-9
#[tokio::test]
async fn prototypes_of_the_hosts_own_objects_are_frozen() {
    let program = r#"
        const classes = [ToolCallError, DOMException, URL, URLSearchParams, TextEncoder, TextDecoder, AbortController, AbortSignal];
        const objects = [tools, crypto, crypto.subtle, performance, tools.echo, print, setTimeout, structuredClone];
        const loose = [...classes.flatMap((it) => [it, it.prototype]), ...objects].filter((it) => !Object.isFrozen(it));
        let thrown = 0;
        for (const it of classes) {
            try { it.prototype.toString = 1 } catch { thrown++ }
            try { Object.defineProperty(it, "extra", { value: 1 }) } catch { thrown++ }
        }
        return [loose.length, thrown];
    "#;
    assert_eq!(said(&Host::new().run(program).await), "value [0,16]");
}

/// E-9
#[tokio::test]
async fn the_stack_hook_is_inert_and_hands_out_no_call_sites() {
    let program = r#"
        let called = 0;
        const hook = (error, sites) => { called++; globalThis.stolen = sites; return "hooked" };
        Error.prepareStackTrace = hook;
        try { Object.defineProperty(Error, "prepareStackTrace", { value: hook }) } catch {}
        try { Error.__defineGetter__("prepareStackTrace", () => hook) } catch {}
        class Own extends Error {}
        Own.prepareStackTrace = hook;
        Object.prototype.prepareStackTrace = hook;
        const target = {};
        Error.captureStackTrace(target);
        const seen = [new Error("a").stack, new Own("b").stack, target.stack];
        try { null.x } catch (error) { seen.push(error.stack) }
        try { await tools.fail({}) } catch (error) { seen.push(error.stack) }
        return [called, typeof stolen, seen.every((text) => typeof text === "string" && text !== "hooked"), typeof Error.prepareStackTrace];
    "#;
    assert_eq!(said(&Host::new().run(program).await), r#"value [0,"undefined",true,"undefined"]"#);
}

/// Programs whose stacks lead through the runtime's own JavaScript.
const STACKS: [&str; 12] = [
    "throw new Error('own')",
    "await tools.fail({})",
    "tools.nope({})",
    "tools.echo(1)",
    "tools.x = 1",
    "await tools.echo({ get a() { throw new Error('in a getter') } })",
    "return { toJSON() { throw new Error('in toJSON') } }",
    "new URL('nope')",
    "[1].map(() => setTimeout(1))",
    "structuredClone(() => 1)",
    "AbortSignal.abort().throwIfAborted()",
    "const f = () => f(); f()",
];

/// E-9
#[tokio::test]
async fn no_stack_shows_a_frame_or_a_path_of_the_host() {
    let host = Host::new();
    let forbidden =
        ["runtime-js", "isolane:", ".js:", ".rs", "/work", "/home", "src/", "native", "<unknown>"];
    for program in STACKS {
        let caught = format!(
            "const texts = []; try {{ {program} }} catch (error) {{ texts.push(error.stack, error.message) }} \
             console.trace('here'); return texts"
        );
        for program in [program, &caught] {
            let outcome = host.run(program).await;
            let mut shown = said(&outcome);
            if let Err(failure) = &outcome.result {
                shown.push_str(failure.stack.as_deref().unwrap_or_default());
            }
            for word in forbidden {
                assert!(!shown.contains(word), "{program}\nshows {word}:\n{shown}");
            }
        }
    }
}

/// CM-23, E-9: the place of a failure is V8's word, not that of a name or of a stack that a program wrote.
#[tokio::test]
async fn no_name_and_no_written_stack_forges_a_place() {
    let host = Host::new();
    for (program, line) in [
        ("Object.defineProperty(JSON.parse, 'name', { value: 'program:99:1' });\nJSON.parse('{')", Some(2)),
        (
            "Object.defineProperty(JSON.parse, 'name', { value: 'x (program:1:1)' });\nJSON.parse('{')",
            Some(2),
        ),
        ("Object.defineProperty(JSON.parse, 'name', { value: 'program:1:1' });\n\nJSON.parse('{')", Some(3)),
        ("const e = new Error('x');\ne.stack = 'Error: x\\n    at f (program:99:1)';\nthrow e", None),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert_eq!(failure.line, line, "{program}: {:?}", failure.stack);
        assert_eq!(failure.frame.is_some(), line.is_some(), "{program}");
    }
}

/// CM-23: what is thrown without being an error has a place all the same.
#[tokio::test]
async fn a_thrown_value_that_is_no_error_has_its_line() {
    let host = Host::new();
    for (program, line) in [
        ("const a = 1;\nthrow 'text'", 2),
        ("await null;\n\nthrow { a: 1 }", 3),
        ("const f = async () => {\n  await null;\n  throw 5;\n};\nawait null;\nawait f();", 6),
        ("setTimeout(() => {\n  throw 'in a timer'\n}, 1);\nawait new Promise(() => {})", 2),
        ("await null;\nPromise.reject('x');\nreturn 1", 2),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert_eq!(failure.line, Some(line), "{program}: {}", failure.message);
        assert!(failure.frame.is_some(), "{program}");
    }
}

/// CM-23, E-9: a name in a stack is what the program chose, and stays on its line.
#[tokio::test]
async fn a_stack_names_functions_of_the_program_with_their_lines() {
    let program = "function inner() {\n  throw new TypeError('t');\n}\nconst outer = () => {\n  inner();\n};\n\
                   const odd = { ['x\\n    at evil (program:99:1)']() { outer() } };\n\
                   odd['x\\n    at evil (program:99:1)']()";
    let failure = Host::new().run(program).await.result.unwrap_err();
    let lines: Vec<_> = failure
        .stack
        .as_deref()
        .unwrap()
        .lines()
        .map(|line| line.trim().rsplit_once(':').unwrap().0.to_owned())
        .collect();
    assert_eq!(failure.line, Some(2));
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[..2], ["at inner (program:2", "at outer (program:5"]);
    assert!(lines[2].ends_with("(program:7"), "{lines:?}");
}
