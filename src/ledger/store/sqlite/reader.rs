//! Reading an SQLite ledger.
//!
//! Owns what counts as a row and an order, for the store and for tools alike. It never changes a file, and holds no
//! transaction between two looks, so that it is in nobody's way. It hands the text of an event to
//! [`crate::ledger::store::reader`].

use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use rusqlite::{Connection, Params, Row};

use super::file::{self, Access, Content, failed};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;
use crate::ledger::store::reader::parse;
use crate::ledger::store::{Sequences, StoreError};

const PAGE: &str = "SELECT id, session, seq, event FROM events WHERE id > ?1 ORDER BY id LIMIT ?2";
const SESSION: &str = "SELECT id, session, seq, event FROM events WHERE session = ?1 ORDER BY seq";
const ALL: &str = "SELECT id, session, seq, event FROM events ORDER BY id";
const LAST: &str = "SELECT id, session, seq, event FROM events ORDER BY id DESC LIMIT 1";

/// Rows of one look.
const PAGE_ROWS: i64 = 64;

/// Opens an SQLite ledger for reading, whether or not somebody writes to it.
///
/// The events come one by one, as far as they are committed when they are reached; an error ends them. A file whose
/// writer died leaves its `-wal` and `-shm` beside it, and a reader may make such files too: their folder must be one
/// that the reader may write to.
///
/// # Errors
/// [`StoreError::NotAFile`], [`StoreError::NotALedger`], [`StoreError::Newer`] and [`StoreError::Io`].
pub fn read_sqlite(path: impl AsRef<Path>) -> Result<SqliteReader, StoreError> {
    let path = path.as_ref();
    let at = file::existing(path)?;
    let connection = file::connect(path, &at, Access::Read, file::PATIENCE)?;
    let is_empty = file::identify(&connection, path)? == Content::Nothing;
    Ok(SqliteReader {
        connection,
        path: path.to_owned(),
        page: Vec::new().into_iter(),
        last: 0,
        sequences: Sequences::default(),
        done: is_empty,
    })
}

/// The events of an SQLite ledger, in the order of writing.
///
/// Checks that every row is an event of a version that this crate knows, and that the `seq` of each session counts
/// 1, 2, 3 without gap or repeat.
#[derive(Debug)]
pub struct SqliteReader {
    connection: Connection,
    path: PathBuf,
    page: IntoIter<Stored>,
    /// The last row that was looked at.
    last: i64,
    sequences: Sequences,
    done: bool,
}

impl SqliteReader {
    fn read_next(&mut self) -> Result<Option<LedgerEvent>, StoreError> {
        if self.page.len() == 0 {
            self.page = rows(&self.connection, &self.path, PAGE, (self.last, PAGE_ROWS))?.into_iter();
        }
        let Some(stored) = self.page.next() else { return Ok(None) };
        self.last = stored.id;
        stored.event(&self.path, &mut self.sequences).map(Some)
    }
}

impl Iterator for SqliteReader {
    type Item = Result<LedgerEvent, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read_next().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Every event of the session, in order.
pub(super) fn session(
    connection: &Connection,
    path: &Path,
    session: &SessionId,
) -> Result<Vec<LedgerEvent>, StoreError> {
    events(path, rows(connection, path, SESSION, [session.as_str()])?)
}

/// Every event, in the order of writing.
pub(super) fn all(connection: &Connection, path: &Path) -> Result<Vec<LedgerEvent>, StoreError> {
    events(path, rows(connection, path, ALL, [])?)
}

/// Looks at the last row, which is of the newest version that anybody has written.
pub(super) fn check_last(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    rows(connection, path, LAST, [])?.iter().try_for_each(|stored| stored.parsed(path).map(drop))
}

fn events(path: &Path, stored: Vec<Stored>) -> Result<Vec<LedgerEvent>, StoreError> {
    let mut sequences = Sequences::default();
    stored.into_iter().map(|stored| stored.event(path, &mut sequences)).collect()
}

fn rows(
    connection: &Connection,
    path: &Path,
    query: &str,
    parameters: impl Params,
) -> Result<Vec<Stored>, StoreError> {
    let mut statement = connection.prepare(query).map_err(failed("read", path))?;
    let found = statement.query_map(parameters, Stored::new).map_err(failed("read", path))?;
    found.collect::<Result<_, _>>().map_err(failed("read", path))
}

/// A row as it is in the file.
#[derive(Debug)]
struct Stored {
    id: i64,
    session: String,
    seq: i64,
    event: String,
}

impl Stored {
    fn new(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, session: row.get(1)?, seq: row.get(2)?, event: row.get(3)? })
    }

    fn parsed(&self, path: &Path) -> Result<LedgerEvent, StoreError> {
        let wrong = |reason| StoreError::Row { path: path.to_owned(), row: self.id, reason };
        let event =
            parse(self.event.as_bytes()).map_err(|why| wrong(format!("it is not an event: {why}")))?;
        if event.session.as_str() != self.session || i64::try_from(event.seq) != Ok(self.seq) {
            return Err(wrong("its columns are not those of its event".to_owned()));
        }
        Ok(event)
    }

    fn event(&self, path: &Path, sequences: &mut Sequences) -> Result<LedgerEvent, StoreError> {
        let event = self.parsed(path)?;
        sequences.advance(&event).map_err(|problem| StoreError::Row {
            path: path.to_owned(),
            row: self.id,
            reason: problem.to_string(),
        })?;
        Ok(event)
    }
}
