//! Values of any depth, wherever one can come from (T-8).
//!
//! Owns one deep value for each way into the pipeline, on a stack on which any recursion over it overflows. It never
//! looks at what a scheduler does with arguments before that.

use super::*;
use crate::json::nested;
use crate::outcome::CallSuccess;

const LEVELS: usize = 100_000;

/// Runs a test on a stack of 2 MiB, whatever the machine gives.
pub(crate) fn on_a_small_stack<F: Future<Output = ()>>(work: impl FnOnce() -> F + Send + 'static) {
    let run = || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work());
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

fn deep_block() -> ContentBlock {
    ContentBlock::Json { value: nested(LEVELS) }
}

/// What stands for the deep value: its text, so that nothing is lost.
fn kept(value: &Value) -> bool {
    value["$deep"].as_str().is_some_and(|text| text.len() == 2 * LEVELS + 4)
}

fn kept_in(content: &[ContentBlock]) -> bool {
    matches!(content.last(), Some(ContentBlock::Json { value }) if kept(value))
}

impl Bench {
    /// A tool `t` that returns whatever `body` does.
    fn returning<F>(&self, body: F)
    where
        F: Fn(&ToolContext) -> Result<Value, ToolError> + Send + Sync + 'static,
    {
        let tool = Tool::builder("t").foreign_output(json!({})).handler(move |_args: Value, context| {
            let reply = body(&context);
            async move { reply }
        });
        self.pipeline.registry().register(&Target::Global, tool.unwrap()).unwrap().keep();
    }
}

/// T-8, T-17: arguments are refused, and nobody gets more than their text.
#[test]
fn arguments_of_any_depth_are_refused() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        bench.returning(|_| Ok(Value::Null));
        let (code, message) = failure(bench.call("t", nested(LEVELS)).await);
        assert_eq!(code, ErrorCode::ToolArgsTooLarge);
        assert_eq!(
            message,
            "the arguments of `t` are nested more than 128 levels deep; pass a flatter value"
        );
        // A name that means nothing is still told as such.
        assert_eq!(failure(bench.call("u", nested(LEVELS)).await).0, ErrorCode::UnknownTool);
        let prepared = bench.pipeline.prepare(bench.request("t", nested(LEVELS))).await;
        assert!(kept(&prepared.call().args));
        assert!(matches!(prepared.route(), Route::Final(Err(_))));
    });
}

/// T-8: what a host allows is bounded by what an event can hold.
#[test]
fn no_limit_lets_arguments_through_that_cannot_be_recorded() {
    on_a_small_stack(|| async {
        let limits = CallLimits { depth: usize::MAX, argument_bytes: usize::MAX };
        let bench = Bench { pipeline: Pipeline::new(Registry::new(), limits, None), log: Arc::default() };
        bench.returning(|_| Ok(Value::Null));
        let request = CallRequest::new("c", "t", nested(LEVELS), "s".into());
        let (_, message) = failure(bench.pipeline.execute(request).await);
        assert!(message.contains("more than 256 levels"), "{message}");
    });
}

/// T-8, T-10: a value is refused, details and blocks are kept as their text.
#[test]
fn a_body_may_return_values_of_any_depth() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        bench.returning(|context| match context.root() {
            None if context.call.as_str() == "value" => Ok(nested(LEVELS)),
            None if context.call.as_str() == "content" => {
                context.set_content(vec![deep_block()]);
                // The second takes the place of the first.
                context.set_content(vec![deep_block()]);
                Ok(Value::Null)
            }
            _ => {
                context.set_content(vec![deep_block()]);
                let failed = ToolError::failed("no").with_details(nested(LEVELS));
                Err(failed.with_blocks(vec![deep_block()]))
            }
        });
        let call = async |id: &str| {
            let request = CallRequest::new(id, "t", json!({}), "s".into());
            bench.pipeline.execute(request).await
        };
        assert_eq!(call("value").await.unwrap_err().code, ErrorCode::InvalidToolOutput);
        assert!(kept_in(&call("content").await.unwrap().content));
        let failed = call("error").await.unwrap_err();
        assert!(kept(failed.details.as_ref().unwrap()) && kept_in(&failed.content));
    });
}

/// T-8, P-14: what a body returns is safe to let go of before anybody has looked at all of it.
#[test]
fn what_a_cancelled_body_returns_may_be_of_any_depth() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        let mut request = CallRequest::new("c", "t", json!({}), "s".into());
        let cancel = CancellationToken::new();
        request.cancel = cancel.clone();
        bench.returning(move |_| {
            cancel.cancel();
            Err(ToolError::unsupported("no").with_details(nested(LEVELS)).with_blocks(vec![deep_block()]))
        });
        let aborted = bench.pipeline.execute(request).await.unwrap_err();
        assert_eq!(aborted.code, ErrorCode::Aborted);
        assert!(kept(&aborted.details.unwrap()["details"]));
    });
}

/// T-8: the pure functions of a definition are no exception.
#[test]
fn what_is_rendered_may_be_of_any_depth() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        let builder =
            |name: &str| Tool::builder(name).foreign_output(json!({})).render(|_, _| Ok(vec![deep_block()]));
        let rendered = builder("rendered").presentation_meta(|_, _| Ok(nested(LEVELS)));
        let broken = builder("broken").presentation_meta(|_, _| Err("no".to_owned()));
        let finalized = builder("finalized").finalize_content(|_, _| Some(vec![deep_block()]));
        for builder in [rendered, broken, finalized] {
            let tool = builder.handler(|_: Value, _: ToolContext| async { Ok::<_, ToolError>(Value::Null) });
            bench.pipeline.registry().register(&Target::Global, tool.unwrap()).unwrap().keep();
        }
        let rendered = bench.call("rendered", json!({})).await.unwrap();
        assert!(kept_in(&rendered.content) && kept(rendered.meta.as_ref().unwrap()));
        assert_eq!(bench.call("broken", json!({})).await.unwrap_err().code, ErrorCode::InvalidToolOutput);
        assert!(kept_in(&bench.call("finalized", json!({})).await.unwrap().content));
    });
}

struct Wraps(fn() -> CallResult);

impl AroundDispatch for Wraps {
    fn around<'a>(&'a self, _call: &'a Call, _next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(std::future::ready((self.0)()))
    }
}

struct Reviews(fn() -> PostDecision);

impl PostExecute for Reviews {
    fn review<'a>(
        &'a self,
        _call: &'a Call,
        _result: &'a CallResult,
        _next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        Box::pin(std::future::ready((self.0)()))
    }
}

/// T-8, T-10: what a wrapper makes up is looked at before it is copied.
#[test]
fn a_wrapper_may_return_values_of_any_depth() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        bench.returning(|_| Ok(Value::Null));
        let success = || {
            let (value, content, meta) = (Arc::new(nested(LEVELS)), vec![deep_block()], Some(nested(LEVELS)));
            Ok(CallSuccess { value, content, meta, deferred: Vec::new(), concludes_turn: false })
        };
        let wrapped = bench.pipeline.add_around(None, Arc::new(Wraps(success)));
        assert_eq!(bench.call("t", json!({})).await.unwrap_err().code, ErrorCode::InvalidToolOutput);
        drop(wrapped);
        let failed = || Err(CallFailure::new(ErrorCode::Denied, "no").with_details(nested(LEVELS)));
        bench.pipeline.add_around(None, Arc::new(Wraps(failed))).keep();
        assert!(kept(&bench.call("t", json!({})).await.unwrap_err().details.unwrap()));
    });
}

/// T-8
#[test]
fn a_review_may_return_values_of_any_depth() {
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        bench.returning(|context| match context.call.as_str() {
            "c1" => Ok(Value::Null),
            _ => Err(ToolError::failed("no")),
        });
        let content = Reviews(|| PostDecision::AcceptContent(vec![deep_block()]));
        let reviewed = bench.pipeline.add_post(None, Arc::new(content));
        assert!(kept_in(&bench.call("t", json!({})).await.unwrap().content));
        drop(reviewed);
        bench.pipeline.add_post(None, Arc::new(Reviews(|| PostDecision::AcceptValue(nested(LEVELS))))).keep();
        assert_eq!(bench.call("t", json!({})).await.unwrap_err().code, ErrorCode::InvalidToolOutput);
        let failing = CallRequest::new("c2", "t", json!({}), "s".into());
        assert_eq!(bench.pipeline.execute(failing).await.unwrap_err().code, ErrorCode::ToolFailed);
    });
}

/// T-8, P-14: what a call is given up with is kept and let go of, used or not.
#[test]
fn what_a_wrapper_gives_a_call_up_with_may_be_of_any_depth() {
    struct GivesUp;
    impl AroundDispatch for GivesUp {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            let failure = CallFailure::new(ErrorCode::ToolTimeout, "late").with_details(nested(LEVELS));
            drop(next.give_up(failure));
            next.run()
        }
    }
    on_a_small_stack(|| async {
        let bench = Bench::new(None);
        bench.returning(|_| Ok(Value::Null));
        bench.pipeline.add_around(None, Arc::new(GivesUp)).keep();
        assert!(bench.call("t", json!({})).await.is_ok());
    });
}
