//! Behaviour of the file tools, on both ways of opening.
//!
//! Owns the fixture that the test files share. Every test that opens something runs once with `openat2`,
//! where the kernel has it, and once with the component walk.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

mod deep;
mod escape;
mod grep_tool;
mod hostile;
mod props;
mod race;
mod reading;
mod writing;

/// A temporary directory with a root in it, and a place outside the root.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) dir: TempDir,
    pub(super) root: Root,
}

impl Fixture {
    /// Makes the files, with the directories above them.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret.txt"), "secret\n").unwrap();
        let root = Root::open(&dir.path().join("root")).unwrap();
        let fixture = Self { dir, root };
        for (name, content) in files {
            fixture.put(name, content);
        }
        fixture
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("root").join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join("outside").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn link(&self, to: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(to, self.path(name)).unwrap();
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Temporary files left behind in the root directory.
    pub(super) fn temporary_files(&self) -> usize {
        let entries = fs::read_dir(self.path(".")).unwrap();
        entries
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "tmp"))
            .count()
    }

    fn read(&self, path: &str) -> Result<ReadOutput, FileError> {
        read(&self.root, &read_args(path), &FileLimits::default())
    }

    fn list(&self, args: &ListArgs) -> Result<ListOutput, FileError> {
        list(&self.root, args, &FileLimits::default(), &|| false)
    }

    fn glob(&self, args: &GlobArgs) -> Result<GlobOutput, FileError> {
        glob(&self.root, args, &FileLimits::default(), &|| false)
    }

    fn grep(&self, args: &GrepArgs) -> Result<GrepOutput, FileError> {
        grep(&self.root, args, &FileLimits::default(), &|| false)
    }

    fn write(&self, path: &str, content: &str) -> Result<(WriteOutput, DiffData), FileError> {
        write(&self.root, &write_args(path, content), &FileLimits::default())
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<(EditOutput, DiffData), FileError> {
        edit(&self.root, &edit_args(path, old, new), &FileLimits::default())
    }
}

/// Runs `check` on a fresh fixture for each way of opening.
fn on_both_ways(files: &[(&str, &str)], check: impl Fn(&Fixture)) {
    check(&Fixture::new(files));
    let fixture = Fixture::new(files);
    fixture.root.beneath().force_walk();
    check(&fixture);
}

fn read_args(path: &str) -> ReadArgs {
    ReadArgs { file_path: path.to_owned(), offset: None, limit: None }
}

fn write_args(path: &str, content: &str) -> WriteArgs {
    WriteArgs { file_path: path.to_owned(), content: content.to_owned(), create_dirs: false }
}

fn edit_args(path: &str, old: &str, new: &str) -> EditArgs {
    EditArgs {
        file_path: path.to_owned(),
        old_string: old.to_owned(),
        new_string: new.to_owned(),
        all: false,
    }
}

fn glob_args(pattern: &str) -> GlobArgs {
    GlobArgs { pattern: pattern.to_owned(), ..GlobArgs::default() }
}

fn grep_args(pattern: &str) -> GrepArgs {
    GrepArgs { pattern: pattern.to_owned(), ..GrepArgs::default() }
}

fn message<T: std::fmt::Debug>(result: Result<T, FileError>) -> String {
    result.unwrap_err().to_string()
}
