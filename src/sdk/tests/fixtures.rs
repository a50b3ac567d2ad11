//! Cases of schemas with the text that they render to, and values that are and are not of the type.
//!
//! Owns the reading of `fixtures/*.json`: one file a topic, one case a sentence. A case has a schema, other spellings
//! of it that must give the same text (`also`), values that the schema accepts and the type must (`of`), and values
//! that both must refuse (`not_of`). It never asks a compiler: whether TypeScript agrees with `meaning` is not shown
//! here.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use super::meaning::{accepts, validator};
use super::{python_entry, syntax_errors, tool};
use crate::schema::ir::{IrBudget, compile, compile_object};
use crate::sdk::{SdkOptions, SdkTool, render_tool_declaration};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    says: String,
    schema: Value,
    #[serde(default)]
    also: Vec<Value>,
    /// The schema is of a result. Absent: of arguments.
    #[serde(default)]
    result: bool,
    #[serde(default)]
    of: Vec<Value>,
    #[serde(default)]
    not_of: Vec<Value>,
}

impl Case {
    /// What a tool with the schema declares, in a language.
    fn declaration(&self, schema: &Value, render: impl Fn(&SdkTool<'_>) -> String) -> String {
        let nothing = json!({"type": "object", "additionalProperties": false});
        render(&if self.result { tool("demo", &nothing, schema) } else { tool("demo", schema, &Value::Null) })
    }

    /// The TypeScript declarations of the schema and the entry that uses them.
    fn text(&self, schema: &Value) -> String {
        let text = self.declaration(schema, |tool| render_tool_declaration(tool, &SdkOptions::default()));
        let (types, maps) = text.split_once("interface ToolArgsMap").unwrap();
        let (arguments, output) = maps.split_once("interface ToolOutputMap").unwrap();
        if self.result {
            format!("{types}interface ToolOutputMap{output}")
        } else {
            format!("{types}interface ToolArgsMap{arguments}")
        }
    }

    /// What is wrong with the type, if anything. Of a schema that is none, only the type is asked.
    fn problems(&self, schema: &Value, is_schema: bool) -> Vec<String> {
        let budget = IrBudget::default();
        let ir = if self.result { compile(schema, &budget) } else { compile_object(schema, &budget) };
        let validator = is_schema.then(|| validator(schema).expect("a schema"));
        let mut problems = Vec::new();
        for (values, expected) in [(&self.of, true), (&self.not_of, false)] {
            for value in values {
                if validator.as_ref().is_some_and(|validator| validator.is_valid(value) != expected) {
                    problems.push(format!("{value}: the schema was to say {expected}"));
                }
                if accepts(&ir, value) != expected {
                    problems.push(format!("{value}: the type was to say {expected}"));
                }
            }
        }
        problems
    }
}

/// Checks every case of a topic, and its text against the topic's snapshot.
fn check(topic: &str, cases: &str, are_schemas: bool) {
    let cases: Vec<Case> = serde_json::from_str(cases).unwrap();
    let (mut all, mut in_python) = (String::new(), String::new());
    for case in &cases {
        let text = case.text(&case.schema);
        let python = case.declaration(&case.schema, python_entry);
        for schema in std::iter::once(&case.schema).chain(&case.also) {
            assert_eq!(case.text(schema), text, "{}: {schema}", case.says);
            assert_eq!(case.declaration(schema, python_entry), python, "{}: {schema}", case.says);
            assert_eq!(case.problems(schema, are_schemas), Vec::<String>::new(), "{}\n{text}", case.says);
        }
        assert_eq!(syntax_errors(&text), Vec::<String>::new(), "{}\n{text}", case.says);
        let _ = write!(all, "// {}\n{text}\n", case.says);
        let _ = write!(in_python, "# {}\n{python}\n", case.says);
    }
    insta::assert_snapshot!(topic, all);
    insta::with_settings!({snapshot_suffix => "python"}, {
        insta::assert_snapshot!(topic, in_python);
    });
}

/// SDK-5, SDK-11
#[test]
fn objects_know_their_members_and_the_others() {
    check("objects", include_str!("fixtures/objects.json"), true);
}

/// SDK-4, SDK-5, SDK-11
#[test]
fn keys_are_written_whatever_they_are() {
    check("keys", include_str!("fixtures/keys.json"), true);
}

/// SDK-5, SDK-11
#[test]
fn lists_and_tuples_know_their_elements() {
    check("lists", include_str!("fixtures/lists.json"), true);
}

/// SDK-5, SDK-11
#[test]
fn unions_take_what_a_branch_takes() {
    check("unions", include_str!("fixtures/unions.json"), true);
}

/// SDK-5, SDK-11
#[test]
fn references_become_names() {
    check("references", include_str!("fixtures/references.json"), true);
}

/// SDK-5, SDK-11
#[test]
fn what_a_type_cannot_say_is_wider() {
    check("widened", include_str!("fixtures/widened.json"), true);
}

/// SDK-5, SDK-11: no text fails to render, whatever was taken for a schema.
#[test]
fn what_cannot_be_read_is_anything() {
    check("unreadable", include_str!("fixtures/unreadable.json"), false);
}

/// SDK-4, SDK-5, SDK-11
#[test]
fn words_stand_beside_the_types() {
    check("words", include_str!("fixtures/words.json"), true);
}
