//! What happens to an event on its way to the store.

use std::fs;

use serde_json::Value;

use super::*;
use crate::json::nested;

const SALT: [u8; 32] = [7; 32];

fn redacted(tool: &str, arguments: Value) -> Value {
    let redactor = SensitiveArguments::new(SALT).tool("login", ["password", "token"]);
    let mut body = start(tool, arguments).into();
    redactor.redact(&mut body);
    match body {
        EventBody::CodeDispatchStart(data) => (*data.arguments).clone(),
        other => panic!("the kind must stay: {other:?}"),
    }
}

/// L-11
#[test]
fn sensitive_arguments_become_salted_digests() {
    let kept = redacted("login", json!({"user": "ann", "password": {"b": 1, "a": 2}}));
    insta::assert_snapshot!(kept.to_string(), @r#"{"user":"ann","password":{"$redacted":"sha256:c9981d6b62b46a06ebd4ca3c29d44553a7c84bacccaf9b2e5ad4233e4514ca54"}}"#);
    let reordered = redacted("login", json!({"user": "ann", "password": {"a": 2, "b": 1}}));
    assert_eq!(kept["password"], reordered["password"]);
    assert_eq!(redacted("other", json!({"password": "x"})), json!({"password": "x"}));
}

/// L-11
#[test]
fn arguments_without_members_to_find_are_replaced_as_a_whole() {
    assert!(redacted("login", json!("{\"password\": \"hunter2\"")).get("$redacted").is_some());
    let mut deep = json!({"password": "hunter2"});
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    assert!(redacted("login", deep).get("$redacted").is_some());
}

/// L-3
#[test]
fn redaction_leaves_the_copy_that_runs_as_it_is() {
    let start = start("login", json!({"password": "hunter2"}));
    let runs_with = Arc::clone(&start.arguments);
    let redactor = SensitiveArguments::new(SALT).tool("login", ["password"]);
    redactor.redact(&mut start.into());
    assert_eq!(*runs_with, json!({"password": "hunter2"}));
}

/// L-11
#[tokio::test]
async fn nothing_sensitive_reaches_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let options = LedgerOptions {
        redactors: vec![Arc::new(SensitiveArguments::new(SALT).tool("login", ["password"]))],
        ..LedgerOptions::default()
    };
    let store = JsonLinesStore::open(&path, FsyncPolicy::Never).unwrap();
    let ledger = Ledger::new(session(), clock(), Box::new(store), options).unwrap();
    let start = start("login", json!({"password": "hunter2", "user": "ann"}));
    let seq = ledger.reserve().await.record(start.clone(), []);
    ledger.reserve().await.record(start.settle(Settled::success(Vec::new())), seq);
    drop(ledger);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("ann") && !text.contains("hunter2"), "{text}");
}

/// T-8
#[tokio::test]
async fn values_of_any_depth_are_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let store = JsonLinesStore::open(&path, FsyncPolicy::Never).unwrap();
    let ledger = Ledger::new(session(), clock(), Box::new(store), LedgerOptions::default()).unwrap();
    for depth in [MAX_VALUE_DEPTH, 100_000] {
        let put = StatePut { call: None, key: depth.to_string(), value: Some(Arc::new(nested(depth))) };
        ledger.reserve().await.record(put, []);
        let result = ToolResult {
            call: "c".into(),
            tool: "t".into(),
            is_error: true,
            content: vec![ContentBlock::Json { value: nested(depth) }],
            code: Some(ErrorCode::ToolFailed),
            details: Some(nested(depth)),
            meta: Some(nested(depth)),
            deferred: Vec::new(),
            concludes_turn: false,
        };
        ledger.reserve().await.record(result, []);
    }
    let events = ledger.events().await.unwrap();
    let values: Vec<&Value> = events
        .iter()
        .map(|event| match &event.body {
            EventBody::StatePut(put) => &**put.value.as_ref().unwrap(),
            EventBody::ToolResult(result) => result.meta.as_ref().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    let text = format!("{}null{}", "[".repeat(100_000), "]".repeat(100_000));
    let (kept, replaced) = (nested(MAX_VALUE_DEPTH), json!({ "$deep": text }));
    assert_eq!(values, [&kept, &kept, &replaced, &replaced]);
}
