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

/// L-8: killed while it works, a command leaves a file that opens, without a gap, with what had no end.
#[test]
fn a_killed_run_leaves_a_ledger_that_opens() {
    let folder = Folder::new();
    let code = "for (let n = 0; ; n++) { await Promise.all([tools.list(), tools.list()]); if (n % 20 === 0) print(n) }";
    let mut child = folder.command(&["run", "-e", code, "--events", "events.jsonl"]).spawn().unwrap();
    let output = child.stdout.as_mut().unwrap();
    // Well into its work.
    output.read_exact(&mut [0; 40]).unwrap();
    tell(&child, Signal::KILL);
    assert_eq!(child.wait().unwrap().code(), None);
    let events: Vec<_> = isolane::ledger::read_events(folder.path().join("events.jsonl"))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(events.len() > 100, "{}", events.len());
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let open = isolane::ledger::unsettled(&events);
    assert_eq!(open[0].body.kind(), "run/start");
    assert!(open[1..].iter().all(|event| event.body.kind() == "tool/code-dispatch-start"), "{open:?}");
    // Another command goes on in it.
    assert_eq!(folder.isolane(&["run", "-e", "return 1", "--events", "events.jsonl"]).stdout, "1\n");
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
