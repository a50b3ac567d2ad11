//! What a deployment is wired with, without an engine.

mod transcript;

use serde_json::{Value, json};

use super::*;
use crate::clock::ManualClock;
use crate::ids::ToolName;
use crate::ledger::EventBody;
use crate::outcome::{CallResult, ErrorCode};
use crate::pipeline::{ApprovalAnswer, Call, Decision, PreExecute, PreNext};
use crate::policy::approval::ScriptedAnswerer;
use crate::tool::{ToolContext, ToolError};

/// Declares a timeout of two seconds, and works until it is told to stop.
fn endless() -> Tool {
    Tool::builder("endless")
        .output(json!({"type": "null"}))
        .timeout(Duration::from_secs(2))
        .handler(|_args: Value, context: ToolContext| async move {
            context.cancel.cancelled().await;
            Err(ToolError::failed("stopped"))
        })
        .unwrap()
}

async fn after(clock: &ManualClock, session: &Session, times: &[u64]) -> Vec<bool> {
    let calling = session.clone();
    let task = tokio::spawn(async move { calling.call("endless", json!({})).await });
    let mut ended = Vec::new();
    for seconds in times {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(*seconds));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        ended.push(task.is_finished());
    }
    assert_eq!(code(&task.await.unwrap()), Some(ErrorCode::ToolTimeout));
    ended
}

fn code(result: &CallResult) -> Option<ErrorCode> {
    result.as_ref().err().map(|failure| failure.code)
}

/// PO-6: a timeout that a tool declares holds in every deployment, unless the host has said otherwise.
#[tokio::test]
async fn declared_timeouts_are_held_by_default() {
    let clock = ManualClock::new();
    let host = || Host::builder().tools([endless()]).clock(Arc::new(clock.clone()));
    let session = host().build().unwrap().session(SessionOptions::new("s")).unwrap();
    assert_eq!(after(&clock, &session, &[1, 1]).await, [false, true]);
    let longer = TimeoutPolicy::new().limit("endless", Duration::from_secs(5));
    let session = host().policy(longer).build().unwrap().session(SessionOptions::new("s")).unwrap();
    assert_eq!(after(&clock, &session, &[4, 1]).await, [false, true]);
    // The last one counts.
    let longest = TimeoutPolicy::new().limit("endless", Duration::from_secs(5));
    let builder = host().policy(longest).policy(TimeoutPolicy::new());
    let session = builder.build().unwrap().session(SessionOptions::new("s")).unwrap();
    assert_eq!(after(&clock, &session, &[1, 1]).await, [false, true]);
}

#[derive(Debug)]
struct AskAbout(ToolName);

impl PreExecute for AskAbout {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> crate::pipeline::BoxFuture<'a, Decision> {
        if call.tool == self.0 {
            return Box::pin(std::future::ready(Decision::Ask { reason: None }));
        }
        next.decide()
    }
}

/// PO-8, P-2: the host's sessions are where questions belong and are recorded, after the call and before its result.
#[tokio::test]
async fn a_question_belongs_to_the_turn_of_its_session() {
    let now = Tool::builder("now")
        .output(json!({"type": "null"}))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
        .unwrap();
    let script = ScriptedAnswerer::new([ApprovalAnswer::AllowedOnce, ApprovalAnswer::AllowedOnce]);
    let host = Host::builder().tools([now]).approvals(Approvals::new().answerer(script)).build().unwrap();
    host.registry().open_scope("agent".into(), None).unwrap();
    host.pipeline().add_pre(None, Arc::new(AskAbout("now".into()))).keep();

    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(host.clock()));
    let session = host.session(SessionOptions::new("s").scope("agent").ledger(ledger)).unwrap();
    assert_eq!(code(&session.call("now", json!({})).await), Some(ErrorCode::ApprovalUnavailable));
    session.set_turn(Some(1));
    assert_eq!(code(&session.call("now", json!({})).await), None);
    let told: Vec<_> = store
        .events()
        .iter()
        .map(|event| (event.turn, event.body.kind().to_owned(), event.source_seqs.clone()))
        .collect();
    assert_eq!(
        told,
        [
            (None, "tool/call".to_owned(), vec![]),
            (None, "tool/result".to_owned(), vec![1]),
            (Some(1), "tool/call".to_owned(), vec![]),
            (Some(1), "approval/asked".to_owned(), vec![3]),
            (Some(1), "approval/decided".to_owned(), vec![4]),
            (Some(1), "tool/result".to_owned(), vec![3]),
        ]
    );
    assert!(
        matches!(&store.events()[3].body, EventBody::ApprovalAsked(asked) if asked.call.as_str() == "call-2")
    );

    // A session that keeps no events has turns all the same; one outside of every scope has nobody to ask.
    let unrecorded = host.session(SessionOptions::new("t").scope("agent")).unwrap();
    unrecorded.set_turn(Some(1));
    assert_eq!(code(&unrecorded.call("now", json!({})).await), None);
    let outside = host.session(SessionOptions::new("u")).unwrap();
    outside.set_turn(Some(1));
    assert_eq!(code(&outside.call("now", json!({})).await), Some(ErrorCode::Denied));
}

/// P-2, PO-8: without anybody to ask, a question is a denial.
#[tokio::test]
async fn a_host_without_approvals_denies_what_needs_one() {
    let host = Host::builder().tools([endless()]).build().unwrap();
    host.registry().open_scope("agent".into(), None).unwrap();
    host.pipeline().add_pre(None, Arc::new(AskAbout("endless".into()))).keep();
    let session = host.session(SessionOptions::new("s").scope("agent")).unwrap();
    session.set_turn(Some(1));
    assert_eq!(
        session.call("endless", json!({})).await.unwrap_err().to_string(),
        "DENIED: `endless` needs approval, and this deployment has nobody to ask"
    );
}

/// E-1: programs run in child processes unless the host says otherwise; a host that cannot be its own child is told which
/// line is missing, and one that has no mode with `run_code` needs none.
#[cfg(feature = "engine")]
#[test]
fn a_host_that_cannot_be_a_child_is_told_which_line_is_missing() {
    // The harness of these tests never calls it.
    let refused = |mode| Host::builder().mode(mode).build().unwrap_err().to_string();
    for mode in [PresentationMode::Code, PresentationMode::Both] {
        let told = refused(mode);
        assert!(told.contains("does not begin with the line `isolane::child::run_if_child();`"), "{told}");
        assert!(told.contains("ChildProgram::At"), "{told}");
    }
    assert!(Host::builder().build().is_ok());
}
