//! What interceptors, guards and observers may do, in which order, and what they cannot.

use super::*;

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
