//! One store for several ledgers.
//!
//! Owns the lock by which the sessions of one host take turns at one file. It never keeps anything itself; all work
//! is the wrapped store's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{LedgerStore, StoreError};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;

/// A store that several ledgers write to, each for its own session. Clones share it.
///
/// A failure that one ledger meets is met by the others with their next event.
#[derive(Clone, Debug)]
pub struct SharedStore {
    inner: Arc<Mutex<Box<dyn LedgerStore>>>,
    wants_thread: bool,
    sync_interval: Option<Duration>,
}

impl SharedStore {
    /// Shares `store`.
    pub fn new(store: Box<dyn LedgerStore>) -> Self {
        let (wants_thread, sync_interval) = (store.wants_thread(), store.sync_interval());
        Self { inner: Arc::new(Mutex::new(store)), wants_thread, sync_interval }
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn LedgerStore>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerStore for SharedStore {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        self.lock().append(events)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.lock().sync()
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        self.lock().last_seq(session)
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        self.lock().read(session)
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        self.lock().read_all()
    }

    fn wants_thread(&self) -> bool {
        self.wants_thread
    }

    fn sync_interval(&self) -> Option<Duration> {
        self.sync_interval
    }
}
