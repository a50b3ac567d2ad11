//! Which calls may run: denials, approval, and what is settled before anybody is asked (P-2 to P-5, P-11).

use super::*;

/// P-4, P-5
#[tokio::test]
async fn a_denial_never_reaches_the_body_and_never_becomes_a_success() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let veto = |_: &CallInfo<'_>| Some("not today".to_owned());
    bench.pipeline.registry().guard(&Target::Global, Arc::new(veto)).unwrap().keep();
    let post = bench.pipeline.add_post(None, Arc::new(Post(PostDecision::AcceptValue(json!(1)))));
    assert_eq!(
        failure(bench.call("add", json!({})).await),
        (ErrorCode::Denied, "`add` was denied: not today".to_owned())
    );
    drop(post);
    let block = PostDecision::Block { feedback: "try tomorrow".to_owned(), deferred: Vec::new() };
    bench.pipeline.add_post(None, Arc::new(Post(block))).keep();
    assert_eq!(failure(bench.call("add", json!({})).await), (ErrorCode::Denied, "try tomorrow".to_owned()));
    assert_eq!(bench.log(), "");
}

/// P-2
#[tokio::test]
async fn the_four_ways_not_to_grant_are_told_apart() {
    let answers: [Option<ApprovalAnswer>; 5] = [
        None,
        Some(ApprovalAnswer::Rejected { note: Some("too risky".to_owned()) }),
        Some(ApprovalAnswer::Cancelled),
        Some(ApprovalAnswer::Unavailable { reason: "offline".to_owned() }),
        Some(ApprovalAnswer::AllowedOnce),
    ];
    let mut seen = Vec::new();
    for answer in answers {
        let bench = Bench::new(answer.map(|answer| Arc::new(Answer(answer)) as Arc<dyn ApprovalService>));
        bench.tool("add", |_| Ok(json!(3)));
        bench.pipeline.add_pre(None, Arc::new(Pre(Decision::Ask { reason: None }))).keep();
        seen.push(match bench.call("add", json!({})).await {
            Ok(_) => "granted".to_owned(),
            Err(failure) => failure.to_string(),
        });
    }
    insta::assert_snapshot!(seen.join("\n"), @r"
    DENIED: `add` needs approval, and this deployment has nobody to ask
    APPROVAL_REJECTED: approval for `add` was rejected: too risky
    APPROVAL_CANCELLED: the question for approval of `add` was withdrawn before it was answered
    APPROVAL_UNAVAILABLE: approval for `add` could not be asked for: offline
    granted
    ");
}

/// CM-3, CM-4
#[tokio::test]
async fn a_collapsed_call_is_refused_before_any_policy() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.registry().present_as(&ScopeId::from("agent"), PresentationMode::Code).unwrap().keep();
    let deny = Pre(Decision::Deny { reason: "seen by policy".to_owned() });
    let policy = bench.pipeline.add_pre(None, Arc::new(deny));
    assert_eq!(
        failure(bench.call("add", json!({})).await),
        (
            ErrorCode::Collapsed,
            "`add` can be called from a program only: inside run_code, `await tools.add({...})`".to_owned()
        )
    );
    drop(policy);
    let cancelled = bench.request("add", json!({}));
    cancelled.cancel.cancel();
    let (code, _) = failure(bench.pipeline.execute(cancelled).await);
    assert_eq!(code, ErrorCode::AbortedBeforeDispatch, "cancelled comes first");
    let mut nested = bench.request("add", json!({}));
    nested.parent = Some(ParentToken::new(CallId::from("r"), CallId::from("r")));
    assert!(bench.pipeline.execute(nested).await.is_ok());
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

/// P-4, P-5, P-11: a body runs after it was admitted, and once, whatever its scheduler does.
#[tokio::test]
async fn a_body_is_dispatched_only_when_it_was_admitted_and_once() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.tool("denied", |_| Ok(json!(3)));
    bench.pipeline.registry().present_as(&"agent".into(), PresentationMode::Both).unwrap().keep();
    let veto = |call: &CallInfo<'_>| (call.tool.as_str() == "denied").then(|| "no".to_owned());
    bench.pipeline.registry().guard(&Target::Global, Arc::new(veto)).unwrap().keep();
    let told = |name: &str| {
        let what =
            "was dispatched without having been admitted, or for the second time; its body did not run";
        (ErrorCode::HostBug, format!("`{name}` {what}"))
    };
    for (name, args) in [("denied", json!({})), ("add", json!({"n": "x"})), ("nothing", json!({}))] {
        let mut prepared = bench.pipeline.prepare(bench.request(name, args)).await;
        assert_eq!(failure(bench.pipeline.dispatch(&prepared).await), told(name));
        assert!(!matches!(prepared.take_route(), Route::Dispatch));
        let again = prepared.take_route();
        assert!(
            matches!(&again, Route::Final(Err(failure)) if failure.code == ErrorCode::HostBug),
            "{again:?}"
        );
        assert_eq!(failure(bench.pipeline.dispatch(&prepared).await), told(name));
        assert_eq!(bench.log(), "", "{name}");
    }
    let prepared = bench.pipeline.prepare(bench.request("add", json!({}))).await;
    assert!(bench.pipeline.dispatch(&prepared).await.is_ok());
    assert_eq!(failure(bench.pipeline.dispatch(&prepared).await), told("add"));
    assert_eq!(bench.log(), "body");
}

/// What changes the registry while somebody is asked, and grants.
struct Meanwhile<F>(F);

impl<F: Fn() + Send + Sync> ApprovalService for Meanwhile<F> {
    fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        (self.0)();
        Box::pin(std::future::ready(ApprovalAnswer::AllowedOnce))
    }
}

/// P-4, R-9: what is guarded, restricted, taken back or replaced while a person thinks holds for the call in question.
#[tokio::test]
async fn what_changes_while_somebody_is_asked_holds_for_the_call() {
    type Change = fn(&Registry, &mut Option<crate::registry::Disposer>);
    let veto = |registry: &Registry, _: &mut Option<_>| {
        let veto = |_: &CallInfo<'_>| Some("too late".to_owned());
        registry.guard(&Target::Global, Arc::new(veto)).unwrap().keep();
    };
    let changes: [(&str, Change); 5] = [
        ("DENIED: `add` was denied: too late", veto),
        ("UNKNOWN_TOOL: the tool `add` exists but is not available here", |registry, _| {
            let restriction = crate::registry::Restriction::deny(["add"]);
            registry.restrict(&Target::Scope("agent".into()), restriction).unwrap().keep();
        }),
        ("UNKNOWN_TOOL: there is no tool `add`", |_, tool| drop(tool.take())),
        ("UNKNOWN_TOOL: there is no scope `agent`", |registry, _| {
            registry.close_scope(&"agent".into()).unwrap();
        }),
        ("TOOL_ARGS_INVALID: arguments of `add`: expected string, got an integer at /n", |registry, tool| {
            drop(tool.take());
            let other = Tool::builder("add")
                .parameters(json!({"type": "object", "properties": {"n": {"type": "string"}}}))
                .output(json!({}))
                .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
                .unwrap();
            registry.register(&Target::Global, other).unwrap().keep();
        }),
    ];
    for (expected, change) in changes {
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        let add = Tool::builder("add")
            .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .output(json!({}))
            .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
            .unwrap();
        let tool = Mutex::new(Some(registry.register(&Target::Global, add).unwrap()));
        let changing = registry.clone();
        let service = Arc::new(Meanwhile(move || change(&changing, &mut tool.lock().unwrap())));
        let pipeline = Pipeline::new(registry, CallLimits::default(), Some(service));
        pipeline.add_pre(None, Arc::new(Pre(Decision::Ask { reason: None }))).keep();
        let mut request = CallRequest::new("c", "add", json!({"n": 1}), "s".into());
        request.scope = Some("agent".into());
        assert_eq!(pipeline.execute(request).await.unwrap_err().to_string(), expected);
    }
}
