//! `--events`: the ledger of a command in a file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Folder;
use crate::support::check_event;

fn events(folder: &Folder) -> Vec<Value> {
    let text = folder.text("events.jsonl");
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    events.inspect(check_event).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

/// I-3, L-1, L-2
#[test]
fn every_call_has_one_start_and_one_end_and_no_number_is_missing() {
    let folder = Folder::new();
    let code = "await Promise.all(Array.from({length: 40}, (_, i) => \
        i % 2 ? tools.list() : tools.read({file_path: 'nope'}).catch(() => 0))); return 1";
    let ended = folder.isolane(&["run", "-e", code, "--events", "events.jsonl"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "1\n", ""));
    let events = events(&folder);
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=82).collect::<Vec<_>>());
    let mut calls: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in &events[1..81] {
        calls
            .entry(event["data"]["call"].as_str().unwrap().to_owned())
            .or_default()
            .push(event["kind"].as_str().unwrap());
    }
    let expected: BTreeMap<_, _> = (1..=40)
        .map(|n| (format!("call-1:code:{n}"), vec!["tool/code-dispatch-start", "tool/code-dispatch"]))
        .collect();
    assert_eq!(calls, expected);
    assert_eq!((&events[0]["kind"], &events[81]["kind"]), (&json!("run/start"), &json!("run/end")));
}

/// I-3, L-5
#[test]
fn a_run_that_fails_has_its_events_too() {
    let folder = Folder::new();
    let loops = ["run", "-e", "await tools.list(); while (true) {}", "--busy-timeout", "100ms"];
    let ended = folder.isolane(&[&loops[..], &["--events", "events.jsonl"]].concat());
    assert_eq!(ended.code, Some(1));
    let events = events(&folder);
    assert_eq!(kinds(&events), ["run/start", "tool/code-dispatch-start", "tool/code-dispatch", "run/end"]);
    assert_eq!(events[3]["data"]["failure"]["kind"], "busy-timeout");
}

/// I-3, L-7
#[test]
fn a_second_run_is_appended_as_a_session_of_its_own() {
    let folder = Folder::new();
    for _ in 0..2 {
        assert_eq!(folder.isolane(&["run", "-e", "return 1", "--events", "events.jsonl"]).code, Some(0));
    }
    let events = events(&folder);
    assert_eq!(kinds(&events), ["run/start", "run/end", "run/start", "run/end"]);
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, [1, 2, 1, 2]);
    assert_eq!(events[0]["session"], events[1]["session"]);
    assert_ne!(events[1]["session"], events[2]["session"]);
}

/// I-4, L-1
#[test]
fn a_call_is_recorded_like_that_of_a_model() {
    let folder = Folder::new();
    assert_eq!(folder.isolane(&["call", "list", "--events", "events.jsonl"]).code, Some(0));
    assert_eq!(kinds(&events(&folder)), ["tool/call", "tool/result"]);
}

/// I-3
#[test]
fn a_file_that_cannot_be_a_ledger_stops_the_command_before_anything_runs() {
    let folder = Folder::new();
    folder.file("notes.txt", "not events\n");
    folder.file("work/here.txt", "");
    let run = |events| {
        let code = "await tools.write({file_path: 'ran', content: ''})";
        let ended =
            folder.isolane(&["run", "-e", code, "--root", "work", "--allow-write", "--events", events]);
        assert!(!folder.path().join("work/ran").exists());
        ended
    };
    insta::assert_snapshot!(run("."), @r"
    exit: 2
    stdout:
    stderr:
    error: the ledger . is not a regular file; choose a path of a file
    ");
    insta::assert_snapshot!(run("-"), @r"
    exit: 2
    stdout:
    stderr:
    error: events go to a file, not to standard output; name one (`./-` if it is to be called `-`)
    ");
    insta::assert_snapshot!(run("nope/events.jsonl"), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot open the ledger nope/events.jsonl: No such file or directory (os error 2)
    ");
    let malformed = run("notes.txt");
    assert_eq!((malformed.code, malformed.stdout.as_str()), (Some(2), ""));
    assert!(malformed.stderr.starts_with("error: line 1 of the ledger notes.txt (byte 0) is not an event: "));
    assert_eq!(folder.text("notes.txt"), "not events\n");
}

/// I-3
#[test]
fn events_that_cannot_be_written_fail_the_command_but_not_the_program() {
    let folder = Folder::new();
    // More than the file may hold: the shell's limit counts blocks of 1024 bytes or less. The signal that comes with it
    // must not end the process.
    let with_little_room = |command: &str| {
        let code = "for (let i = 0; i < 300; i++) await tools.list(); return 'done'";
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &format!("ulimit -f 8; exec \"$0\" {command}")]);
        shell.arg(env!("CARGO_BIN_EXE_isolane")).arg(code).current_dir(folder.path()).env_clear();
        super::Ended::new(&shell.output().unwrap())
    };
    insta::assert_snapshot!(with_little_room("run -e \"$1\" --events events.jsonl"), @r"
    exit: 2
    stdout:
    done
    stderr:
    error: events are missing from the file: cannot append to the ledger events.jsonl: File too large (os error 27)
    ");
    let ended = with_little_room("run --json -e \"$1\" --events events.jsonl");
    assert_eq!((ended.code, ended.json()["ok"].clone()), (Some(2), json!(true)), "{ended}");
    let lost = "events are missing from the file: cannot append to the ledger events.jsonl: File too large (os error 27)";
    assert_eq!(ended.json()["stats"]["notes"], json!([lost]));
    assert_eq!(ended.stderr, format!("error: {lost}\n"));
}

/// I-4, L-7
#[test]
fn events_of_a_call_that_cannot_be_written_are_told_of() {
    let folder = Folder::new();
    folder.file("large.txt", "line\n".repeat(5_000));
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args([
        "-c",
        "ulimit -f 8; exec \"$0\" call read '{\"file_path\": \"large.txt\"}' --json --events events.jsonl",
    ]);
    shell.arg(env!("CARGO_BIN_EXE_isolane")).current_dir(folder.path()).env_clear();
    let ended = super::Ended::new(&shell.output().unwrap());
    let report = ended.json();
    assert_eq!((ended.code, &report["ok"]), (Some(2), &json!(true)), "{ended}");
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("events are missing from the file: cannot append"), "{note}");
}

/// I-3, L-7: the ending of the name chooses a database, which the next run goes on with.
#[test]
fn a_name_that_asks_for_it_makes_a_database() {
    let folder = Folder::new();
    for _ in 0..2 {
        let ended = folder.isolane(&["run", "-e", "return 1", "--events", "events.sqlite"]);
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "1\n", ""));
    }
    let path = folder.path().join("events.sqlite");
    assert!(std::fs::read(&path).unwrap().starts_with(b"SQLite format 3\0"));
    let events: Vec<_> = isolane::ledger::read_ledger(&path).unwrap().map(Result::unwrap).collect();
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["run/start", "run/end", "run/start", "run/end"]);
    assert_ne!(events[0].session, events[2].session);
}

/// I-3, L-7
#[test]
fn a_torn_line_is_told_of() {
    let folder = Folder::new();
    folder.file("events.jsonl", "{\"v\":1,");
    insta::assert_snapshot!(folder.isolane(&["run", "-e", "return 1", "--events", "events.jsonl"]), @r"
    exit: 0
    stdout:
    1
    stderr:
    warning: the last line of the ledger events.jsonl (byte 0) is incomplete; its 7 bytes were dropped
    ");
}

/// I-3, L-7
#[test]
fn a_whole_event_without_its_line_end_is_kept() {
    let folder = Folder::new();
    let run = || folder.isolane(&["run", "-e", "return 1", "--events", "events.jsonl"]);
    run();
    folder.file("events.jsonl", folder.text("events.jsonl").trim_end());
    let ended = run();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.ends_with("has no line end; it is a whole event and was kept\n"), "{ended}");
    assert_eq!(kinds(&events(&folder)), ["run/start", "run/end", "run/start", "run/end"]);
}

/// I-3, L-3
#[test]
fn a_program_cannot_write_what_tells_of_it() {
    let folder = Folder::new();
    let ended = folder.isolane(&["run", "-e", "return 1", "--allow-write", "--events", "events.jsonl"]);
    insta::assert_snapshot!(ended, @r"
    exit: 2
    stdout:
    stderr:
    error: the events file events.jsonl lies in the folder that --allow-write opens to the program; name one outside of it
    ");
    // Nor through a link to a file that is still to come.
    std::fs::create_dir(folder.path().join("root")).unwrap();
    std::os::unix::fs::symlink("root/ledger.jsonl", folder.path().join("link.jsonl")).unwrap();
    std::os::unix::fs::symlink("link.jsonl", folder.path().join("link-to-link.jsonl")).unwrap();
    for events in ["link.jsonl", "link-to-link.jsonl"] {
        let run = ["run", "-e", "return 1", "--root", "root", "--allow-write", "--events", events];
        let ended = folder.isolane(&run);
        assert!(ended.code == Some(2) && ended.stderr.contains("lies in the folder"), "{ended}");
    }
}

/// I-3, L-8: what is printed never lands among the events.
#[test]
fn events_and_output_do_not_share_a_file() {
    let folder = Folder::new();
    let into = |redirected: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &format!("exec \"$0\" run -e 'return 1' --events {redirected}")]);
        shell.arg(env!("CARGO_BIN_EXE_isolane")).current_dir(folder.path());
        super::Ended::new(&shell.output().unwrap())
    };
    for redirected in ["/dev/stdout > out.txt", "out.txt >> out.txt", "/dev/stdout", "err.txt 2> err.txt"] {
        let ended = into(redirected);
        assert_eq!(ended.code, Some(2), "{redirected}: {ended}");
    }
}
