//! A reserved place in the queue (L-4).
//!
//! Owns one permit from the moment of reserving until the event is recorded or the slot is dropped; a slot beyond the
//! backlog owns none. It never waits:
//! that is over when a slot exists. It hands the event to [`super::queue`].

use std::fmt;
use std::sync::Arc;

use super::event::EventBody;
use super::handle::{Handle, Mode};

/// The right to record one event without waiting. Dropping it gives it back unused.
#[must_use = "an unused slot is given back at once"]
pub struct Slot {
    /// Nothing when the ledger is disabled.
    handle: Option<Arc<Handle>>,
    /// Whether a permit is to be given back; only a ledger with a thread has any.
    permit: bool,
}

impl Slot {
    pub(super) fn new(handle: Option<Arc<Handle>>, permit: bool) -> Self {
        Self { handle, permit }
    }

    /// Records `body` and returns its `seq`; nothing when the ledger is disabled or has failed.
    ///
    /// `source_seqs` are the events that this one answers; an `Option` of an earlier `record` fits. The arguments in
    /// `body` are the ledger's own copy (L-3). Events get consecutive `seq`s in the order of these calls.
    pub fn record(
        self,
        body: impl Into<EventBody>,
        source_seqs: impl IntoIterator<Item = u64>,
    ) -> Option<u64> {
        self.record_with(|| body.into(), source_seqs)
    }

    /// The same, building the body only if it will be kept.
    pub fn record_with<B: Into<EventBody>>(
        mut self,
        build: impl FnOnce() -> B,
        source_seqs: impl IntoIterator<Item = u64>,
    ) -> Option<u64> {
        let handle = self.handle.as_ref()?;
        let queue = &handle.queue;
        if queue.has_failed() {
            queue.count_dropped();
            return None;
        }
        let body = build().into();
        let source_seqs = source_seqs.into_iter().collect();
        match handle.mode {
            Mode::Disabled => None,
            Mode::Inline => queue.write_inline(body, source_seqs),
            Mode::Threaded => {
                let seq = queue.push(body, source_seqs, self.permit);
                // The permit of a recorded event goes with it; the writer gives it back.
                self.permit &= seq.is_none();
                seq
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle
            && self.permit
        {
            handle.queue.slots.add_permits(1);
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}
