//! One question: its events, its answer, and the ways it can end without one.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock::ManualClock;
use crate::ids::SessionId;
use crate::ledger::{EventBody, LedgerEvent, LedgerOptions, MemoryStore, StoreError, ToolCall, WatchedStore};
use crate::limits::CallLimits;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::CallRequest;
use crate::registry::{Registry, Target};
use crate::tool::{Tool, ToolContext, ToolError};

#[derive(Debug)]
struct Sessions(BTreeMap<SessionId, Ledger>);

impl SessionLedgers for Sessions {
    fn ledger(&self, session: &SessionId) -> Option<Ledger> {
        self.0.get(session).cloned()
    }
}

/// Asks about every call of the tool `act`.
struct AskAbout;

impl PreExecute for AskAbout {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        match call.tool.as_str() {
            "act" => Box::pin(std::future::ready(Decision::Ask { reason: Some("it acts".to_owned()) })),
            _ => next.decide(),
        }
    }
}

struct Bench {
    pipeline: Pipeline,
    ledger: Ledger,
    store: MemoryStore,
    bodies: Arc<Mutex<u32>>,
}

impl Bench {
    fn new(approvals: Approvals) -> Self {
        let (ledger, store) = Ledger::in_memory("s".into(), Arc::new(ManualClock::new()));
        Self::on(ledger, store, approvals)
    }

    /// On a store with a thread, which asks `before` ahead of every append, and with room for one event in the queue.
    fn watched<F>(approvals: Approvals, before: F) -> Self
    where
        F: FnMut(&[LedgerEvent]) -> Result<(), StoreError> + Send + 'static,
    {
        let kept = MemoryStore::new();
        let store = Box::new(WatchedStore::new(kept.clone(), before).threaded());
        let options = LedgerOptions { backlog: 1, ..LedgerOptions::default() };
        let ledger = Ledger::new("s".into(), Arc::new(ManualClock::new()), store, options).unwrap();
        Self::on(ledger, kept, approvals)
    }

    fn on(ledger: Ledger, store: MemoryStore, approvals: Approvals) -> Self {
        ledger.set_turn(Some(7));
        let sessions = Sessions(BTreeMap::from([("s".into(), ledger.clone())]));
        let desk = approvals.open(Arc::new(sessions));
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        let service: Arc<dyn ApprovalService> = Arc::clone(&desk) as _;
        let pipeline = Pipeline::new(registry, CallLimits::default(), Some(service));
        desk.attach(&pipeline).into_iter().for_each(Attachment::keep);
        pipeline.add_pre(None, Arc::new(AskAbout)).keep();
        let bodies = Arc::new(Mutex::new(0));
        for name in ["act", "look"] {
            let bodies = Arc::clone(&bodies);
            let tool = Tool::builder(name)
                .output(json!({"type": "null"}))
                .handler(move |_args: Value, _context: ToolContext| {
                    *bodies.lock().unwrap() += 1;
                    async { Ok::<_, ToolError>(Value::Null) }
                })
                .unwrap();
            pipeline.registry().register(&Target::Global, tool).unwrap().keep();
        }
        Self { pipeline, ledger, store, bodies }
    }

    async fn request(&self, tool: &str) -> CallRequest {
        let call = ToolCall::new("c1", tool, json!({}));
        let mut request = CallRequest::new("c1", tool, json!({}), "s".into());
        request.scope = Some("agent".into());
        request.event = self.ledger.reserve().await.record(call, []);
        request
    }

    async fn call(&self, tool: &str) -> CallResult {
        self.pipeline.execute(self.request(tool).await).await
    }

    /// Kind, decision, who decided, and which events are answered, of all events but those of calls.
    fn questions(&self) -> Vec<String> {
        let events = self.store.events();
        let told = events.iter().filter_map(|event| {
            let sources = &event.source_seqs;
            assert_eq!(event.turn, Some(7));
            match &event.body {
                EventBody::ApprovalAsked(ApprovalAsked { call, tool, reason }) => {
                    Some(format!("asked {call} {tool} {reason:?} <- {sources:?}"))
                }
                EventBody::ApprovalDecided(ApprovalDecided { call, decision, by }) => {
                    Some(format!("decided {call} {decision:?} {by:?} <- {sources:?}"))
                }
                _ => None,
            }
        });
        told.collect()
    }

    fn bodies(&self) -> u32 {
        *self.bodies.lock().unwrap()
    }
}

fn scripted(answers: &[ApprovalAnswer]) -> Approvals {
    Approvals::new().answerer(ScriptedAnswerer::new(answers.to_vec()))
}

fn code(result: CallResult) -> ErrorCode {
    result.unwrap_err().code
}

/// PO-8, P-2, L-1: two events around each question, and a grant is for one call.
#[tokio::test]
async fn a_question_is_asked_answered_and_recorded() {
    let bench = Bench::new(scripted(&[ApprovalAnswer::AllowedOnce]));
    assert!(bench.call("look").await.is_ok());
    assert_eq!(bench.questions(), Vec::<String>::new());
    assert!(bench.call("act").await.is_ok());
    let again: CallFailure = bench.call("act").await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "APPROVAL_REJECTED: approval for `act` was rejected: the script of answers has come to its end"
    );
    assert_eq!(bench.bodies(), 2);
    assert_eq!(
        bench.questions(),
        [
            r#"asked c1 act Some("it acts") <- [2]"#,
            r#"decided c1 AllowedOnce Some("script") <- [3]"#,
            r#"asked c1 act Some("it acts") <- [5]"#,
            r#"decided c1 Rejected Some("script") <- [6]"#,
        ]
    );
}

/// PO-8: whatever is not `allowed_once` grants nothing.
#[tokio::test]
async fn only_one_answer_grants() {
    let rejected = ApprovalAnswer::Rejected { note: None };
    let unavailable = ApprovalAnswer::Unavailable { reason: "away".to_owned() };
    let bench = Bench::new(scripted(&[rejected, ApprovalAnswer::Cancelled, unavailable]));
    for expected in
        [ErrorCode::ApprovalRejected, ErrorCode::ApprovalCancelled, ErrorCode::ApprovalUnavailable]
    {
        assert_eq!(code(bench.call("act").await), expected);
    }
    assert_eq!(bench.bodies(), 0);
    let decided =
        bench.questions().into_iter().filter(|told| told.starts_with("decided")).collect::<Vec<_>>();
    assert_eq!(
        decided,
        [
            r#"decided c1 Rejected Some("script") <- [2]"#,
            r#"decided c1 Cancelled Some("script") <- [5]"#,
            r#"decided c1 Unavailable Some("script") <- [8]"#,
        ]
    );
}

/// PO-8: the policy `never` is decided before any answerer could be asked.
#[tokio::test]
async fn under_the_policy_never_nobody_is_asked() {
    let asked = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&asked);
    let answerer = CallbackAnswerer::new("eager", move |_: Question| {
        *counts.lock().unwrap() += 1;
        async { ApprovalAnswer::AllowedOnce }
    });
    let bench = Bench::new(Approvals::new().policy(ApprovalPolicy::Never).answerer(answerer));
    let failure = bench.call("act").await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "APPROVAL_REJECTED: approval for `act` was rejected: the approval policy is `never`"
    );
    assert_eq!((*asked.lock().unwrap(), bench.bodies()), (0, 0));
    assert_eq!(
        bench.questions(),
        [r#"asked c1 act Some("it acts") <- [1]"#, r#"decided c1 Rejected Some("policy") <- [2]"#]
    );
}

/// PO-8, PO-9: the policy `always` asks about every call, and makes no denial a question.
#[tokio::test]
async fn under_the_policy_always_every_call_is_asked_about() {
    struct Refuse;
    impl PreExecute for Refuse {
        fn decide<'a>(&'a self, _call: &'a Call, _next: PreNext<'a>) -> BoxFuture<'a, Decision> {
            Box::pin(std::future::ready(Decision::Deny { reason: "closed".to_owned() }))
        }
    }
    let script = scripted(&[ApprovalAnswer::AllowedOnce, ApprovalAnswer::AllowedOnce]);
    let bench = Bench::new(script.policy(ApprovalPolicy::Always));
    assert!(bench.call("look").await.is_ok());
    assert!(bench.call("act").await.is_ok());
    assert_eq!(bench.questions()[0], r#"asked c1 look Some("this deployment asks about every call") <- [1]"#);
    assert_eq!(bench.questions()[2], r#"asked c1 act Some("it acts") <- [4]"#);
    bench.pipeline.add_pre(None, Arc::new(Refuse)).keep();
    assert_eq!(code(bench.call("look").await), ErrorCode::Denied);
    assert_eq!(bench.questions().len(), 4);
}

/// PO-8: in the order in which they were added; who passes leaves the question to the next.
#[tokio::test]
async fn answerers_are_asked_in_order_until_one_answers() {
    let passes = CallbackAnswerer::new("passes", |_: Question| async { None });
    let allows = CallbackAnswerer::new("allows", |question: Question| async move {
        assert_eq!((question.tool.as_str(), question.reason.as_deref()), ("act", Some("it acts")));
        Some(ApprovalAnswer::AllowedOnce)
    });
    let rejects = ScriptedAnswerer::new([]);
    let bench = Bench::new(Approvals::new().answerer(passes).answerer(allows).answerer(rejects));
    assert!(bench.call("act").await.is_ok());
    assert_eq!(bench.questions()[1], r#"decided c1 AllowedOnce Some("allows") <- [2]"#);
    let nobody = CallbackAnswerer::new("passes", |_: Question| async { None });
    let bench = Bench::new(Approvals::new().answerer(nobody));
    assert_eq!(
        bench.call("act").await.unwrap_err().to_string(),
        "APPROVAL_UNAVAILABLE: approval for `act` could not be asked for: there is nobody who takes the question"
    );
    assert_eq!(bench.questions()[1], "decided c1 Unavailable None <- [2]");
}

/// PO-8, P-15: the question fails, the call does not crash, and nobody else is asked in its place.
#[tokio::test]
async fn an_answerer_that_fails_makes_the_question_fail() {
    struct Breaks(bool);
    impl Answerer for Breaks {
        fn name(&self) -> &'static str {
            "broken"
        }

        fn answer<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, Option<ApprovalAnswer>> {
            assert!(self.0, "before it waits");
            Box::pin(async { panic!("while it waits") })
        }
    }
    for late in [false, true] {
        let allows = ScriptedAnswerer::new([ApprovalAnswer::AllowedOnce]);
        let bench = Bench::new(Approvals::new().answerer(Breaks(late)).answerer(allows));
        let failure = bench.call("act").await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "APPROVAL_UNAVAILABLE: approval for `act` could not be asked for: `broken`, who was asked, panicked"
        );
        assert_eq!(bench.questions()[1], r#"decided c1 Unavailable Some("broken") <- [2]"#);
        assert!(bench.call("look").await.is_ok());
    }
}

/// PO-8
#[tokio::test]
async fn a_question_outside_of_a_turn_is_refused_and_leaves_no_event() {
    let bench = Bench::new(scripted(&[ApprovalAnswer::AllowedOnce]));
    bench.ledger.set_turn(None);
    let mut stranger = bench.request("act").await;
    stranger.session = "another".into();
    for request in [bench.request("act").await, stranger] {
        let failure = bench.pipeline.execute(request).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "APPROVAL_UNAVAILABLE: approval for `act` could not be asked for: a question must belong to a turn of an \
             open session, and none is under way"
        );
    }
    assert_eq!(bench.store.events().len(), 2, "those of the calls");
}

/// PO-8, P-2: whoever withdraws the question has its second event, though the answerer never comes back.
#[tokio::test]
async fn a_question_that_is_withdrawn_is_recorded_as_such() {
    let silent = CallbackAnswerer::new("silent", |_: Question| std::future::pending::<ApprovalAnswer>());
    let bench = Bench::new(Approvals::new().answerer(silent));
    let request = bench.request("act").await;
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(bench.pipeline.execute(request), async { cancel.cancel() });
    assert_eq!(code(result), ErrorCode::ApprovalCancelled);
    assert_eq!(bench.questions()[1], "decided c1 Cancelled None <- [2]");

    // The same for a caller who lets the call go.
    let request = bench.request("act").await;
    let calling = bench.pipeline.execute(request);
    assert!(calling.now_or_never().is_none());
    assert_eq!(bench.questions()[3], "decided c1 Cancelled None <- [5]");
}

/// PO-8
#[tokio::test]
async fn a_cancelled_token_is_no_grant_even_with_the_answer_at_hand() {
    let bench = Bench::new(scripted(&[ApprovalAnswer::AllowedOnce]));
    let sessions = Sessions(BTreeMap::from([("s".into(), bench.ledger.clone())]));
    let desk = scripted(&[ApprovalAnswer::AllowedOnce]).open(Arc::new(sessions));
    let (call, tool, scope, session) = ("c".into(), "act".into(), "agent".into(), "s".into());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let question = ApprovalQuestion {
        call: &call,
        tool: &tool,
        args: &Value::Null,
        scope: &scope,
        session: &session,
        reason: None,
        event: None,
        cancel: &cancel,
    };
    assert_eq!(desk.ask(question).await, ApprovalAnswer::Cancelled);
    assert_eq!(bench.questions(), ["asked c act None <- []", "decided c Cancelled None <- [1]"]);
}

/// PO-8: a grant that cannot be recorded is none, whether the store fails before the question or with the answer.
#[tokio::test]
async fn what_cannot_be_recorded_is_not_granted() {
    // The events are the call's, the question and the answer.
    for fails_at in [1, 2, 3] {
        let asked = Arc::new(Mutex::new(0));
        let counts = Arc::clone(&asked);
        let allows = CallbackAnswerer::new("owner", move |_: Question| {
            *counts.lock().unwrap() += 1;
            async { ApprovalAnswer::AllowedOnce }
        });
        let bench = Bench::watched(Approvals::new().answerer(allows), move |events| {
            let full = events.iter().any(|event| event.seq >= fails_at);
            if full { Err(StoreError::Other("disk full".into())) } else { Ok(()) }
        });
        let request = bench.request("act").await;
        // Heard of before the question where it was the call's event that failed.
        let _ = bench.ledger.written(1).await;
        let failure = bench.pipeline.execute(request).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "APPROVAL_UNAVAILABLE: approval for `act` could not be asked for: the question and its answer cannot be \
             recorded, since the session's ledger has failed",
            "{fails_at}"
        );
        assert_eq!(bench.bodies(), 0);
        assert!(fails_at > 1 || *asked.lock().unwrap() == 0, "nobody is asked what cannot be recorded");
    }
}

/// PO-8: a ledger that is meant to keep nothing is no reason to refuse.
#[tokio::test]
async fn a_disabled_ledger_keeps_nobody_from_being_asked() {
    let ledger = Ledger::disabled("s".into(), Arc::new(ManualClock::new()));
    let bench = Bench::on(ledger, MemoryStore::new(), scripted(&[ApprovalAnswer::AllowedOnce]));
    assert!(bench.call("act").await.is_ok());
}

/// PO-8: the second event of a question that is withdrawn comes in spite of a backlog that is full.
#[tokio::test]
async fn a_question_that_is_withdrawn_under_a_full_backlog_is_closed() {
    let (go_on, gate) = std::sync::mpsc::channel::<()>();
    let silent = CallbackAnswerer::new("silent", |_: Question| std::future::pending::<ApprovalAnswer>());
    let bench = Bench::watched(Approvals::new().answerer(silent), move |events| {
        // The call's event passes; what comes after it waits until the test is done.
        if events.iter().any(|event| event.seq > 1) {
            let _ = gate.recv();
        }
        Ok(())
    });
    let request = bench.request("act").await;
    bench.ledger.written(1).await.unwrap();
    let cancel = request.cancel.clone();
    let calling = bench.pipeline.execute(request);
    let withdrawing = async {
        assert!(bench.ledger.try_reserve().is_none(), "the question's event fills the backlog");
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(calling, withdrawing);
    assert_eq!(code(result), ErrorCode::ApprovalCancelled);
    drop(go_on);
    bench.ledger.flush().await.unwrap();
    assert_eq!(
        bench.questions(),
        [r#"asked c1 act Some("it acts") <- [1]"#, "decided c1 Cancelled None <- [2]"]
    );
}
