//! What programs keep between the runs of a session: `state` (CM-11).
//!
//! Owns the values, their quota in bytes, and when the writes of a run become permanent. It never runs a program and
//! knows no engine. It puts `state/put` events into the ledger.
//!
//! A run reads what is kept and writes into its own [`StateDraft`]. Nobody else sees a write before it is
//! committed: by the run's success, or by the program itself.

mod outputs;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::CallId;
use crate::ledger::{EventBody, Ledger, LedgerEvent, StatePut};

use outputs::Outputs;

/// What each key costs beside the bytes of its name and its value, so that many small ones count.
const KEY_COST: usize = 32;

/// Why a write was refused. The texts are for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StateError {
    /// It does not fit.
    #[error(
        "state would take {bytes} bytes, and a session may keep {limit}; keep less, or delete keys that are not \
         needed any more (each key costs {KEY_COST} bytes beside its name and its value as JSON)"
    )]
    Full {
        /// What state would take.
        bytes: usize,
        /// The quota.
        limit: usize,
    },
    /// The value is not JSON; the runtime JavaScript never lets that happen.
    #[error("the value is not JSON that can be read: {0}")]
    NotJson(String),
    /// The key is one of those under which outputs are kept.
    #[error(
        "keys that begin with \"output:\" hold what earlier programs gave; they can be read, and not written or deleted"
    )]
    Output,
    /// The run is over.
    #[error("the run is over; nothing can be kept any more")]
    Closed,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Arc<Value>,
    /// With the key's own cost.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    values: BTreeMap<String, Entry>,
    bytes: usize,
    /// Beside the quota, with limits of their own.
    outputs: Outputs,
    /// Committed, but not in the ledger yet; by key, so that a program that commits in a loop takes no memory.
    unrecorded: BTreeMap<String, Change>,
}

#[derive(Debug)]
struct Change {
    call: CallId,
    run: Option<u64>,
    /// Nothing when the key was deleted.
    value: Option<Arc<Value>>,
}

/// The values of one session. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct SessionState {
    kept: Arc<Mutex<Kept>>,
}

impl SessionState {
    /// The values that the events of a session lead to.
    pub fn restored<'a>(events: impl IntoIterator<Item = &'a LedgerEvent>) -> Self {
        let state = Self::default();
        let mut kept = state.lock();
        for event in events {
            if let EventBody::StatePut(StatePut { key, value, .. }) = &event.body {
                if outputs::is_output(key) {
                    kept.outputs.restore(key, value.as_ref());
                    continue;
                }
                let entry = value.as_ref().map(|value| Entry {
                    bytes: cost(key, value.to_string().len()),
                    value: Arc::clone(value),
                });
                kept.apply(key.clone(), entry);
            }
        }
        drop(kept);
        state
    }

    /// The value of a key now; absent when it has none.
    pub fn get(&self, key: &str) -> Option<Arc<Value>> {
        let kept = self.lock();
        if outputs::is_output(key) {
            return kept.outputs.get(key);
        }
        kept.values.get(key).map(|entry| Arc::clone(&entry.value))
    }

    /// Keeps what the program of `call` gave and nobody is shown whole, for programs of the session to read; its key
    /// (CM-28). It does not count towards the quota: the eight newest are kept, up to 16 MiB. [`keys`](Self::keys) does
    /// not name it.
    pub async fn keep_output(&self, value: Value, call: &CallId, ledger: &Ledger) -> String {
        let value = Arc::new(value);
        let bytes = value.to_string().len();
        let (key, gone) = self.lock().outputs.keep(Arc::clone(&value), bytes);
        let changes = gone.into_iter().map(|key| (key, None)).chain([(key.clone(), Some(value))]);
        for (key, value) in changes {
            let put = || StatePut { call: Some(call.clone()), key, value };
            ledger.reserve().await.record_with(put, None);
        }
        key
    }

    /// The keys that have a value, sorted by their bytes.
    pub fn keys(&self) -> Vec<String> {
        self.lock().values.keys().cloned().collect()
    }

    /// What is kept, in bytes as the quota counts them.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// A draft for one run of `call`, which writes to `ledger`; `run` is the `seq` of its `run/start`.
    pub(super) fn draft(&self, limit: usize, call: CallId, ledger: Ledger, run: Option<u64>) -> StateDraft {
        StateDraft { state: self.clone(), limit, call, ledger, run, session: None, draft: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn apply(&mut self, key: String, entry: Option<Entry>) {
        let added = entry.as_ref().map_or(0, |entry| entry.bytes);
        let old = match entry {
            Some(entry) => self.values.insert(key, entry),
            None => self.values.remove(&key),
        };
        self.bytes = self.bytes.saturating_add(added).saturating_sub(old.map_or(0, |old| old.bytes));
    }

    fn bytes_of(&self, key: &str) -> usize {
        self.values.get(key).map_or(0, |entry| entry.bytes)
    }
}

#[derive(Debug, Default)]
struct Draft {
    closed: bool,
    /// Writes that are not committed; nothing for a deleted key.
    changes: BTreeMap<String, Option<Entry>>,
    /// What the changes take.
    bytes: usize,
    /// What the keys of the changes took before. A run beside this one may change it; a commit counts anew.
    replaced: usize,
    /// What the run had committed before it was interrupted, and commits again.
    again: Vec<StatePut>,
}

impl Draft {
    /// Why a key cannot be written or deleted now.
    fn writable(&self, key: &str) -> Result<(), StateError> {
        if self.closed {
            return Err(StateError::Closed);
        }
        if outputs::is_output(key) { Err(StateError::Output) } else { Ok(()) }
    }

    /// What a key takes as the run sees it.
    fn bytes_of(&self, key: &str, kept: &Kept) -> usize {
        match self.changes.get(key) {
            Some(change) => change.as_ref().map_or(0, |entry| entry.bytes),
            None => kept.bytes_of(key),
        }
    }

    /// Whether this is in the ledger already; it is so once only.
    fn is_again(&mut self, key: &str, value: Option<&Arc<Value>>) -> bool {
        let found = self.again.iter().position(|put| put.key == key && put.value.as_ref() == value);
        found.map(|at| self.again.swap_remove(at)).is_some()
    }

    fn set(&mut self, key: String, entry: Option<Entry>, kept: &Kept) {
        if !self.changes.contains_key(&key) {
            self.replaced = self.replaced.saturating_add(kept.bytes_of(&key));
        }
        self.bytes = self.bytes.saturating_add(entry.as_ref().map_or(0, |entry| entry.bytes));
        if let Some(Some(old)) = self.changes.insert(key, entry) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
    }
}

/// One run's view of a session's state. Cloning shares it.
#[derive(Clone)]
pub struct StateDraft {
    state: SessionState,
    limit: usize,
    call: CallId,
    ledger: Ledger,
    run: Option<u64>,
    /// Where commits go besides; absent when `state` is the session's own.
    session: Option<SessionState>,
    draft: Arc<Mutex<Draft>>,
}

impl StateDraft {
    /// For a run that goes on: what it reads is what was kept when it started, and what it commits, `session` keeps, but
    /// for what it had committed before (`again`).
    pub(super) fn for_session(mut self, session: SessionState, again: Vec<StatePut>) -> Self {
        self.session = Some(session);
        self.lock().again = again;
        self
    }

    /// The value of a key as the program left it; absent when it has none.
    pub fn get(&self, key: &str) -> Option<Arc<Value>> {
        match self.lock().changes.get(key) {
            Some(change) => change.as_ref().map(|entry| Arc::clone(&entry.value)),
            None => self.state.get(key),
        }
    }

    /// Gives a key a value, as JSON text.
    ///
    /// # Errors
    /// [`StateError::Full`] when it does not fit, and [`StateError::Output`]; nothing is changed then.
    pub fn set(&self, key: &str, json: &str) -> Result<(), StateError> {
        let value = serde_json::from_str(json).map_err(|error| StateError::NotJson(error.to_string()))?;
        let entry = Entry { value: Arc::new(value), bytes: cost(key, json.len()) };
        let mut draft = self.lock();
        draft.writable(key)?;
        let kept = self.state.lock();
        let before = draft.bytes_of(key, &kept);
        let bytes = (kept.bytes + draft.bytes + entry.bytes).saturating_sub(draft.replaced + before);
        // What another run has made too large can still be made smaller.
        if bytes > self.limit && entry.bytes > before {
            return Err(StateError::Full { bytes, limit: self.limit });
        }
        draft.set(key.to_owned(), Some(entry), &kept);
        Ok(())
    }

    /// Takes a key's value away; false when it has none.
    ///
    /// # Errors
    /// [`StateError::Closed`] and [`StateError::Output`].
    pub fn delete(&self, key: &str) -> Result<bool, StateError> {
        let mut draft = self.lock();
        draft.writable(key)?;
        let kept = self.state.lock();
        // A value is never free: its key has a cost.
        let has = draft.bytes_of(key, &kept) > 0;
        if has {
            draft.set(key.to_owned(), None, &kept);
        }
        Ok(has)
    }

    /// The keys that have a value, sorted by their bytes.
    pub fn keys(&self) -> Vec<String> {
        let draft = self.lock();
        let kept = self.state.lock();
        let untouched = kept.values.keys().filter(|key| !draft.changes.contains_key(*key));
        let changed = draft.changes.iter().filter(|(_, change)| change.is_some()).map(|(key, _)| key);
        let mut keys: Vec<_> = untouched.chain(changed).cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// Makes the writes so far permanent, whatever becomes of the run. They reach the ledger with
    /// [`StateDraft::record`].
    ///
    /// # Errors
    /// [`StateError::Full`] when another run of the session has taken the room meanwhile; nothing is changed then.
    pub fn commit(&self) -> Result<(), StateError> {
        let mut draft = self.lock();
        if draft.closed {
            return Err(StateError::Closed);
        }
        let mut kept = self.state.lock();
        let replaced: usize = draft.changes.keys().map(|key| kept.bytes_of(key)).sum();
        let bytes = kept.bytes.saturating_sub(replaced) + draft.bytes;
        if bytes > self.limit && draft.bytes > replaced {
            return Err(StateError::Full { bytes, limit: self.limit });
        }
        let changes = std::mem::take(&mut draft.changes);
        (draft.bytes, draft.replaced) = (0, 0);
        for (key, entry) in changes {
            let value = entry.as_ref().map(|entry| Arc::clone(&entry.value));
            if !draft.is_again(&key, value.as_ref()) {
                if let Some(session) = &self.session {
                    session.lock().apply(key.clone(), entry.clone());
                }
                let change = Change { call: self.call.clone(), run: self.run, value };
                kept.unrecorded.insert(key.clone(), change);
            }
            kept.apply(key, entry);
        }
        Ok(())
    }

    /// Whether commits wait to be recorded.
    pub fn has_unrecorded(&self) -> bool {
        !self.state.lock().unrecorded.is_empty()
    }

    /// Puts what was committed into the ledger; waits while it is full (L-4). Dropping the wait loses nothing.
    pub async fn record(&self) {
        while self.has_unrecorded() {
            let slot = self.ledger.reserve().await;
            // Recorded under the lock, so that events of one key come in the order of its commits.
            let mut kept = self.state.lock();
            let Some((key, Change { call, run, value })) = kept.unrecorded.pop_first() else { return };
            slot.record_with(|| StatePut { call: Some(call), key, value }, run);
        }
    }

    /// Ends the writing: an isolate whose thread was given up keeps nothing any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StateDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateDraft")
            .field("call", &self.call)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

fn cost(key: &str, json: usize) -> usize {
    key.len() + json + KEY_COST
}

#[cfg(test)]
mod tests;
