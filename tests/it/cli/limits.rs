//! Limits as options: each one ends a run with its kind, and says how to be written.

use super::Folder;

fn kind(options: &[&str], code: &str) -> String {
    let arguments = [&["run", "--json", "-e", code], options].concat();
    let ended = Folder::new().isolane(&arguments);
    assert_eq!(ended.code, Some(1), "{ended}");
    ended.json()["error"]["kind"].as_str().unwrap().to_owned()
}

/// I-3, E-6
#[test]
fn a_loop_that_never_ends_is_ended() {
    let ended = Folder::new().isolane(&["run", "-e", "while (true) {}", "--busy-timeout", "200ms"]);
    insta::assert_snapshot!(ended, @r"
    exit: 1
    stdout:
    stderr:
    error[busy-timeout]: the program executed JavaScript for more than 200 ms without finishing (time waiting for tools does not count); look for a loop that never ends or an expression that takes too long
      --> -e:1:1
       1 | while (true) {}
         | ^
    ");
}

/// I-3, E-6
#[test]
fn every_limit_can_be_set() {
    let wait = "await new Promise((done) => setTimeout(done, 60_000))";
    assert_eq!(kind(&["--timeout", "50ms"], wait), "wall-timeout");
    let calls = "await tools.list(); await tools.list(); await tools.list()";
    assert_eq!(kind(&["--max-calls", "2"], calls), "call-limit");
    assert_eq!(kind(&["--max-output", "1k"], "console.log('x'.repeat(2000))"), "output-limit");
    assert_eq!(kind(&["--heap-mib", "16"], "const all = []; for (;;) all.push({})"), "heap");
}

/// I-3, CM-18, CM-20
#[test]
fn the_number_of_parallel_calls_can_be_set() {
    // Calls that take long enough to meet each other.
    let folder = Folder::new();
    folder.file("large.txt", "x\n".repeat(1 << 20));
    let code = "await Promise.all(Array.from({length: 20}, () => tools.grep({pattern: 'y'}))); return 1";
    for parallel in ["1", "7"] {
        let ended = folder.isolane(&["run", "--json", "-e", code, "--max-parallel", parallel]);
        assert_eq!(ended.json()["stats"]["peak_parallel"].to_string(), parallel);
    }
}

/// I-3, CM-23
#[test]
fn what_went_wrong_is_told_however_little_may_be_printed() {
    let folder = Folder::new();
    let run = |code, most| folder.isolane(&["run", "-e", code, "--max-output", most]);
    insta::assert_snapshot!(run("console.log('x'); throw new Error('a message longer than the limit')", "2"), @r"
    exit: 1
    stdout:
    x
    stderr:
    error[exception]: Error: a message longer than the limit
      --> -e:1:25
       1 | console.log('x'); throw new Error('a message longer than the limit')
         |                         ^
    ");
    insta::assert_snapshot!(run("return 1", "0"), @r"
    exit: 1
    stdout:
    stderr:
    error[output-limit]: the program's value takes 1 bytes, and 0 of 0 are left for it; return a summary, or only the part you need
    ");
    let failed = run("await tools.read({file_path: 'nope'})", "1");
    assert!(failed.stderr.contains("use `list` or `glob` to find it"), "{failed}");
    let long = folder.isolane(&["run", "-e", "throw new Error('ä'.repeat(100_000))", "--json"]).json();
    let message = long["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("ä... (the rest of the message was cut)"), "{message}");
    assert!((16_300..16_500).contains(&message.len()), "{}", message.len());
}

/// I-3
#[test]
fn times_and_sizes_are_written_with_units() {
    let folder = Folder::new();
    let run = |option, value| folder.isolane(&["run", "-e", "return 1", option, value]);
    for time in ["1s", "1500ms", "1.5s", "1m30s", "2h", "1m 30s", "3min"] {
        assert_eq!(run("--timeout", time).stdout, "1\n", "{time}");
    }
    for size in ["4096", "64KiB", "1m", "1 MiB", "1GiB"] {
        assert_eq!(run("--max-output", size).stdout, "1\n", "{size}");
    }
    let mut refused = String::new();
    for (option, value) in [
        ("--timeout", "5"),
        ("--timeout", ""),
        ("--timeout", "1.2.3s"),
        ("--timeout", "0s"),
        ("--busy-timeout", "99999999999999999999h"),
        ("--max-output", "1.5MiB"),
        ("--max-output", "99999999999GiB"),
        ("--heap-mib", "1"),
        ("--max-parallel", "0"),
        ("--max-calls", "1e3"),
        ("--max-calls", "-1"),
    ] {
        let ended = run(option, value);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{option} {value}");
        refused.push_str(ended.stderr.lines().next().unwrap());
        refused.push('\n');
    }
    insta::assert_snapshot!(refused, @r"
    error: invalid value '5' for '--timeout <TIME>': write a number with a unit (ms, s, m, h), as 10s, 500ms or 1m30s
    error: invalid value '' for '--timeout <TIME>': write a number with a unit (ms, s, m, h), as 10s, 500ms or 1m30s
    error: invalid value '1.2.3s' for '--timeout <TIME>': write a number with a unit (ms, s, m, h), as 10s, 500ms or 1m30s
    error: invalid value '0s' for '--timeout <TIME>': the shortest time is 1ms
    error: invalid value '99999999999999999999h' for '--busy-timeout <TIME>': the longest time is a year
    error: invalid value '1.5MiB' for '--max-output <SIZE>': write a number of bytes, as 65536, or with a unit, as 64KiB or 1MiB
    error: invalid value '99999999999GiB' for '--max-output <SIZE>': the size is too large
    error: invalid value '1' for '--heap-mib <N>': a heap has 8 to 65536 MiB
    error: invalid value '0' for '--max-parallel <N>': write a whole number, at least 1
    error: invalid value '1e3' for '--max-calls <N>': write a whole number, as 1000
    error: unexpected argument '-1' found
    ");
}
