//! What the ledger tells of a call of `run_code`, and in which order (section 8).
//!
//! Owns the runs that end by themselves and those that are ended from outside. It reads events only.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use isolane::step::StepCall;

use super::*;

/// A sub-call inside its run, and the run inside the call that carries it.
const A_RUN_OF_ONE_CALL: [&str; 6] = [
    "tool/call call-1",
    "run/start call-1",
    "tool/code-dispatch-start call-1:code:1 of call-1",
    "tool/code-dispatch call-1:code:1 of call-1",
    "run/end call-1",
    "tool/result call-1",
];

/// L-1, L-2: a run is recorded in its session's ledger, under the call that carries it.
#[tokio::test]
async fn the_run_is_recorded_inside_its_call() {
    let (session, store) = session_with(RunLimits::default(), Vec::new());
    run_code(&session, "return await tools.add({ a: 1, b: 2 })").await.unwrap();
    let told: Vec<_> = store.events().iter().map(|event| told(&event.body)).collect();
    assert_eq!(told, A_RUN_OF_ONE_CALL);
}

fn told(body: &EventBody) -> String {
    let data = serde_json::to_value(body).unwrap();
    let of = data["data"]["root"].as_str().map(|root| format!(" of {root}")).unwrap_or_default();
    format!("{} {}{of}", body.kind(), data["data"]["call"].as_str().unwrap_or_default())
}

/// L-5, P-14, CM-23, CM-31: an outer cancellation ends the run; what has started comes to rest, is recorded and is
/// told before the outer result is written.
#[tokio::test]
async fn a_cancelled_call_drains_its_run_before_its_result_is_written() {
    let (running, log) = (Arc::new(Notify::new()), Arc::new(Mutex::new(Vec::new())));
    let tool = |name: &'static str, class| {
        let (running, log) = (Arc::clone(&running), Arc::clone(&log));
        Tool::builder(name)
            .foreign_parameters(json!({"type": "object"}))
            .foreign_output(json!({}))
            .concurrency(class)
            .handler(move |_args: Value, context: ToolContext| {
                let (running, log) = (Arc::clone(&running), Arc::clone(&log));
                async move {
                    running.notify_one();
                    context.cancel.cancelled().await;
                    // A body that takes a while to come to rest.
                    for _ in 0..50 {
                        tokio::task::yield_now().await;
                    }
                    log.lock().unwrap().push(name);
                    Ok::<_, ToolError>(Value::Null)
                }
            })
            .unwrap()
    };
    let tools = vec![tool("watched", Concurrency::Parallel), tool("alone", Concurrency::Exclusive)];
    let (session, store) = session_with(RunLimits::default(), tools);
    let cancel = CancellationToken::new();
    let code = "console.log('begun'); try { await Promise.all([tools.watched({}), tools.alone({})]); } catch {} \
                for (;;) {}";
    let args = json!({"code": code, "description": "Never ends"});
    let (result, ()) = tokio::join!(session.call_with("run_code", args, cancel.clone()), async {
        running.notified().await;
        cancel.cancel();
    });
    let failure = failed(result);
    assert_eq!(failure.code, ErrorCode::Aborted);
    assert_eq!(*log.lock().unwrap(), ["watched"]);
    let events = store.events();
    let told: Vec<_> = events.iter().map(|event| told(&event.body)).collect();
    assert_eq!(told, A_RUN_OF_ONE_CALL);
    let EventBody::CodeDispatch(settled) = &events[3].body else { unreachable!("{events:?}") };
    assert_eq!(settled.code, Some(ErrorCode::Aborted));
    // The model reads, and the host gets, all that a failed run has to tell.
    insta::assert_snapshot!(read(&Err(failure.clone())), @r"
    `run_code` was cancelled after it had started; effects may have happened
    begun
    abort: the run was cancelled
    note: the program had no outcome yet of 2 tool calls when the run ended: watched (aborted after it had started, effects may have happened), alone (never started, nothing happened)
    tool calls of this run: watched aborted, alone not-started
    ");
    let details = &failure.details.unwrap()["details"];
    assert_eq!((&details["kind"], &details["logs"]), (&json!("abort"), &json!(["begun"])));
    let states: Vec<_> = details["sub_calls"].as_array().unwrap().iter().map(|call| &call["state"]).collect();
    assert_eq!(states, ["aborted", "not-started"]);
}

/// S-1, S-3, CM-4, L-1: a step runs programs beside native calls; a program is exclusive, and its own calls stay inside
/// it.
#[tokio::test]
async fn a_step_holds_programs_and_native_calls() {
    let (ledger, store) = Ledger::in_memory("s".into(), SystemClock::shared());
    let host = host(PresentationMode::Both, RunLimits::default(), Vec::new());
    let session = host.session(SessionOptions::new("s").ledger(ledger)).unwrap();
    let program = |code| json!({"code": code, "description": "A test"});
    let outcome = session
        .execute_step(vec![
            StepCall::new("a", "add", json!({"a": 1, "b": 1})),
            StepCall::new("b", "run_code", program("return await tools.add({ a: 1, b: 2 })")),
            StepCall::new("c", "run_code", program("throw new Error('no')")),
            StepCall::new("d", "add", json!({"a": 2, "b": 2})),
        ])
        .await
        .unwrap();
    let texts: Vec<_> = outcome.results.iter().map(|result| read(&result.result)).collect();
    assert_eq!((&*texts[0], &*texts[1], &*texts[3]), ("2", "3", "4"));
    assert!(texts[2].contains("Error: no"), "{}", texts[2]);
    assert_eq!(outcome.results[2].result.as_ref().unwrap_err().code, ErrorCode::ToolFailed);
    let told: Vec<_> = store.events().iter().map(|event| told(&event.body)).collect();
    assert_eq!(
        told,
        [
            "tool/call a",
            "tool/result a",
            "tool/call b",
            "run/start b",
            "tool/code-dispatch-start b:code:1 of b",
            "tool/code-dispatch b:code:1 of b",
            "run/end b",
            "tool/result b",
            "tool/call c",
            "run/start c",
            "run/end c",
            "tool/result c",
            "tool/call d",
            "tool/result d",
        ]
    );
}
