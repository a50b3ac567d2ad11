//! Random steps against the rules (S-1 to S-9).
//!
//! Owns the schedules: tools of random class that take random times on a clock moved by hand, fail, panic, ignore their
//! signal, are unloaded or registered anew with another class, and steps that are aborted or dropped at any moment.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Longer than all bodies of a step one after the other.
const HORIZON: u64 = 400;

/// Short enough that bodies outlast it.
const PATIENCE: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Planned {
    tool: &'static str,
    millis: u64,
    reply: &'static str,
    heeds: bool,
}

/// What becomes of the registry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// `plugin` is gone.
    Unload,
    /// `turns` is registered anew with the other class.
    Turn,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Natural,
    Abort(u64),
    Drop(u64),
}

fn planned() -> impl Strategy<Value = Vec<Planned>> {
    let tool =
        select(vec!["par", "par", "par", "plugin", "plugin", "turns", "turns", "alone", "denied", "nothing"]);
    let reply = select(vec!["value", "value", "value", "fail", "conclude", "panic"]);
    let call = (tool, 0..25_u64, reply, prop::bool::weighted(0.7))
        .prop_map(|(tool, millis, reply, heeds)| Planned { tool, millis, reply, heeds });
    prop::collection::vec(call, 0..14)
}

fn configs() -> impl Strategy<Value = StepConfig> {
    let rule = select(vec![BatchRule::Groups, BatchRule::Groups, BatchRule::AllOrSerial]);
    (select(vec![1, 2, 3, 10]), rule).prop_map(|(max_parallel, batch_rule)| StepConfig {
        max_parallel,
        batch_rule,
        drain: Some(MS * u32::try_from(PATIENCE).unwrap()),
    })
}

/// The tools of a schedule, and what the registry holds of them now.
struct World {
    setup: Setup,
    registered: Mutex<BTreeMap<&'static str, (Concurrency, Disposer)>>,
    /// The calls that, by the registry at their start, had to run alone.
    alone: Mutex<BTreeSet<u64>>,
    /// One reference is the world's own; each running body has one.
    alive: Arc<()>,
}

impl World {
    fn new(config: StepConfig) -> Arc<Self> {
        let mut setup = Setup::new(config);
        // The tools here take their time by the clock.
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        setup.pipeline = Pipeline::new(registry, CallLimits::default(), None);
        let world = Arc::new(Self {
            setup: setup.watched(),
            registered: Mutex::default(),
            alone: Mutex::default(),
            alive: Arc::new(()),
        });
        for tool in ["par", "plugin", "turns", "denied"] {
            world.register(tool, Concurrency::Parallel);
        }
        world.register("alone", Concurrency::Exclusive);
        world
    }

    fn register(self: &Arc<Self>, name: &'static str, class: Concurrency) {
        let world = Arc::downgrade(self);
        let tool = Tool::builder(name)
            .output(json!({"type": "integer"}))
            .concurrency(class)
            .handler(move |args: Value, context: ToolContext| {
                let world = world.upgrade().expect("the world outlasts its tools");
                let alive = Arc::clone(&world.alive);
                async move {
                    let answer = world.body(name, class, &args, &context).await;
                    drop(alive);
                    answer
                }
            })
            .unwrap();
        let mut registered = self.registered.lock().unwrap();
        registered.remove(name);
        registered.insert(name, (class, self.setup.register(tool)));
    }

    async fn body(
        &self,
        name: &str,
        class: Concurrency,
        args: &Value,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let n = number(&context.call);
        let now = self.registered.lock().unwrap().get(name).map(|(class, _)| *class);
        if class == Concurrency::Exclusive || now != Some(Concurrency::Parallel) {
            self.alone.lock().unwrap().insert(n);
        }
        let trace = &self.setup.bodies.trace;
        trace.note("run", n);
        let heeds = args["heeds"] == json!(true);
        tokio::select! {
            () = self.setup.clock.sleep(Duration::from_millis(args["ms"].as_u64().unwrap())) => {}
            () = context.cancel.cancelled(), if heeds => {}
        }
        trace.note("rest", n);
        match args["reply"].as_str().unwrap() {
            "fail" => Err(ToolError::failed(format!("no {n}"))),
            "panic" => panic!("scripted"),
            "conclude" => {
                context.defer_context(format!("deferred {n}"));
                context.conclude_turn();
                Ok(json!(n))
            }
            _ => Ok(json!(n)),
        }
    }

    fn change(self: &Arc<Self>, change: Change) {
        match change {
            Change::Unload => drop(self.registered.lock().unwrap().remove("plugin")),
            Change::Turn => {
                let now = self.registered.lock().unwrap().get("turns").map(|(class, _)| *class);
                let other = match now {
                    Some(Concurrency::Parallel) => Concurrency::Exclusive,
                    _ => Concurrency::Parallel,
                };
                self.register("turns", other);
            }
        }
    }

    fn meddle(self: &Arc<Self>, changes: Vec<(u64, Change)>) {
        let meddles = Meddles { world: Arc::downgrade(self), changes };
        self.setup.pipeline.add_pre(None, Arc::new(meddles)).keep();
    }

    fn start(&self, plan: &[Planned]) -> Bench {
        let calls = (1..)
            .zip(plan)
            .map(|(n, call)| {
                let args = json!({"ms": call.millis, "reply": call.reply, "heeds": call.heeds});
                StepCall::new(id(n).as_str(), call.tool, args)
            })
            .collect();
        self.setup.clone().start_calls(calls)
    }
}

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
    assert!(crate::ledger::unsettled(&world.setup.store.events()).is_empty(), "{lines:?}");
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

/// Changes the registry while certain calls are prepared, which happens in the same order for every size of pool.
struct Meddles {
    world: std::sync::Weak<World>,
    changes: Vec<(u64, Change)>,
}

impl PreExecute for Meddles {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        for (_, change) in self.changes.iter().filter(|(n, _)| *n == number(&call.id)) {
            self.world.upgrade().expect("the world outlasts its step").change(*change);
        }
        next.decide()
    }
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

fn changes(up_to: u64) -> impl Strategy<Value = Vec<(u64, Change)>> {
    prop::collection::vec((0..up_to, select(vec![Change::Unload, Change::Turn, Change::Turn])), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// S-1, S-2, S-3, S-4, S-5, S-6, S-8, P-14
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
