//! The thread that writes.
//!
//! Owns the store of a ledger whose store is slow: takes all that is queued as one batch, appends it, gives the slots
//! back (L-4), syncs in time and answers requests. It never numbers or orders events; the queue has done so. It hands
//! batches to the store.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::depth;
use super::event::{EventBody, LedgerEvent};
use super::handle::LedgerError;
use super::queue::{Queue, Request, State};
use super::redact::Redactor;
use super::store::{LedgerStore, StoreError};

/// What happens to a body before anything of it is written.
pub(super) fn prepare(redactors: &[Arc<dyn Redactor>], body: &mut EventBody) {
    for redactor in redactors {
        redactor.redact(body);
    }
    // After the redactors: they look for members, which text in their place would hide.
    depth::bound(body);
}

/// Runs until the last handle is gone and everything is written, or until the first failure.
pub(super) fn run(queue: &Queue, store: Box<dyn LedgerStore>) {
    let mut writer = Writer { queue, store, batch: Vec::new(), requests: Vec::new(), sync_due: None };
    let outcome = LedgerError::guard(|| {
        while writer.step()? {}
        Ok(())
    });
    if let Err(error) = outcome {
        queue.fail(&error);
        for request in writer.requests {
            request.refuse(error.clone());
        }
    }
}

struct Writer<'a> {
    queue: &'a Queue,
    store: Box<dyn LedgerStore>,
    batch: Vec<LedgerEvent>,
    requests: Vec<Request>,
    /// By the clock's monotonic time: when the store's interval is over.
    sync_due: Option<Duration>,
}

impl Writer<'_> {
    /// Handles all that is there; false when that was the last.
    fn step(&mut self) -> Result<bool, StoreError> {
        let closed = self.take();
        if !self.batch.is_empty() {
            self.write()?;
        }
        let flush = self.requests.iter().any(|request| matches!(request, Request::Flush(_)));
        if closed || flush || self.sync_due.is_some_and(|due| self.queue.clock.monotonic() >= due) {
            self.store.sync()?;
            self.sync_due = None;
        }
        for request in self.requests.drain(..) {
            // Whoever asked may have gone.
            let _ = match request {
                Request::Written(reply) | Request::Flush(reply) => reply.send(Ok(())).is_ok(),
                Request::Read(reply) => {
                    reply.send(self.store.read(&self.queue.session).map_err(LedgerError::from)).is_ok()
                }
            };
        }
        Ok(!closed)
    }

    /// Waits for something to do and takes it; true when nothing will follow.
    fn take(&mut self) -> bool {
        let mut state = self.queue.lock();
        while state.events.is_empty() && state.requests.is_empty() && !state.closed {
            let Some(due) = self.sync_due else {
                state.idle = true;
                state = self.queue.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = due.saturating_sub(self.queue.clock.monotonic());
            if left.is_zero() {
                break;
            }
            state.idle = true;
            state = self.wait(state, left);
        }
        state.idle = false;
        std::mem::swap(&mut state.events, &mut self.batch);
        std::mem::swap(&mut state.requests, &mut self.requests);
        state.in_flight = self.batch.len();
        state.in_flight_permits = std::mem::take(&mut state.permits);
        state.closed
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, at_most: Duration) -> MutexGuard<'s, State> {
        match self.queue.work.wait_timeout(state, at_most) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        for event in &mut self.batch {
            prepare(&self.queue.redactors, &mut event.body);
        }
        self.store.append(&self.batch)?;
        if let (None, Some(interval)) = (self.sync_due, self.store.sync_interval()) {
            self.sync_due = Some(self.queue.clock.monotonic().saturating_add(interval));
        }
        let last = self.batch.last().map(|event| event.seq);
        // The slots bound what is in memory, so the events go first.
        self.batch.clear();
        let mut state = self.queue.lock();
        state.in_flight = 0;
        state.written = last.unwrap_or(state.written);
        let permits = std::mem::take(&mut state.in_flight_permits);
        drop(state);
        self.queue.slots.add_permits(permits);
        Ok(())
    }
}
