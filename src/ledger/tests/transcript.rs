//! Messages from events: steps, their order, and events that do not fit together.
//!
//! Owns histories that are made by hand. What sessions of a host lead to is tested there.

use super::*;
use crate::outcome::{CallFailure, CallSuccess};

/// Events of the session with these bodies, each with what it answers.
fn history(session: &str, bodies: Vec<(EventBody, Option<u64>)>) -> Vec<LedgerEvent> {
    (1..)
        .zip(bodies)
        .map(|(seq, (body, answers))| LedgerEvent {
            body,
            source_seqs: answers.into_iter().collect(),
            ..event(session, seq)
        })
        .collect()
}

fn call(id: &str, step: Option<u64>) -> (EventBody, Option<u64>) {
    (ToolCall::new(id, "t", json!({})).in_step(step).into(), None)
}

fn result(id: &str, text: &str, answers: Option<u64>) -> (EventBody, Option<u64>) {
    let success = CallSuccess {
        value: Arc::new(Value::Null),
        content: vec![ContentBlock::text(text)],
        meta: None,
        deferred: vec![DeferredContext::new(format!("after {text}"))],
        concludes_turn: false,
    };
    (ToolResult::new(id.into(), "t".into(), &Ok(success)).into(), answers)
}

/// The messages in short.
fn told(events: &[LedgerEvent]) -> Vec<String> {
    let short = |message: Message| match message {
        Message::Assistant { calls } => {
            calls.iter().map(|call| call.call.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        }
        Message::Tool { call, content, .. } => format!("{call}: {}", content[0].as_text().unwrap()),
        Message::Context { text } => text,
    };
    derive_messages(events).into_iter().map(short).collect()
}

/// L-6: whatever order things happened in, a model has the calls of a step, their results in that order, and what they
/// deferred.
#[test]
fn calls_of_a_step_are_one_message_however_they_ran() {
    let serial = history(
        "s",
        vec![
            call("a", None),
            result("a", "1", Some(1)),
            call("b", Some(1)),
            result("b", "2", Some(3)),
            call("c", None),
            result("c", "3", Some(5)),
        ],
    );
    let parallel = history(
        "s",
        vec![
            call("a", None),
            call("b", Some(1)),
            call("c", None),
            result("b", "2", Some(2)),
            result("c", "3", Some(3)),
            result("a", "1", Some(1)),
        ],
    );
    for events in [serial, parallel] {
        assert_eq!(told(&events), ["a b", "a: 1", "b: 2", "after 1", "after 2", "c", "c: 3", "after 3"]);
    }
}

/// L-6: ids need not be unique, and a result may come without the number of its call.
#[test]
fn results_find_their_calls() {
    let twice =
        vec![call("a", None), call("a", Some(1)), result("a", "2", Some(2)), result("a", "1", Some(1))];
    assert_eq!(told(&history("s", twice)), ["a a", "a: 1", "a: 2", "after 1", "after 2"]);
    let by_id = vec![call("a", None), result("a", "1", None), call("a", None), result("a", "2", None)];
    assert_eq!(told(&history("s", by_id)), ["a", "a: 1", "after 1", "a", "a: 2", "after 2"]);
    // A second answer comes too late, and an answer to nothing is none.
    let late = vec![
        call("a", None),
        result("a", "1", Some(1)),
        result("a", "2", Some(1)),
        result("b", "3", Some(9)),
    ];
    assert_eq!(told(&history("s", late)), ["a", "a: 1", "after 1"]);
    // A step whose beginning is missing still holds what is there.
    assert_eq!(told(&history("s", vec![call("b", Some(7)), call("c", Some(1))])), ["b c"]);
}

/// L-6: sessions whose events alternate in one file are not mixed up.
#[test]
fn sessions_do_not_meet() {
    let one = history("one", vec![call("a", None), call("b", Some(1)), result("a", "1", Some(1))]);
    let two = history("two", vec![call("a", None), call("b", Some(1)), result("a", "2", Some(1))]);
    let mixed: Vec<_> = one.into_iter().zip(two).flat_map(|(one, two)| [one, two]).collect();
    assert_eq!(told(&mixed), ["a b", "a: 1", "after 1", "a b", "a: 2", "after 2"]);
}

/// L-6: what is not the model's leaves no message.
#[test]
fn other_kinds_are_passed_over() {
    let all = samples();
    let own =
        all.iter().filter(|event| matches!(event.body, EventBody::ToolCall(_) | EventBody::ToolResult(_)));
    assert_eq!(derive_messages(own.clone()), derive_messages(&all));
    assert!(own.count() < all.len());
    let lines: Vec<_> =
        derive_messages(&all).iter().map(|message| serde_json::to_string(message).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"role":"assistant","calls":[{"call":"c-1","tool":"read","arguments":"not JSON {"}]}
    {"role":"tool","call":"c-1","tool":"read","is_error":false,"content":[{"type":"text","text":"hello"},{"type":"image","data":"AA==","mime_type":"image/png"},{"type":"audio","data":"AA==","mime_type":"audio/wav"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"json","value":null}]}
    {"role":"context","text":"remember"}
    "#);
}

/// T-3, L-6: what a presenter is given again is all but the value.
#[test]
fn a_result_is_restored_without_its_value() {
    let success = CallSuccess {
        value: Arc::new(json!("raw")),
        content: vec![ContentBlock::text("shown")],
        meta: Some(json!({"rows": 1})),
        deferred: vec![DeferredContext::new("later")],
        concludes_turn: true,
    };
    let restored = ToolResult::new("c".into(), "t".into(), &Ok(success.clone())).restored();
    assert_eq!(restored, Ok(CallSuccess { value: Arc::new(Value::Null), ..success.clone() }));
    let failure = CallFailure::new(ErrorCode::ToolFailed, "no such file").with_details(json!({"errno": 2}));
    let failed = Err(failure);
    assert_eq!(ToolResult::new("c".into(), "t".into(), &failed).restored(), failed);

    let start = start("read", json!({}));
    let mut settled = start.settle(Settled::from(&Ok(success.clone())));
    let bare = CallSuccess { meta: None, deferred: Vec::new(), concludes_turn: false, ..success };
    assert_eq!(settled.restored(), Ok(CallSuccess { value: Arc::new(Value::Null), ..bare.clone() }));
    settled.value = Some(Arc::clone(&bare.value));
    assert_eq!(settled.restored(), Ok(bare));
    assert_eq!(start.settle(Settled::from(&failed)).restored(), failed);
}
