//! Canonical text: one spelling for equal values.
//!
//! Owns the order of members (by key, byte order) and the digest over that text. It never loses or rounds a
//! number. It calls nobody.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

enum Step<'a> {
    Value(&'a Value),
    Text(&'static str),
    Key(&'a str),
}

/// The value as compact JSON with the members of every object in byte order of their keys.
pub fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    let mut steps = vec![Step::Value(value)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Key(key) => push_string(&mut text, key),
            Step::Value(Value::String(string)) => push_string(&mut text, string),
            Step::Value(Value::Array(items)) => {
                text.push('[');
                steps.push(Step::Text("]"));
                for (index, item) in items.iter().enumerate().rev() {
                    steps.push(Step::Value(item));
                    if index > 0 {
                        steps.push(Step::Text(","));
                    }
                }
            }
            Step::Value(Value::Object(members)) => {
                text.push('{');
                steps.push(Step::Text("}"));
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| key.as_str());
                for (index, (key, member)) in members.into_iter().enumerate().rev() {
                    steps.push(Step::Value(member));
                    steps.push(Step::Text(":"));
                    steps.push(Step::Key(key));
                    if index > 0 {
                        steps.push(Step::Text(","));
                    }
                }
            }
            Step::Value(scalar) => {
                // Writing to a String cannot fail, and scalars have no depth.
                let _ = write!(text, "{scalar}");
            }
        }
    }
    text
}

fn push_string(text: &mut String, string: &str) {
    let _ = write!(text, "{}", Value::String(string.to_owned()));
}

/// SHA-256 over the canonical text, in lower-case hexadecimal.
pub fn digest(value: &Value) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(canonical_text(value).as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// One text for one value, whatever the order of its members.
    #[test]
    fn members_are_ordered_at_every_depth() {
        let value = json!({"b": [{"y": 1, "x": "q\"\n"}], "a": null, "": 1.5});
        assert_eq!(canonical_text(&value), r#"{"":1.5,"a":null,"b":[{"x":"q\"\n","y":1}]}"#);
    }

    /// One text for one value, whatever the order of its members.
    #[test]
    fn equal_values_have_equal_digests_whatever_their_order() {
        assert_eq!(digest(&json!({"a": 1, "b": 2})), digest(&json!({"b": 2, "a": 1})));
        assert_ne!(digest(&json!({"a": 1})), digest(&json!({"a": "1"})));
    }
}
