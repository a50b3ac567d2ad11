//! Standard output and standard error.
//!
//! Owns what it means that they cannot be written to: a reader of the output who is gone is no failure unless what is
//! written is JSON, and whoever does not read the complaints misses them. It never decides what is said.

use std::io::{self, Write as _};

use anyhow::bail;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, major, minor};

use super::text::inert;

/// Refuses a standard output that loses what is all of the command's answer.
pub(super) fn check(json: bool) -> anyhow::Result<()> {
    if json && is_closed() {
        bail!(
            "standard output is closed, and --json prints to it alone; give it a place to go, or leave --json out"
        );
    }
    Ok(())
}

/// Whether standard output was closed when the process started.
///
/// The standard library then has `/dev/null` in its place, open for reading as well, before anything here runs.
/// Whoever discards the output in the same way is told the same; `> /dev/null` of a shell is open for writing alone.
fn is_closed() -> bool {
    const NULL: (u32, u32) = (1, 3);
    let stdout = io::stdout();
    let (Ok(flags), Ok(stat)) = (fcntl_getfl(&stdout), fstat(&stdout)) else { return true };
    flags.contains(OFlags::RDWR)
        && FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && (major(stat.st_rdev), minor(stat.st_rdev)) == NULL
}

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
