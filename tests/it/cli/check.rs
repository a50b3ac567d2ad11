//! `isolane check`, and `isolane run --check`.

use std::fmt::Write as _;

use serde_json::json;

use super::Folder;

/// I-4, CM-27
#[test]
fn findings_are_shown_with_line_and_caret() {
    let folder = Folder::new();
    folder.file(
        "program.ts",
        "const found = await tools.glob({ patern: '*' });\nreturn tools.list().entries;\ntools.list();",
    );
    insta::assert_snapshot!(folder.isolane(&["check", "program.ts"]));
}

/// I-4, CM-27
#[test]
fn findings_as_json_have_stable_keys() {
    let folder = Folder::new();
    let ended = folder.isolane(&["check", "--json", "-e", "return 'a'.lenght"]);
    assert_eq!(ended.code, Some(1), "{ended}");
    insta::assert_json_snapshot!(ended.json());
    let right = folder.isolane(&["check", "--json", "-e", "return 'a'.length"]);
    assert_eq!(right.json(), json!({"ok": true, "diagnostics": [], "found": 0, "errors": 0}));
    assert_eq!(right.code, Some(0));
}

/// I-4: a text that is no program is a finding, as every other fault of it.
#[test]
fn a_text_that_is_no_program_is_told() {
    let folder = Folder::new();
    let ended = folder.isolane(&["check", "--json", "-e", "const = 1"]);
    assert_eq!(ended.json()["diagnostics"][0]["code"], "syntax");
    assert_eq!(ended.code, Some(1));
    assert_eq!(folder.isolane(&["check", "missing.ts"]).code, Some(2));
    // Where nothing can be checked, the answer says so in the form that was asked for.
    let ended = folder.isolane(&["check", "--json", "missing.ts"]);
    let answer = ended.json();
    assert_eq!((ended.code, &answer["ok"], &answer["diagnostics"]), (Some(2), &json!(false), &json!([])));
    assert!(answer["error"].as_str().unwrap().contains("missing.ts"), "{ended}");
}

/// I-3, CM-27
#[test]
fn a_run_can_ask_for_the_check() {
    let folder = Folder::new();
    let code = "await tools.write({ file_path: 'a.txt', content: 'a' });\nreturn 'a'.lenght ?? 0";
    let ended = folder.isolane(&["run", "--allow-write", "--check", "enforce", "-e", code]);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(ended.stderr.starts_with("error[type]: TS2551 "), "{ended}");
    assert!(!folder.path().join("a.txt").exists());
    let ended = folder.isolane(&["run", "--allow-write", "--check", "warn", "-e", code]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "0\n"), "{ended}");
    assert!(ended.stderr.starts_with("note: type check: 2:12 TS2551 "), "{ended}");
    assert!(folder.path().join("a.txt").exists());
}

/// I-4: what the README shows of the check is what it says.
#[test]
fn the_check_in_the_readme_is_true() {
    let readme = include_str!("../../../README.md");
    let (_, after) = readme.split_once("$ cat bad.ts\n").unwrap();
    let (program, _) = after.split_once("$ isolane run bad.ts\n").unwrap();
    let folder = Folder::new();
    folder.file("bad.ts", program);
    let ended = folder.isolane(&["check", "bad.ts"]);
    let shown = format!("$ isolane check bad.ts\n{}{}```", ended.stdout, ended.stderr);
    assert!(readme.contains(&shown), "{shown}");
}

/// I-4, CM-27, M12: a program that the compiler cannot take is one that failed.
#[test]
fn a_check_without_an_answer_is_told() {
    let mut code = "type S0 = 'aaaaaaaaaaaaaaaa';\n".to_owned();
    for n in 1..27 {
        writeln!(code, "type S{n} = `${{S{0}}}${{S{0}}}`;", n - 1).unwrap();
    }
    code.push_str("const x: S26 = 'b';");
    let ended = Folder::new().isolane(&["check", "--json", "-e", &code]);
    let report = ended.json();
    assert_eq!((ended.code, &report["ok"]), (Some(1), &json!(false)), "{ended}");
    assert!(report["error"].as_str().unwrap().contains("MiB of memory"), "{ended}");
}
