//! Random schedules of steps.
//!
//! Owns tools of random class that take random times on a clock moved by hand, fail, panic, ignore their signal, are
//! unloaded or registered anew with another class, and the ends of steps that are aborted or dropped at any moment.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

pub(super) const MS: Duration = Duration::from_millis(1);

/// Longer than all bodies of a step one after the other.
pub(super) const HORIZON: u64 = 400;

/// Short enough that bodies outlast it.
const PATIENCE: u64 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) tool: &'static str,
    pub(super) millis: u64,
    pub(super) reply: &'static str,
    pub(super) heeds: bool,
}

/// What becomes of the registry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// `plugin` is gone.
    Unload,
    /// `turns` is registered anew with the other class.
    Turn,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Natural,
    Abort(u64),
    Drop(u64),
}

pub(super) fn planned() -> impl Strategy<Value = Vec<Planned>> {
    let tool =
        select(vec!["par", "par", "par", "plugin", "plugin", "turns", "turns", "alone", "denied", "nothing"]);
    let reply = select(vec!["value", "value", "value", "fail", "conclude", "panic"]);
    let call = (tool, 0..25_u64, reply, prop::bool::weighted(0.7))
        .prop_map(|(tool, millis, reply, heeds)| Planned { tool, millis, reply, heeds });
    prop::collection::vec(call, 0..14)
}

pub(super) fn configs() -> impl Strategy<Value = StepConfig> {
    let rule = select(vec![BatchRule::Groups, BatchRule::Groups, BatchRule::AllOrSerial]);
    (select(vec![1, 2, 3, 10]), rule).prop_map(|(max_parallel, batch_rule)| StepConfig {
        max_parallel,
        batch_rule,
        drain: Some(MS * u32::try_from(PATIENCE).unwrap()),
    })
}

/// The tools of a schedule, and what the registry holds of them now.
pub(super) struct World {
    pub(super) setup: Setup,
    registered: Mutex<BTreeMap<&'static str, (Concurrency, Disposer)>>,
    /// The calls that, by the registry at their start, had to run alone.
    pub(super) alone: Mutex<BTreeSet<u64>>,
    /// One reference is the world's own; each running body has one.
    pub(super) alive: Arc<()>,
}

impl World {
    pub(super) fn new(config: StepConfig) -> Arc<Self> {
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

    pub(super) fn change(self: &Arc<Self>, change: Change) {
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

    pub(super) fn meddle(self: &Arc<Self>, changes: Vec<(u64, Change)>) {
        let meddles = Meddles { world: Arc::downgrade(self), changes };
        self.setup.pipeline.add_pre(None, Arc::new(meddles)).keep();
    }

    pub(super) fn start(&self, plan: &[Planned]) -> Bench {
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

pub(super) fn changes(up_to: u64) -> impl Strategy<Value = Vec<(u64, Change)>> {
    prop::collection::vec((0..up_to, select(vec![Change::Unload, Change::Turn, Change::Turn])), 0..5)
}
