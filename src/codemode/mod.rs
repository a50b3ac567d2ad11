//! Code Mode: from the text of a program to its outcome.
//!
//! Owns program preparation, bindings, the driver lane and the run as a whole. It names no V8 type: an engine
//! stands behind [`CodeRuntime`]. It calls the pipeline and the ledger.

pub mod bindings;
pub mod check;
mod divergence;
mod fit;
pub mod inputs;
pub mod lane;
mod notes;
pub mod program;
mod recording;
mod run;
mod run_code;
mod runtime;
mod state;
pub mod wire;
pub(crate) mod written;

pub use divergence::{Divergence, Replayed};
pub use recording::{Recording, RecordingError};
pub use run::{ProgramRun, ProgramRunner};
pub use run_code::{OpenSessions, RunCodeSettings, run_code_tool};
pub use runtime::{CodeRuntime, LogLevel, LogSink, RunReport, RunRequest};
pub use state::{SessionState, StateDraft, StateError};
pub use written::{Review, WrittenProgram};
