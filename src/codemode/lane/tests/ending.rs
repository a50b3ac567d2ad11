//! How a lane ends: closed, cancelled, drained or not, dropped (CM-21, CM-31, L-5).

use super::*;
use crate::pipeline::script::Impatient;

/// CM-21, L-5
#[tokio::test]
async fn closing_stops_what_runs_and_drops_what_waits() {
    let mut bench = Bench::new(LaneConfig { max_parallel: 3, ..config() });
    bench.submit_all(&["now", "par", "par", "par", "par", "alone"]);
    bench.quiet().await;
    bench.release(3, Reply::Value).await;
    bench.trace().await;
    let report = bench.close().await;
    let trace = bench.trace().await;
    // In which order the bodies hear of the end is the runtime's affair.
    let mut lines: Vec<_> = trace.split(", ").collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["rest 2", "rest 4", "rest 5", "settled 2", "settled 4", "settled 5", "told 2", "told 4", "told 5"]
    );
    let [finished, aborted, not_started] =
        [SubCallState::Finished, SubCallState::Aborted, SubCallState::NotStarted];
    assert_eq!(states(&report), [finished, aborted, finished, aborted, aborted, not_started]);
    let delivered: Vec<_> = report.sub_calls.iter().map(|call| call.delivered).collect();
    assert_eq!(delivered, [true, false, true, false, false, false]);
    assert_eq!((report.started, report.failed), (5, 3));
    let event = bench.settled_event(2);
    assert_eq!(
        (event.code, event.message.as_deref(), event.details),
        (
            Some(ErrorCode::Aborted),
            Some("`par` was cancelled after it had started; effects may have happened"),
            Some(json!({"reason": "run_code settled"}))
        )
    );
}

/// CM-21: whoever looks at the calls of a run sees why they were stopped.
#[tokio::test]
async fn an_observer_sees_the_reason() {
    struct Sees(Mutex<Vec<Option<Value>>>);
    impl crate::pipeline::ResultObserver for Sees {
        fn observe(&self, _call: &Call, result: &CallResult) {
            self.0.lock().unwrap().push(result.as_ref().unwrap_err().details.clone());
        }
    }
    for (cancelled, reason) in [(false, "run_code settled"), (true, "run cancelled")] {
        let sees = Arc::new(Sees(Mutex::default()));
        let setup = Setup::new(config());
        setup.pipeline.add_observer(None, Arc::clone(&sees) as _).keep();
        let mut bench = setup.start();
        bench.submit("par");
        bench.quiet().await;
        if cancelled {
            bench.setup.cancel.cancel();
        }
        bench.close().await;
        assert_eq!(*sees.0.lock().unwrap(), [Some(json!({"reason": reason}))]);
    }
}

/// L-5
#[tokio::test]
async fn cancelling_the_run_launches_nothing_more_and_gives_the_program_nothing_more() {
    let mut bench = Bench::new(LaneConfig { max_parallel: 1, ..config() });
    bench.submit_all(&["par", "now", "now"]);
    bench.trace().await;
    bench.setup.cancel.cancel();
    assert_eq!(bench.trace().await, "told 1, rest 1, settled 1");
    assert_eq!(bench.handle.submit("now".into(), json!({})), Err(SubmitError::Closed));
    let report = bench.report().await;
    assert_eq!(states(&report), [SubCallState::Aborted, SubCallState::NotStarted, SubCallState::NotStarted]);
    assert_eq!(bench.settled_event(1).details, Some(json!({"reason": "run cancelled"})));
    assert_eq!(bench.outcomes(), 0);
}

/// CM-21
#[tokio::test]
async fn a_lane_that_is_closed_before_it_is_driven_reports_every_call() {
    let setup = Setup::new(config());
    let (handle, driver) = setup.open();
    for _ in 0..3 {
        handle.submit("now".into(), json!({})).unwrap();
    }
    handle.close();
    let report = driver.drive().await;
    assert_eq!(states(&report), [SubCallState::NotStarted; 3]);
    check_ledger(&setup.store.events(), &report);
    assert!(setup.store.events().is_empty());
}

/// CM-21: a success that came in time stays one.
#[tokio::test]
async fn a_body_that_was_done_before_the_end_is_committed_as_it_is() {
    let mut bench = Bench::new(config());
    bench.submit_all(&["par", "par"]);
    bench.quiet().await;
    bench.setup.bodies.release(2, Reply::Conclude);
    tokio::task::yield_now().await;
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Aborted, SubCallState::Finished]);
    assert!(report.concludes_turn);
}

/// P-14, L-5
#[tokio::test]
async fn a_body_that_ignores_its_signal_is_left_behind_when_the_time_is_over() {
    for commit_order in [CommitOrder::Completion, CommitOrder::Submission] {
        let mut bench = Bench::new(LaneConfig { commit_order, ..config() });
        bench.submit_all(&["deaf", "par", "deaf"]);
        bench.quiet().await;
        bench.handle.close();
        assert!(!bench.is_done().await);
        bench.setup.clock.advance(Duration::from_secs(4));
        assert!(!bench.is_done().await);
        bench.release(3, Reply::Value).await;
        bench.setup.clock.advance(Duration::from_secs(1));
        let report = bench.report().await;
        assert_eq!(states(&report), [SubCallState::Aborted; 3]);
        let event = bench.settled_event(1);
        assert_eq!(
            (event.message.as_deref(), event.details),
            (
                Some("`deaf` was told to stop and has not; it may still be running"),
                Some(json!({"drained": false, "reason": "run_code settled"}))
            )
        );
        assert_eq!(bench.settled_event(3).details, Some(json!({"reason": "run_code settled"})));
        bench.trace().await;
        assert_eq!(listed(&bench), ["c:code:1"]);
        bench.release(1, Reply::Value).await;
        assert_eq!(bench.trace().await, "rest 1", "it goes on, and what it gives is let go");
        assert_eq!(listed(&bench), [""; 0]);
    }
}

/// P-10, P-14: observers see the result of a call whose body is left behind.
#[tokio::test]
async fn an_observer_sees_the_result_of_a_body_left_behind() {
    struct Sees(Mutex<Vec<ErrorCode>>);
    impl crate::pipeline::ResultObserver for Sees {
        fn observe(&self, _call: &Call, result: &CallResult) {
            self.0.lock().unwrap().push(result.as_ref().unwrap_err().code);
        }
    }
    let sees = Arc::new(Sees(Mutex::default()));
    let setup = Setup::new(config());
    setup.pipeline.add_observer(None, Arc::clone(&sees) as _).keep();
    let mut bench = setup.start();
    bench.submit("deaf");
    bench.quiet().await;
    bench.handle.close();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    bench.report().await;
    bench.release(1, Reply::Value).await;
    assert_eq!(*sees.0.lock().unwrap(), [ErrorCode::Aborted], "once, and not again when it ends");
}

/// P-14, CM-19
#[tokio::test]
async fn a_success_that_waited_for_a_body_left_behind_is_reviewed_and_kept() {
    let setup = Setup::new(LaneConfig { commit_order: CommitOrder::Submission, ..config() });
    let mut bench = setup.watched().start();
    bench.submit_all(&["deaf", "par"]);
    bench.quiet().await;
    bench.release(2, Reply::Value).await;
    bench.handle.close();
    bench.trace().await;
    bench.setup.clock.advance(DRAIN);
    let report = bench.report().await;
    assert_eq!(bench.trace().await, "settled 1, review 2, reviewed 2, settled 2");
    assert_eq!(states(&report), [SubCallState::Aborted, SubCallState::Finished]);
}

/// P-14, PO-6: the deadline of a body that its wrapper has told to stop is its own, and the run goes on.
#[tokio::test]
async fn a_body_that_outlasts_its_timeout_and_the_deadline_is_left_behind() {
    let setup = Setup::new(config());
    setup.pipeline.add_around(None, Arc::new(Impatient)).keep();
    let mut bench = setup.start();
    bench.submit_all(&["deaf", "par", "alone"]);
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN.saturating_sub(Duration::from_millis(1)));
    bench.quiet().await;
    assert!(bench.setup.pipeline.undrained().is_empty());
    bench.setup.clock.advance(Duration::from_millis(1));
    bench.quiet().await;
    assert_eq!(bench.setup.pipeline.undrained().len(), 1);
    let event = bench.settled_event(1);
    assert_eq!((event.code, event.details), (Some(ErrorCode::ToolTimeout), Some(json!({"drained": false}))));
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Failed, SubCallState::Finished, SubCallState::Finished]);
    bench.release(1, Reply::Value).await;
    assert!(bench.setup.pipeline.undrained().is_empty());
}

/// P-14
#[tokio::test]
async fn without_a_deadline_a_body_is_waited_for() {
    let mut bench = Bench::new(LaneConfig { drain: None, ..config() });
    bench.submit("deaf");
    bench.quiet().await;
    bench.handle.close();
    bench.setup.clock.advance(Duration::from_secs(1_000_000));
    assert!(!bench.is_done().await);
    bench.release(1, Reply::Value).await;
    assert_eq!(states(&bench.report().await), [SubCallState::Aborted]);
}

/// P-2, L-5
#[tokio::test]
async fn a_question_for_approval_is_withdrawn_when_the_run_is_closed() {
    let setup = Setup::new(config());
    setup.pipeline.add_pre(None, Arc::new(setup.watch.clone())).keep();
    let mut bench = setup.start();
    bench.submit_all(&["asks", "now"]);
    assert_eq!(bench.trace().await, "start 1, prepare 1, prepared 1");
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Failed, SubCallState::NotStarted]);
    let event = bench.settled_event(1);
    assert_eq!(
        (event.code, event.details),
        (Some(ErrorCode::ApprovalCancelled), Some(json!({"reason": "run_code settled"})))
    );
}

/// CM-31, L-5: a runtime that is shut down takes its tasks with it.
#[test]
fn a_body_whose_task_vanished_is_settled_as_unknown() {
    for commit_order in [CommitOrder::Completion, CommitOrder::Submission] {
        let bodies_host = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lane_host = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let setup = Setup::new(LaneConfig { commit_order, ..config() });
        let (handle, driver) = setup.open();
        let mut driving = Box::pin(driver.drive());
        {
            use futures_util::FutureExt as _;
            let _guard = bodies_host.enter();
            for _ in 0..2 {
                handle.submit("par".into(), json!({})).unwrap();
            }
            assert!(driving.as_mut().now_or_never().is_none());
            assert_eq!(setup.bodies.waiting(), [1, 2]);
        }
        drop(bodies_host);
        let report = lane_host.block_on(async {
            let closing = async {
                while handle.outstanding() > 0 {
                    while handle.take_settled().is_some() {}
                    tokio::task::yield_now().await;
                }
                handle.close();
            };
            tokio::join!(driving, closing).0
        });
        check_ledger(&setup.store.events(), &report);
        assert_eq!(states(&report), [SubCallState::Unknown; 2]);
        let call = &report.sub_calls[0];
        assert_eq!(
            (call.code, call.message.as_deref(), call.delivered),
            (
                Some(ErrorCode::HostBug),
                Some("the host stopped while the tool was running; effects may have happened"),
                true
            )
        );
    }
}

/// CM-17: without a runtime the lane polls bodies by itself.
#[test]
fn bodies_go_on_without_a_runtime() {
    let setup = Setup::new(config());
    let (handle, driver) = setup.open();
    for _ in 0..3 {
        handle.submit("par".into(), json!({})).unwrap();
    }
    let bodies = setup.bodies.clone();
    let program = async {
        for n in [2, 3, 1] {
            while !bodies.waiting().contains(&n) {
                tokio::task::yield_now().await;
            }
            bodies.release(n, Reply::Value);
            let settlement = std::future::poll_fn(|context| handle.poll_settled(context)).await;
            assert_eq!(settlement.n, n);
        }
        handle.close();
    };
    let mut both = Box::pin(futures_util::future::join(driver.drive(), program));
    let ended = (0..100).find_map(|_| futures_util::FutureExt::now_or_never(both.as_mut()));
    let (report, ()) = ended.unwrap_or_else(|| panic!("stuck: {:?}", setup.bodies.trace.lines()));
    check_ledger(&setup.store.events(), &report);
}
