//! What became of a call and of a run.
//!
//! Owns the closed error codes, results and failures. It never produces one by itself: the pipeline, the lane
//! and the engine do. It calls `content` and `ids` only.

mod call;
mod code;
mod run;

pub use call::{CallFailure, CallResult, CallSuccess, DeferredContext};
pub use code::ErrorCode;
pub use run::{RunFailure, RunFailureKind, RunOutcome, RunStats, SubCallReport, SubCallState};
