//! The JSON Lines file: opening, damage, locks, crashes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::ledger::store::conformance::store_conformance;

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    (folder, path)
}

fn open(path: &Path) -> Result<JsonLinesStore, StoreError> {
    JsonLinesStore::open(path, FsyncPolicy::Never)
}

fn lines(events: &[LedgerEvent]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

/// The error's text with the folder cut out.
fn said(error: &StoreError, path: &Path) -> String {
    error.to_string().replace(path.to_str().unwrap(), "FILE")
}

/// L-7
#[test]
fn both_stores_conform() {
    let memory = MemoryStore::new();
    store_conformance(|| Box::new(memory.clone()));
    let shared = SharedStore::new(Box::new(MemoryStore::new()));
    store_conformance(|| Box::new(shared.clone()));
    for policy in
        [FsyncPolicy::Always, FsyncPolicy::Interval(std::time::Duration::from_secs(1)), FsyncPolicy::Never]
    {
        let (_folder, path) = scratch();
        store_conformance(|| Box::new(JsonLinesStore::open(&path, policy).unwrap()));
    }
}

/// L-7
#[test]
fn a_torn_last_line_is_dropped_wherever_it_was_cut() {
    let events = samples();
    let (last, before) = events.split_last().unwrap();
    let whole = lines(before);
    let torn = lines(std::slice::from_ref(last));
    let (_folder, path) = scratch();
    for cut in 1..torn.len() - 1 {
        fs::write(&path, format!("{whole}{}", &torn[..cut])).unwrap();
        let mut store = open(&path).unwrap();
        let warning =
            StoreWarning::TornLine { path: path.clone(), offset: whole.len() as u64, bytes: cut as u64 };
        assert_eq!(store.warnings(), [warning], "cut at {cut}");
        assert_eq!(store.read_all().unwrap(), before);
        store.append(std::slice::from_ref(last)).unwrap();
        drop(store);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{torn}"));
    }
    assert_eq!(open(&path).unwrap().warnings(), []);
}

/// L-7
#[test]
fn a_whole_last_event_without_its_line_end_is_kept() {
    let (_folder, path) = scratch();
    let text = lines(&[event("s", 1), event("s", 2)]);
    fs::write(&path, text.trim_end()).unwrap();
    let mut reader = read_events(&path).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).collect::<Vec<_>>(), [event("s", 1), event("s", 2)]);
    let warning = StoreWarning::UnendedLine { path: path.clone(), offset: text.len() as u64 / 2 };
    assert_eq!(reader.warnings(), std::slice::from_ref(&warning));
    assert_eq!(fs::read_to_string(&path).unwrap(), text.trim_end(), "a reader changes nothing");
    let mut store = open(&path).unwrap();
    assert_eq!(store.warnings(), [warning]);
    store.append(&[event("s", 3)]).unwrap();
    drop(store);
    assert_eq!(fs::read_to_string(&path).unwrap(), lines(&[event("s", 1), event("s", 2), event("s", 3)]));
    assert_eq!(open(&path).unwrap().warnings(), []);
}

/// L-7
#[test]
fn a_whole_last_line_that_is_no_event_or_out_of_order_is_damage_not_a_torn_line() {
    let (_folder, path) = scratch();
    let second = lines(&[event("s", 2)]);
    let newer = second.replace("\"v\":1", "\"v\":2");
    let mut said_of = Vec::new();
    for last in [&newer, &second.replace("\"seq\":2", "\"seq\":3"), "{\"v\":1}", "{\"v\":1} {"] {
        let text = lines(&[event("s", 1)]) + last.trim_end();
        fs::write(&path, &text).unwrap();
        said_of.push(
            open(&path).map_or_else(|error| said(&error, &path), |store| format!("{:?}", store.warnings())),
        );
    }
    insta::assert_snapshot!(said_of.join("\n").replace(path.to_str().unwrap(), "FILE"), @r#"
    line 2 of the ledger FILE (byte 103) is not an event: it is in version 2 of the format, and this isolane reads up to version 1; use a newer one
    line 2 of the ledger FILE (byte 103): session "s" expects seq 2 next and has 3
    line 2 of the ledger FILE (byte 103) is not an event: missing field `seq` at column 7
    [TornLine { path: "FILE", offset: 103, bytes: 9 }]
    "#);
}

/// L-7
#[test]
fn a_file_that_is_no_ledger_is_left_alone() {
    for text in ["my notes", "{\"name\":\"pkg\"}", "{\"version\":1}", "\0\0", "{}", "[]", "1"] {
        let (_folder, path) = scratch();
        fs::write(&path, text).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Malformed { line: 1, offset: 0, .. }), "{text}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// L-7
#[test]
fn the_warning_says_what_was_dropped() {
    let warning = StoreWarning::TornLine { path: "a.jsonl".into(), offset: 10, bytes: 3 };
    assert_eq!(
        warning.to_string(),
        "the last line of the ledger a.jsonl (byte 10) is incomplete; its 3 bytes were dropped"
    );
    let warning = StoreWarning::UnendedLine { path: "a.jsonl".into(), offset: 10 };
    assert_eq!(
        warning.to_string(),
        "the last line of the ledger a.jsonl (byte 10) has no line end; it is a whole event and was kept"
    );
}

/// L-7
#[test]
fn a_reader_leaves_a_torn_line_in_place() {
    let (_folder, path) = scratch();
    let text = lines(&[event("s", 1)]) + "{\"v\":1";
    fs::write(&path, &text).unwrap();
    let mut reader = read_events(&path).unwrap();
    assert_eq!(reader.by_ref().collect::<Result<Vec<_>, _>>().unwrap(), [event("s", 1)]);
    assert_eq!(reader.warnings().len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

/// L-7
#[test]
fn any_other_damage_is_an_error_that_names_its_place_and_changes_nothing() {
    let (_folder, path) = scratch();
    let first = lines(&[event("s", 1)]);
    let second = lines(&[event("s", 2)]);
    let newer = second.replace("\"v\":1", "\"v\":2").replace("state/put", "state/other");
    let deep = format!("{}{}\n", "[".repeat(5_000), "]".repeat(5_000));
    let mut said_of = Vec::new();
    for damage in [
        "garbage\n",
        "\n",
        "{}\n",
        "\0\0\0\n",
        &newer,
        &deep,
        &second.replace("\"data\":{", "\"data\":{{"),
        &second.replace("}\n", "} {}\n"),
        &second.replace("state/put", "state/other"),
        &second.replace("\"seq\":2", "\"seq\":3"),
        &second.replace("\"seq\":2", "\"seq\":1"),
    ] {
        let text = format!("{first}{damage}{second}");
        fs::write(&path, format!("{text}torn")).unwrap();
        let error = open(&path).unwrap_err();
        said_of.push(said(&error, &path));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}torn"));
        let read: Vec<_> = read_events(&path).unwrap().collect();
        assert!(matches!(&read[..], [Ok(_), Err(_)]), "{read:?}");
    }
    insta::assert_snapshot!(said_of.join("\n"), @r#"
    line 2 of the ledger FILE (byte 103) is not an event: expected value at column 1
    line 2 of the ledger FILE (byte 103) is not an event: EOF while parsing a value at column 0
    line 2 of the ledger FILE (byte 103) is not an event: missing field `v` at column 2
    line 2 of the ledger FILE (byte 103) is not an event: expected value at column 1
    line 2 of the ledger FILE (byte 103) is not an event: it is in version 2 of the format, and this isolane reads up to version 1; use a newer one
    line 2 of the ledger FILE (byte 103) is not an event: it is nested more than 264 levels deep
    line 2 of the ledger FILE (byte 103) is not an event: key must be a string at column 78
    line 2 of the ledger FILE (byte 103) is not an event: trailing characters at column 104
    line 2 of the ledger FILE (byte 103) is not an event: unknown variant `state/other`, expected one of `tool/call`, `tool/result`, `tool/code-dispatch-start`, `tool/code-dispatch`, `approval/asked`, `approval/decided`, `permission/preset`, `sandbox/mode`, `approval/policy`, `run/start`, `run/end`, `state/put` at column 104
    line 2 of the ledger FILE (byte 103): session "s" expects seq 2 next and has 3
    line 2 of the ledger FILE (byte 103): session "s" expects seq 2 next and has 1
    "#);
}

/// L-7
#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let (_folder, path) = scratch();
    let first = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert_eq!(
        said(&error, &path),
        "the ledger FILE is in use by another writer; end it first or choose another file"
    );
    drop(first);
    open(&path).unwrap();
}

/// L-7
#[test]
fn only_a_regular_file_can_be_a_ledger() {
    let (folder, path) = scratch();
    let error = open(folder.path()).unwrap_err();
    assert_eq!(said(&error, folder.path()), "the ledger FILE is not a regular file; choose a path of a file");
    assert!(matches!(read_events(folder.path()), Err(StoreError::NotAFile { .. })));
    assert!(matches!(read_events(&path), Err(StoreError::Io { action: "read", .. })));
}

/// What tools were given is nobody else's to read. What is left out of it, see L-11.
#[test]
fn a_new_file_is_for_its_owner_alone() {
    let (_folder, path) = scratch();
    open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// L-7
#[tokio::test]
async fn a_file_holds_several_sessions() {
    let (_folder, path) = scratch();
    for (name, expected) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        let store = open(&path).unwrap();
        let options = LedgerOptions::default();
        let ledger = Ledger::new(SessionId::from(name), clock(), Box::new(store), options).unwrap();
        assert_eq!(ledger.reserve().await.record(body(expected), []), Some(expected));
    }
    let events: Vec<_> = read_events(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(events, [event("a", 1), event("b", 1), event("a", 2), event("b", 2)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// L-8
    #[test]
    fn a_kill_at_any_byte_leaves_a_prefix_that_opens(cut in any::<prop::sample::Index>(), sessions in 1_u64..4) {
        let events: Vec<_> = (0..30_u64)
            .map(|number| event(&format!("s-{}", number % sessions), number / sessions + 1))
            .collect();
        let text = lines(&events);
        let (_folder, path) = scratch();
        fs::write(&path, &text.as_bytes()[..cut.index(text.len() + 1)]).unwrap();
        let mut store = open(&path).unwrap();
        let kept = store.read_all().unwrap();
        prop_assert_eq!(&kept[..], &events[..kept.len()]);
        store.append(&events[kept.len()..]).unwrap();
        drop(store);
        prop_assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
