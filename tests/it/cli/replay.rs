//! `isolane replay` and `isolane resume`: runs again from a file of events.

use serde_json::{Value, json};

use super::{Ended, Folder};

/// Reads two files and writes a third.
const PROGRAM: &str = "const all = []; \
    for (const name of ['a.txt', 'b.txt']) all.push(JSON.stringify(await tools.read({file_path: name})).length > 5 && name); \
    console.log(all.join(' and '), Math.random() < 1, Date.now() > 0); \
    try { await tools.write({file_path: 'c.txt', content: all.join('\\n')}) } catch (error) { return error.code } \
    return all.length";

/// A folder with the ledger of that program.
fn recorded(ledger: &str) -> (Folder, Ended) {
    let folder = Folder::new();
    folder.file("work/a.txt", "one\n");
    folder.file("work/b.txt", "two\n");
    let ended =
        folder.isolane(&["run", "-e", PROGRAM, "--root", "work", "--allow-write", "--events", ledger]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "a.txt and b.txt true true\n2\n"), "{ended}");
    (folder, ended)
}

/// Leaves of the events those before the first that `is_cut` says.
fn cut(folder: &Folder, is_cut: impl Fn(&Value) -> bool) {
    let text = folder.text("events.jsonl");
    let left: String =
        text.split_inclusive('\n').take_while(|line| !is_cut(&serde_json::from_str(line).unwrap())).collect();
    assert_ne!(left, text);
    folder.file("events.jsonl", left);
}

fn change(folder: &Folder, from: &str, to: &str) {
    let text = folder.text("events.jsonl");
    assert!(text.contains(from), "{text}");
    folder.file("events.jsonl", text.replace(from, to));
}

/// What was said, without what differs every time.
fn shown(ended: &Ended) -> String {
    let mut text = ended.to_string();
    while let Some(from) = text.find("cli-") {
        let end = text[from + 4..].find(|letter: char| !letter.is_ascii_digit() && letter != '-');
        text.replace_range(from..end.map_or(text.len(), |end| from + 4 + end), "SESSION");
    }
    text
}

/// I-6, L-9, L-7: a program that runs again says the same, touches nothing and writes nothing.
#[test]
fn a_recorded_program_runs_again() {
    for ledger in ["events.jsonl", "events.sqlite"] {
        let (folder, first) = recorded(ledger);
        std::fs::remove_dir_all(folder.path().join("work")).unwrap();
        let before = std::fs::read(folder.path().join(ledger)).unwrap();
        assert_eq!(folder.isolane(&["replay", ledger]), first);
        let json = folder.isolane(&["replay", ledger, "--json", "--isolation", "in-process"]);
        assert_eq!(json.code, Some(0), "{json}");
        let json = json.json();
        assert_eq!((&json["ok"], &json["result"]), (&json!(true), &json!(2)));
        assert_eq!((&json["replay"]["whole"], &json["replay"]["divergence"]), (&json!(true), &json!(null)));
        assert_eq!(json["replay"]["run"], "call-1");
        assert_eq!(std::fs::read(folder.path().join(ledger)).unwrap(), before);
        assert!(!folder.path().join("work").exists());
    }
}

/// I-6, L-9
#[test]
fn a_program_that_does_something_else_fails_with_the_first_difference() {
    let (folder, _) = recorded("events.jsonl");
    change(&folder, "'b.txt'", "'d.txt'");
    insta::assert_snapshot!(folder.isolane(&["replay", "events.jsonl"]), @r#"
    exit: 1
    stdout:
    stderr:
    error[diverged]: call 2 was `read` with {"file_path":"b.txt"} when it was recorded, and is `read` with {"file_path":"d.txt"} now
    note: the program had no outcome yet of 1 tool call when the run ended: read (never started, nothing happened)
    "#);
    let json = folder.isolane(&["replay", "events.jsonl", "--json"]);
    assert_eq!((json.code, &json.json()["ok"]), (Some(1), &json!(false)), "{json}");
    assert!(json.json()["replay"]["divergence"].as_str().unwrap().starts_with("call 2 was `read`"), "{json}");
    // Nor can it go on, and it stays as it is.
    cut(&folder, |event| event["kind"] == "run/end");
    let before = folder.text("events.jsonl");
    let resumed = folder.isolane(&["resume", "events.jsonl", "--root", "work", "--allow-write"]);
    insta::assert_snapshot!(resumed, @r#"
    exit: 1
    stdout:
    stderr:
    error[diverged]: call 2 was `read` with {"file_path":"b.txt"} when it was recorded, and is `read` with {"file_path":"d.txt"} now
    "#);
    assert_eq!(folder.text("events.jsonl"), before);
}

/// I-6, L-10: what is known is not done again, and what is not known is asked for.
#[test]
fn a_run_that_was_interrupted_goes_on_or_asks() {
    let resume = ["resume", "events.jsonl", "--root", "work", "--allow-write"];
    let is_write = |event: &Value| event["data"]["tool"] == "write";
    let (folder, first) = recorded("events.jsonl");
    // Before the write.
    std::fs::remove_file(folder.path().join("work/c.txt")).unwrap();
    std::fs::remove_file(folder.path().join("work/a.txt")).unwrap();
    cut(&folder, is_write);
    assert_eq!(folder.isolane(&resume), first);
    assert_eq!(folder.text("work/c.txt"), "a.txt\nb.txt");
    // It has its end in the file now, and its calls have no second one.
    let calls =
        folder.text("events.jsonl").lines().filter(|line| line.contains("\"tool/code-dispatch\"")).count();
    assert_eq!(calls, 3);
    assert_eq!(folder.isolane(&["replay", "events.jsonl"]), first);
    insta::assert_snapshot!(shown(&folder.isolane(&resume)), @r#"
    exit: 2
    stdout:
    stderr:
    error: the run of `call-1` has come to its end
    "#);
    // In the middle of it.
    cut(&folder, |event| is_write(event) && event["kind"] == "tool/code-dispatch");
    let before = folder.text("events.jsonl");
    folder.file("work/c.txt", "somebody's");
    insta::assert_snapshot!(folder.isolane(&resume), @r#"
    exit: 2
    stdout:
    stderr:
    error: the run stops before it goes on; say --unsettled retry or --unsettled fail: nothing is known of the end of `call-1:code:3` (`write` with {"file_path":"c.txt","content":"a.txt\nb.txt"}); find out what came of it, and say whether it is made again or fails
    "#);
    assert_eq!(
        (folder.text("events.jsonl"), folder.text("work/c.txt")),
        (before.clone(), "somebody's".to_owned())
    );
    insta::assert_snapshot!(folder.isolane(&["replay", "events.jsonl"]), @r#"
    exit: 1
    stdout:
    a.txt and b.txt true true
    stderr:
    error[abort]: the run was interrupted here when it was recorded; it can go on from here by being resumed
    tool calls that did not finish:
      write (call-1:code:3): outcome unknown
    note: the program had no outcome yet of 1 tool call when the run ended: write (outcome unknown)
    "#);
    let failed = folder.isolane(&[&resume[..], &["--unsettled", "fail"]].concat());
    assert_eq!(
        (failed.code, failed.stdout.as_str()),
        (Some(0), "a.txt and b.txt true true\nABORTED\n"),
        "{failed}"
    );
    assert_eq!(folder.text("work/c.txt"), "somebody's");
    folder.file("events.jsonl", before);
    std::fs::remove_file(folder.path().join("work/c.txt")).unwrap();
    let again = folder.isolane(&[&resume[..], &["--unsettled", "retry", "--json"]].concat());
    assert_eq!((again.code, &again.json()["result"]), (Some(0), &json!(2)), "{again}");
    assert_eq!(folder.text("work/c.txt"), "a.txt\nb.txt");
}

/// I-6, L-10: a call of a tool that can be called twice without harm is made again without a question.
#[test]
fn what_can_be_done_twice_is_done_again() {
    let (folder, first) = recorded("events.jsonl");
    std::fs::remove_file(folder.path().join("work/c.txt")).unwrap();
    cut(&folder, |event| event["kind"] == "tool/code-dispatch" && event["data"]["call"] == "call-1:code:2");
    let resumed = folder.isolane(&["resume", "events.jsonl", "--root", "work", "--allow-write"]);
    assert_eq!(resumed, first);
}

/// I-6, T-12
#[test]
fn what_cannot_be_run_again_is_said() {
    let (folder, _) = recorded("events.jsonl");
    change(&folder, "\"value\":", "\"was\":");
    insta::assert_snapshot!(folder.isolane(&["replay", "events.jsonl"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: the value of `call-1:code:1` was not recorded; a host whose runs are to be run again has to say so before (`HostBuilder::record_values`)
    "#);
    change(&folder, "\"seed\":", "\"was\":");
    insta::assert_snapshot!(folder.isolane(&["replay", "events.jsonl"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: the run of `call-1` was recorded without its clock and seed
    "#);
    insta::assert_snapshot!(folder.isolane(&["replay", "nope.jsonl"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: cannot read the ledger nope.jsonl: No such file or directory (os error 2)
    "#);
    insta::assert_snapshot!(folder.isolane(&["resume", "nope.jsonl"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: cannot read the ledger nope.jsonl: No such file or directory (os error 2)
    "#);
    assert!(!folder.path().join("nope.jsonl").exists());
    folder.file("empty.jsonl", "");
    insta::assert_snapshot!(folder.isolane(&["replay", "empty.jsonl"]), @r#"
    exit: 2
    stdout:
    stderr:
    error: empty.jsonl tells of no run
    "#);
    folder.file("notes.txt", "not events\n");
    assert!(
        folder.isolane(&["replay", "notes.txt"]).stderr.starts_with("error: line 1 of the ledger notes.txt")
    );
}

/// I-6
#[test]
fn a_run_is_chosen_by_its_session_or_its_call() {
    let folder = Folder::new();
    for code in ["return 'first'", "return 'second'"] {
        assert_eq!(folder.isolane(&["run", "-e", code, "--events", "events.jsonl"]).code, Some(0));
    }
    let text = folder.text("events.jsonl");
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let session = first["session"].as_str().unwrap();
    assert_eq!(folder.isolane(&["replay", "events.jsonl"]).stdout, "second\n");
    for id in [session.to_owned(), format!("{session}/call-1")] {
        assert_eq!(folder.isolane(&["replay", "events.jsonl", "--run", &id]).stdout, "first\n");
    }
    insta::assert_snapshot!(shown(&folder.isolane(&["replay", "events.jsonl", "--run", "call-1"])), @r#"
    exit: 2
    stdout:
    stderr:
    error: 2 runs of events.jsonl are named call-1: SESSION/call-1, SESSION/call-1
    "#);
    insta::assert_snapshot!(shown(&folder.isolane(&["replay", "events.jsonl", "--run", "call-9"])), @r#"
    exit: 2
    stdout:
    stderr:
    error: events.jsonl has no run call-9; it has SESSION/call-1, SESSION/call-1
    "#);
}

/// I-6, L-10: killed while it works, a command can be gone on with.
#[test]
fn a_killed_run_goes_on() {
    use std::io::Read as _;
    let folder = Folder::new();
    let code = "for (let n = 0; n < 400; n++) { await Promise.all([tools.list(), tools.list()]); if (n % 20 === 0) print(n) } \
                return 'done'";
    let mut child = folder.command(&["run", "-e", code, "--events", "events.jsonl"]).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let left = folder.text("events.jsonl").lines().count();
    let resumed = folder.isolane(&["resume", "events.jsonl"]);
    assert_eq!((resumed.code, resumed.stdout.lines().count()), (Some(0), 21), "{resumed}");
    assert!(resumed.stdout.ends_with("\ndone\n"), "{resumed}");
    let events = folder.text("events.jsonl").lines().count();
    assert_eq!(events, 2 + 2 * 800, "{left} events were there when it was killed");
    assert_eq!(folder.isolane(&["replay", "events.jsonl"]).stdout, resumed.stdout);
}
