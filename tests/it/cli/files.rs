//! The file tools on a file system that does not give everything.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Ended, Folder};

/// The folder `tree` and a program that sees it as somebody who is denied something.
struct Denied {
    folder: Folder,
    program: PathBuf,
}

impl Denied {
    fn new(files: &[&str]) -> Self {
        let folder = Folder::new();
        for file in files {
            folder.file(&format!("tree/{file}"), "found\n");
        }
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_isolane"));
        if rustix::process::geteuid().is_root() {
            // The program has to be where anybody can start it.
            set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
            let copy = folder.path().join("isolane");
            std::fs::copy(&program, &copy).unwrap();
            program = copy;
        }
        Self { folder, program }
    }

    fn forbid(&self, name: &str, mode: u32) {
        set_permissions(self.folder.path().join("tree").join(name), Permissions::from_mode(mode)).unwrap();
    }

    fn call(&self, tool: &str, arguments: &str) -> Ended {
        let mut command = Command::new(&self.program);
        command.args(["call", tool, arguments, "--root", "tree", "--allow-write"]);
        command.current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        if rustix::process::geteuid().is_root() {
            // Nothing is denied to root: be somebody else.
            command.uid(65_534).gid(65_534);
        }
        Ended::new(&command.output().unwrap())
    }
}

impl Drop for Denied {
    fn drop(&mut self) {
        // So that it can be removed.
        for name in ["closed", "sealed"] {
            let _ =
                set_permissions(self.folder.path().join("tree").join(name), Permissions::from_mode(0o755));
        }
    }
}

/// B-1, B-3, B-4
#[test]
fn what_is_denied_is_named_or_counted() {
    let denied = Denied::new(&["a.txt", "closed/b.txt", "sealed/c.txt", "secret.txt"]);
    denied.forbid("closed", 0o000);
    denied.forbid("sealed", 0o555);
    denied.forbid("secret.txt", 0o000);
    let said = [
        denied.call("read", r#"{"file_path": "secret.txt"}"#),
        denied.call("read", r#"{"file_path": "closed/b.txt"}"#),
        denied.call("list", r#"{"path": "closed"}"#),
        denied.call("list", r#"{"depth": 2}"#),
        denied.call("glob", r#"{"pattern": "**/*.txt"}"#),
        denied.call("grep", r#"{"pattern": "found"}"#),
        denied.call("write", r#"{"file_path": "sealed/new.txt", "content": ""}"#),
        denied.call("write", r#"{"file_path": "sealed/deep/new.txt", "content": "", "create_dirs": true}"#),
        denied.call("edit", r#"{"file_path": "sealed/c.txt", "old_string": "found", "new_string": "lost"}"#),
    ]
    .map(|ended| ended.stdout + &ended.stderr);
    insta::assert_snapshot!(said.join(""), @r"
    TOOL_FAILED: permission denied: `secret.txt`
    TOOL_FAILED: permission denied: `closed/b.txt`
    TOOL_FAILED: permission denied: `closed`
    a.txt
    closed/
    sealed/
    sealed/c.txt
    secret.txt
    (1 directory could not be read)
    a.txt
    sealed/c.txt
    secret.txt
    (1 directory could not be read)
    a.txt:1: found
    sealed/c.txt:1: found
    (not searched: 2 unreadable)
    TOOL_FAILED: permission denied: `sealed/new.txt`
    TOOL_FAILED: permission denied: `sealed/deep/new.txt`
    TOOL_FAILED: permission denied: `sealed/c.txt`
    ");
    assert_eq!(denied.folder.text("tree/sealed/c.txt"), "found\n");
}

/// B-4
#[test]
fn a_write_for_which_there_is_no_room_changes_nothing() {
    let folder = Folder::new();
    folder.file("tree/large.txt", "old\n".repeat(10_000));
    let before = folder.text("tree/large.txt");
    let arguments = r#"{"file_path": "large.txt", "old_string": "old", "new_string": "new", "all": true}"#;
    let mut shell = Command::new("/bin/sh");
    // A limit of file sizes stands for a full disk.
    shell.args(["-c", "ulimit -f 8; exec \"$0\" call edit \"$1\" --root tree --allow-write"]);
    shell.args([env!("CARGO_BIN_EXE_isolane"), arguments]).current_dir(folder.path()).env_clear();
    insta::assert_snapshot!(Ended::new(&shell.output().unwrap()), @r"
    exit: 1
    stdout:
    stderr:
    TOOL_FAILED: cannot write `large.txt`: File too large (os error 27)
    ");
    assert_eq!(folder.text("tree/large.txt"), before);
    assert_eq!(
        std::fs::read_dir(folder.path().join("tree")).unwrap().count(),
        1,
        "no temporary file is left"
    );
}
