//! Behaviour of the whole: one binary, since every test binary links V8.

#![cfg(feature = "engine")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod globals;
mod hostile;
mod limits;
mod programs;
mod reported;
mod runtime_js;
mod runtimes;
mod support;
