//! Policies hold for the calls inside a program as for native ones.

use std::sync::Arc;
use std::time::Duration;

use isolane::engine::{InProcessOptions, InProcessRuntime};
use isolane::host::{Host, HostBuilder, Session, SessionOptions};
use isolane::ledger::{Ledger, MemoryStore};
use isolane::pipeline::{ApprovalAnswer, BoxFuture, Call, Decision, PreExecute, PreNext};
use isolane::policy::TimeoutPolicy;
use isolane::policy::approval::{Approvals, ScriptedAnswerer};
use isolane::tool::{Tool, ToolContext, ToolError};
use serde_json::{Value, json};

fn session(builder: HostBuilder) -> (Session, MemoryStore) {
    let host = builder.runtime(InProcessRuntime::new(&InProcessOptions::default())).build().unwrap();
    host.registry().open_scope("agent".into(), None).unwrap();
    host.pipeline().add_pre(None, Arc::new(AskAboutWriting)).keep();
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(host.clock()));
    let session = host.session(SessionOptions::new("s").scope("agent").ledger(ledger)).unwrap();
    session.set_turn(Some(1));
    (session, store)
}

struct AskAboutWriting;

impl PreExecute for AskAboutWriting {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        match call.tool.as_str() {
            "write" => Box::pin(std::future::ready(Decision::Ask { reason: Some("it writes".to_owned()) })),
            _ => next.decide(),
        }
    }
}

fn write() -> Tool {
    Tool::builder("write")
        .output(json!({"type": "string"}))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!("written")) })
        .unwrap()
}

/// Ends when it is told to stop, and not before.
fn endless() -> Tool {
    Tool::builder("endless")
        .output(json!({"type": "null"}))
        .timeout(Duration::from_secs(3_600))
        .handler(|_args: Value, context: ToolContext| async move {
            context.cancel.cancelled().await;
            Err::<Value, _>(ToolError::failed("stopped"))
        })
        .unwrap()
}

/// PO-6, CM-4: a sub-call that is stopped by its timeout is an error that the program can catch, and the run goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_ends_one_call_of_a_program_and_not_the_run() {
    let policy = TimeoutPolicy::new().limit("endless", Duration::from_millis(20));
    let (session, _) = session(Host::builder().tools([endless(), write()]).policy(policy));
    let outcome = session
        .run(
            r"
            try { await tools.endless({}) } catch (error) { console.log(error.code, error.message) }
            return 'went on'",
        )
        .await;
    assert_eq!(outcome.result, Ok(Some(json!("went on"))));
    assert_eq!(
        outcome.logs,
        [
            "TOOL_TIMEOUT `endless` did not finish within 20 ms and was told to stop; effects may have happened. Ask it \
          for less at a time"
        ]
    );
    assert_eq!(outcome.sub_calls[0].code, Some(isolane::outcome::ErrorCode::ToolTimeout));
}

/// PO-8, P-2, L-1: each sub-call has a question of its own, which answers the sub-call's event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_program_are_asked_about_one_by_one() {
    let script = ScriptedAnswerer::new([ApprovalAnswer::AllowedOnce]);
    let approvals = Approvals::new().answerer(script);
    let (session, store) = session(Host::builder().tools([write()]).approvals(approvals));
    let outcome = session
        .run(
            "const first = await tools.write({}); return [first, await tools.write({}).catch((e) => e.code)]",
        )
        .await;
    assert_eq!(outcome.result, Ok(Some(json!(["written", "APPROVAL_REJECTED"]))));
    let events = store.events();
    let seq_of = |source: u64| events[usize::try_from(source).unwrap() - 1].body.kind();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            assert_eq!(event.turn, Some(1));
            let sources: Vec<_> = event.source_seqs.iter().map(|source| seq_of(*source)).collect();
            format!("{} <- {}", event.body.kind(), sources.join(" "))
        })
        .filter(|told| told.starts_with("approval"))
        .collect();
    assert_eq!(
        told,
        [
            "approval/asked <- tool/code-dispatch-start",
            "approval/decided <- approval/asked",
            "approval/asked <- tool/code-dispatch-start",
            "approval/decided <- approval/asked",
        ]
    );
}
