//! What may still be done with a settled result (P-8 to P-10).

use super::*;
use crate::outcome::DeferredContext;

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
    let cancelled = bench.request("add", json!({"n": 1}));
    cancelled.cancel.cancel();
    bench.pipeline.execute(cancelled).await.unwrap_err();
    assert_eq!(bench.log(), r#"finalize observe(ABORTED_BEFORE_DISPATCH {"n":1})"#);
    let mode = bench.pipeline.registry().present_as(&"agent".into(), PresentationMode::Code).unwrap();
    bench.call("add", json!({"n": 1})).await.unwrap_err();
    assert_eq!(bench.log(), r#"finalize observe(COLLAPSED {"n":1})"#);
    drop(mode);
    bench.call("nothing", json!({})).await.unwrap_err();
    assert_eq!(bench.log(), "observe(there is no tool `nothing`)");
}

/// P-8: every answer of post-execute, on a success and on a failure.
#[tokio::test]
async fn post_execute_may_answer_in_these_ways() {
    let text = |text: &str| vec![ContentBlock::text(text)];
    let block =
        PostDecision::Block { feedback: "try b".to_owned(), deferred: vec![DeferredContext::new("mine")] };
    let invalid = "INVALID_TOOL_OUTPUT [an interceptor replaced the result of `good`, and the new value breaks the tool's \
                   output schema: expected integer, got a string. This is a bug of the interceptor, not of the tool; \
                   effects of the call stand] tool";
    let more = |decision: &PostDecision| decision.clone().and_defer([DeferredContext::new("more")]);
    let said: Vec<(PostDecision, &str, &str)> = vec![
        (PostDecision::Accept, "3 [3] tool", "TOOL_FAILED [broken] tool"),
        (PostDecision::AcceptContent(text("other")), "3 [other] tool", "TOOL_FAILED [other] tool"),
        (PostDecision::AcceptValue(json!(4)), "4 [4] tool", "TOOL_FAILED [broken] tool"),
        (PostDecision::AcceptValue(json!("text")), invalid, "TOOL_FAILED [broken] tool"),
        (more(&PostDecision::Accept), "3 [3] tool more", "TOOL_FAILED [broken] tool more"),
        (more(&PostDecision::AcceptValue(json!(4))), "4 [4] tool more", "TOOL_FAILED [broken] tool more"),
        (more(&block), "RESULT_BLOCKED [try b] mine more", "TOOL_FAILED [try b] mine more"),
        (block, "RESULT_BLOCKED [try b] mine", "TOOL_FAILED [try b] mine"),
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
            assert_eq!(told, expected, "{decision:?} on {tool}");
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

/// P-10: what observers get is what the caller gets, and one that fails changes nothing.
#[tokio::test]
async fn observers_see_the_final_result_and_cannot_change_it() {
    struct Rewords;
    impl PostExecute for Rewords {
        fn review<'a>(
            &'a self,
            _call: &'a Call,
            _result: &'a CallResult,
            _next: PostNext<'a>,
        ) -> BoxFuture<'a, PostDecision> {
            Box::pin(async { PostDecision::AcceptContent(vec![ContentBlock::text("reworded")]) })
        }
    }
    struct Keeps(Mutex<Vec<CallResult>>);
    impl ResultObserver for Keeps {
        fn observe(&self, _call: &Call, result: &CallResult) {
            self.0.lock().unwrap().push(result.clone());
            panic!("observed");
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.add_post(None, Arc::new(Rewords)).keep();
    let observers = [0, 1].map(|_| Arc::new(Keeps(Mutex::default())));
    for observer in &observers {
        bench.pipeline.add_observer(None, Arc::clone(observer) as _).keep();
    }
    let results = [bench.call("add", json!({})).await, bench.call("nothing", json!({})).await];
    assert_eq!(results[0].as_ref().unwrap().content, [ContentBlock::text("reworded")]);
    for observer in &observers {
        // A call that resolves to nothing belongs to no scope, and global observers see it all the same.
        assert_eq!(*observer.0.lock().unwrap(), results);
    }
}
