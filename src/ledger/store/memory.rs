//! Events in memory.
//!
//! Owns a list that its handles share. It never outlives the process. It calls nobody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{LedgerStore, Sequences, StoreError};
use crate::ids::SessionId;
use crate::ledger::event::LedgerEvent;

/// A store in memory, for tests and for hosts that keep no history. Clones share the events.
///
/// Events are appended where they are recorded; there is no thread and no waiting.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<LedgerEvent>,
    sequences: Sequences,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of every event so far, in the order of writing.
    pub fn events(&self) -> Vec<LedgerEvent> {
        self.lock().events.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerStore for MemoryStore {
    fn append(&mut self, events: &[LedgerEvent]) -> Result<(), StoreError> {
        let mut kept = self.lock();
        kept.sequences.advance_all(events)?;
        kept.events.extend_from_slice(events);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn last_seq(&mut self, session: &SessionId) -> Result<u64, StoreError> {
        Ok(self.lock().sequences.last(session))
    }

    fn read(&mut self, session: &SessionId) -> Result<Vec<LedgerEvent>, StoreError> {
        Ok(self.lock().events.iter().filter(|event| event.session == *session).cloned().collect())
    }

    fn read_all(&mut self) -> Result<Vec<LedgerEvent>, StoreError> {
        Ok(self.events())
    }

    fn wants_thread(&self) -> bool {
        false
    }
}
