//! Ignore rules of one directory.
//!
//! Owns how `.gitignore` and `.ignore` files become a matcher. They are read through descriptors like any
//! other file and bounded, because a repository's author is not trusted. It must never read rules from
//! outside the root: neither the user's global ones nor those of directories above it.

use std::os::fd::{AsFd, BorrowedFd};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Mode, openat};

use super::beneath::FILE;
use super::limits::MAX_GLOB_BYTES;
use super::open::{Opened, classify};

/// Files that hold rules; those of a later one win.
pub(super) const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

const MAX_RULE_FILE_BYTES: u64 = 256 * 1024;

/// The rules that stand in one directory.
#[derive(Debug)]
pub(super) struct Rules {
    matcher: Gitignore,
    /// Length in bytes of the directory's path.
    prefix: usize,
    /// How many directories the walk is in while these rules hold; 0 for those above its start.
    pub(super) depth: usize,
}

impl Rules {
    /// Reads the rules in `dir`, whose path is `prefix` bytes long; `None` when there are none.
    pub(super) fn load(dir: BorrowedFd<'_>, prefix: usize, depth: usize) -> Option<Self> {
        let mut builder = GitignoreBuilder::new(".");
        for name in RULE_FILES {
            let Some(text) = read_rules(dir, name) else { continue };
            for line in
                text.trim_start_matches('\u{feff}').lines().filter(|line| line.len() <= MAX_GLOB_BYTES)
            {
                // A line that is not a rule is left out, as git does.
                let _ = builder.add_line(None, line);
            }
        }
        let matcher = builder.build().ok().filter(|matcher| !matcher.is_empty())?;
        Some(Self { matcher, prefix, depth })
    }

    /// Whether `path`, below these rules' directory, is ignored; `None` when they do not say.
    pub(super) fn ignored(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let below = path.get(self.prefix..)?;
        let below = below.strip_prefix(b"/").unwrap_or(below);
        match self.matcher.matched(super::walk::as_path(below), is_dir) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}

fn read_rules(dir: BorrowedFd<'_>, name: &str) -> Option<String> {
    let file = openat(dir.as_fd(), name, FILE, Mode::empty()).ok()?;
    let Ok(Opened::File(file)) = classify(file, name) else { return None };
    let bytes = file.bytes(name, MAX_RULE_FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
