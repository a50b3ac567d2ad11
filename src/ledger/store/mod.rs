//! Where events are kept (L-7).
//!
//! Owns the contract of a store, the errors of all stores and the rule that `seq` has no gap. It never decides
//! what is written or when. Each store has its own file.

#[cfg(test)]
pub(crate) mod conformance;
mod json_lines;
mod memory;
mod named;
mod reader;
mod shared;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod watched;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use json_lines::{FsyncPolicy, JsonLinesStore};
pub use memory::MemoryStore;
pub use named::{LedgerReader, OpenedLedger, open_ledger, read_ledger};
pub use reader::{EventReader, read_events};
pub use shared::SharedStore;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteReader, SqliteStore, read_sqlite};
#[cfg(test)]
pub(crate) use watched::WatchedStore;

use super::event::{FORMAT_VERSION, LedgerEvent};
use crate::ids::SessionId;

/// A place that keeps events (L-7). One may hold several sessions.
///
/// A store is used by one ledger at a time. After an I/O error it refuses further work.
pub trait LedgerStore: Send + fmt::Debug {
    /// Keeps `events`, in this order. On failure a leading part of them may have been kept, never another part.
    ///
    /// An event that does not follow its session's last is [`StoreError::Sequence`], and nothing is kept.
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError>;

    /// Makes what was appended survive a loss of power, as far as the store's own policy wants it to.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// The session's last `seq`; 0 when the store has none of its events.
    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError>;

    /// Every event of the session, in order.
    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError>;

    /// Every event, in the order of writing.
    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError>;

    /// Whether appending may take long enough to need a thread of its own. False: events are appended where they
    /// are recorded, under the ledger's lock.
    fn wants_thread(&self) -> bool {
        true
    }

    /// How long appended events may wait for [`LedgerStore::sync`]; nothing when nobody has to call it in time.
    fn sync_interval(&self) -> Option<Duration> {
        None
    }
}

/// Why a store cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} the ledger {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another writer has the file open.
    #[error("the ledger {} is in use by another writer; end it first or choose another file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The path names something that cannot be a ledger, such as a directory or a pipe.
    #[error("the ledger {} is not a regular file; choose a path of a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A line is not an event. The file was left as it is.
    #[error("line {line} of the ledger {} (byte {offset}) is not an event: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Where the line starts, in bytes.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A line breaks the order of its session. The file was left as it is.
    #[error("line {line} of the ledger {} (byte {offset}): {problem}", path.display())]
    OutOfOrder {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Where the line starts, in bytes.
        offset: u64,
        /// How it breaks the order.
        problem: SequenceError,
    },
    /// The file is of another kind. It was left as it is.
    #[error("the file {} is no ledger in SQLite: {reason}; choose another one", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as that can be seen.
        reason: String,
    },
    /// The name asks for SQLite, and the feature `sqlite` is off. Nothing was made.
    #[error(
        "the ledger {} is to be in SQLite, which this isolane was built without; choose a name that does not end in \
         .sqlite, .sqlite3 or .db, or build it with the feature `sqlite`",
        path.display()
    )]
    NoSqlite {
        /// The path.
        path: PathBuf,
    },
    /// The file was made by a later isolane. It was left as it is.
    #[error(
        "the ledger {} is a file of version {version}, and this isolane knows up to version {known}; use a newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// A row is not an event, or breaks the order of its session. The file was left as it is.
    #[error("row {row} of the ledger {}: {reason}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, by its `id`.
        row: i64,
        /// What is wrong with it.
        reason: String,
    },
    /// An event that was to be appended breaks the order of its session.
    #[error("cannot append to the ledger: {0}")]
    Sequence(#[from] SequenceError),
    /// An earlier failure left the store's state unknown.
    #[error("the ledger {} refuses work after an earlier failure; open it again", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
    },
    /// A store from outside this crate failed.
    #[error("{0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// An event that does not follow the last one of its session (L-1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session {session:?} expects seq {expected} next and has {found}", session = session.as_str())]
pub struct SequenceError {
    /// The session.
    pub session: SessionId,
    /// The only `seq` that may come next.
    pub expected: u64,
    /// The one that came.
    pub found: u64,
}

/// Something that a store put right by itself, for the user to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreWarning {
    /// The last line breaks off: its writer died, or is still writing it. It does not count (L-7).
    TornLine {
        /// The file.
        path: PathBuf,
        /// Where the line starts, in bytes.
        offset: u64,
        /// Its length in bytes.
        bytes: u64,
    },
    /// The last line is a whole event and has no end, as when its writer died just before. It counts (L-7).
    UnendedLine {
        /// The file.
        path: PathBuf,
        /// Where the line starts, in bytes.
        offset: u64,
    },
}

impl fmt::Display for StoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TornLine { path, offset, bytes } => write!(
                f,
                "the last line of the ledger {} (byte {offset}) is incomplete; its {bytes} bytes were dropped",
                path.display()
            ),
            Self::UnendedLine { path, offset } => write!(
                f,
                "the last line of the ledger {} (byte {offset}) has no line end; it is a whole event and was kept",
                path.display()
            ),
        }
    }
}

/// The last `seq` of every session.
#[derive(Clone, Debug, Default)]
struct Sequences(BTreeMap<SessionId, u64>);

impl Sequences {
    fn last(&self, session: &SessionId) -> u64 {
        self.0.get(session).copied().unwrap_or(0)
    }

    fn advance(&mut self, event: &LedgerEvent) -> Result<(), SequenceError> {
        let expected = self.last(&event.session).saturating_add(1);
        if event.seq != expected {
            return Err(SequenceError { session: event.session.clone(), expected, found: event.seq });
        }
        match self.0.get_mut(&event.session) {
            Some(last) => *last = expected,
            None => {
                self.0.insert(event.session.clone(), expected);
            }
        }
        Ok(())
    }

    /// Takes in all of `events` or none.
    fn advance_all(&mut self, events: &[LedgerEvent]) -> Result<(), SequenceError> {
        // The events of one ledger are of one session, so undoing is one entry at most in practice.
        let mut before: Vec<(SessionId, u64)> = Vec::new();
        for event in events {
            if before.last().is_none_or(|(session, _)| *session != event.session) {
                before.push((event.session.clone(), self.last(&event.session)));
            }
            if let Err(error) = self.advance(event) {
                for (session, last) in before.into_iter().rev() {
                    match last {
                        0 => self.0.remove(&session),
                        last => self.0.insert(session, last),
                    };
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

/// What is wrong with the version of an event, if anything.
fn version_problem(version: u32) -> Option<String> {
    match version {
        1..=FORMAT_VERSION => None,
        0 => Some("version 0 of the format never existed".to_owned()),
        newer => Some(format!(
            "it is in version {newer} of the format, and this isolane reads up to version {FORMAT_VERSION}; use a newer one"
        )),
    }
}
