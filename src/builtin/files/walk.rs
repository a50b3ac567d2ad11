//! Walking a directory tree by descriptors.
//!
//! Owns the order, the bounds and the ignore rules of every walk (B-1, B-3). Each directory and file is
//! opened by its name relative to the descriptor of the directory it was listed in, never through a link;
//! a directory whose descriptor had to be closed is opened again beneath the root. It must never recurse,
//! hold more than a fixed number of descriptors, or open by a path of the process.
//! The order is by component, names compared as bytes; a directory comes right before what is in it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::DIR;
use super::error::FileError;
use super::open::open_dir;
use super::root::Root;
use super::rules::{RULE_FILES, Rules};
use super::target::Target;

/// Most directories of a walk that are open at once.
const MAX_OPEN: usize = 32;

/// Entries read between two looks at the cancellation.
const CANCEL_STRIDE: usize = 256;

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link; it cannot be opened.
    Symlink,
    /// A pipe, device or socket; it cannot be opened.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }
}

/// What a walk passes over.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkOptions {
    /// Visit names that start with a dot.
    pub(super) hidden: bool,
    /// Visit what the ignore rules leave out, and `.git`.
    pub(super) ignored: bool,
    /// Directories entered below each other, the start included.
    pub(super) max_depth: usize,
    /// Entries looked at before the walk gives up.
    pub(super) max_visited: usize,
}

#[derive(Debug)]
struct Entry {
    name: OsString,
    kind: EntryKind,
}

#[derive(Debug)]
struct Frame {
    /// `None` while it had to be closed.
    dir: Option<OwnedFd>,
    rest: std::vec::IntoIter<Entry>,
    path_len: usize,
}

/// A walk in progress.
pub(super) struct Walk<'a> {
    root: &'a Root,
    options: WalkOptions,
    cancelled: &'a dyn Fn() -> bool,
    stack: Vec<Frame>,
    /// The frames from this one on are open, those before it are not.
    first_open: usize,
    rules: Vec<Rules>,
    /// The entry returned last, below the root.
    path: Vec<u8>,
    start_len: usize,
    name: OsString,
    enter: bool,
    visited: usize,
    /// Entries were left out because there are too many.
    pub(super) truncated: bool,
    /// Directories that could not be opened or vanished.
    pub(super) unreadable: u64,
}

impl<'a> Walk<'a> {
    /// Starts at the directory `start`, which is walked even if a rule would leave it out.
    pub(super) fn start(
        root: &'a Root,
        start: &Target,
        options: WalkOptions,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Result<Self, FileError> {
        let dir = open_dir(root, start)?;
        let mut walk = Self {
            root,
            options,
            cancelled,
            stack: Vec::new(),
            first_open: 0,
            rules: Vec::new(),
            path: start.rel().as_bytes().to_vec(),
            start_len: start.rel().len(),
            name: OsString::new(),
            enter: false,
            visited: 0,
            truncated: false,
            unreadable: 0,
        };
        if !options.ignored {
            walk.load_rules_above(start);
        }
        walk.push(dir)?;
        Ok(walk)
    }

    /// The next entry; it is then what [`Self::path`], [`Self::open`] and [`Self::stat`] speak of.
    pub(super) fn next(&mut self) -> Result<Option<EntryKind>, FileError> {
        if std::mem::take(&mut self.enter) {
            match self.open(DIR) {
                Ok(dir) => self.push(dir)?,
                Err(_) => self.unreadable += 1,
            }
        }
        loop {
            if (self.cancelled)() {
                return Err(FileError::Cancelled);
            }
            let Some(frame) = self.stack.last_mut() else { return Ok(None) };
            self.path.truncate(frame.path_len);
            let Some(entry) = frame.rest.next() else {
                self.pop();
                continue;
            };
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(entry.name.as_bytes());
            let is_dir = entry.kind == EntryKind::Dir;
            if self.passes_over(entry.name.as_bytes(), is_dir) {
                continue;
            }
            self.enter = is_dir && self.stack.len() < self.options.max_depth;
            self.name = entry.name;
            return Ok(Some(entry.kind));
        }
    }

    /// The last entry's path below the root.
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The last entry's path below the start of the walk.
    pub(super) fn path_below_start(&self) -> &Path {
        let below = self.path.get(self.start_len..).unwrap_or_default();
        as_path(below.strip_prefix(b"/").unwrap_or(below))
    }

    /// Opens the last entry, relative to the directory it was found in.
    pub(super) fn open(&mut self, flags: OFlags) -> Result<OwnedFd, Errno> {
        let name = std::mem::take(&mut self.name);
        let opened = self.dir().and_then(|dir| openat(dir, &name, flags | OFlags::NOFOLLOW, Mode::empty()));
        self.name = name;
        opened
    }

    /// The state of the last entry itself, not of what a link points to.
    pub(super) fn stat(&mut self) -> Result<Stat, Errno> {
        let name = std::mem::take(&mut self.name);
        let stat = self.dir().and_then(|dir| statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW));
        self.name = name;
        stat
    }

    /// How many directories are open now.
    #[cfg(test)]
    pub(super) fn open_dirs(&self) -> usize {
        assert!(
            self.stack.iter().enumerate().all(|(at, frame)| frame.dir.is_some() == (at >= self.first_open))
        );
        self.stack.len() - self.first_open
    }

    fn passes_over(&self, name: &[u8], is_dir: bool) -> bool {
        if !self.options.hidden && name.starts_with(b".") {
            return true;
        }
        if self.options.ignored {
            return false;
        }
        // The innermost rules that speak of a path decide.
        name == b".git"
            || self.rules.iter().rev().find_map(|rules| rules.ignored(&self.path, is_dir)).unwrap_or(false)
    }

    /// The directory of the last entry, opened again if it had to be closed.
    fn dir(&mut self) -> Result<BorrowedFd<'_>, Errno> {
        if self.first_open == self.stack.len() {
            self.reopen()?;
        }
        self.stack.last().and_then(|frame| frame.dir.as_ref()).map(OwnedFd::as_fd).ok_or(Errno::NOENT)
    }

    /// Opens the innermost frames again: one beneath the root, the rest step by step from it. Opening
    /// several at once keeps a walk that comes back up a deep tree from going all the way down each time.
    fn reopen(&mut self) -> Result<(), Errno> {
        let first = self.stack.len().saturating_sub(MAX_OPEN / 2);
        let path = |to: usize| self.path.get(..to).unwrap_or_default();
        let mut opened: Vec<OwnedFd> = Vec::new();
        let mut from = 0;
        for frame in self.stack.get(first..).unwrap_or_default() {
            let dir = match opened.last() {
                None => self.root.beneath().open(path(frame.path_len), DIR)?,
                Some(above) => {
                    let name = path(frame.path_len).get(from..).unwrap_or_default();
                    let name = name.strip_prefix(b"/").unwrap_or(name);
                    openat(above, name, DIR, Mode::empty())?
                }
            };
            from = frame.path_len;
            opened.push(dir);
        }
        for (frame, dir) in self.stack.iter_mut().skip(first).zip(opened) {
            frame.dir = Some(dir);
        }
        self.first_open = first;
        Ok(())
    }

    fn push(&mut self, dir: OwnedFd) -> Result<(), FileError> {
        let Some(entries) = self.read_dir(&dir)? else {
            self.unreadable += 1;
            return Ok(());
        };
        let depth = self.stack.len() + 1;
        let has_rules = || entries.iter().any(|entry| RULE_FILES.iter().any(|name| entry.name == *name));
        if !self.options.ignored && has_rules() {
            self.rules.extend(Rules::load(dir.as_fd(), self.path.len(), depth));
        }
        if self.stack.len() - self.first_open >= MAX_OPEN {
            if let Some(frame) = self.stack.get_mut(self.first_open) {
                frame.dir = None;
            }
            self.first_open += 1;
        }
        self.stack.push(Frame { dir: Some(dir), rest: entries.into_iter(), path_len: self.path.len() });
        Ok(())
    }

    fn pop(&mut self) {
        let depth = self.stack.len();
        self.stack.pop();
        self.first_open = self.first_open.min(self.stack.len());
        while self.rules.last().is_some_and(|rules| rules.depth >= depth) {
            self.rules.pop();
        }
    }

    /// Reads a directory, sorted; `None` when it cannot be read.
    fn read_dir(&mut self, dir: &OwnedFd) -> Result<Option<Vec<Entry>>, FileError> {
        let Ok(listing) = Dir::read_from(dir) else { return Ok(None) };
        let mut entries = Vec::new();
        for (index, entry) in listing.enumerate() {
            if index % CANCEL_STRIDE == 0 && (self.cancelled)() {
                return Err(FileError::Cancelled);
            }
            let Ok(entry) = entry else { return Ok(None) };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.visited >= self.options.max_visited {
                self.truncated = true;
                break;
            }
            self.visited += 1;
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            entries.push(Entry { name: OsString::from_vec(name.to_vec()), kind: kind.into() });
        }
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(Some(entries))
    }

    fn load_rules_above(&mut self, start: &Target) {
        let rel = start.rel();
        let slashes = rel.match_indices('/').map(|(at, _)| at);
        let above = std::iter::once(0).chain(slashes).filter(|_| !rel.is_empty());
        for end in above {
            let Some(prefix) = rel.as_bytes().get(..end) else { continue };
            if let Ok(dir) = self.root.beneath().open(prefix, DIR) {
                self.rules.extend(Rules::load(dir.as_fd(), end, 0));
            }
        }
    }
}

/// Whether a count is left out of a value.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "what `serde` asks for")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Bytes as a path.
pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A path for display, and whether bytes of it could not be shown.
pub(super) fn show(path: &[u8]) -> (String, bool) {
    match std::str::from_utf8(path) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (String::from_utf8_lossy(path).into_owned(), true),
    }
}
