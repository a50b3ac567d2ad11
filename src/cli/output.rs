//! Standard output and standard error.
//!
//! Owns what it means that they cannot be written to: a reader of the output who is gone is no failure, and whoever
//! does not read the complaints misses them. It never decides what is said.

use std::io::{self, Write as _};

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub(super) struct StdoutError(#[from] io::Error);

impl StdoutError {
    /// Whether that is because nobody reads it any more, as in `isolane sdk | head -1`.
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

/// Writes the text as lines to standard error.
pub(super) fn complain(text: &str) {
    let mut stderr = io::stderr().lock();
    // There is no better place to complain about this.
    let _ = stderr.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stderr.write_all(b"\n");
    }
}
