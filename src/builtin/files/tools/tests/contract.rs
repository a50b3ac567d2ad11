//! Contracts, scheduling and errors.

use tokio_util::sync::CancellationToken;

use super::*;
use crate::outcome::ErrorCode;

/// B-1, T-1, T-6
#[test]
fn a_model_is_shown_small_schemas() {
    let bench = Bench::new(&[]);
    let shown: Vec<_> = bench.tools.iter().map(|tool| tool.definition().model()).collect();
    insta::assert_json_snapshot!("model_face", shown);
}

/// T-2
#[test]
fn the_schemas_of_values_are_stable() {
    let bench = Bench::new(&[]);
    let schemas: serde_json::Map<_, _> = bench
        .tools
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            (definition.name().as_str().to_owned(), definition.output().schema.source().as_ref().clone())
        })
        .collect();
    insta::assert_json_snapshot!("values", schemas);
}

/// T-4
#[test]
fn reading_is_parallel_and_repeatable_and_writing_is_neither() {
    let bench = Bench::new(&[]);
    let lines: Vec<_> = bench
        .tools
        .iter()
        .map(|tool| {
            let scheduler = tool.definition().scheduler();
            let class = scheduler.concurrency.classify(&json!({}));
            let tags: Vec<_> = scheduler.tags.iter().map(String::as_str).collect();
            let name = tool.definition().name();
            format!("{name}: {class:?}, idempotent {}, {}", scheduler.idempotent, tags.join(" "))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    read: Parallel, idempotent true, fs read
    list: Parallel, idempotent true, fs read
    glob: Parallel, idempotent true, fs read
    grep: Parallel, idempotent true, fs read
    write: Exclusive, idempotent false, fs write
    edit: Exclusive, idempotent false, fs write
    ");
}

/// B-1
#[tokio::test]
async fn without_leave_to_write_there_is_no_tool_that_writes() {
    let bench = Bench::with(&[("a", "")], FileToolOptions::default());
    assert_eq!(bench.tools.len(), 4);
    let failure = bench.failure("write", json!({"file_path": "a", "content": "x"})).await;
    assert_eq!(failure.code, ErrorCode::UnknownTool);
    assert_eq!(bench.content("a"), "");
}

/// P-16
#[tokio::test]
async fn a_misspelt_argument_is_named_with_its_nearest() {
    let bench = Bench::new(&[]);
    let failure = bench.failure("read", json!({"file_pth": "a.txt"})).await;
    assert_eq!(failure.code, ErrorCode::ToolArgsInvalid);
    insta::assert_snapshot!(failure.message, @"arguments of `read`: unknown property `file_pth` at /file_pth; did you mean `file_path`?; required property `file_path` is missing (you passed `file_pth`)");
}

/// P-16
#[tokio::test]
async fn wrong_arguments_are_explained() {
    let bench = Bench::new(&[]);
    let message =
        async |name: &str, args: Value| bench.failure(name, args).await.message.replace("arguments of ", "");
    insta::assert_snapshot!(message("read", json!({"file_path": "a", "offset": 0})).await, @"`read`: value is less than the minimum of 1 (got an integer) at /offset");
    insta::assert_snapshot!(message("read", json!({"file_path": "a", "limit": null})).await, @"`read`: expected integer, got null at /limit");
    insta::assert_snapshot!(message("grep", json!({"pattern": "a", "mode": "files"})).await, @r#"`grep`: expected one of "matches", "count", "count_matches", got "files" at /mode"#);
}

/// B-2
#[tokio::test]
async fn a_missing_file_is_an_error_that_says_what_to_do() {
    let bench = Bench::new(&[("src/main.rs", "")]);
    let failure = bench.failure("read", json!({"file_path": "src/mian.rs"})).await;
    assert_eq!(failure.code, ErrorCode::ToolFailed);
    assert_eq!(failure.message, "no such file or directory: `src/mian.rs`; did you mean `src/main.rs`?");
    assert_eq!(
        failure.details,
        Some(
            json!({"kind": "not_found", "path": "src/mian.rs", "missing": "src/mian.rs", "near": "src/main.rs"})
        )
    );
    let failure = bench.failure("read", json!({"file_path": "nope"})).await;
    assert_eq!(failure.message, "no such file or directory: `nope`; use `list` or `glob` to find it");
}

/// B-3
#[tokio::test]
async fn what_is_outside_the_root_is_refused() {
    let bench = Bench::new(&[]);
    for (name, args) in [
        ("read", json!({"file_path": "../outside/secret.txt"})),
        ("list", json!({"path": "/"})),
        ("glob", json!({"pattern": "*", "path": ".."})),
        ("grep", json!({"pattern": "secret", "path": "../outside"})),
        ("write", json!({"file_path": "../outside/new.txt", "content": ""})),
        ("edit", json!({"file_path": "../outside/secret.txt", "old_string": "s", "new_string": "t"})),
    ] {
        let failure = bench.failure(name, args).await;
        assert_eq!(failure.details.unwrap()["kind"], "outside_root", "{name}");
    }
}

/// B-4
#[tokio::test]
async fn a_failed_edit_says_why_and_changes_nothing() {
    let bench = Bench::new(&[("a.txt", "x\nx\n")]);
    let failure =
        bench.failure("edit", json!({"file_path": "a.txt", "old_string": "x", "new_string": "y"})).await;
    insta::assert_snapshot!(failure.message, @"`old_string` occurs 2 times in `a.txt` (lines 1, 2); give more of the text around it, or pass `all: true`");
    assert_eq!(
        failure.details,
        Some(json!({"kind": "many_matches", "path": "a.txt", "count": 2, "lines": [1, 2]}))
    );
    assert_eq!(bench.content("a.txt"), "x\nx\n");
}

/// T-4
#[tokio::test]
async fn walks_heed_the_cancellation_of_their_context() {
    let bench = Bench::new(&[("a/b", "x")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    for (name, args) in
        [("list", json!({})), ("glob", json!({"pattern": "**"})), ("grep", json!({"pattern": "x"}))]
    {
        let context = ToolContext::new("c".into(), "s".into(), cancel.clone());
        let error = bench.tool(name).handler().call(args, context).await.unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.details),
            ("cancelled", Some(json!({"kind": "cancelled"})))
        );
    }
}

/// T-11, T-12, B-2
#[tokio::test]
async fn a_program_gets_the_raw_value_and_no_meta() {
    let bench = Bench::new(&[("a.txt", "one\ntwo")]);
    let success = bench.nested("read", json!({"file_path": "a.txt", "limit": 1})).await;
    assert_eq!(
        *success.value,
        json!({
            "path": "a.txt", "offset": 1, "lines": [{"number": 1, "text": "one"}], "total_lines": 2,
            "line_ending": "lf", "final_newline": false,
        })
    );
    assert_eq!(success.meta, None);
}

/// B-4
#[tokio::test]
async fn a_program_does_not_read_by_writing() {
    let bench = Bench::new(&[("a.txt", "secret")]);
    let args = json!({"file_path": "a.txt", "content": "new"});
    let success = bench.nested("write", args.clone()).await;
    assert_eq!(*success.value, json!({"path": "a.txt", "bytes_written": 3, "created": false}));
    assert_eq!(bench.content("a.txt"), "new");
    // Without the text that was replaced there is no diff to show, and none is made up.
    assert_eq!(
        bench.result_card("write", &args, &Ok(success)),
        json!({
            "card": "generic",
            "title": "Replaced a.txt",
            "kind": "edit",
            "raw_input": {"file_path": "a.txt"},
            "locations": [{"path": "a.txt"}],
        })
    );
}

/// B-1
#[tokio::test]
async fn the_limits_of_the_host_hold() {
    let limits = FileLimits { max_file_bytes: 4, max_entries: 1, ..FileLimits::default() };
    let bench =
        Bench::with(&[("a", "12345"), ("b", "")], FileToolOptions { limits, ..FileToolOptions::default() });
    let failure = bench.failure("read", json!({"file_path": "a"})).await;
    assert_eq!(failure.details, Some(json!({"kind": "too_large", "path": "a", "bytes": 5, "limit": 4})));
    assert_eq!(bench.text("list", json!({})).await, "a\n(truncated after 1 entry; list less at once)\n");
}
