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

/// How far a value reaches, in one walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How deep containers are nested; a scalar has depth 0, `[]` has depth 1.
    pub depth: usize,
    /// Parts of it: each value counts 1, and 1 more for every 64 bytes of its text or of its name.
    pub weight: usize,
    /// Bytes of the longest JSON pointer into it, if nothing has to be escaped.
    pub longest_path: usize,
}

impl Extent {
    /// Measures a value.
    pub fn of(value: &Value) -> Self {
        const BYTES_PER_PART: usize = 64;
        // An index is taken for its longest form.
        const INDEX: usize = 8;
        let mut extent = Self::default();
        let mut open = vec![(value, 0_usize, 0_usize)];
        while let Some((value, depth, path)) = open.pop() {
            extent.weight += 1;
            extent.longest_path = extent.longest_path.max(path);
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1, path + INDEX))),
                Value::Object(members) => {
                    for (name, member) in members {
                        extent.weight += name.len() / BYTES_PER_PART;
                        open.push((member, depth + 1, path + 1 + name.len()));
                    }
                }
                Value::String(text) => {
                    extent.weight += text.len() / BYTES_PER_PART;
                    continue;
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => continue,
            }
            extent.depth = extent.depth.max(depth + 1);
        }
        extent
    }
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
        assert_eq!(Extent::of(&value), Extent { depth: 100_000, weight: 100_001, longest_path: 800_000 });
        assert_eq!(canonical_text(&value).len(), 200_004);
        assert_eq!(estimated_size(&value), 200_004);
        dismantle(value);
    }
}
