//! What models read and people see.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

/// B-2
#[tokio::test]
async fn read_shows_numbered_lines() {
    let bench = Bench::new(&[("a.rs", "fn main() {\n    run();\n}\n")]);
    insta::assert_snapshot!(bench.text("read", json!({"file_path": "a.rs", "offset": 2, "limit": 1})).await, @"     2	    run();
(lines 2 to 2 of 3)
");
    let whole = bench.text("read", json!({"file_path": "a.rs"})).await;
    assert_eq!(whole, "     1\tfn main() {\n     2\t    run();\n     3\t}\n");
}

/// B-1
#[tokio::test]
async fn list_shows_one_entry_a_line() {
    let bench = Bench::new(&[("src/main.rs", ""), ("a.txt", ""), ("two\nlines", "")]);
    std::os::unix::fs::symlink("a.txt", bench.fixture.path("link")).unwrap();
    fs::write(bench.fixture.path("").join(OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    insta::assert_snapshot!(bench.text("list", json!({"depth": 2})).await, @r#"
    a.txt
    caf� (the name is not UTF-8; it cannot be opened)
    link (symbolic link)
    src/
    src/main.rs
    "two\nlines"
    "#);
    let empty = Bench::new(&[]);
    assert_eq!(empty.text("list", json!({})).await, "(no entries)\n");
}

/// B-1
#[tokio::test]
async fn glob_shows_one_path_a_line() {
    let bench = Bench::new(&[("src/a.rs", ""), ("src/b.rs", ""), ("c.txt", "")]);
    insta::assert_snapshot!(bench.text("glob", json!({"pattern": "**/*.rs"})).await, @r"
    src/a.rs
    src/b.rs
    ");
    insta::assert_snapshot!(bench.text("glob", json!({"pattern": "**/*.rs", "limit": 1})).await, @r"
    src/a.rs
    (truncated after 1 path; narrow `pattern` or `path`)
    ");
    assert_eq!(bench.text("glob", json!({"pattern": "*.md"})).await, "(no files)\n");
}

/// B-1
#[tokio::test]
async fn grep_shows_path_line_and_text() {
    let bench = Bench::new(&[("a.txt", "one\ntwo\nthree\n"), ("b/c.txt", "two\ntwo\n"), ("d.bin", "two\0")]);
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "tw"})).await, @r"
    a.txt:2: two
    b/c.txt:1: two
    b/c.txt:2: two
    (not searched: 1 binary)
    ");
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "tw", "mode": "count"})).await, @r"
    a.txt: 1
    b/c.txt: 2
    (not searched: 1 binary)
    ");
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "tw", "limit": 1, "path": "b"})).await, @r"
    b/c.txt:1: two
    (truncated after 1 match; narrow `pattern`, `path` or `glob`)
    ");
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "four", "glob": "*.txt"})).await, @"(no matches in 2 files)");
}

/// B-1
#[tokio::test]
async fn context_of_neighbouring_matches_is_shown_once() {
    let bench = Bench::new(&[("a", "1\nx2\n3\nx4\nx5\n6\n7\n8\n9\nx10\n"), ("b", "x1\n")]);
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "x", "context": 1})).await, @r"
    a-1- 1
    a:2: x2
    a-3- 3
    a:4: x4
    a:5: x5
    a-6- 6
    --
    a-9- 9
    a:10: x10
    --
    b:1: x1
    ");
}

/// B-4
#[tokio::test]
async fn changes_are_told_in_a_line() {
    let bench = Bench::new(&[]);
    let write = json!({"file_path": "a.txt", "content": "x\nx\n"});
    assert_eq!(bench.text("write", write.clone()).await, "Created a.txt (4 bytes).\n");
    assert_eq!(bench.text("write", write).await, "Replaced a.txt (4 bytes).\n");
    let all = json!({"file_path": "a.txt", "old_string": "x", "new_string": "y", "all": true});
    assert_eq!(bench.text("edit", all).await, "Edited a.txt: 2 replacements, the first at line 1.\n");
    let one = json!({"file_path": "a.txt", "old_string": "\ny", "new_string": ""});
    assert_eq!(bench.text("edit", one).await, "Edited a.txt at line 1.\n");
    assert_eq!(bench.content("a.txt"), "y\n");
}

/// T-3, T-16
#[test]
fn calls_have_cards() {
    let bench = Bench::new(&[]);
    let cards = [
        ("read", json!({"file_path": "a.rs", "offset": 3})),
        ("list", json!({})),
        ("glob", json!({"pattern": "*.rs", "path": "src"})),
        ("grep", json!({"pattern": "a\nb"})),
        ("write", json!({"file_path": "a.rs", "content": "x"})),
        ("edit", json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"})),
    ]
    .map(|(name, args)| bench.call_card(name, &args).to_string());
    insta::assert_snapshot!(cards.join("\n"), @r#"
    {"card":"generic","title":"Read a.rs","kind":"read","raw_input":{"file_path":"a.rs","offset":3},"locations":[{"path":"a.rs","line":3}]}
    {"card":"generic","title":"List files","kind":"search","raw_input":{},"locations":[]}
    {"card":"generic","title":"Find *.rs in src","kind":"search","raw_input":{"pattern":"*.rs","path":"src"},"locations":[{"path":"src"}]}
    {"card":"generic","title":"Search for \"a\\nb\"","kind":"search","raw_input":{"pattern":"a\nb"},"locations":[]}
    {"card":"generic","title":"Write a.rs","kind":"edit","raw_input":{"file_path":"a.rs","content":"x"},"locations":[{"path":"a.rs"}]}
    {"card":"diff","files":[{"path":"a.rs","old":"x","new":"y"}]}
    "#);
    assert_eq!(bench.call_card("read", &json!({"file": "a.rs"})), Value::Null);
}

/// T-16, B-2, B-4
#[tokio::test]
async fn results_have_cards() {
    let bench = Bench::new(&[("a.rs", "x\ny\n")]);
    let mut cards = Vec::new();
    for (name, args) in [
        ("read", json!({"file_path": "a.rs", "offset": 2})),
        ("list", json!({})),
        ("glob", json!({"pattern": "*.rs"})),
        ("grep", json!({"pattern": "y"})),
        ("grep", json!({"pattern": "y", "mode": "count"})),
        ("edit", json!({"file_path": "a.rs", "old_string": "x", "new_string": "z"})),
        ("write", json!({"file_path": "a.rs", "content": "new"})),
        ("write", json!({"file_path": "b.rs", "content": "new"})),
    ] {
        let result = bench.call(name, args.clone()).await;
        cards.push(bench.result_card(name, &args, &result).to_string());
    }
    insta::assert_snapshot!(cards.join("\n"), @r#"
    {"card":"read","path":"a.rs","first_line":2,"lines":["y"],"language":"rust"}
    {"card":"search","paths":["a.rs"]}
    {"card":"search","paths":["a.rs"]}
    {"card":"search","matches":[{"path":"a.rs","line":2}]}
    {"card":"search","paths":["a.rs"]}
    {"card":"diff","files":[{"path":"a.rs","old":"x","new":"z"}]}
    {"card":"diff","files":[{"path":"a.rs","old":"z\ny\n","new":"new"}]}
    {"card":"diff","files":[{"path":"b.rs","old":null,"new":"new"}]}
    "#);
}

/// T-11, B-2, B-4
#[tokio::test]
async fn the_meta_keeps_what_an_interface_stores() {
    let bench = Bench::new(&[("a.rs", "x\ny\n"), ("b", "x\n")]);
    let meta = async |name: &str, args: Value| bench.success(name, args).await.meta.unwrap_or_default();
    assert_eq!(
        meta("read", json!({"file_path": "a.rs", "offset": 2})).await,
        json!({"path": "a.rs", "language": "rust", "first_line": 2, "line_count": 1, "total_lines": 2})
    );
    assert_eq!(
        meta("edit", json!({"file_path": "b", "old_string": "x", "new_string": "y"})).await,
        json!({"card": "diff", "files": [{"path": "b", "old": "x", "new": "y"}]})
    );
    assert_eq!(
        meta("write", json!({"file_path": "b", "content": "z"})).await,
        json!({"card": "diff", "files": [{"path": "b", "old": "y\n", "new": "z"}]})
    );
    assert_eq!(meta("list", json!({})).await, Value::Null);
}

/// T-3
#[tokio::test]
async fn a_stored_diff_is_shown_again_without_the_value() {
    let bench = Bench::new(&[("a", "old")]);
    let args = json!({"file_path": "a", "content": "new"});
    let mut success = bench.success("write", args.clone()).await;
    success.value = Arc::new(Value::Null);
    assert_eq!(
        bench.result_card("write", &args, &Ok(success.clone())),
        json!({"card": "diff", "files": [{"path": "a", "old": "old", "new": "new"}]})
    );
    success.meta = None;
    assert_eq!(bench.result_card("write", &args, &Ok(success)), Value::Null);
}

/// B-4
#[tokio::test]
async fn a_change_too_large_for_a_card_is_told_instead() {
    let large = "x".repeat(MAX_DIFF_BYTES);
    let bench = Bench::new(&[("a", large.as_str())]);
    for (name, args, title, path) in [
        ("write", json!({"file_path": "a", "content": "y"}), "Replaced a", "a"),
        ("write", json!({"file_path": "b", "content": format!("{large}x")}), "Created b", "b"),
        (
            "edit",
            json!({"file_path": "b", "old_string": format!("{large}x"), "new_string": "y"}),
            "Edited b",
            "b",
        ),
    ] {
        let success = bench.success(name, args).await;
        let card = json!({
            "card": "generic",
            "title": title,
            "kind": "edit",
            "raw_input": {"file_path": path},
            "locations": [{"path": path}],
        });
        assert_eq!(success.meta, Some(card));
        assert!(success.value.get("replaced").is_none());
    }
}
