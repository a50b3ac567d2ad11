//! Programs as models write them, on the whole runtime.
//!
//! Owns the ways to write a program and to get something out of it (CM-6, CM-7). What the preparation of programs
//! does to a text in detail is tested beside it.

use isolane::ledger::EventBody;
use serde_json::json;

use crate::support::{Host, said};

/// CM-7
#[tokio::test]
async fn a_program_may_be_written_in_many_ways() {
    let host = Host::new();
    for program in [
        "return await tools.add({ a: 1, b: 2 })",
        "const sum = await tools.add({ a: 1, b: 2 });\nsum",
        "async () => await tools.add({ a: 1, b: 2 })",
        "async function main() { return await tools.add({ a: 1, b: 2 }) }",
        "export default async function () { return await tools.add({ a: 1, b: 2 }) }",
        "```ts\nreturn await tools.add({ a: 1, b: 2 })\n```",
        "return tools.add({ a: 1, b: 2 })",
    ] {
        let outcome = host.run(program).await;
        assert_eq!(outcome.result, Ok(Some(json!(3))), "{program}: {}", said(&outcome));
    }
}

/// CM-23, CM-29
#[tokio::test]
async fn lines_come_in_order_across_levels_and_before_a_failure() {
    let program = "console.log('a', { b: 1 }); console.error('c'); print('d'); console.debug('e'); throw new Error('end')";
    let outcome = Host::new().run(program).await;
    assert_eq!(said(&outcome), "exception: Error: end\nlog a { b: 1 }\nlog c\nlog d\nlog e");
}

/// CM-16, CM-23
#[tokio::test]
async fn a_failure_points_into_the_program() {
    let host = Host::new();
    let outcome = host
        .run("const a = 1;\nconst f = async () => {\n  await tools.fail({ message: 'no' });\n};\nawait f();")
        .await;
    let failure = outcome.result.unwrap_err();
    assert_eq!(failure.message, "ToolCallError (fail, TOOL_FAILED): no");
    assert_eq!(failure.line, Some(3));
    assert!(failure.frame.is_some_and(|frame| frame.contains("await tools.fail({ message: 'no' });")));
    assert!(failure.stack.is_some_and(|stack| stack.contains("at f (program:3:")));
}

/// CM-24
#[tokio::test]
async fn timers_and_calls_keep_a_program_alive() {
    let program = "await new Promise((done) => setTimeout(done, 5)); return await tools.slow({ ms: 5 })";
    assert_eq!(said(&Host::new().run(program).await), "value 5");
}

/// T5. Calls that are left are another matter, see CM-21.
#[tokio::test]
async fn a_timer_that_is_left_is_told_of() {
    let outcome = Host::new().run("setTimeout(() => console.log('late'), 10); return 1").await;
    insta::assert_snapshot!(outcome.notes.join("\n"), @"1 timer was still waiting when the program ended, and what it would have done did not happen; await a promise that the timer settles");
}

/// CM-19, CM-25, L-2: outcomes are taken one by one, however many come together: what a program does with one of them, to
/// the last tick, is done before it has the next.
#[tokio::test]
async fn outcomes_that_come_together_are_taken_one_by_one() {
    let host = Host::new();
    // Refused by the host, so their outcomes come at once. When the program returns, the second has not failed yet.
    let two = "const first = tools.add({ a: 'x' }), second = tools.add({ a: 'y' });";
    let program = format!("{two} try {{ await first }} catch {{ return 'returned' }}");
    assert_eq!(host.run(&program).await.result, Ok(Some(json!("returned"))));
    // The way from the first outcome to the next call is longer than that from the second.
    let program = format!(
        "{two}
        const far = async () => {{ try {{ await Promise.all([Promise.all([first])]) }} catch {{ await tools.echo({{ n: 1 }}) }} }};
        const near = async () => {{ try {{ await second }} catch {{ await tools.echo({{ n: 2 }}) }} }};
        await Promise.all([far(), near()]);"
    );
    let outcome = host.run(&program).await;
    assert!(outcome.result.is_ok(), "{}", said(&outcome));
    let started = host.events().into_iter().filter_map(|event| match event.body {
        EventBody::CodeDispatchStart(data) if data.tool.as_str() == "echo" => {
            Some(data.arguments["n"].clone())
        }
        _ => None,
    });
    assert_eq!(started.collect::<Vec<_>>(), [json!(1), json!(2)]);
}
