//! Integers that a JavaScript number would round.
//!
//! Owns the question whether a value holds one (CM-15). It calls nobody.

use serde_json::Value;

/// The largest integer that a JavaScript number holds exactly, 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Whether the value holds an integer beyond [`MAX_SAFE_INTEGER`] in either direction.
pub fn has_big_integer(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) => {
                let magnitude =
                    number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)).unwrap_or_default();
                if magnitude > MAX_SAFE_INTEGER {
                    return true;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// CM-15
    #[test]
    fn only_integers_beyond_the_safe_range_count() {
        assert!(!has_big_integer(&json!([
            9_007_199_254_740_991_u64,
            -9_007_199_254_740_991_i64,
            1e300,
            "9"
        ])));
        assert!(has_big_integer(&json!({"a": [{"id": 9_007_199_254_740_992_u64}]})));
        assert!(has_big_integer(&json!(i64::MIN)));
    }
}
