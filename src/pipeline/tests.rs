//! The pipeline's rules, one test each.

mod chains;
mod depth;
mod draining;
mod nested;
mod property;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock::ManualClock;
use crate::content::ContentBlock;
use crate::ids::{CallId, ParentToken, ScopeId};
use crate::outcome::{CallFailure, ErrorCode};
use crate::registry::{PresentationMode, Target};
use crate::tool::{CallInfo, Tool, ToolContext, ToolError, tool};

struct Bench {
    pipeline: Pipeline,
    log: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new(approval: Option<Arc<dyn ApprovalService>>) -> Self {
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        Self { pipeline: Pipeline::new(registry, CallLimits::default(), approval), log: Arc::default() }
    }

    fn tool<F>(&self, name: &str, body: F)
    where
        F: Fn(&ToolContext) -> Result<Value, ToolError> + Send + Sync + Clone + 'static,
    {
        let log = Arc::clone(&self.log);
        let tool = Tool::builder(name)
            .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .output(json!({"type": "integer"}))
            .handler(move |_args: Value, context: ToolContext| {
                log.lock().unwrap().push("body".to_owned());
                let reply = body(&context);
                async move { reply }
            })
            .unwrap();
        self.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    }

    /// A tool `wait` that does nothing until it is told to stop, and succeeds then.
    fn waiting(&self) {
        let tool = Tool::builder("wait")
            .output(json!({"type": "integer"}))
            .handler(|_args: Value, context: ToolContext| async move {
                context.cancel.cancelled().await;
                Ok::<_, ToolError>(json!(1))
            })
            .unwrap();
        self.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    }

    async fn call(&self, name: &str, args: Value) -> CallResult {
        self.pipeline.execute(self.request(name, args)).await
    }

    #[expect(clippy::unused_self, reason = "reads better at the place of use")]
    fn request(&self, name: &str, args: Value) -> CallRequest {
        let mut request = CallRequest::new("c1", name, args, "s".into());
        request.scope = Some("agent".into());
        request
    }

    fn log(&self) -> String {
        std::mem::take(&mut *self.log.lock().unwrap()).join(" ")
    }
}

fn failure(result: CallResult) -> (ErrorCode, String) {
    let failure: CallFailure = result.unwrap_err();
    (failure.code, failure.message)
}

/// T-12
#[tokio::test]
async fn a_success_carries_value_and_content() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let success = bench.call("add", json!({"n": 1})).await.unwrap();
    assert_eq!((&*success.value, success.content), (&json!(3), vec![ContentBlock::text("3")]));
}

/// P-16, T-17
#[tokio::test]
async fn unusable_calls_say_what_to_do() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    assert_eq!(
        failure(bench.call("ad", json!({})).await),
        (ErrorCode::UnknownTool, "there is no tool `ad`; did you mean `add`?".to_owned())
    );
    assert_eq!(
        failure(bench.call("add", json!({"n": "x"})).await),
        (ErrorCode::ToolArgsInvalid, "arguments of `add`: expected integer, got a string at /n".to_owned())
    );
    let large = failure(bench.call("add", json!({"x": "y".repeat(2 << 20)})).await);
    assert_eq!(large.0, ErrorCode::ToolArgsTooLarge);
    assert_eq!(bench.log(), "");
}

/// T-9: parameters and output are compiled when the tool is defined, and in no call.
#[tokio::test]
async fn a_tool_is_compiled_once_for_all_its_calls() {
    let compiled = || crate::schema::tests::COMPILED.get();
    let bench = Bench::new(None);
    let before = compiled();
    bench.tool("add", |_| Ok(json!(3)));
    assert_eq!(compiled() - before, 2);
    bench.tool("bad", |_| Ok(json!("no integer")));
    assert_eq!(compiled() - before, 4);
    for n in 0..10 {
        assert!(bench.call("add", json!({"n": n})).await.is_ok());
        assert!(bench.call("add", json!({"n": "x"})).await.is_err());
        assert_eq!(failure(bench.call("bad", json!({"n": n})).await).0, ErrorCode::InvalidToolOutput);
    }
    assert_eq!(compiled() - before, 4);
}

/// R-11: what is longer than any tool's name is no misspelling of one.
#[tokio::test]
async fn an_unknown_name_without_end_is_not_looked_up_among_all_tools() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let (code, message) = failure(bench.call(&"add ".repeat(1 << 18), json!({})).await);
    assert_eq!(
        (code, message),
        (ErrorCode::UnknownTool, format!("there is no tool `{}`", "add ".repeat(25)))
    );
}

/// P-16
#[tokio::test]
async fn an_integer_is_one_however_it_is_spelled() {
    let bench = Bench::new(None);
    let echo = Tool::builder("echo")
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .foreign_output(json!({}))
        .handler(|args: Value, _context: ToolContext| async move { Ok(args) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, echo).unwrap().keep();
    let success = bench.call("echo", json!({"n": 3.0, "x": [-0.5, 1e3]})).await.unwrap();
    assert_eq!(success.value.to_string(), r#"{"n":3,"x":[-0.5,1000]}"#);
}

/// P-16, T-6
#[tokio::test]
async fn what_fits_the_schema_and_not_the_type_is_an_argument_at_fault() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Args {
        of: Vec<u64>,
    }
    let bench = Bench::new(None);
    let sum = tool::<Args, u64>("sum", "Adds.")
        .handler(|args: Args, _context| async move { Ok(args.of.iter().sum()) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, sum).unwrap().keep();
    assert_eq!(*bench.call("sum", json!({"of": [1.0, 2, 3e0]})).await.unwrap().value, json!(6));
    let refused = bench.call("sum", json!({"of": [1, 1e21]})).await.unwrap_err();
    let message = "expected an integer from 0 to 18446744073709551615, got 1e+21";
    assert_eq!(refused.code, ErrorCode::ToolArgsInvalid);
    assert_eq!(refused.message, format!("arguments of `sum`: {message} at /of/1"));
    assert_eq!(
        refused.details,
        Some(json!({"listed": [{"pointer": "/of/1", "message": message}], "more": false}))
    );
}

/// T-10
#[tokio::test]
async fn a_value_that_breaks_its_schema_is_never_a_success() {
    let bench = Bench::new(None);
    bench.tool("bad", |_| Ok(json!("text")));
    let (code, message) = failure(bench.call("bad", json!({})).await);
    assert_eq!(code, ErrorCode::InvalidToolOutput);
    assert_eq!(
        message,
        "the tool `bad` ran, but its value breaks its own output schema: expected integer, got a string. This is a \
         bug of the tool; its effects stand"
    );
}

/// T-10: a value that cannot be shown, or stored, is no success either, whether it fails or panics.
#[tokio::test]
async fn a_value_that_cannot_be_rendered_is_never_a_success() {
    type Shown = Result<Vec<ContentBlock>, String>;
    type Stored = Result<Value, String>;
    let shown = |_: &Value, _: &Value| -> Shown { Ok(vec![ContentBlock::text("3")]) };
    let stored = |_: &Value, _: &Value| -> Stored { Ok(Value::Null) };
    let bench = Bench::new(None);
    let register = |builder: crate::tool::ToolBuilder| {
        let tool =
            builder.handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(3)) });
        bench.pipeline.registry().register(&Target::Global, tool.unwrap()).unwrap().keep();
    };
    let builder = |name: &str| Tool::builder(name).output(json!({"type": "integer"}));
    register(builder("fine").render(shown).presentation_meta(stored));
    register(builder("unshown").render(|_, _| -> Shown { Err("no words".to_owned()) }));
    register(builder("unstored").presentation_meta(|_, _| -> Stored { Err("no room".to_owned()) }));
    register(builder("panics").render(|_, _| -> Shown { panic!("boom") }));
    assert!(bench.call("fine", json!({})).await.is_ok());
    for name in ["unshown", "unstored", "panics"] {
        let (code, message) = failure(bench.call(name, json!({})).await);
        assert_eq!(code, ErrorCode::InvalidToolOutput, "{name}: {message}");
    }
}

/// P-11, P-12: the parts, put together as a scheduler does, give what `execute` gives.
#[tokio::test]
async fn execute_is_the_four_parts() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    bench.tool("bad", |_| Ok(json!("text")));
    bench.tool("vetoed", |_| Ok(json!(3)));
    let veto = |call: &CallInfo<'_>| (call.tool.as_str() == "vetoed").then(|| "not today".to_owned());
    bench.pipeline.registry().guard(&Target::Global, Arc::new(veto)).unwrap().keep();
    let block = PostDecision::Block { feedback: "seen".to_owned(), deferred: Vec::new() };
    bench.pipeline.add_post(None, Arc::new(Post(block))).keep();
    let calls = [("add", json!({})), ("bad", json!({})), ("vetoed", json!({})), ("add", json!({"n": "x"}))];
    let mut routes = Vec::new();
    for (name, args) in calls {
        let whole = bench.call(name, args.clone()).await;
        let body = bench.log();
        let mut prepared = bench.pipeline.prepare(bench.request(name, args)).await;
        let route = prepared.take_route();
        routes.push(match &route {
            Route::Dispatch => "dispatch",
            Route::PostResult(_) => "post",
            Route::Final(_) => "final",
        });
        let parts = match route {
            Route::Dispatch => {
                let result = bench.pipeline.dispatch(&prepared).await;
                bench.pipeline.finalize(&prepared, result).await
            }
            Route::PostResult(result) => bench.pipeline.finalize(&prepared, result).await,
            Route::Final(result) => bench.pipeline.finish(&prepared, result),
        };
        assert_eq!((format!("{parts:?}"), bench.log()), (format!("{whole:?}"), body), "{name}");
    }
    assert_eq!(routes, ["dispatch", "dispatch", "post", "final"]);
}

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

struct Pre(Decision);

impl PreExecute for Pre {
    fn decide<'a>(&'a self, _call: &'a Call, _next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

struct Post(PostDecision);

impl PostExecute for Post {
    fn review<'a>(
        &'a self,
        _call: &'a Call,
        _result: &'a CallResult,
        _next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

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

/// P-3
#[tokio::test]
async fn an_interceptor_of_a_scope_sees_only_that_scope() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let deny = Pre(Decision::Deny { reason: "scope".to_owned() });
    bench.pipeline.add_pre(Some("agent".into()), Arc::new(deny)).keep();
    assert_eq!(failure(bench.call("add", json!({})).await).0, ErrorCode::Denied);
    let mut outside = bench.request("add", json!({}));
    outside.scope = None;
    assert!(bench.pipeline.execute(outside).await.is_ok());
}

struct Answer(ApprovalAnswer);

impl ApprovalService for Answer {
    fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        Box::pin(std::future::ready(self.0.clone()))
    }
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

/// P-13
#[tokio::test]
async fn cancellation_tells_whether_the_body_had_started() {
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let request = bench.request("add", json!({}));
    request.cancel.cancel();
    assert_eq!(failure(bench.pipeline.execute(request).await).0, ErrorCode::AbortedBeforeDispatch);
    assert_eq!(bench.log(), "");
    let cancel = CancellationToken::new();
    let inner = cancel.clone();
    bench.tool("late", move |_| {
        inner.cancel();
        Ok(json!(3))
    });
    let mut request = bench.request("late", json!({}));
    request.cancel = cancel;
    assert_eq!(failure(bench.pipeline.execute(request).await).0, ErrorCode::Aborted);
}

#[derive(Default)]
struct Seen(Mutex<Vec<Option<ErrorCode>>>);

impl ResultObserver for Seen {
    fn observe(&self, _call: &Call, result: &CallResult) {
        self.0.lock().unwrap().push(result.as_ref().err().map(|failure| failure.code));
    }
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

struct OwnSignal;

impl AroundDispatch for OwnSignal {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let unrelated = CancellationToken::new();
            next.run_with_signal(&unrelated).await
        })
    }
}

/// P-6
#[tokio::test]
async fn a_wrapper_cannot_take_the_callers_power_to_cancel() {
    let bench = Bench::new(None);
    bench.pipeline.add_around(None, Arc::new(OwnSignal)).keep();
    bench.waiting();
    let request = bench.request("wait", json!({}));
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(bench.pipeline.execute(request), async { cancel.cancel() });
    assert_eq!(failure(result).0, ErrorCode::Aborted);
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

/// T-14
#[tokio::test]
async fn a_body_knows_where_it_stands() {
    struct Heard(Mutex<Vec<String>>);
    impl crate::tool::ProgressSink for Heard {
        fn report(&self, call: &CallId, progress: crate::tool::Progress) {
            self.0.lock().unwrap().push(format!("{call}: {} of {:?}", progress.done, progress.total));
        }
    }
    let bench = Bench::new(None);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = Arc::clone(&told);
    bench.tool("look", move |context| {
        let (scope, nested) = (context.scope.as_ref().map(ScopeId::as_str), context.parent.is_some());
        let names = (context.call.as_str(), context.session.as_str(), scope);
        tells.lock().unwrap().push(format!("{names:?} nested {nested} in {:?}", context.root().unwrap()));
        context.progress(crate::tool::Progress { done: 1.0, total: Some(2.0), message: None });
        Ok(json!(1))
    });
    let heard = Arc::new(Heard(Mutex::default()));
    for parent in [None, Some(ParentToken::new(CallId::from("r"), CallId::from("r")))] {
        let mut request = bench.request("look", json!({}));
        request.root = Some(std::path::Path::new("/project").into());
        request.progress = Some(Arc::clone(&heard) as _);
        request.parent = parent;
        bench.pipeline.execute(request).await.unwrap();
    }
    assert_eq!(
        *told.lock().unwrap(),
        [false, true].map(|nested| format!(r#"("c1", "s", Some("agent")) nested {nested} in "/project""#))
    );
    assert_eq!(*heard.0.lock().unwrap(), ["c1: 1 of Some(2.0)"; 2]);
}

/// T-14, T-15: a failure has no place for a conclusion.
#[tokio::test]
async fn only_a_success_can_conclude_the_turn() {
    let bench = Bench::new(None);
    bench.tool("end", |context| {
        context.defer_context("note");
        context.forward_deferred([crate::outcome::DeferredContext::new("of a nested call")]);
        context.conclude_turn();
        Ok(json!(1))
    });
    let success = bench.call("end", json!({})).await.unwrap();
    assert!(success.concludes_turn);
    let deferred: Vec<_> = success.deferred.iter().map(|context| context.text.as_str()).collect();
    assert_eq!(deferred, ["note", "of a nested call"]);
}
