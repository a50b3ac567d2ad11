//! The programs in `examples/`.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::Folder;

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).to_str().unwrap().to_owned()
}

/// A tree with whatever makes counting hard.
fn tree() -> Folder {
    let folder = Folder::new();
    for n in 0..260 {
        let text = match n % 4 {
            0 => "// TODO: one\nlet x = 1;\n".to_owned(),
            1 => format!("FIXME TODO TODO\r\n{}\r\n", "TODOTODO".repeat(n)),
            2 => "nothing to do\n".to_owned(),
            _ => "last line without an end: FIXME".to_owned(),
        };
        folder.file(&format!("src/{}/file{n}.txt", n % 13), text);
    }
    folder.file(".hidden/TODO", "TODO\n");
    folder.file(".gitignore", "ignored\n# TODO: ignore less\n");
    folder.file("ignored/deep/er/a b.txt", "FIXME\nfixme\ntodo\n");
    folder.file("many.txt", "TODO FIXME\n".repeat(3000));
    folder.file("binary.bin", b"TODO\0FIXME\n");
    folder.file("latin1.txt", b"caf\xe9 TODO\n");
    folder.file("empty.txt", "");
    symlink("many.txt", folder.path().join("link.txt")).unwrap();
    symlink("src", folder.path().join("folder-link")).unwrap();
    folder
}

/// Lines of what a command prints in the folder.
fn lines(folder: &Folder, command: &str) -> u64 {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(folder.path()).env("LC_ALL", "C");
    String::from_utf8(shell.output().unwrap().stdout).unwrap().trim().parse().unwrap()
}

/// I-3
#[test]
fn markers_are_counted_as_grep_does_with_hundreds_of_calls_in_flight() {
    let folder = tree();
    let program = example("count-markers.ts");
    let report = folder.isolane(&["run", &program, "--json", "--max-parallel", "250"]).json();
    let files = "grep -rIlE 'TODO|FIXME' .";
    assert_eq!(
        report["result"],
        json!({
            "todo": lines(&folder, "grep -rIo TODO . | wc -l"),
            "fixme": lines(&folder, "grep -rIo FIXME . | wc -l"),
            "files": lines(&folder, &format!("{files} | wc -l")),
            "folders": lines(&folder, &format!("{files} | sed 's,/[^/]*$,,' | sort -u | wc -l")),
        }),
    );
    assert!(report["stats"]["peak_in_flight"].as_u64().unwrap() >= 200, "{}", report["stats"]);
    // The table does not depend on the order in which calls end.
    let serial = folder.isolane(&["run", &program, "--json", "--max-parallel", "1"]).json();
    assert_eq!(serial["logs"], report["logs"]);
    assert_eq!(report["logs"][0], "   TODO  FIXME  files  folder");
}

/// I-3, B-4
#[test]
fn a_symbol_is_renamed_in_whole_words() {
    let folder = Folder::new();
    folder.file("src/a.rs", "fn oldName() { oldName(); oldNames(); }\r\n");
    folder.file("src/deep/b.rs", "oldName\n\nmy_oldName oldName");
    folder.file("src/c.rs", "other\n");
    folder.file("d.rs", "oldName\n");
    let program = example("rename-symbol.ts");
    let refused = folder.isolane(&["run", &program]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert_eq!(folder.text("src/a.rs"), "fn oldName() { oldName(); oldNames(); }\r\n");
    let report = folder.isolane(&["run", &program, "--json", "--allow-write"]).json();
    assert_eq!(report["result"], json!({"files": 2, "occurrences": 4}));
    assert_eq!(folder.text("src/a.rs"), "fn newName() { newName(); oldNames(); }\r\n");
    assert_eq!(folder.text("src/deep/b.rs"), "newName\n\nmy_oldName newName");
    assert_eq!(folder.text("d.rs"), "oldName\n");
}
