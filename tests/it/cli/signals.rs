//! Being told to stop.

use std::io::Read as _;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Ended, Folder};

/// The signals that end a run. Whoever starts the tests under `nohup` has SIGHUP ignored, and so has what they start.
fn signals() -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    let all = [Signal::HUP, Signal::INT, Signal::TERM];
    all.into_iter().filter(|signal| *signal != Signal::HUP || ignored & 1 == 0).collect()
}

fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the first byte of output: the program runs by then.
fn started(child: &mut Child) {
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
}

fn events(folder: &Folder) -> Vec<Value> {
    folder.text("events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// I-3, L-5
#[test]
fn an_interrupted_run_ends_in_order() {
    for signal in signals() {
        let folder = Folder::new();
        let code =
            "await tools.list(); console.log('.'); await new Promise((done) => setTimeout(done, 600_000))";
        let arguments = ["run", "-e", code, "--events", "events.jsonl"];
        let mut child = folder.command(&arguments).spawn().unwrap();
        started(&mut child);
        tell(&child, signal);
        let mut ended = Ended::new(&child.wait_with_output().unwrap());
        assert_eq!(ended.code.take(), Some(128 + signal.as_raw()), "{ended}");
        insta::allow_duplicates!(insta::assert_snapshot!(ended, @r"
        exit: a signal
        stdout:

        stderr:
        error[abort]: the run was cancelled
        "));
        assert_eq!(events(&folder).last().unwrap()["kind"], "run/end");
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

/// I-3, L-1, L-5
#[test]
fn calls_that_run_are_waited_for_and_have_their_ends() {
    for signal in signals() {
        let folder = Folder::new();
        for n in 0..200 {
            folder.file(&format!("{n}.txt"), "line\n".repeat(100));
        }
        let code = "for (let n = 0; ; n++) { \
            await Promise.all(Array.from({length: 50}, () => tools.grep({pattern: 'nothing'}))); \
            if (n === 0) console.log('.'); }";
        let arguments = [
            "run",
            "-e",
            code,
            "--busy-timeout",
            "10m",
            "--max-calls",
            "10000000",
            "--events",
            "events.jsonl",
        ];
        let mut child = folder.command(&arguments).spawn().unwrap();
        started(&mut child);
        tell(&child, signal);
        let ended = Ended::new(&child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(128 + signal.as_raw()), "{ended}");
        assert!(ended.stderr.starts_with("error[abort]: the run was cancelled\n"), "{ended}");
        let events = events(&folder);
        let of_kind = |kind: &str| {
            let mut calls: Vec<_> = events
                .iter()
                .filter(|event| event["kind"] == kind)
                .map(|event| event["data"]["call"].as_str().unwrap())
                .collect();
            calls.sort_unstable();
            calls
        };
        assert!(!of_kind("tool/code-dispatch-start").is_empty());
        assert_eq!(of_kind("tool/code-dispatch-start"), of_kind("tool/code-dispatch"));
        assert_eq!(events.last().unwrap()["kind"], "run/end");
    }
}

/// I-3, E-8
#[test]
fn a_loop_that_never_looks_up_is_interrupted_too() {
    let folder = Folder::new();
    let code = "console.log('.'); for (;;);";
    let mut child = folder.command(&["run", "-e", code, "--busy-timeout", "10m"]).spawn().unwrap();
    started(&mut child);
    tell(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// I-3
#[test]
fn a_hangup_that_was_ignored_stays_ignored() {
    let folder = Folder::new();
    let mut shell = Command::new("/bin/sh");
    let code = "console.log('.'); await new Promise((done) => setTimeout(done, 300)); return 'whole'";
    shell.args(["-c", "trap '' HUP; exec \"$0\" run -e \"$1\"", env!("CARGO_BIN_EXE_isolane"), code]);
    shell.current_dir(folder.path()).stdout(std::process::Stdio::piped());
    let mut child = shell.spawn().unwrap();
    started(&mut child);
    tell(&child, Signal::HUP);
    let ended = Ended::new(&child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "\nwhole\n"));
}

/// I-3
#[test]
fn who_interrupts_after_the_run_does_not_wait_for_its_output() {
    let folder = Folder::new();
    // Nobody reads more than the first byte, so that the rest cannot be written.
    let mut child = folder.command(&["run", "-e", "return 'x'.repeat(500_000)"]).spawn().unwrap();
    started(&mut child);
    tell(&child, Signal::TERM);
    let stdout = child.stdout.take();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(stdout);
}
