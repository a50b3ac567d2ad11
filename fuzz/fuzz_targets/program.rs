//! Any bytes as a program: `prepare` ends without a panic, and places in the script lead into the text.
//!
//! Owns nothing; the laws are those of `codemode::program`. It must not need V8.
#![no_main]

use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let hints = ToolHints { names: &["read", "exec_command"], ..ToolHints::default() };
    let Ok(program) = prepare(&text, &ProgramLimits::default(), &hints) else { return };
    assert_eq!(program.written(), text);
    // V8 also ends lines at U+2028 and U+2029.
    let lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
    // Each place is looked up in the whole text, so a few dozen lines stand for all.
    let lines_of_script = program.script().lines().count() + 2;
    for line in (0..lines_of_script).step_by(1 + lines_of_script / 50) {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        for column in [0, 1, 28, 40, u32::MAX] {
            if let Some(place) = program.locate(line, column) {
                assert!(place.line as usize <= lines && place.column as usize <= text.len() + 1);
                assert!(!program.frame(place).is_empty());
            }
        }
    }
});
