//! The engine: everything that names V8, and the only `unsafe`.
//!
//! Owns V8's start-up, isolates from the snapshot, the native functions, the watchdog, both runtimes and what they share,
//! the child and the sandbox that it puts on itself, and the type checker.
//! It decides nothing about tools: a call of a program goes to the lane and nowhere else. It calls `codemode`.

mod allocator;
mod checker;
pub mod child;
mod execution;
mod exit;
mod in_process;
mod isolate;
mod lost;
mod manifest;
mod natives;
mod platform;
mod process;
mod sandbox;
mod shared_lane;
mod snapshot;
mod stack;
mod state;
mod supervision;
mod surroundings;

pub use checker::{TypeScriptChecker, TypeScriptOptions};
pub use in_process::{InProcessOptions, InProcessRuntime};
pub use platform::v8_version;
pub use process::{ChildProgram, ProcessError, ProcessOptions, ProcessRuntime};
pub use sandbox::{Layer, LayerReport, LayerState, confine, confine_without_compiler};
