//! The stricter rule for a batch (S-8).

use super::*;

fn strict() -> StepConfig {
    StepConfig { batch_rule: BatchRule::AllOrSerial, ..config() }
}

/// S-8
#[tokio::test]
async fn one_exclusive_call_makes_the_whole_batch_serial() {
    let mut bench = Setup::new(strict()).start(&["par", "par", "alone"]);
    assert_eq!(bench.trace().await, "call 1, run 1");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1, call 2, run 2");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, result 2, call 3, run 3");
    bench.release(3, Reply::Value).await;
    assert_eq!(codes(&bench.outcome().await), ["ok"; 3]);
}

/// S-8
#[tokio::test]
async fn after_a_failure_the_rest_of_a_serial_batch_is_not_started() {
    let mut bench = Setup::new(strict()).watched().start(&["par", "par", "alone", "now"]);
    bench.quiet().await;
    bench.release(1, Reply::Value).await;
    bench.trace().await;
    bench.release(2, Reply::Fail).await;
    assert_eq!(
        bench.trace().await,
        "rest 2, review 2, reviewed 2, result 2, call 3, result 3, call 4, result 4",
        "no policy is asked about a call that will not run"
    );
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ok", "TOOL_FAILED", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]);
    assert_eq!(
        failure(&outcome, 3),
        (
            ErrorCode::AbortedBeforeDispatch,
            "`alone` was not started, because an earlier call of this step failed; nothing happened. Call it again if \
             it is still wanted",
            Some(&json!({"reason": "earlier call failed", "failed": "c:2"}))
        )
    );
}

/// S-8: a denial is a failure as well.
#[tokio::test]
async fn a_call_that_never_ran_counts_as_failed() {
    for tool in ["nothing", "denied"] {
        let mut bench = Setup::new(strict()).watched().start(&[tool, "alone"]);
        let codes = codes(&bench.outcome().await)[1..].to_vec();
        assert_eq!(codes, ["ABORTED_BEFORE_DISPATCH"], "after {tool}");
    }
}

/// S-8
#[tokio::test]
async fn a_batch_of_parallel_calls_overlaps_and_its_failures_stop_nothing() {
    let mut bench = Setup::new(strict()).start(&["par", "par", "par"]);
    assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2, call 3, run 3");
    bench.release(1, Reply::Fail).await;
    bench.release(2, Reply::Value).await;
    bench.release(3, Reply::Value).await;
    assert_eq!(codes(&bench.outcome().await), ["TOOL_FAILED", "ok", "ok"]);
}

/// S-8, S-3
#[tokio::test]
async fn a_batch_that_turns_out_to_hold_an_exclusive_call_goes_on_serially() {
    for (reply, rest) in [(Reply::Value, "UNKNOWN_TOOL"), (Reply::Fail, "ABORTED_BEFORE_DISPATCH")] {
        let setup = Setup::new(StepConfig { max_parallel: 2, ..strict() });
        let plugin = setup.register(setup.bodies.immediate("plugin", Concurrency::Parallel, Reply::Value));
        let mut bench = setup.start(&["par", "par", "par", "plugin", "now"]);
        assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2");
        drop(plugin);
        bench.release(2, reply).await;
        assert_eq!(bench.trace().await, "rest 2", "the third would have had a place");
        bench.release(1, Reply::Value).await;
        if reply == Reply::Value {
            assert_eq!(bench.trace().await, "rest 1, result 1, result 2, call 3, run 3");
            bench.release(3, Reply::Value).await;
        }
        let outcome = bench.outcome().await;
        assert_eq!(codes(&outcome)[3..], [rest, "ABORTED_BEFORE_DISPATCH"]);
    }
}

/// S-8, S-3
#[tokio::test]
async fn a_call_that_turns_exclusive_while_it_is_prepared_is_not_started_after_a_failure() {
    let setup = Setup::new(strict()).watched();
    let plugin = setup.register(setup.bodies.gated("plugin", Concurrency::Parallel, true));
    setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    let mut bench = setup.start(&["par", "plugin"]);
    bench.quiet().await;
    bench.setup.watch.go_on.notify_waiters();
    bench.quiet().await;
    drop(plugin);
    bench.setup.register(bench.setup.bodies.gated("plugin", Concurrency::Exclusive, true)).keep();
    bench.setup.watch.go_on.notify_waiters();
    bench.quiet().await;
    bench.release(1, Reply::Fail).await;
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["TOOL_FAILED", "ABORTED_BEFORE_DISPATCH"]);
    assert!(!bench.setup.bodies.trace.lines().contains(&"run 2".to_owned()));
}

/// S-8, S-6: an abort has the last word.
#[tokio::test]
async fn an_abort_of_a_serial_batch_is_an_abort() {
    let mut bench = Setup::new(strict()).start(&["alone", "now"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ABORTED", "ABORTED_BEFORE_DISPATCH"]);
    assert_eq!(failure(&outcome, 2).1, "`now` was cancelled before it started; nothing happened");
}

/// S-8, P-9: a call that is kept from starting gets its final content like every other.
#[tokio::test]
async fn a_call_that_is_skipped_is_finished_too() {
    let setup = Setup::new(StepConfig { batch_rule: BatchRule::AllOrSerial, ..config() });
    let finishes = Tool::builder("finishes")
        .output(json!({}))
        .finalize_content(|_, result| {
            let code = result.as_ref().map_or_else(|failure| failure.code.as_str(), |_| "ok");
            Some(vec![crate::content::ContentBlock::text(format!("final {code}"))])
        })
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
        .unwrap();
    setup.register(finishes).keep();
    let mut bench = setup.start(&["nothing", "finishes"]);
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["UNKNOWN_TOOL", "ABORTED_BEFORE_DISPATCH"]);
    let skipped = outcome.results[1].result.as_ref().unwrap_err();
    assert_eq!(skipped.content[0].as_text(), Some("final ABORTED_BEFORE_DISPATCH"));
}
