//! What a program overwrites changes nothing of what its calls are (CM-13 to CM-16, E-9).
//!
//! Owns the programs that overwrite, one after the other, every property of every object that a program can reach, as
//! the walk of `globals` finds them, so that none is forgotten. What is compared is what the tools were given, what
//! the ledger says, and what the program got, byte for byte. It calls the tests' host.

use std::sync::{Arc, Mutex};

use isolane::clock::SystemClock;
use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use isolane::tool::ToolError;
use serde_json::{Value, json};

use crate::globals::WALK;
use crate::support::{Host, Isolation, tool};

/// What the programs work with afterwards, taken before anything is overwritten: syntax and these, and nothing else.
const BEFORE: &str = r#"
const { defineProperty: define, deleteProperty: remove, getOwnPropertyDescriptor: describe, ownKeys } = Reflect;
const { echo, fail } = tools, write = console.log, when = new Date(0), big = 12345678901234567890n;
const text = (key) => typeof key === "symbol" ? String(key) : key;
const thrower = function () { throw new TypeError("overwritten") };
const other = (known) => "value" in known
    ? { __proto__: null, value: typeof known.value === "function" ? thrower : "overwritten", writable: true,
        enumerable: known.enumerable, configurable: true }
    : { __proto__: null, get: thrower, set: thrower, enumerable: known.enumerable, configurable: true };
const calls = async () => {
    const value = await echo({ n: 1, text: "a\u2028\"b", list: [1, [2, "x"], {}, null], when, big, gone: undefined,
        nested: { then: 1, toJSON: 2, args: { tool: "x" }, constructor: "y", 0: "zero" } });
    let failed;
    try { await fail({ message: "m" }) } catch (error) { failed = error }
    return { __proto__: null, value, failed };
};
"#;

/// Overwrites each property alone, makes its calls, and puts it back. It gives the names of those that could be
/// overwritten and, for each, what the calls gave.
const EACH: &str = r#"
const entries = [], results = [];
// The names that one knows them by.
for (const type of ["JSON", "Promise", "Array", "String", "Object", "Map", "Set", "Reflect", "Error", "Function",
    "Date", "Number"]) {
    if (known.has(globalThis[type])) known.set(globalThis[type], type);
    if (known.has(globalThis[type].prototype)) known.set(globalThis[type].prototype, `${type}.prototype`);
}
for (const [object, path] of known) for (const key of ownKeys(object)) {
    const before = describe(object, key);
    if (before.configurable || before.writable) entries.push([object, key, before, `${path} ${text(key)}`]);
}
results.push(["nothing", await calls()]);
for (let at = 0; at < entries.length; at++) {
    const entry = entries[at];
    const after = entry[2].configurable ? other(entry[2]) : { __proto__: null, value: thrower };
    let done = false;
    // The length of an array takes numbers only.
    try { done = define(entry[0], entry[1], after) } catch {}
    if (!done) continue;
    const result = await calls();
    define(entry[0], entry[1], entry[2]);
    results.push([entry[3], result]);
}
return results.map(([path, { value, failed }]) => [path, value, [failed.toolName, failed.code, failed.message]]);
"#;

/// The same with names that are put on prototypes which have none of that name, in every way in which a name can be
/// there.
const ADDED: &str = r#"
const names = ["then", "toJSON", "tool", "args", "n", "id", "value", "get", "set", "writable", "enumerable",
    "configurable", "length", "0", "1", "2", "name", "code", "message", "details", "ok", "json", "resolve", "reject",
    "site", "call", "rawJSON", "kind", "list", "text", "nested", "gone", "when", "toolName", "stack", "cause", "hidden",
    "tools", "maxArgBytes", "key", "parent", "object", "depth", "problem", "size", "limit", Symbol.iterator,
    Symbol.toPrimitive, Symbol.toStringTag, Symbol.species, Symbol.isConcatSpreadable, Symbol.hasInstance];
const holders = { Object, Array, Function, Promise, String, Number, Boolean, BigInt, Symbol, Error, Map, Set, Date,
    RegExp };
const stolen = [], results = [];
const ways = [
    ["function", { __proto__: null, value: (take) => typeof take === "function" ? take("stolen") : "stolen" }],
    ["data", { __proto__: null, value: "stolen", enumerable: true, writable: true }],
    ["frozen", { __proto__: null, value: "stolen" }],
    ["accessor", { __proto__: null, get: () => "stolen", set(value) { stolen.push(value) } }],
    ["thrower", { __proto__: null, get: thrower, set: thrower }],
];
results.push(["nothing", await calls()]);
for (const type of Object.keys(holders)) for (const key of names) for (const [way, how] of ways) {
    const holder = holders[type].prototype;
    // Everything inherits from the first of them.
    if (type !== "Object" && way !== "function" && way !== "accessor") continue;
    // What is there already is overwritten by the other program.
    if (describe(holder, key) !== undefined) continue;
    if (!define(holder, key, { ...how, __proto__: null, configurable: true })) continue;
    let result;
    try { result = await calls() } finally { remove(holder, key) }
    results.push([`${type}.prototype ${text(key)} (${way})`, result]);
}
if (stolen.length > 0) results.push(["stolen", { value: stolen, failed: {} }]);
return results.map(([path, { value, failed }]) => [path, value, [failed.toolName, failed.code, failed.message]]);
"#;

/// What a run of such a program left.
struct Left {
    /// Of each property: its name, the value of the first call, and the failure of the second.
    results: Vec<(String, String)>,
    /// What the tools were given.
    given: Vec<String>,
    /// The events of the calls, without their times, numbers and content that only repeats those.
    events: Vec<String>,
    logs: Vec<String>,
    notes: Vec<String>,
}

/// Runs a program with tools that write down what they are given.
async fn run(isolation: Isolation, program: &str) -> Left {
    let given = Arc::new(Mutex::new(Vec::new()));
    let keep = |name: &'static str| {
        let given = Arc::clone(&given);
        move |args: Value| {
            given.lock().unwrap().push(format!("{name} {args}"));
            if name == "fail" {
                Err(ToolError::failed("m").with_details(json!({"d": [1]})))
            } else {
                Ok(args)
            }
        }
    };
    let tools =
        vec![tool("echo", &json!({}), &[], keep("echo")), tool("fail", &json!({}), &[], keep("fail"))];
    let mut limits = RunLimits::default();
    limits.sub_calls = 100_000;
    limits.output_bytes = 64 * 1024 * 1024;
    let host = Host::assemble(limits, tools, SystemClock::shared(), isolation);
    let outcome = host.run(program).await;
    let results = match &outcome.result {
        Ok(Some(Value::Array(results))) => results
            .iter()
            .map(|result| (result[0].as_str().unwrap().to_owned(), format!("{} {}", result[1], result[2])))
            .collect(),
        other => panic!("{other:?}"),
    };
    let events = host.events().into_iter().filter_map(|event| match event.body {
        EventBody::CodeDispatchStart(data) => Some(format!("start {} {}", data.tool, data.arguments)),
        EventBody::CodeDispatch(data) => Some(format!(
            "settled {} {} {:?} {:?} {:?} {}",
            data.tool,
            data.arguments,
            data.code,
            data.message,
            data.details,
            serde_json::to_string(&data.content).unwrap()
        )),
        _ => None,
    });
    let given = given.lock().unwrap().clone();
    Left { results, given, events: events.collect(), logs: outcome.logs, notes: outcome.notes }
}

/// Every round of calls is as the first one, in which nothing was overwritten.
fn all_the_same(left: &Left, seeds: usize) {
    let (first, nothing) = &left.results[0];
    assert_eq!(first, "nothing");
    for (path, result) in &left.results {
        assert_eq!(result, nothing, "with {path} overwritten");
    }
    let (given, events) = (&left.given[seeds..], &left.events[2 * seeds..]);
    assert_eq!((given.len(), events.len()), (2 * left.results.len(), 4 * left.results.len()));
    for ((round, events), (path, _)) in given.chunks(2).zip(events.chunks(4)).zip(&left.results) {
        assert_eq!(round, &given[..2], "what the tools were given with {path} overwritten");
        assert_eq!(events, &left.events[2 * seeds..2 * seeds + 4], "the ledger with {path} overwritten");
    }
    assert_eq!((&left.logs, &left.notes), (&Vec::new(), &Vec::new()));
}

/// The calls that the walk itself makes.
const OF_THE_WALK: usize = 2;

const BOTH: [Isolation; 2] = [Isolation::InProcess, Isolation::Process];

/// CM-13, CM-14, CM-15, CM-16, E-9
#[tokio::test]
async fn no_property_that_is_overwritten_changes_what_a_call_is() {
    for isolation in BOTH {
        let left = run(isolation, &format!("{WALK}{BEFORE}{EACH}")).await;
        all_the_same(&left, OF_THE_WALK);
        let paths: Vec<_> = left.results.iter().map(|(path, _)| path.as_str()).collect();
        assert!(paths.len() > 1_000, "{}", paths.len());
        for path in [
            "JSON stringify",
            "JSON parse",
            "globalThis Promise",
            "Promise resolve",
            "Promise.prototype then",
            "Promise.prototype constructor",
            "Promise Symbol(Symbol.species)",
            "Array.prototype push",
            "Array.prototype Symbol(Symbol.iterator)",
            "String.prototype Symbol(Symbol.iterator)",
            "Object.prototype toString",
            "Object.prototype __proto__",
            "Map.prototype get",
            "Set.prototype has",
            "Reflect ownKeys",
            "globalThis Proxy",
            "Error captureStackTrace",
            "Function.prototype call",
            "Function.prototype apply",
            "Function.prototype bind",
            "Date.prototype toISOString",
            "Number.prototype toString",
        ] {
            assert!(paths.contains(&path), "{path} was not overwritten");
        }
    }
}

/// CM-13, CM-14, CM-15, CM-16, E-9
#[tokio::test]
async fn no_property_that_is_put_on_a_prototype_changes_what_a_call_is() {
    for isolation in BOTH {
        let left = run(isolation, &format!("{BEFORE}{ADDED}")).await;
        all_the_same(&left, 0);
        assert!(left.results.len() > 1_000, "{}", left.results.len());
    }
}

/// CM-13, CM-14, CM-15, CM-29, E-9: all properties of an object at once, and until the run has its end.
#[tokio::test]
async fn a_run_ends_the_same_whatever_is_left_overwritten() {
    let program = |holders: &str| {
        format!(
            "{WALK}{BEFORE}
            const objects = [...known.keys()];
            const chosen = {holders};
            if (chosen === null) return [[String(objects.length), null, null]];
            for (let at = 0; at < chosen.length; at++) {{
                const object = objects[chosen[at]], keys = ownKeys(object);
                for (let index = 0; index < keys.length; index++) {{
                    // `console` names objects by these, and `await` asks for that of a promise.
                    if (keys[index] === 'constructor' || keys[index] === 'name') continue;
                    const before = describe(object, keys[index]);
                    if (before.configurable) define(object, keys[index], other(before));
                    else if (before.writable && keys[index] !== 'length') {{
                        define(object, keys[index], {{ __proto__: null, value: thrower }});
                    }}
                }}
            }}
            const {{ value, failed }} = await calls();
            write(value, failed.message, [1, {{ a: 'b' }}]);
            return [['nothing', value, [failed.toolName, failed.code, failed.message, when, big]]];"
        )
    };
    for isolation in BOTH {
        let plain = run(isolation, &program("[]")).await;
        let many: usize = run(isolation, &program("null")).await.results[0].0.parse().unwrap();
        assert!(many > 500, "{many}");
        // Some at a time, and all of them.
        let mut groups: Vec<_> = (0..many).collect::<Vec<_>>().chunks(32).map(<[usize]>::to_vec).collect();
        groups.push((0..many).collect());
        for group in groups {
            let left = run(isolation, &program(&format!("{group:?}"))).await;
            assert_eq!(left.results, plain.results, "{group:?}");
            assert_eq!(left.given, plain.given, "{group:?}");
            assert_eq!(left.events, plain.events, "{group:?}");
            assert_eq!((&left.logs, &left.notes), (&plain.logs, &plain.notes), "{group:?}");
        }
    }
}
