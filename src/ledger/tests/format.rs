//! The format: its schema, its spelling, and reading back what was written.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::outcome::{CallFailure, CallSuccess, RunOutcome};

fn schema() -> Value {
    serde_json::from_str(FORMAT_SCHEMA).unwrap()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// L-1
#[test]
fn an_event_of_every_kind_fits_the_documented_schema() {
    let schema = schema();
    let validator = jsonschema::options().offline().build(&schema).unwrap();
    let mut samples = samples();
    let further = ToolCall::new("c-2", "read", json!({})).in_step(Some(1));
    samples.push(LedgerEvent { body: further.into(), ..event("s-1", samples.len() as u64 + 1) });
    for event in &samples {
        let written = serde_json::to_value(event).unwrap();
        let problems: Vec<_> = validator.iter_errors(&written).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{written}");
    }
    let kinds: BTreeSet<_> = samples.iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, EventBody::KINDS.iter().copied().collect());
}

/// L-1
#[test]
fn the_schema_lists_the_kinds_and_codes_that_exist() {
    let schema = schema();
    assert_eq!(strings(&schema["properties"]["kind"]["enum"]), EventBody::KINDS);
    let documented = include_str!("../../../docs/ledger.md");
    for kind in EventBody::KINDS {
        assert!(documented.contains(&format!("| `{kind}` |")), "{kind} is not documented");
    }
    let codes: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(strings(&schema["$defs"]["errorCode"]["enum"]), codes);
    for kind in strings(&schema["$defs"]["runFailure"]["properties"]["kind"]["enum"]) {
        let parsed: RunFailureKind = serde_json::from_value(kind.into()).unwrap();
        assert_eq!(parsed.as_str(), kind);
    }
}

/// L-1
#[test]
fn the_schema_refuses_what_is_not_an_event() {
    let schema = schema();
    let validator = jsonschema::options().offline().build(&schema).unwrap();
    for (pointer, value) in [
        ("/v", json!(2)),
        ("/seq", json!(0)),
        ("/kind", json!("tool/other")),
        ("/data/call", json!(7)),
        ("/data/extra", json!(1)),
        ("/extra", json!(1)),
    ] {
        let mut event = serde_json::to_value(&samples()[0]).unwrap();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        event.pointer_mut(parent).unwrap()[name] = value;
        assert!(!validator.is_valid(&event), "{event}");
    }
}

/// L-1
#[test]
fn events_read_back_as_they_were() {
    for event in samples() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<LedgerEvent>(&text).unwrap(), event, "{text}");
    }
}

/// L-1
#[test]
fn members_come_in_a_fixed_order_as_documented() {
    let start = start("read", json!({"path": "a.txt"}));
    let event = LedgerEvent {
        turn: Some(2),
        body: start.settle(Settled::success(vec![ContentBlock::text("hello")])).into(),
        source_seqs: vec![3],
        ..event("s-1", 4)
    };
    let line = serde_json::to_string(&event).unwrap();
    insta::assert_snapshot!(line, @r#"{"v":1,"seq":4,"time":1767225600000,"session":"s-1","turn":2,"kind":"tool/code-dispatch","data":{"root":"c-1","parent":"c-1","call":"c-1:code:1","tool":"read","arguments":{"path":"a.txt"},"is_error":false,"content":[{"type":"text","text":"hello"}]},"source_seqs":[3]}"#);
    assert!(include_str!("../../../docs/ledger.md").contains(&line));
}

/// L-8
#[test]
fn what_started_and_has_no_end_is_found() {
    let events = samples();
    assert_eq!(unsettled(&events), Vec::<&LedgerEvent>::new());
    // Call, run and sub-call are the 1st, 7th and 8th event; the sub-call's first end is the 9th.
    let seqs = |events: &[LedgerEvent]| unsettled(events).iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!(seqs(&events[..8]), [1, 7, 8]);
    assert_eq!(seqs(&events[..9]), [1, 7]);
    assert_eq!(seqs(&events[..14]), [1]);
}

/// L-2
#[test]
fn a_settled_event_has_all_of_its_start() {
    let start = start("t", json!({"a": 1}));
    let failure = CallFailure::new(ErrorCode::Aborted, "stopped").with_details(json!([1]));
    let settled = start.settle(Settled::from(&Err(failure)));
    assert_eq!(
        settled,
        CodeDispatch {
            root: start.root,
            parent: start.parent,
            call: start.call,
            tool: start.tool,
            arguments: start.arguments,
            is_error: true,
            content: vec![ContentBlock::text("stopped")],
            code: Some(ErrorCode::Aborted),
            message: Some("stopped".to_owned()),
            details: Some(json!([1])),
            value: None,
        }
    );
}

/// T-12
#[test]
fn results_are_kept_without_their_raw_value() {
    let success = CallSuccess {
        value: Arc::new(json!({"secret": "raw"})),
        content: vec![ContentBlock::text("shown")],
        meta: None,
        deferred: vec![DeferredContext::new("later")],
        concludes_turn: true,
    };
    let kept = ToolResult::new("c".into(), "t".into(), &Ok(success.clone()));
    assert_eq!((kept.content, kept.deferred.len(), kept.concludes_turn), (success.content.clone(), 1, true));
    assert_eq!(Settled::from(&Ok(success.clone())), Settled::success(success.content));
}

/// CM-23
#[test]
fn a_run_that_failed_keeps_its_logs_and_its_kind() {
    let failure = RunFailure::new(RunFailureKind::Heap, "too much");
    let outcome = RunOutcome { logs: vec!["before".to_owned()], ..RunOutcome::failed(failure) };
    let end = serde_json::to_value(RunEnd::new("c".into(), &outcome)).unwrap();
    assert_eq!(end["outcome"], "failed");
    assert_eq!(end["failure"], json!({"kind": "heap", "message": "too much"}));
    assert_eq!(end["logs"], json!(["before"]));
}

proptest! {
    /// L-1. What is rebuilt from it needs every byte, see L-6.
    #[test]
    fn numbers_and_text_read_back_exactly(float in any::<f64>(), unsigned: u64, signed: i64, text: String) {
        prop_assume!(float.is_finite());
        let mut event = event("s", 1);
        event.body = StatePut {
            call: None,
            key: text.clone(),
            value: Some(Arc::new(json!([float, unsigned, signed, text]))),
        }.into();
        let line = serde_json::to_string(&event).unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(serde_json::from_str::<LedgerEvent>(&line).unwrap(), event);
    }
}
