//! What is wrong with a value, in words a model can act on (P-16).
//!
//! Owns the text of validation problems: pointer, expectation, kind of the value, and the nearest property
//! name. It never shows more than a short excerpt of a value. It calls `json` and `ids`.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::Serialize;
use serde_json::Value;

use crate::ids::nearest;
use crate::json;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer to the place; empty for the whole value.
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
            pointer => write!(f, "{} at {pointer}{}", self.message, self.hint),
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
        let message = format!("the value is nested more than {limit} levels deep; pass a flatter one");
        Self { listed: vec![Problem { pointer: String::new(), message, hint: String::new() }], more: false }
    }

    pub(super) fn collect<'a>(
        schema: &Value,
        value: &Value,
        errors: impl Iterator<Item = ValidationError<'a>>,
    ) -> Self {
        let mut listed = Vec::new();
        let mut more = false;
        for mut problem in errors.flat_map(|error| explain(schema, value, &error)) {
            if listed.len() == Self::MAX {
                more = true;
                break;
            }
            problem.pointer = excerpt(&problem.pointer);
            listed.push(problem);
        }
        Self { listed, more }
    }
}

fn explain(schema: &Value, root: &Value, error: &ValidationError<'_>) -> Vec<Problem> {
    let pointer = error.instance_path().as_str().to_owned();
    let instance = error.instance().as_ref();
    let problem = |message: String| vec![Problem { pointer: pointer.clone(), message, hint: String::new() }];
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = declared_properties(schema, error);
            unexpected
                .iter()
                .map(|name| {
                    let unused = known.iter().copied().filter(|known| instance.get(known).is_none());
                    let hint = nearest(name, unused)
                        .map(|near| format!("; did you mean `{}`?", excerpt(near)))
                        .or_else(|| known_list(&known))
                        .unwrap_or_default();
                    Problem {
                        pointer: format!("{pointer}/{}", excerpt(&escape_pointer(name))),
                        message: format!("unknown property `{}`", excerpt(name)),
                        hint,
                    }
                })
                .collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let known = declared_properties(schema, error);
            let strangers = instance
                .as_object()
                .map(|members| members.keys().map(String::as_str).filter(|key| !known.contains(key)));
            let hint = strangers
                .and_then(|strangers| nearest(name, strangers))
                .map(|near| format!(" (you passed `{}`)", excerpt(near)))
                .unwrap_or_default();
            problem(format!("required property `{}` is missing{hint}", excerpt(name)))
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(single) => format!("{single}"),
                TypeKind::Multiple(set) => {
                    set.iter().map(|single| single.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            problem(format!("expected {expected}, got {}", json::kind(instance)))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<_> = options.iter().take(12).map(|option| excerpt(&option.to_string())).collect();
            let rest = if options.len() > shown.len() { ", ..." } else { "" };
            problem(format!(
                "expected one of {}{rest}, got {}",
                shown.join(", "),
                excerpt(&instance.to_string())
            ))
        }
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => explain_union(schema, root, error, context),
        _ => problem(format!("{} (got {})", excerpt(&error.masked().to_string()), json::kind(instance))),
    }
}

/// The branch that comes nearest says more than "fits none": the one whose first problem lies deepest.
fn explain_union(
    schema: &Value,
    root: &Value,
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
) -> Vec<Problem> {
    let pointer = error.instance_path().as_str().to_owned();
    let depth = |error: &ValidationError<'_>| error.instance_path().as_str().matches('/').count();
    let best = context
        .iter()
        .filter(|branch| !branch.is_empty())
        .max_by_key(|branch| branch.iter().map(depth).min())
        .filter(|branch| branch.iter().any(|inner| inner.instance_path().as_str().len() > pointer.len()));
    if let Some(first) = best.and_then(|branch| branch.first()) {
        let mut inner = explain_leaf(schema, root, first);
        inner.truncate(1);
        return inner;
    }
    let expected: Vec<_> = context
        .iter()
        .filter_map(|branch| branch.first())
        .flat_map(|inner| explain_leaf(schema, root, inner))
        .map(|problem| problem.message)
        .take(3)
        .collect();
    let detail = if expected.is_empty() { String::new() } else { format!(": {}", expected.join(", or ")) };
    vec![Problem {
        pointer,
        message: format!("fits none of the {} allowed forms{detail}", context.len().max(2)),
        hint: String::new(),
    }]
}

/// One level of nesting only: unions in unions are named, not unfolded.
fn explain_leaf(schema: &Value, root: &Value, error: &ValidationError<'_>) -> Vec<Problem> {
    match error.kind() {
        ValidationErrorKind::AnyOf { .. }
        | ValidationErrorKind::OneOfNotValid { .. }
        | ValidationErrorKind::OneOfMultipleValid { .. } => vec![Problem {
            pointer: error.instance_path().as_str().to_owned(),
            message: "fits none of the allowed forms".to_owned(),
            hint: String::new(),
        }],
        _ => explain(schema, root, error),
    }
}

/// The property names that the schema around the failing keyword declares; empty when it cannot be found.
fn declared_properties<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Vec<&'a str> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|object| object.get("properties"));
    let mut names: Vec<_> =
        properties.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

fn known_list(known: &[&str]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    let shown: Vec<_> = known.iter().take(12).map(|name| format!("`{}`", excerpt(name))).collect();
    let rest = if known.len() > shown.len() { ", ..." } else { "" };
    Some(format!("; the properties are {}{rest}", shown.join(", ")))
}

fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn excerpt(text: &str) -> String {
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
