//! A program in its isolate, from its first turn to its outcome, whichever isolation is around it.
//!
//! Owns what both runtimes share: the event loop, the turns, and the words for how a program ended. It never knows
//! whether the host is a thread or a process away: that is behind [`Outside`].

mod event_loop;
mod failure;
mod feed;
mod outside;
pub(super) mod rejections;
mod turn;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::clock::SystemClock;
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::{Origin, Stray};
use crate::codemode::program::PreparedProgram;
use crate::engine::isolate::FreshIsolate;
use crate::engine::lost::Running;
use crate::engine::state::{RunState, Timers, Trip};
use crate::engine::supervision::Meter;
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunFailureKind};

use event_loop::Returned;

pub(super) use feed::{Feed, Next};
pub(super) use outside::{BATCH, BATCH_BYTES, Event, Kept, Outside, Refused, Waiting};

/// One run, as an isolate's thread gets it.
pub(super) struct Execution {
    pub(super) program: Arc<PreparedProgram>,
    pub(super) bindings: Arc<Bindings>,
    pub(super) limits: RunLimits,
    pub(super) meter: Arc<Meter>,
    pub(super) outside: Rc<dyn Outside>,
    /// Where its clock and its chance begin.
    pub(super) origin: Origin,
    /// What has passed of the run already.
    pub(super) spent: Duration,
}

/// How the program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) result: Result<Option<Value>, RunFailure>,
    pub(super) busy: Duration,
    pub(super) notes: Vec<String>,
    /// What the program took after its last call (L-9).
    pub(super) inputs: String,
    /// How it left its recording; absent when it did not, or had none.
    pub(super) stray: Option<Stray>,
}

impl Ended {
    /// Without a word of the program itself.
    pub(super) fn without_program(failure: RunFailure, busy: Duration) -> Self {
        Self { result: Err(failure), busy, notes: Vec::new(), inputs: String::new(), stray: None }
    }
}

/// Runs one program to its end on this thread; `begun` is called once when its first turn is over. The isolate is
/// of no use afterwards (E-2).
pub(super) fn execute(isolate: &mut FreshIsolate, execution: Execution, begun: impl FnOnce()) -> Ended {
    let Execution { program, bindings, limits, meter, outside, origin, spent } = execution;
    let feed = match Feed::new(&origin, spent) {
        Ok(feed) => feed,
        Err(trip) => {
            let ended = Ended::without_program(trip.failure(&limits), meter.busy());
            return Ended { stray: trip.stray(), ..ended };
        }
    };
    let state = RunState {
        context: isolate.context.clone(),
        program,
        bindings,
        limits,
        meter: Arc::clone(&meter),
        outside,
        clock: Arc::new(SystemClock::new()),
        buffers: Arc::clone(&isolate.buffers),
        timers: Timers::default(),
        printed_bytes: 0,
        promise: None,
        unhandled: rejections::Rejections::default(),
        interrupted_at: None,
        feed,
    };
    isolate.begin_run(state);
    let running = Running::begin(&meter);
    let returned = event_loop::run(isolate, begun);
    let timers = isolate.state().map_or(0, |state| state.timers.waiting());
    let inputs = isolate.state().map(|state| state.feed.take()).unwrap_or_default();
    isolate.end_run();
    drop(running);
    let (result, notes) = match returned {
        Ok(Returned { value, late }) => {
            (Ok(value), late.into_iter().chain((timers > 0).then(|| left_timers(timers))).collect())
        }
        Err(failure) => (Err(failure), Vec::new()),
    };
    let stray = if result.is_err() { meter.tripped().and_then(Trip::stray) } else { None };
    Ended { result, busy: meter.busy(), notes, inputs, stray }
}

fn left_timers(count: usize) -> String {
    let (timers, they) =
        if count == 1 { ("1 timer was".to_owned(), "it") } else { (format!("{count} timers were"), "they") };
    format!(
        "{timers} still waiting when the program ended, and what {they} would have done did not happen; await a promise that the timer settles"
    )
}

/// The failure of a run that the engine itself could not carry on.
pub(super) fn engine_exit(reason: &str) -> RunFailure {
    RunFailure::new(
        RunFailureKind::EngineExit,
        format!("the engine failed: {reason}; running the program again may help"),
    )
}

/// The failure of a run that came upon a bug of ours.
pub(super) fn host_bug(what: &str) -> RunFailure {
    RunFailure::new(RunFailureKind::EngineExit, format!("a bug of the host: {what}"))
}

/// The longest message of a failure, in bytes. The limit of output does not hold for it: what went wrong has to be
/// told whatever was printed before, and however little may be.
const MAX_MESSAGE: usize = 16 * 1024;

const CUT: &str = "... (the rest of the message was cut)";

/// Keeps the beginning of a message that is too long, and says so; what it leaves, it leaves alone the next time.
pub(super) fn shorten(message: &mut String) {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - CUT.len()));
        message.push_str(CUT);
    }
}
