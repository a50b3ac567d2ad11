//! Being told to stop.

use std::io::Read as _;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use super::{Ended, Folder};

fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the first byte of output: the program runs by then.
fn started(child: &mut Child) {
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
}

/// I-3
#[test]
fn an_interrupted_run_ends_in_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = Folder::new();
        let code =
            "await tools.list(); console.log('.'); await new Promise((done) => setTimeout(done, 600_000))";
        let arguments = ["run", "-e", code, "--events", "events.jsonl"];
        let mut child = folder.command(&arguments).spawn().unwrap();
        started(&mut child);
        tell(&child, signal);
        let ended = Ended::new(&child.wait_with_output().unwrap());
        insta::allow_duplicates!(insta::assert_snapshot!(ended, @r"
        exit: 1
        stdout:

        stderr:
        error[abort]: the run was cancelled
        "));
        assert!(folder.text("events.jsonl").lines().last().unwrap().contains(r#""kind":"run/end""#));
    }
}

/// I-3
#[test]
fn who_interrupts_after_the_run_does_not_wait_for_its_output() {
    let folder = Folder::new();
    // Nobody reads more than the first byte, so that the rest cannot be written.
    let mut child = folder.command(&["run", "-e", "return 'x'.repeat(500_000)"]).spawn().unwrap();
    started(&mut child);
    tell(&child, Signal::INT);
    let stdout = child.stdout.take();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdout);
}
