//! Groups, the pool, and the order of commits (S-1 to S-5, S-9).

use super::*;

/// S-1, S-5
#[tokio::test]
async fn every_call_has_one_result_in_model_order_whatever_became_of_it() {
    let mut bench = Setup::new(config()).watched().start(&["now", "nothing", "denied", "par", "alone"]);
    bench.quiet().await;
    bench.release(4, Reply::Fail).await;
    bench.release(5, Reply::Panic).await;
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ok", "UNKNOWN_TOOL", "DENIED", "TOOL_FAILED", "TOOL_PANICKED"]);
    let ids: Vec<_> = outcome.results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["c:1", "c:2", "c:3", "c:4", "c:5"]);
}

/// S-1
#[tokio::test]
async fn a_step_without_calls_is_done_at_once_and_records_nothing() {
    let mut bench = Setup::new(config()).start(&[]);
    assert_eq!(bench.outcome().await, StepOutcome::default());
    assert!(bench.setup.store.events().is_empty());
}

/// S-1: what tells calls apart is their place.
#[tokio::test]
async fn two_calls_of_one_id_have_a_result_each() {
    let setup = Setup::new(config());
    let twice = ["now", "now"].map(|tool| StepCall::new("same:1", tool, json!({})));
    let mut bench = setup.start_calls(twice.to_vec());
    assert_eq!(codes(&bench.outcome().await), ["ok", "ok"]);
}

/// S-2
#[tokio::test]
async fn parallel_calls_form_groups_and_an_exclusive_one_stands_between_them() {
    let mut bench = Setup::new(config()).start(&["par", "par", "alone", "par", "par"]);
    assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1", "the barrier waits for the whole group");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, result 2, call 3, run 3");
    bench.release(3, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 3, result 3, call 4, run 4, call 5, run 5");
    bench.release(4, Reply::Value).await;
    bench.release(5, Reply::Value).await;
    assert_eq!(codes(&bench.outcome().await), ["ok"; 5]);
}

/// S-2: post-execute and the result are part of the barrier.
#[tokio::test]
async fn an_exclusive_call_keeps_its_barrier_until_it_is_committed() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let mut bench = setup.start(&["alone", "now"]);
    bench.quiet().await;
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "call 1, prepare 1, prepared 1, run 1, rest 1, review 1");
    bench.setup.watch.hold_review.store(false, Ordering::Relaxed);
    bench.setup.watch.go_on.notify_waiters();
    assert_eq!(
        bench.trace().await,
        "reviewed 1, result 1, call 2, prepare 2, prepared 2, run 2, review 2, reviewed 2, result 2"
    );
    bench.outcome().await;
}

/// S-2, T-5: nobody knows what a call that cannot be resolved would do.
#[tokio::test]
async fn a_call_that_resolves_to_nothing_is_a_barrier() {
    let mut bench = Setup::new(config()).start(&["par", "nothing", "now"]);
    assert_eq!(bench.trace().await, "call 1, run 1");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1, call 2, result 2, call 3, run 3, result 3");
    bench.outcome().await;
}

/// S-2, T-5: nor what a call would do of a tool that its scope does not see, whatever the tool says of itself.
#[tokio::test]
async fn a_call_of_a_hidden_tool_is_a_barrier() {
    let setup = Setup::new(config());
    let (registry, scope) = (setup.pipeline.registry(), Target::Scope("agent".into()));
    registry.restrict(&scope, Restriction::deny(["now"])).unwrap().keep();
    let mut bench = setup.start(&["par", "now", "par"]);
    assert_eq!(bench.trace().await, "call 1, run 1");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1, call 2, result 2, call 3, run 3");
    bench.release(3, Reply::Value).await;
    assert_eq!(codes(&bench.outcome().await), ["ok", "UNKNOWN_TOOL", "ok"]);
}

/// S-3
#[tokio::test]
async fn the_pool_rolls_and_never_holds_more_than_its_size() {
    let mut bench = Setup::new(StepConfig { max_parallel: 2, ..config() }).start(&["par"; 4]);
    assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, call 3, run 3", "a call at rest that waits takes no place");
    bench.release(3, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 3, call 4, run 4");
    bench.release(4, Reply::Value).await;
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 4, rest 1, result 1, result 2, result 3, result 4");
    bench.outcome().await;
}

/// S-3
#[test]
fn ten_bodies_run_at_once_by_default() {
    let expected = StepConfig { max_parallel: 10, batch_rule: BatchRule::Groups, drain: None };
    assert_eq!(StepConfig::default(), expected);
}

/// S-3
#[tokio::test]
async fn a_call_whose_tool_is_unloaded_before_its_launch_cuts_the_group() {
    let setup = Setup::new(StepConfig { max_parallel: 2, ..config() });
    let plugin = setup.register(setup.bodies.immediate("plugin", Concurrency::Parallel, Reply::Value));
    let mut bench = setup.start(&["par", "par", "plugin", "par"]);
    bench.trace().await;
    drop(plugin);
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2", "there is room, and the next call has turned exclusive");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1, result 2, call 3, result 3, call 4, run 4");
    bench.release(4, Reply::Value).await;
    assert_eq!(codes(&bench.outcome().await), ["ok", "ok", "UNKNOWN_TOOL", "ok"]);
}

/// S-3
#[tokio::test]
async fn a_call_that_turns_exclusive_runs_alone_and_one_that_turns_parallel_joins() {
    let setup = Setup::new(StepConfig { max_parallel: 2, ..config() });
    let turns = |class| setup.bodies.gated("turns", class, true);
    let (parallel, exclusive) = (turns(Concurrency::Parallel), turns(Concurrency::Exclusive));
    let before = setup.register(parallel.clone());
    let mut bench = setup.start(&["par", "par", "turns", "turns", "par"]);
    bench.trace().await;
    drop(before);
    let alone = bench.setup.register(exclusive);
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, result 1");
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, result 2, call 3, run 3");
    drop(alone);
    bench.setup.register(parallel).keep();
    assert_eq!(bench.trace().await, "", "what runs alone goes on alone");
    bench.release(3, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 3, result 3, call 4, run 4, call 5, run 5");
    bench.release(4, Reply::Value).await;
    bench.release(5, Reply::Value).await;
    bench.outcome().await;
}

/// S-3: a policy may take its time, and the registry changes while it does.
#[tokio::test]
async fn a_call_that_turns_exclusive_while_it_is_prepared_waits_for_the_others() {
    let setup = Setup::new(config()).watched();
    let plugin = setup.register(setup.bodies.gated("plugin", Concurrency::Parallel, true));
    setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    let mut bench = setup.start(&["par", "plugin", "now"]);
    bench.quiet().await;
    bench.setup.watch.go_on.notify_waiters();
    assert_eq!(bench.trace().await, "call 1, prepare 1, prepared 1, run 1, call 2, prepare 2");
    drop(plugin);
    bench.setup.register(bench.setup.bodies.gated("plugin", Concurrency::Exclusive, true)).keep();
    bench.setup.watch.hold_prepare.store(false, Ordering::Relaxed);
    bench.setup.watch.go_on.notify_waiters();
    assert_eq!(bench.trace().await, "prepared 2");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1, review 1, reviewed 1, result 1, run 2");
    bench.release(2, Reply::Value).await;
    assert!(bench.trace().await.starts_with("rest 2, review 2, reviewed 2, result 2, call 3"));
    assert_eq!(codes(&bench.outcome().await), ["ok", "ok", "ok"]);
}

/// S-4
#[tokio::test]
async fn a_call_that_is_done_first_waits_for_the_commits_before_it() {
    let mut bench = Setup::new(config()).watched().start(&["par", "par", "denied", "par"]);
    bench.trace().await;
    bench.release(4, Reply::Value).await;
    bench.release(2, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 4, rest 2", "neither reviewed nor recorded");
    bench.release(1, Reply::Value).await;
    assert_eq!(
        bench.trace().await,
        "rest 1, review 1, reviewed 1, result 1, review 2, reviewed 2, result 2, review 3, reviewed 3, result 3, \
         review 4, reviewed 4, result 4"
    );
    bench.outcome().await;
}

/// S-4
#[tokio::test]
async fn bodies_go_on_while_a_call_is_prepared_and_nothing_else_does() {
    let mut bench = Setup::new(config()).watched().start(&["par", "asks", "par"]);
    assert_eq!(bench.trace().await, "call 1, prepare 1, prepared 1, run 1, call 2, prepare 2, prepared 2");
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 1", "no commit overlaps with the question for approval");
    bench.setup.cancel.cancel();
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ok", "APPROVAL_CANCELLED", "ABORTED_BEFORE_DISPATCH"]);
}

/// S-4, T-14
#[tokio::test]
async fn deferred_contexts_and_conclusions_come_in_model_order() {
    let setup = Setup::new(config());
    let fails = Tool::builder("fails")
        .output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(|_args: Value, context: ToolContext| async move {
            context.defer_context("deferred by a failure");
            context.conclude_turn();
            Err::<Value, _>(ToolError::failed("no"))
        })
        .unwrap();
    setup.register(fails).keep();
    let mut bench = setup.start(&["par", "fails", "par", "now"]);
    bench.quiet().await;
    bench.release(3, Reply::Conclude).await;
    bench.release(1, Reply::Conclude).await;
    let outcome = bench.outcome().await;
    assert_eq!(
        codes(&outcome),
        ["ok", "TOOL_FAILED", "ok", "ok"],
        "the calls after a conclusion run all the same"
    );
    let deferred: Vec<_> = outcome.deferred().map(|context| context.text.as_str()).collect();
    assert_eq!(deferred, ["deferred 1", "deferred by a failure", "deferred 3"]);
    assert!(outcome.concludes_turn());
}

/// S-4, T-14
#[tokio::test]
async fn a_failure_cannot_conclude_the_turn() {
    let mut bench = Setup::new(config()).start(&["par", "now"]);
    bench.quiet().await;
    bench.release(1, Reply::Fail).await;
    assert!(!bench.outcome().await.concludes_turn());
}

/// S-5, L-3: the ledger's copy of the arguments is its own.
#[tokio::test]
async fn a_call_is_recorded_at_its_launch_with_what_the_model_said() {
    let setup = Setup::new(StepConfig { max_parallel: 1, ..config() });
    let calls = [1, 2].map(|n| StepCall::new(id(n).as_str(), "par", json!({"k": n})));
    let mut bench = setup.start_calls(calls.to_vec());
    assert_eq!(bench.trace().await, "call 1, run 1", "the second is not recorded before its launch");
    bench.release(1, Reply::Value).await;
    bench.release(2, Reply::Value).await;
    bench.outcome().await;
    let events = bench.setup.store.events();
    let arguments: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ToolCall(data) => Some(data.arguments.as_ref().clone()),
            _ => None,
        })
        .collect();
    assert_eq!(arguments, [json!({"k": 1}), json!({"k": 2})]);
}

/// S-1: text of a model that is not JSON, and values that no ordinary means can handle.
#[tokio::test]
async fn arguments_that_no_tool_could_take_are_answered_like_all_others() {
    let deep = crate::json::nested(100_000);
    let calls = vec![
        StepCall::new("c:1", "par", json!("{\"k\": ")),
        StepCall::new("c:2", "par", deep),
        StepCall::new("c:3", "now", json!({})),
    ];
    let mut bench = Setup::new(config()).start_calls(calls);
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["TOOL_ARGS_INVALID", "TOOL_ARGS_TOO_LARGE", "ok"]);
    assert_eq!(
        failure(&outcome, 2).1,
        "the arguments of `par` are nested more than 256 levels deep; pass a flatter value"
    );
}

/// S-9
#[tokio::test]
async fn one_at_a_time_is_strictly_serial() {
    for max_parallel in [0, 1] {
        let mut bench = Setup::new(StepConfig { max_parallel, ..config() }).start(&["par", "now", "par"]);
        assert_eq!(bench.trace().await, "call 1, run 1");
        bench.release(1, Reply::Value).await;
        assert_eq!(bench.trace().await, "rest 1, result 1, call 2, run 2, result 2, call 3, run 3");
        bench.release(3, Reply::Value).await;
        bench.outcome().await;
    }
}

/// S-1: a native call is not nested, and the rule of the mode holds for it (CM-3).
#[tokio::test]
async fn calls_of_a_step_are_top_level_calls() {
    let setup = Setup::new(config());
    setup.pipeline.registry().set_default_mode(crate::registry::PresentationMode::Code);
    let mut bench = setup.start(&["now"]);
    assert_eq!(codes(&bench.outcome().await), ["COLLAPSED"]);
}

/// S-1
#[tokio::test]
async fn a_step_without_a_ledger_gives_the_same_results() {
    let mut setup = Setup::new(config());
    setup.ledger = Ledger::disabled("s".into(), Arc::new(setup.clock.clone()));
    let mut bench = setup.start(&["now", "nothing"]);
    assert_eq!(codes(&bench.end().await.unwrap()), ["ok", "UNKNOWN_TOOL"]);
}

/// S-4: a step needs no runtime of tokio's to go on.
#[test]
fn bodies_overlap_without_a_runtime() {
    use futures_util::FutureExt as _;
    let setup = Setup::new(config());
    let scheduler = setup.scheduler();
    let mut stepping = Box::pin(scheduler.execute(setup.root(), calls(&["par", "par"])));
    assert!(stepping.as_mut().now_or_never().is_none());
    assert_eq!(setup.bodies.waiting(), [1, 2]);
    setup.bodies.release(2, Reply::Value);
    setup.bodies.release(1, Reply::Value);
    let outcome = stepping.now_or_never().expect("both are released").unwrap();
    check_ledger(&setup.store.events(), &outcome);
}
