//! Room on the stack for work that recurses over a program's text.
//!
//! Owns the translation of a measured depth into bytes of stack, and moves to a larger stack when the
//! present one is too small. It must never let work begin for which the room is not known to suffice:
//! a text whose depth is not known exactly gets room for one level per byte, or is refused when it is
//! too long for that. `depth` measures; `attempt` does the work.

use super::depth::Depth;

/// A text of unknown depth may be this long.
pub(super) const MAX_UNCLEAR_BYTES: usize = 4096;

/// Stack that any program needs, that one bracket level needs, and that one link of a chain needs, in
/// the stage that needs most: at least three times what was measured. Optimised code needs far less.
const BASE: usize = if cfg!(debug_assertions) { 512 << 10 } else { 256 << 10 };
const PER_BRACKET: usize = if cfg!(debug_assertions) { 144 << 10 } else { 64 << 10 };
const PER_LINK: usize = if cfg!(debug_assertions) { 36 << 10 } else { 12 << 10 };

/// Runs `work` with enough stack for a text of this depth and length.
///
/// The larger stack is address space until it is touched. `None` when the depth is not known exactly
/// and the text is too long to assume the worst.
pub(super) fn with_room<R>(depth: Depth, length: usize, work: impl FnOnce() -> R) -> Option<R> {
    let room = if depth.exact {
        BASE + depth.brackets * PER_BRACKET + depth.chain * PER_LINK
    } else if length <= MAX_UNCLEAR_BYTES {
        BASE + length * PER_BRACKET
    } else {
        return None;
    };
    Some(stacker::maybe_grow(room, room, work))
}
