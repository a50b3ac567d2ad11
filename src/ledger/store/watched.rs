//! A store in memory that is watched, for tests.
//!
//! Owns the one wrapper around [`MemoryStore`] that lets a test see, hold up or refuse every append before it is
//! done. It never changes what is kept. It calls the store in memory.

use std::fmt;

use super::{LedgerStore, MemoryStore, StoreError};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;

/// Calls `before` with what is about to be kept, where it is about to be kept.
pub(crate) struct WatchedStore<F> {
    kept: MemoryStore,
    before: F,
    threaded: bool,
}

impl<F: FnMut(&[LedgerEvent]) -> Result<(), StoreError> + Send> WatchedStore<F> {
    /// Keeps in `kept`; events are appended where they are recorded.
    pub(crate) fn new(kept: MemoryStore, before: F) -> Self {
        Self { kept, before, threaded: false }
    }

    /// Has a thread to append on, so that `before` may wait.
    pub(crate) fn threaded(self) -> Self {
        Self { threaded: true, ..self }
    }
}

impl<F: FnMut(&[LedgerEvent]) -> Result<(), StoreError> + Send> LedgerStore for WatchedStore<F> {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        (self.before)(events)?;
        self.kept.append(events)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.kept.sync()
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        self.kept.last_seq(session)
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read(session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.kept.read_all()
    }

    fn wants_thread(&self) -> bool {
        self.threaded
    }
}

impl<F> fmt::Debug for WatchedStore<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedStore").field("threaded", &self.threaded).finish_non_exhaustive()
    }
}
