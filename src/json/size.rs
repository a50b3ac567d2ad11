//! How large a value would be as JSON text.
//!
//! Owns the estimate that argument limits use (T-17). It never serialises or copies, and allocates nothing for a value
//! that is nested no deeper than arguments may be; for deeper ones (T-8) it keeps a few words for each open container.
//! It calls nobody.

use std::fmt::Write as _;

use serde_json::Value;
use smallvec::SmallVec;

/// Open containers that need no allocation, the depth that arguments may have by default.
const UNALLOCATED: usize = 128;

enum Open<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(serde_json::map::Iter<'a>),
}

/// Bytes that the value takes as compact JSON, within a factor of two (T-17).
///
/// Exact but for numbers with a fraction or an exponent, which count by their scientific form.
pub fn estimated_size(value: &Value) -> usize {
    measure(value).0
}

/// The estimate, and whether it took an allocation.
fn measure(value: &Value) -> (usize, bool) {
    let mut open: SmallVec<[Open<'_>; UNALLOCATED]> = SmallVec::new();
    let mut size = 0_usize;
    let mut current = Some(value);
    loop {
        if let Some(value) = current.take() {
            size = size.saturating_add(match value {
                Value::Null | Value::Bool(true) => 4,
                Value::Bool(false) => 5,
                Value::Number(number) => number_size(number),
                Value::String(text) => string_size(text),
                Value::Array(items) => {
                    open.push(Open::Items(items.iter()));
                    2 + items.len().saturating_sub(1)
                }
                Value::Object(members) => {
                    open.push(Open::Members(members.iter()));
                    // Braces, colons and commas.
                    2 + members.len() + members.len().saturating_sub(1)
                }
            });
        }
        match open.last_mut() {
            None => return (size, open.spilled()),
            Some(Open::Items(items)) => current = items.next(),
            Some(Open::Members(members)) => {
                current = members.next().map(|(key, member)| {
                    size = size.saturating_add(string_size(key));
                    member
                });
            }
        }
        if current.is_none() {
            open.pop();
        }
    }
}

fn number_size(number: &serde_json::Number) -> usize {
    let digits = |magnitude: u64| magnitude.checked_ilog10().unwrap_or(0) as usize + 1;
    if let Some(positive) = number.as_u64() {
        digits(positive)
    } else if let Some(negative) = number.as_i64() {
        1 + digits(negative.unsigned_abs())
    } else {
        float_size(number.as_f64().unwrap_or_default())
    }
}

/// Counts what the formatter would write, without a buffer.
struct Counter(usize);

impl std::fmt::Write for Counter {
    fn write_str(&mut self, piece: &str) -> std::fmt::Result {
        self.0 += piece.len();
        Ok(())
    }
}

#[expect(clippy::float_cmp, reason = "asks whether the number is whole, exactly")]
fn float_size(float: f64) -> usize {
    let mut counter = Counter(0);
    // Whole numbers are written out, with ".0"; the others are about as long with an exponent as without.
    let written = if float == float.trunc() && float.abs() < 1e16 {
        write!(counter, "{float}.0")
    } else {
        write!(counter, "{float:e}")
    };
    debug_assert!(written.is_ok(), "counting cannot fail");
    counter.0
}

fn string_size(text: &str) -> usize {
    // Short pieces counted in a byte each: without branches, and wide enough for the machine to take many at once.
    const PIECE: usize = 32;
    let escapes: usize = text
        .as_bytes()
        .chunks(PIECE)
        .map(|piece| usize::from(piece.iter().map(|byte| more_when_escaped(*byte)).sum::<u8>()))
        .sum();
    text.len() + escapes + 2
}

/// What a byte takes as JSON beside itself; at most 5.
fn more_when_escaped(byte: u8) -> u8 {
    let control = u8::from(byte < 0x20) * 5;
    let short = (u8::from((0x08..=0x0d).contains(&byte)) - u8::from(byte == 0x0b)) * 4;
    control - short + u8::from(byte == b'"') + u8::from(byte == b'\\')
}

/// Any value, for properties.
#[cfg(test)]
pub(super) fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;

    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~\"\\\\\n]{0,100}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 128, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// T-17: what holds the open containers is all that could be allocated.
    #[test]
    fn nothing_is_allocated_for_arguments_of_any_depth_that_they_may_have() {
        let nested = |depth| (0..depth).fold(Value::Null, |value, _| serde_json::json!({"a": [1, value]}));
        assert!(!measure(&nested(UNALLOCATED / 2)).1);
        assert!(measure(&nested(UNALLOCATED / 2 + 1)).1);
    }

    /// T-17
    #[test]
    fn every_character_counts_as_it_is_written() {
        for code in 0..=0x2fff_u32 {
            let text = char::from_u32(code).unwrap().to_string().repeat(33);
            assert_eq!(
                estimated_size(&Value::from(text.clone())),
                Value::from(text).to_string().len(),
                "{code:#x}"
            );
        }
    }

    proptest! {
        /// T-17
        #[test]
        fn the_estimate_is_within_a_factor_of_two(value in any_json()) {
            let real = value.to_string().len();
            let estimate = estimated_size(&value);
            prop_assert!(estimate <= real * 2 && real <= estimate * 2, "{estimate} for {real}: {value}");
        }
    }
}
