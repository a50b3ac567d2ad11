//! What is different on a terminal.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Folder;

/// A terminal: what a person sees, and what the program is given.
struct Terminal {
    person: OwnedFd,
    program: OwnedFd,
}

impl Terminal {
    fn new() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let program = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        Self { person, program }
    }

    fn stdio(&self) -> Stdio {
        self.program.try_clone().unwrap().into()
    }

    /// Everything that the program shows until its end. The command goes, for it holds the terminal open.
    fn watch(self, mut command: Command) -> String {
        let mut child = command.spawn().unwrap();
        drop(command);
        drop(self.program);
        let mut shown = Vec::new();
        // The end of a terminal is an error.
        let _ = File::from(self.person).read_to_end(&mut shown);
        child.wait().unwrap();
        String::from_utf8(shown).unwrap()
    }
}

/// I-3, CM-29
#[test]
fn a_progress_line_is_shown_on_a_terminal_only_and_goes_away() {
    let folder = Folder::new();
    let code =
        r"await tools.list(); await new Promise((done) => setTimeout(done, 400)); console.log('\x1b[1m');";
    let terminal = Terminal::new();
    let mut command = folder.command(&["run", "-e", code]);
    let printed = File::create(folder.path().join("printed")).unwrap();
    command.env("TERM", "xterm").stdout(printed).stderr(terminal.stdio());
    let shown = terminal.watch(command);
    assert_eq!(folder.text("printed"), "\\u{1b}[1m\n");
    assert!(shown.contains("0 running; 1 done (0s)"), "{shown:?}");
    assert!(shown.ends_with("\u{1b}[2K") || shown.ends_with('\r'), "{shown:?}");
}

/// I-3
#[test]
fn no_progress_line_is_shown_beside_json() {
    let folder = Folder::new();
    let terminal = Terminal::new();
    let mut command = folder.command(&["run", "--json", "-e", "return (await tools.list()).truncated"]);
    command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.stdio());
    assert_eq!(terminal.watch(command), "");
}

/// I-3
#[test]
fn a_program_is_not_read_from_a_terminal_unasked() {
    let folder = Folder::new();
    let terminal = Terminal::new();
    let mut command = folder.command(&["run"]);
    command.stdin(terminal.stdio()).stdout(terminal.stdio()).stderr(terminal.stdio());
    assert_eq!(
        terminal.watch(command),
        "error: no program: give a file, `-` for standard input, or -e CODE\r\n"
    );
}
