//! Replacing a file in one step.
//!
//! Owns how new content takes the place of old (B-4): written to a temporary file in the same directory,
//! synced, renamed, and the directory synced. Everything is relative to the directory's descriptor, by
//! single names; a link that stands where the file is to go is replaced, not followed. A failure leaves
//! the old file as it was and no temporary file behind.
//! It must never open the file it replaces. Owner and permission bits are kept, set-id bits, access lists
//! and extended attributes are not; other hard links of the old file keep the old content.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fsync, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Mode of a new file, before the process's mask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o644);
/// Permission bits that are kept.
const KEPT_MODE: Mode = Mode::from_raw_mode(0o777);
/// Names tried for the temporary file.
const ATTEMPTS: usize = 8;

/// What tells one state of a file from another: device, inode, size, and time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity([i128; 5]);

impl Identity {
    pub(super) fn of(stat: &Stat) -> Self {
        // The types of these fields differ between platforms; each fits.
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mtime),
            i128::from(stat.st_mtime_nsec),
        ])
    }
}

/// Why a staged file did not take its place.
#[derive(Debug)]
pub(super) enum CommitError {
    /// The file to replace is not the one expected.
    Changed,
    Io(io::Error),
}

/// New content, on disk under a temporary name. Dropping it removes that file.
#[derive(Debug)]
pub(super) struct Staged<'a> {
    dir: &'a OwnedFd,
    temporary: String,
    renamed: bool,
}

/// Writes `content` to a temporary file in `dir`, with the owner and mode of `old` if there is one.
pub(super) fn stage<'a>(dir: &'a OwnedFd, content: &[u8], old: Option<&Stat>) -> io::Result<Staged<'a>> {
    let (file, temporary) = create(dir, if old.is_some() { Mode::RUSR | Mode::WUSR } else { NEW_FILE })?;
    let staged = Staged { dir, temporary, renamed: false };
    let mut file = File::from(file);
    file.write_all(content)?;
    if let Some(old) = old {
        // Only a privileged process may give files away; for others the new file is their own.
        let _ = fchown(&file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
        fchmod(&file, Mode::from_raw_mode(old.st_mode) & KEPT_MODE)?;
    }
    fsync(&file)?;
    Ok(staged)
}

impl Staged<'_> {
    /// Puts the file in the place of `name`, if that still is what was `expected`; `None` does not ask.
    pub(super) fn commit(mut self, name: &str, expected: Option<Identity>) -> Result<(), CommitError> {
        if let Some(expected) = expected {
            match statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(now) if Identity::of(&now) == expected => {}
                Ok(_) | Err(Errno::NOENT) => return Err(CommitError::Changed),
                Err(errno) => return Err(CommitError::Io(errno.into())),
            }
        }
        renameat(self.dir, self.temporary.as_str(), self.dir, name)
            .map_err(|errno| CommitError::Io(errno.into()))?;
        self.renamed = true;
        sync_dir(self.dir).map_err(CommitError::Io)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing can be done if even this fails.
            let _ = unlinkat(self.dir, self.temporary.as_str(), AtFlags::empty());
        }
    }
}

/// Makes what happened to names in `dir` last, where the file system can.
pub(super) fn sync_dir(dir: &OwnedFd) -> io::Result<()> {
    match fsync(dir.as_fd()) {
        Err(Errno::INVAL | Errno::ROFS) | Ok(()) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn create(dir: &OwnedFd, mode: Mode) -> io::Result<(OwnedFd, String)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..ATTEMPTS {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!(".isolane-{:032x}.tmp", u128::from_ne_bytes(random));
        match openat(dir, name.as_str(), flags, mode) {
            Err(Errno::EXIST) => {}
            other => return Ok((other?, name)),
        }
    }
    Err(Errno::EXIST.into())
}
