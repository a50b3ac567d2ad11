//! What isolane needs of JSON beyond `serde_json`.
//!
//! Owns canonical text, digests, the size estimate and depth-safe walks. It never recurses over a value, so
//! that no depth can overflow the stack (T-8). It calls nobody.

mod big;
mod canonical;
mod deep;
mod pointer;
#[cfg(feature = "engine")]
mod readable;
mod size;
mod whole;
mod write;

pub use big::{MAX_SAFE_INTEGER, has_big_integer};
pub use canonical::{canonical_text, digest};
#[cfg(test)]
pub(crate) use deep::nested;
pub use deep::{Extent, depth_exceeds, dismantle};
pub use pointer::pointer_step;
#[cfg(feature = "engine")]
pub(crate) use readable::unreadable;
pub use size::estimated_size;
pub use whole::{spell_whole_numbers, whole_numbers_spelled};
pub(crate) use write::{text_of, write_value};

/// What a JSON value is, in the word used in messages.
pub fn kind(value: &serde_json::Value) -> &'static str {
    use serde_json::Value;
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
