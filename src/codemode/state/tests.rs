//! State as drafts see it, and what the ledger holds of it. No program runs here.

use std::sync::Arc;

use serde_json::json;

use super::{KEY_COST, SessionState, StateDraft, StateError};
use crate::clock::ManualClock;
use crate::ledger::{EventBody, Ledger, MemoryStore};

const LIMIT: usize = 200;

struct Bench {
    state: SessionState,
    ledger: Ledger,
    store: MemoryStore,
}

fn bench() -> Bench {
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::new(ManualClock::new()));
    Bench { state: SessionState::default(), ledger, store }
}

impl Bench {
    fn draft(&self, call: &str) -> StateDraft {
        self.state.draft(LIMIT, call.into(), self.ledger.clone(), Some(7))
    }

    fn put(&self) -> Vec<(String, String, Option<serde_json::Value>)> {
        let put = |body| match body {
            EventBody::StatePut(put) => {
                let call = put.call.map(|call| call.to_string()).unwrap_or_default();
                Some((call, put.key, put.value.map(|value| (*value).clone())))
            }
            _ => None,
        };
        self.store.events().into_iter().filter_map(|event| put(event.body)).collect()
    }
}

/// CM-11: nobody sees a write before it is committed.
#[test]
fn writes_are_the_runs_own_until_they_are_committed() {
    let bench = bench();
    let (one, other) = (bench.draft("one"), bench.draft("other"));
    one.set("b", "[1]").unwrap();
    one.set("a", "null").unwrap();
    assert_eq!(one.get("b").as_deref(), Some(&json!([1])));
    assert_eq!(one.keys(), ["a", "b"]);
    assert_eq!((other.get("b"), other.keys().len(), bench.state.bytes()), (None, 0, 0));
    one.commit().unwrap();
    assert_eq!(other.keys(), ["a", "b"]);
    assert!(other.delete("b").unwrap());
    assert!(!other.delete("b").unwrap(), "it is gone already");
    assert_eq!((other.keys(), one.keys()), (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    drop(other);
    assert_eq!(bench.state.keys(), ["a", "b"], "what was not committed is gone");
}

/// CM-11: the quota counts names, values and keys, and a refused write changes nothing.
#[test]
fn what_does_not_fit_is_refused() {
    let bench = bench();
    let draft = bench.draft("one");
    let room = LIMIT - KEY_COST - 1;
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    draft.set("a", &text(room)).unwrap();
    assert_eq!(draft.set("a", &text(room + 1)), Err(StateError::Full { bytes: LIMIT + 1, limit: LIMIT }));
    assert_eq!(draft.set("b", "1"), Err(StateError::Full { bytes: LIMIT + KEY_COST + 2, limit: LIMIT }));
    assert_eq!(draft.get("a").map(|value| value.to_string().len()), Some(room));
    draft.commit().unwrap();
    assert_eq!(bench.state.bytes(), LIMIT);
    assert!(draft.set("b", "1").is_err(), "what is kept counts");
    draft.set("a", "1").unwrap();
    draft.set("b", "1").unwrap();
    draft.commit().unwrap();
    assert_eq!(bench.state.bytes(), 2 * (KEY_COST + 2));
    let many = (0..10).find(|n| draft.set(&format!("key{n}"), "0").is_err());
    assert!(many.is_some_and(|n| n < 6), "small keys count too: {many:?}");
}

/// CM-11: two runs beside each other cannot fill more than the quota.
#[test]
fn a_commit_counts_what_others_have_kept_meanwhile() {
    let bench = bench();
    let (one, other) = (bench.draft("one"), bench.draft("other"));
    let half = format!("\"{}\"", "x".repeat(LIMIT / 2 - KEY_COST));
    one.set("a", &half).unwrap();
    other.set("b", &half).unwrap();
    one.commit().unwrap();
    let full = other.commit().unwrap_err();
    assert!(matches!(full, StateError::Full { limit: LIMIT, .. }), "{full}");
    assert_eq!(
        (bench.state.keys(), other.keys()),
        (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
    assert!(other.delete("a").unwrap());
    other.commit().unwrap();
    assert_eq!(bench.state.keys(), ["b"]);
}

/// CM-11: each committed change is an event, the last one of a key counts, and the events lead back to the state.
#[tokio::test]
async fn commits_are_recorded_and_restored() {
    let bench = bench();
    let draft = bench.draft("one");
    draft.set("a", "1").unwrap();
    draft.commit().unwrap();
    draft.set("a", "{\"n\":18446744073709551615}").unwrap();
    draft.set("b", "null").unwrap();
    draft.commit().unwrap();
    draft.set("c", "\"never committed\"").unwrap();
    assert!(draft.has_unrecorded());
    draft.record().await;
    assert!(!draft.has_unrecorded());
    let next = bench.draft("two");
    next.delete("b").unwrap();
    next.set("d", "[]").unwrap();
    next.commit().unwrap();
    next.record().await;
    let of = |call: &str, key: &str, value| (call.to_owned(), key.to_owned(), value);
    let expected = [
        of("one", "a", Some(json!({"n": u64::MAX}))),
        of("one", "b", Some(json!(null))),
        of("two", "b", None),
        of("two", "d", Some(json!([]))),
    ];
    assert_eq!(bench.put(), expected);
    let restored = SessionState::restored(&bench.store.events());
    assert_eq!((restored.keys(), restored.bytes()), (bench.state.keys(), bench.state.bytes()));
    assert_eq!(restored.get("a"), bench.state.get("a"));
}

/// CM-11: a run that is over, its thread lost, keeps nothing any more.
#[test]
fn a_closed_draft_takes_nothing() {
    let bench = bench();
    let draft = bench.draft("one");
    draft.set("a", "1").unwrap();
    draft.close();
    assert_eq!(draft.set("a", "2"), Err(StateError::Closed));
    assert_eq!((draft.delete("a"), draft.commit()), (Err(StateError::Closed), Err(StateError::Closed)));
    assert!(bench.state.keys().is_empty());
}
