//! The `read` tool.
//!
//! Owns how a text file becomes numbered lines and back without loss (B-2). It must never decode anything
//! but UTF-8, and never leave out lines silently: what is missing shows in `total_lines`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::limits::FileLimits;
use super::open::open_file;
use super::root::Root;

/// Arguments of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArgs {
    /// File to read, relative to the root.
    pub file_path: String,
    /// First line to read, counted from 1. Default: 1.
    #[schemars(range(min = 1))]
    pub offset: Option<u64>,
    /// Most lines to read. Default: up to the end of the file.
    pub limit: Option<u64>,
}

/// The lines of a file.
///
/// The exact content of a file is every `text` of it, joined with `\r\n` if `line_ending` is `crlf` and with
/// `\n` otherwise, and once more that at the end if `final_newline` is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadOutput {
    /// The file, relative to the root.
    pub path: String,
    /// The line that reading started at, counted from 1.
    #[schemars(range(min = 1))]
    pub offset: u64,
    /// The lines read; empty when `offset` is past the end.
    pub lines: Vec<ReadLine>,
    /// Lines in the whole file; 0 for an empty file.
    pub total_lines: u64,
    /// How the lines of the file end.
    pub line_ending: LineEnding,
    /// Whether the last line of the file ends with a line ending too.
    pub final_newline: bool,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadLine {
    /// Line number, counted from 1.
    #[schemars(range(min = 1))]
    pub number: u64,
    /// The line without its line ending.
    pub text: String,
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// `\n`.
    Lf,
    /// `\r\n`, every line.
    Crlf,
    /// Some of each: lines are split at `\n`, and a `\r` before it is kept in `text`.
    Mixed,
}

impl LineEnding {
    /// The characters between two lines of [`ReadOutput`].
    pub fn separator(self) -> &'static str {
        match self {
            Self::Lf | Self::Mixed => "\n",
            Self::Crlf => "\r\n",
        }
    }

    fn of(text: &str) -> Self {
        let all = text.bytes().filter(|byte| *byte == b'\n').count();
        match text.matches("\r\n").count() {
            0 => Self::Lf,
            some if some == all => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

impl ReadOutput {
    /// The lines as a model reads them: number, tab, text; and a last line that says what was left out.
    pub fn numbered_text(&self) -> String {
        let lines = self.lines.iter().map(|line| (line.number, line.text.as_str()));
        number_lines(lines, self.offset, self.total_lines)
    }
}

/// Lines and their numbers as a model reads them, from a read of `total` lines that started at `offset`.
pub(super) fn number_lines<'a>(
    lines: impl Iterator<Item = (u64, &'a str)>,
    offset: u64,
    total: u64,
) -> String {
    let mut out = String::new();
    let mut range = None;
    for (number, text) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{number:>6}\t{}", text.trim_end_matches('\r'));
        range = Some((range.map_or(number, |(first, _)| first), number));
    }
    match range {
        Some((first, last)) if first > 1 || last < total => {
            let _ = writeln!(out, "(lines {first} to {last} of {total})");
        }
        Some(_) => {}
        None if total == 0 => out.push_str("(empty file)\n"),
        None => {
            let _ = writeln!(out, "(no lines from line {offset}; the file has {total})");
        }
    }
    out
}

/// Reads lines of a text file (B-2).
///
/// # Errors
/// [`FileError`] when the path is refused (B-3), or names no regular UTF-8 file within the cap, or when it has
/// more lines than may be read at once: none is left out in silence.
pub fn read(root: &Root, args: &ReadArgs, limits: &FileLimits) -> Result<ReadOutput, FileError> {
    let offset = args.offset.unwrap_or(1);
    if offset == 0 {
        return Err(FileError::Argument { argument: "offset", rule: "counts lines from 1; pass at least 1" });
    }
    let target = root.target("file_path", &args.file_path)?;
    let text = open_file(root, &target)?.text(target.given(), limits.max_file_bytes)?;
    let line_ending = LineEnding::of(&text);
    let (body, final_newline) = match text.strip_suffix('\n') {
        Some(body) => (body, true),
        None => (text.as_str(), false),
    };
    let body = match (line_ending, final_newline) {
        (LineEnding::Crlf, true) => body.strip_suffix('\r').unwrap_or(body),
        _ => body,
    };
    let separator = line_ending.separator();
    let total_lines =
        if text.is_empty() { 0 } else { count(body.matches(separator).count()).saturating_add(1) };
    let wanted = args.limit.unwrap_or(u64::MAX).min(total_lines.saturating_sub(offset - 1));
    let most = u64::try_from(limits.max_lines).unwrap_or(u64::MAX);
    if wanted > most {
        return Err(FileError::TooManyLines { path: target.given().to_owned(), lines: wanted, limit: most });
    }
    let lines = (offset..)
        .zip(body.split(separator).skip(usize::try_from(offset - 1).unwrap_or(usize::MAX)))
        .take(usize::try_from(wanted).unwrap_or(usize::MAX))
        .map(|(number, text)| ReadLine { number, text: text.to_owned() })
        .collect();
    Ok(ReadOutput { path: target.shown().to_owned(), offset, lines, total_lines, line_ending, final_newline })
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
