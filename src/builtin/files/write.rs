//! The `write` tool.
//!
//! Owns what may be written where; [`super::atomic`] owns how. It must never truncate a file in place, and
//! never create a directory through a link: each is made and opened relative to the one above it.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, mkdirat, openat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::atomic::{CommitError, stage, sync_dir};
use super::beneath::{DIR, FILE};
use super::error::FileError;
use super::limits::{FileLimits, MAX_NEW_DIRS};
use super::open::{Opened, Regular, classify, diagnose, open_dir};
use super::root::Root;
use super::target::Target;

/// Arguments of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteArgs {
    /// File to write, relative to the root; it is made, or replaced if it exists.
    pub file_path: String,
    /// The whole new content.
    pub content: String,
    /// Make the directories above the file that do not exist.
    #[serde(default)]
    pub create_dirs: bool,
}

/// What `write` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteOutput {
    /// The file, relative to the root.
    pub path: String,
    /// Size of the file now, in bytes.
    pub bytes_written: u64,
    /// Whether the file did not exist before.
    pub created: bool,
}

/// One file of a diff card (T-16), for a user interface; not part of the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffData {
    /// The file, relative to the root.
    pub path: String,
    /// The content before; `None` when there was no file, or one that is not text or too large to read.
    pub old: Option<String>,
    /// The content now.
    pub new: String,
}

/// Writes a file, atomically (B-4). Of concurrent writes the last one wins.
///
/// # Errors
/// [`FileError`] when the path is refused (B-3), names something that is no regular file, or its directory
/// does not exist; the file is then as it was.
pub fn write(
    root: &Root,
    args: &WriteArgs,
    limits: &FileLimits,
) -> Result<(WriteOutput, DiffData), FileError> {
    let target = root.target("file_path", &args.file_path)?;
    let given = target.given();
    let bytes = u64::try_from(args.content.len()).unwrap_or(u64::MAX);
    let limit = limits.max_file_bytes;
    if bytes > limit {
        return Err(FileError::TooLarge { path: given.to_owned(), bytes, limit });
    }
    let Some((parent, name)) = target.split() else {
        return Err(FileError::IsDirectory { path: given.to_owned() });
    };
    if given.ends_with('/') {
        return Err(FileError::Argument {
            argument: "file_path",
            rule: "must name a file, not a directory; leave out the `/` at its end",
        });
    }
    let dir = open_parent(root, &parent, args.create_dirs)?;
    let old = match open_in(root, &target, &dir, name) {
        Ok(old) => Some(old),
        Err(FileError::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let old_text = old.as_ref().and_then(|old| old.text(given, limit).ok());
    let staged = stage(&dir, args.content.as_bytes(), old.as_ref().map(|old| &old.stat))
        .map_err(|error| FileError::io(given, "write", error))?;
    staged.commit(name, None).map_err(|error| commit_error(given, error))?;
    let path = target.shown().to_owned();
    let output = WriteOutput { path: path.clone(), bytes_written: bytes, created: old.is_none() };
    Ok((output, DiffData { path, old: old_text, new: args.content.clone() }))
}

/// Opens the file `name` in `dir`, which is `target`.
pub(super) fn open_in(root: &Root, target: &Target, dir: &OwnedFd, name: &str) -> Result<Regular, FileError> {
    let path = || target.given().to_owned();
    let file = match openat(dir, name, FILE, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::LOOP) => return Err(FileError::Symlink { path: path(), link: target.shown().to_owned() }),
        Err(errno) => return Err(diagnose(root, target, errno)),
    };
    match classify(file, target.given())? {
        Opened::File(file) => Ok(file),
        Opened::Dir => Err(FileError::IsDirectory { path: path() }),
    }
}

/// What a failed commit means for the file at `given`.
pub(super) fn commit_error(given: &str, error: CommitError) -> FileError {
    match error {
        CommitError::Changed => FileError::Changed { path: given.to_owned() },
        CommitError::Io(error) => FileError::io(given, "replace", error),
    }
}

fn open_parent(root: &Root, parent: &Target, create: bool) -> Result<OwnedFd, FileError> {
    match open_dir(root, parent) {
        Err(FileError::NotFound { .. }) if create => make_dirs(root, parent),
        Err(FileError::NotFound { path, missing, near }) => {
            Err(FileError::MissingParent { path, missing, near })
        }
        other => other,
    }
}

fn make_dirs(root: &Root, parent: &Target) -> Result<OwnedFd, FileError> {
    let given = parent.given();
    let fail = |errno: Errno| match errno {
        Errno::LOOP | Errno::NOTDIR => diagnose(root, parent, errno),
        other => FileError::io(given, "make the directories of", other),
    };
    let mut current = root.beneath().open(b"", DIR).map_err(fail)?;
    let mut parts = parent.components();
    let mut made = false;
    while let Some(part) = parts.next() {
        let next = match openat(&current, part, DIR, Mode::empty()) {
            Err(Errno::NOENT) => {
                let needed = parts.clone().count() + 1;
                if !made && needed > MAX_NEW_DIRS {
                    let path = given.to_owned();
                    return Err(FileError::TooManyDirectories { path, needed, limit: MAX_NEW_DIRS });
                }
                match mkdirat(&current, part, Mode::from_raw_mode(0o777)) {
                    // Someone else made it meanwhile; the open decides whether it is a directory.
                    Ok(()) | Err(Errno::EXIST) => made = true,
                    Err(errno) => return Err(fail(errno)),
                }
                sync_dir(&current).map_err(|error| FileError::io(given, "write", error))?;
                openat(&current, part, DIR, Mode::empty())
            }
            other => other,
        };
        current = next.map_err(fail)?;
    }
    Ok(current)
}
