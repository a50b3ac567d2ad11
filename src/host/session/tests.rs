//! Sessions of one id, one after the other and at once (L-1, L-2).
//!
//! Owns what becomes of ids and ledgers when sessions are opened again. It runs no program.

use serde_json::json;

use super::*;
use crate::clock::SystemClock;
use crate::json::nested;
use crate::ledger::{
    EventBody, FsyncPolicy, JsonLinesStore, LedgerEvent, LedgerOptions, LedgerStore, MemoryStore,
};
use crate::outcome::ErrorCode;
use crate::tool::{Tool, ToolContext, ToolError};

fn host() -> Host {
    let tool = Tool::builder("noop")
        .output(json!({"type": "null"}))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) });
    Host::builder().tools([tool.unwrap()]).build().unwrap()
}

fn ledger(id: &str, store: impl LedgerStore + 'static) -> Ledger {
    Ledger::new(id.into(), SystemClock::shared(), Box::new(store), LedgerOptions::default()).unwrap()
}

fn options(id: &str, store: impl LedgerStore + 'static) -> SessionOptions {
    SessionOptions::new(id).ledger(ledger(id, store))
}

/// The ids of calls, in the order in which they were made.
fn calls(events: &[LedgerEvent]) -> Vec<&str> {
    let called = events.iter().filter_map(|event| match &event.body {
        EventBody::ToolCall(call) => Some(call.call.as_str()),
        _ => None,
    });
    called.collect()
}

/// Opens the session three times and makes two calls each time.
async fn three_times<S: LedgerStore + 'static>(mut open: impl FnMut() -> S) -> Vec<LedgerEvent> {
    let host = host();
    for _ in 0..3 {
        let session = host.session(options("s", open())).unwrap();
        for _ in 0..2 {
            session.call("noop", json!({})).await.unwrap();
        }
        session.ledger().flush().await.unwrap();
    }
    open().read(&"s".into()).unwrap()
}

/// L-1, L-2
#[tokio::test]
async fn a_session_that_is_opened_again_gives_no_id_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let in_file = three_times(|| JsonLinesStore::open(&path, FsyncPolicy::Never).unwrap()).await;
    let kept = MemoryStore::new();
    let in_memory = three_times(|| kept.clone()).await;
    for events in [in_file, in_memory] {
        assert_eq!(calls(&events), ["call-1", "call-2", "call-5.1", "call-5.2", "call-9.1", "call-9.2"]);
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    }
}

/// L-2: a call that is given up before it was recorded uses its number up, and nothing else.
#[tokio::test]
async fn calls_that_were_given_up_do_not_make_ids_meet() {
    let kept = MemoryStore::new();
    let host = host();
    for _ in 0..3 {
        let session = host.session(options("s", kept.clone())).unwrap();
        for _ in 0..5 {
            drop(session.next_call());
        }
        session.call("noop", json!({})).await.unwrap();
    }
    assert_eq!(calls(&kept.events()), ["call-6", "call-3.6", "call-5.6"]);
}

fn is_open(host: &Host, id: &str) -> bool {
    host.shared.ledgers.open.lock().unwrap().contains_key(id)
}

/// L-1: the ledger that programs are recorded in is that of the session that is open.
#[test]
fn a_second_session_of_an_open_one_is_refused_until_the_last_clone_is_gone() {
    let (host, another) = (host(), host());
    let first = host.session(options("s", MemoryStore::new())).unwrap();
    let clone = first.clone();
    let refused = host.session(options("s", MemoryStore::new())).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the session `s` is open already; clone it, or drop it and every clone before it is opened again"
    );
    // Neither the refused one nor another session's end takes the ledger away.
    drop(host.session(options("other", MemoryStore::new())).unwrap());
    drop(first);
    assert!(is_open(&host, "s"));
    assert!(host.session(SessionOptions::new("s")).is_err());
    drop(clone);
    assert!(!is_open(&host, "s"));
    assert!(host.session(options("s", MemoryStore::new())).is_ok());
    // Another host has sessions of its own.
    assert!(another.session(SessionOptions::new("s")).is_ok());
}

/// L-1
#[test]
fn a_ledger_of_another_session_is_refused() {
    let refused =
        host().session(SessionOptions::new("a").ledger(ledger("b", MemoryStore::new()))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the ledger is that of session `b` and cannot record session `a`; open one under its own id"
    );
}

/// T-8: a call with arguments of any depth is refused and recorded with their text; nothing recurses over them.
#[test]
fn a_call_may_have_arguments_of_any_depth() {
    let work = || async {
        let kept = MemoryStore::new();
        let session = host().session(options("s", kept.clone())).unwrap();
        let refused = session.call("noop", nested(100_000)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ToolArgsTooLarge);
        session.ledger().flush().await.unwrap();
        let events = kept.events();
        let EventBody::ToolCall(call) = &events[0].body else { panic!("{events:?}") };
        assert_eq!(call.arguments["$deep"].as_str().unwrap().len(), 200_004);
        assert!(matches!(&events[1].body, EventBody::ToolResult(result) if result.is_error));
    };
    let run = move || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work());
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

/// S-1, P-16: the durable result says as much as the caller is told, and nothing where there is nothing to say.
#[tokio::test]
async fn a_failed_call_is_recorded_with_its_details() {
    let kept = MemoryStore::new();
    let session = host().session(options("s", kept.clone())).unwrap();
    let failure = session.call("noop", json!([])).await.unwrap_err();
    session.call("noop", json!({})).await.unwrap();
    session.ledger().flush().await.unwrap();
    let results: Vec<_> = kept
        .events()
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ToolResult(result) => Some(serde_json::to_value(result).unwrap()),
            _ => None,
        })
        .collect();
    assert!(failure.details.is_some());
    assert_eq!((results[0].get("details"), results[1].get("details")), (failure.details.as_ref(), None));
}
