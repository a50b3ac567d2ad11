//! Code of others that panics (P-15).

use super::*;

/// P-15
#[tokio::test]
async fn a_panic_in_a_body_is_contained() {
    let bench = Bench::new(None);
    bench.tool("boom", |_| panic!("boom"));
    bench.tool("add", |_| Ok(json!(3)));
    let (code, message) = failure(bench.call("boom", json!({})).await);
    assert!(code == ErrorCode::ToolPanicked && message.contains("`boom`"), "{code}: {message}");
    assert!(bench.call("add", json!({})).await.is_ok());
}

/// P-15: the same for what stands around a body.
#[tokio::test]
async fn a_panic_around_a_body_is_contained() {
    struct Boom;
    impl PreExecute for Boom {
        fn decide<'a>(&'a self, _call: &'a Call, _next: PreNext<'a>) -> BoxFuture<'a, Decision> {
            panic!("boom")
        }
    }
    impl AroundDispatch for Boom {
        fn around<'a>(&'a self, _call: &'a Call, _next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async { panic!("boom") })
        }
    }
    impl PostExecute for Boom {
        fn review<'a>(
            &'a self,
            _call: &'a Call,
            _result: &'a CallResult,
            _next: PostNext<'a>,
        ) -> BoxFuture<'a, PostDecision> {
            Box::pin(async { panic!("boom") })
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let guard = |_: &CallInfo<'_>| -> Option<String> { panic!("boom") };
    let faults: [&dyn Fn() -> Box<dyn std::any::Any>; 4] = [
        &|| Box::new(bench.pipeline.add_pre(None, Arc::new(Boom))),
        &|| Box::new(bench.pipeline.add_around(None, Arc::new(Boom))),
        &|| Box::new(bench.pipeline.add_post(None, Arc::new(Boom))),
        &|| Box::new(bench.pipeline.registry().guard(&Target::Global, Arc::new(guard)).unwrap()),
    ];
    for (index, fault) in faults.iter().enumerate() {
        let fault = fault();
        let (code, message) = failure(bench.call("add", json!({})).await);
        assert!(code == ErrorCode::ToolPanicked && message.contains("`add`"), "{index}: {code}: {message}");
        drop(fault);
        assert!(bench.call("add", json!({})).await.is_ok(), "{index}");
    }
}

/// P-2, P-15: a service that panics before it has made its future grants nothing.
#[tokio::test]
async fn an_approval_service_that_panics_grants_nothing() {
    struct Panics;
    impl ApprovalService for Panics {
        fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
            panic!("no future")
        }
    }
    let bench = Bench::new(Some(Arc::new(Panics)));
    bench.tool("add", |_| Ok(json!(3)));
    bench.pipeline.add_pre(None, Arc::new(Pre(Decision::Ask { reason: None }))).keep();
    assert_eq!(
        failure(bench.call("add", json!({})).await),
        (
            ErrorCode::ApprovalUnavailable,
            "approval for `add` could not be asked for: the approval service panicked".to_owned()
        )
    );
    assert_eq!(bench.log(), "");
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
