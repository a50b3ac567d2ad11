//! Files opened beneath the root, and why one could not be opened.
//!
//! Owns the step from a [`Target`] to a descriptor that is known to be a regular file or a directory, and
//! the diagnosis afterwards. What the diagnosis finds only words the error: it never decides whether
//! something is opened. It must never open by anything but [`super::beneath`].

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::beneath::{DIR, FILE, STEP};
use super::error::{FileError, SpecialKind};
use super::near;
use super::root::Root;
use super::target::Target;

/// A regular file, open for reading, with its state right after the open.
#[derive(Debug)]
pub(super) struct Regular {
    pub(super) file: File,
    pub(super) stat: Stat,
}

/// What a path named.
#[derive(Debug)]
pub(super) enum Opened {
    File(Regular),
    Dir,
}

/// Opens a file, or finds out that the path names a directory.
pub(super) fn open_any(root: &Root, target: &Target) -> Result<Opened, FileError> {
    let file = root.beneath().open(target.rel().as_bytes(), FILE);
    classify(file.map_err(|errno| diagnose(root, target, errno))?, target.given())
}

/// Opens a regular file.
pub(super) fn open_file(root: &Root, target: &Target) -> Result<Regular, FileError> {
    match open_any(root, target)? {
        Opened::File(file) => Ok(file),
        Opened::Dir => Err(FileError::IsDirectory { path: target.given().to_owned() }),
    }
}

/// Opens a directory.
pub(super) fn open_dir(root: &Root, target: &Target) -> Result<OwnedFd, FileError> {
    root.beneath().open(target.rel().as_bytes(), DIR).map_err(|errno| diagnose(root, target, errno))
}

/// Judges an open descriptor by itself.
pub(super) fn classify(file: OwnedFd, given: &str) -> Result<Opened, FileError> {
    let stat = fstat(&file).map_err(|errno| FileError::io(given, "look at", errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Opened::File(Regular { file: File::from(file), stat })),
        FileType::Directory => Ok(Opened::Dir),
        kind => Err(FileError::Special { path: given.to_owned(), kind: special(kind) }),
    }
}

impl Regular {
    /// The whole content, if it is at most `limit` bytes.
    pub(super) fn bytes(&self, given: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        let stated = u64::try_from(self.stat.st_size).unwrap_or(0);
        let too_large = |bytes| FileError::TooLarge { path: given.to_owned(), bytes, limit };
        if stated > limit {
            return Err(too_large(stated));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stated).unwrap_or(0));
        // Some files state no size, and any may grow while it is read.
        (&self.file)
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| FileError::io(given, "read", error))?;
        match u64::try_from(bytes.len()) {
            Ok(length) if length <= limit => Ok(bytes),
            other => Err(too_large(other.unwrap_or(u64::MAX))),
        }
    }

    /// The whole content as text.
    pub(super) fn text(&self, given: &str, limit: u64) -> Result<String, FileError> {
        String::from_utf8(self.bytes(given, limit)?).map_err(|error| FileError::NotUtf8 {
            path: given.to_owned(),
            offset: error.utf8_error().valid_up_to(),
        })
    }
}

fn special(kind: FileType) -> SpecialKind {
    match kind {
        FileType::Fifo => SpecialKind::Fifo,
        FileType::Socket => SpecialKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => SpecialKind::Device,
        _ => SpecialKind::Other,
    }
}

/// Why opening `target` failed with `errno`.
pub(super) fn diagnose(root: &Root, target: &Target, errno: Errno) -> FileError {
    let given = target.given();
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
            find_obstacle(root, target).unwrap_or_else(|| FileError::io(given, "open", errno))
        }
        Errno::NAMETOOLONG => {
            let bytes = target.components().map(str::len).max().unwrap_or_default();
            FileError::NameTooLong { argument: target.argument(), bytes }
        }
        other => FileError::io(given, "open", other),
    }
}

/// The first component that cannot be passed, if there still is one.
fn find_obstacle(root: &Root, target: &Target) -> Option<FileError> {
    let path = target.given().to_owned();
    let mut current = root.beneath().open(b"", STEP).ok()?;
    let mut prefix = String::new();
    let mut parts = target.components().peekable();
    while let Some(part) = parts.next() {
        let parent = prefix.clone();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        prefix.push_str(part);
        let stat = match statat(&current, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => {
                let near = near::sibling(current.as_fd(), part).map(|name| join(&parent, &name));
                // The path as given, where it means the same: the hint then speaks of one path only.
                let missing = if parts.peek().is_none() && target.is_whole() { path.clone() } else { prefix };
                return Some(FileError::NotFound { path, missing, near });
            }
            Err(_) => return None,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => return Some(FileError::Symlink { path, link: prefix }),
            FileType::Directory => current = openat(&current, part, STEP, Mode::empty()).ok()?,
            kind if parts.peek().is_none() && kind != FileType::RegularFile => {
                return Some(FileError::Special { path, kind: special(kind) });
            }
            _ => return Some(FileError::NotADirectory { path, at: prefix }),
        }
    }
    None
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}
