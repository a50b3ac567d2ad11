//! Where a program comes from, and what is wrong with it before it runs.

use super::Folder;

/// I-3
#[test]
fn a_program_comes_from_a_file_an_argument_or_standard_input() {
    let folder = Folder::new();
    folder.file("program.ts", "return 'file' as string");
    assert_eq!(folder.isolane(&["run", "program.ts"]).stdout, "file\n");
    assert_eq!(folder.isolane(&["run", "--eval", "return 'argument'"]).stdout, "argument\n");
    assert_eq!(folder.isolane(&["run", "-e", "-1"]).stdout, "-1\n");
    assert_eq!(folder.isolane_reading(&["run", "-"], "return 'dash'").stdout, "dash\n");
    assert_eq!(folder.isolane_reading(&["run"], "return 'piped'").stdout, "piped\n");
    // What editors and shells put before a program.
    folder.file("program.ts", "\u{feff}return 'mark'");
    assert_eq!(folder.isolane(&["run", "program.ts"]).stdout, "mark\n");
    folder.file("program.ts", "#!/usr/bin/env -S isolane run\nreturn 'hashbang'");
    assert_eq!(folder.isolane(&["run", "program.ts"]).stdout, "hashbang\n");
}

/// I-3
#[test]
fn a_failure_names_where_the_program_came_from() {
    let folder = Folder::new();
    let failed = folder.isolane_reading(&["run"], "throw new Error('x')");
    assert!(failed.stderr.contains("\n  --> <stdin>:1:7\n"), "{failed}");
    let failed = folder.eval("throw new Error('x')");
    assert!(failed.stderr.contains("\n  --> -e:1:7\n"), "{failed}");
}

/// I-3
#[test]
fn what_is_no_program_file_is_a_configuration_error() {
    let folder = Folder::new();
    folder.file("latin1.ts", b"return '\xe9'");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    insta::assert_snapshot!(folder.isolane(&["run", "nope.ts"]), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot read the program nope.ts: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(folder.isolane(&["run", "folder"]), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot read the program folder: it is a directory
    ");
    insta::assert_snapshot!(folder.isolane(&["run", "latin1.ts", "--json"]), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot read the program latin1.ts: it is not UTF-8 (byte 9)
    ");
    insta::assert_snapshot!(folder.isolane_reading(&["run", "-"], b"\xff"), @r"
    exit: 2
    stdout:
    stderr:
    error: cannot read standard input: it is not UTF-8 (byte 1)
    ");
}

/// I-3
#[test]
fn two_programs_are_a_usage_error() {
    insta::assert_snapshot!(Folder::new().isolane(&["run", "-e", "1", "program.ts"]), @r"
    exit: 2
    stdout:
    stderr:
    error: the argument '--eval <CODE>' cannot be used with '[PROGRAM]'

    Usage: isolane run --eval <CODE> [PROGRAM]

    For more information, try '--help'.
    ");
}

/// I-3, E-6
#[test]
fn a_program_that_is_too_large_fails_like_any_other() {
    // Characters of two bytes, so that the limit lies within one.
    let code = format!("'{}'", "é".repeat(600 * 1024));
    let folder = Folder::new();
    let ended = folder.isolane_reading(&["run", "-"], &code);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended}");
    assert!(ended.stderr.starts_with("error[syntax]: the program has "), "{ended}");
    folder.file("large.ts", &code);
    assert_eq!(folder.isolane(&["run", "large.ts", "--json"]).json()["error"]["kind"], "syntax");
}
