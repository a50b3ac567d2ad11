//! How far the body of a call may go, and how far it has gone (P-4, P-5, P-13).
//!
//! Owns one word for each call. A body is dispatched at most once, and only after it was admitted; a body that nobody
//! waits for any more is not invoked from then on. Whether a body has started is asked here and nowhere else.
//! It calls nobody.

use std::sync::atomic::{AtomicU8, Ordering};

/// Not admitted: denied, settled, or not decided yet.
const CLOSED: u8 = 0;
/// May be dispatched.
const ADMITTED: u8 = 1;
/// Was dispatched; wrappers may still hold the body back.
const DISPATCHED: u8 = 2;
/// The body was invoked, for the first time or again.
const STARTED: u8 = 3;
/// Was answered for as a call whose body never started.
const WITHDRAWN: u8 = 4;
/// Was answered for after the body was invoked, which it is not again.
const LEFT: u8 = 5;

#[derive(Debug)]
pub(super) struct Admission(AtomicU8);

impl Admission {
    pub(super) fn closed() -> Self {
        Self(AtomicU8::new(CLOSED))
    }

    pub(super) fn admit(&mut self) {
        *self.0.get_mut() = ADMITTED;
    }

    /// Uses the admission up. False when there is none, or none any more.
    pub(super) fn dispatch(&self) -> bool {
        self.0.compare_exchange(ADMITTED, DISPATCHED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Notes that the body is invoked, which wrappers may do several times. False when it must not be any more.
    pub(super) fn start(&self) -> bool {
        let started = |now| matches!(now, DISPATCHED | STARTED).then_some(STARTED);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, started).is_ok()
    }

    /// Whether the body was ever invoked.
    pub(super) fn has_started(&self) -> bool {
        was_invoked(self.0.load(Ordering::Acquire))
    }

    /// Keeps the body from being invoked from now on. False when it was before.
    pub(super) fn withdraw(&self) -> bool {
        let withdrawn = |now| Some(if was_invoked(now) { LEFT } else { WITHDRAWN });
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, withdrawn);
        !was_invoked(before.unwrap_or_else(|now| now))
    }
}

fn was_invoked(now: u8) -> bool {
    matches!(now, STARTED | LEFT)
}
