//! File tools under one root: `read`, `list`, `glob`, `grep`, `write`, `edit`.
//!
//! Owns the rules of B-1 to B-4 as plain synchronous functions over a [`Root`]: how a path is resolved,
//! how a file is opened, searched and replaced, and what a model reads when that fails.
//! It must never open anything by a path that the kernel resolves from outside the root, never follow a
//! symbolic link, and never decide by a check that a later open could invalidate: every file is opened
//! first, relative to a descriptor, and judged by its own descriptor.
//! The functions know nothing of tool definitions, threads or cancellation tokens: `tools` wraps them, runs
//! them on a blocking thread and passes a closure that says whether to stop.

mod atomic;
mod beneath;
mod edit;
mod error;
mod glob;
mod grep;
mod language;
mod limits;
mod list;
mod near;
mod open;
mod read;
mod root;
mod rules;
mod sink;
mod target;
mod tools;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use edit::{EditArgs, EditOutput, edit};
pub use error::{FileError, NearText, SpecialKind};
pub use glob::{GlobArgs, GlobOutput, glob};
pub use grep::{FileCount, GrepArgs, GrepMatch, GrepMode, GrepOutput, GrepSkipped, grep};
pub use language::language_of;
pub use limits::FileLimits;
pub use list::{ListArgs, ListEntry, ListOutput, list};
pub use read::{LineEnding, ReadArgs, ReadLine, ReadOutput, read};
pub use root::Root;
pub use tools::{FileToolOptions, file_tools};
pub use walk::EntryKind;
pub use write::{DiffData, WriteArgs, WriteOutput, write};
