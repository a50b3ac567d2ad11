//! Situations that users of such systems report, each with what must happen here.
//!
//! Owns one test per situation. The kind is what matters: each test has a neighbour or two of the reported input.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isolane::clock::{Clock, SystemClock};
use isolane::ledger::EventBody;
use isolane::limits::RunLimits;
use isolane::outcome::{RunFailureKind, SubCallState};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};

use crate::support::{Host, said, small_limits, tool, tools};

/// A host with a `read` tool (a file that is there and one that is not) and a `write` tool that fails, beside others.
fn host_with_files() -> Host {
    let mut all = tools();
    all.push(tool("read", &json!({"file_path": {"type": "string"}}), &["file_path"], |args| {
        match args["file_path"].as_str() {
            Some("a.txt") => Ok(json!({"text": "hello"})),
            _ => Err(ToolError::failed("there is no file `nope`; there is `a.txt`")),
        }
    }));
    all.push(tool("write", &json!({"file_path": {"type": "string"}}), &["file_path"], |_args| {
        Err(ToolError::failed("the disk is full"))
    }));
    Host::with_tools(RunLimits::default(), all)
}

/// CM-7: a typed function and a return inside a Markdown fence is a program.
#[tokio::test]
async fn case_1_a_program_inside_a_fence_runs() {
    let host = Host::new();
    let body = "const sum = (xs: number[]): number => xs.reduce((a, b) => a + b, 0); return sum([1,2,3])";
    for program in [format!("```ts\n{body}\n```"), format!("```\n{body}\n```"), body.to_owned()] {
        let outcome = host.run(&program).await;
        assert_eq!(outcome.result, Ok(Some(json!(6))), "{program}: {}", said(&outcome));
    }
}

/// CM-6: a model that forgets to print is told that a call ran and that its value was dropped.
#[tokio::test]
async fn case_2_a_value_that_nobody_sees_is_pointed_out() {
    let host = host_with_files();
    let outcome = host.run("await tools.read({file_path: \"a.txt\"})").await;
    assert_eq!(
        said(&outcome),
        "nothing\nnote 1 tool call ran and its value was dropped, because nothing was printed or returned. Print with \
         console.log(...) or `return` what you need"
    );
    let printed = host.run("console.log(await tools.read({file_path: \"a.txt\"}))").await;
    assert_eq!(said(&printed), "nothing\nlog { text: 'hello' }");
}

/// CM-24: waiting for what can never come ends at once, and names the line.
#[tokio::test]
async fn case_3_a_wait_without_an_end_is_a_deadlock() {
    let outcome = Host::new().run("const a = 1;\nawait new Promise(() => {})").await;
    let failure = outcome.result.unwrap_err();
    assert_eq!(failure.kind, RunFailureKind::Deadlock);
    assert_eq!(failure.line, Some(2));
    assert!(failure.message.contains("line 2"), "{}", failure.message);
    assert!(outcome.stats.wall_ms < 5_000, "{} ms", outcome.stats.wall_ms);
}

/// E-7: loops of every kind end by the busy limit, and the host goes on.
#[tokio::test]
async fn case_4_endless_loops_of_every_kind_end() {
    let host = Host::with_limits(small_limits());
    for program in [
        "while (true) {}",
        "for (;;) await null",
        r#"/^(a+)+$/.test("a".repeat(40) + "b")"#,
        "({ get x() { for (;;); } }).x",
        "[3,2,1].sort(() => { for (;;); })",
    ] {
        let outcome = host.run(program).await;
        let kind = outcome.result.as_ref().map_err(|failure| failure.kind);
        assert_eq!(kind, Err(RunFailureKind::BusyTimeout), "{program}: {}", said(&outcome));
        let next = host.run_limited("return await tools.add({a: 1, b: 2})", RunLimits::default()).await;
        assert_eq!(next.result, Ok(Some(json!(3))), "after {program}: {}", said(&next));
    }
}

/// CM-21, CM-25, CM-31: a call that nobody awaited and that fails is never part of a plain success.
#[tokio::test]
async fn case_5_a_forgotten_call_is_named_with_its_state() {
    let host = host_with_files();
    // It had no chance to start.
    let outcome = host.run("tools.write({file_path: \"x\"}); return 'done'").await;
    assert_eq!(outcome.result, Ok(Some(json!("done"))));
    assert_eq!(outcome.sub_calls[0].state, SubCallState::NotStarted);
    assert_eq!(outcome.notes.len(), 1);
    assert!(outcome.notes[0].contains("write (never started, nothing happened)"), "{}", outcome.notes[0]);
    // It started and failed while the program went on.
    let outcome =
        host.run("tools.write({file_path: \"x\"}); await tools.add({a: 1, b: 2}); return 'done'").await;
    assert!(
        outcome.result.as_ref().is_err_and(|failure| failure.message.contains("the disk is full")),
        "{}",
        said(&outcome)
    );
    assert_eq!(outcome.sub_calls[0].state, SubCallState::Failed);
}

/// CM-17, CM-31, L-5: one failure among 200 parallel calls is that call's failure, and all is accounted for.
#[tokio::test]
async fn case_6_one_of_200_parallel_calls_fails() {
    let picky = tool("picky", &json!({"n": {"type": "integer"}}), &["n"], |args| match args["n"].as_u64() {
        Some(137) => Err(ToolError::failed("137 is not for sale")),
        _ => Ok(args["n"].clone()),
    });
    let host = Host::with_tools(RunLimits::default(), vec![picky]);
    let program = "
        const calls = Array.from({ length: 200 }, (_, n) => tools.picky({ n }));
        const settled = await Promise.allSettled(calls);
        try { await Promise.all(calls); return 'no rejection' } catch (error) {
            return [error.toolName, error.message, settled.filter((it) => it.status === 'fulfilled').length,
                settled[136].value, settled[137].reason === error];
        }";
    let outcome = host.run(program).await;
    assert_eq!(said(&outcome), r#"value ["picky","137 is not for sale",199,136,true]"#);
    assert_eq!(outcome.sub_calls.len(), 200);
    let failed: Vec<_> =
        outcome.sub_calls.iter().filter(|call| call.state != SubCallState::Finished).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].id.as_str(), failed[0].state), ("r1:code:138", SubCallState::Failed));
    let events = host.events();
    let started = events.iter().filter(|event| matches!(event.body, EventBody::CodeDispatchStart(_))).count();
    let settled = events.iter().filter(|event| matches!(event.body, EventBody::CodeDispatch(_))).count();
    assert_eq!((started, settled), (200, 200));
    // Without the wait, the rejection is the program's, and every call that started is settled all the same.
    let outcome =
        host.run("return await Promise.all(Array.from({ length: 200 }, (_, n) => tools.picky({ n })))").await;
    assert_eq!(
        said(&outcome).lines().next(),
        Some("exception: ToolCallError (picky, TOOL_FAILED): 137 is not for sale")
    );
    assert_eq!(isolane::ledger::unsettled(&host.events()).len(), 0);
}

/// CM-10, R-12: names that are no identifiers, or differ in spelling only, are tools of their own.
#[tokio::test]
async fn case_7_odd_names_are_callable_and_none_merge() {
    let program = r#"
        const names = ["fetch-url", "get_user", "getUser", "a.b", "then", "__proto__"];
        const seen = [];
        for (const name of names) seen.push((await tools[name]({ name })).tool);
        return [seen, (await tools.then({})).tool, (await tools.getUser({})).tool, (await tools.__proto__({})).tool];
    "#;
    assert_eq!(
        said(&Host::new().run(program).await),
        r#"value [["fetch-url","get_user","getUser","a.b","then","__proto__"],"then","getUser","__proto__"]"#
    );
}

/// CM-29: a printed promise says that it was not awaited.
#[tokio::test]
async fn case_8_a_printed_promise_hints_at_await() {
    let outcome = host_with_files().run("console.log(tools.read({file_path: \"a.txt\"})); return;").await;
    assert_eq!(outcome.logs, ["Promise { <pending> } (this promise was not awaited: write await before it)"]);
}

/// CM-16: what a program catches of a failed call is an error that tells what failed and why.
#[tokio::test]
async fn case_9_a_caught_failure_is_useful() {
    let program = "try { await tools.read({file_path: \"nope\"}) } catch (e) { \
                   return [e instanceof ToolCallError, e.toolName, e.code, e.message] }";
    assert_eq!(
        said(&host_with_files().run(program).await),
        r#"value [true,"read","TOOL_FAILED","there is no file `nope`; there is `a.txt`"]"#
    );
}

/// CM-32: a shell command is recognised, and the tool that runs commands is named if there is one.
#[tokio::test]
async fn case_10_a_shell_command_is_told_from_a_program() {
    let failure = Host::new().run("ls -la").await.result.unwrap_err();
    assert_eq!(failure.kind, RunFailureKind::Syntax);
    assert!(failure.message.contains("shell command"), "{}", failure.message);
    assert!(failure.message.contains("no visible tool runs commands"), "{}", failure.message);
    let shell = tool("run_command", &json!({"command": {"type": "string"}}), &["command"], Ok);
    let host = Host::with_tools(RunLimits::default(), vec![shell]);
    let failure = host.run("ls -la").await.result.unwrap_err();
    assert!(failure.message.contains("tools.run_command"), "{}", failure.message);
}

/// CM-23: output over its limit is a typed failure that keeps the lines, and never a value that was cut.
#[tokio::test]
async fn case_11_output_over_the_limit_is_never_cut_in_the_middle() {
    let mut limits = RunLimits::default();
    limits.output_bytes = 24_000;
    let host = Host::with_limits(limits);
    let row = "{ id: i, name: 'row ' + i }";
    let program = format!("console.log('before'); return Array.from({{ length: 1500 }}, (_, i) => ({row}))");
    let outcome = host.run(&program).await;
    let failure = outcome.result.unwrap_err();
    assert_eq!(failure.kind, RunFailureKind::OutputLimit);
    assert!(failure.message.contains("of 24000 are left for it"), "{}", failure.message);
    assert_eq!(outcome.logs, ["before"]);
    // Compact JSON counts: this is over the limit only when it is printed with line breaks.
    let program = "return Array.from({ length: 5000 }, () => 123)";
    let outcome = host.run(program).await;
    assert_eq!(outcome.result.unwrap().unwrap().as_array().map(Vec::len), Some(5000));
}

/// CM-8, CM-9: habits from other systems are answered with what exists here.
#[tokio::test]
async fn case_12_habits_of_other_systems_are_answered() {
    let host = host_with_files();
    for (program, kind) in [
        ("const fs = require(\"fs\")", RunFailureKind::Exception),
        ("import fs from \"node:fs\"", RunFailureKind::Syntax),
        ("await fs.readFile(\"x\")", RunFailureKind::Exception),
        ("await functions.write({})", RunFailureKind::Exception),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert_eq!(failure.kind, kind, "{program}: {failure}");
        assert!(failure.message.contains("tools"), "{program}: {failure}");
    }
    for (program, nearest) in [
        ("import fs from \"node:fs\"", "tools.read"),
        ("await fs.readFile(\"x\")", "tools.read"),
        ("const fs = require(\"fs\")", "tools.read"),
        ("await functions.write({})", "await tools.write({"),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert!(failure.message.contains(nearest), "{program}: {failure}");
    }
}

/// CM-10, CM-13: positional arguments are refused with the right call, spelled from the schema.
#[tokio::test]
async fn case_14_positional_arguments_are_answered_with_the_right_call() {
    let outcome = host_with_files().run("await tools.read(\"a.txt\", 5)").await;
    assert_eq!(
        said(&outcome),
        "exception: TypeError: arguments are one object: await tools.read({file_path: string}) (given a string and 1 more)"
    );
    assert!(outcome.sub_calls.is_empty());
}

/// P-16: a misspelt property is named with the nearest one.
#[tokio::test]
async fn case_15_a_misspelt_property_is_named_with_the_nearest() {
    let strict = Tool::builder("read")
        .description("Reads.")
        .parameters(json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
            "additionalProperties": false,
        }))
        .foreign_output(json!({}))
        .handler(|_args: Value, _context: ToolContext| async move { Ok(json!(1)) })
        .unwrap();
    let host = Host::with_tools(RunLimits::default(), vec![strict]);
    let failure = host.run("await tools.read({file_pth: \"a.txt\"})").await.result.unwrap_err();
    assert!(failure.message.contains("file_pth"), "{failure}");
    assert!(failure.message.contains("`file_path`"), "{failure}");
}

/// CM-13, CM-15: values that JSON cannot hold say what to return instead; integers keep every digit.
#[tokio::test]
async fn case_16_values_that_json_cannot_hold_say_what_to_return() {
    let host = Host::new();
    for (program, word) in [
        ("return new Map([[\"a\", 1]])", "return Object.fromEntries(map)"),
        ("return NaN", "return null"),
        ("const o = {}; o.self = o; return o", "result.self is the same object as result"),
        ("return () => 1", "return what it gives when called"),
    ] {
        let failure = host.run(program).await.result.unwrap_err();
        assert_eq!(failure.kind, RunFailureKind::InvalidOutput, "{program}: {failure}");
        assert!(failure.message.contains(word), "{program}: {failure}");
    }
    assert_eq!(said(&host.run("return {id: 9007199254740993n}").await), r#"value {"id":9007199254740993}"#);
}

/// P-14, E-6: work that takes longer than its limit is never a success, whatever the program makes of it.
#[tokio::test]
async fn case_17_a_call_that_outlasts_the_limit_is_no_success() {
    let mut limits = RunLimits::default();
    limits.wall = Duration::from_millis(100);
    let host = Host::with_limits(limits);
    for program in [
        "return await tools.slow({ms: 800})",
        "try { await tools.slow({ms: 800}) } finally { return 'fine' }",
        "return await tools.slow({ms: 800}).catch(() => 'fine')",
    ] {
        let outcome = host.run(program).await;
        let kind = outcome.result.as_ref().map_err(|failure| failure.kind);
        assert_eq!(kind, Err(RunFailureKind::WallTimeout), "{program}: {}", said(&outcome));
        assert_eq!(outcome.sub_calls[0].state, SubCallState::Aborted, "{program}");
    }
}

/// CM-18, E-7: time in the queue is nobody's: 40 calls of which 10 run at a time all succeed.
#[tokio::test]
async fn case_18_time_in_the_queue_is_nobodys() {
    let running = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
    let counted = Arc::clone(&running);
    let work = Tool::builder("work")
        .description("Takes its time.")
        .parameters(json!({"type": "object", "properties": {}}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |_args: Value, _context: ToolContext| {
            let counted = Arc::clone(&counted);
            async move {
                let now = counted.0.fetch_add(1, Ordering::SeqCst) + 1;
                {
                    let mut most = counted.1.lock().unwrap();
                    *most = (*most).max(now);
                }
                SystemClock::new().sleep(Duration::from_millis(20)).await;
                counted.0.fetch_sub(1, Ordering::SeqCst);
                Ok(json!("done"))
            }
        })
        .unwrap();
    let mut limits = RunLimits::default();
    limits.max_parallel_sub_calls = 10;
    // Less than the 80 ms that the calls take one batch after the other.
    limits.busy = Duration::from_millis(60);
    let host = Host::with_tools(limits, vec![work]);
    let program =
        "const all = await Promise.all(Array.from({ length: 40 }, () => tools.work({}))); return all.length";
    let outcome = host.run(program).await;
    assert_eq!(said(&outcome), "value 40");
    assert_eq!(outcome.stats.peak_parallel, 10);
    assert_eq!(*running.1.lock().unwrap(), 10);
}
