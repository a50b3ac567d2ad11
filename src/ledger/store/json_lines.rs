//! Events in a file, one a line (L-7).
//!
//! Owns the file, its lock and the point from which it is whole. It only ever appends; the one thing that it cuts
//! off is a last line that breaks off. It hands reading to [`super::reader`].

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{EventReader, LedgerStore, Sequences, StoreError, StoreWarning};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;

/// When appended events are made to survive a loss of power. A mere end of the process loses nothing that was
/// appended, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsyncPolicy {
    /// With every append.
    Always,
    /// This long after an append at the latest.
    Interval(Duration),
    /// When the operating system likes.
    Never,
}

/// A JSON Lines file (L-7): one event a line, appended with one write per batch.
///
/// The file is created readable by its owner alone, and locked against other writers until the store is dropped.
#[derive(Debug)]
pub struct JsonLinesStore {
    file: File,
    path: PathBuf,
    policy: FsyncPolicy,
    sequences: Sequences,
    warnings: Vec<StoreWarning>,
    /// Bytes up to the end of the last whole line.
    len: u64,
    buffer: Vec<u8>,
    unsynced: bool,
    refused: bool,
}

/// A batch's buffer is kept for the next one up to this size.
const KEPT_BUFFER: usize = 1024 * 1024;

impl JsonLinesStore {
    /// Opens or creates the file and reads it through.
    ///
    /// A last line without an end is told of in [`JsonLinesStore::warnings`]: a whole event is given its end, a part
    /// of one is cut off.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another writer has it, [`StoreError::NotAFile`] for directories and pipes,
    /// [`StoreError::Malformed`] and [`StoreError::OutOfOrder`] for any other damage (nothing is changed then), and
    /// [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, policy: FsyncPolicy) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let failed = |action| {
            let path = path.clone();
            move |source| StoreError::Io { action, path, source }
        };
        // A pipe would block in `open`; ask first what it is.
        let is_new = match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => false,
            Ok(_) => return Err(StoreError::NotAFile { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(failed("read")(error)),
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::Locked { path }),
            Err(error) => return Err(failed("lock")(error.into())),
        }
        let mut reader = EventReader::new(file.try_clone().map_err(failed("open"))?, path.clone());
        for event in &mut reader {
            event?;
        }
        let (mut len, sequences, warnings) = reader.into_state();
        for warning in &warnings {
            match warning {
                StoreWarning::TornLine { .. } => file.set_len(len).map_err(failed("repair"))?,
                StoreWarning::UnendedLine { .. } => {
                    (&file).write_all(b"\n").map_err(failed("repair"))?;
                    len = len.saturating_add(1);
                }
            }
        }
        if policy != FsyncPolicy::Never {
            file.sync_data().map_err(failed("sync"))?;
            if is_new {
                sync_directory(&path).map_err(failed("sync"))?;
            }
        }
        Ok(Self {
            file,
            path,
            policy,
            sequences,
            warnings,
            len,
            buffer: Vec::new(),
            unsynced: false,
            refused: false,
        })
    }

    /// What was put right when the file was opened.
    pub fn warnings(&self) -> &[StoreWarning] {
        &self.warnings
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, events: &[LedgerEvent]) -> io::Result<()> {
        self.buffer.clear();
        for event in events {
            serde_json::to_writer(&mut self.buffer, event)?;
            self.buffer.push(b'\n');
        }
        self.file.write_all(&self.buffer)?;
        self.len = self.len.saturating_add(u64::try_from(self.buffer.len()).unwrap_or(u64::MAX));
        if self.buffer.capacity() > KEPT_BUFFER {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    fn sync_now(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|source| {
            // What a failed sync has lost cannot be known, and a second try may wrongly succeed.
            self.refused = true;
            StoreError::Io { action: "sync", path: self.path.clone(), source }
        })?;
        self.unsynced = false;
        Ok(())
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.refused { Err(StoreError::Refused { path: self.path.clone() }) } else { Ok(()) }
    }

    fn read_where(&mut self, wanted: impl Fn(&LedgerEvent) -> bool) -> Result<Vec<LedgerEvent>, StoreError> {
        self.check()?;
        let failed = |source| StoreError::Io { action: "read", path: self.path.clone(), source };
        // The clone shares its position with the file, which appends at the end wherever that is.
        let mut file = self.file.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        EventReader::new(file, self.path.clone())
            .filter(|event| event.as_ref().map_or(true, &wanted))
            .collect()
    }
}

impl LedgerStore for JsonLinesStore {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        self.check()?;
        self.sequences.advance_all(events)?;
        if let Err(source) = self.write(events) {
            self.refused = true;
            // Leaves the file whole if it can be; if not, the next to open it cuts off the torn line.
            let _ = self.file.set_len(self.len);
            return Err(StoreError::Io { action: "append to", path: self.path.clone(), source });
        }
        self.unsynced = true;
        match self.policy {
            FsyncPolicy::Always => self.sync_now(),
            FsyncPolicy::Interval(_) | FsyncPolicy::Never => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check()?;
        if self.unsynced && self.policy != FsyncPolicy::Never { self.sync_now() } else { Ok(()) }
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.sequences.last(session))
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.read_where(|event| event.session == *session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.read_where(|_| true)
    }

    fn sync_interval(&self) -> Option<Duration> {
        match self.policy {
            FsyncPolicy::Interval(interval) => Some(interval),
            FsyncPolicy::Always | FsyncPolicy::Never => None,
        }
    }
}

/// A new file's name survives a loss of power only once its directory does.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::event;

    /// L-8
    #[test]
    fn a_write_that_fails_is_the_last_and_leaves_a_file_that_opens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut store = JsonLinesStore::open(&path, FsyncPolicy::Always).unwrap();
        store.append(&[event("s", 1)]).unwrap();
        // A handle that cannot write stands for a disk that does not.
        let writable = std::mem::replace(&mut store.file, File::open(&path).unwrap());
        let error = store.append(&[event("s", 2)]).unwrap_err().to_string();
        let shown = path.display();
        assert_eq!(error, format!("cannot append to the ledger {shown}: Bad file descriptor (os error 9)"));
        store.file = writable;
        let refused = format!("the ledger {shown} refuses work after an earlier failure; open it again");
        assert_eq!(store.append(&[event("s", 2)]).unwrap_err().to_string(), refused);
        assert_eq!(store.sync().unwrap_err().to_string(), refused);
        assert_eq!(store.read_all().unwrap_err().to_string(), refused);
        drop(store);
        let mut store = JsonLinesStore::open(&path, FsyncPolicy::Always).unwrap();
        store.append(&[event("s", 2)]).unwrap();
        assert_eq!(store.read_all().unwrap(), [event("s", 1), event("s", 2)]);
    }
}
