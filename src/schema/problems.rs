//! What is wrong with a value, in words a model can act on (P-16).
//!
//! Owns what is said of a value that was refused: where, what, and what was probably meant. It never shows more than
//! a short excerpt of a value or of a pointer. It calls nobody; `explain` finds the problems.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer to the place, in full; empty for the whole value.
    pub pointer: String,
    /// What is wrong and what is expected, without the pointer.
    pub message: String,
    /// What was probably meant; empty when nothing is near.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "{}{}", self.message, self.hint),
            pointer => write!(f, "{} at {}{}", self.message, excerpt(pointer), self.hint),
        }
    }
}

/// At most [`Problems::MAX`] problems, and how many more there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Problems {
    /// The first ones.
    pub listed: Vec<Problem>,
    /// Whether there are more than are listed.
    pub more: bool,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.listed.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        if self.more {
            f.write_str("; and more")?;
        }
        Ok(())
    }
}

impl Problems {
    /// Most problems that are listed (P-16).
    pub const MAX: usize = 5;

    /// A value that no validator can look at.
    pub(super) fn too_deep(limit: usize) -> Self {
        Self::of_the_whole(format!("the value is nested more than {limit} levels deep; pass a flatter one"))
    }

    /// A value that was not looked at to the end.
    pub(super) fn too_much_work() -> Self {
        let message = "the schema asks for too much work for this value, so that it was not judged; pass a smaller or simpler one";
        Self::of_the_whole(message.to_owned())
    }

    /// A value on which the validator failed.
    pub(super) fn validator_failed() -> Self {
        Self::of_the_whole("the validator failed on this value, so that it was not judged".to_owned())
    }

    fn of_the_whole(message: String) -> Self {
        Self { listed: vec![Problem { pointer: String::new(), message, hint: String::new() }], more: false }
    }
}

/// The beginning of a text that somebody else chose.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::Schema;
    use serde_json::{Value, json};

    fn check(schema: Value, value: &Value) -> String {
        match Schema::compile(schema).unwrap().validate(value) {
            Ok(()) => "valid".to_owned(),
            Err(problems) => problems.to_string(),
        }
    }

    fn read_schema() -> Value {
        json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["file_path"],
            "additionalProperties": false,
        })
    }

    /// P-16
    #[test]
    fn a_misspelt_property_is_named_with_its_nearest() {
        insta::assert_snapshot!(check(read_schema(), &json!({"file_pth": "a"})), @"unknown property `file_pth` at /file_pth; did you mean `file_path`?; required property `file_path` is missing (you passed `file_pth`)");
    }

    /// P-16
    #[test]
    fn kinds_and_pointers_are_named() {
        insta::assert_snapshot!(check(read_schema(), &json!({"file_path": 1, "limit": "x"})), @"expected string, got an integer at /file_path; expected integer, got a string at /limit");
        insta::assert_snapshot!(check(read_schema(), &json!([1])), @"expected object, got an array");
    }

    /// P-16
    #[test]
    fn at_most_five_problems_are_listed() {
        let schema = json!({"type": "array", "items": {"type": "string"}});
        insta::assert_snapshot!(check(schema, &json!([1, 2, 3, 4, 5, 6, 7])), @"expected string, got an integer at /0; expected string, got an integer at /1; expected string, got an integer at /2; expected string, got an integer at /3; expected string, got an integer at /4; and more");
    }

    /// P-16
    #[test]
    fn a_union_names_the_nearest_branch() {
        let schema = json!({"oneOf": [
            {"type": "string"},
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        ]});
        insta::assert_snapshot!(check(schema.clone(), &json!({"n": "x"})), @"expected integer, got a string at /n");
        insta::assert_snapshot!(check(schema, &json!(1)), @"fits none of the 2 allowed forms: expected string, got an integer, or expected object, got an integer");
    }

    /// P-16
    #[test]
    fn a_huge_name_does_not_make_a_huge_message() {
        let name = "x".repeat(1 << 20);
        let value = Value::Object([(name, json!(1))].into_iter().collect());
        assert!(check(read_schema(), &value).len() < 2_000);
    }

    proptest::proptest! {
        /// P-16: one slip of the fingers, and the name that was meant is in the message.
        #[test]
        fn a_slip_in_a_name_is_answered_with_the_name(
            name in "[a-z]{4,8}(_[a-z]{3,6})?",
            slip in 0..4_usize,
            at in proptest::prelude::any::<proptest::sample::Index>(),
        ) {
            let mut letters: Vec<char> = name.chars().collect();
            let at = at.index(letters.len() - 1);
            match slip {
                0 => drop(letters.remove(at)),
                1 => letters.insert(at, 'x'),
                2 => letters.swap(at, at + 1),
                _ => letters[at] = if letters[at] == 'x' { 'y' } else { 'x' },
            }
            let typed: String = letters.into_iter().collect();
            proptest::prop_assume!(typed != name);
            let schema = json!({
                "type": "object",
                "properties": {name.clone(): {}, "0123456789": {}, "QQQQQQQQQQQQ": {}},
                "additionalProperties": false,
            });
            proptest::prop_assert_eq!(
                check(schema, &json!({typed.clone(): 1})),
                format!("unknown property `{typed}` at /{typed}; did you mean `{name}`?")
            );
        }
    }

    /// P-16
    #[test]
    fn an_enum_lists_its_options() {
        insta::assert_snapshot!(check(json!({"enum": ["a", "b"]}), &json!("c")), @r#"expected one of "a", "b", got "c""#);
    }
}
