//! What programs keep between the runs of a session (CM-11).
//!
//! Owns programs that use `state`, one run after the other on one host, and what the ledger holds of it.

use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use serde_json::{Value, json};

use crate::support::{Host, brief};

/// CM-11: a later run reads what an earlier one kept, exactly, and as a copy of its own.
#[tokio::test]
async fn values_outlive_their_run() {
    let host = Host::new();
    let kept = r#"
        const list = [1, "two", null, {then: 1, ["__proto__"]: 2}];
        state.set("list", list);
        list.push("later");
        state.set("big", 9007199254740993n);
        state.set("when", new Date(0));
        state.set("__proto__", "a key like any other");
        return [state.get("list").length, state.get("missing") === undefined, state.keys()];
    "#;
    let keys = json!(["__proto__", "big", "list", "when"]);
    assert_eq!(brief(&host.run(kept).await), json!({"value": [4, true, keys]}));
    let read = r#"
        const list = state.get("list");
        list.push("only mine");
        return [state.get("list"), state.get("big") === 9007199254740993n, state.get("when"), state.get("__proto__"),
            state.delete("when"), state.delete("when"), state.keys()];
    "#;
    let outcome = brief(&host.run(read).await);
    let expected = json!([
        [1, "two", null, {"then": 1, "__proto__": 2}], true, "1970-01-01T00:00:00.000Z", "a key like any other",
        true, false, ["__proto__", "big", "list"],
    ]);
    assert_eq!(outcome, json!({"value": expected}));
}

/// CM-11: a run that fails keeps nothing but what it committed itself.
#[tokio::test]
async fn writes_of_a_failed_run_are_dropped() {
    let host = Host::new();
    let ends = [
        "throw new Error('x')",
        "while (true) {}",
        "return () => 1",
        "await new Promise(() => {})",
        "return 'x'.repeat(2e6)",
    ];
    let mut limits = host.limits.clone();
    limits.busy = std::time::Duration::from_millis(50);
    for (n, end) in ends.iter().enumerate() {
        let code = format!(
            "state.set('done{n}', true); state.commit(); state.set('lost', {n}); state.delete('done{n}');\n{end}"
        );
        let outcome = host.run_limited(&code, limits.clone()).await;
        assert!(outcome.result.is_err(), "{end}");
    }
    let keys = json!(["done0", "done1", "done2", "done3", "done4"]);
    assert_eq!(brief(&host.run("return state.keys()").await), json!({"value": keys}));
}

/// CM-11, L-1: commits are events between those of their run, an explicit one before what comes after it.
#[tokio::test]
async fn commits_are_events() {
    let host = Host::new();
    let code =
        "state.set('a', 1); state.commit(); await tools.echo({}); await tools.echo({}); state.set('b', [2]);";
    host.run(code).await.result.unwrap();
    let events = host.events();
    let kinds: Vec<_> =
        events.iter().map(|event| event.body.kind().replace("tool/code-dispatch", "call")).collect();
    assert_eq!(
        kinds,
        ["run/start", "state/put", "call-start", "call", "call-start", "call", "state/put", "run/end"]
    );
    for (at, key, value) in [(1, "a", json!(1)), (6, "b", json!([2]))] {
        let EventBody::StatePut(put) = &events[at].body else { panic!("{:?}", events[at]) };
        assert_eq!((put.key.as_str(), put.value.as_deref()), (key, Some(&value)));
        assert_eq!(put.call.as_ref().map(ToString::to_string).as_deref(), Some("r1"));
        assert_eq!(events[at].source_seqs, [1]);
    }
}

/// CM-11, CM-13: what cannot be kept is refused at the place where the program tried, with what to do instead.
#[tokio::test]
async fn what_cannot_be_kept_is_refused() {
    let cases = [
        ("state.set('a', new Map())", "value is a Map, which JSON cannot hold; keep Object.fromEntries(map)"),
        ("state.set('a', {b: [() => 1]})", "value.b[0] is a function, which JSON cannot hold"),
        ("state.set('a', undefined)", "value is undefined: use state.delete(key)"),
        ("state.set('a', tools.echo({}))", "value is a promise: await it first"),
        ("state.set(1, 1)", "a key of state is a string, such as \"seen\" (given 1)"),
        ("state.get({})", "a key of state is a string, such as \"seen\" (given {})"),
        ("state.get('\\ud800')", "a key of state is a string"),
        (
            "state.set('a', 'x'.repeat(2000))",
            "state would take 2035 bytes, and a session may keep 1000; keep less",
        ),
        ("state.set('a', 'x'.repeat(2 ** 25))", "value is over 16777216 bytes as JSON; keep less"),
        ("state.extra = 1", "Cannot add property extra, object is not extensible"),
        ("'use strict'; state.get = null", "Cannot assign to read only property 'get'"),
    ];
    let mut limits = RunLimits::default();
    limits.state_bytes = 1000;
    for (code, message) in cases {
        let host = Host::with_limits(limits.clone());
        let outcome = host.run(&format!("\n  {code}; await 1;")).await;
        let failure = outcome.result.unwrap_err();
        assert!(failure.message.contains(message), "{code}: {}", failure.message);
        assert_eq!(failure.line, Some(2), "{code}");
    }
}

/// CM-11, CM-14: what a program patches changes nothing, and nobody else's session is within reach.
#[tokio::test]
async fn what_is_patched_is_not_consulted() {
    let host = Host::new();
    let code = r#"
        JSON.stringify = () => "[]"; JSON.parse = () => ({}); String.prototype.isWellFormed = () => false;
        Object.prototype.toJSON = () => 1; Array.prototype.toJSON = () => 1;
        state.set("a", {n: [1]});
        return state.get("a");
    "#;
    assert_eq!(brief(&host.run(code).await), json!({"value": {"n": [1]}}));
    assert_eq!(Host::new().run("return state.keys()").await.result.unwrap(), Some(Value::Array(Vec::new())));
}
