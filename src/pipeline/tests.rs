//! The pipeline's rules, one test each.

mod admission;
mod around;
mod chains;
mod depth;
mod draining;
mod nested;
mod panics;
mod property;
mod review;
mod sharing;
mod values;

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

/// what is longer than any tool's name is no misspelling of one.
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

/// P-11, P-12: the parts, put together as a scheduler does, give what `execute` gives, with a drain deadline and
/// without.
#[tokio::test]
async fn execute_is_the_four_parts() {
    for drain in [false, true] {
        let bench = Bench::new(None);
        if drain {
            bench.pipeline.set_drain(Arc::new(ManualClock::new()), Duration::from_secs(5));
        }
        bench.tool("add", |_| Ok(json!(3)));
        bench.tool("bad", |_| Ok(json!("text")));
        bench.tool("vetoed", |_| Ok(json!(3)));
        bench.tool("stops", |context| {
            context.cancel.cancel();
            Ok(json!(3))
        });
        let veto = |call: &CallInfo<'_>| (call.tool.as_str() == "vetoed").then(|| "not today".to_owned());
        bench.pipeline.registry().guard(&Target::Global, Arc::new(veto)).unwrap().keep();
        let seen = Arc::new(Seen::default());
        bench.pipeline.add_observer(None, Arc::clone(&seen) as _).keep();
        let block = PostDecision::Block { feedback: "seen".to_owned(), deferred: Vec::new() };
        let mut routes = Vec::new();
        for reviewed in [false, true] {
            let attached = reviewed.then(|| bench.pipeline.add_post(None, Arc::new(Post(block.clone()))));
            for (name, args) in [
                ("add", json!({})),
                ("bad", json!({})),
                ("stops", json!({})),
                ("vetoed", json!({})),
                ("add", json!({"n": "x"})),
                ("nothing", json!({})),
            ] {
                let whole = bench.call(name, args.clone()).await;
                let traced = (bench.log(), std::mem::take(&mut *seen.0.lock().unwrap()));
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
                assert_eq!(parts, whole, "{name}");
                assert_eq!((bench.log(), std::mem::take(&mut *seen.0.lock().unwrap())), traced, "{name}");
            }
            drop(attached);
        }
        assert_eq!(routes, ["dispatch", "dispatch", "dispatch", "post", "final", "final"].repeat(2));
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
