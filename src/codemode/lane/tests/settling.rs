//! Denials, failures, limits and what the ledger keeps of them (CM-16, CM-31, L-2 to L-4).

use super::*;

/// CM-17, L-2
#[tokio::test]
async fn calls_that_may_not_run_settle_without_a_body_and_leave_both_events() {
    let mut bench = Setup::new(config()).watched().start();
    bench.handle.submit("par".into(), json!({"k": "x"})).unwrap();
    bench.submit_all(&["nothing", "denied", "run_code"]);
    assert_eq!(
        bench.trace().await,
        "start 1, settled 1, start 2, settled 2, start 3, prepare 3, value 1, value 2, prepared 3, review 3, \
         reviewed 3, settled 3, start 4, settled 4, value 3, value 4"
    );
    let codes: Vec<_> = (1..=4).map(|n| bench.outcome(n).unwrap().unwrap_err()).collect();
    let expected = [
        (ErrorCode::ToolArgsInvalid, "arguments of `par`: expected integer, got a string at /k"),
        (ErrorCode::UnknownTool, "there is no tool `nothing`"),
        (ErrorCode::Denied, "`denied` was denied: not here"),
        (ErrorCode::UnknownTool, "there is no tool `run_code`"),
    ];
    assert_eq!(codes, expected.map(|(code, message)| (code, message.to_owned())));
    let report = bench.close().await;
    assert_eq!((report.started, report.failed, report.peak_parallel), (4, 4, 0));
    assert_eq!(report.sub_calls[2].code, Some(ErrorCode::Denied));
}

/// CM-16, CM-31
#[tokio::test]
async fn one_failure_of_many_is_seen_and_logged_like_the_successes() {
    let mut bench = Bench::new(LaneConfig { max_calls: 200, ..config() });
    bench.submit_all(&["par"; 200]);
    bench.quiet().await;
    for n in 1..=200 {
        bench.release(n, if n == 77 { Reply::Fail } else { Reply::Value }).await;
    }
    assert_eq!(bench.outcomes(), 200);
    assert_eq!(bench.outcome(77), Some(Err((ErrorCode::ToolFailed, "no 77".to_owned()))));
    let event = bench.settled_event(77);
    assert_eq!(
        (event.is_error, event.code, event.message.as_deref()),
        (true, Some(ErrorCode::ToolFailed), Some("no 77"))
    );
    let report = bench.close().await;
    assert_eq!((report.started, report.failed), (200, 1));
    assert_eq!(report.sub_calls[76].state, SubCallState::Failed);
}

/// P-15
#[tokio::test]
async fn a_tool_that_panics_fails_alone() {
    let mut bench = Bench::new(config());
    register(&bench.setup, bench.setup.bodies.immediate("boom", Concurrency::Parallel, Reply::Panic)).keep();
    bench.submit_all(&["boom", "par", "par"]);
    bench.quiet().await;
    bench.release(2, Reply::Panic).await;
    bench.release(3, Reply::Value).await;
    for n in [1, 2] {
        assert_eq!(bench.outcome(n).unwrap().unwrap_err().0, ErrorCode::ToolPanicked);
    }
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Failed, SubCallState::Failed, SubCallState::Finished]);
}

/// E-6
#[tokio::test]
async fn the_limit_of_calls_trips_and_says_what_to_do() {
    let mut bench = Bench::new(LaneConfig { max_calls: 2, ..config() });
    bench.submit_all(&["now", "now"]);
    let error = bench.handle.submit("now".into(), json!({})).unwrap_err();
    assert_eq!(error, SubmitError::TooMany { limit: 2 });
    assert_eq!(
        error.to_string(),
        "the program made more than 2 tool calls; do the work in fewer calls, or in several programs"
    );
    assert_eq!((bench.handle.submitted(), bench.handle.outstanding()), (2, 2));
    bench.quiet().await;
    assert_eq!(bench.handle.outstanding(), 0);
    let report = bench.close().await;
    assert_eq!(states(&report), [SubCallState::Finished; 2]);
    assert_eq!(
        bench.handle.submit("now".into(), json!({})).unwrap_err().to_string(),
        "the run is over; no more tools can be called"
    );
}

/// L-3
#[tokio::test]
async fn a_tool_that_changes_its_input_cannot_change_the_log() {
    let setup = Setup::new(config());
    let tool = Tool::builder("liar")
        .output(json!({"type": "null"}))
        .handler(|mut args: Value, _context: ToolContext| async move {
            args["path"] = json!("/etc/passwd");
            Ok(Value::Null)
        })
        .unwrap();
    register(&setup, tool).keep();
    let mut bench = setup.start();
    bench.handle.submit("liar".into(), json!({"path": "a"})).unwrap();
    bench.quiet().await;
    assert_eq!(*bench.settled_event(1).arguments, json!({"path": "a"}));
    bench.close().await;
}

/// CM-14: a compromised isolate cannot overflow the host's stack.
#[tokio::test]
async fn arguments_of_any_depth_are_refused_without_harm() {
    let mut bench = Bench::new(config());
    for _ in 0..2 {
        let args = crate::json::nested(100_000);
        bench.handle.submit("now".into(), args).unwrap();
    }
    bench.quiet().await;
    let message =
        "the arguments of `now` are nested more than 256 levels deep; pass a flatter value".to_owned();
    assert_eq!(bench.outcome(1), Some(Err((ErrorCode::ToolArgsTooLarge, message))));
    assert_eq!(bench.settled_event(2).arguments["$deep"].as_str().map(str::len), Some(200_004));
    assert_eq!(states(&bench.close().await), [SubCallState::Failed; 2]);
}

/// L-4: the settled event is written when the program has its value.
#[tokio::test]
async fn the_program_has_its_value_before_the_settled_event_is_written() {
    let mut setup = Setup::new(config());
    let (slot, seen) = (Arc::new(Mutex::new(None::<LaneHandle>)), Arc::new(Mutex::new(Vec::new())));
    let (lane, looked) = (Arc::clone(&slot), Arc::clone(&seen));
    let store = Box::new(WatchedStore::new(setup.store.clone(), move |events| {
        let handle = lane.lock().unwrap().clone().unwrap();
        for event in events {
            looked.lock().unwrap().push((event.body.kind(), handle.outstanding()));
            assert_eq!(handle.take_settled().is_some(), event.seq == 2);
        }
        Ok(())
    }));
    let clock = Arc::new(setup.clock.clone());
    setup.ledger = Ledger::new("s".into(), clock, store, LedgerOptions::default()).unwrap();
    let (handle, driver) = setup.open();
    *slot.lock().unwrap() = Some(handle.clone());
    handle.submit("now".into(), json!({})).unwrap();
    let driving = tokio::spawn(driver.drive());
    while seen.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    handle.close();
    let report = driving.await.unwrap();
    assert_eq!(setup.ledger.health().map(|error| error.to_string()), None);
    assert!(report.sub_calls[0].delivered);
    *slot.lock().unwrap() = None;
}
