//! `run_code` as a model calls it: through a session of a host that is wired like a deployment (5.1, 5.2, I-1).
//!
//! Owns what goes into the call and what comes back of it, in all three modes. How programs run is told by the other
//! files; what presentation allows and who is asked about a call stands in `presentation`, what a ledger tells of it in
//! `recorded`, and what becomes of too much output in `fitted`.

mod fitted;
mod presentation;
mod recorded;

use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::content::ContentBlock;
use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::host::{Host, Session, SessionOptions};
use isolane::ledger::{EventBody, Ledger, MemoryStore};
use isolane::limits::RunLimits;
use isolane::outcome::{CallFailure, CallResult, ErrorCode};
use isolane::registry::PresentationMode;
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};

use crate::support::{tool, tools};

/// A host with the tools of [`tools`] and these.
fn host(mode: PresentationMode, limits: RunLimits, more: Vec<Tool>) -> Host {
    let runtime = InProcessRuntime::new(&InProcessOptions { ready: 1, limits: limits.clone() });
    let builder = Host::builder().tools(tools()).tools(more).runtime(runtime).limits(limits);
    builder.drain(Duration::from_secs(5)).mode(mode).build().unwrap()
}

/// A session in code mode, and its events.
fn session_with(limits: RunLimits, more: Vec<Tool>) -> (Session, MemoryStore) {
    let (ledger, store) = Ledger::in_memory("s".into(), SystemClock::shared());
    let host = host(PresentationMode::Code, limits, more);
    (host.session(SessionOptions::new("s").ledger(ledger)).unwrap(), store)
}

fn session() -> Session {
    session_with(RunLimits::default(), Vec::new()).0
}

async fn run_code(session: &Session, code: &str) -> CallResult {
    session.call("run_code", json!({"code": code, "description": "A test"})).await
}

/// What a model reads: texts as they are, anything else by kind and data.
fn read(result: &CallResult) -> String {
    let content = match result {
        Ok(success) => &success.content,
        Err(failure) => &failure.content,
    };
    let blocks = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image { data, .. } => format!("[image {data}]"),
        other => format!("[{}]", serde_json::to_value(other).unwrap()["type"]),
    });
    blocks.collect::<Vec<_>>().join("\n")
}

fn failed(result: CallResult) -> CallFailure {
    result.expect_err("a failure")
}

/// Gives `count` pictures named after `from`, and fails afterwards if it is told to.
fn picture() -> Tool {
    Tool::builder("picture")
        .foreign_parameters(json!({"type": "object"}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, context: ToolContext| async move {
            let from = args["from"].as_u64().unwrap_or(0);
            let pictures = (from..from + args["count"].as_u64().unwrap_or(1))
                .map(|n| ContentBlock::Image { data: n.to_string(), mime_type: "image/png".to_owned() });
            if args["fail"] == json!(true) {
                return Err(ToolError::failed("out of ink").with_blocks(pictures.collect()));
            }
            let mut content = vec![ContentBlock::text("a picture")];
            content.extend(pictures);
            context.set_content(content);
            Ok(json!({"from": from}))
        })
        .unwrap()
}

/// CM-6: a title may be left out; one that says nothing is refused before anything runs.
#[tokio::test]
async fn a_blank_description_is_refused() {
    let (session, store) = session_with(RunLimits::default(), Vec::new());
    for description in ["", " ", "\n\t", "\u{a0}\u{3000}"] {
        let args = json!({"code": "return 1", "description": description});
        let failure = failed(session.call("run_code", args).await);
        assert_eq!(failure.code, ErrorCode::ToolArgsInvalid, "{description:?}");
        assert!(failure.message.contains("/description"), "{}", failure.message);
    }
    let no_code = failed(session.call("run_code", json!({"description": "Nothing"})).await);
    assert_eq!(no_code.message, "arguments of `run_code`: required property `code` is missing");
    assert!(!store.events().iter().any(|event| matches!(event.body, EventBody::RunStart(_))));
    let untitled = session.call("run_code", json!({"code": "return 1"})).await;
    assert_eq!(read(&untitled), "1");
    // The title is what people see of the call.
    let view = session.view().unwrap();
    let definition = view.get("run_code").unwrap().definition();
    let card =
        |description| definition.present_call(&json!({"code": "return 1", "description": description}));
    let titled = card("Adds two").map(|card| serde_json::to_value(card).unwrap()["title"].clone());
    assert_eq!((titled, card(" ")), (Some(json!("Adds two")), None));
}

/// CM-6: a call lowers a limit of the host, however the number is written, and never raises one.
#[tokio::test]
async fn a_call_may_lower_the_limits_and_never_raise_them() {
    const WAITS: &str = "await new Promise((done) => setTimeout(done, 60_000))";
    let mut low = RunLimits::default();
    low.wall = Duration::from_millis(200);
    let (high, low) = (session(), session_with(low, Vec::new()).0);
    let took = |limit| format!("the run took longer than {limit} ms");
    for (session, code, name, value, expected) in [
        (&high, WAITS, "timeout_ms", json!(100), took(100)),
        (&high, WAITS, "timeout_ms", json!(100.0), took(100)),
        (&low, WAITS, "timeout_ms", json!(50_000), took(200)),
        (&low, WAITS, "timeout_ms", json!(1e30), took(200)),
    ] {
        let args = json!({"code": code, "description": "Too much", name: value});
        let failure = failed(session.call("run_code", args).await);
        let said = failure.details.unwrap()["message"].to_string();
        assert!(said.contains(&expected), "{name} {value}: {said}");
    }
    for name in ["timeout_ms", "max_output_bytes"] {
        for value in [json!(0), json!(-1), json!(1.5), json!("100")] {
            let args = json!({"code": "return 1", "description": "Nothing", name: value});
            let failure = failed(high.call("run_code", args).await);
            assert_eq!(failure.code, ErrorCode::ToolArgsInvalid, "{name} {value}");
        }
    }
}

/// CM-6, CM-23: a small limit of output does not take away what is said of it.
#[tokio::test]
async fn a_small_limit_of_output_is_explained_whole() {
    let mut limits = RunLimits::default();
    limits.output_bytes = 10;
    let failure = failed(run_code(&session_with(limits, Vec::new()).0, "return 'x'.repeat(50)").await);
    assert_eq!(
        failure.message,
        "output-limit: the program's value takes 52 bytes, and 10 of 10 are left for it; return a summary, or only \
         the part you need"
    );
}

/// CM-6: who prints nothing is told so, with the number of values that are gone.
#[tokio::test]
async fn a_run_without_output_says_what_was_dropped() {
    let session = session();
    for (code, expected) in [
        (";", "(run_code completed with no output)"),
        ("return undefined", "(run_code completed with no output)"),
        (
            "for (const n of [1, 2]) { await tools.add({ a: n, b: n }); } const last = await tools.echo({});",
            "(run_code completed with no output)\nnote: 3 tool calls ran and their values were dropped, because \
             nothing was printed or returned. Print with console.log(...) or `return` what you need",
        ),
        ("return ''", "(run_code completed with empty output)"),
        ("console.log()", "(run_code completed with empty output)"),
        ("return null", "null"),
    ] {
        let result = run_code(&session, code).await;
        assert_eq!(read(&result), expected, "{code}");
    }
}

/// CM-6: the value has logs and result and nothing else; text is raw, other JSON is pretty.
#[tokio::test]
async fn logs_come_before_the_result_and_the_value_has_nothing_else() {
    let session = session();
    for (code, value, text) in [
        (
            "console.log('one'); print('two', 3); return { b: [1], a: 'x' }",
            json!({"logs": ["one", "two 3"], "result": {"b": [1], "a": "x"}}),
            "one\ntwo 3\n{\n  \"b\": [\n    1\n  ],\n  \"a\": \"x\"\n}",
        ),
        (
            "console.log('line\\nbreak'); return 'say \"hi\"\\n'",
            json!({"logs": ["line\nbreak"], "result": "say \"hi\"\n"}),
            "line\nbreak\nsay \"hi\"\n",
        ),
        (
            "return 9007199254740993n",
            json!({"logs": [], "result": 9_007_199_254_740_993_u64}),
            "9007199254740993",
        ),
        ("console.log(7)", json!({"logs": ["7"]}), "7"),
        ("return null", json!({"logs": [], "result": null}), "null"),
    ] {
        let success = run_code(&session, code).await.unwrap();
        assert_eq!(*success.value, value, "{code}");
        assert_eq!(read(&Ok(success)), text, "{code}");
    }
}

/// CM-23, CM-31: a failure has its place, the logs before it, and every call with its state.
#[tokio::test]
async fn a_failure_tells_where_it_was_and_what_had_happened() {
    let mut limits = RunLimits::default();
    limits.max_parallel_sub_calls = 4;
    let (session, _) = session_with(limits, Vec::new());
    let code = "console.log('before');
for (const n of [1, 2, 3]) await tools.add({ a: n, b: n });
const more = [tools.slow({ ms: 60_000 }), tools.fail({ message: 'no' })];
more.push(...[1, 2, 3, 4, 5].map(() => tools.slow({ ms: 60_000 })));
await Promise.all(more);";
    let failure = failed(run_code(&session, code).await);
    assert_eq!(failure.code, ErrorCode::ToolFailed);
    insta::assert_snapshot!(failure.message);
    let mut details = failure.details.unwrap();
    let members: Vec<_> = details.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["kind", "message", "line", "column", "frame", "stack", "logs", "sub_calls"]);
    for call in details["sub_calls"].as_array_mut().unwrap() {
        call.as_object_mut()
            .unwrap()
            .retain(|name, _| ["id", "tool", "state", "code"].contains(&name.as_str()));
    }
    insta::assert_json_snapshot!(details);
}

/// CM-31: many calls are told in few words, and none is left out.
#[tokio::test]
async fn many_calls_are_told_in_few_words() {
    let code = "for (let n = 0; n < 50; n++) { await tools.add({ a: n, b: n }); }
for (let n = 0; n < 30; n++) { await tools.echo({}); await tools.fail({}).catch(() => {}); }
throw new Error('enough')";
    let message = failed(run_code(&session(), code).await).message;
    let (_, list) = message.split_once("tool calls of this run: ").unwrap();
    assert!(list.starts_with("add finished (50 times), echo finished, fail failed, echo finished"), "{list}");
    assert!(list.ends_with("echo finished, and of the others 21 failed, 20 finished"), "{list}");
}

/// CM-12: what a program cannot print goes to the model with the result, in the order of the calls.
#[tokio::test]
async fn pictures_of_nested_results_are_forwarded() {
    let (session, _) = session_with(RunLimits::default(), vec![picture()]);
    let two = "const [one] = await Promise.all([1, 2].map((from) => tools.picture({ from }))); return one";
    assert_eq!(read(&run_code(&session, two).await), "{\n  \"from\": 1\n}\n[image 1]\n[image 2]");
    // The program takes a failure for granted, and the pictures are there all the same.
    let caught = "await tools.picture({ from: 7, fail: true }).catch((error) => console.log(error.message))";
    assert_eq!(read(&run_code(&session, caught).await), "out of ink\n[image 7]");
    let outer = failed(run_code(&session, "await tools.picture({}); throw 'no'").await);
    assert_eq!(outer.content.len(), 2, "{:?}", outer.content);
    assert!(read(&Err(outer)).ends_with("\n[image 0]"));
}

/// CM-12: there is one limit of blocks, which the host sets, and one note that counts the rest.
#[tokio::test]
async fn one_note_counts_the_blocks_beyond_the_limit() {
    let code = "for (const from of [10, 20, 30]) await tools.picture({ from, count: 5 }); return 'done'";
    let note = |count, most| {
        format!(
            "note: {count} images or other blocks of tools' results were left out beyond the first {most}"
        )
    };
    let (session, _) = session_with(RunLimits::default(), vec![picture()]);
    let eight: String = [10, 11, 12, 13, 14, 20, 21, 22].map(|n| format!("\n[image {n}]")).concat();
    assert_eq!(read(&run_code(&session, code).await), format!("done\n{}{eight}", note(7, 8)));
    let mut limits = RunLimits::default();
    limits.forwarded_blocks = 2;
    let (session, _) = session_with(limits, vec![picture()]);
    assert_eq!(
        read(&run_code(&session, code).await),
        format!("done\n{}\n[image 10]\n[image 11]", note(13, 2))
    );
}

/// CM-21: calls that nobody awaited are named in a note on the result.
#[tokio::test]
async fn a_call_that_nobody_awaited_is_named_on_the_result() {
    let session = session();
    let code = "tools.slow({ ms: 60_000 }); await tools.add({ a: 1, b: 2 }); return 'done'";
    let result = run_code(&session, code).await;
    assert_eq!(
        read(&result),
        "done\nnote: 1 tool call was not awaited when the program ended: slow (aborted after it had started, effects \
         may have happened). Write `await` before the call, or await it with Promise.all"
    );
}

/// CM-19, T-14, T-15: what nested calls hand back goes on to the outer call, whose failure concludes nothing.
#[tokio::test]
async fn what_nested_calls_hand_back_reaches_the_outer_result() {
    let later = Tool::builder("later")
        .foreign_parameters(json!({"type": "object"}))
        .foreign_output(json!({}))
        .handler(|args: Value, context: ToolContext| async move {
            context.defer_context(args["say"].as_str().unwrap_or_default());
            context.conclude_turn();
            Ok::<_, ToolError>(Value::Null)
        });
    let (session, store) = session_with(RunLimits::default(), vec![later.unwrap()]);
    let code = "await Promise.all(['a', 'b'].map((say) => tools.later({ say })));";
    let texts = |deferred: &[isolane::outcome::DeferredContext]| -> Vec<String> {
        deferred.iter().map(|message| message.text.clone()).collect()
    };
    let success = run_code(&session, code).await.unwrap();
    assert_eq!(
        (texts(&success.deferred), success.concludes_turn),
        (vec!["a".to_owned(), "b".to_owned()], true)
    );
    let failure = failed(run_code(&session, &format!("{code} throw 'no'")).await);
    assert_eq!(texts(&failure.deferred), ["a", "b"]);
    let events = store.events();
    let concluded: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ToolResult(result) => Some(result.concludes_turn),
            _ => None,
        })
        .collect();
    assert_eq!(concluded, [true, false]);
}
