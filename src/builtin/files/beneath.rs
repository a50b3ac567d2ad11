//! Opening beneath the root, atomically.
//!
//! Owns the one place where a path reaches the kernel (B-3). `openat2` resolves it in one call that can
//! neither leave the root nor pass a link; where the kernel or a seccomp filter does not allow that call,
//! a walk opens component after component, each relative to the descriptor before it and none through a
//! link. It must never call anything that resolves a path of several components without those guards.
//! It returns raw error numbers; [`super::open`] turns them into errors that a model reads.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, Result};

/// How files are opened for reading: never waiting for a writer, never becoming a terminal's owner.
pub(super) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How directories are opened for listing.
pub(super) const DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How directories are opened only to go on from them: search permission is enough on Linux.
#[cfg(target_os = "linux")]
pub(super) const STEP: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(super) const STEP: OFlags = DIR;

/// Bytes of a path that are passed to the kernel at once; it takes less than 4,096.
const MAX_STEP: usize = 4_000;

/// A directory beneath which files are opened.
#[derive(Debug)]
pub(super) struct Beneath {
    dir: OwnedFd,
    /// Set once `openat2` turned out not to work here.
    walk_only: AtomicBool,
}

impl Beneath {
    pub(super) fn new(dir: OwnedFd) -> Self {
        let beneath = Self { dir, walk_only: AtomicBool::new(false) };
        if open_guarded(beneath.dir.as_fd(), b".", STEP).is_err() {
            beneath.force_walk();
        }
        beneath
    }

    /// From now on opens by the component walk.
    pub(super) fn force_walk(&self) {
        self.walk_only.store(true, Ordering::Relaxed);
    }

    /// Opens `rel`, which has `/` between its components and none of them `..`; empty is the root.
    pub(super) fn open(&self, rel: &[u8], flags: OFlags) -> Result<OwnedFd> {
        if rel.is_empty() {
            return openat(&self.dir, ".", flags, Mode::empty());
        }
        // Callers never pass these; a walk that met one could climb out.
        if rel.split(|byte| *byte == b'/').any(|part| part.is_empty() || part == b"..") {
            return Err(Errno::XDEV);
        }
        if !self.walk_only.load(Ordering::Relaxed) {
            match self.open_in_steps(rel, flags, long_step, open_guarded) {
                // Not in this kernel, or forbidden by a filter: neither will change.
                Err(Errno::NOSYS | Errno::PERM) => self.force_walk(),
                // A concurrent rename made the kernel give up.
                Err(Errno::AGAIN) => {}
                other => return other,
            }
        }
        self.open_in_steps(rel, flags, first_component, open_one)
    }

    /// Opens as much of `rel` as `step` takes at once, relative to what was opened before.
    fn open_in_steps(
        &self,
        mut rel: &[u8],
        flags: OFlags,
        step: fn(&[u8]) -> usize,
        open: fn(BorrowedFd<'_>, &[u8], OFlags) -> Result<OwnedFd>,
    ) -> Result<OwnedFd> {
        let mut current: Option<OwnedFd> = None;
        loop {
            let at = current.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
            match rel.split_at_checked(step(rel)) {
                Some((part, [_slash, rest @ ..])) => {
                    current = Some(open(at, part, STEP)?);
                    rel = rest;
                }
                Some(_) | None => return open(at, rel, flags),
            }
        }
    }
}

/// Bytes of the first component.
fn first_component(rel: &[u8]) -> usize {
    rel.iter().position(|byte| *byte == b'/').unwrap_or(rel.len())
}

/// Bytes of as many components as one system call takes.
fn long_step(rel: &[u8]) -> usize {
    match rel.get(..MAX_STEP) {
        None => rel.len(),
        Some(start) => start.iter().rposition(|byte| *byte == b'/').unwrap_or_else(|| first_component(rel)),
    }
}

/// Opens one component, which must not be a link.
fn open_one(at: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd> {
    openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens a path of which no component may be a link, and which cannot leave `at`.
#[cfg(target_os = "linux")]
fn open_guarded(at: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(at, path, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
fn open_guarded(_at: BorrowedFd<'_>, _path: &[u8], _flags: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-3
    #[test]
    fn long_paths_are_opened_in_steps_of_whole_components() {
        assert_eq!(long_step(b"a/b"), 3);
        let component = [b'x'; 99];
        let path = [component.as_slice()].repeat(100).join(&b'/');
        assert_eq!(long_step(&path), 3_999);
        assert_eq!(long_step(&[b'x'; 5_000]), 5_000);
    }

    /// B-3
    #[test]
    fn a_path_that_could_climb_is_not_opened() {
        let dir = rustix::fs::open("/tmp", STEP, Mode::empty()).unwrap();
        let beneath = Beneath::new(dir);
        for path in ["..", "a/../..", "/etc", "a//b"] {
            assert_eq!(beneath.open(path.as_bytes(), FILE).unwrap_err(), Errno::XDEV, "{path}");
        }
    }
}
