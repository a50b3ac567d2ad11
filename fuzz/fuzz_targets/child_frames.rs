//! Fuzzes the host's side of a run in a child with any bytes that the child may send (E-4).
//!
//! Owns these properties: whatever comes, and however it is cut, hearing it ends; no more calls, lines and answers come of
//! it than the run may have; nothing comes after the end or after a violation; every call that was taken is settled; and
//! what is kept stays within its quota.
#![no_main]

use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::codemode::lane::{CommitOrder, LaneDriver, LaneHandle};
use isolane::codemode::program::PreparedProgram;
use isolane::codemode::wire::{Conversation, Frames, Said};
use isolane::codemode::{CodeRuntime, ProgramRun, ProgramRunner, RunReport, RunRequest, SessionState};
use isolane::ledger::{Ledger, unsettled};
use isolane::limits::{CallLimits, RunLimits};
use isolane::pipeline::{BoxFuture, Pipeline};
use isolane::registry::{Registry, Target};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const CALLS: u64 = 8;
const OUTPUT: usize = 200;
const KEPT: usize = 300;

fuzz_target!(|bytes: &[u8]| {
    // The first byte says how the rest is cut, and whether a review comes first.
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio starts");
    tokio.block_on(hear(*cut, bytes));
});

async fn hear(cut: u8, bytes: &[u8]) {
    let registry = Registry::new();
    for name in ["echo", "fail"] {
        let body = move |args: Value, _context: ToolContext| async move {
            if name == "fail" { Err(ToolError::failed("it failed")) } else { Ok(args) }
        };
        let tool = Tool::builder(name).output(json!({})).concurrency(Concurrency::Parallel).handler(body);
        registry.register(&Target::Global, tool.expect("a tool")).expect("its name is free").keep();
    }
    let mut limits = RunLimits::default();
    (limits.sub_calls, limits.output_bytes, limits.state_bytes) = (CALLS, OUTPUT, KEPT);
    (limits.argument_bytes, limits.queued_argument_bytes) = (500, 1_000);
    let clock = SystemClock::shared();
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(&clock));
    let state = SessionState::default();
    let fed = Arc::new(Fed { cut, bytes: bytes.to_vec(), heard: Mutex::default() });
    let pipeline = Pipeline::new(registry, CallLimits::default(), None);
    let runner = ProgramRunner::new(pipeline, Arc::clone(&fed) as _, clock);
    let run = ProgramRun {
        call: "c".into(),
        parent: None,
        code: "return 1".to_owned(),
        description: None,
        session: "s".into(),
        scope: None,
        limits,
        commit_order: CommitOrder::Completion,
        record_values: false,
        drain: None,
        cancel: CancellationToken::new(),
        ledger,
        state: state.clone(),
        logs: None,
        progress: None,
        working_root: None,
    };
    let outcome = runner.run(run).await;
    let heard = fed.heard.lock().expect("nothing panicked").take().expect("it ran");
    assert!(outcome.sub_calls.len() as u64 == heard.calls && heard.calls <= CALLS);
    assert!(heard.printed <= OUTPUT + 1, "{} bytes were printed", heard.printed);
    assert!(unsettled(&store.events()).is_empty(), "a call has no end");
    assert!(state.bytes() <= KEPT, "{} bytes are kept", state.bytes());
}

/// What came of the bytes.
#[derive(Default)]
struct Heard {
    calls: u64,
    printed: usize,
}

/// A runtime whose child sends these bytes.
struct Fed {
    cut: u8,
    bytes: Vec<u8>,
    heard: Mutex<Option<Heard>>,
}

impl std::fmt::Debug for Fed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fed")
    }
}

impl CodeRuntime for Fed {
    fn language(&self) -> &'static str {
        "ts"
    }

    fn run(
        &self,
        request: RunRequest,
        handle: LaneHandle,
        driver: LaneDriver,
    ) -> BoxFuture<'static, RunReport> {
        let reviewed = reviewed(self.cut);
        let conversation =
            Conversation::new(request.bindings, request.limits, handle.clone(), request.state, 8, reviewed);
        *self.heard.lock().expect("nothing panicked") = Some(converse(conversation, self.cut, &self.bytes));
        handle.close();
        Box::pin(async move {
            let lane = driver.drive().await;
            RunReport {
                result: Ok(None),
                logs: Vec::new(),
                notes: Vec::new(),
                inputs: String::new(),
                stray: None,
                lane,
                busy: Duration::ZERO,
            }
        })
    }
}

fn converse(mut conversation: Conversation, cut: u8, bytes: &[u8]) -> Heard {
    let (mut heard, mut frames, mut out) = (Heard::default(), Frames::default(), Vec::new());
    let mut ended = false;
    for chunk in bytes.chunks(usize::from(cut >> 1) + 1) {
        frames.push(chunk);
        loop {
            let before = (conversation.outstanding(), out.len());
            let said = conversation.next(&mut frames, &mut out);
            // An answer is the value of a key, or all keys, and each is within the quota.
            assert!(
                out.len() - before.1 <= 100 + 2 * KEPT * 6,
                "an answer of {} bytes",
                out.len() - before.1
            );
            heard.calls += conversation.outstanding() - before.0;
            match said {
                Ok(None) => break,
                Ok(Some(Said::Ended(finish, value))) => {
                    assert!(!ended && (finish.failure.is_none() || value.is_none()));
                    heard.printed += value.map_or(0, |value| value.to_string().len().min(OUTPUT));
                    ended = true;
                }
                Ok(Some(said)) => {
                    assert!(!ended, "{said:?} after the end");
                    match said {
                        Said::Line(_, text) => heard.printed += text.len() + 1,
                        Said::Review(program) => {
                            assert!(reviewed(cut));
                            look_at(&program);
                            conversation.passed();
                        }
                        Said::Later => out.clear(),
                        _ => {}
                    }
                }
                Err(violation) => {
                    assert!(!violation.to_string().is_empty());
                    return heard;
                }
            }
            conversation.give(&mut Context::from_waker(Waker::noop()), &mut out);
        }
    }
    heard
}

/// What a review does with a program that its child has prepared, or says so.
fn look_at(program: &PreparedProgram) {
    let _ = (program.typed(), program.notes().len());
    for line in 0..5 {
        for column in 0..5 {
            let places = [program.locate(line, column), program.locate_typed(line, column)];
            for place in places.into_iter().flatten().chain(program.waits().iter().copied()) {
                let _ = (program.frame(place), program.rest_of_line(place));
                let _ = program.place_of_name("a", place);
            }
        }
    }
}

fn reviewed(cut: u8) -> bool {
    cut & 1 == 1
}
