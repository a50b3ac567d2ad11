//! Programs and arguments from files and standard input.
//!
//! Owns where a program comes from, and that no input is read beyond its limit. It never looks into a program: what
//! is too large or no program at all is the run's to say.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;
use serde_json::error::Category;

use isolane::limits::CallLimits;

use super::args::ProgramArgs;
use super::strict;

/// Where a program is.
#[derive(Debug)]
pub(super) enum Source {
    /// On the command line.
    Argument(String),
    /// In a file, which has been read: a file is quick to read, and its errors come before anything is started.
    File(PathBuf, String),
    /// On standard input, which may take its time.
    Stdin,
}

/// A program's text and what to call it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: String,
    /// For people: the file, `<stdin>` or `-e`.
    pub(super) label: String,
}

impl Source {
    /// Finds the program; reads it if it is in a file.
    pub(super) fn find(given: ProgramArgs, limit: usize) -> anyhow::Result<Self> {
        match (given.code, given.program) {
            (Some(code), _) => Ok(Self::Argument(code)),
            (None, Some(path)) if path.as_os_str() == "-" => Ok(Self::Stdin),
            (None, Some(path)) => {
                let text = read_file(&path, limit)?;
                Ok(Self::File(path, text))
            }
            (None, None) if io::stdin().is_terminal() => {
                bail!("no program: give a file, `-` for standard input, or -e CODE")
            }
            (None, None) => Ok(Self::Stdin),
        }
    }

    /// The program.
    pub(super) fn load(self, limit: usize) -> anyhow::Result<Program> {
        Ok(match self {
            Self::Argument(text) => Program { text, label: "-e".to_owned() },
            Self::File(path, text) => Program { text, label: path.display().to_string() },
            Self::Stdin => Program { text: read_stdin(limit)?, label: "<stdin>".to_owned() },
        })
    }
}

fn read_file(path: &Path, limit: usize) -> anyhow::Result<String> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot read the program {shown}"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("cannot read the program {shown}: it is a directory");
    }
    let bytes = read_some(file, limit).with_context(|| format!("cannot read the program {shown}"))?;
    text(bytes, limit).with_context(|| format!("cannot read the program {shown}"))
}

fn read_stdin(limit: usize) -> anyhow::Result<String> {
    let bytes = read_some(io::stdin().lock(), limit).context("cannot read standard input")?;
    text(bytes, limit).context("cannot read standard input")
}

/// A character's worth beyond the limit, so that what is cut is too large whatever is cut.
const BEYOND: usize = 4;

fn read_some(from: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit.saturating_add(BEYOND)).unwrap_or(u64::MAX);
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(bytes: Vec<u8>, limit: usize) -> anyhow::Result<String> {
    let was_cut = bytes.len() > limit;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // Cut in the middle of a character.
        Err(error) if was_cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(error) => bail!("it is not UTF-8 (byte {})", error.utf8_error().valid_up_to() + 1),
    }
}

/// The arguments of a call: JSON, on the command line or with `-` on standard input.
pub(super) fn arguments(given: String) -> anyhow::Result<Value> {
    let limit = CallLimits::default().argument_bytes;
    let text = if given == "-" { read_stdin(limit)? } else { given };
    if text.len() > limit {
        bail!("the arguments take more than {limit} bytes, which no call may carry");
    }
    if text.trim().is_empty() {
        bail!("there are no arguments in the text; {ARGUMENTS_FORM}");
    }
    strict::parse(&text).map_err(|error| match error.classify() {
        // What is JSON and has a name twice.
        Category::Data => anyhow!("the arguments are ambiguous: {error}"),
        _ => anyhow!("the arguments are not JSON: {error}; {ARGUMENTS_FORM}"),
    })
}

const ARGUMENTS_FORM: &str = r#"give one JSON object, as '{"file_path": "README.md"}'"#;
