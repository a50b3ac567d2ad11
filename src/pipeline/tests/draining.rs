//! Bodies that were told to stop: how long they are waited for, and where those are listed that outlast it (P-14).
//!
//! Owns a tool that ignores its signal. Time passes by a manual clock.

use super::*;
use crate::pipeline::script::Impatient;

/// A tool that ignores its signal and waits for the sender to be used or dropped.
fn deaf(bench: &Bench) -> tokio::sync::oneshot::Sender<()> {
    let (release, released) = tokio::sync::oneshot::channel();
    let released = Arc::new(Mutex::new(Some(released)));
    let tool = Tool::builder("deaf")
        .output(json!({"type": "integer"}))
        .handler(move |_args: Value, _context: ToolContext| {
            let released = released.lock().unwrap().take().unwrap();
            async move {
                let _ = released.await;
                Ok::<_, ToolError>(json!(1))
            }
        })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    release
}

async fn quiet() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// P-14, P-10
#[tokio::test]
async fn past_the_drain_deadline_a_call_is_reported_and_its_body_listed_until_it_ends() {
    let bench = Bench::new(None);
    let clock = ManualClock::new();
    bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
    let seen = Arc::new(Seen::default());
    bench.pipeline.add_observer(None, Arc::clone(&seen) as _).keep();
    let release = deaf(&bench);
    let request = bench.request("deaf", json!({"n": 7}));
    let cancel = request.cancel.clone();
    let pipeline = bench.pipeline.clone();
    let calling = tokio::spawn(async move { pipeline.execute(request).await });
    quiet().await;
    clock.advance(Duration::from_secs(1_000));
    quiet().await;
    assert!(!calling.is_finished(), "nobody has cancelled it");
    cancel.cancel();
    quiet().await;
    clock.advance(Duration::from_secs(4));
    quiet().await;
    assert!(!calling.is_finished());
    clock.advance(Duration::from_secs(1));
    let failure = calling.await.unwrap().unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str(), failure.details),
        (
            ErrorCode::Aborted,
            "`deaf` was told to stop and has not; it may still be running",
            Some(json!({"drained": false}))
        )
    );
    let listed = bench.pipeline.undrained();
    assert_eq!(
        listed.iter().map(|call| (call.id.as_str(), &call.args)).collect::<Vec<_>>(),
        [("c1", &json!({"n": 7}))]
    );
    release.send(()).unwrap();
    quiet().await;
    assert!(bench.pipeline.undrained().is_empty(), "whoever keeps a listed call keeps no entry");
    assert_eq!(*seen.0.lock().unwrap(), [Some(ErrorCode::Aborted)], "once, and not again when it ends");
}

/// P-14
#[tokio::test]
async fn a_body_that_rests_in_time_is_drained_and_one_that_nobody_cancels_is_never_left() {
    let bench = Bench::new(None);
    let clock = ManualClock::new();
    bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
    bench.tool("add", |_| Ok(json!(3)));
    assert!(bench.call("add", json!({})).await.is_ok());
    let release = deaf(&bench);
    let request = bench.request("deaf", json!({}));
    let cancel = request.cancel.clone();
    let pipeline = bench.pipeline.clone();
    let calling = tokio::spawn(async move { pipeline.execute(request).await });
    quiet().await;
    cancel.cancel();
    quiet().await;
    release.send(()).unwrap();
    let failure = calling.await.unwrap().unwrap_err();
    assert_eq!((failure.code, failure.details), (ErrorCode::Aborted, None));
    assert!(bench.pipeline.undrained().is_empty());
}

/// P-14: the end of the host's runtime is an end of the body.
#[test]
fn a_body_that_went_with_its_runtime_is_no_longer_listed() {
    let bench = Bench::new(None);
    let clock = ManualClock::new();
    bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
    let _release = deaf(&bench);
    let request = bench.request("deaf", json!({}));
    let cancel = request.cancel.clone();
    let host = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let left = host.block_on(async {
        let calling = bench.pipeline.execute(request);
        let ending = async {
            cancel.cancel();
            quiet().await;
            clock.advance(Duration::from_secs(5));
        };
        tokio::join!(calling, ending).0
    });
    assert_eq!(failure(left).0, ErrorCode::Aborted);
    assert_eq!(bench.pipeline.undrained().len(), 1);
    drop(host);
    assert!(bench.pipeline.undrained().is_empty());
}

/// P-12, P-13, P-14: interceptors that never answer do not hold a cancelled call for ever, either.
#[tokio::test]
async fn interceptors_of_a_cancelled_call_have_a_deadline_too() {
    type Attach = fn(&Pipeline) -> Attachment;
    struct Hangs;
    impl PreExecute for Hangs {
        fn decide<'a>(&'a self, _call: &'a Call, _next: PreNext<'a>) -> BoxFuture<'a, Decision> {
            Box::pin(std::future::pending())
        }
    }
    impl AroundDispatch for Hangs {
        fn around<'a>(&'a self, _call: &'a Call, _next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(std::future::pending())
        }
    }
    impl PostExecute for Hangs {
        fn review<'a>(
            &'a self,
            _call: &'a Call,
            _result: &'a CallResult,
            _next: PostNext<'a>,
        ) -> BoxFuture<'a, PostDecision> {
            Box::pin(std::future::pending())
        }
    }
    let never = "`add` was cancelled before it started; nothing happened";
    let unreviewed = "`add` was cancelled after it had started, and its result was not reviewed in time; effects may have \
                      happened";
    let (before, after) = (ErrorCode::AbortedBeforeDispatch, ErrorCode::Aborted);
    let denies = || Arc::new(Pre(Decision::Deny { reason: "no".to_owned() }));
    let cases: [(Attach, bool, ErrorCode, &str, &str); 4] = [
        (|pipeline| pipeline.add_pre(None, Arc::new(Hangs)), false, before, never, ""),
        (|pipeline| pipeline.add_around(None, Arc::new(Hangs)), false, before, never, ""),
        (|pipeline| pipeline.add_post(None, Arc::new(Hangs)), false, after, unreviewed, "body"),
        (
            |pipeline| pipeline.add_post(None, Arc::new(Hangs)),
            true,
            ErrorCode::Denied,
            "`add` was denied: no",
            "",
        ),
    ];
    for (attach, denied, code, message, log) in cases {
        let bench = Bench::new(None);
        let clock = ManualClock::new();
        bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
        bench.tool("add", |_| Ok(json!(3)));
        attach(&bench.pipeline).keep();
        if denied {
            bench.pipeline.add_pre(None, denies()).keep();
        }
        let seen = Arc::new(Seen::default());
        bench.pipeline.add_observer(None, Arc::clone(&seen) as _).keep();
        let request = bench.request("add", json!({}));
        let cancel = request.cancel.clone();
        let pipeline = bench.pipeline.clone();
        let calling = tokio::spawn(async move { pipeline.execute(request).await });
        quiet().await;
        cancel.cancel();
        quiet().await;
        clock.advance(Duration::from_secs(4));
        quiet().await;
        assert!(!calling.is_finished(), "{message}");
        clock.advance(Duration::from_secs(1));
        assert_eq!(failure(calling.await.unwrap()), (code, message.to_owned()));
        assert_eq!(bench.log(), log);
        assert_eq!(*seen.0.lock().unwrap(), [Some(code)], "{message}");
        assert!(bench.pipeline.undrained().is_empty(), "no body runs on");
    }
}

/// P-13, P-14: a call that was answered for as one that never started does not start afterwards.
#[tokio::test]
async fn a_wrapper_that_was_left_behind_cannot_start_the_body_any_more() {
    struct Later(Mutex<Option<tokio::sync::oneshot::Receiver<()>>>);
    impl AroundDispatch for Later {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            let released = self.0.lock().unwrap().take().unwrap();
            Box::pin(async move {
                let _ = released.await;
                next.run().await
            })
        }
    }
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let (release, released) = tokio::sync::oneshot::channel();
    bench.pipeline.add_around(None, Arc::new(Later(Mutex::new(Some(released))))).keep();
    let prepared = Arc::new(bench.pipeline.prepare(bench.request("add", json!({}))).await);
    let (pipeline, held) = (bench.pipeline.clone(), Arc::clone(&prepared));
    let dispatching = tokio::spawn(async move { pipeline.dispatch(&held).await });
    quiet().await;
    // Nobody has cancelled it: it is the answer alone that keeps the body from starting.
    assert_eq!(bench.pipeline.give_up(&prepared).code, ErrorCode::AbortedBeforeDispatch);
    release.send(()).unwrap();
    assert_eq!(failure(dispatching.await.unwrap()).0, ErrorCode::AbortedBeforeDispatch);
    assert_eq!(bench.log(), "");
}

/// P-13, P-14: a body that a wrapper held back, ignoring that it was told to stop, never starts once the call was
/// answered for, and the answer says so.
#[tokio::test]
async fn a_call_that_is_given_up_before_its_body_has_started_never_starts_it() {
    struct HoldsBack(Mutex<Option<tokio::sync::oneshot::Receiver<()>>>);
    impl AroundDispatch for HoldsBack {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            let released = self.0.lock().unwrap().take().unwrap();
            Box::pin(async move {
                let _ = released.await;
                // Under a signal that nobody has raised, so that only the answer stands against it.
                assert!(!next.has_started());
                next.run_with_signal(&CancellationToken::new()).await
            })
        }
    }
    let bench = Bench::new(None);
    let clock = ManualClock::new();
    bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
    bench.tool("add", |_| Ok(json!(3)));
    let (release, released) = tokio::sync::oneshot::channel();
    bench.pipeline.add_around(None, Arc::new(Impatient)).keep();
    bench.pipeline.add_around(None, Arc::new(HoldsBack(Mutex::new(Some(released))))).keep();
    let (pipeline, request) = (bench.pipeline.clone(), bench.request("add", json!({})));
    let calling = tokio::spawn(async move { pipeline.execute(request).await });
    quiet().await;
    clock.advance(Duration::from_secs(5));
    let failure = calling.await.unwrap().unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str(), failure.details),
        (ErrorCode::ToolTimeout, "`add` was told to stop before it had started; nothing happened", None)
    );
    assert!(bench.pipeline.undrained().is_empty());
    release.send(()).unwrap();
    quiet().await;
    assert_eq!(bench.log(), "");
}

/// P-14: a body that was left behind is not run again for a call that was answered for.
#[tokio::test]
async fn a_body_that_was_left_behind_is_not_tried_again() {
    struct Again(Arc<Mutex<Vec<String>>>);
    impl AroundDispatch for Again {
        fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
            Box::pin(async move {
                for _ in 0..2 {
                    let end = next.run().await.map_or_else(|failure| failure.code, |_| ErrorCode::HostBug);
                    self.0.lock().unwrap().push(format!("{end} started {}", next.has_started()));
                }
                next.run().await
            })
        }
    }
    let bench = Bench::new(None);
    let clock = ManualClock::new();
    bench.pipeline.set_drain(Arc::new(clock.clone()), Duration::from_secs(5));
    let release = deaf(&bench);
    bench.pipeline.add_around(None, Arc::new(Again(Arc::clone(&bench.log)))).keep();
    bench.pipeline.add_around(None, Arc::new(Impatient)).keep();
    let (pipeline, request) = (bench.pipeline.clone(), bench.request("deaf", json!({})));
    let calling = tokio::spawn(async move { pipeline.execute(request).await });
    quiet().await;
    clock.advance(Duration::from_secs(5));
    assert_eq!(failure(calling.await.unwrap()), (ErrorCode::ToolTimeout, "too late".to_owned()));
    assert_eq!(bench.pipeline.undrained().len(), 1);
    release.send(()).unwrap();
    quiet().await;
    assert_eq!(bench.log(), "HOST_BUG started true ABORTED started true");
    assert!(bench.pipeline.undrained().is_empty());
}
