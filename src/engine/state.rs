//! What native functions of one isolate work on.
//!
//! Owns the run's state behind the isolate's slot: logs, timers, the lane's handle, and the first limit that
//! tripped. A program reaches it only through native functions. It calls what is outside of the isolate.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::Stray;
use crate::codemode::program::{Position, PreparedProgram};
use crate::codemode::{LogLevel, LogSink};
use crate::engine::allocator::BufferBudget;
use crate::engine::execution::rejections::Rejections;
use crate::engine::execution::{Feed, Outside};
use crate::engine::supervision::Meter;
use crate::limits::{RunLimits, spell_duration};
use crate::outcome::{RunFailure, RunFailureKind};

/// A limit that ends a run. None of them can be caught by a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Trip {
    Busy = 1,
    Wall = 2,
    Abort = 3,
    Heap = 4,
    Output = 5,
    Calls = 6,
    Timers = 7,
    Buffers = 8,
    Panic = 9,
    Queue = 10,
    /// A program that runs again did something else.
    Strayed = 11,
    /// A program that runs again is where its recording ends.
    Further = 12,
}

impl Trip {
    pub(super) const NONE: u8 = 0;

    /// How this ends a program that runs again, if it is about that.
    pub(super) fn stray(self) -> Option<Stray> {
        match self {
            Self::Strayed => Some(Stray::Otherwise),
            Self::Further => Some(Stray::Further),
            _ => None,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        let all = [
            Self::Busy,
            Self::Wall,
            Self::Abort,
            Self::Heap,
            Self::Output,
            Self::Calls,
            Self::Timers,
            Self::Buffers,
            Self::Panic,
            Self::Queue,
            Self::Strayed,
            Self::Further,
        ];
        all.into_iter().find(|trip| *trip as u8 == code)
    }

    /// The failure, in words that say what to do next.
    pub(super) fn failure(self, limits: &RunLimits) -> RunFailure {
        let (kind, message) = match self {
            Self::Busy => (
                RunFailureKind::BusyTimeout,
                format!(
                    "the program executed JavaScript for more than {} without finishing (time waiting for tools does \
                     not count); look for a loop that never ends or an expression that takes too long",
                    spell_duration(limits.busy)
                ),
            ),
            Self::Wall => (
                RunFailureKind::WallTimeout,
                format!("the run took longer than {}; do less in one program", spell_duration(limits.wall)),
            ),
            Self::Abort => (RunFailureKind::Abort, "the run was cancelled".to_owned()),
            Self::Strayed => (
                RunFailureKind::Abort,
                "the program did something else than when it was recorded, so that it cannot be run again from there"
                    .to_owned(),
            ),
            Self::Further => (
                RunFailureKind::Abort,
                "the program goes on from where its recording ends".to_owned(),
            ),
            Self::Heap => (
                RunFailureKind::Heap,
                format!(
                    "the program used more than {} MiB of memory; work on smaller pieces and keep only what you need",
                    limits.heap_bytes / (1024 * 1024)
                ),
            ),
            Self::Output => (
                RunFailureKind::OutputLimit,
                format!(
                    "the program printed more than {} bytes; print a summary, or only the part you need",
                    limits.output_bytes
                ),
            ),
            Self::Calls => (
                RunFailureKind::CallLimit,
                format!(
                    "the program made more than {} tool calls; do the work in fewer calls, or in several programs",
                    limits.sub_calls
                ),
            ),
            Self::Queue => (
                RunFailureKind::CallLimit,
                format!(
                    "the program made calls with more than {} MiB of arguments that nobody had taken yet; await some \
                     calls before making more",
                    limits.queued_argument_bytes / (1024 * 1024)
                ),
            ),
            Self::Timers => (
                RunFailureKind::CallLimit,
                format!(
                    "the program had more than {} timers waiting at the same time",
                    limits.pending_timers
                ),
            ),
            Self::Buffers => (
                RunFailureKind::Heap,
                format!(
                    "the program's array buffers and typed arrays used more than {} MiB; work on smaller pieces",
                    limits.array_buffer_bytes / (1024 * 1024)
                ),
            ),
            Self::Panic => (
                RunFailureKind::EngineExit,
                "a part of the host panicked while the program ran; this is a bug of the host".to_owned(),
            ),
        };
        RunFailure::new(kind, message)
    }
}

/// What was printed. Shared with the host, which has it even when the isolate's thread is lost.
pub(super) struct Logs {
    /// Nothing once the run is over: what a lost thread prints after that is heard by nobody.
    printed: Mutex<Option<Printed>>,
}

struct Printed {
    lines: Vec<String>,
    sink: Option<Arc<dyn LogSink>>,
}

impl Logs {
    pub(super) fn new(sink: Option<Arc<dyn LogSink>>) -> Self {
        Self { printed: Mutex::new(Some(Printed { lines: Vec::new(), sink })) }
    }

    /// Ends the printing and lets go of the sink.
    pub(super) fn take(&self) -> Vec<String> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner).take();
        printed.map(|printed| printed.lines).unwrap_or_default()
    }

    pub(super) fn push(&self, level: LogLevel, line: &str) {
        let sink = match &mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner) {
            None => return,
            Some(printed) => {
                printed.lines.push(line.to_owned());
                printed.sink.clone()
            }
        };
        // Not under the lock: the sink is code of the host.
        if let Some(sink) = sink {
            sink.line(level, line);
        }
    }
}

/// Timers that the program set; their callbacks live in the isolate.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Duration, u64)>,
    by_id: HashMap<u64, Duration>,
}

impl Timers {
    fn arm(&mut self, id: u64, due: Duration) {
        self.disarm(id);
        self.due.insert((due, id));
        self.by_id.insert(id, due);
    }

    fn disarm(&mut self, id: u64) {
        if let Some(due) = self.by_id.remove(&id) {
            self.due.remove(&(due, id));
        }
    }

    /// Takes a timer that fires before or after it is due; false when there is none.
    pub(super) fn fire(&mut self, id: u64) -> bool {
        let armed = self.by_id.contains_key(&id);
        self.disarm(id);
        armed
    }

    pub(super) fn waiting(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(super) fn take_due(&mut self, now: Duration) -> Option<u64> {
        let (due, id) = *self.due.first()?;
        if due > now {
            return None;
        }
        self.disarm(id);
        Some(id)
    }
}

/// The state of one run, in the isolate's slot.
pub(super) struct RunState {
    pub(super) context: v8::Global<v8::Context>,
    pub(super) program: Arc<PreparedProgram>,
    pub(super) bindings: Arc<Bindings>,
    pub(super) limits: RunLimits,
    pub(super) meter: Arc<Meter>,
    pub(super) outside: Rc<dyn Outside>,
    pub(super) clock: Arc<SystemClock>,
    pub(super) buffers: Arc<BufferBudget>,
    pub(super) timers: Timers,
    pub(super) printed_bytes: usize,
    /// The program's own; absent until it has run for the first time.
    pub(super) promise: Option<v8::Global<v8::Promise>>,
    /// Rejected promises that have no handler yet (CM-25).
    pub(super) unhandled: Rejections,
    /// Where the program was when the watchdog interrupted it.
    pub(super) interrupted_at: Option<Position>,
    /// Where the time, chance and events come from.
    pub(super) feed: Feed,
}

/// The end of a line that did not fit.
const CUT: &str = "… (cut)";

impl RunState {
    /// Takes one line; `Err` when it does not fit any more (E-6). Each line costs a byte more than its text, so
    /// that empty ones count.
    pub(super) fn log(&mut self, level: LogLevel, line: &str) -> Result<(), Trip> {
        let left = self.limits.output_bytes.saturating_sub(self.printed_bytes);
        if line.len() >= left {
            self.printed_bytes = self.limits.output_bytes;
            // A line that is not whole says so.
            let end = line.floor_char_boundary(left.saturating_sub(CUT.len()));
            if end > 0 {
                self.outside.line(level, &format!("{}{CUT}", line.get(..end).unwrap_or_default()));
            }
            return Err(Trip::Output);
        }
        self.printed_bytes += line.len() + 1;
        self.outside.line(level, line);
        Ok(())
    }

    pub(super) fn arm(&mut self, id: u64, delay: Duration) -> Result<(), Trip> {
        if self.timers.by_id.len() >= self.limits.pending_timers && !self.timers.by_id.contains_key(&id) {
            return Err(Trip::Timers);
        }
        let due = self.clock.monotonic().saturating_add(delay);
        self.timers.arm(id, due);
        Ok(())
    }

    pub(super) fn disarm(&mut self, id: u64) {
        self.timers.disarm(id);
    }
}
