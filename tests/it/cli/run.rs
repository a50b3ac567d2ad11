//! `isolane run` for people: logs, result, notes and failures.

use std::process::Stdio;

use super::{Ended, Folder};

/// I-3
#[test]
fn the_result_is_all_of_the_output() {
    let ended = Folder::new().eval("return 1 + 1");
    assert_eq!(ended, Ended { code: Some(0), stdout: "2\n".to_owned(), stderr: String::new() });
}

/// I-3. The tool has the same form, see CM-6.
#[test]
fn logs_come_before_the_result_and_values_are_json_unless_they_are_text() {
    let ended = Folder::new().eval("console.log('one'); console.error('two'); return {a: [1, 'x'], b: null}");
    insta::assert_snapshot!(ended, @r#"
    exit: 0
    stdout:
    one
    two
    {
      "a": [
        1,
        "x"
      ],
      "b": null
    }
    stderr:
    "#);
    insta::assert_snapshot!(Folder::new().eval("return 'two\\nlines\\n'"), @r"
    exit: 0
    stdout:
    two
    lines
    stderr:
    ");
    assert_eq!(Folder::new().eval("return null").stdout, "null\n");
}

/// I-3
#[test]
fn a_program_that_says_nothing_is_told_of_on_standard_error() {
    insta::assert_snapshot!(Folder::new().eval("const answer: number = 42"), @r"
    exit: 0
    stdout:
    stderr:
    note: the program printed nothing and returned nothing
    ");
}

/// I-3
#[test]
fn notes_go_to_standard_error() {
    insta::assert_snapshot!(Folder::new().eval("await tools.list()"), @r"
    exit: 0
    stdout:
    stderr:
    note: 1 tool call ran and its value was dropped, because nothing was printed or returned. Print with console.log(...) or `return` what you need
    ");
}

/// I-3, CM-23
#[test]
fn a_failure_shows_the_program_as_it_was_written() {
    let folder = Folder::new();
    folder.file(
        "sum.ts",
        "const part = (x: number): number => { throw new RangeError(`no ${x}`) };\nreturn [1].map(part);\n",
    );
    insta::assert_snapshot!(folder.isolane(&["run", "sum.ts"]), @r"
    exit: 1
    stdout:
    stderr:
    error[exception]: RangeError: no 1
      --> sum.ts:1:45
       1 | const part = (x: number): number => { throw new RangeError(`no ${x}`) };
         |                                             ^
        at part (sum.ts:1:45)
        at map (<anonymous>)
        at sum.ts:2:12
    ");
}

/// I-3, CM-23
#[test]
fn a_failure_with_one_frame_shows_no_stack() {
    insta::assert_snapshot!(Folder::new().eval("console.log('before'); throw new Error('boom')"), @r"
    exit: 1
    stdout:
    before
    stderr:
    error[exception]: Error: boom
      --> -e:1:30
       1 | console.log('before'); throw new Error('boom')
         |                              ^
    ");
    insta::assert_snapshot!(Folder::new().eval("return 1 +"), @r"
    exit: 1
    stdout:
    stderr:
    error[syntax]: Expression expected
      --> -e:1:11
       1 | return 1 +
         |           ^
    ");
}

/// I-3, CM-16
#[test]
fn a_failed_call_is_told_with_its_code() {
    insta::assert_snapshot!(Folder::new().eval("await tools.read({file_path: 'nope'})"), @r"
    exit: 1
    stdout:
    stderr:
    error[exception]: ToolCallError (read, TOOL_FAILED): no such file or directory: `nope`; use `list` or `glob` to find it
      --> -e:1:13
       1 | await tools.read({file_path: 'nope'})
         |             ^
    ");
}

/// I-3, CM-31
#[test]
fn calls_that_did_not_finish_are_listed() {
    let code = "for (let i = 0; i < 30; i++) tools.list(); throw new Error('too early')";
    insta::assert_snapshot!(Folder::new().isolane(&["run", "-e", code, "--max-parallel", "1"]), @r"
    exit: 1
    stdout:
    stderr:
    error[exception]: Error: too early
      --> -e:1:50
       1 | for (let i = 0; i < 30; i++) tools.list(); throw new Error('too early')
         |                                                  ^
    tool calls that did not finish:
      list (call-1:code:1): never started, nothing happened
      list (call-1:code:2): never started, nothing happened
      list (call-1:code:3): never started, nothing happened
      list (call-1:code:4): never started, nothing happened
      list (call-1:code:5): never started, nothing happened
      list (call-1:code:6): never started, nothing happened
      list (call-1:code:7): never started, nothing happened
      list (call-1:code:8): never started, nothing happened
      list (call-1:code:9): never started, nothing happened
      list (call-1:code:10): never started, nothing happened
      list (call-1:code:11): never started, nothing happened
      list (call-1:code:12): never started, nothing happened
      list (call-1:code:13): never started, nothing happened
      list (call-1:code:14): never started, nothing happened
      list (call-1:code:15): never started, nothing happened
      list (call-1:code:16): never started, nothing happened
      list (call-1:code:17): never started, nothing happened
      list (call-1:code:18): never started, nothing happened
      list (call-1:code:19): never started, nothing happened
      list (call-1:code:20): never started, nothing happened
      and 10 more
    note: the program had no outcome yet of 30 tool calls when the run ended: list (30 times: never started, nothing happened)
    ");
}

/// CM-29
#[test]
fn terminal_escapes_are_inert() {
    let code = r"console.log('\x1b[31mred\x07\x9b1m\ttab\r'); return '\x1b]0;title\x07'";
    insta::assert_snapshot!(Folder::new().eval(code), @r"
    exit: 0
    stdout:
    \u{1b}[31mred\u{7}\u{9b}1m	tab\u{d}
    \u{1b}]0;title\u{7}
    stderr:
    ");
    let ended = Folder::new().eval(r"throw new Error('\x1b[2J')");
    assert!(ended.stderr.starts_with("error[exception]: Error: \\u{1b}[2J\n"), "{ended}");
}

/// I-3
#[test]
fn a_reader_that_goes_away_ends_the_program_as_a_broken_pipe_does() {
    let folder = Folder::new();
    let code = "for (;;) { console.log('line'); await new Promise((done) => setTimeout(done, 1)); }";
    let mut child = folder.command(&["run", "-e", code]).spawn().unwrap();
    let mut line = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    drop(child.stdout.take());
    let ended = Ended::new(&child.wait_with_output().unwrap());
    assert_eq!(ended, Ended { code: Some(141), stdout: String::new(), stderr: String::new() });
}

/// I-3
#[test]
fn a_failure_is_told_of_though_nobody_reads_the_output() {
    let folder = Folder::new();
    let mut child =
        folder.command(&["run", "-e", "console.log('line'); throw new Error('x')"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = Ended::new(&child.wait_with_output().unwrap());
    // Whichever came first: the failure, or the end for want of a reader.
    let failed = ended.code == Some(1) && ended.stderr.starts_with("error[exception]: Error: x\n");
    assert!(failed || (ended.code == Some(141) && ended.stderr.is_empty()), "{ended}");
    let mut child = folder.command(&["run", "-e", "throw new Error('x')"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
}

/// I-3, I-4
#[test]
fn json_that_nobody_reads_is_never_a_success() {
    let folder = Folder::new();
    for arguments in
        [&["run", "--json", "-e", "return 1"][..], &["call", "list", "--json"], &["tools", "--json"]]
    {
        let mut child = folder.command(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let ended = Ended::new(&child.wait_with_output().unwrap());
        insta::allow_duplicates!(insta::assert_snapshot!(ended, @r"
        exit: 2
        stdout:
        stderr:
        error: cannot write to standard output: Broken pipe (os error 32)
        "));
    }
    // More than a pipe holds: the reader leaves in the middle.
    let large =
        "exec \"$0\" run --json -e 'return \"x\".repeat(500_000)' | head -c 1; echo \"${PIPESTATUS[0]}\"";
    let mut shell = std::process::Command::new("/bin/bash");
    shell.args(["-c", large, env!("CARGO_BIN_EXE_isolane")]).current_dir(folder.path());
    let ended = Ended::new(&shell.output().unwrap());
    assert_eq!(ended.stdout, "{2\n", "{ended}");
}

/// I-3
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output =
        Folder::new().command(&["run", "-e", "return 1"]).stdout(Stdio::from(full)).output().unwrap();
    insta::assert_snapshot!(Ended::new(&output), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot write to standard output: No space left on device (os error 28)
    ");
}

/// I-3
#[test]
fn the_root_is_where_tools_look() {
    let folder = Folder::new();
    folder.file("below/here.txt", "found\n");
    let code = "return (await tools.list()).entries.map((entry) => entry.path).join()";
    assert_eq!(folder.isolane(&["run", "-e", code, "--root", "below"]).stdout, "here.txt\n");
    assert_eq!(folder.eval(code).stdout, "below\n");
    insta::assert_snapshot!(folder.isolane(&["run", "-e", code, "--root", "/nope"]), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot open the root `/nope`: No such file or directory (os error 2)
    ");
}

/// I-3, B-1
#[test]
fn files_are_changed_only_when_that_is_allowed() {
    let folder = Folder::new();
    let code = "await tools.write({file_path: 'new.txt', content: 'x'}); return 'written'";
    let refused = folder.eval(code);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(!folder.path().join("new.txt").exists());
    assert_eq!(folder.isolane(&["run", "-e", code, "--allow-write"]).stdout, "written\n");
    assert_eq!(folder.text("new.txt"), "x");
}
