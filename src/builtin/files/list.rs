//! The `list` tool.
//!
//! Owns what a directory listing holds. It must never open what it lists except directories it enters;
//! [`super::walk`] decides what is visited.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::limits::FileLimits;
use super::root::Root;
use super::walk::{EntryKind, Walk, WalkOptions, is_zero, show};

/// Arguments of `list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArgs {
    /// Directory to list, relative to the root. Default: the root.
    pub path: Option<String>,
    /// Levels to list: 1 is the directory itself, 2 also what its directories hold. Default: 1.
    #[schemars(range(min = 1))]
    pub depth: Option<u32>,
    /// List names that start with a dot too.
    #[serde(default)]
    pub hidden: bool,
    /// List what `.gitignore` and `.ignore` files leave out too, and `.git`.
    #[serde(default)]
    pub ignored: bool,
}

/// A directory listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListOutput {
    /// The entries, sorted by path; a directory comes right before what is in it.
    pub entries: Vec<ListEntry>,
    /// Whether entries are missing because there are too many.
    pub truncated: bool,
    /// Directories whose entries are missing because they could not be read; absent when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListEntry {
    /// Path relative to the root.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes; regular files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// Set when the name is not UTF-8: `path` then shows U+FFFD for the bytes that are not, and cannot be
    /// opened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// Lists a directory (B-1).
///
/// # Errors
/// [`FileError`] when the path is refused (B-3) or names no directory, or on cancellation.
pub fn list(
    root: &Root,
    args: &ListArgs,
    limits: &FileLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<ListOutput, FileError> {
    let depth = args.depth.unwrap_or(1);
    if depth == 0 {
        let rule = "must be at least 1, which lists the directory itself";
        return Err(FileError::Argument { argument: "depth", rule });
    }
    let start = root.target("path", args.path.as_deref().unwrap_or("."))?;
    let options = WalkOptions {
        hidden: args.hidden,
        ignored: args.ignored,
        max_depth: usize::try_from(depth).unwrap_or(usize::MAX),
        max_visited: limits.max_visited,
    };
    let mut walk = Walk::start(root, &start, options, cancelled)?;
    let mut entries = Vec::new();
    let mut bytes_left = limits.max_result_bytes;
    let mut full = false;
    while let Some(kind) = walk.next()? {
        if entries.len() >= limits.max_entries || bytes_left == 0 {
            full = true;
            break;
        }
        bytes_left = bytes_left.saturating_sub(walk.path().len());
        let size = match kind {
            EntryKind::File => walk.stat().ok().and_then(|stat| u64::try_from(stat.st_size).ok()),
            EntryKind::Dir | EntryKind::Symlink | EntryKind::Other => None,
        };
        let (path, lossy) = show(walk.path());
        entries.push(ListEntry { path, kind, size, lossy });
    }
    Ok(ListOutput { entries, truncated: full || walk.truncated, unreadable: walk.unreadable })
}
