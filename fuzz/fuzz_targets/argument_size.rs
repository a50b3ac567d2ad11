//! Fuzzes the estimate of how large arguments are (T-17).
//!
//! Owns one property: for any JSON value the estimate is within a factor of two of the serialised size. Values are
//! parsed from the input where it is JSON, and otherwise made from its bytes. It must never fail on a value that is
//! merely odd.
#![no_main]

use arbitrary::Unstructured;
use isolane::json::{canonical_text, depth_exceeds, dismantle, estimated_size};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Deep enough to pass the inline part of the walk, shallow enough for the serialiser, which recurses.
const MAX_DEPTH: usize = 100;

fuzz_target!(|bytes: &[u8]| {
    let value = serde_json::from_slice(bytes).or_else(|_| made(&mut Unstructured::new(bytes), 0));
    let Ok(value) = value else { return };
    let real = value.to_string().len();
    let estimate = estimated_size(&value);
    assert!(estimate <= real * 2 && real <= estimate * 2, "{estimate} for {real}: {value}");
    assert_eq!(canonical_text(&value).len(), real, "canonical text changes the order of members only");
    assert!(!depth_exceeds(&value, bytes.len().max(MAX_DEPTH + 1)));
    dismantle(value);
});

/// A value made of the input's bytes; integers, floats and strings of every kind come up more often than in JSON text.
fn made(bytes: &mut Unstructured<'_>, depth: usize) -> arbitrary::Result<Value> {
    Ok(match bytes.int_in_range(0..=if depth < MAX_DEPTH { 7 } else { 5 })? {
        0 => Value::Null,
        1 => Value::from(bytes.arbitrary::<bool>()?),
        2 => Value::from(bytes.arbitrary::<i64>()?),
        3 => Value::from(bytes.arbitrary::<u64>()?),
        4 => Value::from(bytes.arbitrary::<f64>()?),
        5 => Value::from(bytes.arbitrary::<String>()?),
        6 => {
            let count = bytes.int_in_range(0..=4)?;
            Value::Array((0..count).map(|_| made(bytes, depth + 1)).collect::<Result<_, _>>()?)
        }
        _ => {
            let count = bytes.int_in_range(0..=4)?;
            let mut members = serde_json::Map::new();
            for _ in 0..count {
                members.insert(bytes.arbitrary()?, made(bytes, depth + 1)?);
            }
            Value::Object(members)
        }
    })
}
