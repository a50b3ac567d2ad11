//! A runtime without an engine: the model of the language does what the program says, over the real lane.
//!
//! Owns the loop between the two. It never reads the program's text: it has the tree that the text was made from. It
//! calls the lane.

use std::sync::Arc;
use std::time::Duration;

use isolane::codemode::lane::{LaneDriver, LaneHandle};
use isolane::codemode::{CodeRuntime, LogLevel, LogSink, RunReport, RunRequest};
use isolane::outcome::{RunFailure, RunFailureKind};
use isolane::pipeline::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::machine::{Fault, Machine, Standing, Val};
use super::program::Program;

#[derive(Debug)]
pub(crate) struct Interpreted(pub(crate) Arc<Program>);

impl CodeRuntime for Interpreted {
    fn language(&self) -> &'static str {
        "typescript"
    }

    fn run(
        &self,
        request: RunRequest,
        handle: LaneHandle,
        driver: LaneDriver,
    ) -> BoxFuture<'static, RunReport> {
        let program = Arc::clone(&self.0);
        let RunRequest { logs: sink, cancel, .. } = request;
        let running = async move {
            let machine = Machine::start(&program);
            let result = carry_on(&machine, sink.as_deref(), &cancel, &handle).await;
            handle.close();
            (result, machine.logs())
        };
        Box::pin(async move {
            let (lane, (result, logs)) = tokio::join!(driver.drive(), running);
            RunReport {
                result,
                logs,
                notes: Vec::new(),
                lane,
                busy: Duration::ZERO,
                inputs: String::new(),
                stray: None,
            }
        })
    }
}

/// The failure of a program that threw, in the words of an engine.
pub(crate) fn threw(fault: &Fault, unhandled: bool) -> String {
    let text = match fault {
        Fault::Call { tool, code } => format!("ToolCallError ({tool}, {code})"),
        Fault::Own(id) => format!("Error: own {id}"),
        Fault::TypeError => "TypeError".to_owned(),
        Fault::Many(_) => "AggregateError: All promises were rejected".to_owned(),
    };
    if unhandled { format!("a promise was rejected and nobody handled it: {text}") } else { text }
}

async fn carry_on(
    machine: &Machine,
    sink: Option<&dyn LogSink>,
    cancel: &CancellationToken,
    handle: &LaneHandle,
) -> Result<Option<Value>, RunFailure> {
    let mut shown = 0;
    loop {
        for line in machine.logs().iter().skip(shown) {
            shown += 1;
            if let Some(sink) = sink {
                sink.line(LogLevel::Info, line);
            }
        }
        let calls = machine.take_calls();
        for call in calls {
            let n = handle.submit(call.tool.name().into(), call.args);
            assert!(n == Ok(call.n) || cancel.is_cancelled(), "{n:?} is not {}", call.n);
        }
        let failed = |kind, message: &str| Err(RunFailure::new(kind, message));
        match machine.standing() {
            Standing::Waits => {}
            Standing::Stopped => return failed(RunFailureKind::CallLimit, "too many calls"),
            Standing::Returned(value) => return Ok(Some(json!(value.show()))),
            Standing::Threw(fault, unhandled) => {
                return failed(RunFailureKind::Exception, &threw(&fault, unhandled));
            }
        }
        if machine.timers() > 0 {
            machine.fire();
            continue;
        }
        if handle.outstanding() == 0 {
            return match machine.unhandled() {
                Some(fault) => failed(RunFailureKind::Exception, &threw(&fault, true)),
                None => failed(RunFailureKind::Deadlock, "nothing is pending"),
            };
        }
        let settlement = tokio::select! {
            biased;
            () = cancel.cancelled() => return failed(RunFailureKind::Abort, "cancelled"),
            settlement = std::future::poll_fn(|context| handle.poll_settled(context)) => settlement,
        };
        let outcome = match settlement.result {
            Ok(value) => Ok(Val::Number(value.as_u64().unwrap_or(u64::MAX))),
            Err(failure) => {
                let tool = machine.tool(settlement.n);
                Err(Fault::Call { tool, code: failure.code.as_str().to_owned() })
            }
        };
        machine.settle_call(settlement.n, &outcome);
    }
}
