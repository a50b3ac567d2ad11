//! Bodies that were told to stop: how long they are waited for, and where those are listed that outlast it (P-14).
//!
//! Owns a tool that ignores its signal. Time passes by a manual clock.

use super::*;

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
