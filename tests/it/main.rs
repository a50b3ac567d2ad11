//! Behaviour of the whole: one binary, since every test binary links V8.

#![cfg(feature = "engine")]
#![expect(missing_docs, reason = "test code")]

mod programs;
mod support;
