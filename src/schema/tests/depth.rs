//! Depths that no stack would bear (T-8).

use super::*;

const DEEP: usize = 30_000;

fn nested(depth: usize, mut value: Value, wrap: impl Fn(Value) -> Value) -> Value {
    for _ in 0..depth {
        value = wrap(value);
    }
    value
}

/// Moved in, not copied: `json!` would copy level by level.
fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn deep_schema(depth: usize) -> Value {
    nested(depth, json!({"type": "string"}), |items| object([("type", json!("array")), ("items", items)]))
}

/// T-8
#[test]
fn a_schema_of_any_depth_is_compiled_or_refused_and_overflows_nothing() {
    assert!(Schema::compile(deep_schema(500)).is_ok());
    assert!(Schema::compile_author(deep_schema(500)).is_ok());
    for compile in [Schema::compile, Schema::compile_author] {
        let error = compile(deep_schema(DEEP)).unwrap_err();
        assert_eq!(error.to_string(), "the schema is nested more than 512 levels deep");
    }
}

/// T-6, T-8
#[test]
fn properties_of_any_depth_overflow_nothing() {
    let mut kind = PropertyKind::String;
    for level in 0..DEEP {
        kind = match level % 3 {
            0 => PropertyKind::Array(Box::new(kind)),
            1 => PropertyKind::OneOf(vec![kind]),
            _ => PropertyKind::Object(vec![Property::new("a", kind).required().describe("deep")]),
        };
    }
    let schema = super::super::object(vec![Property::new("a", kind)]);
    assert!(crate::json::depth_exceeds(&schema, DEEP));
    crate::json::dismantle(schema);
}

/// T-8: a schema that refers to itself has the validator recurse with the value.
#[test]
fn a_value_of_any_depth_is_validated_or_refused() {
    let recursive = json!({
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    });
    let any = json!({"uniqueItems": true, "const": [], "not": {"enum": [[[]]]}});
    for schema in [recursive, any] {
        let schema = Schema::compile(schema).unwrap();
        let level = |value| Value::Array(vec![value]);
        for innermost in [json!([]), json!([1])] {
            let fits = nested(MAX_VALUE_DEPTH - 2, innermost, level);
            let _ = schema.validate(&fits);
        }
        let deep = nested(DEEP, json!([]), level);
        assert_eq!(
            schema.validate(&deep).unwrap_err().to_string(),
            "the value is nested more than 512 levels deep; pass a flatter one"
        );
        crate::json::dismantle(deep);
    }
}

/// T-8: a schema from outside may go round in large circles for each level of a value; the stack of a small thread is
/// enough all the same, or the value is refused.
#[test]
fn long_chains_of_references_overflow_nothing() {
    let circle = |hops: usize| {
        let hop = |n: usize| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
        let last = (format!("d{hops}"), json!({"type": "array", "items": {"$ref": "#/$defs/d0"}}));
        let defs: serde_json::Map<_, _> = (0..hops).map(hop).chain([last]).collect();
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    };
    for hops in [10, 300, 5_000] {
        let validating = move || {
            let schema = Schema::compile(circle(hops)).unwrap();
            for (innermost, fits) in [(json!([]), true), (json!([1]), false)] {
                let value = nested(126, innermost, |value| Value::Array(vec![value]));
                let told = schema.validate(&value).map_err(|problems| problems.to_string());
                match hops {
                    5_000 => assert!(told.unwrap_err().starts_with("the value is nested more than")),
                    _ => assert_eq!(told.is_ok(), fits),
                }
                assert!(schema.validate(&json!([[[]]])).is_ok());
            }
        };
        let small = std::thread::Builder::new().stack_size(512 * 1024);
        small.spawn(validating).unwrap().join().unwrap();
    }
}
