//! The handle of a session's ledger.
//!
//! Owns the life of a ledger: opening it on a store, reserving, flushing, its health, and its end. It never writes an
//! event itself. It hands events to [`super::queue`] through [`Slot`]s.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::event::LedgerEvent;
use super::queue::{Queue, Request};
use super::redact::Redactor;
use super::slot::Slot;
use super::store::{LedgerStore, MemoryStore, StoreError};
use super::writer;
use crate::clock::Clock;
use crate::ids::SessionId;
use crate::limits::RunLimits;

/// How a ledger works.
#[derive(Clone, Debug)]
pub struct LedgerOptions {
    /// Events that may be pending; a recorder waits for a slot beyond that (L-4). Default 10, as many as sub-calls
    /// run in parallel; 0 counts as 1. No effect on stores without a thread.
    pub backlog: usize,
    /// What every event passes before it is written, in this order (L-11). Default none.
    pub redactors: Vec<Arc<dyn Redactor>>,
}

impl Default for LedgerOptions {
    fn default() -> Self {
        Self { backlog: RunLimits::default().max_parallel_sub_calls, redactors: Vec::new() }
    }
}

/// Why a ledger does not record. The first failure stays; the ledger refuses further work after it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The store failed.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The ledger's thread could not be started.
    #[error("cannot start the ledger's thread: {0}")]
    Thread(Arc<io::Error>),
    /// A store or a redactor panicked: a bug of the host.
    #[error("a store or redactor of the ledger panicked; nothing is recorded from here on")]
    Panicked,
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl LedgerError {
    /// Runs code of a store or a redactor, which may panic.
    pub(super) fn guard<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, Self> {
        // Nothing that the work has touched is used after a panic.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => result.map_err(Self::from),
            Err(_) => Err(Self::Panicked),
        }
    }
}

/// The ledger of one session. Clones share it.
///
/// When the last clone (and the last [`Slot`]) is dropped, what is queued is written and synced before the drop
/// returns; [`Ledger::flush`] first to keep that wait out of asynchronous code.
#[derive(Clone, Debug)]
pub struct Ledger {
    handle: Arc<Handle>,
}

/// Finds the ledger of a session that is open.
pub trait SessionLedgers: Send + Sync + fmt::Debug {
    /// The ledger; nothing for a session that is not open, of which nothing is recorded then.
    fn ledger(&self, session: &SessionId) -> Option<Ledger>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Disabled,
    Inline,
    Threaded,
}

pub(super) struct Handle {
    pub(super) mode: Mode,
    pub(super) queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Ledger {
    /// Opens the ledger of `session` on `store` and goes on with the `seq` that the store has reached.
    ///
    /// # Errors
    /// Whatever the store says when it is asked for the session's last `seq`, and [`LedgerError::Thread`].
    pub fn new(
        session: SessionId,
        clock: Arc<dyn Clock>,
        mut store: Box<dyn LedgerStore>,
        options: LedgerOptions,
    ) -> Result<Self, LedgerError> {
        let last_seq = store.last_seq(&session)?;
        let LedgerOptions { backlog, redactors } = options;
        if !store.wants_thread() {
            let queue = Queue::new(session, clock, redactors, backlog, last_seq, Some(store));
            return Ok(Self::assemble(Mode::Inline, Arc::new(queue), None));
        }
        let queue = Arc::new(Queue::new(session, clock, redactors, backlog, last_seq, None));
        let shared = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("isolane-ledger".to_owned())
            .spawn(move || writer::run(&shared, store))
            .map_err(|error| LedgerError::Thread(Arc::new(error)))?;
        Ok(Self::assemble(Mode::Threaded, queue, Some(thread)))
    }

    /// A ledger that keeps nothing and costs next to nothing.
    pub fn disabled(session: SessionId, clock: Arc<dyn Clock>) -> Self {
        let queue = Queue::new(session, clock, Vec::new(), 1, 0, None);
        Self::assemble(Mode::Disabled, Arc::new(queue), None)
    }

    /// A ledger in memory with default options, and the store to read its events from.
    pub fn in_memory(session: SessionId, clock: Arc<dyn Clock>) -> (Self, MemoryStore) {
        let store = MemoryStore::new();
        let inline: Box<dyn LedgerStore> = Box::new(store.clone());
        let queue = Queue::new(session, clock, Vec::new(), 1, 0, Some(inline));
        (Self::assemble(Mode::Inline, Arc::new(queue), None), store)
    }

    fn assemble(mode: Mode, queue: Arc<Queue>, thread: Option<JoinHandle<()>>) -> Self {
        Self { handle: Arc::new(Handle { mode, queue, thread: Mutex::new(thread) }) }
    }

    /// The session whose events these are.
    pub fn session(&self) -> &SessionId {
        &self.handle.queue.session
    }

    /// Whether recording keeps anything: false for a disabled ledger and after a failure.
    pub fn is_enabled(&self) -> bool {
        self.handle.mode != Mode::Disabled && !self.handle.queue.has_failed()
    }

    /// The `seq` that the session has reached, in the store or on the way to it; 0 without events, and always for a
    /// disabled ledger.
    pub fn last_seq(&self) -> u64 {
        self.handle.queue.lock().last_seq()
    }

    /// Sets the turn that further events belong to; nothing outside turns.
    pub fn set_turn(&self, turn: Option<u64>) {
        self.handle.queue.lock().turn = turn;
    }

    /// The turn that further events belong to; nothing outside turns.
    pub fn turn(&self) -> Option<u64> {
        self.handle.queue.lock().turn
    }

    /// A slot for one event; waits while as many events as the backlog allows are pending (L-4).
    ///
    /// Slots that are held count as pending. After a failure it never waits.
    pub async fn reserve(&self) -> Slot {
        if self.handle.mode == Mode::Threaded
            && let Ok(permit) = self.handle.queue.slots.acquire().await
        {
            permit.forget();
        }
        self.slot(self.handle.mode == Mode::Threaded)
    }

    /// A slot for one event, if there is one without waiting.
    pub fn try_reserve(&self) -> Option<Slot> {
        if self.handle.mode == Mode::Threaded {
            self.handle.queue.slots.try_acquire().ok()?.forget();
        }
        Some(self.slot(self.handle.mode == Mode::Threaded))
    }

    /// A slot for the event that ends what another event began, where nobody can wait: beyond the backlog if it is
    /// full. The other event had to wait for its own slot, so what is pending is bounded by what has begun.
    pub(crate) fn reserve_now(&self) -> Slot {
        self.try_reserve().unwrap_or_else(|| self.slot(false))
    }

    fn slot(&self, permit: bool) -> Slot {
        Slot::new((self.handle.mode != Mode::Disabled).then(|| Arc::clone(&self.handle)), permit)
    }

    /// Waits until everything recorded before is in the store, and synced as far as its policy wants.
    ///
    /// # Errors
    /// The failure that has stopped the ledger, now or earlier.
    pub async fn flush(&self) -> Result<(), LedgerError> {
        match self.handle.mode {
            Mode::Disabled => Ok(()),
            Mode::Inline => self.with_inline(|store| store.sync()).inspect_err(|error| {
                let queue = &self.handle.queue;
                queue.set_failure(&mut queue.lock(), error.clone());
            }),
            Mode::Threaded => self.ask(Request::Flush).await,
        }
    }

    /// Waits until the event `seq` is in the store, synced or not: the end of the process can no longer lose it.
    ///
    /// # Errors
    /// The failure that has stopped the ledger, unless the event was in the store before.
    pub async fn written(&self, seq: u64) -> Result<(), LedgerError> {
        if self.handle.mode == Mode::Threaded && self.handle.queue.lock().written < seq {
            return self.ask(Request::Written).await;
        }
        Ok(())
    }

    /// Reads the session's events back, everything recorded before included; none for a disabled ledger.
    ///
    /// # Errors
    /// The failure that has stopped the ledger, or one of reading, which does not stop it.
    pub async fn events(&self) -> Result<Vec<LedgerEvent>, LedgerError> {
        match self.handle.mode {
            Mode::Disabled => Ok(Vec::new()),
            Mode::Inline => self.with_inline(|store| store.read(self.session())),
            Mode::Threaded => self.ask(Request::Read).await,
        }
    }

    /// The failure that has stopped the ledger; nothing while it records.
    pub fn health(&self) -> Option<LedgerError> {
        self.handle.queue.lock().failure.clone()
    }

    /// Events that were lost to a failure: recorded after it, or queued when it came. Of a batch that failed all are
    /// counted, though a leading part may have been kept.
    pub fn dropped(&self) -> u64 {
        self.handle.queue.lock().dropped
    }

    fn with_inline<T: Default>(
        &self,
        work: impl FnOnce(&mut dyn LedgerStore) -> Result<T, StoreError>,
    ) -> Result<T, LedgerError> {
        let mut guard = self.handle.queue.lock();
        let state = &mut *guard;
        match (&state.failure, &mut state.inline) {
            (Some(failure), _) => Err(failure.clone()),
            (None, None) => Ok(T::default()),
            (None, Some(store)) => LedgerError::guard(|| work(&mut **store)),
        }
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, LedgerError>>) -> Request,
    ) -> Result<T, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.handle.queue.ask(request(reply));
        // The writer answers everything unless it is torn down by a panic.
        answer.await.unwrap_or(Err(LedgerError::Panicked))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        self.queue.close();
        // A redactor that owns the ledger it works for would have the thread wait for itself.
        if thread.thread().id() != std::thread::current().id() {
            // A panic of the thread has been turned into the ledger's failure.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("session", &self.queue.session)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
