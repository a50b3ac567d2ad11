//! Fuzzes the reading of a ledger file of any bytes (L-7, L-8).
//!
//! Owns these properties: reading ends without a panic; what was read can be written and read again as the same; and
//! opening the file as a store agrees with reading it, cuts at most a torn last line, and changes nothing else.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use isolane::ledger::{FsyncPolicy, JsonLinesStore, LedgerEvent, read_events, unsettled};
use libfuzzer_sys::fuzz_target;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("isolane-fuzz-ledger-{}.jsonl", std::process::id())));

fuzz_target!(|bytes: &[u8]| {
    let (events, whole) = read(bytes);
    assert!(unsettled(&events).len() <= events.len());

    let opened = JsonLinesStore::open(&*FILE, FsyncPolicy::Never);
    assert_eq!(opened.is_ok(), whole, "{:?}", opened.err());
    drop(opened);
    let kept = std::fs::read(&*FILE).expect("the file is still there");
    if whole {
        assert!(bytes.starts_with(&kept) && !bytes.get(kept.len()..).is_some_and(|cut| cut.contains(&b'\n')));
    } else {
        assert_eq!(kept, bytes, "a damaged file is left as it is");
    }

    let written = text(&events);
    let (again, whole) = read(written.as_bytes());
    assert!(whole);
    assert_eq!(text(&again), written);
});

/// The events of a file with these bytes, and whether all of its lines are events in order.
fn read(bytes: &[u8]) -> (Vec<LedgerEvent>, bool) {
    std::fs::write(&*FILE, bytes).expect("the folder for temporary files can be written");
    let mut events = Vec::new();
    for event in read_events(&*FILE).expect("the file was just written") {
        match event {
            Ok(event) => events.push(event),
            Err(_) => return (events, false),
        }
    }
    (events, true)
}

fn text(events: &[LedgerEvent]) -> String {
    events.iter().map(|event| serde_json::to_string(event).expect("an event is JSON") + "\n").collect()
}
