//! Any bytes as a program: `prepare` ends without a panic, and places in the script lead into the text.
//!
//! Owns nothing; the laws are those of `codemode::program`. It must not need V8.
#![no_main]

use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let hints = ToolHints { names: &["read", "exec_command"] };
    let Ok(program) = prepare(&text, &ProgramLimits::default(), &hints) else { return };
    assert_eq!(program.written(), text);
    // V8 also ends lines at U+2028 and U+2029.
    let lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count();
    for line in 0..u32::try_from(program.script().lines().count()).unwrap_or(0) + 2 {
        for column in [0, 1, 28, 40, u32::MAX] {
            if let Some(place) = program.locate(line, column) {
                assert!(place.line as usize <= lines && place.column as usize <= text.len() + 1);
                assert!(!program.frame(place).is_empty());
            }
        }
    }
});
