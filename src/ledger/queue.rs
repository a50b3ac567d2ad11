//! What the handles of a ledger and its writer share.
//!
//! Owns the one lock under which an event gets its `seq` and its place in the queue (L-1), the slots that bound the
//! queue (L-4), and the first failure. It never touches a store that has a thread. It hands events to
//! [`super::writer`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};

use super::depth;
use super::event::{EventBody, FORMAT_VERSION, LedgerEvent};
use super::handle::LedgerError;
use super::redact::Redactor;
use super::store::LedgerStore;
use super::writer::prepare;
use crate::clock::Clock;
use crate::ids::SessionId;

type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// Something asked of the writer. It is answered after all that was queued before it.
#[derive(Debug)]
pub(super) enum Request {
    /// Tell when everything is in the store.
    Written(Reply<()>),
    /// The same, and synced.
    Flush(Reply<()>),
    /// Read the session's events back.
    Read(Reply<Vec<LedgerEvent>>),
}

impl Request {
    pub(super) fn refuse(self, error: LedgerError) {
        // Whoever asked may have gone.
        let _ = match self {
            Self::Written(reply) | Self::Flush(reply) => reply.send(Err(error)).is_ok(),
            Self::Read(reply) => reply.send(Err(error)).is_ok(),
        };
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) session: SessionId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) redactors: Vec<Arc<dyn Redactor>>,
    /// One permit for each event that may be pending. A reserved slot has forgotten its permit; the writer adds it
    /// back once the event is in the store. An event that nobody could wait for has none.
    pub(super) slots: Semaphore,
    /// Set with [`State::failure`]; saves recorders the building of events that nobody will keep.
    failed: AtomicBool,
    state: Mutex<State>,
    pub(super) work: Condvar,
}

#[derive(Debug)]
pub(super) struct State {
    next_seq: u64,
    pub(super) turn: Option<u64>,
    pub(super) failure: Option<LedgerError>,
    pub(super) dropped: u64,
    /// Events for the writer, in order of `seq`.
    pub(super) events: Vec<LedgerEvent>,
    pub(super) requests: Vec<Request>,
    /// Permits that go with these events: one each, but for those that were recorded beyond the backlog.
    pub(super) permits: usize,
    /// Events that the writer has taken and not yet written.
    pub(super) in_flight: usize,
    /// Their permits.
    pub(super) in_flight_permits: usize,
    /// The last `seq` in the store.
    pub(super) written: u64,
    /// Whether the writer waits for a notice.
    pub(super) idle: bool,
    /// Whether the last handle is gone.
    pub(super) closed: bool,
    /// The store, if it has no thread.
    pub(super) inline: Option<Box<dyn LedgerStore>>,
}

impl State {
    pub(super) fn last_seq(&self) -> u64 {
        self.next_seq.saturating_sub(1)
    }
}

impl Queue {
    pub(super) fn new(
        session: SessionId,
        clock: Arc<dyn Clock>,
        redactors: Vec<Arc<dyn Redactor>>,
        backlog: usize,
        last_seq: u64,
        inline: Option<Box<dyn LedgerStore>>,
    ) -> Self {
        Self {
            session,
            clock,
            redactors,
            slots: Semaphore::new(backlog.clamp(1, Semaphore::MAX_PERMITS)),
            failed: AtomicBool::new(false),
            state: Mutex::new(State {
                next_seq: last_seq.saturating_add(1),
                turn: None,
                failure: None,
                dropped: 0,
                events: Vec::new(),
                requests: Vec::new(),
                permits: 0,
                in_flight: 0,
                in_flight_permits: 0,
                written: last_seq,
                idle: false,
                closed: false,
                inline,
            }),
            work: Condvar::new(),
        }
    }

    /// The state is whole between statements, so a panic elsewhere does not spoil it.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Queues an event for the writer. Nothing: the ledger has failed, and the slot is the caller's to give back.
    ///
    /// `permit`: whether a permit goes with the event.
    pub(super) fn push(&self, body: EventBody, source_seqs: Vec<u64>, permit: bool) -> Option<u64> {
        let mut state = self.lock();
        if state.failure.is_some() {
            state.dropped += 1;
            drop(state);
            discard(body);
            return None;
        }
        let event = self.event(state.next_seq, state.turn, body, source_seqs);
        let seq = event.seq;
        state.events.push(event);
        state.permits += usize::from(permit);
        state.next_seq = state.next_seq.saturating_add(1);
        self.notify(state);
        Some(seq)
    }

    /// Writes an event to a store that has no thread.
    pub(super) fn write_inline(&self, body: EventBody, source_seqs: Vec<u64>) -> Option<u64> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let (None, Some(store)) = (&state.failure, &mut state.inline) else {
            state.dropped += 1;
            drop(guard);
            discard(body);
            return None;
        };
        let mut event = self.event(state.next_seq, state.turn, body, source_seqs);
        let written = LedgerError::guard(|| {
            prepare(&self.redactors, &mut event.body);
            store.append(std::slice::from_ref(&event))
        });
        match written {
            Ok(()) => {
                state.written = event.seq;
                state.next_seq = event.seq.saturating_add(1);
                Some(event.seq)
            }
            Err(error) => {
                state.dropped += 1;
                self.set_failure(state, error);
                drop(guard);
                discard(event.body);
                None
            }
        }
    }

    /// Asks something of the writer, or gives the failure back.
    pub(super) fn ask(&self, request: Request) {
        let mut state = self.lock();
        if let Some(failure) = state.failure.clone() {
            drop(state);
            request.refuse(failure);
            return;
        }
        state.requests.push(request);
        self.notify(state);
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.notify(state);
    }

    pub(super) fn count_dropped(&self) {
        self.lock().dropped += 1;
    }

    /// Keeps the first failure, drops what is queued and gives every slot back: nobody waits for a dead store.
    pub(super) fn fail(&self, error: &LedgerError) {
        let mut state = self.lock();
        self.set_failure(&mut state, error.clone());
        let events = std::mem::take(&mut state.events);
        let requests = std::mem::take(&mut state.requests);
        let lost = events.len() + std::mem::take(&mut state.in_flight);
        let permits = std::mem::take(&mut state.permits) + std::mem::take(&mut state.in_flight_permits);
        state.dropped += u64::try_from(lost).unwrap_or(u64::MAX);
        drop(state);
        self.slots.add_permits(permits);
        for request in requests {
            request.refuse(error.clone());
        }
        for event in events {
            discard(event.body);
        }
    }

    pub(super) fn set_failure(&self, state: &mut State, error: LedgerError) {
        if state.failure.is_none() {
            tracing::error!(session = %self.session, %error, "the ledger stops recording");
            state.failure = Some(error);
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    fn event(&self, seq: u64, turn: Option<u64>, body: EventBody, source_seqs: Vec<u64>) -> LedgerEvent {
        LedgerEvent {
            v: FORMAT_VERSION,
            seq,
            time: self.clock.now(),
            session: self.session.clone(),
            turn,
            body,
            source_seqs,
        }
    }

    /// Wakes the writer if it waits; a writer at work looks again by itself, so that no system call is made.
    fn notify(&self, mut state: MutexGuard<'_, State>) {
        let wake = std::mem::take(&mut state.idle);
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }
}

/// Drops a body however deep its values are.
pub(super) fn discard(mut body: EventBody) {
    depth::bound(&mut body);
}
