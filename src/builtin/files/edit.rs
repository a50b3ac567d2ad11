//! The `edit` tool.
//!
//! Owns exact replacement in a text file: when the text to replace is found, how often, and what a model
//! learns when it is not. It must never guess: a near match is a hint in an error, not a match.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::atomic::{Identity, stage};
use super::error::FileError;
use super::limits::FileLimits;
use super::near;
use super::open::open_dir;
use super::root::Root;
use super::write::{DiffData, commit_error, open_in};

/// Line numbers named in an error.
const MAX_LINES_NAMED: usize = 10;

/// Arguments of `edit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArgs {
    /// File to change, relative to the root.
    pub file_path: String,
    /// Text to replace, exactly as it is in the file, without line numbers. Must occur exactly once, unless `all`.
    pub old_string: String,
    /// Text to put in its place; empty deletes.
    pub new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub all: bool,
}

/// What `edit` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditOutput {
    /// The file, relative to the root.
    pub path: String,
    /// Occurrences replaced, at least 1.
    #[schemars(range(min = 1))]
    pub replacements: u64,
    /// Line where the first occurrence began, counted from 1.
    #[schemars(range(min = 1))]
    pub first_line: u64,
}

/// Replaces text in a file, atomically (B-4).
///
/// # Errors
/// [`FileError`] when the path is refused (B-3) or names no regular UTF-8 file within the cap, when the
/// text does not occur or occurs more than once without `all`, or when the file changed meanwhile; the
/// file is then as it was. A change in the instant between the last look and the rename is not seen.
pub fn edit(root: &Root, args: &EditArgs, limits: &FileLimits) -> Result<(EditOutput, DiffData), FileError> {
    edit_with(root, args, limits, || {})
}

/// `before_commit` runs after everything is prepared and before the last look at the file.
fn edit_with(
    root: &Root,
    args: &EditArgs,
    limits: &FileLimits,
    before_commit: impl FnOnce(),
) -> Result<(EditOutput, DiffData), FileError> {
    if args.old_string.is_empty() {
        return Err(FileError::Argument {
            argument: "old_string",
            rule: "must not be empty; use `write` to make a file or replace all of it",
        });
    }
    if args.old_string == args.new_string {
        let rule = "is the same as the one at /old_string; give the text to put in its place";
        return Err(FileError::Argument { argument: "new_string", rule });
    }
    let target = root.target("file_path", &args.file_path)?;
    let given = target.given();
    let Some((parent, name)) = target.split() else {
        return Err(FileError::IsDirectory { path: given.to_owned() });
    };
    let dir = open_dir(root, &parent)?;
    let file = open_in(root, &target, &dir, name)?;
    let limit = limits.max_file_bytes;
    let old = file.text(given, limit)?;
    let (count, first) = find(given, &old, args)?;
    let most = if args.all { count } else { 1 };
    check_size(given, &old, args, most, limit)?;
    let new = old.replacen(&args.old_string, &args.new_string, most);
    let staged = stage(&dir, new.as_bytes(), Some(&file.stat))
        .map_err(|error| FileError::io(given, "write", error))?;
    before_commit();
    staged.commit(name, Some(Identity::of(&file.stat))).map_err(|error| commit_error(given, error))?;
    let path = target.shown().to_owned();
    let replacements = u64::try_from(most).unwrap_or(u64::MAX);
    let output = EditOutput { path: path.clone(), replacements, first_line: line_at(&old, first) };
    Ok((output, DiffData { path, old: Some(old), new }))
}

/// How often the text occurs, and where first.
fn find(given: &str, text: &str, args: &EditArgs) -> Result<(usize, usize), FileError> {
    let mut found = text.match_indices(&args.old_string).map(|(at, _)| at);
    let Some(first) = found.next() else {
        let near = near::text(text, &args.old_string);
        return Err(FileError::NoMatch { path: given.to_owned(), near });
    };
    let mut rest: Vec<usize> = found.by_ref().take(MAX_LINES_NAMED - 1).collect();
    let mut count = 1 + rest.len() + found.count();
    if count == 1 && !args.all {
        // `match_indices` passes over what overlaps with the match before it.
        let overlapping = overlapping(text, &args.old_string, first);
        rest.extend(overlapping);
        count += rest.len();
    }
    if count > 1 && !args.all {
        let lines = std::iter::once(first).chain(rest).map(|at| line_at(text, at)).collect();
        return Err(FileError::ManyMatches { path: given.to_owned(), count, lines });
    }
    Ok((count, first))
}

/// Where `wanted` occurs again, beginning within its occurrence at `first`.
fn overlapping(text: &str, wanted: &str, first: usize) -> Option<usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let from = first.checked_add(step)?;
    // What began after the end would have been found already.
    let to = first.checked_add(wanted.len())?.checked_add(wanted.len())?.min(text.len());
    let to = (to..=text.len()).find(|to| text.is_char_boundary(*to))?;
    text.get(from..to)?.find(wanted).map(|at| from + at)
}

/// Refuses a result above the cap before it is built.
fn check_size(given: &str, old: &str, args: &EditArgs, count: usize, limit: u64) -> Result<(), FileError> {
    let removed = args.old_string.len().saturating_mul(count);
    let added = args.new_string.len().saturating_mul(count);
    let bytes = u64::try_from(old.len().saturating_sub(removed).saturating_add(added)).unwrap_or(u64::MAX);
    if bytes > limit {
        return Err(FileError::TooLarge { path: given.to_owned(), bytes, limit });
    }
    Ok(())
}

fn line_at(text: &str, at: usize) -> u64 {
    let before = text.get(..at).unwrap_or_default();
    u64::try_from(before.matches('\n').count()).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::tests::Fixture;
    use super::*;

    fn replace_a() -> EditArgs {
        EditArgs {
            file_path: "f.txt".to_owned(),
            old_string: "a".to_owned(),
            new_string: "b".to_owned(),
            all: false,
        }
    }

    /// B-4
    #[test]
    fn a_file_that_changes_during_an_edit_is_left_alone() {
        type Change = (&'static str, fn(&Path));
        let changes: [Change; 4] = [
            ("rewritten", |path| fs::write(path, "other a").unwrap()),
            ("replaced", |path| {
                fs::write(path.with_extension("new"), "A").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("removed", |path| fs::remove_file(path).unwrap()),
            ("made a link", |path| {
                fs::remove_file(path).unwrap();
                std::os::unix::fs::symlink("g.txt", path).unwrap();
            }),
        ];
        for (name, change) in changes {
            let fixture = Fixture::new(&[("f.txt", "a")]);
            let path = fixture.path("f.txt");
            let limits = FileLimits::default();
            let error = edit_with(&fixture.root, &replace_a(), &limits, || change(&path)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "`f.txt` was changed by someone else during the edit; nothing was written: read it again",
                "{name}"
            );
            assert_eq!(fixture.temporary_files(), 0, "{name}");
            assert!(fs::read_to_string(&path).map_or(true, |now| now == "other a" || now == "A"), "{name}");
        }
    }
}
