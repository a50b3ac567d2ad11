//! Walks that no depth can overflow.
//!
//! Owns the depth check and the taking apart of deep values, whose ordinary drop would recurse. It never
//! changes a value that it does not own. It calls nobody.

use serde_json::Value;

/// Whether containers are nested more than `limit` deep; a scalar has depth 0, `[]` has depth 1.
pub fn depth_exceeds(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(_) | Value::Object(_) if depth >= limit => return true,
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// How deep containers are nested; a scalar has depth 0, `[]` has depth 1.
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0_usize)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
        }
        deepest = deepest.max(depth + 1);
    }
    deepest
}

/// Drops a value without recursion (T-8).
pub fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, member)| member)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// A value of this depth, for tests. To drop it would recurse.
#[cfg(test)]
pub(crate) fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{canonical_text, estimated_size};

    /// T-8
    #[test]
    fn a_hundred_thousand_levels_overflow_nothing() {
        let value = nested(100_000);
        assert!(depth_exceeds(&value, 99_999));
        assert!(!depth_exceeds(&value, 100_000));
        assert_eq!(depth(&value), 100_000);
        assert_eq!(canonical_text(&value).len(), 200_004);
        assert_eq!(estimated_size(&value), 200_004);
        dismantle(value);
    }
}
