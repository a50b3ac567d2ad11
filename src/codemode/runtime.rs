//! The interface between Code Mode and an engine (E-1).
//!
//! Owns what a runtime is given for one run and what it gives back. It names no V8 type, so that both isolations
//! and any test double fit behind it. It calls nobody.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::{Origin, Stray};
use crate::codemode::lane::{LaneDriver, LaneHandle, LaneReport};
use crate::codemode::state::StateDraft;
use crate::codemode::written::WrittenProgram;
use crate::ids::SessionId;
use crate::limits::RunLimits;
use crate::outcome::RunFailure;
use crate::pipeline::BoxFuture;

/// How important a program says that a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// `console.debug`.
    Debug,
    /// `console.log`, `print` and everything else.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`.
    Error,
}

/// Sees lines as they are printed. Must not block.
pub trait LogSink: Send + Sync {
    /// Takes one line; it may hold line breaks and is not escaped for a terminal.
    fn line(&self, level: LogLevel, text: &str);
}

/// One run.
pub struct RunRequest {
    /// The program. The runtime has it prepared, within the limits of the run (CM-7, M11).
    pub program: WrittenProgram,
    /// The tools that the program may call.
    pub bindings: Arc<Bindings>,
    /// Where its clock and its chance begin.
    pub origin: Origin,
    /// What it may use.
    pub limits: RunLimits,
    /// The session: programs of two sessions never share a process that runs them (E-2).
    pub session: SessionId,
    /// The host's clock: what preparing the program takes is counted by it.
    pub clock: Arc<dyn Clock>,
    /// What the program may keep for later runs of its session.
    pub state: StateDraft,
    /// The host's power to end the run.
    pub cancel: CancellationToken,
    /// Where lines go as they are printed; absent when nobody watches.
    pub logs: Option<Arc<dyn LogSink>>,
}

impl fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What a runtime gives back.
#[derive(Debug)]
pub struct RunReport {
    /// The program's value (nothing when it returned none), or why it failed.
    pub result: Result<Option<Value>, RunFailure>,
    /// Every line that was printed, in order, failure or not.
    pub logs: Vec<String>,
    /// Remarks on the program: what was done to find it in its text, what its review said, how it ended.
    pub notes: Vec<String>,
    /// What the program took after its last call, as text (see [`super::inputs`]).
    pub inputs: String,
    /// How the program left its recording; absent when it did not, or had none.
    pub stray: Option<Stray>,
    /// What the lane knows; complete, with every started call settled.
    pub lane: LaneReport,
    /// Time spent executing JavaScript.
    pub busy: Duration,
}

/// Runs programs (E-1).
///
/// An implementation must drive the lane to its end in every case, close its handle when the program settles, and
/// give back a typed outcome whatever the program does.
pub trait CodeRuntime: Send + Sync + fmt::Debug {
    /// The language that it runs, as in a Markdown fence.
    fn language(&self) -> &'static str;

    /// Runs one program to its end.
    fn run(
        &self,
        request: RunRequest,
        handle: LaneHandle,
        driver: LaneDriver,
    ) -> BoxFuture<'static, RunReport>;
}
