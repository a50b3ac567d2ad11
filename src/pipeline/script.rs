//! Scripted tools, interceptors and stores that write down what happens, for the tests of schedulers.
//!
//! Owns the trace, the bodies that wait until a test releases them, the interceptors that a test can hold up, and the
//! store that tells of events. It never decides when anything goes on. It calls the tool's builder.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use crate::content::ContentBlock;
use crate::ids::CallId;
use crate::ledger::{EventBody, LedgerStore, MemoryStore, WatchedStore};
use crate::outcome::CallResult;
use crate::pipeline::{BoxFuture, Call, Decision, PostDecision, PostExecute, PostNext, PreExecute, PreNext};
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

/// A store without a thread that writes the events of calls into the trace as well.
pub(crate) fn telling(kept: MemoryStore, trace: Trace) -> Box<dyn LedgerStore> {
    Box::new(WatchedStore::new(kept, move |events| {
        for event in events {
            match &event.body {
                EventBody::CodeDispatchStart(data) => trace.note("start", number(&data.call)),
                EventBody::CodeDispatch(data) => trace.note("settled", number(&data.call)),
                EventBody::ToolCall(data) => trace.note("call", number(&data.call)),
                EventBody::ToolResult(data) => trace.note("result", number(&data.call)),
                other => panic!("a scheduler writes no {}", other.kind()),
            }
        }
    }))
}
