//! The programs in `examples/`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

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
    folder.file(".hidden/.deeper/.FIXME", "todo FIXME\n");
    folder.file(".git/config", "TODO TODO\n");
    folder.file(".gitignore", "ignored\n# TODO: ignore less\n");
    folder.file("ignored/deep/er/a b.txt", "FIXME\nfixme\ntodo\n");
    folder.file("many.txt", "TODO FIXME\n".repeat(3000));
    folder.file("two\nlines.txt", "TODO\n");
    folder.file("binary.bin", b"TODO\0FIXME\n");
    folder.file("src/0/wide.txt", "T\0O\0D\0O\0");
    folder.file("latin1.txt", b"caf\xe9 TODO\n");
    folder.file("empty.txt", "");
    // Long lines, also such as cannot be read as text, and one of almost the size that is allowed.
    folder.file("long/line.txt", format!("{}TODO", "TODO FIXME ".repeat(20_000)));
    folder.file("long/bytes.txt", [b"\xff TODO".repeat(30_000), b"FIXME".to_vec()].concat());
    folder.file("long/huge.txt", [vec![b'x'; 9 << 20], b"TODO\nFIXME".to_vec()].concat());
    // Names that are no text: of a file, of a folder, and two that look the same.
    for name in
        [&b"caf\xe9.txt"[..], b"caf\xff.txt", b"n\xe9/below.txt", b"n\xe9/deep/TODO.txt", b"n\xe9/none.txt"]
    {
        let path = folder.path().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, if name.ends_with(b"none.txt") { "" } else { "TODO FIXME TODO\n" }).unwrap();
    }
    symlink("many.txt", folder.path().join("link.txt")).unwrap();
    symlink("src", folder.path().join("folder-link")).unwrap();
    symlink("..", folder.path().join("src/0/up")).unwrap();
    mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    folder
}

/// TODO, FIXME and files with either, by folder.
type Rows = BTreeMap<String, [u64; 3]>;

/// Counts by looking at every byte.
fn rows_of_bytes(folder: &Path, shown: &str, rows: &mut Rows) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            let name = entry.file_name();
            let below = if shown == "." { String::new() } else { format!("{shown}/") };
            rows_of_bytes(&entry.path(), &format!("{below}{}", name.to_string_lossy()), rows);
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let count =
                |word: &[u8]| bytes.windows(word.len()).filter(|window| *window == word).count() as u64;
            let (todo, fixme) = (count(b"TODO"), count(b"FIXME"));
            if !bytes.contains(&0) && todo + fixme > 0 {
                add(rows, shown, [todo, fixme, 1]);
            }
        }
    }
}

/// Counts what grep finds.
fn rows_of_grep(folder: &Folder) -> Rows {
    let mut grep = Command::new("grep");
    grep.args(["-rIoHZ", "-e", "TODO", "-e", "FIXME", "."]).current_dir(folder.path()).env("LC_ALL", "C");
    let printed = grep.output().unwrap().stdout;
    let mut rows = Rows::new();
    let mut files = std::collections::BTreeSet::new();
    let mut rest = printed.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (file, found) = (&rest[2..end], &rest[end + 1..]);
        let line = found.iter().position(|byte| *byte == b'\n').unwrap();
        let slash = file.iter().rposition(|byte| *byte == b'/');
        let shown = slash.map_or(".".into(), |slash| String::from_utf8_lossy(&file[..slash]));
        let is_todo = &found[..line] == b"TODO";
        add(
            &mut rows,
            &shown,
            [u64::from(is_todo), u64::from(!is_todo), u64::from(files.insert(file.to_vec()))],
        );
        rest = &found[line + 1..];
    }
    rows
}

fn add(rows: &mut Rows, folder: &str, counts: [u64; 3]) {
    let row = rows.entry(folder.to_owned()).or_default();
    for (sum, count) in row.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// The table that the program printed.
fn rows_of_report(report: &Value) -> Rows {
    let lines = report["logs"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let row = |line: &str| {
        let (numbers, folder) = line.split_at(3 * 7);
        let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (folder.strip_prefix("  ").unwrap().to_owned(), numbers.try_into().unwrap())
    };
    lines.skip(1).map(row).collect()
}

/// I-3
#[test]
fn markers_are_counted_as_grep_does_with_hundreds_of_calls_in_flight() {
    let folder = tree();
    let program = example("count-markers.ts");
    let report = folder.isolane(&["run", &program, "--json", "--max-parallel", "250"]).json();
    let mut rows = Rows::new();
    rows_of_bytes(folder.path(), ".", &mut rows);
    assert_eq!(rows_of_grep(&folder), rows, "grep and the bytes say the same");
    assert_eq!(rows_of_report(&report), rows, "{report}");
    let sum = |column: usize| rows.values().map(|row| row[column]).sum::<u64>();
    assert_eq!(
        report["result"],
        json!({"todo": sum(0), "fixme": sum(1), "files": sum(2), "folders": rows.len()}),
    );
    assert!(report["stats"]["peak_in_flight"].as_u64().unwrap() >= 200, "{}", report["stats"]);
    // The table does not depend on the order in which calls end.
    let serial = folder.isolane(&["run", &program, "--json", "--max-parallel", "1"]).json();
    assert_eq!(serial["logs"], report["logs"]);
    assert_eq!(report["logs"][0], "   TODO  FIXME  files  folder");
}

/// I-3, B-1
#[test]
fn a_file_that_cannot_be_counted_is_named() {
    let folder = Folder::new();
    folder.file("small.txt", "TODO\n");
    std::fs::File::create(folder.path().join("sparse")).unwrap().set_len(5 << 30).unwrap();
    let ended = folder.isolane(&["run", &example("count-markers.ts")]);
    insta::assert_snapshot!(ended, @r#"
    exit: 0
    stdout:
       TODO  FIXME  files  folder
          1      0      1  .
    not counted: 1, for example: `sparse` is too large: 5368709120 bytes, at most 10485760 are allowed
    {
      "todo": 1,
      "fixme": 0,
      "files": 1,
      "folders": 1
    }
    stderr:
    "#);
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
