//! Whose deadline it was, and what becomes of the body.

use std::sync::Mutex;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock::ManualClock;
use crate::ids::{CallId, ParentToken};
use crate::limits::CallLimits;
use crate::pipeline::{CallRequest, PostDecision, PostExecute, PostNext};
use crate::registry::{Registry, Target};
use crate::tool::{Tool, ToolContext, ToolError};

const SECOND: Duration = Duration::from_secs(1);

/// What a body does when it is told to stop; it works for ten seconds otherwise.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    /// Comes to rest at once, with a failure of its own and a deferred message.
    Stops,
    /// Works on to the end, and succeeds.
    GoesOn,
    Panics,
}

struct Bench {
    pipeline: Pipeline,
    clock: ManualClock,
}

impl Bench {
    fn new(policy: &TimeoutPolicy) -> Self {
        let bench = Self::without_policy();
        bench.attach(policy);
        bench
    }

    fn without_policy() -> Self {
        let pipeline = Pipeline::new(Registry::new(), CallLimits::default(), None);
        let bench = Self { pipeline, clock: ManualClock::new() };
        bench.tool("slow", Some(2 * SECOND), Told::Stops);
        bench.tool("deaf", Some(2 * SECOND), Told::GoesOn);
        bench.tool("broken", Some(2 * SECOND), Told::Panics);
        bench.tool("free", None, Told::Stops);
        bench
    }

    fn attach(&self, policy: &TimeoutPolicy) {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        policy.attach(&self.pipeline, &clock, None).into_iter().for_each(Attachment::keep);
    }

    fn tool(&self, name: &str, timeout: Option<Duration>, told: Told) {
        let clock = self.clock.clone();
        let builder = Tool::builder(name).output(json!({"type": "integer"}));
        let builder = timeout.into_iter().fold(builder, crate::tool::ToolBuilder::timeout);
        let tool = builder
            .handler(move |_args: Value, context: ToolContext| {
                let done = clock.sleep(10 * SECOND);
                async move {
                    context.defer_context("half way");
                    tokio::select! {
                        () = done => return Ok(json!(1)),
                        () = context.cancel.cancelled(), if told != Told::GoesOn => {}
                    }
                    assert!(told != Told::Panics, "told to stop");
                    Err(ToolError::failed("stopped at 3 of 10"))
                }
            })
            .unwrap();
        self.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    }

    fn start(&self, tool: &str) -> Running {
        let request = CallRequest::new("c1", tool, json!({}), "s".into());
        self.start_request(request)
    }

    fn start_request(&self, request: CallRequest) -> Running {
        let cancel = request.cancel.clone();
        let pipeline = self.pipeline.clone();
        let task = tokio::spawn(async move { pipeline.execute(request).await });
        Running { task, cancel }
    }

    async fn pass(&self, time: Duration) {
        quiet().await;
        self.clock.advance(time);
        quiet().await;
    }
}

struct Running {
    task: tokio::task::JoinHandle<CallResult>,
    cancel: CancellationToken,
}

impl Running {
    fn runs(&self) -> bool {
        !self.task.is_finished()
    }

    async fn failure(self) -> CallFailure {
        assert!(!self.runs(), "it does not come to an end");
        self.task.await.unwrap().unwrap_err()
    }

    async fn code(self) -> ErrorCode {
        self.failure().await.code
    }
}

/// Lets every task go on until it waits.
async fn quiet() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// PO-6, P-16, T-4
#[tokio::test]
async fn a_body_that_outlasts_its_timeout_is_told_to_stop_and_the_call_says_so() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("slow");
    bench.pass(Duration::from_millis(1_999)).await;
    assert!(call.runs());
    bench.pass(Duration::from_millis(1)).await;
    let failure = call.failure().await;
    assert_eq!(failure.code, ErrorCode::ToolTimeout);
    assert_eq!(
        failure.message,
        "`slow` did not finish within 2 s and was told to stop; effects may have happened. Ask it for less at a time"
    );
    assert_eq!(
        failure.details,
        Some(json!({"timeout_ms": 2000, "cause": {"code": "TOOL_FAILED", "message": "stopped at 3 of 10"}}))
    );
    assert_eq!(
        failure.deferred.iter().map(|context| context.text.as_str()).collect::<Vec<_>>(),
        ["half way"]
    );
}

/// PO-6
#[tokio::test]
async fn a_tool_that_declares_no_timeout_has_none() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("free");
    quiet().await;
    assert_eq!(bench.clock.sleepers(), 1, "the body's own sleep and no deadline");
    bench.pass(10 * SECOND).await;
    assert!(call.task.await.unwrap().is_ok());
}

/// PO-6
#[tokio::test]
async fn the_host_may_give_a_tool_another_timeout_or_none() {
    let policy = TimeoutPolicy::new().limit("slow", 5 * SECOND).no_limit("deaf").limit("free", SECOND);
    let bench = Bench::new(&policy);
    let (slow, deaf, free) = (bench.start("slow"), bench.start("deaf"), bench.start("free"));
    bench.pass(SECOND).await;
    assert_eq!(free.failure().await.details.unwrap()["timeout_ms"], 1000);
    bench.pass(3 * SECOND).await;
    assert!(slow.runs());
    bench.pass(SECOND).await;
    assert_eq!(slow.code().await, ErrorCode::ToolTimeout);
    bench.pass(5 * SECOND).await;
    assert!(deaf.task.await.unwrap().is_ok());
}

/// PO-6: what is done in time is a success, though the time is over when anybody looks.
#[tokio::test]
async fn a_body_that_is_done_at_the_moment_of_the_deadline_is_in_time() {
    let bench = Bench::new(&TimeoutPolicy::new().limit("slow", 10 * SECOND));
    let call = bench.start("slow");
    bench.pass(10 * SECOND).await;
    assert!(call.task.await.unwrap().is_ok());
}

/// PO-6, P-14: the call waits for its body, and a success that comes too late is none.
#[tokio::test]
async fn a_body_that_does_not_heed_its_signal_is_waited_for_and_is_too_late() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("deaf");
    bench.pass(9 * SECOND).await;
    assert!(call.runs());
    bench.pass(SECOND).await;
    let failure = call.failure().await;
    assert_eq!((failure.code, failure.details), (ErrorCode::ToolTimeout, Some(json!({"timeout_ms": 2000}))));
    assert_eq!(failure.deferred.len(), 1);
}

/// PO-6: a caller who cancels first has cancelled; the deadline that comes while the body stops is nobody's.
#[tokio::test]
async fn a_cancellation_that_came_first_is_no_timeout() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("deaf");
    bench.pass(SECOND).await;
    call.cancel.cancel();
    bench.pass(SECOND).await;
    bench.pass(8 * SECOND).await;
    let failure = call.failure().await;
    assert_eq!((failure.code, failure.details), (ErrorCode::Aborted, None));
}

/// PO-6, P-14: the caller has the last word, and is told of the timeout.
#[tokio::test]
async fn a_cancellation_after_the_timeout_is_an_abort_that_names_it() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("deaf");
    bench.pass(3 * SECOND).await;
    call.cancel.cancel();
    bench.pass(7 * SECOND).await;
    let failure = call.failure().await;
    assert_eq!(failure.code, ErrorCode::Aborted);
    assert_eq!(failure.details.unwrap()["code"], "TOOL_TIMEOUT");
}

/// PO-6, P-6: of two deadlines the one that fires first owns the timeout, whichever is outside.
#[tokio::test]
async fn only_the_policy_whose_deadline_fired_claims_the_timeout() {
    for (outer, inner, told, over, owner) in [
        (SECOND, 3 * SECOND, "slow", SECOND, 1000),
        (3 * SECOND, SECOND, "slow", SECOND, 1000),
        // The inner deadline comes while the outer one has the body stop already.
        (SECOND, 3 * SECOND, "deaf", 10 * SECOND, 1000),
    ] {
        let bench = Bench::without_policy();
        bench.attach(&TimeoutPolicy::new().limit(told, outer));
        bench.attach(&TimeoutPolicy::new().limit(told, inner));
        let call = bench.start(told);
        let mut passed = Duration::ZERO;
        while passed < over {
            bench.pass(SECOND).await;
            passed += SECOND;
        }
        let failure = call.failure().await;
        let details = failure.details.unwrap();
        assert_eq!((failure.code, &details["timeout_ms"]), (ErrorCode::ToolTimeout, &json!(owner)));
        assert_ne!(details["cause"]["code"], "TOOL_TIMEOUT");
    }
}

/// PO-6, P-15
#[tokio::test]
async fn a_body_that_breaks_while_it_is_stopped_is_reported_as_broken() {
    let bench = Bench::new(&TimeoutPolicy::new());
    let call = bench.start("broken");
    bench.pass(2 * SECOND).await;
    assert_eq!(call.code().await, ErrorCode::ToolPanicked);
}

/// PO-6, P-6: post-execute sees the caller's signal, on every way out.
#[tokio::test]
async fn the_upstream_signal_is_back_when_the_chain_has_returned() {
    struct Sees(Mutex<Vec<(ErrorCode, bool)>>);
    impl PostExecute for Sees {
        fn review<'a>(
            &'a self,
            call: &'a Call,
            result: &'a CallResult,
            next: PostNext<'a>,
        ) -> BoxFuture<'a, PostDecision> {
            let code = result.as_ref().unwrap_err().code;
            self.0.lock().unwrap().push((code, call.cancel.is_cancelled()));
            next.review()
        }
    }
    let bench = Bench::new(&TimeoutPolicy::new());
    let sees = Arc::new(Sees(Mutex::default()));
    bench.pipeline.add_post(None, Arc::clone(&sees) as _).keep();
    let (slow, broken) = (bench.start("slow"), bench.start("broken"));
    bench.pass(2 * SECOND).await;
    assert!(!slow.runs() && !broken.runs());
    assert!(!slow.cancel.is_cancelled() && !broken.cancel.is_cancelled());
    let mut seen = sees.0.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen, [(ErrorCode::ToolTimeout, false), (ErrorCode::ToolPanicked, false)]);
}

/// PO-6: calls from programs and other tools are held to it as well, and a scope may have its own.
#[tokio::test]
async fn nested_calls_and_scopes_are_held_to_it() {
    let bench = Bench::without_policy();
    bench.pipeline.registry().open_scope("agent".into(), None).unwrap();
    bench.pipeline.registry().open_scope("other".into(), None).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(bench.clock.clone());
    let policy = TimeoutPolicy::new();
    let attached = policy.attach(&bench.pipeline, &clock, Some("agent".into()));
    let request = |scope: &str| {
        let mut request = CallRequest::new("r:code:1", "slow", json!({}), "s".into());
        request.parent = Some(ParentToken::new(CallId::from("r"), CallId::from("r")));
        request.scope = Some(scope.into());
        request
    };
    let (held, free) = (bench.start_request(request("agent")), bench.start_request(request("other")));
    bench.pass(2 * SECOND).await;
    assert_eq!(held.code().await, ErrorCode::ToolTimeout);
    assert!(free.runs());
    drop(attached);
    let free_now = bench.start_request(request("agent"));
    bench.pass(8 * SECOND).await;
    assert!(free.task.await.unwrap().is_ok());
    bench.pass(2 * SECOND).await;
    assert!(free_now.task.await.unwrap().is_ok());
}

/// Runs the body again after every timeout, at most three times.
struct Retry;

impl AroundDispatch for Retry {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            for _ in 0..2 {
                match next.run().await {
                    Err(failure) if failure.code == ErrorCode::ToolTimeout => {}
                    result => return result,
                }
            }
            next.run().await
        })
    }
}

/// PO-6, P-6: a timeout inside a retry limits each attempt, one around it all attempts together.
#[tokio::test]
async fn the_order_of_wrappers_decides_what_a_timeout_limits() {
    for (timeout_first, until_the_end) in [(true, 2 * SECOND), (false, 6 * SECOND)] {
        let bench = Bench::without_policy();
        if timeout_first {
            bench.attach(&TimeoutPolicy::new());
            bench.pipeline.add_around(None, Arc::new(Retry)).keep();
        } else {
            bench.pipeline.add_around(None, Arc::new(Retry)).keep();
            bench.attach(&TimeoutPolicy::new());
        }
        let call = bench.start("slow");
        let mut passed = Duration::ZERO;
        while call.runs() {
            assert!(passed < 20 * SECOND);
            bench.pass(SECOND).await;
            passed += SECOND;
        }
        assert_eq!((passed, call.code().await), (until_the_end, ErrorCode::ToolTimeout));
    }
}

/// Holds the body back for a minute.
struct Delays(ManualClock);

impl AroundDispatch for Delays {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            tokio::select! {
                () = self.0.sleep(60 * SECOND) => {}
                () = next.signal().cancelled() => {}
            }
            next.run().await
        })
    }
}

/// PO-6, P-13: time that a wrapper took from a body that never started did nothing, and the model is told so.
#[tokio::test]
async fn a_body_that_was_never_started_had_no_effects() {
    let bench = Bench::new(&TimeoutPolicy::new());
    bench.pipeline.add_around(None, Arc::new(Delays(bench.clock.clone()))).keep();
    let call = bench.start("slow");
    bench.pass(2 * SECOND).await;
    let failure = call.failure().await;
    assert_eq!(failure.code, ErrorCode::ToolTimeout);
    assert_eq!(
        failure.message,
        "`slow` was not even started within 2 s; nothing happened, so it may be called again"
    );
    assert_eq!(failure.details.unwrap()["cause"]["code"], "ABORTED_BEFORE_DISPATCH");
}

/// P-14, PO-6: the drain deadline begins with the timeout, and a body that outlasts it is listed until it ends.
#[tokio::test]
async fn a_body_that_outlasts_the_drain_deadline_too_is_reported_and_listed() {
    let bench = Bench::new(&TimeoutPolicy::new());
    bench.pipeline.set_drain(Arc::new(bench.clock.clone()), 5 * SECOND);
    let call = bench.start("deaf");
    bench.pass(2 * SECOND).await;
    bench.pass(4 * SECOND).await;
    assert!(call.runs() && bench.pipeline.undrained().is_empty());
    bench.pass(SECOND).await;
    let failure = call.failure().await;
    assert_eq!(
        (failure.code, failure.message.as_str(), failure.details),
        (
            ErrorCode::ToolTimeout,
            "`deaf` did not finish within 2 s, was told to stop and has not; it may still be running",
            Some(json!({"timeout_ms": 2000, "drained": false}))
        )
    );
    assert_eq!(bench.pipeline.undrained().len(), 1);
    bench.pass(3 * SECOND).await;
    assert!(bench.pipeline.undrained().is_empty(), "it has come to its end");
}

/// P-14: a body that rests in time is reported as ever, and one that runs again later has all its time.
#[tokio::test]
async fn a_drain_deadline_ends_with_the_body_that_it_was_for() {
    let bench = Bench::without_policy();
    bench.pipeline.add_around(None, Arc::new(Retry)).keep();
    bench.attach(&TimeoutPolicy::new());
    bench.pipeline.set_drain(Arc::new(bench.clock.clone()), 3 * SECOND);
    let call = bench.start("slow");
    for _ in 0..5 {
        bench.pass(SECOND).await;
    }
    assert!(call.runs(), "the third attempt, long after the first was told to stop");
    bench.pass(SECOND).await;
    let failure = call.failure().await;
    assert_eq!(failure.details.unwrap()["cause"]["code"], "TOOL_FAILED");
    assert!(bench.pipeline.undrained().is_empty());
}
