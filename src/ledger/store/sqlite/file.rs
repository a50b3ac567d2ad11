//! The file of an SQLite ledger: where it is, who may write, and whether it is one at all.
//!
//! Owns the schema, the version of the file, the lock of its writer, and what SQLite's errors mean here. It must never
//! open the database file but through SQLite: closing any handle of the file gives up the locks that SQLite has on it
//! in this process. It hands the rows to [`super::reader`].

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::reader::check_last;
use crate::ids::SessionId;
use crate::ledger::store::{Sequences, StoreError};

/// How long others that use the file without isolane are waited for, such as a shell for SQLite.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What the file says of itself: `isln`.
const APPLICATION: i64 = 0x6973_6c6e;

/// The version of tables and triggers. That of events is in the events.
const FILE_VERSION: i64 = 1;

/// Tables and triggers, by name, as SQLite keeps them. What a file has beyond them could run when it is used.
const SCHEMA: &[(&str, &str)] = &[
    (
        "events",
        "CREATE TABLE events(
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  seq INTEGER NOT NULL,
  event TEXT NOT NULL,
  UNIQUE(session, seq)
) STRICT",
    ),
    (
        "events_are_never_changed",
        "CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END",
    ),
    (
        "events_are_never_removed",
        "CREATE TRIGGER events_are_never_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'an event is never removed'); END",
    ),
    (
        "events_have_no_gap",
        "CREATE TRIGGER events_have_no_gap BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE session = NEW.session)
BEGIN SELECT RAISE(ABORT, 'the seq of a session has no gap and no repeat'); END",
    ),
];

/// What a database has beside SQLite's own tables and indexes.
const OBJECTS: &str = "SELECT name, sql FROM sqlite_schema \
    WHERE sql IS NOT NULL AND NOT (type = 'table' AND substr(name, 1, 7) = 'sqlite_') ORDER BY name";

/// The right to write, until it is dropped. A handle of its own, beside the file.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Still locked: whoever opened it meanwhile sees that it is not there any more, and makes another one. One that
        // stays is in nobody's way.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// As often as a lock is tried that others give up in the same moment.
const TRIES: usize = 100;

/// The place of a file that is there.
pub(super) fn existing(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    let at = path.canonicalize().map_err(failed)?;
    // A pipe would block in `open`; ask first what it is.
    if std::fs::metadata(&at).map_err(failed)?.is_file() {
        Ok(at)
    } else {
        Err(StoreError::NotAFile { path: path.to_owned() })
    }
}

/// The place of the file, which need not be there yet, and the right to write to it.
///
/// The place is free of links, as the files beside it are named after it.
pub(super) fn claim(path: &Path) -> Result<(PathBuf, WriterLock), StoreError> {
    let at = match existing(path) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            let failed = |source| StoreError::Io { action: "open", path: path.to_owned(), source };
            let whole = std::path::absolute(path).map_err(failed)?;
            let (Some(folder), Some(name)) = (whole.parent(), whole.file_name()) else {
                return Err(StoreError::NotAFile { path: path.to_owned() });
            };
            folder.canonicalize().map_err(failed)?.join(name)
        }
        found => found?,
    };
    let failed = |source| StoreError::Io { action: "lock", path: path.to_owned(), source };
    let lock = beside(&at, "-lock");
    for _ in 0..TRIES {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => break,
            Err(error) => return Err(failed(error.into())),
        }
        // The one before may have removed what was opened here.
        let locked = file.metadata().map_err(failed)?;
        if std::fs::metadata(&lock)
            .is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()))
        {
            return Ok((at, WriterLock { path: lock, _file: file }));
        }
    }
    Err(StoreError::Locked { path: path.to_owned() })
}

/// Makes the file unless it is there, for its owner alone.
pub(super) fn create(path: &Path, at: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(at) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(StoreError::Io { action: "create", path: path.to_owned(), source }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Opens the database at `at`, which is called `path`.
pub(super) fn connect(
    path: &Path,
    at: &Path,
    access: Access,
    patience: Duration,
) -> Result<Connection, StoreError> {
    let failed = || failed("open", path);
    let access = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection =
        Connection::open_with_flags(at, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed())?;
    connection.busy_timeout(patience).map_err(failed())?;
    // The file may be anybody's: nothing of it is to do more than what the queries here ask for.
    for (setting, value) in
        [(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true), (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)]
    {
        connection.set_db_config(setting, value).map_err(failed())?;
    }
    connection.pragma_update(None, "cell_size_check", true).map_err(failed())?;
    Ok(connection)
}

/// What a database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing at all: a ledger that is to be.
    Nothing,
    /// A ledger that this crate knows.
    Ledger,
}

/// Tells what the database holds; an error for anything that is not a ledger of a known version.
pub(super) fn identify(connection: &Connection, path: &Path) -> Result<Content, StoreError> {
    let failed = || failed("read", path);
    let number = |pragma: &str| -> Result<i64, StoreError> {
        connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(failed())
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let mut statement = connection.prepare(OBJECTS).map_err(failed())?;
    let found = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed())?;
    if application == APPLICATION && version > FILE_VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), version, known: FILE_VERSION });
    }
    if application == 0 && version == 0 && found.is_empty() {
        return Ok(Content::Nothing);
    }
    let is_known = found.iter().map(|(name, sql)| (name.as_str(), sql.as_str())).eq(SCHEMA.iter().copied());
    if application == APPLICATION && version == FILE_VERSION && is_known {
        return Ok(Content::Ledger);
    }
    let reason = match application {
        APPLICATION => "its tables are not those of a ledger",
        _ => "it is the SQLite database of something else",
    };
    Err(StoreError::NotALedger { path: path.to_owned(), reason: reason.to_owned() })
}

/// Makes a new ledger or checks the one that is there, and gives the last `seq` of every session.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<Sequences, StoreError> {
    // Before the journal is changed, which changes the file.
    let content = identify(connection, path)?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed("open", path))?;
    if mode != "wal" {
        let reason = format!("its file system lets SQLite write no log beside it (the mode is {mode})");
        return Err(StoreError::Io {
            action: "open",
            path: path.to_owned(),
            source: io::Error::other(reason),
        });
    }
    match content {
        Content::Nothing => make(connection).map_err(failed("create", path)).map(|()| Sequences::default()),
        Content::Ledger => {
            check_last(connection, path)?;
            last_of_each(connection, path)
        }
    }
}

fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, sql) in SCHEMA {
        transaction.execute(sql, [])?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FILE_VERSION)?;
    transaction.commit()
}

fn last_of_each(connection: &Connection, path: &Path) -> Result<Sequences, StoreError> {
    let failed = || failed("read", path);
    let mut statement = connection
        .prepare("SELECT session, min(seq), max(seq), count(*), max(id) FROM events GROUP BY session")
        .map_err(failed())?;
    let mut rows = statement.query([]).map_err(failed())?;
    let mut sequences = Sequences::default();
    while let Some(row) = rows.next().map_err(failed())? {
        let mut numbers = [0_i64; 4];
        for (column, number) in (1..).zip(&mut numbers) {
            *number = row.get(column).map_err(failed())?;
        }
        let session: String = row.get(0).map_err(failed())?;
        let [first, last, count, row] = numbers;
        // No number is there twice.
        if first != 1 || count != last {
            let reason = format!(
                "session {session:?} has {count} events, from seq {first} to {last}: some are missing"
            );
            return Err(StoreError::Row { path: path.to_owned(), row, reason });
        }
        sequences.0.insert(SessionId::from(session), u64::try_from(last).unwrap_or(0));
    }
    Ok(sequences)
}

/// Makes what is in the log survive a loss of power. SQLite syncs what it moves from there into the file itself.
pub(super) fn sync_log(at: &Path) -> io::Result<()> {
    match File::open(beside(at, "-wal")) {
        Ok(log) => log.sync_data(),
        // Nothing was written since the file was opened, so there is nothing to sync.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn beside(at: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(at);
    name.push(ending);
    name.into()
}

/// The schema as it is documented.
#[cfg(test)]
pub(super) fn schema() -> impl Iterator<Item = &'static str> {
    SCHEMA.iter().map(|(_, sql)| *sql)
}

/// What an error of SQLite means to the user of a ledger.
pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |error| {
        let path = path.to_owned();
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => return StoreError::Locked { path },
            Some(ErrorCode::NotADatabase) => {
                return StoreError::NotALedger { path, reason: "it is no SQLite database".to_owned() };
            }
            Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
            Some(ErrorCode::ReadOnly) => io::ErrorKind::ReadOnlyFilesystem,
            Some(ErrorCode::PermissionDenied) => io::ErrorKind::PermissionDenied,
            Some(ErrorCode::DatabaseCorrupt) => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        StoreError::Io { action, path, source: io::Error::new(kind, error.to_string()) }
    }
}
