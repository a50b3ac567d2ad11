//! Behaviour of the whole: one binary, since every test binary links V8.

#![cfg(feature = "engine")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a test's own helpers unwrap is the test's expectation, as in the tests themselves"
)]

#[cfg(target_os = "linux")]
mod boxed;
mod checker;
mod checker_table;
#[cfg(feature = "cli")]
mod cli;
mod clones;
mod differential;
mod globals;
mod hostile;
mod killed_runs;
mod limits;
mod overwritten;
mod policies;
mod programs;
#[path = "../killed/random.rs"]
mod random;
mod readme;
mod replay;
mod reported;
mod run_code;
mod runtime_js;
mod runtimes;
mod sdk;
mod slow_store;
mod state;
mod support;
