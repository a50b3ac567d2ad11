//! The end of a process that runs programs for another.
//!
//! Owns the exit codes by which it says why, since there may be no other way left to say it. It runs no destructor and
//! no handler of the process's end: V8's threads are in the middle of something. It calls the system alone.
//!
//! # Safety
//! `_exit` is declared unsafe as all of C is; it has no precondition and does not return.

use crate::engine::state::Trip;

/// A limit ended the process; its own code is added to this.
const BY_LIMIT: i32 = 64;

/// Ends the process for a limit that V8 would not heed.
pub(super) fn by_limit(trip: Trip) -> ! {
    end(BY_LIMIT + i32::from(trip as u8))
}

/// The limit that ended a process with this exit code, if one did.
pub(super) fn limit_of(code: i32) -> Option<Trip> {
    Trip::from_code(u8::try_from(code.checked_sub(BY_LIMIT)?).ok()?)
}

/// Ends the process at once.
#[expect(unsafe_code, reason = "a function of C")]
pub(super) fn end(code: i32) -> ! {
    // SAFETY: it has no precondition.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E-3
    #[test]
    fn an_exit_code_names_its_limit_and_no_other_does() {
        for trip in [Trip::Busy, Trip::Heap, Trip::Queue] {
            assert_eq!(limit_of(BY_LIMIT + i32::from(trip as u8)), Some(trip));
        }
        for code in [-1, 0, 1, BY_LIMIT, 101, 134, 137, 255] {
            assert_eq!(limit_of(code), None, "{code}");
        }
    }
}
