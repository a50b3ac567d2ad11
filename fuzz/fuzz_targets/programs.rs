//! Any bytes as choices of a program: its calls start, overlap, end and are told of as the reference model says.
//!
//! Owns nothing; generator, model and comparison are those of the differential tests. There is no engine: the model
//! of the language does what the program says, and the lane, the pipeline and the ledger are the real ones. Its text
//! is a program for `prepare`.
#![no_main]

#[path = "../../tests/it/differential/harness/mod.rs"]
mod harness;

use std::sync::Arc;

use harness::interpreted::Interpreted;
use harness::{Bounds, Case, play, verdict};
use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let case = Case::new(bytes, Bounds { size: 40, time: false });
    let text = case.program.text();
    prepare(&text, &ProgramLimits::default(), &ToolHints::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let seen = runtime.block_on(play::play(&case, Arc::new(Interpreted(Arc::clone(&case.program)))));
    if let Err(problem) = verdict::judge(&case, &seen) {
        panic!("{problem}\n\n{case}\n{seen:#?}");
    }
});
