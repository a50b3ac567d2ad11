//! What a model reads of the file tools' values.
//!
//! Owns the text of each result (B-2): one thing a line, one newline at the end, and a note in parentheses for
//! whatever is missing. It must never let a file's name start a line of its own. It reads the values that
//! the functions of the sibling modules made.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::super::edit::EditOutput;
use super::super::glob::GlobOutput;
use super::super::grep::{GrepMatch, GrepOutput, GrepSkipped};
use super::super::list::ListOutput;
use super::super::read::number_lines;
use super::super::walk::EntryKind;
use super::{WriteValue, typed};
use crate::content::ContentBlock;
use crate::ids::spelling::is_unseen;

type Rendered = Result<Vec<ContentBlock>, String>;

/// The lines of a read, borrowed: a file is not copied to be rendered.
#[derive(Debug, Deserialize)]
pub(super) struct ReadView<'a> {
    pub(super) path: &'a str,
    pub(super) offset: u64,
    pub(super) total_lines: u64,
    #[serde(borrow)]
    pub(super) lines: Vec<LineView<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LineView<'a> {
    number: u64,
    pub(super) text: &'a str,
}

pub(super) fn read(_args: &Value, value: &Value) -> Rendered {
    let output: ReadView<'_> = typed(value)?;
    let lines = output.lines.iter().map(|line| (line.number, line.text));
    Ok(text(number_lines(lines, output.offset, output.total_lines)))
}

pub(super) fn list(_args: &Value, value: &Value) -> Rendered {
    let output: ListOutput = typed(value)?;
    let mut lines = Lines::default();
    for entry in &output.entries {
        let mark = match entry.kind {
            EntryKind::File => "",
            EntryKind::Dir => "/",
            EntryKind::Symlink => " (symbolic link)",
            EntryKind::Other => " (not a regular file)",
        };
        let lossy = if entry.lossy { NOT_UTF8 } else { "" };
        lines.push(format_args!("{}{mark}{lossy}", shown(&entry.path)));
    }
    match output.entries.len() {
        count if output.truncated => lines.push(format_args!(
            "(truncated after {}; list less at once)",
            counted(count, "entry", "entries")
        )),
        0 => lines.push(format_args!("(no entries)")),
        _ => {}
    }
    push_unreadable(&mut lines, output.unreadable);
    Ok(lines.into_blocks())
}

pub(super) fn glob(_args: &Value, value: &Value) -> Rendered {
    let output: GlobOutput = typed(value)?;
    let mut lines = Lines::default();
    let mut lossy_paths = output.lossy_paths.iter().peekable();
    for path in &output.paths {
        // In the order of `paths`.
        let lossy = if lossy_paths.next_if(|lossy| *lossy == path).is_some() { NOT_UTF8 } else { "" };
        lines.push(format_args!("{}{lossy}", shown(path)));
    }
    match output.paths.len() {
        count if output.truncated => lines.push(format_args!(
            "(truncated after {}; narrow `pattern` or `path`)",
            counted(count, "path", "paths")
        )),
        0 => lines.push(format_args!("(no files)")),
        _ => {}
    }
    push_unreadable(&mut lines, output.unreadable);
    Ok(lines.into_blocks())
}

pub(super) fn grep(_args: &Value, value: &Value) -> Rendered {
    let output: GrepOutput = typed(value)?;
    let mut lines = Lines::default();
    push_matches(&mut lines, &output.matches);
    for found in &output.counts {
        lines.push(format_args!("{}: {}", shown(&found.path), found.count));
    }
    let shown = output.matches.len() + output.counts.len();
    if output.truncated {
        let what = if output.counts.is_empty() {
            counted(shown, "match", "matches")
        } else {
            counted(shown, "file", "files")
        };
        lines.push(format_args!("(truncated after {what}; narrow `pattern`, `path` or `glob`)"));
    } else if shown == 0 {
        let files = usize::try_from(output.files_searched).unwrap_or(usize::MAX);
        lines.push(format_args!("(no matches in {})", counted(files, "file", "files")));
    }
    push_skipped(&mut lines, output.skipped);
    if !output.lossy_paths.is_empty() {
        lines.push(format_args!("(paths with U+FFFD have names that are not UTF-8; they cannot be opened)"));
    }
    Ok(lines.into_blocks())
}

pub(super) fn write(_args: &Value, value: &Value) -> Rendered {
    let WriteValue { output, .. } = typed(value)?;
    let verb = if output.created { "Created" } else { "Replaced" };
    Ok(text(format!("{verb} {} ({} bytes).\n", shown(&output.path), output.bytes_written)))
}

pub(super) fn edit(_args: &Value, value: &Value) -> Rendered {
    let EditOutput { path, replacements, first_line } = typed(value)?;
    let path = shown(&path);
    Ok(text(match replacements {
        1 => format!("Edited {path} at line {first_line}.\n"),
        more => format!("Edited {path}: {more} replacements, the first at line {first_line}.\n"),
    }))
}

/// `path:line: text` for matches, `path-line- text` for context, `--` between groups that do not touch; no line
/// twice.
fn push_matches(lines: &mut Lines, matches: &[GrepMatch]) {
    let has_context = matches.iter().any(|found| !found.before.is_empty() || !found.after.is_empty());
    let mut last: Option<(&str, u64)> = None;
    for (index, found) in matches.iter().enumerate() {
        let path = shown(&found.path);
        let done = last.filter(|(path, _)| *path == found.path).map_or(0, |(_, line)| line);
        let start = found.line.saturating_sub(found.before.len() as u64);
        if has_context && last.is_some() && (done == 0 || start > done.saturating_add(1)) {
            lines.push(format_args!("--"));
        }
        for (number, text) in (start..).zip(&found.before).filter(|(number, _)| *number > done) {
            lines.push(format_args!("{path}-{number}- {text}"));
        }
        let cut = if found.cut { " (part of a longer line)" } else { "" };
        lines.push(format_args!("{path}:{}: {}{cut}", found.line, found.text));
        let next = matches.get(index + 1).filter(|next| next.path == found.path);
        let end = next.map_or(u64::MAX, |next| next.line);
        let mut reached = found.line;
        for (number, text) in (found.line.saturating_add(1)..end).zip(&found.after) {
            lines.push(format_args!("{path}-{number}- {text}"));
            reached = number;
        }
        last = Some((&found.path, reached));
    }
}

fn push_unreadable(lines: &mut Lines, count: u64) {
    if count > 0 {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        lines.push(format_args!("({} could not be read)", counted(count, "directory", "directories")));
    }
}

fn push_skipped(lines: &mut Lines, skipped: GrepSkipped) {
    let GrepSkipped { binary, too_large, unreadable } = skipped;
    let reasons: Vec<String> = [(binary, "binary"), (too_large, "too large"), (unreadable, "unreadable")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
    if !reasons.is_empty() {
        lines.push(format_args!("(not searched: {})", reasons.join(", ")));
    }
}

const NOT_UTF8: &str = " (the name is not UTF-8; it cannot be opened)";

/// A path on one line: as it is, or quoted when it holds what nobody would see.
pub(super) fn shown(path: &str) -> Cow<'_, str> {
    if path.chars().any(is_unseen) { Cow::Owned(format!("{path:?}")) } else { Cow::Borrowed(path) }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn text(text: String) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn into_blocks(self) -> Vec<ContentBlock> {
        text(self.0)
    }
}
