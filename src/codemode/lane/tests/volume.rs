//! Many calls, slow stores, slow programs and real threads (CM-22, L-4).

use std::sync::mpsc;

use futures_util::FutureExt as _;

use super::super::sync::MAX_UNTAKEN;
use super::*;

/// CM-22
#[tokio::test]
async fn a_hundred_thousand_calls_are_queued_and_driven_to_the_end() {
    const CALLS: u64 = 100_000;
    let mut setup = Setup::new(LaneConfig { max_calls: CALLS, ..config() });
    setup.ledger = Ledger::disabled("s".into(), Arc::new(setup.clock.clone()));
    let quick = Tool::builder("quick")
        .output(json!({"type": "null"}))
        .concurrency(Concurrency::Parallel)
        .handler(|_args: Value, _context: ToolContext| async { Ok(Value::Null) })
        .unwrap();
    register(&setup, quick).keep();
    let (handle, driver) = setup.open();
    for n in 1..=CALLS {
        assert_eq!(handle.submit("quick".into(), json!({})), Ok(n));
    }
    assert_eq!(handle.outstanding(), CALLS);
    let driving = tokio::spawn(driver.drive());
    for n in 1..=CALLS {
        assert_eq!(std::future::poll_fn(|context| handle.poll_settled(context)).await.n, n);
    }
    handle.close();
    let report = driving.await.unwrap();
    assert_eq!((report.started, report.failed, report.sub_calls.len()), (CALLS, 0, 100_000));
    assert!(report.sub_calls.iter().all(|call| call.delivered && call.state == SubCallState::Finished));
}

/// CM-22
#[tokio::test]
async fn a_hundred_thousand_queued_calls_are_dropped_without_a_trace_in_the_ledger() {
    let mut bench = Bench::new(LaneConfig { max_calls: 100_000, ..config() });
    for _ in 0..100_000 {
        bench.submit("par");
    }
    bench.quiet().await;
    let report = bench.close().await;
    assert_eq!((report.sub_calls.len(), bench.setup.store.events().len()), (100_000, 20));
    assert_eq!(report.sub_calls[99_999].id.as_str(), "c:code:100000");
}

/// CM-22: a program that computes without taking its values makes the host hold no more than a few.
#[tokio::test]
async fn a_program_that_takes_no_values_is_given_no_more_of_them() {
    let setup = Setup::new(LaneConfig { max_calls: 10_000, ..config() });
    let (handle, driver) = setup.open();
    for _ in 0..10_000 {
        handle.submit("now".into(), json!({})).unwrap();
    }
    let mut driving = tokio::spawn(driver.drive());
    let ran = || setup.bodies.trace.lines().iter().filter(|line| line.starts_with("run")).count();
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    assert!((&mut driving).now_or_never().is_none());
    assert_eq!(ran(), MAX_UNTAKEN);
    for _ in 0..10 {
        handle.take_settled().unwrap();
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ran(), MAX_UNTAKEN + 10);
    handle.close();
    let report = driving.await.unwrap();
    let delivered = report.sub_calls.iter().filter(|call| call.delivered).count();
    let finished = report.sub_calls.iter().filter(|call| call.state == SubCallState::Finished).count();
    assert_eq!((delivered, finished), (10, MAX_UNTAKEN + 10));
}

/// CM-22, V11: what waits is bounded by its size, and what is taken makes room again.
#[tokio::test]
async fn the_arguments_that_wait_are_bounded_together() {
    let setup = Setup::new(LaneConfig { max_queued_bytes: 10_000, max_parallel: 2, ..config() });
    let (handle, driver) = setup.open();
    let large = || json!({"text": "x".repeat(4_000)});
    for n in 1..=2 {
        assert_eq!(handle.submit("par".into(), large()), Ok(n));
    }
    let refused = Err(SubmitError::TooLarge { limit: 10_000 });
    assert_eq!(handle.submit("par".into(), large()), refused);
    assert_eq!(handle.submit("par".into(), json!({})), Ok(3));
    let driving = tokio::spawn(driver.drive());
    while setup.bodies.trace.len() == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    for n in 4..=5 {
        assert_eq!(handle.submit("par".into(), large()), Ok(n), "two have been taken");
    }
    assert_eq!(handle.submit("par".into(), large()), refused);
    handle.close();
    assert_eq!(driving.await.unwrap().sub_calls.len(), 5);
}

/// L-4, L-5
#[tokio::test]
async fn a_slow_store_holds_the_lane_back_and_every_event_is_there_at_the_end() {
    for backlog in [1, 2, 3, 10] {
        let mut setup = Setup::new(config());
        let (asked, hears) = mpsc::channel();
        let (open_gate, gate) = mpsc::channel::<()>();
        // Asks a gate before every append; one that is gone lets everything through.
        let store = WatchedStore::new(setup.store.clone(), move |events| {
            let _ = asked.send(events.len());
            let _ = gate.recv();
            Ok(())
        });
        let store = Box::new(store.threaded());
        let clock = Arc::new(setup.clock.clone());
        let options = LedgerOptions { backlog, ..LedgerOptions::default() };
        setup.ledger = Ledger::new("s".into(), clock, store, options).unwrap();
        let (handle, driver) = setup.open();
        for _ in 0..100 {
            handle.submit("now".into(), json!({})).unwrap();
        }
        let mut driving = Box::pin(driver.drive());
        assert!(driving.as_mut().now_or_never().is_none());
        // Starts and settled events take turns, and each needs a place.
        let (ran, settled) = (backlog.div_ceil(2), backlog / 2);
        let runs = || setup.bodies.trace.lines().len();
        assert_eq!((runs(), handle.outstanding()), (ran, 100));
        // The program has a value as soon as its settled event has a place, written or not.
        let taken: Vec<_> = std::iter::from_fn(|| handle.take_settled()).map(|value| value.n).collect();
        assert_eq!(taken, (1..=settled as u64).collect::<Vec<_>>());
        assert!(hears.recv().unwrap() <= backlog);
        assert!(setup.store.events().is_empty());
        for _ in 0..100 {
            assert!(driving.as_mut().now_or_never().is_none());
        }
        assert_eq!(runs(), ran, "nothing goes on while the backlog is full");
        handle.close();
        drop(open_gate);
        let report = driving.await;
        let pending: Vec<_> = hears.try_iter().collect();
        assert!(pending.iter().all(|batch| *batch <= backlog), "{pending:?}");
        setup.ledger.flush().await.unwrap();
        check_ledger(&setup.store.events(), &report);
        assert_eq!(report.started, ran as u64);
    }
}

/// CM-17: wake-ups between real threads; one that is missed shows as a test that does not end.
#[test]
fn no_wake_up_is_missed_between_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    let mut setup = Setup::new(LaneConfig { max_calls: 20_000, max_parallel: 3, ..config() });
    setup.ledger = Ledger::disabled("s".into(), Arc::new(setup.clock.clone()));
    let hops = Tool::builder("hops")
        .output(json!({"type": "null"}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, _context: ToolContext| async move {
            if args["hop"] == json!(true) {
                tokio::task::yield_now().await;
            }
            Ok(Value::Null)
        })
        .unwrap();
    register(&setup, hops).keep();
    let (handle, driver) = setup.open();
    let driving = runtime.spawn(driver.drive());
    let program = std::thread::spawn(move || {
        let waiting = tokio::runtime::Builder::new_current_thread().build().unwrap();
        waiting.block_on(async {
            for round in 0..2_000_u64 {
                // Sometimes one call in flight, sometimes more than the pool holds.
                let calls = 1 + round % 5;
                for call in 0..calls {
                    handle.submit("hops".into(), json!({"hop": (round + call) % 2 == 0})).unwrap();
                }
                for _ in 0..calls {
                    std::future::poll_fn(|context| handle.poll_settled(context)).await;
                }
            }
            handle.close();
        });
    });
    let report = runtime.block_on(driving).unwrap();
    program.join().unwrap();
    assert_eq!((report.started, report.failed), (6_000, 0));
}
