//! What people see of the file tools' calls and results (T-16).
//!
//! Owns the cards and the meta that is stored with a top-level result. Everything here is pure: cards are drawn
//! again when an old session is shown, from what was stored. It must never open a file: what a card cannot
//! know from its inputs it leaves out.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::edit::{EditArgs, EditOutput};
use super::super::glob::{GlobArgs, GlobOutput};
use super::super::grep::{GrepArgs, GrepMode, GrepOutput};
use super::super::language::language_of;
use super::super::list::{ListArgs, ListOutput};
use super::super::read::ReadArgs;
use super::super::write::WriteArgs;
use super::render::{ReadView, shown};
use super::{MAX_DIFF_BYTES, WriteValue, typed};
use crate::outcome::{CallResult, CallSuccess};
use crate::tool::{CallCard, CardKind, FileDiff, Location, ResultCard, SearchCard};

fn generic(args: &Value, kind: CardKind, title: String, locations: Vec<Location>) -> CallCard {
    CallCard::Generic { title, kind, raw_input: args.clone(), locations }
}

fn place(path: &str, line: Option<u64>) -> Location {
    Location { path: path.to_owned(), line }
}

/// A call that looks for something below a path, or below the root.
fn search(args: &Value, what: &str, path: Option<&str>) -> CallCard {
    let title = path.map_or_else(|| what.to_owned(), |path| format!("{what} in {}", shown(path)));
    let locations = path.map(|path| place(path, None)).into_iter().collect();
    generic(args, CardKind::Search, title, locations)
}

pub(super) fn read_call(args: &Value) -> Option<CallCard> {
    let ReadArgs { file_path, offset, .. } = typed(args).ok()?;
    let title = format!("Read {}", shown(&file_path));
    Some(generic(args, CardKind::Read, title, vec![place(&file_path, offset)]))
}

pub(super) fn list_call(args: &Value) -> Option<CallCard> {
    let ListArgs { path, .. } = typed(args).ok()?;
    Some(search(args, "List files", path.as_deref()))
}

pub(super) fn glob_call(args: &Value) -> Option<CallCard> {
    let GlobArgs { pattern, path, .. } = typed(args).ok()?;
    Some(search(args, &format!("Find {}", shown(&pattern)), path.as_deref()))
}

pub(super) fn grep_call(args: &Value) -> Option<CallCard> {
    let GrepArgs { pattern, path, .. } = typed(args).ok()?;
    Some(search(args, &format!("Search for {}", shown(&pattern)), path.as_deref()))
}

/// Not a diff: the arguments do not say what is replaced.
pub(super) fn write_call(args: &Value) -> Option<CallCard> {
    let WriteArgs { file_path, .. } = typed(args).ok()?;
    let title = format!("Write {}", shown(&file_path));
    Some(generic(args, CardKind::Edit, title, vec![place(&file_path, None)]))
}

/// A diff of the replaced text alone, as the arguments give it.
pub(super) fn edit_call(args: &Value) -> Option<CallCard> {
    let EditArgs { file_path, old_string, new_string, .. } = typed(args).ok()?;
    Some(CallCard::Diff {
        files: vec![FileDiff { path: file_path, old: Some(old_string), new: Some(new_string) }],
    })
}

/// Language and range of what was read (B-2); the lines themselves are in the content.
pub(super) fn read_meta(_args: &Value, value: &Value) -> Result<Value, String> {
    let output: ReadView<'_> = typed(value)?;
    Ok(json!({
        "path": output.path,
        "language": language_of(output.path),
        "first_line": output.offset,
        "line_count": output.lines.len(),
        "total_lines": output.total_lines,
    }))
}

pub(super) fn read_result(_args: &Value, result: &CallResult) -> Option<ResultCard> {
    let output: ReadView<'_> = typed(&result.as_ref().ok()?.value).ok()?;
    Some(ResultCard::Read {
        path: output.path.to_owned(),
        first_line: output.offset,
        lines: output.lines.iter().map(|line| line.text.to_owned()).collect(),
        language: language_of(output.path).map(str::to_owned),
    })
}

pub(super) fn list_result(_args: &Value, result: &CallResult) -> Option<ResultCard> {
    let output: ListOutput = typed(&result.as_ref().ok()?.value).ok()?;
    let paths = output.entries.into_iter().map(|entry| entry.path).collect();
    Some(ResultCard::Search(SearchCard::Paths(paths)))
}

pub(super) fn glob_result(_args: &Value, result: &CallResult) -> Option<ResultCard> {
    let output: GlobOutput = typed(&result.as_ref().ok()?.value).ok()?;
    Some(ResultCard::Search(SearchCard::Paths(output.paths)))
}

pub(super) fn grep_result(args: &Value, result: &CallResult) -> Option<ResultCard> {
    let GrepArgs { mode, .. } = typed(args).ok()?;
    let output: GrepOutput = typed(&result.as_ref().ok()?.value).ok()?;
    Some(ResultCard::Search(match mode {
        GrepMode::Matches => SearchCard::Matches(
            output.matches.into_iter().map(|found| place(&found.path, Some(found.line))).collect(),
        ),
        GrepMode::Count | GrepMode::CountMatches => {
            SearchCard::Paths(output.counts.into_iter().map(|found| found.path).collect())
        }
    }))
}

/// The diff card (B-4), or a generic one where there is no diff to show.
pub(super) fn write_meta(args: &Value, value: &Value) -> Result<Value, String> {
    stored(&write_card(args, value)?)
}

pub(super) fn write_result(args: &Value, result: &CallResult) -> Option<ResultCard> {
    changed(result.as_ref().ok()?, |value| write_card(args, value))
}

/// The diff card (B-4), of the replaced text alone.
pub(super) fn edit_meta(args: &Value, value: &Value) -> Result<Value, String> {
    stored(&edit_card(args, value)?)
}

pub(super) fn edit_result(args: &Value, result: &CallResult) -> Option<ResultCard> {
    changed(result.as_ref().ok()?, |value| edit_card(args, value))
}

fn write_card(args: &Value, value: &Value) -> Result<ResultCard, String> {
    let WriteArgs { content, .. } = typed(args)?;
    let WriteValue { output, replaced } = typed(value)?;
    let size = content.len().saturating_add(replaced.as_ref().map_or(0, String::len));
    // A file that was there and whose text is not known must not look like a new one.
    let known = output.created || replaced.is_some();
    if !known || size > MAX_DIFF_BYTES {
        let verb = if output.created { "Created" } else { "Replaced" };
        return Ok(told(verb, &output.path));
    }
    Ok(ResultCard::Diff { files: vec![FileDiff { path: output.path, old: replaced, new: Some(content) }] })
}

fn edit_card(args: &Value, value: &Value) -> Result<ResultCard, String> {
    let EditArgs { old_string, new_string, .. } = typed(args)?;
    let EditOutput { path, .. } = typed(value)?;
    if old_string.len().saturating_add(new_string.len()) > MAX_DIFF_BYTES {
        return Ok(told("Edited", &path));
    }
    Ok(ResultCard::Diff { files: vec![FileDiff { path, old: Some(old_string), new: Some(new_string) }] })
}

/// A change that is told and not shown. The card is stored, so it does not hold the texts either.
fn told(verb: &str, path: &str) -> ResultCard {
    ResultCard::Generic {
        title: format!("{verb} {}", shown(path)),
        kind: CardKind::Edit,
        raw_input: json!({"file_path": path}),
        locations: vec![place(path, None)],
    }
}

fn stored(card: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(card).map_err(|error| error.to_string())
}

/// The stored card; where none was stored, as in a program, one from the value.
fn changed(
    success: &CallSuccess,
    from_value: impl FnOnce(&Value) -> Result<ResultCard, String>,
) -> Option<ResultCard> {
    let stored = success.meta.as_ref().and_then(|meta| ResultCard::deserialize(meta).ok());
    stored.or_else(|| from_value(&success.value).ok())
}
