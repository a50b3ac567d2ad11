//! Numbering, launching and the order of commits (CM-17 to CM-20).

use super::*;
use crate::clock::Clock;
use crate::pipeline::Attachment;
use crate::policy::{Policy, TimeoutPolicy};

fn serial() -> LaneConfig {
    LaneConfig { max_parallel: 1, ..config() }
}

/// CM-17, L-2
#[tokio::test]
async fn a_call_goes_through_every_step_in_order() {
    let mut bench = Setup::new(config()).watched().start();
    let n = bench.handle.submit("par".into(), json!({"k": 7})).unwrap();
    assert_eq!(n, 1);
    assert_eq!(bench.trace().await, "start 1, prepare 1, prepared 1, run 1");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, review 1, reviewed 1, settled 1, value 1");
    assert_eq!(bench.outcome(1), Some(Ok(json!(1))));
    let event = bench.settled_event(1);
    assert_eq!(
        (event.root.as_str(), event.parent.as_str(), event.call.as_str(), event.tool.as_str()),
        ("top", "c", "c:code:1", "par")
    );
    assert_eq!((&*event.arguments, event.is_error), (&json!({"k": 7}), false));
    assert_eq!(event.content, [ContentBlock::text("1")]);
    let report = bench.close().await;
    assert_eq!((report.started, report.failed, report.peak_parallel), (1, 0, 1));
    assert!(report.sub_calls[0].delivered);
}

/// CM-4
#[tokio::test]
async fn a_body_sees_that_a_program_called_it() {
    let setup = Setup::new(config());
    let (told, heard) = oneshot::channel();
    let told = Mutex::new(Some(told));
    let tool = Tool::builder("look")
        .output(json!({"type": "null"}))
        .handler(move |_args: Value, context: ToolContext| {
            let token = context.parent.unwrap();
            let seen = (token.root().clone(), token.parent().clone(), context.scope, context.session);
            let _ = told.lock().unwrap().take().unwrap().send(seen);
            async { Ok(Value::Null) }
        })
        .unwrap();
    register(&setup, tool).keep();
    let bench = setup.start();
    bench.submit("look");
    let seen = heard.await.unwrap();
    assert_eq!(seen, ("top".into(), "c".into(), Some("agent".into()), "s".into()));
}

/// CM-18
#[tokio::test]
async fn the_pool_is_capped_and_refilled_one_by_one() {
    let mut bench = Bench::new(config());
    for n in 1..=25 {
        assert_eq!(bench.submit("par"), n);
    }
    bench.quiet().await;
    assert_eq!(bench.setup.bodies.waiting(), (1..=10).collect::<Vec<_>>());
    bench.trace().await;
    for (released, launched) in [(7, 11), (1, 12), (11, 13)] {
        bench.release(released, Reply::Value).await;
        assert_eq!(
            bench.trace().await,
            format!(
                "rest {released}, settled {released}, start {launched}, run {launched}, value {released}"
            )
        );
    }
    assert_eq!(bench.close().await.peak_parallel, 10);
}

/// CM-18
#[tokio::test]
async fn an_exclusive_call_runs_alone_and_nothing_overtakes_it() {
    let mut bench = Bench::new(config());
    bench.submit_all(&["par", "par", "alone", "par", "alone"]);
    assert_eq!(bench.trace().await, "start 1, run 1, start 2, run 2");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, settled 2, value 2");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, settled 1, start 3, run 3, value 1");
    bench.submit("par");
    assert_eq!(bench.trace().await, "");
    bench.release(3, Reply::Fail).await;
    assert_eq!(bench.trace().await, "rest 3, settled 3, start 4, run 4, value 3");
    bench.release(4, Reply::Value).await;
    bench.release(5, Reply::Value).await;
    assert_eq!(
        bench.trace().await,
        "rest 4, settled 4, start 5, run 5, value 4, rest 5, settled 5, start 6, run 6, value 5"
    );
    assert_eq!(bench.close().await.peak_parallel, 2);
}

/// CM-18
#[tokio::test]
async fn an_exclusive_call_keeps_its_barrier_through_post_execute() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let mut bench = setup.start();
    bench.submit_all(&["alone", "par"]);
    bench.quiet().await;
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "start 1, prepare 1, prepared 1, run 1, rest 1, review 1");
    bench.setup.watch.go_on.notify_one();
    assert_eq!(bench.trace().await, "reviewed 1, settled 1, start 2, prepare 2, value 1, prepared 2, run 2");
}

/// CM-18
#[tokio::test]
async fn a_call_is_classified_again_when_its_turn_comes() {
    let setup = Setup::new(LaneConfig { max_parallel: 2, ..config() });
    let first = register(&setup, setup.bodies.gated("t", Concurrency::Parallel, true));
    let mut bench = setup.start();
    bench.submit_all(&["par", "par", "t", "t"]);
    assert_eq!(bench.trace().await, "start 1, run 1, start 2, run 2");
    drop(first);
    let second = bench.setup.bodies.gated("t", Concurrency::Exclusive, true);
    let second = register(&bench.setup, second);
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, settled 1, value 1", "exclusive now: waits for an empty pool");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, settled 2, start 3, run 3, value 2");
    drop(second);
    bench.release(3, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 3, settled 3, start 4, settled 4, value 3, value 4");
    assert_eq!(bench.outcome(4), Some(Err((ErrorCode::UnknownTool, "there is no tool `t`".to_owned()))));
}

/// CM-18
#[tokio::test]
async fn a_call_that_turns_exclusive_while_it_is_prepared_waits_for_an_empty_pool() {
    let setup = Setup::new(config()).watched();
    let first = register(&setup, setup.bodies.gated("t", Concurrency::Parallel, true));
    let mut bench = setup.start();
    bench.submit("par");
    bench.quiet().await;
    bench.setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    bench.submit_all(&["t", "par"]);
    bench.trace().await;
    drop(first);
    register(&bench.setup, bench.setup.bodies.gated("t", Concurrency::Exclusive, true)).keep();
    bench.setup.watch.hold_prepare.store(false, Ordering::Relaxed);
    bench.setup.watch.go_on.notify_one();
    assert_eq!(bench.trace().await, "prepared 2");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, review 1, reviewed 1, settled 1, run 2, value 1");
    bench.release(2, Reply::Value).await;
    assert_eq!(
        bench.trace().await,
        "rest 2, review 2, reviewed 2, settled 2, start 3, prepare 3, value 2, prepared 3, run 3"
    );
}

/// CM-17
#[tokio::test]
async fn a_body_starts_and_ends_while_the_next_call_is_prepared_and_is_committed_after() {
    let setup = Setup::new(config()).watched();
    let mut bench = setup.start();
    bench.submit("par");
    bench.trace().await;
    bench.setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    bench.submit("par");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "start 2, prepare 2, rest 1");
    bench.setup.watch.go_on.notify_one();
    assert_eq!(
        bench.trace().await,
        "prepared 2, run 2, review 1, reviewed 1, settled 1, value 1",
        "only bodies overlap"
    );
}

/// CM-17, CM-19
#[tokio::test]
async fn a_call_whose_next_waits_for_approval_has_run_and_has_its_value() {
    let mut bench = Bench::new(config());
    bench.setup.pipeline.add_pre(None, Arc::new(bench.setup.watch.clone())).keep();
    bench.submit_all(&["now", "par", "asks"]);
    assert_eq!(
        bench.trace().await,
        "start 1, prepare 1, prepared 1, run 1, settled 1, start 2, prepare 2, value 1, prepared 2, run 2, \
         start 3, prepare 3, prepared 3"
    );
}

/// CM-19
#[tokio::test]
async fn parallel_calls_are_committed_in_order_of_completion() {
    let mut bench = Bench::new(config());
    bench.submit_all(&["par", "par", "par"]);
    bench.trace().await;
    for n in [3, 1, 2] {
        bench.release(n, Reply::Value).await;
        assert_eq!(bench.trace().await, format!("rest {n}, settled {n}, value {n}"));
    }
}

/// CM-19. The rule is that of a native step, see S-4.
#[tokio::test]
async fn under_submission_order_an_early_call_waits_for_those_before_it() {
    let mut bench = Bench::new(LaneConfig { commit_order: CommitOrder::Submission, ..config() });
    bench.submit_all(&["par", "par", "denied", "par"]);
    bench.setup.bodies.trace.note("-", 0);
    bench.quiet().await;
    bench.release(4, Reply::Value).await;
    bench.release(2, Reply::Value).await;
    assert_eq!(
        bench.trace().await,
        "- 0, start 1, run 1, start 2, run 2, start 3, run 3, start 4, run 4, rest 4, rest 2"
    );
    bench.release(1, Reply::Value).await;
    assert_eq!(
        bench.trace().await,
        "rest 1, settled 1, settled 2, settled 3, settled 4, value 1, value 2, value 3, value 4"
    );
}

/// CM-19
#[tokio::test]
async fn what_the_model_sees_is_in_submission_order_whatever_came_first() {
    let mut bench = Bench::new(config());
    bench.submit_all(&["par", "par", "par", "par"]);
    bench.quiet().await;
    for (n, reply) in [(4, Reply::Image), (3, Reply::Conclude), (1, Reply::Conclude), (2, Reply::Image)] {
        bench.release(n, reply).await;
    }
    let report = bench.close().await;
    let deferred: Vec<_> = report.deferred.iter().map(|context| context.text.as_str()).collect();
    assert_eq!(deferred, ["deferred 1", "deferred 3"]);
    assert!(report.concludes_turn);
    let image = |data: &str| ContentBlock::Image { data: data.to_owned(), mime_type: "image/png".to_owned() };
    assert_eq!((report.blocks, report.blocks_left_out), (vec![image("1000002"), image("1000004")], 0));
}

/// CM-20
#[tokio::test]
async fn a_pool_of_one_is_strictly_serial() {
    for max_parallel in [0, 1] {
        let mut bench = Setup::new(LaneConfig { max_parallel, ..serial() }).watched().start();
        bench.submit_all(&["par", "now", "alone"]);
        bench.quiet().await;
        bench.release(1, Reply::Value).await;
        bench.release(3, Reply::Value).await;
        let steps = |n: u64, rest: &str| {
            format!(
                "start {n}, prepare {n}, prepared {n}, run {n}, {rest}review {n}, reviewed {n}, settled {n}"
            )
        };
        let trace = bench.trace().await;
        let without_values: Vec<_> = trace.split(", ").filter(|line| !line.starts_with("value")).collect();
        assert_eq!(
            without_values.join(", "),
            [steps(1, "rest 1, "), steps(2, ""), steps(3, "rest 3, ")].join(", ")
        );
        assert_eq!(bench.close().await.peak_parallel, 1);
    }
}

/// CM-18, E-7, PO-6: the time that a call spends in the queue counts towards nobody's timeout.
#[tokio::test]
async fn forty_slow_calls_succeed_under_a_timeout_that_four_of_them_would_exceed() {
    let setup = Setup::new(config());
    let clock = setup.clock.clone();
    let slow = Tool::builder("slow")
        .output(json!({"type": "integer"}))
        .concurrency(Concurrency::Parallel)
        .timeout(Duration::from_secs(5))
        .handler(move |_args: Value, context: ToolContext| {
            let asleep = clock.sleep(Duration::from_secs(2));
            async move {
                asleep.await;
                Ok(json!(number(&context.call)))
            }
        })
        .unwrap();
    register(&setup, slow).keep();
    let clock: Arc<dyn Clock> = Arc::new(setup.clock.clone());
    TimeoutPolicy::new().attach(&setup.pipeline, &clock, None).into_iter().for_each(Attachment::keep);
    let mut bench = setup.start();
    bench.submit_all(&["slow"; 40]);
    for _ in 0..4 {
        bench.quiet().await;
        bench.setup.clock.advance(Duration::from_secs(2));
    }
    bench.quiet().await;
    let report = bench.close().await;
    assert_eq!((states(&report), report.peak_parallel), (vec![SubCallState::Finished; 40], 10));
}
