//! Scripted tools, interceptors and stores that write down what happens, for the tests of schedulers.
//!
//! Owns the trace, the bodies that wait until a test releases them, the interceptors that a test can hold up, the store
//! that tells of events, and a pipeline with all of these. It never decides when anything goes on. It calls the tool's
//! builder.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock::ManualClock;
use crate::content::ContentBlock;
use crate::ids::CallId;
use crate::ledger::{EventBody, Ledger, LedgerOptions, LedgerStore, MemoryStore, StoreError, WatchedStore};
use crate::limits::CallLimits;
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::{
    ApprovalAnswer, ApprovalQuestion, ApprovalService, AroundDispatch, AroundNext, BoxFuture, Call, Decision,
    Pipeline, PostDecision, PostExecute, PostNext, PreExecute, PreNext, ResultObserver,
};
use crate::registry::{Registry, Target};
use crate::tool::{Concurrency, Tool, ToolBuilder, ToolContext, ToolError};

/// What everybody writes down, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    pub(crate) fn note(&self, what: &str, n: u64) {
        self.0.lock().unwrap().push(format!("{what} {n}"));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn number(call: &CallId) -> u64 {
    call.as_str().rsplit(':').next().unwrap().parse().unwrap()
}

/// An observer that writes down every result that it sees: the call, spelled as the test does, and the code.
pub(crate) struct Sees {
    seen: Mutex<Vec<String>>,
    spell: fn(&CallId) -> String,
}

impl Sees {
    pub(crate) fn all(pipeline: &Pipeline, spell: fn(&CallId) -> String) -> Arc<Self> {
        let sees = Arc::new(Self { seen: Mutex::default(), spell });
        pipeline.add_observer(None, Arc::clone(&sees) as _).keep();
        sees
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl ResultObserver for Sees {
    fn observe(&self, call: &Call, result: &CallResult) {
        let code = result.as_ref().map_or_else(|failure| failure.code.as_str(), |_| "ok");
        self.seen.lock().unwrap().push(format!("{} {code}", (self.spell)(&call.id)));
    }
}

/// How a body answers once it is released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reply {
    Value,
    Fail,
    Panic,
    /// Succeeds, defers a message and asks to conclude the turn.
    Conclude,
    Image,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) trace: Trace,
    gates: Arc<Mutex<BTreeMap<u64, oneshot::Sender<Reply>>>>,
}

impl Bodies {
    /// A tool whose bodies wait to be released; `heeds` tells whether they heed their signal.
    pub(crate) fn gated(&self, name: &str, class: Concurrency, heeds: bool) -> Tool {
        let bodies = self.clone();
        Self::builder(name, class)
            .handler(move |_args: Value, context: ToolContext| {
                let bodies = bodies.clone();
                async move {
                    let n = number(&context.call);
                    bodies.trace.note("run", n);
                    let (release, released) = oneshot::channel();
                    bodies.gates.lock().unwrap().insert(n, release);
                    let reply = tokio::select! {
                        reply = released => reply.unwrap(),
                        () = context.cancel.cancelled(), if heeds => {
                            bodies.trace.note("told", n);
                            bodies.gates.lock().unwrap().remove(&n);
                            Reply::Value
                        }
                    };
                    bodies.trace.note("rest", n);
                    Self::answer(n, reply, &context)
                }
            })
            .unwrap()
    }

    /// A tool that answers at once.
    pub(crate) fn immediate(&self, name: &str, class: Concurrency, reply: Reply) -> Tool {
        let bodies = self.clone();
        Self::builder(name, class)
            .handler(move |_args: Value, context: ToolContext| {
                let n = number(&context.call);
                bodies.trace.note("run", n);
                let answer = Self::answer(n, reply, &context);
                async move { answer }
            })
            .unwrap()
    }

    fn builder(name: &str, class: Concurrency) -> ToolBuilder {
        Tool::builder(name)
            .parameters(json!({"type": "object", "properties": {"k": {"type": "integer"}}}))
            .output(json!({"type": "integer"}))
            .render(|_, value| match value.as_u64() {
                Some(n) if n > 1_000_000 => {
                    Ok(vec![ContentBlock::Image { data: n.to_string(), mime_type: "image/png".to_owned() }])
                }
                _ => Ok(vec![ContentBlock::text(value.to_string())]),
            })
            .concurrency(class)
    }

    fn answer(n: u64, reply: Reply, context: &ToolContext) -> Result<Value, ToolError> {
        match reply {
            Reply::Value => Ok(json!(n)),
            Reply::Image => Ok(json!(1_000_000 + n)),
            Reply::Fail => Err(ToolError::failed(format!("no {n}"))),
            Reply::Panic => panic!("scripted"),
            Reply::Conclude => {
                context.defer_context(format!("deferred {n}"));
                context.conclude_turn();
                Ok(json!(n))
            }
        }
    }

    pub(crate) fn release(&self, n: u64, reply: Reply) {
        let gate = self.gates.lock().unwrap().remove(&n);
        let gate = gate.unwrap_or_else(|| panic!("{n} does not wait: {:?}", self.trace.lines()));
        gate.send(reply).unwrap();
    }

    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.gates.lock().unwrap().keys().copied().collect()
    }
}

/// Writes down the ordered steps around the bodies, and can hold them up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) trace: Trace,
    pub(crate) hold_prepare: Arc<AtomicBool>,
    pub(crate) hold_review: Arc<AtomicBool>,
    pub(crate) go_on: Arc<Notify>,
}

impl PreExecute for Watch {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let n = number(&call.id);
            self.trace.note("prepare", n);
            // What overlaps with this step shows in between.
            tokio::task::yield_now().await;
            if self.hold_prepare.load(Ordering::Relaxed) {
                self.go_on.notified().await;
            }
            self.trace.note("prepared", n);
            match call.tool.as_str() {
                "denied" => Decision::Deny { reason: "not here".to_owned() },
                "asks" => Decision::Ask { reason: None },
                _ => next.decide().await,
            }
        })
    }
}

impl PostExecute for Watch {
    fn review<'a>(
        &'a self,
        call: &'a Call,
        _result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        Box::pin(async move {
            let n = number(&call.id);
            self.trace.note("review", n);
            tokio::task::yield_now().await;
            if self.hold_review.load(Ordering::Relaxed) {
                self.go_on.notified().await;
            }
            self.trace.note("reviewed", n);
            next.review().await
        })
    }
}

/// Tells every body to stop as soon as it waits, as a timeout does that is over, and gives its call up.
#[derive(Debug)]
pub(crate) struct Impatient;

impl AroundDispatch for Impatient {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let signal = next.signal().child_token();
            let mut running = std::pin::pin!(next.run_with_signal(&signal));
            tokio::select! {
                biased;
                result = &mut running => return result,
                () = std::future::ready(()) => signal.cancel(),
            }
            let failure = CallFailure::new(ErrorCode::ToolTimeout, "too late");
            let _given_up = next.give_up(failure.with_details(json!({"drained": false})));
            running.await
        })
    }
}

/// Asks nobody: the question stays open until the call is cancelled.
#[derive(Debug)]
struct NeverAnswers;

impl ApprovalService for NeverAnswers {
    fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        Box::pin(std::future::pending())
    }
}

/// How long the schedulers under test wait for bodies that were told to stop.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

/// The parts that a scheduler with the configuration `C` works on, before it does.
#[derive(Clone)]
pub(crate) struct Setup<C> {
    pub(crate) config: C,
    pub(crate) pipeline: Pipeline,
    pub(crate) bodies: Bodies,
    pub(crate) watch: Watch,
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryStore,
    pub(crate) ledger: Ledger,
    pub(crate) cancel: CancellationToken,
}

impl<C> Setup<C> {
    pub(crate) fn new(config: C) -> Self {
        let registry = Registry::new();
        registry.open_scope("agent".into(), None).unwrap();
        let bodies = Bodies::default();
        for tool in [
            bodies.gated("par", Concurrency::Parallel, true),
            bodies.gated("deaf", Concurrency::Parallel, false),
            bodies.gated("alone", Concurrency::Exclusive, true),
            bodies.immediate("now", Concurrency::Parallel, Reply::Value),
            bodies.immediate("denied", Concurrency::Parallel, Reply::Value),
            bodies.immediate("asks", Concurrency::Parallel, Reply::Value),
        ] {
            registry.register(&Target::Global, tool).unwrap().keep();
        }
        let approval: Arc<dyn ApprovalService> = Arc::new(NeverAnswers);
        let pipeline = Pipeline::new(registry, CallLimits::default(), Some(approval));
        let (clock, store) = (ManualClock::new(), MemoryStore::new());
        let ledger = ledger(&clock, telling(store.clone(), bodies.trace.clone(), usize::MAX));
        let watch = Watch { trace: bodies.trace.clone(), ..Watch::default() };
        Self { config, pipeline, bodies, watch, clock, store, ledger, cancel: CancellationToken::new() }
    }

    /// Has the ordered parts written into the trace.
    pub(crate) fn watched(self) -> Self {
        self.pipeline.add_pre(None, Arc::new(self.watch.clone())).keep();
        self.pipeline.add_post(None, Arc::new(self.watch.clone())).keep();
        self
    }
}

pub(crate) fn ledger(clock: &ManualClock, store: Box<dyn LedgerStore>) -> Ledger {
    Ledger::new("s".into(), Arc::new(clock.clone()), store, LedgerOptions::default()).unwrap()
}

/// A store without a thread that writes the events of calls into the trace as well, and is full after `room` appends.
pub(crate) fn telling(kept: MemoryStore, trace: Trace, mut room: usize) -> Box<dyn LedgerStore> {
    Box::new(WatchedStore::new(kept, move |events| {
        room = room.checked_sub(1).ok_or_else(|| StoreError::Io {
            action: "write",
            path: "full".into(),
            source: std::io::Error::other("no space left"),
        })?;
        for event in events {
            match &event.body {
                EventBody::CodeDispatchStart(data) => trace.note("start", number(&data.call)),
                EventBody::CodeDispatch(data) => trace.note("settled", number(&data.call)),
                EventBody::ToolCall(data) => trace.note("call", number(&data.call)),
                EventBody::ToolResult(data) => trace.note("result", number(&data.call)),
                other => panic!("a scheduler writes no {}", other.kind()),
            }
        }
        Ok(())
    }))
}
