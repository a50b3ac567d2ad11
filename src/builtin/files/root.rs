//! The directory that the file tools see.
//!
//! Owns [`Root`]: the opened directory and the names under which absolute paths may refer to it. It must
//! never be reopened by its path: whoever renames the directory does not move the tools to another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::beneath::Beneath;
use super::error::FileError;
use super::target::Target;

/// A directory that file tools are confined to (B-3). Cloning is cheap and shares the descriptor.
#[derive(Debug, Clone)]
pub struct Root(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    given: PathBuf,
    beneath: Beneath,
}

impl Root {
    /// Opens `path`, which the host trusts: links in it are followed, this once.
    ///
    /// # Errors
    /// [`FileError::Root`] when it is missing, not a directory, or not readable.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |source: std::io::Error| FileError::Root { path: path.to_owned(), source };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| fail(errno.into()))?;
        let given = std::path::absolute(path).map_err(fail)?;
        let path = std::fs::canonicalize(path).map_err(fail)?;
        Ok(Self(Arc::new(Inner { path, given, beneath: Beneath::new(dir) })))
    }

    /// The root's absolute path without links, as it was when the root was opened.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub(super) fn beneath(&self) -> &Beneath {
        &self.0.beneath
    }

    /// The path in `argument`.
    pub(super) fn target(&self, argument: &'static str, given: &str) -> Result<Target, FileError> {
        Target::resolve(argument, given, &[&self.0.path, &self.0.given])
    }
}
