//! What stands around a body: signals, attempts and results (P-6, P-7, P-13).

use super::*;
use crate::outcome::{CallSuccess, DeferredContext};

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

/// P-7: a wrapper sees normalised results of wrappers further in as well, and what those do wrong is not the tool's
/// fault.
#[tokio::test]
async fn what_a_wrapper_makes_up_is_normalised_for_the_one_around_it() {
    let blamed = "an interceptor replaced the result of `add`, and the new value breaks the tool's output schema: expected \
                  integer, got a string. This is a bug of the interceptor, not of the tool; effects of the call stand";
    for (gives, seen, expected) in
        [(json!(4), r#"4 Some("4")"#, Ok(json!(4))), (json!("text"), "INVALID_TOOL_OUTPUT", Err(blamed))]
    {
        let bench = Bench::new(None);
        bench.tool("add", |context| {
            context.defer_context("kept");
            Ok(json!(3))
        });
        for gives in [None, Some(gives)] {
            let around = Around { sees: Arc::clone(&bench.log), gives };
            bench.pipeline.add_around(None, Arc::new(around)).keep();
        }
        let result = bench.call("add", json!({})).await;
        assert_eq!(bench.log(), format!(r#"body 3 Some("3") {seen}"#));
        let deferred = result.as_ref().map_or_else(|failure| &failure.deferred, |success| &success.deferred);
        assert_eq!(*deferred, [DeferredContext::new("kept")]);
        let told =
            result.as_ref().map(|success| (*success.value).clone()).map_err(|failure| &*failure.message);
        assert_eq!(told, expected);
    }
}

/// P-7: a result that a wrapper keeps over another attempt stays what it is, content of its own included.
#[tokio::test]
async fn a_result_that_is_kept_over_an_attempt_stays_as_it_was() {
    struct KeepsTheFirst;
    impl AroundDispatch for KeepsTheFirst {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async move {
                let first = next.run().await;
                let _ = next.run().await;
                first
            })
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |context| {
        context.set_content(vec![ContentBlock::text("own words")]);
        Ok(json!(3))
    });
    bench.pipeline.add_around(None, Arc::new(KeepsTheFirst)).keep();
    assert_eq!(bench.call("add", json!({})).await.unwrap().content, [ContentBlock::text("own words")]);
    assert_eq!(bench.log(), "body body");
}

/// P-13: once an attempt has started, no later one makes that undone.
#[tokio::test]
async fn a_second_attempt_that_does_not_start_is_no_call_that_did_not() {
    /// Runs the body again under a signal that is raised already; gives the first or the second result.
    struct Again {
        first: bool,
    }
    impl AroundDispatch for Again {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async move {
                let raised = CancellationToken::new();
                raised.cancel();
                if self.first {
                    let never = next.run_with_signal(&raised).await;
                    assert_eq!(failure(never.clone()).0, ErrorCode::AbortedBeforeDispatch);
                    let _ = next.run().await;
                    return never;
                }
                let _ = next.run().await;
                let second = next.run_with_signal(&raised).await;
                assert_eq!(failure(second.clone()).0, ErrorCode::Aborted);
                second
            })
        }
    }
    for first in [false, true] {
        let bench = Bench::new(None);
        bench.tool("add", |_| Ok(json!(3)));
        bench.pipeline.add_around(None, Arc::new(Again { first })).keep();
        assert_eq!(
            failure(bench.call("add", json!({})).await),
            (
                ErrorCode::Aborted,
                "`add` was cancelled after it had started; effects may have happened".to_owned()
            )
        );
        assert_eq!(bench.log(), "body");
    }
}
