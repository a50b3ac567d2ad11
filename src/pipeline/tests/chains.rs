//! What interceptors, guards and observers may do, in which order, and what they cannot.

use super::*;
use crate::outcome::{CallSuccess, DeferredContext};

/// Writes its name down, then decides, or delegates.
struct Says {
    name: &'static str,
    decides: Option<Decision>,
    log: Arc<Mutex<Vec<String>>>,
}

impl PreExecute for Says {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        self.log.lock().unwrap().push(format!("{}({})", self.name, call.args));
        match &self.decides {
            Some(decision) => Box::pin(std::future::ready(decision.clone())),
            None => next.decide(),
        }
    }
}

impl Bench {
    fn pre(&self, scope: Option<&str>, name: &'static str, decides: Option<Decision>) {
        let interceptor = Says { name, decides, log: Arc::clone(&self.log) };
        self.pipeline.add_pre(scope.map(ScopeId::from), Arc::new(interceptor)).keep();
    }

    /// A guard that writes its name down, and vetoes for the reason.
    fn guard(&self, target: &Target, name: &'static str, reason: Option<&'static str>) {
        let log = Arc::clone(&self.log);
        let guard = move |_: &CallInfo<'_>| {
            log.lock().unwrap().push(name.to_owned());
            reason.map(str::to_owned)
        };
        self.pipeline.registry().guard(target, Arc::new(guard)).unwrap().keep();
    }

    async fn call_in(&self, scope: Option<&str>, name: &str) -> CallResult {
        let mut request = self.request(name, json!({}));
        request.scope = scope.map(ScopeId::from);
        self.pipeline.execute(request).await
    }
}

/// P-1: in the order of addition; whoever decides is the last one asked; nobody decides: allow. The body gets the
/// arguments that everybody saw.
#[tokio::test]
async fn interceptors_are_asked_in_order_until_one_decides() {
    let allow = Some(Decision::Allow);
    let deny = Some(Decision::Deny { reason: "no".to_owned() });
    for (decisions, expected) in [
        ([None, None, None], "a({\"n\":1}) b({\"n\":1}) c({\"n\":1}) body"),
        ([None, allow.clone(), deny.clone()], "a({\"n\":1}) b({\"n\":1}) body"),
        ([None, deny, allow], "a({\"n\":1}) b({\"n\":1})"),
    ] {
        let bench = Bench::new(None);
        bench.tool("add", |_| Ok(json!(3)));
        for (name, decides) in ["a", "b", "c"].into_iter().zip(decisions) {
            bench.pre(None, name, decides);
        }
        let result = bench.call("add", json!({"n": 1})).await;
        assert_eq!(bench.log(), expected);
        assert_eq!(result.is_ok(), expected.ends_with("body"));
    }
}

/// P-1: one that delegates may still say no to what the rest allowed.
#[tokio::test]
async fn an_interceptor_may_judge_what_the_rest_decided() {
    struct NoQuestions;
    impl PreExecute for NoQuestions {
        fn decide<'a>(&'a self, _call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
            Box::pin(async move {
                match next.decide().await {
                    Decision::Ask { .. } => Decision::Deny { reason: "nobody is bothered".to_owned() },
                    decided => decided,
                }
            })
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.add_pre(None, Arc::new(NoQuestions)).keep();
    bench.pre(None, "asks", Some(Decision::Ask { reason: None }));
    assert_eq!(failure(bench.call("add", json!({})).await).1, "`add` was denied: nobody is bothered");
}

/// Answers from a list, and keeps what it was asked.
struct Keeps(Mutex<(Vec<ApprovalAnswer>, Vec<String>)>);

impl ApprovalService for Keeps {
    fn ask<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        let ApprovalQuestion { call, tool, args, scope, session, reason, event, cancel } = question;
        assert!(!cancel.is_cancelled());
        let mut kept = self.0.lock().unwrap();
        kept.1.push(format!("{call} {tool} {args} {scope} {session} {reason:?} {event:?}"));
        Box::pin(std::future::ready(kept.0.remove(0)))
    }
}

/// P-2: a grant is for one call, and a call outside of every scope cannot be asked about.
#[tokio::test]
async fn a_question_tells_all_and_its_grant_is_for_one_call() {
    let keeps = Arc::new(Keeps(Mutex::new((
        vec![ApprovalAnswer::AllowedOnce, ApprovalAnswer::Rejected { note: None }],
        Vec::new(),
    ))));
    let bench = Bench::new(Some(Arc::clone(&keeps) as _));
    bench.tool("add", |_| Ok(json!(3)));
    bench.pre(None, "asks", Some(Decision::Ask { reason: Some("it adds".to_owned()) }));
    let mut request = bench.request("add", json!({"n": 1}));
    request.event = Some(7);
    assert!(bench.pipeline.execute(request).await.is_ok());
    assert_eq!(failure(bench.call("add", json!({})).await).0, ErrorCode::ApprovalRejected);
    assert_eq!(
        keeps.0.lock().unwrap().1,
        [r#"c1 add {"n":1} agent s Some("it adds") Some(7)"#, r#"c1 add {} agent s Some("it adds") None"#]
    );
    assert_eq!(
        failure(bench.call_in(None, "add").await),
        (
            ErrorCode::Denied,
            "`add` needs approval, and a call outside of every agent scope cannot be asked about".to_owned()
        )
    );
}

/// P-3: a scope's interceptors see its own calls and those of scopes that stand on it, and no others.
#[tokio::test]
async fn interceptors_of_an_ancestor_see_its_descendants() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let registry = bench.pipeline.registry();
    registry.open_scope("child".into(), Some("agent".into())).unwrap();
    registry.open_scope("sibling".into(), None).unwrap();
    bench.pre(Some("agent"), "agent", None);
    bench.pre(Some("child"), "child", None);
    for (scope, expected) in [
        (Some("child"), "agent({}) child({}) body"),
        (Some("agent"), "agent({}) body"),
        (Some("sibling"), "body"),
        (None, "body"),
    ] {
        assert!(bench.call_in(scope, "add").await.is_ok());
        assert_eq!(bench.log(), expected);
    }
}

/// P-4: guards of the global layer and of the whole chain, farthest first, until one vetoes; none when the call is
/// denied already.
#[tokio::test]
async fn guards_of_the_whole_chain_run_until_one_vetoes() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let registry = bench.pipeline.registry();
    registry.open_scope("child".into(), Some("agent".into())).unwrap();
    registry.open_scope("sibling".into(), None).unwrap();
    bench.guard(&Target::Scope("child".into()), "child", Some("child says no"));
    bench.guard(&Target::Scope("agent".into()), "agent", None);
    bench.guard(&Target::Scope("sibling".into()), "sibling", Some("never asked"));
    bench.guard(&Target::Global, "global", None);
    assert_eq!(failure(bench.call_in(Some("child"), "add").await).1, "`add` was denied: child says no");
    assert_eq!(bench.log(), "global agent child");
    assert!(bench.call_in(Some("agent"), "add").await.is_ok());
    assert_eq!(bench.log(), "global agent body");
    bench.guard(&Target::Global, "stern", Some("first veto"));
    assert_eq!(failure(bench.call_in(Some("child"), "add").await).1, "`add` was denied: first veto");
    assert_eq!(bench.log(), "global stern");
    bench.pre(None, "denies", Some(Decision::Deny { reason: "by policy".to_owned() }));
    assert_eq!(failure(bench.call_in(Some("child"), "add").await).1, "`add` was denied: by policy");
    assert_eq!(bench.log(), "denies({})");
}

/// Writes down how the result looks, and delegates.
struct Reviews(Arc<Mutex<Vec<String>>>);

impl PostExecute for Reviews {
    fn review<'a>(
        &'a self,
        _call: &'a Call,
        result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        let code = result.as_ref().err().map(|failure| failure.code.as_str());
        self.0.lock().unwrap().push(format!("review({})", code.unwrap_or("ok")));
        next.review()
    }
}

/// P-5, P-9, P-10: a denial passes post-execute, final content and observers; what is settled for good passes the last
/// two. Each happens exactly once for each result.
#[tokio::test]
async fn every_result_is_finished_exactly_once() {
    struct Observes(Arc<Mutex<Vec<String>>>);
    impl ResultObserver for Observes {
        fn observe(&self, _call: &Call, result: &CallResult) {
            let content = result.as_ref().map_or_else(|failure| &failure.content, |success| &success.content);
            let text = content[0].as_text().unwrap();
            self.0.lock().unwrap().push(format!("observe({text})"));
        }
    }
    let bench = Bench::new(None);
    let log = Arc::clone(&bench.log);
    let tool = Tool::builder("add")
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .output(json!({"type": "integer"}))
        .finalize_content(move |call, result| {
            log.lock().unwrap().push("finalize".to_owned());
            let outcome = result.as_ref().map_or_else(|failure| failure.code.as_str(), |_| "ok");
            Some(vec![ContentBlock::text(format!("{outcome} {}", call.args))])
        })
        .handler(|args: Value, _context: ToolContext| async move {
            if args["n"] == 0 { Err(ToolError::failed("zero")) } else { Ok(json!(3)) }
        })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    bench.pipeline.add_post(None, Arc::new(Reviews(Arc::clone(&bench.log)))).keep();
    bench.pipeline.add_observer(None, Arc::new(Observes(Arc::clone(&bench.log)))).keep();
    let no_nines = |call: &CallInfo<'_>| (call.args["n"] == 9).then(|| "no nines".to_owned());
    bench.pipeline.registry().guard(&Target::Global, Arc::new(no_nines)).unwrap().keep();

    let success = bench.call("add", json!({"n": 1})).await.unwrap();
    assert_eq!(bench.log(), r#"review(ok) finalize observe(ok {"n":1})"#);
    assert_eq!((&*success.value, success.content), (&json!(3), vec![ContentBlock::text(r#"ok {"n":1}"#)]));
    let failed = bench.call("add", json!({"n": 0})).await.unwrap_err();
    assert_eq!(bench.log(), r#"review(TOOL_FAILED) finalize observe(TOOL_FAILED {"n":0})"#);
    assert_eq!((failed.code, failed.message.as_str()), (ErrorCode::ToolFailed, "zero"));
    bench.call("add", json!({"n": 9})).await.unwrap_err();
    assert_eq!(bench.log(), r#"review(DENIED) finalize observe(DENIED {"n":9})"#);
    bench.call("add", json!({"n": "x"})).await.unwrap_err();
    assert_eq!(bench.log(), r#"finalize observe(TOOL_ARGS_INVALID {"n":"x"})"#);
    bench.call("nothing", json!({})).await.unwrap_err();
    assert_eq!(bench.log(), "observe(there is no tool `nothing`)");
}

/// P-10: every observer gets the final result, whatever the ones before it did.
#[tokio::test]
async fn an_observer_that_panics_changes_nothing() {
    struct Panics;
    impl ResultObserver for Panics {
        fn observe(&self, _call: &Call, _result: &CallResult) {
            panic!("boom")
        }
    }
    struct Counts(Arc<Mutex<Vec<String>>>);
    impl ResultObserver for Counts {
        fn observe(&self, call: &Call, result: &CallResult) {
            self.0.lock().unwrap().push(format!("{} {}", call.id, result.as_ref().unwrap().value));
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.add_observer(None, Arc::new(Panics)).keep();
    bench.pipeline.add_observer(None, Arc::new(Counts(Arc::clone(&bench.log)))).keep();
    assert_eq!(*bench.call("add", json!({})).await.unwrap().value, json!(3));
    assert_eq!(bench.log(), "body c1 3");
}

/// P-15: what is not a tool's body or an interceptor is contained as well, and never lets a call through.
#[tokio::test]
async fn panics_of_guards_services_and_finalizers_are_contained() {
    struct Panics;
    impl ApprovalService for Panics {
        fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
            Box::pin(async { panic!("boom") })
        }
    }
    let bench = Bench::new(Some(Arc::new(Panics)));
    bench.tool("add", |_| Ok(json!(3)));
    let guard = |_: &CallInfo<'_>| -> Option<String> { panic!("boom") };
    let guard = bench.pipeline.registry().guard(&Target::Global, Arc::new(guard)).unwrap();
    assert_eq!(
        failure(bench.call("add", json!({})).await),
        (ErrorCode::ToolPanicked, "a guard panicked while `add` was called".to_owned())
    );
    drop(guard);
    let asks = bench.pipeline.add_pre(None, Arc::new(Pre(Decision::Ask { reason: None })));
    assert_eq!(failure(bench.call("add", json!({})).await).0, ErrorCode::ApprovalUnavailable);
    drop(asks);
    assert_eq!(bench.log(), "");
    let tool = Tool::builder("final")
        .output(json!({"type": "integer"}))
        .finalize_content(|_call, _result| panic!("boom"))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(3)) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    assert_eq!(bench.call("final", json!({})).await.unwrap().content, [ContentBlock::text("3")]);
    assert!(bench.call("add", json!({})).await.is_ok());
}

/// What an interceptor around the body sees, and what it gives in its place.
struct Around {
    sees: Arc<Mutex<Vec<String>>>,
    gives: Option<Value>,
}

impl AroundDispatch for Around {
    fn around<'a>(&'a self, call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            assert_eq!(next.definition().name(), &call.tool);
            let mut result = next.run().await;
            let seen = match &result {
                Ok(success) => format!("{} {:?}", success.value, success.content[0].as_text()),
                Err(failure) => failure.code.to_string(),
            };
            self.sees.lock().unwrap().push(seen);
            if let (Some(value), Ok(success)) = (&self.gives, &mut result) {
                *success = CallSuccess { value: Arc::new(value.clone()), ..success.clone() };
            }
            result
        })
    }
}

/// P-7, T-10: delegating yields a validated and rendered result, and what a wrapper gives in its place is held to the
/// same contract.
#[tokio::test]
async fn a_wrapper_sees_normalised_results_and_gives_such() {
    for (gives, expected) in [
        (None, Ok((json!(3), "3"))),
        (Some(json!(4)), Ok((json!(4), "4"))),
        (Some(json!("text")), Err(ErrorCode::InvalidToolOutput)),
    ] {
        let bench = Bench::new(None);
        bench.tool("add", |context| {
            context.defer_context("kept");
            Ok(json!(3))
        });
        bench.tool("bad", |_| Ok(json!("text")));
        bench.pipeline.add_around(None, Arc::new(Around { sees: Arc::clone(&bench.log), gives })).keep();
        let result = bench.call("add", json!({})).await;
        assert_eq!(bench.log(), r#"body 3 Some("3")"#);
        match (result, expected) {
            (Ok(success), Ok((value, text))) => {
                assert_eq!((&*success.value, success.content[0].as_text()), (&value, Some(text)));
                assert_eq!(success.deferred, [DeferredContext::new("kept")]);
            }
            (Err(failure), Err(code)) => assert_eq!(failure.code, code),
            (result, expected) => panic!("{result:?} for {expected:?}"),
        }
        assert_eq!(failure(bench.call("bad", json!({})).await).0, ErrorCode::InvalidToolOutput);
        assert_eq!(bench.log(), "body INVALID_TOOL_OUTPUT");
    }
}

/// P-6: a wrapper further out keeps its power over a body to which one further in gives a signal of its own.
#[tokio::test]
async fn signals_of_wrappers_are_derived_from_each_other() {
    struct Outer(CancellationToken);
    impl AroundDispatch for Outer {
        fn around<'a>(&'a self, call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async move {
                assert!(!call.cancel.is_cancelled());
                next.run_with_signal(&self.0).await
            })
        }
    }
    struct Inner;
    impl AroundDispatch for Inner {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async move {
                let own = next.signal().child_token();
                next.run_with_signal(&own).await
            })
        }
    }
    let bench = Bench::new(None);
    bench.waiting();
    let signal = CancellationToken::new();
    bench.pipeline.add_around(None, Arc::new(Outer(signal.clone()))).keep();
    bench.pipeline.add_around(None, Arc::new(Inner)).keep();
    let request = bench.request("wait", json!({}));
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(bench.pipeline.execute(request), async { signal.cancel() });
    assert_eq!(*result.unwrap().value, json!(1), "the caller did not cancel");
    assert!(!cancel.is_cancelled());
    // Already raised: the body does not start.
    assert_eq!(failure(bench.call("wait", json!({})).await).0, ErrorCode::AbortedBeforeDispatch);
}

/// P-8: every answer of post-execute, on a success and on a failure.
#[tokio::test]
async fn post_execute_may_answer_in_four_ways() {
    let text = |text: &str| vec![ContentBlock::text(text)];
    let block =
        PostDecision::Block { feedback: "try b".to_owned(), deferred: vec![DeferredContext::new("mine")] };
    let said: Vec<(PostDecision, &str, &str)> = vec![
        (PostDecision::Accept, "3 [3] tool", "TOOL_FAILED [broken] tool"),
        (PostDecision::AcceptContent(text("other")), "3 [other] tool", "TOOL_FAILED [other] tool"),
        (PostDecision::AcceptValue(json!(4)), "4 [4] tool", "TOOL_FAILED [broken] tool"),
        (PostDecision::AcceptValue(json!("text")), "INVALID_TOOL_OUTPUT", "TOOL_FAILED [broken] tool"),
        (block, "DENIED [try b] mine", "TOOL_FAILED [try b] mine"),
    ];
    for (decision, on_success, on_failure) in said {
        let bench = Bench::new(None);
        bench.tool("good", |context| {
            context.defer_context("tool");
            Ok(json!(3))
        });
        bench.tool("bad", |context| {
            context.defer_context("tool");
            Err(ToolError::failed("broken"))
        });
        bench.pipeline.add_post(None, Arc::new(Post(decision.clone()))).keep();
        for (tool, expected) in [("good", on_success), ("bad", on_failure)] {
            let (head, content, deferred) = match bench.call(tool, json!({})).await {
                Ok(success) => (success.value.to_string(), success.content, success.deferred),
                Err(failure) => (failure.code.to_string(), failure.content, failure.deferred),
            };
            let deferred: Vec<_> = deferred.iter().map(|context| context.text.as_str()).collect();
            let told = format!("{head} [{}] {}", content[0].as_text().unwrap(), deferred.join(" "));
            assert!(told.starts_with(expected), "{decision:?} on {tool}: {told}");
        }
    }
}

/// P-8: the first that does not delegate decides.
#[tokio::test]
async fn reviewers_are_asked_in_order_until_one_decides() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.add_post(None, Arc::new(Reviews(Arc::clone(&bench.log)))).keep();
    bench.pipeline.add_post(None, Arc::new(Post(PostDecision::AcceptValue(json!(5))))).keep();
    bench.pipeline.add_post(None, Arc::new(Post(PostDecision::AcceptValue(json!(6))))).keep();
    assert_eq!(*bench.call("add", json!({})).await.unwrap().value, json!(5));
    assert_eq!(bench.log(), "body review(ok)");
}

/// T-17: the limit is the host's, and holds before anything looks at the arguments.
#[tokio::test]
async fn the_size_of_arguments_is_the_hosts_to_limit() {
    let limits = CallLimits { argument_bytes: 64, depth: 3 };
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let small = Pipeline::new(bench.pipeline.registry().clone(), limits, None);
    let call = |args: Value| small.execute(bench.request("add", args));
    // Both too large and wrong: it is the size that is told.
    let (code, message) = failure(call(json!({"n": "x".repeat(64)})).await);
    assert_eq!(
        (code, message.as_str()),
        (
            ErrorCode::ToolArgsTooLarge,
            "the arguments of `add` take about 72 bytes; at most 64 are allowed. Pass less, or a path or handle \
             instead of the content"
        )
    );
    assert_eq!(failure(call(json!({"n": [[[1]]]})).await).0, ErrorCode::ToolArgsTooLarge);
    assert_eq!(failure(call(json!({"n": [[1]]})).await).0, ErrorCode::ToolArgsInvalid);
    assert!(call(json!({"n": 1})).await.is_ok());
}

/// R-2, T-4: a guard and `finalize_content` are told which call it is and on whose behalf, and not the tool alone.
#[tokio::test]
async fn guards_and_finalizers_see_the_call() {
    fn told(call: &CallInfo<'_>) -> String {
        let scope = call.scope.map_or("-", ScopeId::as_str);
        let parent = call.parent.map_or_else(String::new, |parent| format!(" below {}", parent.parent()));
        format!("{} {} {} in {scope} of {}{parent}", call.id, call.tool, call.args, call.session)
    }
    let bench = Bench::new(None);
    let (guarded, finalized) = (Arc::clone(&bench.log), Arc::clone(&bench.log));
    let guard = move |call: &CallInfo<'_>| {
        guarded.lock().unwrap().push(told(call));
        call.scope.is_none().then(|| "only agents".to_owned())
    };
    bench.pipeline.registry().guard(&Target::Global, Arc::new(guard)).unwrap().keep();
    let tool = Tool::builder("t")
        .foreign_output(json!({}))
        .finalize_content(move |call, _result| {
            finalized.lock().unwrap().push("/".to_owned());
            Some(vec![ContentBlock::text(told(call))])
        })
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(1)) });
    bench.pipeline.registry().register(&Target::Global, tool.unwrap()).unwrap().keep();
    let mut nested = bench.request("t", json!({"n": 1.0}));
    nested.parent = Some(ParentToken::new("root".into(), "outer".into()));
    let content = bench.pipeline.execute(nested).await.unwrap().content;
    assert_eq!(content, [ContentBlock::text(r#"c1 t {"n":1} in agent of s below outer"#)]);
    assert_eq!(bench.log(), r#"c1 t {"n":1} in agent of s below outer /"#);
    let direct = CallRequest::new("c2", "t", json!({}), "s".into());
    assert_eq!(bench.pipeline.execute(direct).await.unwrap_err().code, ErrorCode::Denied);
    assert_eq!(bench.log(), "c2 t {} in - of s /");
}
