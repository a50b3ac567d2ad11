//! `grep`.

use super::*;

fn found(path: &str, line: u64, column: u64, text: &str) -> GrepMatch {
    GrepMatch {
        path: path.to_owned(),
        line,
        column,
        text: text.to_owned(),
        cut: false,
        before: vec![],
        after: vec![],
    }
}

/// B-1
#[test]
fn matches_have_lines_and_columns_and_are_sorted() {
    let files = [("b.txt", "x\n  foo foo\n"), ("a/c.txt", "äfoo\r\nbar\r\nfoo"), ("a-b.txt", "foo")];
    on_both_ways(&files, |fixture| {
        let output = fixture.grep(&grep_args("fo+$")).unwrap();
        assert_eq!(
            output.matches,
            [
                found("a/c.txt", 1, 2, "äfoo"),
                found("a/c.txt", 3, 1, "foo"),
                found("a-b.txt", 1, 1, "foo"),
                found("b.txt", 2, 7, "  foo foo"),
            ]
        );
        assert_eq!((output.files_searched, output.truncated), (3, false));
    });
}

/// B-1
#[test]
fn the_value_has_the_documented_shape() {
    let fixture = Fixture::new(&[("a", "x\n")]);
    let value = serde_json::to_value(fixture.grep(&grep_args("x")).unwrap()).unwrap();
    let expected = serde_json::json!({
        "matches": [{"path": "a", "line": 1, "column": 1, "text": "x"}],
        "counts": [],
        "files_searched": 1,
        "skipped": {"binary": 0, "too_large": 0, "unreadable": 0},
        "truncated": false,
    });
    assert_eq!(value, expected);
}

/// B-1
#[test]
fn options_change_what_matches() {
    let fixture = Fixture::new(&[("a.rs", "Foo(a.b)\nfooxb"), ("sub/b.md", "foo(a.b)"), (".h.rs", "foo")]);
    let paths = |args: &GrepArgs| {
        let matches = fixture.grep(args).unwrap().matches;
        matches.into_iter().map(|found| format!("{}:{}", found.path, found.line)).collect::<Vec<_>>()
    };
    assert_eq!(paths(&grep_args("foo")), ["a.rs:2", "sub/b.md:1"]);
    let args = GrepArgs { case_insensitive: true, ..grep_args("foo") };
    assert_eq!(paths(&args), ["a.rs:1", "a.rs:2", "sub/b.md:1"]);
    assert_eq!(paths(&GrepArgs { literal: true, ..grep_args("(a.b)") }), ["a.rs:1", "sub/b.md:1"]);
    assert_eq!(paths(&GrepArgs { hidden: true, ..grep_args("foo") }), [".h.rs:1", "a.rs:2", "sub/b.md:1"]);
    for (glob, expected) in
        [("*.md", vec!["sub/b.md:1"]), ("sub/*", vec!["sub/b.md:1"]), ("./*.rs", vec!["a.rs:2"])]
    {
        assert_eq!(paths(&GrepArgs { glob: Some(glob.to_owned()), ..grep_args("foo") }), expected, "{glob}");
    }
    let one = GrepArgs { path: Some("sub/b.md".to_owned()), ..grep_args("foo") };
    assert_eq!(paths(&one), ["sub/b.md:1"]);
    assert_eq!(paths(&GrepArgs { glob: Some("*.rs".to_owned()), ..one }), [] as [&str; 0]);
}

/// B-1
#[test]
fn context_is_complete_for_every_match() {
    let fixture = Fixture::new(&[("f", "1\n2 x\n3\n4 x\n5 x\n6\n7\n8\n9 x")]);
    let output = fixture.grep(&GrepArgs { context: Some(2), ..grep_args("x") }).unwrap();
    let context: Vec<_> = output
        .matches
        .iter()
        .map(|found| (found.line, found.before.join(","), found.after.join(",")))
        .collect();
    let expected = [(2, "1", "3,4 x"), (4, "2 x,3", "5 x,6"), (5, "3,4 x", "6,7"), (9, "7,8", "")];
    assert_eq!(context, expected.map(|(line, before, after)| (line, before.to_owned(), after.to_owned())));
}

/// B-1
#[test]
fn the_context_of_the_last_match_before_the_limit_is_complete() {
    let fixture = Fixture::new(&[("f", "x\na\nb\nx\n")]);
    let args = GrepArgs { context: Some(2), limit: Some(1), ..grep_args("x") };
    let output = fixture.grep(&args).unwrap();
    assert_eq!(output.matches[0].after, ["a", "b"]);
    assert_eq!((output.matches.len(), output.truncated), (1, true));
    let exact = fixture.grep(&GrepArgs { limit: Some(2), ..args }).unwrap();
    assert_eq!((exact.matches.len(), exact.truncated), (2, false));
}

/// B-1
#[test]
fn counting_gives_matching_lines_per_file() {
    let fixture = Fixture::new(&[("a", "x x\nx\n"), ("b", "y"), ("c", "x")]);
    let args = GrepArgs { mode: GrepMode::Count, ..grep_args("x") };
    let output = fixture.grep(&args).unwrap();
    let count = |path: &str, count| FileCount { path: path.to_owned(), count };
    assert_eq!(output.counts, [count("a", 2), count("c", 1)]);
    assert_eq!((output.matches.len(), output.files_searched, output.truncated), (0, 3, false));
    let output = fixture.grep(&GrepArgs { limit: Some(1), ..args }).unwrap();
    assert_eq!((output.counts, output.truncated), (vec![count("a", 2)], true));
    let matches = |pattern: &str| {
        let args = GrepArgs { mode: GrepMode::CountMatches, ..grep_args(pattern) };
        fixture.grep(&args).unwrap().counts
    };
    assert_eq!(matches("x"), [count("a", 3), count("c", 1)]);
    assert_eq!(matches("^x"), [count("a", 2), count("c", 1)]);
    fixture.put("a", "xx xxx\r\nx\r\n\r\n");
    assert_eq!(matches("xx$|x"), [count("a", 5), count("c", 1)]);
}

/// B-1
#[test]
fn files_that_are_not_text_or_too_large_are_skipped_and_counted() {
    on_both_ways(&[("text", "x\n")], |fixture| {
        fixture.put("binary", b"x\n\0x\n");
        fixture.put("late", [b"x\n".repeat(100_000), b"\0".to_vec()].concat());
        fixture.put("latin", b"\xe9 x\n");
        fixture.put("big", "x\n".repeat(200_000));
        let limits = FileLimits { max_file_bytes: 300_000, ..FileLimits::default() };
        let args = GrepArgs { mode: GrepMode::Count, ..grep_args("x") };
        let output = grep(&fixture.root, &args, &limits, &|| false).unwrap();
        let paths: Vec<_> = output.counts.iter().map(|count| count.path.as_str()).collect();
        assert_eq!(paths, ["latin", "text"]);
        assert_eq!(output.skipped, GrepSkipped { binary: 2, too_large: 1, unreadable: 0 });
        let latin = fixture.grep(&GrepArgs { path: Some("latin".to_owned()), ..grep_args("x") }).unwrap();
        assert_eq!(latin.matches, [found("latin", 1, 3, "\u{fffd} x")]);
        let one = GrepArgs { path: Some("big".to_owned()), ..grep_args("x") };
        assert_eq!(
            message(grep(&fixture.root, &one, &limits, &|| false)),
            "`big` is too large: 400000 bytes, at most 300000 are allowed"
        );
    });
}

/// B-1
#[test]
fn ignored_files_are_not_searched_outside_a_repository_either() {
    on_both_ways(&[(".gitignore", "out/\n"), ("out/a", "x"), ("b", "x")], |fixture| {
        assert_eq!(fixture.grep(&grep_args("x")).unwrap().matches, [found("b", 1, 1, "x")]);
        let all = fixture.grep(&GrepArgs { ignored: true, ..grep_args("x") }).unwrap();
        assert_eq!(all.matches, [found("b", 1, 1, "x"), found("out/a", 1, 1, "x")]);
    });
}

/// B-1
#[test]
fn the_size_of_a_result_is_bounded() {
    let fixture =
        Fixture::new(&[("f", &format!("{}needle{}\n", "a".repeat(1_000), "b".repeat(1_000)).repeat(9))]);
    let limits = FileLimits { max_line_chars: 40, max_result_bytes: 100, ..FileLimits::default() };
    let output = grep(&fixture.root, &grep_args("needle"), &limits, &|| false).unwrap();
    assert_eq!((output.matches.len(), output.truncated), (3, true));
    let text = format!("{}needle{}", "a".repeat(10), "b".repeat(24));
    assert_eq!(output.matches[0], GrepMatch { cut: true, ..found("f", 1, 1_001, &text) });
}

/// B-1
#[test]
fn invalid_patterns_are_explained_with_the_position() {
    let fixture = Fixture::new(&[]);
    insta::assert_snapshot!(message(fixture.grep(&grep_args("a(b"))), @r"
    invalid regular expression: regex parse error:
        a(b
         ^
    error: unclosed group
    ");
    assert_eq!(
        message(fixture.grep(&grep_args(r"a\nb"))),
        r#"invalid regular expression: the literal "\n" is not allowed in a regex"#
    );
    assert!(matches!(fixture.grep(&grep_args("a)(b")), Err(FileError::Pattern { .. })));
    assert!(matches!(fixture.grep(&grep_args(&"(".repeat(100_000))), Err(FileError::Pattern { .. })));
    assert!(matches!(fixture.grep(&grep_args(r"\w{1000}{1000}")), Err(FileError::Pattern { .. })));
}
