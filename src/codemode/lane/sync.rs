//! What the two sides of a lane synchronise with: one lock and two waker cells.
//!
//! Owns the choice between the real ones and those of the model checker, which sees every interleaving of them. It
//! never holds state of its own. It calls nobody.

#[cfg(not(all(test, isolane_loom)))]
pub(super) use futures_util::task::AtomicWaker;
#[cfg(not(all(test, isolane_loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, isolane_loom))]
pub(super) use loom::sync::{Mutex, MutexGuard};
#[cfg(all(test, isolane_loom))]
pub(super) use model::AtomicWaker;

/// Outcomes that may wait for the program. Beyond that the lane launches nothing new, so that a program that is
/// busy computing cannot make the host pile up values.
pub(super) const MAX_UNTAKEN: usize = if cfg!(all(test, isolane_loom)) { 1 } else { 1_024 };

#[cfg(all(test, isolane_loom))]
mod model {
    use std::task::Waker;

    /// The model's waker cell under the real one's signature.
    pub(in crate::codemode::lane) struct AtomicWaker(loom::future::AtomicWaker);

    impl AtomicWaker {
        pub(in crate::codemode::lane) fn new() -> Self {
            Self(loom::future::AtomicWaker::new())
        }

        pub(in crate::codemode::lane) fn register(&self, waker: &Waker) {
            self.0.register_by_ref(waker);
        }

        pub(in crate::codemode::lane) fn wake(&self) {
            self.0.wake();
        }
    }
}
