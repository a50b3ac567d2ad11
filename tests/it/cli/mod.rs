//! The program `isolane`, from the outside: arguments in; output, files and exit code out (I-3, I-4, I-6).

mod check;
mod commands;
mod events;
mod examples;
mod files;
mod inputs;
mod json;
mod limits;
mod replay;
mod run;
mod signals;
mod terminal;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own, in which the program runs with nothing in its environment.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and the folders that it needs.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The program, ready to be started here.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isolane"));
        command.args(arguments).current_dir(self.path()).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    fn isolane(&self, arguments: &[&str]) -> Ended {
        Ended::new(&self.command(arguments).output().unwrap())
    }

    /// Runs the program to its end with this on its standard input.
    fn isolane_reading(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ended {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // What is beyond a limit is not read.
        let _ = stdin.write_all(input.as_ref());
        drop(stdin);
        Ended::new(&child.wait_with_output().unwrap())
    }

    /// Runs a program given by -e.
    fn eval(&self, code: &str) -> Ended {
        self.isolane(&["run", "-e", code])
    }
}

/// How the program ended and what it said.
#[derive(Debug, PartialEq)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// The one JSON value that is all of the standard output.
    fn json(&self) -> Value {
        assert!(self.stdout.ends_with('\n') && self.stdout.lines().count() == 1, "{self}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        write!(f, "exit: {code}\nstdout:\n{}stderr:\n{}", self.stdout, self.stderr)
    }
}
