//! What schemas mean: every construct by examples, depth, and the official suite where it is at hand.
//!
//! Owns the count of compilations, which shows that a validator is compiled once per definition (T-9).

mod constructs;
mod depth;
mod suite;
mod work;

use std::cell::Cell;

use serde_json::{Value, json};

use super::*;

thread_local! {
    /// Validators that were compiled on this thread.
    pub(crate) static COMPILED: Cell<usize> = const { Cell::new(0) };
}

/// T-9: a schema is compiled when it is made, and never again; the pipeline's tests count over the calls of a tool.
#[test]
fn a_validator_is_compiled_once() {
    let before = COMPILED.get();
    let schema = Schema::compile(json!({"type": "object", "required": ["a"]})).unwrap();
    assert_eq!(COMPILED.get() - before, 1);
    let clone = schema.clone();
    for _ in 0..100 {
        assert!(schema.validate(&json!({"a": 1})).is_ok());
        assert!(clone.validate(&json!({})).is_err());
    }
    assert_eq!(COMPILED.get() - before, 1);
    assert!(Arc::ptr_eq(&schema.validator, &clone.validator));
}

/// T-7: nothing is fetched, from nowhere.
#[test]
fn what_a_schema_refers_to_must_be_inside_it() {
    let refused = |reference: &str| Schema::compile(json!({"$ref": reference})).unwrap_err().to_string();
    for reference in ["http://localhost:1234/integer.json", "file:///etc/hosts", "urn:isbn:0"] {
        assert_eq!(
            refused(reference),
            format!(
                "the schema refers to `{reference}`, which is not in it; nothing is fetched, so it has to be under `$defs`"
            )
        );
    }
    insta::assert_snapshot!(refused("#/$defs/b"), @"the schema is not valid JSON Schema at ``: Pointer '/$defs/b' does not exist");
    let error = Schema::compile(json!({"$schema": "https://example.com/mine"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the schema is of `https://example.com/mine`, which is not known; use draft 2020-12 or draft-07"
    );
    assert!(Schema::compile(json!({"$ref": "#/$defs/b", "$defs": {"b": {"type": "null"}}})).is_ok());
}

/// T-7: a schema that does not say which draft it is of, and is of draft-07.
#[test]
fn a_schema_that_names_no_draft_may_be_of_draft_7() {
    let tuple = json!({"type": "array", "items": [{"type": "integer"}, {"type": "string"}]});
    let schema = Schema::compile(tuple.clone()).unwrap();
    assert!(schema.validate(&json!([1, "a"])).is_ok());
    assert!(schema.validate(&json!(["a", 1])).is_err());
    let mut declared = tuple;
    declared["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    assert!(matches!(Schema::compile(declared).unwrap_err(), SchemaError::Malformed { .. }));
    let broken = Schema::compile(json!({"properties": {"a": {"type": "strin"}}})).unwrap_err();
    insta::assert_snapshot!(broken, @r#"the schema is not valid JSON Schema at `/properties/a/type`: "strin" is not valid under any of the schemas listed in the 'anyOf' keyword"#);
}
