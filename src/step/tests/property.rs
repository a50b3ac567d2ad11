//! Random steps against the rules (S-1 to S-9).
//!
//! Owns the rules of traces and outcomes; the schedules are [`super::world`]'s.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::world::{Change, End, HORIZON, MS, Planned, World, changes, configs, planned};
use super::*;

/// What holds of every trace, whatever happened.
fn check_trace(lines: &[String], max: usize, alone: &BTreeSet<u64>) {
    let mut running = BTreeSet::new();
    let mut part: Option<(&str, u64)> = None;
    let (mut called, mut prepared, mut ran, mut settled) = (0, 0, 0, 0);
    let mut barrier = None;
    let mut aborted = false;
    for line in lines {
        let (what, n) = line.split_once(' ').unwrap();
        let n: u64 = n.parse().unwrap();
        let parts = ["call", "prepare", "run", "review", "result"];
        assert!(part.is_none() || !parts.contains(&what), "ordered parts never overlap: {line} in {lines:?}");
        if let Some(barrier) = barrier {
            assert!(n == barrier || what == "abort", "{line} beside an exclusive call: {lines:?}");
        }
        match what {
            "call" => {
                called += 1;
                assert_eq!(n, called, "calls are recorded in model order: {lines:?}");
            }
            "prepare" => {
                assert!(n > prepared, "calls are prepared in model order: {lines:?}");
                prepared = n;
                part = Some(("prepared", n));
            }
            "review" => part = Some(("reviewed", n)),
            "prepared" | "reviewed" => assert_eq!(part.take(), Some((what, n))),
            "run" => {
                assert!(
                    n > ran && !aborted,
                    "bodies start in model order, and none after an abort: {lines:?}"
                );
                ran = n;
                running.insert(n);
                assert!(running.len() <= max, "more than {max} bodies: {lines:?}");
                if alone.contains(&n) {
                    assert_eq!((running.len(), settled), (1, n - 1), "the barrier of {n}: {lines:?}");
                    barrier = Some(n);
                }
            }
            "rest" => {
                running.remove(&n);
            }
            "result" => {
                settled += 1;
                assert_eq!(n, settled, "results are recorded in model order: {lines:?}");
                assert!(n <= called, "a result follows its call: {lines:?}");
                barrier = barrier.filter(|barrier| *barrier != n);
            }
            "abort" => aborted = true,
            other => panic!("{other}"),
        }
    }
    assert_eq!(part, None, "{lines:?}");
}

fn check_outcome(
    outcome: &StepOutcome,
    plan: &[Planned],
    lines: &[String],
    config: &StepConfig,
    aborted: bool,
) {
    assert_eq!(outcome.results.len(), plan.len());
    let mut failed = false;
    for (n, (StepResult { id: found, tool, result }, call)) in (1..).zip(outcome.results.iter().zip(plan)) {
        assert_eq!((found.as_str(), tool.as_str()), (id(n).as_str(), call.tool));
        let ran = lines.contains(&format!("run {n}"));
        let code = result.as_ref().map_or_else(|failure| failure.code, |_| ErrorCode::HostBug);
        let expected: &[ErrorCode] = match (ran, call.reply) {
            (true, "fail") => &[ErrorCode::ToolFailed, ErrorCode::Aborted],
            (true, "panic") => &[ErrorCode::ToolPanicked, ErrorCode::Aborted],
            (true, _) => &[ErrorCode::HostBug, ErrorCode::Aborted],
            (false, _) => &[ErrorCode::UnknownTool, ErrorCode::Denied, ErrorCode::AbortedBeforeDispatch],
        };
        assert!(expected.contains(&code), "{n}: {result:?}");
        if code == ErrorCode::Aborted {
            assert!(aborted, "{n}: {result:?}");
        }
        if code == ErrorCode::AbortedBeforeDispatch && !aborted {
            assert!(failed && config.batch_rule == BatchRule::AllOrSerial, "{n}: {result:?}");
        }
        failed |= result.is_err();
    }
    let deferred: Vec<_> = outcome.deferred().map(|context| context.text.clone()).collect();
    let number = |text: &String| text.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(deferred.is_sorted_by_key(number), "{deferred:?}");
}

/// One schedule against the rules, with changes of the registry at certain times and while certain calls are prepared.
async fn play(
    config: StepConfig,
    plan: Vec<Planned>,
    changes: Vec<(u64, Change)>,
    meddling: Vec<(u64, Change)>,
    end: End,
) {
    let world = World::new(config.clone());
    world.meddle(meddling);
    let mut bench = world.start(&plan);
    let trace = world.setup.bodies.trace.clone();
    let pipeline = world.setup.pipeline.clone();
    let mut aborted = false;
    for now in 0..HORIZON {
        for (_, change) in changes.iter().filter(|(at, _)| *at == now) {
            world.change(*change);
        }
        match end {
            End::Abort(at) if at == now => {
                aborted = true;
                trace.note("abort", 0);
                bench.setup.cancel.cancel();
            }
            End::Drop(at) if at == now => {
                if let Some(stepping) = bench.stepping.take() {
                    stepping.abort();
                    drop(stepping);
                    bench.quiet().await;
                    return check_dropped(&world, &bench, &config).await;
                }
            }
            _ => {}
        }
        if bench.is_done().await {
            break;
        }
        world.setup.clock.advance(MS);
    }
    let outcome = bench.outcome().await;
    let lines = trace.lines();
    check_trace(&lines, config.max_parallel, &world.alone.lock().unwrap());
    check_outcome(&outcome, &plan, &lines, &config, aborted);
    let undrained = |result: &&StepResult| {
        result.result.as_ref().is_err_and(|failure| failure.details == Some(json!({"drained": false})))
    };
    let left: Vec<_> = outcome.results.iter().filter(undrained).map(|result| result.id.clone()).collect();
    let listed: Vec<_> = pipeline.undrained().iter().map(|call| call.id.clone()).collect();
    assert_eq!(left, listed, "bodies left behind are listed");
    assert_eq!(Arc::strong_count(&world.alive) - 1, left.len(), "and nothing else runs");
    world.setup.clock.advance(MS * u32::try_from(HORIZON).unwrap());
    bench.quiet().await;
    assert!(pipeline.undrained().is_empty(), "until they end");
}

async fn check_dropped(world: &World, bench: &Bench, config: &StepConfig) {
    let lines = world.setup.bodies.trace.lines();
    assert_eq!(Arc::strong_count(&world.alive), 1, "a body outlived its step: {lines:?}");
    let events = world.setup.store.events();
    assert!(crate::ledger::unsettled(&events).is_empty(), "{lines:?}");
    for event in &events {
        let EventBody::ToolResult(result) = &event.body else { continue };
        let ran = lines.contains(&format!("run {}", number(&result.call)));
        let never = [ErrorCode::UnknownTool, ErrorCode::Denied, ErrorCode::AbortedBeforeDispatch];
        let told = result.code.is_some_and(|code| never.contains(&code));
        assert_eq!(told, !ran, "what is said of a call is what became of it: {result:?} in {lines:?}");
    }
    let whole: Vec<_> = lines.iter().filter(|line| !cut_short(line, &lines)).cloned().collect();
    check_trace(&whole, config.max_parallel, &world.alone.lock().unwrap());
    world.setup.clock.advance(MS * u32::try_from(HORIZON).unwrap());
    bench.quiet().await;
    assert_eq!(world.setup.bodies.trace.lines(), lines, "nothing goes on");
}

/// Whether a line begins an ordered part that the end of the step has cut short.
fn cut_short(line: &str, lines: &[String]) -> bool {
    let over = match line.split_once(' ').unwrap() {
        ("prepare", n) => format!("prepared {n}"),
        ("review", n) => format!("reviewed {n}"),
        _ => return false,
    };
    !lines.contains(&over)
}

/// Everything that a step records of calls and of results, each in its order, and the order of both.
async fn record(
    config: StepConfig,
    plan: &[Planned],
    changes: &[(u64, Change)],
) -> (Vec<EventBody>, Vec<EventBody>, Vec<&'static str>) {
    let world = World::new(config);
    world.meddle(changes.to_vec());
    let mut bench = world.start(plan);
    for _ in 0..HORIZON {
        if bench.is_done().await {
            break;
        }
        world.setup.clock.advance(MS);
    }
    bench.outcome().await;
    let events: Vec<_> = world.setup.store.events().into_iter().map(|event| event.body).collect();
    let kinds = events.iter().map(EventBody::kind).collect();
    let (calls, results) = events.into_iter().partition(|body| matches!(body, EventBody::ToolCall(_)));
    (calls, results, kinds)
}

/// Times are the world's, and no part of what was said.
fn without_times(mut calls: Vec<EventBody>) -> Vec<EventBody> {
    for body in &mut calls {
        if let EventBody::ToolCall(data) = body {
            Arc::make_mut(&mut data.arguments)["ms"] = Value::Null;
        }
    }
    calls
}

fn block_on(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// S-1, S-2, S-3, S-4, S-5, S-6, S-8, P-13, P-14
    #[test]
    fn a_step_does_what_the_rules_say(
        config in configs(),
        plan in planned(),
        changes in changes(60),
        meddling in changes(14),
        end in prop_oneof![
            3 => Just(End::Natural),
            2 => (0..60_u64).prop_map(End::Abort),
            2 => (0..60_u64).prop_map(End::Drop),
        ],
    ) {
        block_on(play(config, plan, changes, meddling, end));
    }

    /// S-9: whatever the size of the pool and the times that bodies take, the same calls and the same results are
    /// recorded in the same order; one at a time, each call is followed by its result.
    #[test]
    fn the_size_of_the_pool_changes_no_event(
        config in configs(),
        plan in planned(),
        changes in changes(14),
        other_times in prop::collection::vec(0..25_u64, 14),
    ) {
        block_on(async {
            let one = StepConfig { max_parallel: 1, ..config.clone() };
            let (calls, results, kinds) = record(one.clone(), &plan, &changes).await;
            let alternating: Vec<_> = plan.iter().flat_map(|_| ["tool/call", "tool/result"]).collect();
            assert_eq!(kinds, alternating);
            let (calls_here, results_here, _) = record(config.clone(), &plan, &changes).await;
            assert_eq!((&calls_here, &results_here), (&calls, &results));
            let retimed: Vec<_> =
                plan.iter().zip(other_times).map(|(call, millis)| Planned { millis, ..*call }).collect();
            for config in [one, config] {
                let (calls_then, results_then, _) = record(config, &retimed, &changes).await;
                assert_eq!(without_times(calls_then), without_times(calls.clone()));
                assert_eq!(results_then, results);
            }
        });
    }
}
