//! Any bytes as a program: `prepare` ends without a panic, and places in the script lead into the text.
//!
//! Owns nothing; the laws are those of `codemode::program`. It must not need V8.
//!
//! The parser asserts in debug builds what it does not rely on, and `prepare` catches that (and words an error).
//! The fuzzer would take such a panic for a find before it is caught, so panics that begin in the parser are left to
//! unwind; one that `prepare` lets out ends the run all the same.
#![no_main]

use std::panic;

use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use libfuzzer_sys::fuzz_target;

fn let_the_parser_unwind() {
    let ends_the_run = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|place| place.file().contains("/swc_")) {
            ends_the_run(info);
        }
    }));
}

fuzz_target!(init: let_the_parser_unwind(), |data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let hints = ToolHints { names: &["read", "exec_command"], ..ToolHints::default() };
    let Ok(program) = prepare(&text, &ProgramLimits::default(), &hints) else { return };
    assert_eq!(program.written(), text);
    // V8 also ends lines at U+2028 and U+2029.
    let lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
    // Each place is looked up in the whole text: some lines stand for all.
    let script_lines = u32::try_from(program.script().lines().count()).unwrap_or(0) + 2;
    for line in (0..script_lines).step_by(1 + script_lines as usize / 64) {
        for column in [0, 1, 28, 40, u32::MAX] {
            if let Some(place) = program.locate(line, column) {
                assert!(place.line as usize <= lines && place.column as usize <= text.len() + 1);
                assert!(!program.frame(place).is_empty());
            }
        }
    }
});
