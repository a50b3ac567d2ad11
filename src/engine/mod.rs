//! The engine: everything that names V8, and the only `unsafe`.
//!
//! Owns V8's start-up, isolates from the snapshot, the native functions, the watchdog, the in-process runtime and
//! the type checker.
//! It decides nothing about tools: a call of a program goes to the lane and nowhere else. It calls `codemode`.

mod allocator;
mod checker;
#[cfg(target_os = "linux")]
pub mod child;
mod execution;
mod exit;
mod in_process;
mod isolate;
mod lost;
mod manifest;
mod natives;
mod platform;
#[cfg(target_os = "linux")]
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
#[cfg(target_os = "linux")]
pub use process::{ChildProgram, ProcessError, ProcessOptions, ProcessRuntime};
