//! Panics of the parser, which are errors of the text.
//!
//! Owns catching what swc panics with (it does on rare texts that do not parse, and asserts more in debug builds than
//! it relies on) and keeping the panic hook quiet about it, so that no text of a model prints anything. It must never
//! hide a panic of code outside of [`contained`]: the hook that was there before gets all others.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that may panic; `None` when it did. What the work changed before that must not be used.
pub(super) fn contained<R>(work: impl FnOnce() -> R) -> Option<R> {
    static QUIET: Once = Once::new();
    // While a thread unwinds its hook cannot be changed; then this panic prints, and the next time is quiet.
    if !thread::panicking() {
        QUIET.call_once(|| {
            let others = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !CONTAINED.get() {
                    others(info);
                }
            }));
        });
    }
    let outer = CONTAINED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-32
    #[test]
    fn a_panic_ends_the_work_alone() {
        assert_eq!(contained(|| 1), Some(1));
        let inner = contained(|| {
            assert_eq!(contained(|| -> u8 { panic!("inside") }), None);
            assert!(CONTAINED.get(), "still inside");
            2
        });
        assert_eq!(inner, Some(2));
        assert!(!CONTAINED.get());
    }
}
