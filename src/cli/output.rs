//! Standard output and standard error.
//!
//! Owns what it means that they cannot be written to: a reader of the output who is gone is no failure unless what is
//! written is JSON, and whoever does not read the complaints misses them. It never decides what is said.

use std::io::{self, Write as _};

use super::text::inert;

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub(super) struct StdoutError(#[from] io::Error);

impl StdoutError {
    /// Whether that is because nobody reads it any more, as `isolane sdk | head -1` may do.
    pub(super) fn reader_is_gone(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Writes all of the text to standard output.
pub(super) fn say(text: &str) -> Result<(), StdoutError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// The same for a text that is not the answer itself, which the exit code is: a reader who is gone has it all the same.
pub(super) fn tell(text: &str) -> Result<(), StdoutError> {
    say(text).or_else(|error| if error.reader_is_gone() { Ok(()) } else { Err(error) })
}

/// Writes the text as lines to standard error.
pub(super) fn complain(text: &str) {
    let mut stderr = io::stderr().lock();
    // There is no better place to complain about this.
    let _ = stderr.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stderr.write_all(b"\n");
    }
}

/// The error and its causes in one line. Some errors tell their cause themselves; it is not told twice.
pub(super) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    inert(&text).into_owned()
}
