//! `read`, `list` and `glob`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

fn lines(
    fixture: &Fixture,
    content: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> (Vec<(u64, String)>, u64) {
    fixture.put("f", content);
    let args = ReadArgs { offset, limit, ..read_args("f") };
    let output = read(&fixture.root, &args, &FileLimits::default()).unwrap();
    (output.lines.into_iter().map(|line| (line.number, line.text)).collect(), output.total_lines)
}

fn numbered(first: u64, texts: &[&str]) -> Vec<(u64, String)> {
    (first..).zip(texts.iter().map(|text| (*text).to_owned())).collect()
}

/// B-2
#[test]
fn lines_are_counted_as_a_reader_counts_them() {
    on_both_ways(&[], |fixture| {
        for (content, expected) in [
            ("", &[] as &[&str]),
            ("\n", &[""]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\n\n", &["a", ""]),
            ("a\nb", &["a", "b"]),
            ("a\r\nb\r\n", &["a", "b"]),
            ("a\r\nb", &["a", "b"]),
            ("a\r\nb\n", &["a\r", "b"]),
            ("a\rb\n", &["a\rb"]),
            ("\u{feff}a\n", &["\u{feff}a"]),
        ] {
            let total = expected.len() as u64;
            assert_eq!(lines(fixture, content, None, None), (numbered(1, expected), total), "{content:?}");
        }
    });
}

/// B-2
#[test]
fn offset_and_limit_choose_lines() {
    let fixture = Fixture::new(&[]);
    let content = "a\nb\nc\n";
    for (offset, limit, expected) in [
        (Some(2), None, numbered(2, &["b", "c"])),
        (Some(2), Some(1), numbered(2, &["b"])),
        (None, Some(2), numbered(1, &["a", "b"])),
        (Some(3), Some(u64::MAX), numbered(3, &["c"])),
        (Some(4), None, vec![]),
        (Some(u64::MAX), None, vec![]),
        (None, Some(0), vec![]),
    ] {
        assert_eq!(lines(&fixture, content, offset, limit), (expected, 3), "{offset:?} {limit:?}");
    }
    let args = ReadArgs { offset: Some(0), ..read_args("f") };
    let result = read(&fixture.root, &args, &FileLimits::default());
    assert_eq!(message(result), "the argument at /offset counts lines from 1; pass at least 1");
}

/// B-2
#[test]
fn the_value_has_the_documented_shape() {
    let fixture = Fixture::new(&[("a.txt", "x\r\ny")]);
    let value = serde_json::to_value(fixture.read("a.txt").unwrap()).unwrap();
    let expected = serde_json::json!({
        "path": "a.txt",
        "offset": 1,
        "lines": [{"number": 1, "text": "x"}, {"number": 2, "text": "y"}],
        "total_lines": 2,
        "line_ending": "crlf",
        "final_newline": false,
    });
    assert_eq!(value, expected);
}

/// B-2
#[test]
fn a_model_sees_numbered_lines_and_what_is_left_out() {
    let fixture = Fixture::new(&[("f", "a\r\nb\nc\n"), ("empty", "")]);
    let text = |path, offset, limit| {
        let args = ReadArgs { offset, limit, ..read_args(path) };
        read(&fixture.root, &args, &FileLimits::default()).unwrap().numbered_text()
    };
    assert_eq!(text("f", None, None), "     1\ta\n     2\tb\n     3\tc\n");
    assert_eq!(text("f", Some(2), Some(1)), "     2\tb\n(lines 2 to 2 of 3)\n");
    assert_eq!(text("f", Some(7), None), "(no lines from line 7; the file has 3)\n");
    assert_eq!(text("empty", None, None), "(empty file)\n");
}

/// B-2
#[test]
fn what_cannot_be_read_is_named() {
    on_both_ways(&[("src/main.rs", "fn main() {}\n"), ("srv/x", "")], |fixture| {
        fixture.put("latin", b"caf\xe9\n");
        fixture.put("big", "x".repeat(11));
        let limits = FileLimits { max_file_bytes: 10, ..FileLimits::default() };
        for (path, expected) in [
            ("src/mian.rs", "no such file or directory: `src/mian.rs`; did you mean `src/main.rs`?"),
            ("./src/MAIN.RS", "no such file or directory: `./src/MAIN.RS`; did you mean `src/main.rs`?"),
            (
                "srcs/main.rs",
                "no such file or directory: `srcs/main.rs`; `srcs` does not exist, did you mean `src`?",
            ),
            (
                "nowhere/x",
                "no such file or directory: `nowhere/x`; `nowhere` does not exist, use `list` to see what does",
            ),
            ("zzzzzz", "no such file or directory: `zzzzzz`; use `list` or `glob` to find it"),
            ("src", "`src` is a directory, not a file; use `list` to see what is in it"),
            (".", "`.` is a directory, not a file; use `list` to see what is in it"),
            ("latin/x", "`latin` is not a directory"),
            ("latin", "`latin` is not UTF-8 text (first bad byte at offset 3)"),
            ("big", "`big` is too large: 11 bytes, at most 10 are allowed"),
        ] {
            assert_eq!(message(read(&fixture.root, &read_args(path), &limits)), expected);
        }
        let long = "x".repeat(300);
        assert_eq!(
            message(fixture.read(&format!("src/{long}"))),
            "the path at /file_path has a name that is too long for the file system (300 bytes); shorten it"
        );
        assert_eq!(
            message(fixture.list(&ListArgs { path: Some("latin".to_owned()), ..ListArgs::default() })),
            "`latin` is not a directory"
        );
    });
}

const TREE: &[(&str, &str)] = &[
    (".git/config", ""),
    (".github/ci.yml", ""),
    (".gitignore", "target/\n*.log\n!keep.log\n/only-top\n"),
    ("a-b", "12"),
    ("a/only-top", ""),
    ("a/x.rs", "1"),
    ("a/y.log", ""),
    ("b/.gitignore", "x.rs\n!y.log\n"),
    ("b/.ignore", "z.rs\n"),
    ("b/c/x.rs", ""),
    ("b/x.rs", ""),
    ("b/y.log", ""),
    ("b/z.rs", ""),
    ("keep.log", ""),
    ("only-top", ""),
    ("target/x.rs", ""),
];

fn paths(output: &ListOutput) -> Vec<&str> {
    output.entries.iter().map(|entry| entry.path.as_str()).collect()
}

/// B-1
#[test]
fn list_is_sorted_and_leaves_out_hidden_and_ignored_names() {
    on_both_ways(TREE, |fixture| {
        let one = fixture.list(&ListArgs::default()).unwrap();
        assert_eq!(paths(&one), ["a", "a-b", "b", "keep.log"]);
        assert_eq!(
            one.entries[1],
            ListEntry { path: "a-b".to_owned(), kind: EntryKind::File, size: Some(2), lossy: false }
        );
        let all = fixture.list(&ListArgs { depth: Some(9), ..ListArgs::default() }).unwrap();
        assert_eq!(
            paths(&all),
            ["a", "a/only-top", "a/x.rs", "a-b", "b", "b/c", "b/y.log", "keep.log"],
            "a directory comes right before what is in it"
        );
        let hidden = fixture.list(&ListArgs { hidden: true, ..ListArgs::default() }).unwrap();
        assert_eq!(paths(&hidden), [".github", ".gitignore", "a", "a-b", "b", "keep.log"]);
        let everything = ListArgs { hidden: true, ignored: true, ..ListArgs::default() };
        assert_eq!(
            paths(&fixture.list(&everything).unwrap()),
            [".git", ".github", ".gitignore", "a", "a-b", "b", "keep.log", "only-top", "target"]
        );
    });
}

/// B-1
#[test]
fn rules_above_the_start_hold_and_the_start_itself_is_walked() {
    on_both_ways(TREE, |fixture| {
        let at = |path: &str| {
            let args = ListArgs { path: Some(path.to_owned()), depth: Some(9), ..ListArgs::default() };
            paths(&fixture.list(&args).unwrap()).iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(at("a"), ["a/only-top", "a/x.rs"]);
        assert_eq!(at("b/c"), [] as [&str; 0]);
        assert_eq!(at("target"), ["target/x.rs"]);
    });
}

/// B-1
#[test]
fn glob_matches_paths_below_its_start() {
    on_both_ways(TREE, |fixture| {
        let found = |args: &GlobArgs| fixture.glob(args).unwrap().paths;
        assert_eq!(found(&glob_args("**/*.rs")), ["a/x.rs"]);
        assert_eq!(found(&glob_args("*.rs")), [] as [&str; 0]);
        assert_eq!(found(&glob_args("./a/*.{rs,log}")), ["a/x.rs"]);
        assert_eq!(found(&glob_args("**/*.yml")), [] as [&str; 0]);
        assert_eq!(found(&glob_args(".github/*")), [".github/ci.yml"]);
        assert_eq!(found(&GlobArgs { path: Some("a".to_owned()), ..glob_args("*.rs") }), ["a/x.rs"]);
        let all = GlobArgs { ignored: true, ..glob_args("**/*.rs") };
        assert_eq!(found(&all), ["a/x.rs", "b/c/x.rs", "b/x.rs", "b/z.rs", "target/x.rs"]);
        let few = fixture.glob(&GlobArgs { limit: Some(2), ..all }).unwrap();
        assert_eq!((few.paths.len(), few.truncated), (2, true));
    });
}

/// B-1
#[test]
fn invalid_globs_are_explained() {
    let fixture = Fixture::new(&[]);
    let below = "globs are matched against paths below `path`: no leading `/`, no `..`";
    for (pattern, reason) in [
        ("a[", "unclosed character class; missing ']'"),
        ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("", "it is empty"),
        ("/a/*", below),
        ("../*", below),
    ] {
        let expected = format!("invalid glob `{pattern}`: {reason}");
        assert_eq!(message(fixture.glob(&glob_args(pattern))), expected);
    }
    for depth in [400, 100_000] {
        let nested = format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(matches!(fixture.glob(&glob_args(&nested)), Err(FileError::Glob { .. })), "{depth}");
    }
}

/// B-1
#[test]
fn names_that_are_not_utf8_are_shown_and_marked() {
    on_both_ways(&[], |fixture| {
        let name = OsStr::from_bytes(b"caf\xe9.txt");
        fs::write(fixture.path("").join(name), "found\n").unwrap();
        let shown = "caf\u{fffd}.txt".to_owned();
        let list = fixture.list(&ListArgs::default()).unwrap();
        assert_eq!(
            list.entries,
            [ListEntry { path: shown.clone(), kind: EntryKind::File, size: Some(6), lossy: true }]
        );
        let glob = fixture.glob(&glob_args("*.txt")).unwrap();
        assert_eq!((glob.paths, glob.lossy_paths), (vec![shown.clone()], vec![shown.clone()]));
        let grep = fixture.grep(&grep_args("found")).unwrap();
        assert_eq!((grep.matches.len(), grep.lossy_paths), (1, vec![shown.clone()]));
        assert_eq!(
            message(fixture.read(&shown)),
            format!(
                "no such file or directory: `{shown}`; \
                 a name that is not UTF-8 is shown with U+FFFD in it and cannot be opened"
            )
        );
    });
}

/// B-1
#[test]
fn unknown_arguments_are_refused() {
    let result = serde_json::from_str::<ReadArgs>(r#"{"file_path": "a", "line": 3}"#);
    assert!(result.unwrap_err().to_string().starts_with("unknown field `line`"));
    let args: ListArgs = serde_json::from_str("{}").unwrap();
    assert_eq!(args, ListArgs::default());
}
