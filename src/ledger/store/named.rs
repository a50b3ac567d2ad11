//! Ledgers by the name of their file.
//!
//! Owns which ending stands for which kind of file. It never looks into a file to find out: the store does, and says
//! what is wrong. It hands everything to the store of the kind.

use std::path::Path;

use super::{EventReader, FsyncPolicy, JsonLinesStore, LedgerStore, StoreError, StoreWarning, read_events};
#[cfg(feature = "sqlite")]
use super::{SqliteReader, SqliteStore, read_sqlite};
use crate::ledger::event::LedgerEvent;

/// Endings of the names of SQLite files, in any case of letters. Every other file is JSON Lines.
const SQLITE: &[&str] = &["sqlite", "sqlite3", "db"];

/// A ledger file that was opened for writing.
#[derive(Debug)]
pub struct OpenedLedger {
    /// The store.
    pub store: Box<dyn LedgerStore>,
    /// What was put right when the file was opened, for the user to know.
    pub warnings: Vec<StoreWarning>,
}

/// Opens or creates the ledger at `path`: an SQLite file if the name ends in `.sqlite`, `.sqlite3` or `.db`, or else a
/// JSON Lines file (L-7).
///
/// # Errors
/// Those of [`JsonLinesStore::open`] and `SqliteStore::open`, and [`StoreError::NoSqlite`] where the feature `sqlite` is
/// off.
///
/// ```
/// use isolane::clock::SystemClock;
/// use isolane::ledger::{FsyncPolicy, Ledger, LedgerOptions, open_ledger, read_ledger};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("events.jsonl");
/// let opened = open_ledger(&path, FsyncPolicy::Always)?;
/// for warning in &opened.warnings {
///     eprintln!("warning: {warning}");
/// }
/// let ledger = Ledger::new("s-1".into(), SystemClock::shared(), opened.store, LedgerOptions::default())?;
/// # drop(ledger);
/// for event in read_ledger(&path)? {
///     println!("{}", event?.seq);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_ledger(path: impl AsRef<Path>, policy: FsyncPolicy) -> Result<OpenedLedger, StoreError> {
    let path = path.as_ref();
    if is_sqlite(path) {
        return open_sqlite(path, policy);
    }
    let store = JsonLinesStore::open(path, policy)?;
    let warnings = store.warnings().to_vec();
    Ok(OpenedLedger { store: Box::new(store), warnings })
}

/// Opens the ledger at `path` for reading, whether or not somebody writes to it; the kind of file as in [`open_ledger`].
///
/// # Errors
/// Those of [`read_events`] and `read_sqlite`, and [`StoreError::NoSqlite`] where the feature `sqlite` is off.
pub fn read_ledger(path: impl AsRef<Path>) -> Result<LedgerReader, StoreError> {
    let path = path.as_ref();
    if is_sqlite(path) {
        return read_from_sqlite(path);
    }
    read_events(path).map(|reader| LedgerReader(Reader::JsonLines(reader)))
}

/// The events of a ledger file of either kind, in the order of writing; an error ends them.
#[derive(Debug)]
pub struct LedgerReader(Reader);

#[derive(Debug)]
enum Reader {
    JsonLines(EventReader),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteReader),
}

impl LedgerReader {
    /// What was passed over so far.
    pub fn warnings(&self) -> &[StoreWarning] {
        match &self.0 {
            Reader::JsonLines(reader) => reader.warnings(),
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(_) => &[],
        }
    }
}

impl Iterator for LedgerReader {
    type Item = Result<LedgerEvent, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Reader::JsonLines(reader) => reader.next(),
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(reader) => reader.next(),
        }
    }
}

fn is_sqlite(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    SQLITE.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(feature = "sqlite")]
fn open_sqlite(path: &Path, policy: FsyncPolicy) -> Result<OpenedLedger, StoreError> {
    Ok(OpenedLedger { store: Box::new(SqliteStore::open(path, policy)?), warnings: Vec::new() })
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(path: &Path, _: FsyncPolicy) -> Result<OpenedLedger, StoreError> {
    Err(StoreError::NoSqlite { path: path.to_owned() })
}

#[cfg(feature = "sqlite")]
fn read_from_sqlite(path: &Path) -> Result<LedgerReader, StoreError> {
    read_sqlite(path).map(|reader| LedgerReader(Reader::Sqlite(reader)))
}

#[cfg(not(feature = "sqlite"))]
fn read_from_sqlite(path: &Path) -> Result<LedgerReader, StoreError> {
    Err(StoreError::NoSqlite { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L-7: the ending of the name says what is made and read; both kinds hold the same events.
    #[cfg(feature = "sqlite")]
    #[test]
    fn the_name_of_a_file_chooses_its_store() {
        use crate::ledger::tests::event;

        let folder = tempfile::tempdir().unwrap();
        for (name, is_database) in [
            ("events.jsonl", false),
            ("events", false),
            (".db", false),
            ("a.sqlite.log", false),
            ("events.sqlite", true),
            ("events.SQLITE3", true),
            ("events.db", true),
        ] {
            let path = folder.path().join(name);
            let OpenedLedger { mut store, warnings } = open_ledger(&path, FsyncPolicy::Never).unwrap();
            assert_eq!(warnings, []);
            store.append(&[event("s", 1), event("s", 2)]).unwrap();
            drop(store);
            assert_eq!(
                std::fs::read(&path).unwrap().starts_with(b"SQLite format 3\0"),
                is_database,
                "{name}"
            );
            let mut reader = read_ledger(&path).unwrap();
            let events: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
            assert_eq!(events, [event("s", 1), event("s", 2)]);
            assert_eq!(reader.warnings(), []);
        }
    }

    /// L-7
    #[test]
    fn what_was_put_right_is_told_by_either_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"v\":1").unwrap();
        let mut reader = read_ledger(&path).unwrap();
        assert!(reader.next().is_none());
        let torn = StoreWarning::TornLine { path: path.clone(), offset: 0, bytes: 6 };
        assert_eq!(reader.warnings(), std::slice::from_ref(&torn));
        assert_eq!(open_ledger(&path, FsyncPolicy::Never).unwrap().warnings, [torn]);
    }

    /// L-7: without the feature, a name that asks for a database makes no file of another kind.
    #[cfg(not(feature = "sqlite"))]
    #[test]
    fn a_database_is_refused_where_there_is_no_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let told = format!(
            "the ledger {} is to be in SQLite, which this isolane was built without; choose a name that does not end \
             in .sqlite, .sqlite3 or .db, or build it with the feature `sqlite`",
            path.display()
        );
        assert_eq!(open_ledger(&path, FsyncPolicy::Never).unwrap_err().to_string(), told);
        assert_eq!(read_ledger(&path).unwrap_err().to_string(), told);
        assert!(!path.exists());
    }
}
