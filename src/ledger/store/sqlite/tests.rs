//! The SQLite file: opening, what it refuses, locks, logs that were cut.
//!
//! Owns the damage that is done to files here, by SQLite itself where there are locks to keep. It calls the store as a
//! ledger does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::clock::ManualClock;
use crate::ledger::store::SequenceError;
use crate::ledger::store::conformance::store_conformance;
use crate::ledger::tests::{body, event, samples};
use crate::ledger::{Ledger, LedgerOptions, SharedStore};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("ledger.sqlite");
    (folder, path)
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_within(path, FsyncPolicy::Never, Duration::ZERO)
}

/// The database as anybody may use it.
fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    connection
}

/// The error's text with the folder cut out.
fn said(error: &StoreError, path: &Path) -> String {
    error.to_string().replace(path.to_str().unwrap(), "FILE")
}

fn read(path: &Path) -> Vec<LedgerEvent> {
    read_sqlite(path).unwrap().map(Result::unwrap).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// L-7
#[test]
fn the_store_in_sqlite_conforms() {
    for policy in [FsyncPolicy::Always, FsyncPolicy::Interval(Duration::from_secs(1)), FsyncPolicy::Never] {
        let (_folder, path) = scratch();
        store_conformance(|| Box::new(SqliteStore::open(&path, policy).unwrap()));
        let (_folder, path) = scratch();
        store_conformance(|| Box::new(SharedStore::new(Box::new(SqliteStore::open(&path, policy).unwrap()))));
    }
}

/// L-7: one file, whose log is gone when the store is; the same events for a reader.
#[test]
fn a_file_holds_several_sessions_and_nothing_is_left_beside_it() {
    let (folder, path) = scratch();
    let mut kept = Vec::new();
    for (name, expected) in [("a", 1), ("b", 1), ("a", 2), ("b", 2)] {
        let (store, clock) = (open(&path).unwrap(), Arc::new(ManualClock::new()));
        let options = LedgerOptions::default();
        let ledger = Ledger::new(SessionId::from(name), clock, Box::new(store), options).unwrap();
        let slot = ledger.try_reserve().unwrap();
        assert_eq!(slot.record(body(expected), []), Some(expected));
        drop(ledger);
        kept.push(event(name, expected));
    }
    assert_eq!(read(&path), kept);
    assert!(names(folder.path()).iter().all(|name| !name.ends_with("-lock")), "{:?}", names(folder.path()));
    drop(open(&path).unwrap());
    assert_eq!(names(folder.path()), ["ledger.sqlite"]);
}

/// L-7: what `always` and the others are to SQLite; the log is kept whatever the policy.
#[test]
fn a_policy_is_the_connections_synchronous() {
    let interval = FsyncPolicy::Interval(Duration::from_secs(1));
    for (policy, expected) in [(FsyncPolicy::Always, 2), (interval, 1), (FsyncPolicy::Never, 1)] {
        let (_folder, path) = scratch();
        let mut store = SqliteStore::open(&path, policy).unwrap();
        let pragma = |name| store.connection.pragma_query_value(None, name, |row| row.get(0));
        assert_eq!(pragma("synchronous"), Ok(expected));
        let mode: String =
            store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        assert_eq!(store.sync_interval(), (policy == interval).then_some(Duration::from_secs(1)));
        store.append(&[event("s", 1)]).unwrap();
        assert!(store.unsynced);
        store.sync().unwrap();
        assert!(!store.unsynced);
    }
}

/// L-7, L-1: the database keeps the order by itself, and events as they were, whoever writes to it.
#[test]
fn the_database_refuses_gaps_and_changes() {
    let (_folder, path) = scratch();
    open(&path).unwrap().append(&[event("s", 1), event("s", 2)]).unwrap();
    let connection = raw(&path);
    let refused = |sql: &str| connection.execute(sql, []).unwrap_err().to_string();
    let gap = "the seq of a session has no gap and no repeat";
    assert_eq!(refused("INSERT INTO events(session, seq, event) VALUES ('s', 4, '')"), gap);
    assert_eq!(refused("INSERT INTO events(session, seq, event) VALUES ('s', 2, '')"), gap);
    assert_eq!(refused("INSERT OR REPLACE INTO events(session, seq, event) VALUES ('s', 2, '')"), gap);
    assert_eq!(refused("INSERT INTO events(session, seq, event) VALUES ('t', 2, '')"), gap);
    assert_eq!(refused("UPDATE events SET event = ''"), "an event is never changed");
    assert_eq!(refused("DELETE FROM events"), "an event is never removed");
    drop(connection);
    assert_eq!(read(&path), [event("s", 1), event("s", 2)]);
}

/// L-7
#[test]
fn a_file_that_is_no_ledger_is_left_alone() {
    let (_folder, path) = scratch();
    let mut said_of = Vec::new();
    let mut refuse = |path: &Path| {
        // SQLite keeps no lock on a file that it has given up.
        let before = fs::read(path).unwrap();
        let error = open(path).unwrap_err();
        said_of.push(said(&error, path));
        assert_eq!(read_sqlite(path).unwrap_err().to_string(), error.to_string());
        assert_eq!(fs::read(path).unwrap(), before);
    };
    fs::write(&path, "{\"v\":1,\"seq\":1}\n".repeat(100)).unwrap();
    refuse(&path);
    fs::write(&path, "short").unwrap();
    refuse(&path);
    for sql in [
        "CREATE TABLE notes(a)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 1769172078",
        "PRAGMA application_id = 1769172078; PRAGMA user_version = 1",
    ] {
        let (_folder, path) = scratch();
        raw(&path).execute_batch(sql).unwrap();
        refuse(&path);
    }
    for sql in ["CREATE TABLE notes(a)", "CREATE TRIGGER mine AFTER INSERT ON events BEGIN SELECT 1; END"] {
        let (_folder, path) = scratch();
        drop(open(&path).unwrap());
        raw(&path).execute_batch(sql).unwrap();
        refuse(&path);
    }
    let (_folder, path) = scratch();
    drop(open(&path).unwrap());
    raw(&path).execute_batch("CREATE TABLE notes(a); PRAGMA user_version = 7").unwrap();
    refuse(&path);
    insta::assert_snapshot!(said_of.join("\n"), @r"
    the file FILE is no ledger in SQLite: it is no SQLite database; choose another one
    the file FILE is no ledger in SQLite: it is no SQLite database; choose another one
    the file FILE is no ledger in SQLite: it is the SQLite database of something else; choose another one
    the file FILE is no ledger in SQLite: it is the SQLite database of something else; choose another one
    the file FILE is no ledger in SQLite: its tables are not those of a ledger; choose another one
    the file FILE is no ledger in SQLite: its tables are not those of a ledger; choose another one
    the file FILE is no ledger in SQLite: its tables are not those of a ledger; choose another one
    the file FILE is no ledger in SQLite: its tables are not those of a ledger; choose another one
    the ledger FILE is a file of version 7, and this isolane knows up to version 1; use a newer one
    ");
}

/// L-7: the page shows the table as it is, and the numbers by which a file is known.
#[test]
fn the_file_is_documented_as_it_is() {
    let page = include_str!("../../../../docs/ledger.md");
    let table = file::schema().next().unwrap();
    let documented: Vec<_> = table.lines().map(|line| format!("      {line}")).collect();
    assert!(page.contains(&documented.join("\n")), "{documented:?}");
    let (_folder, path) = scratch();
    let store = open(&path).unwrap();
    let number =
        |pragma| store.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
    let known = format!(
        "`application_id` is {} (`isln`), `user_version` is the version of the file: {}.",
        number("application_id"),
        number("user_version")
    );
    assert!(page.contains(&known), "{known}");
}

/// L-7: what SQLite keeps for itself is no harm.
#[test]
fn an_analysed_ledger_is_still_one() {
    let (_folder, path) = scratch();
    open(&path).unwrap().append(&samples()).unwrap();
    raw(&path).execute_batch("ANALYZE; VACUUM").unwrap();
    let mut store = open(&path).unwrap();
    assert_eq!(store.read_all().unwrap(), samples());
}

/// L-7
#[test]
fn damage_in_a_row_is_an_error_that_names_it() {
    let event_of = |text: &str| serde_json::to_string(&event("s", 3)).unwrap().replace("\"v\":1", text);
    let mut said_of = Vec::new();
    for (column, value) in [
        ("event", "garbage".to_owned()),
        ("event", event_of("\"v\":2")),
        ("event", event_of("\"v\":1").replace("\"seq\":3", "\"seq\":4")),
        ("event", format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))),
        ("session", "t".to_owned()),
    ] {
        let (_folder, path) = scratch();
        open(&path).unwrap().append(&[event("s", 1), event("s", 2), event("s", 3)]).unwrap();
        let connection = raw(&path);
        let trigger: String = connection
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'events_are_never_changed'", [], |row| {
                row.get(0)
            })
            .unwrap();
        connection.execute("DROP TRIGGER events_are_never_changed", []).unwrap();
        connection.execute(&format!("UPDATE events SET {column} = ?1 WHERE id = 3"), [value]).unwrap();
        connection.execute(&trigger, []).unwrap();
        drop(connection);
        said_of.push(said(&open(&path).unwrap_err(), &path));
        let found: Vec<_> = read_sqlite(&path).unwrap().collect();
        assert!(matches!(&found[..], [Ok(_), Ok(_), Err(StoreError::Row { row: 3, .. })]), "{found:?}");
    }
    insta::assert_snapshot!(said_of.join("\n"), @r"
    row 3 of the ledger FILE: it is not an event: expected value at column 1
    row 3 of the ledger FILE: it is not an event: it is in version 2 of the format, and this isolane reads up to version 1; use a newer one
    row 3 of the ledger FILE: its columns are not those of its event
    row 3 of the ledger FILE: it is not an event: it is nested more than 264 levels deep
    row 3 of the ledger FILE: its columns are not those of its event
    ");
}

/// L-7, L-8: a history with a hole is not gone on with.
#[test]
fn events_that_are_missing_are_noticed() {
    for (gone, left) in [(1, 2), (2, 2)] {
        let (_folder, path) = scratch();
        open(&path).unwrap().append(&[event("s", 1), event("s", 2), event("s", 3)]).unwrap();
        let connection = raw(&path);
        let trigger: String = connection
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'events_are_never_removed'", [], |row| {
                row.get(0)
            })
            .unwrap();
        connection.execute("DROP TRIGGER events_are_never_removed", []).unwrap();
        connection.execute("DELETE FROM events WHERE id = ?1", [gone]).unwrap();
        connection.execute(&trigger, []).unwrap();
        drop(connection);
        assert_eq!(
            said(&open(&path).unwrap_err(), &path),
            format!(
                "row 3 of the ledger FILE: session \"s\" has {left} events, from seq {} to 3: some are missing",
                if gone == 1 { 2 } else { 1 }
            )
        );
        assert!(read_sqlite(&path).unwrap().any(|event| event.is_err()));
    }
}

/// L-7
#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let (folder, path) = scratch();
    let mut first = open(&path).unwrap();
    let told = "the ledger FILE is in use by another writer; end it first or choose another file";
    assert_eq!(said(&open(&path).unwrap_err(), &path), told);
    // Nor by another name.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(said(&open(&link).unwrap_err(), &link), told);
    // The one that was refused has taken nothing from the first.
    first.append(&[event("s", 1)]).unwrap();
    drop(first);
    open(&link).unwrap().append(&[event("s", 2)]).unwrap();
    assert_eq!(read(&path), [event("s", 1), event("s", 2)]);
}

/// L-7: a writer that is not isolane is waited for, and not for ever.
#[test]
fn a_writer_that_knows_no_ledger_is_told_of_too() {
    let (_folder, path) = scratch();
    let mut store = open(&path).unwrap();
    let other = raw(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let told = "the ledger FILE is in use by another writer; end it first or choose another file";
    assert_eq!(said(&store.append(&[event("s", 1)]).unwrap_err(), &path), told);
    other.execute_batch("ROLLBACK").unwrap();
    drop(store);
    other.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    other.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
    assert_eq!(said(&open(&path).unwrap_err(), &path), told);
    drop(other);
    open(&path).unwrap().append(&[event("s", 1)]).unwrap();
}

/// L-7: a reader sees what is committed while another writes, and nothing of what is not.
#[test]
fn a_reader_goes_on_while_another_writes() {
    let (_folder, path) = scratch();
    assert!(matches!(read_sqlite(&path), Err(StoreError::Io { action: "read", .. })));
    let mut store = open(&path).unwrap();
    let events: Vec<_> = (1..=300).map(|seq| event("s", seq)).collect();
    store.append(&events[..100]).unwrap();
    let mut reader = read_sqlite(&path).unwrap();
    let mut seen: Vec<_> = reader.by_ref().take(10).map(Result::unwrap).collect();
    store.append(&events[100..200]).unwrap();
    seen.extend(reader.by_ref().take(100).map(Result::unwrap));
    let half = store.connection.unchecked_transaction().unwrap();
    let text = serde_json::to_string(&events[200]).unwrap();
    half.execute(INSERT, ("s", 201, text)).unwrap();
    seen.extend(reader.map(Result::unwrap));
    assert_eq!(seen, events[..200]);
    assert_eq!(read(&path), events[..200]);
    drop(half);
    store.append(&events[200..]).unwrap();
    assert_eq!(read(&path), events);
}

/// L-7: a file whose maker died before it was one is a new ledger, as an empty file is.
#[test]
fn a_file_with_nothing_in_it_is_a_new_ledger() {
    let (_folder, path) = scratch();
    fs::write(&path, "").unwrap();
    assert_eq!(read(&path), []);
    raw(&path).pragma_update(None, "journal_mode", "WAL").unwrap();
    assert_eq!(read(&path), []);
    open(&path).unwrap().append(&[event("s", 1)]).unwrap();
    assert_eq!(read(&path), [event("s", 1)]);
}

/// L-7
#[test]
fn only_a_regular_file_can_be_a_ledger() {
    let (folder, path) = scratch();
    let error = open(folder.path()).unwrap_err();
    assert_eq!(said(&error, folder.path()), "the ledger FILE is not a regular file; choose a path of a file");
    assert!(matches!(read_sqlite(folder.path()), Err(StoreError::NotAFile { .. })));
    let nowhere = path.join("ledger.sqlite");
    let error = open(&nowhere).unwrap_err();
    assert_eq!(said(&error, &nowhere), "cannot open the ledger FILE: No such file or directory (os error 2)");
}

/// What tools were given is nobody else's to read. What is left out of it, see L-11.
#[test]
fn a_new_file_and_what_is_beside_it_are_for_their_owner_alone() {
    let (folder, path) = scratch();
    let mut store = open(&path).unwrap();
    store.append(&[event("s", 1)]).unwrap();
    let beside = names(folder.path());
    assert_eq!(beside, ["ledger.sqlite", "ledger.sqlite-lock", "ledger.sqlite-shm", "ledger.sqlite-wal"]);
    for name in beside {
        let mode = fs::metadata(folder.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// L-8: of a batch that does not fit, nothing is kept; the store is done, and the file opens.
#[test]
fn a_full_disk_is_told_and_leaves_a_file_that_opens() {
    let (_folder, path) = scratch();
    let mut store = open(&path).unwrap();
    store.append(&[event("s", 1)]).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store
        .connection
        .pragma_update_and_check(None, "max_page_count", pages + 2, |row| row.get::<_, i64>(0))
        .unwrap();
    let batch: Vec<_> = (2..1_000).map(|seq| event("s", seq)).collect();
    let error = store.append(&batch).unwrap_err();
    assert_eq!(said(&error, &path), "cannot append to the ledger FILE: database or disk is full");
    assert!(
        matches!(&error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
    );
    let refused = "the ledger FILE refuses work after an earlier failure; open it again";
    assert_eq!(said(&store.append(&[event("s", 2)]).unwrap_err(), &path), refused);
    assert_eq!(said(&store.sync().unwrap_err(), &path), refused);
    assert_eq!(said(&store.read_all().unwrap_err(), &path), refused);
    drop(store);
    let mut store = open(&path).unwrap();
    assert_eq!(store.read_all().unwrap(), [event("s", 1)]);
    store.append(&batch).unwrap();
}

/// L-1: a gap is refused before the database is asked.
#[test]
fn a_gap_is_no_failure_of_the_store() {
    let (_folder, path) = scratch();
    let mut store = open(&path).unwrap();
    let gap = SequenceError { session: "s".into(), expected: 1, found: 2 };
    assert!(matches!(store.append(&[event("s", 2)]), Err(StoreError::Sequence(found)) if found == gap));
    store.append(&[event("s", 1)]).unwrap();
}

/// Batches in the log of a file that was never moved into it, and their bytes.
fn logged(batches: &[Vec<LedgerEvent>]) -> (Vec<u8>, Vec<u8>) {
    let (_folder, path) = scratch();
    let mut store = open(&path).unwrap();
    let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    store.connection.set_db_config(keep, true).unwrap();
    for batch in batches {
        store.append(batch).unwrap();
    }
    drop(store);
    (fs::read(&path).unwrap(), fs::read(format!("{}-wal", path.display())).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// L-8: a log that breaks off anywhere, or whose last bytes are not what was written, ends with a whole batch.
    #[test]
    fn a_kill_at_any_byte_leaves_whole_batches(
        sizes in prop::collection::vec(1_u64..20, 1..6),
        cut in any::<prop::sample::Index>(),
        torn: bool,
    ) {
        let mut next = 0;
        let batches: Vec<Vec<_>> = sizes
            .iter()
            .map(|size| (0..*size).map(|_| { next += 1; event("s", next) }).collect())
            .collect();
        let (file, mut log) = logged(&batches);
        let cut = cut.index(log.len() + 1);
        if torn {
            log[cut..].fill(0);
        } else {
            log.truncate(cut);
        }
        let (_folder, path) = scratch();
        fs::write(&path, file).unwrap();
        fs::write(format!("{}-wal", path.display()), &log).unwrap();
        let mut store = open(&path).unwrap();
        let kept = store.read_all().unwrap();
        let all: Vec<_> = batches.concat();
        prop_assert_eq!(&kept[..], &all[..kept.len()]);
        let ends: Vec<_> = sizes.iter().scan(0, |end, size| { *end += size; Some(*end) }).collect();
        prop_assert!(kept.is_empty() || ends.contains(&(kept.len() as u64)), "{} of {ends:?}", kept.len());
        store.append(&all[kept.len()..]).unwrap();
        drop(store);
        prop_assert_eq!(read(&path), all);
    }
}
