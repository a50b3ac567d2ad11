//! Steps that are aborted, drained or not, and steps that are dropped (S-6, P-14).

use super::*;
use crate::pipeline::script::{Impatient, Sees};

/// S-6
#[tokio::test]
async fn an_abort_settles_the_started_and_answers_for_the_others_in_model_order() {
    let mut bench = Setup::new(StepConfig { max_parallel: 2, ..config() })
        .start(&["par", "par", "now", "alone", "nothing"]);
    bench.trace().await;
    bench.setup.bodies.release(2, Reply::Value);
    bench.quiet().await;
    bench.trace().await;
    bench.setup.cancel.cancel();
    assert_eq!(
        bench.trace().await,
        "told 1, rest 1, result 1, result 2, result 3, call 4, result 4, call 5, result 5"
    );
    let outcome = bench.outcome().await;
    let never = "ABORTED_BEFORE_DISPATCH";
    assert_eq!(codes(&outcome), ["ABORTED", "ok", "ok", never, never]);
    assert_eq!(
        failure(&outcome, 4),
        (ErrorCode::AbortedBeforeDispatch, "`alone` was cancelled before it started; nothing happened", None)
    );
}

/// S-6
#[tokio::test]
async fn a_step_that_is_aborted_before_it_begins_answers_every_call() {
    let setup = Setup::new(config()).watched();
    setup.cancel.cancel();
    let deep = crate::json::nested(1_000);
    let mut all = calls(&["par", "alone", "nothing", "now"]);
    all[3].args = deep;
    let mut bench = setup.start_calls(all);
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ABORTED_BEFORE_DISPATCH"; 4]);
    let trace = "call 1, result 1, call 2, result 2, call 3, result 3, call 4, result 4";
    assert_eq!(bench.trace().await, trace, "no policy is asked and no body runs");
}

/// S-6, P-10: observers see the results of calls that never started as well.
#[tokio::test]
async fn an_observer_sees_every_result_of_an_aborted_step() {
    let setup = Setup::new(config());
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    let mut bench = setup.start(&["deaf", "alone"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    bench.outcome().await;
    assert_eq!(sees.seen(), ["c:1 ABORTED", "c:2 ABORTED_BEFORE_DISPATCH"]);
}

/// P-10, P-9: and of calls that no policy could decide on: too deep, or given up while they were decided on.
#[tokio::test]
async fn an_observer_sees_the_calls_that_nobody_decided_on() {
    let setup = Setup::new(config()).watched();
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    let deep = crate::json::nested(1_000);
    let mut all = calls(&["now", "now"]);
    all[0].args = deep;
    let mut bench = setup.start_calls(all);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    bench.outcome().await;
    assert_eq!(sees.seen(), ["c:1 TOOL_ARGS_TOO_LARGE", "c:2 ABORTED_BEFORE_DISPATCH"]);
}

/// P-13: a denial whose review hangs is a denial, for nothing of it had started.
#[tokio::test]
async fn a_denial_that_nobody_reviews_in_time_stays_one() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    let mut bench = setup.start(&["denied"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    let outcome = bench.outcome().await;
    assert_eq!(failure(&outcome, 1), (ErrorCode::Denied, "`denied` was denied: not here", None));
    assert_eq!(sees.seen(), ["c:1 DENIED"]);
}

/// S-6: an abort while a policy waits for somebody.
#[tokio::test]
async fn a_question_for_approval_is_withdrawn_when_the_step_is_aborted() {
    let mut bench = Setup::new(config()).watched().start(&["asks", "now"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["APPROVAL_CANCELLED", "ABORTED_BEFORE_DISPATCH"]);
}

/// P-14, S-6
#[tokio::test]
async fn a_body_that_ignores_its_signal_is_left_behind_listed_and_answered_for() {
    let setup = Setup::new(config()).watched();
    let pipeline = setup.pipeline.clone();
    let listed = || pipeline.undrained().iter().map(|call| call.id.to_string()).collect::<Vec<_>>();
    let mut bench = setup.start(&["par", "deaf", "par", "deaf", "alone"]);
    bench.quiet().await;
    bench.release(3, Reply::Value).await;
    bench.setup.cancel.cancel();
    bench.setup.clock.advance(Duration::from_secs(100));
    assert!(!bench.is_done().await, "the deadline begins when the abort is noticed");
    bench.setup.clock.advance(DRAIN.saturating_sub(Duration::from_millis(1)));
    assert!(!bench.is_done().await);
    assert_eq!(listed(), [""; 0]);
    bench.setup.clock.advance(Duration::from_millis(1));
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["ABORTED", "ABORTED", "ok", "ABORTED", "ABORTED_BEFORE_DISPATCH"]);
    for n in [2, 4] {
        assert_eq!(
            failure(&outcome, n),
            (
                ErrorCode::Aborted,
                "`deaf` was told to stop and has not; it may still be running",
                Some(&json!({"drained": false}))
            )
        );
    }
    assert_eq!(listed(), ["c:2", "c:4"]);
    bench.trace().await;
    bench.release(2, Reply::Value).await;
    assert_eq!((bench.trace().await.as_str(), listed()), ("rest 2", vec!["c:4".to_owned()]));
    bench.release(4, Reply::Panic).await;
    assert_eq!(listed(), [""; 0], "a body that panics has ended, too");
}

/// P-14, PO-6: without anybody's abort, the deadline of a body that its wrapper has told to stop is its own, and the
/// step goes on.
#[tokio::test]
async fn a_body_that_outlasts_its_timeout_and_the_deadline_is_left_behind() {
    let setup = Setup::new(config());
    let pipeline = setup.pipeline.clone();
    pipeline.add_around(None, Arc::new(Impatient)).keep();
    let mut bench = setup.start(&["deaf", "par", "alone"]);
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN.saturating_sub(Duration::from_millis(1)));
    assert!(!bench.is_done().await);
    assert!(pipeline.undrained().is_empty());
    bench.setup.clock.advance(Duration::from_millis(1));
    let outcome = bench.outcome().await;
    assert_eq!(codes(&outcome), ["TOOL_TIMEOUT", "ok", "ok"]);
    assert_eq!(failure(&outcome, 1), (ErrorCode::ToolTimeout, "too late", Some(&json!({"drained": false}))));
    assert_eq!(pipeline.undrained().len(), 1);
    bench.release(1, Reply::Value).await;
    assert!(pipeline.undrained().is_empty());
}

/// P-14
#[tokio::test]
async fn without_a_deadline_a_body_is_waited_for() {
    let mut bench = Setup::new(StepConfig { drain: None, ..config() }).start(&["deaf"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    bench.quiet().await;
    bench.setup.clock.advance(Duration::from_secs(1_000_000));
    assert!(!bench.is_done().await);
    bench.release(1, Reply::Value).await;
    let outcome = bench.outcome().await;
    assert_eq!(
        failure(&outcome, 1),
        (ErrorCode::Aborted, "`deaf` was cancelled after it had started; effects may have happened", None)
    );
}

/// P-14
#[tokio::test]
async fn interceptors_that_never_answer_do_not_hold_an_aborted_step_for_ever() {
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let mut bench = setup.start(&["now"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    assert!(!bench.is_done().await);
    bench.setup.clock.advance(DRAIN);
    let outcome = bench.outcome().await;
    assert_eq!(
        failure(&outcome, 1),
        (
            ErrorCode::Aborted,
            "`now` was cancelled after it had started, and its result was not reviewed in time; effects may have happened",
            None
        )
    );

    let setup = Setup::new(config()).watched();
    setup.watch.hold_prepare.store(true, Ordering::Relaxed);
    let mut bench = setup.start(&["now", "now"]);
    bench.quiet().await;
    bench.setup.cancel.cancel();
    assert!(!bench.is_done().await);
    bench.setup.clock.advance(DRAIN);
    assert_eq!(codes(&bench.outcome().await), ["ABORTED_BEFORE_DISPATCH"; 2]);
}

/// P-14: the time of bodies runs while a review is waited for, and reviews that hang have one time together.
#[tokio::test]
async fn an_aborted_step_takes_its_time_once() {
    for tools in [["par", "deaf"], ["par", "par"]] {
        let setup = Setup::new(config()).watched();
        setup.watch.hold_review.store(true, Ordering::Relaxed);
        let mut bench = setup.start(&tools);
        bench.quiet().await;
        bench.release(1, Reply::Value).await;
        bench.setup.cancel.cancel();
        bench.quiet().await;
        bench.setup.clock.advance(DRAIN.saturating_sub(Duration::from_millis(1)));
        assert!(!bench.is_done().await);
        bench.setup.clock.advance(Duration::from_millis(1));
        assert_eq!(codes(&bench.outcome().await), ["ABORTED"; 2], "{tools:?}");
    }
}

/// A body whose end, by whatever means, is noted.
fn guarded(bodies: &Bodies, alive: &Arc<()>) -> Tool {
    let (trace, alive) = (bodies.trace.clone(), Arc::clone(alive));
    Tool::builder("guarded")
        .output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |_args: Value, context: ToolContext| {
            let (trace, alive) = (trace.clone(), Arc::clone(&alive));
            async move {
                trace.note("run", number(&context.call));
                std::future::pending::<()>().await;
                drop(alive);
                Ok::<_, ToolError>(Value::Null)
            }
        })
        .unwrap()
}

/// S-1, P-14: dropping a step leaves no body running, stops nothing of the host's, and leaves no call open in the
/// ledger.
#[tokio::test]
async fn a_step_that_is_dropped_leaves_nothing_running() {
    let setup = Setup::new(config());
    let alive = Arc::new(());
    setup.register(guarded(&setup.bodies, &alive)).keep();
    let signal = Arc::new(Mutex::new(None));
    let keeps = {
        let signal = Arc::clone(&signal);
        Tool::builder("keeps")
            .output(json!({}))
            .concurrency(Concurrency::Parallel)
            .handler(move |_args: Value, context: ToolContext| {
                *signal.lock().unwrap() = Some(context.cancel.clone());
                std::future::pending::<Result<Value, ToolError>>()
            })
            .unwrap()
    };
    setup.register(keeps).keep();
    let idle = Arc::strong_count(&alive);
    let mut bench = setup.start(&["guarded", "keeps", "now", "guarded", "alone"]);
    bench.trace().await;
    assert_eq!(Arc::strong_count(&alive), idle + 2);
    bench.stepping.as_ref().unwrap().abort();
    bench.quiet().await;
    assert_eq!(Arc::strong_count(&alive), idle, "the bodies are gone");
    assert!(
        signal.lock().unwrap().as_ref().unwrap().is_cancelled(),
        "what a body has started itself is told"
    );
    assert!(!bench.setup.cancel.is_cancelled());
    assert_eq!(bench.trace().await, "result 1, result 2, result 3, result 4");
    let events = bench.setup.store.events();
    assert!(crate::ledger::unsettled(&events).is_empty());
    let EventBody::ToolResult(result) = &events[4].body else { panic!("{:?}", events[4]) };
    assert_eq!(
        (result.code, result.content[0].as_text()),
        (
            Some(ErrorCode::Aborted),
            Some("`guarded` had started when its step was given up; effects may have happened")
        )
    );
    assert!(bench.setup.pipeline.undrained().is_empty());
}

/// What a dropped step says of its calls, in the ledger and to observers.
async fn dropped(bench: &mut Bench, sees: &Sees) -> (Vec<String>, Vec<String>) {
    bench.quiet().await;
    bench.stepping.as_ref().unwrap().abort();
    bench.quiet().await;
    let events = bench.setup.store.events();
    let told = events.iter().filter_map(|event| match &event.body {
        EventBody::ToolResult(result) => {
            Some(format!("{} {}", result.call, result.code.map_or("ok", ErrorCode::as_str)))
        }
        _ => None,
    });
    (told.collect(), sees.seen())
}

/// P-13, P-10: a dropped step tells calls that ran from those that did not, and those whose result is known.
#[tokio::test]
async fn a_dropped_step_says_of_each_call_what_is_known() {
    let setup = Setup::new(config());
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    setup.pipeline.add_pre(None, Arc::new(setup.watch.clone())).keep();
    // The first keeps the others waiting; the last one waits for somebody's approval.
    let mut bench = setup.start(&["par", "now", "denied", "asks"]);
    let (told, seen) = dropped(&mut bench, &sees).await;
    let known = ["c:1 ABORTED", "c:2 ok", "c:3 DENIED"];
    assert_eq!(told[..3], known);
    assert_eq!(told[3..], ["c:4 ABORTED_BEFORE_DISPATCH"]);
    assert_eq!(seen, known, "the last one was not decided on yet");
}

/// P-13: where results are reviewed, one that was not counts for nothing more than that its body ran.
#[tokio::test]
async fn a_dropped_step_vouches_for_no_result_that_was_not_reviewed() {
    let setup = Setup::new(config()).watched();
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    let mut bench = setup.start(&["par", "now", "denied"]);
    let expected = ["c:1 ABORTED", "c:2 ABORTED", "c:3 DENIED"].map(str::to_owned).to_vec();
    assert_eq!(dropped(&mut bench, &sees).await, (expected.clone(), expected));
    // The same while the first is being reviewed.
    let setup = Setup::new(config()).watched();
    setup.watch.hold_review.store(true, Ordering::Relaxed);
    let sees = Sees::all(&setup.pipeline, ToString::to_string);
    let mut bench = setup.start(&["denied", "now"]);
    let expected = ["c:1 DENIED"].map(str::to_owned).to_vec();
    assert_eq!(dropped(&mut bench, &sees).await, (expected.clone(), expected));
}

/// S-6: the end of a step is no reason to stop what its tools have started.
#[tokio::test]
async fn a_step_that_ends_raises_no_signal() {
    let setup = Setup::new(config());
    let signal = Arc::new(Mutex::new(None));
    let keeps = {
        let signal = Arc::clone(&signal);
        Tool::builder("keeps")
            .output(json!({}))
            .handler(move |_args: Value, context: ToolContext| {
                *signal.lock().unwrap() = Some(context.cancel.clone());
                async { Ok::<_, ToolError>(json!(1)) }
            })
            .unwrap()
    };
    setup.register(keeps).keep();
    let mut bench = setup.start(&["keeps"]);
    bench.outcome().await;
    assert!(!signal.lock().unwrap().as_ref().unwrap().is_cancelled());
}
