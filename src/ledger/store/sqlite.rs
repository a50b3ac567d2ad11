//! Events in one SQLite file (L-7).
//!
//! Owns the connection that writes, and what `always | interval | never` mean to SQLite. It never changes or removes
//! an event, and no transaction of it is longer than one append. It hands the file itself to [`file`] and reading to
//! [`reader`].

mod file;
mod reader;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

pub use reader::{SqliteReader, read_sqlite};

use super::json_lines::sync_directory;
use super::{FsyncPolicy, LedgerStore, Sequences, StoreError};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;
use file::{Access, WriterLock, failed};

const INSERT: &str = "INSERT INTO events(session, seq, event) VALUES (?1, ?2, ?3)";

/// An SQLite file (L-7): one event a row, one transaction per batch.
///
/// The file is created readable by its owner alone, and locked against other writers until the store is dropped.
/// Readers need no lock, see [`read_sqlite`]. While it is open, and after a crash, there are files beside it that end
/// in `-wal`, `-shm` and `-lock`; the first belongs to the ledger and must go wherever it goes.
///
/// The database itself enforces that the `seq` of a session has no gap. Of a batch either all is kept or nothing.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the lock is given up.
    connection: Connection,
    path: PathBuf,
    policy: FsyncPolicy,
    sequences: Sequences,
    unsynced: bool,
    refused: bool,
    /// Held for its end.
    _lock: WriterLock,
}

impl SqliteStore {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another writer has it, [`StoreError::NotAFile`] for directories and pipes,
    /// [`StoreError::NotALedger`] for a file of any other kind and [`StoreError::Newer`] for one of a later isolane
    /// (nothing is changed then), [`StoreError::Row`] for a history with a gap or an end that is no event, and
    /// [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, policy: FsyncPolicy) -> Result<Self, StoreError> {
        Self::open_within(path.as_ref(), policy, file::PATIENCE)
    }

    /// The same, waiting at most so long for others that use the file without isolane.
    fn open_within(path: &Path, policy: FsyncPolicy, patience: Duration) -> Result<Self, StoreError> {
        let (at, lock) = file::claim(path)?;
        file::create(path, &at)?;
        let mut connection = file::connect(path, &at, Access::Write, patience)?;
        let synchronous = synchronous(policy);
        connection.pragma_update(None, "synchronous", synchronous).map_err(failed("open", path))?;
        let sequences = file::prepare(&mut connection, path)?;
        if policy != FsyncPolicy::Never {
            // The names of the file and of its log with it.
            file::sync_log(&at).and_then(|()| sync_directory(&at)).map_err(|source| StoreError::Io {
                action: "sync",
                path: path.to_owned(),
                source,
            })?;
        }
        let path = at;
        Ok(Self { connection, path, policy, sequences, unsynced: false, refused: false, _lock: lock })
    }

    /// The file, without links on the way to it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.refused { Err(StoreError::Refused { path: self.path.clone() }) } else { Ok(()) }
    }

    fn write(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        let Self { connection, path, .. } = self;
        let failed = || failed("append to", path);
        // Takes the right to write at once; a transaction that is dropped is undone.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed())?;
        let mut insert = transaction.prepare(INSERT).map_err(failed())?;
        for event in events {
            let text = serde_json::to_string(event).map_err(|source| StoreError::Io {
                action: "append to",
                path: path.clone(),
                source: source.into(),
            })?;
            // No gap, so that no session gets beyond 63 bits.
            let seq = i64::try_from(event.seq).unwrap_or(i64::MAX);
            insert.execute((event.session.as_str(), seq, text)).map_err(failed())?;
        }
        drop(insert);
        transaction.commit().map_err(failed())
    }
}

/// What the policy is to SQLite. Even `never` keeps the order of writes at a checkpoint, without which a loss of power
/// could take the whole file along and not its end alone.
fn synchronous(policy: FsyncPolicy) -> &'static str {
    match policy {
        FsyncPolicy::Always => "FULL",
        FsyncPolicy::Interval(_) | FsyncPolicy::Never => "NORMAL",
    }
}

impl LedgerStore for SqliteStore {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        self.check()?;
        self.sequences.advance_all(events)?;
        if events.is_empty() {
            return Ok(());
        }
        self.write(events).inspect_err(|_| self.refused = true)?;
        self.unsynced = true;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check()?;
        // `always` has synced with every commit.
        if self.unsynced && matches!(self.policy, FsyncPolicy::Interval(_)) {
            // What is not in the log any more was synced on its way into the file.
            file::sync_log(&self.path).map_err(|source| {
                // What a failed sync has lost cannot be known, and a second try may wrongly succeed.
                self.refused = true;
                StoreError::Io { action: "sync", path: self.path.clone(), source }
            })?;
        }
        self.unsynced = false;
        Ok(())
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.sequences.last(session))
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.check()?;
        reader::session(&self.connection, &self.path, session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.check()?;
        reader::all(&self.connection, &self.path)
    }

    fn sync_interval(&self) -> Option<Duration> {
        match self.policy {
            FsyncPolicy::Interval(interval) => Some(interval),
            FsyncPolicy::Always | FsyncPolicy::Never => None,
        }
    }
}
