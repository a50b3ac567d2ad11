//! What every store must do (L-7).
//!
//! Owns the one suite that all stores run. It knows no store.

use super::{LedgerStore, StoreError};
use crate::ids::SessionId;
use crate::ledger::tests::{event, samples};

/// Runs the suite; `open` gives a store over the same place each time, empty at first, the one before it dropped.
pub(crate) fn store_conformance(mut open: impl FnMut() -> Box<dyn LedgerStore>) {
    let (one, two, nobody) = (SessionId::from("s-1"), SessionId::from("s-2"), SessionId::from("nobody"));
    let first = samples();
    let last = first.len() as u64;
    let more = [event("s-2", 1), event("s-1", last + 1), event("s-2", 2)];
    let all: Vec<_> = first.iter().chain(&more).cloned().collect();

    let mut store = open();
    assert_eq!(store.read_all().unwrap(), []);
    assert_eq!(store.last_seq(&one).unwrap(), 0);
    store.append(&[]).unwrap();
    store.append(&first).unwrap();
    store.append(&more).unwrap();
    store.sync().unwrap();
    assert_eq!(store.read_all().unwrap(), all);

    // Gaps and repeats are refused as a whole, and leave no trace.
    for (events, expected, found) in [
        (vec![event("s-1", last + 3)], last + 2, last + 3),
        (vec![event("s-1", last + 1)], last + 2, last + 1),
        (vec![event("s-1", last + 2), event("s-2", 2)], 3, 2),
        (vec![event("s-3", 1), event("s-3", 3)], 2, 3),
        (vec![event("s-3", 2)], 1, 2),
    ] {
        match store.append(&events) {
            Err(StoreError::Sequence(error)) => assert_eq!((error.expected, error.found), (expected, found)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.read_all().unwrap(), all);
    drop(store);

    // Everything is there for the next to open it, and the numbering goes on.
    let mut store = open();
    assert_eq!(store.last_seq(&one).unwrap(), last + 1);
    assert_eq!(store.last_seq(&two).unwrap(), 2);
    assert_eq!(store.last_seq(&nobody).unwrap(), 0);
    assert_eq!(store.read(&two).unwrap(), [event("s-2", 1), event("s-2", 2)]);
    assert_eq!(store.read(&nobody).unwrap(), []);
    store.append(&[event("s-2", 3)]).unwrap();
    assert_eq!(store.read_all().unwrap().last(), Some(&event("s-2", 3)));
    drop(store);
    assert_eq!(open().read_all().unwrap().len(), all.len() + 1);
}
