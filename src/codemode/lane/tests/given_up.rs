//! Calls that nobody waits for any more: reviews that hang, and lanes that are dropped (P-10, P-13, P-14, L-5).

use super::*;
use crate::pipeline::script::Sees;

/// P-10, P-14, L-5
#[tokio::test]
async fn interceptors_that_never_answer_do_not_hold_an_ended_run_for_ever() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let mut bench = setup.start();
    bench.submit("now");
    bench.quiet().await;
    bench.handle.close();
    assert!(!bench.is_done().await);
    bench.setup.clock.advance(DRAIN);
    assert_eq!(states(&bench.report().await), [SubCallState::Aborted]);
    let event = bench.settled_event(1);
    assert_eq!(
        (event.message.as_deref(), event.details),
        (
            Some(
                "`now` was cancelled after it had started, and its result was not reviewed in time; effects may have \
                 happened"
            ),
            Some(json!({"reason": "run_code settled"}))
        )
    );

    let setup = Setup::new(config()).watched();
    setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    let mut bench = setup.start();
    bench.submit_all(&["now", "now"]);
    bench.quiet().await;
    bench.handle.close();
    assert!(!bench.is_done().await);
    bench.setup.clock.advance(DRAIN);
    assert_eq!(states(&bench.report().await), [SubCallState::NotStarted; 2]);
    let event = bench.settled_event(1);
    assert_eq!(
        (event.code, event.message.as_deref()),
        (
            Some(ErrorCode::AbortedBeforeDispatch),
            Some("`now` was cancelled before it started; nothing happened")
        )
    );
}

/// P-14
#[tokio::test]
async fn bodies_of_a_driver_that_is_dropped_are_listed_until_they_end() {
    let bench = Bench::new(config());
    bench.submit_all(&["deaf", "par", "deaf"]);
    bench.quiet().await;
    bench.driving.as_ref().unwrap().abort();
    bench.quiet().await;
    assert_eq!(listed(&bench), ["c:code:1", "c:code:3"], "the other one has heeded its signal");
    bench.release(3, Reply::Panic).await;
    assert_eq!(listed(&bench), ["c:code:1"]);
    bench.release(1, Reply::Value).await;
    assert_eq!(listed(&bench), [""; 0]);
}

/// L-5: a host that drops the run still stops its bodies, and the ledger knows of it.
#[tokio::test]
async fn a_driver_that_is_dropped_stops_its_bodies_and_settles_their_events() {
    let bench = Bench::new(config());
    bench.submit_all(&["par", "deaf", "now"]);
    bench.quiet().await;
    bench.driving.as_ref().unwrap().abort();
    bench.quiet().await;
    let events = bench.setup.store.events();
    assert_eq!((events.len(), crate::ledger::unsettled(&events).len()), (6, 0));
    assert!(bench.setup.bodies.trace.lines().contains(&"told 1".to_owned()));
    assert_eq!(bench.handle.submit("now".into(), json!({})), Err(SubmitError::Closed));
    assert_eq!(bench.settled_event(2).details, Some(json!({"drained": false, "reason": "run_code settled"})));
}

/// P-10: arguments that no tool could get are a result like every other.
#[tokio::test]
async fn an_observer_sees_the_calls_that_nobody_decided_on() {
    let setup = Setup::new(config());
    let sees = Sees::all(&setup.pipeline, |call| number(call).to_string());
    let mut bench = setup.start();
    let deep = crate::json::nested(1_000);
    bench.handle.submit("now".into(), deep).unwrap();
    bench.quiet().await;
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Failed]);
    assert_eq!(sees.seen(), ["1 TOOL_ARGS_TOO_LARGE"]);
}

/// P-13: a denial whose review hangs is a denial, for nothing of it had started.
#[tokio::test]
async fn a_denial_that_nobody_reviews_in_time_stays_one() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let sees = Sees::all(&setup.pipeline, |call| number(call).to_string());
    let mut bench = setup.start();
    bench.submit("denied");
    bench.quiet().await;
    bench.handle.close();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    assert_eq!(states(&bench.report().await), [SubCallState::Failed]);
    assert_eq!(bench.settled_event(1).code, Some(ErrorCode::Denied));
    assert_eq!(sees.seen(), ["1 DENIED"]);
}

/// P-14: the time of bodies runs while a review is waited for, and reviews that hang have one time together.
#[tokio::test]
async fn an_ended_run_takes_its_time_once() {
    for tools in [["par", "deaf"], ["par", "par"]] {
        let setup = Setup::new(config()).watched();
        setup.watch.hold_review.store(true, Ordering::Relaxed);
        let mut bench = setup.start();
        bench.submit_all(&tools);
        bench.quiet().await;
        bench.release(1, Reply::Value).await;
        bench.handle.close();
        bench.quiet().await;
        bench.setup.clock.advance(DRAIN.saturating_sub(Duration::from_millis(1)));
        assert!(!bench.is_done().await);
        bench.setup.clock.advance(Duration::from_millis(1));
        assert_eq!(states(&bench.report().await), [SubCallState::Aborted; 2], "{tools:?}");
    }
}

/// P-13, P-10, L-5: a dropped lane tells calls that ran from those that did not, and those whose result is known.
#[tokio::test]
async fn a_dropped_lane_says_of_each_call_what_is_known() {
    let setup = Setup::new(LaneConfig { commit_order: CommitOrder::Submission, ..config() });
    let sees = Sees::all(&setup.pipeline, |call| number(call).to_string());
    setup.pipeline.add_pre(None, Arc::new(setup.watch.clone())).keep();
    let bench = setup.start();
    // The first keeps the others waiting; the last one waits for somebody's approval.
    bench.submit_all(&["deaf", "now", "denied", "asks"]);
    bench.quiet().await;
    bench.driving.as_ref().unwrap().abort();
    bench.quiet().await;
    let codes: Vec<_> =
        (1..=4).map(|n| bench.settled_event(n).code.map_or("ok", ErrorCode::as_str)).collect();
    assert_eq!(codes, ["ABORTED", "ok", "DENIED", "ABORTED_BEFORE_DISPATCH"]);
    assert_eq!(bench.settled_event(1).details, Some(json!({"drained": false, "reason": "run_code settled"})));
    assert_eq!(sees.seen(), ["1 ABORTED", "2 ok", "3 DENIED"], "the last one was not decided on yet");
    bench.release(1, Reply::Value).await;
}
