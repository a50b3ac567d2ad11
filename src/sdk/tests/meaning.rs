//! What a type means: which values are of it, and that none is lost on the way from the schema.
//!
//! Owns a judge over the intermediate form that goes by TypeScript's rules for a literal that is assigned. It knows
//! nothing of the text: that the text says what the form says is for the snapshots to show, and for a compiler.

use std::collections::BTreeSet;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::schema::ir::{IrBudget, Literal, ObjectType, Rest, Type, TypeId, TypeIr, compile, compile_object};

/// Whether a value is of the root type.
pub(super) fn accepts(ir: &TypeIr, value: &Value) -> bool {
    is_of(ir, ir.root, value)
}

/// Who says what the schema accepts; nothing when it is no schema.
pub(super) fn validator(schema: &Value) -> Option<Validator> {
    jsonschema::options().offline().build(schema).ok()
}

fn is_of(ir: &TypeIr, id: TypeId, value: &Value) -> bool {
    match ir.get(id) {
        Type::Json => true,
        Type::Never => false,
        Type::Null => value.is_null(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        Type::String => value.is_string(),
        Type::Literal(literal) => match (literal, value) {
            (Literal::Boolean(literal), Value::Bool(value)) => literal == value,
            (Literal::Number(literal), Value::Number(value)) => literal.parse::<f64>().ok() == value.as_f64(),
            (Literal::String(literal), Value::String(value)) => literal == value,
            _ => false,
        },
        Type::Array(item) => {
            value.as_array().is_some_and(|list| list.iter().all(|value| is_of(ir, *item, value)))
        }
        Type::Tuple { items, required, rest } => value.as_array().is_some_and(|list| {
            let rest = std::iter::repeat_n(rest.as_ref(), list.len().saturating_sub(items.len()));
            list.len() >= *required
                && list
                    .iter()
                    .zip(items.iter().map(Some).chain(rest))
                    .all(|(value, item)| item.is_some_and(|item| is_of(ir, *item, value)))
        }),
        Type::Object(object) => is_object_of(ir, object, value, &BTreeSet::new()),
        Type::Union(variants) => variants.iter().any(|variant| is_of(ir, variant.ty, value)),
        Type::Intersection(parts) => {
            let (common, others) = parts.split_first().unwrap();
            // What several intersections begin with may have a name.
            let common = match ir.get(*common) {
                Type::Named(definition) => ir.definition(*definition).unwrap().body,
                _ => *common,
            };
            let Type::Object(common) = ir.get(common) else { panic!("members come first") };
            // What it says of other keys counts only together with a branch.
            let open = ObjectType { rest: Rest::Open, ..common.clone() };
            let named = common.members.iter().map(|member| member.name.as_str()).collect();
            is_object_of(ir, &open, value, &named)
                && others.iter().all(|part| match ir.get(*part) {
                    Type::Object(object) => is_object_of(ir, object, value, &named),
                    Type::Union(variants) => variants.iter().any(|variant| match ir.get(variant.ty) {
                        Type::Object(object) => is_object_of(ir, object, value, &named),
                        _ => is_of(ir, variant.ty, value),
                    }),
                    _ => is_of(ir, *part, value),
                })
        }
        Type::Named(definition) => is_of(ir, ir.definition(*definition).unwrap().body, value),
    }
}

/// Keys that are `named` elsewhere are none of the object's other keys.
fn is_object_of(ir: &TypeIr, object: &ObjectType, value: &Value, named: &BTreeSet<&str>) -> bool {
    let Some(map) = value.as_object() else { return false };
    let members = object.members.iter().all(|member| match map.get(&member.name) {
        Some(value) => is_of(ir, member.ty, value),
        None => !member.required,
    });
    let is_member = |key: &str| object.members.iter().any(|member| member.name == key) || named.contains(key);
    members
        && map.iter().filter(|(key, _)| !is_member(key)).all(|(key, value)| {
            let mut patterns =
                object.patterns.iter().filter(|(pattern, _)| pattern.matches(key) == Some(true)).peekable();
            match (patterns.peek().is_some(), object.rest) {
                (true, _) => patterns.all(|(_, ty)| is_of(ir, *ty, value)),
                (false, Rest::Open) => true,
                (false, Rest::Closed) => false,
                (false, Rest::Of(ty)) => is_of(ir, ty, value),
            }
        })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(1.5),
        json!("a"),
        json!("ab"),
    ])
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&["a", "b", "ab", "ba", "c"][..]).prop_map(str::to_owned)
}

fn map_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), inner), 0..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()))
}

fn list_of(inner: impl Strategy<Value = Value>, least: usize) -> impl Strategy<Value = Value> {
    prop::collection::vec(inner, least..4).prop_map(Value::Array)
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| prop_oneof![1 => list_of(inner.clone(), 0), 2 => map_of(inner)])
}

/// One keyword and what it says.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let named = |names: &'static [&'static str]| prop::sample::select(names).prop_map(str::to_owned);
    let kind = || {
        let kinds = &["null", "boolean", "integer", "number", "string", "array", "object"][..];
        prop::sample::select(kinds).prop_map(Value::from)
    };
    let pattern =
        prop::sample::select(&["^a", "b$", "^ab$", "a", "", "^[ab]+$", "c|b"][..]).prop_map(str::to_owned);
    let patterns = prop::collection::vec((pattern.clone(), inner.clone()), 1..3)
        .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()));
    let names = || prop::collection::btree_set(key(), 0..4).prop_map(|names| json!(names));
    prop_oneof![
        3 => (Just("type".to_owned()), kind()),
        1 => (Just("type".to_owned()), (kind(), kind()).prop_filter("twice", |(a, b)| a != b).prop_map(|(a, b)| json!([a, b]))),
        1 => (Just("enum".to_owned()), list_of(value(), 1)),
        1 => (Just("const".to_owned()), value()),
        4 => (Just("properties".to_owned()), map_of(inner.clone())),
        1 => (Just("patternProperties".to_owned()), patterns),
        2 => (Just("required".to_owned()), names()),
        1 => (Just("propertyNames".to_owned()), prop_oneof![
            names().prop_map(|names| json!({"enum": names})),
            pattern.prop_map(|pattern| json!({"pattern": pattern})),
        ]),
        2 => (named(&["additionalProperties", "unevaluatedProperties"]), prop_oneof![Just(json!(false)), inner.clone()]),
        4 => (named(&["allOf", "anyOf", "oneOf"]), list_of(inner.clone(), 1)),
        1 => (Just("prefixItems".to_owned()), list_of(inner.clone(), 1)),
        2 => (named(&["items", "contains", "unevaluatedItems"]), prop_oneof![Just(json!(false)), inner.clone()]),
        1 => (named(&["not", "if", "then", "else"]), inner.clone()),
        1 => (named(&["minItems", "maxItems", "minProperties", "maxProperties"]), (0_u8..4).prop_map(Value::from)),
        1 => (Just("dependentSchemas".to_owned()), map_of(inner)),
        1 => (named(&["description", "title"]), Just(json!("words"))),
    ]
    .boxed()
}

/// A schema whose references, if it makes any, lead to `$defs/a` and `$defs/b`.
fn schema(references: bool) -> BoxedStrategy<Value> {
    let leaf =
        prop_oneof![Just(json!(true)), Just(json!({})), scalar().prop_map(|value| json!({"const": value}))];
    let leaf = if references {
        let reference = prop::sample::select(&["a", "b"][..]);
        prop_oneof![leaf, reference.prop_map(|name| json!({"$ref": format!("#/$defs/{name}")}))].boxed()
    } else {
        leaf.boxed()
    };
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..4)
            .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()))
    })
    .boxed()
}

/// A schema with definitions, in which only members and elements refer back: so that every value has an end.
fn document() -> impl Strategy<Value = Value> {
    let definition = (schema(false), schema(true))
        .prop_map(|(own, inner)| json!({"allOf": [own], "properties": {"a": inner}, "items": inner}));
    (schema(true), definition.clone(), definition).prop_map(|(schema, a, b)| match schema {
        Value::Object(mut map) => {
            map.insert("$defs".to_owned(), json!({"a": a, "b": b}));
            Value::Object(map)
        }
        whole => whole,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// SDK-5: a type may be wider than its schema, and never is narrower.
    #[test]
    fn what_a_schema_accepts_is_of_its_type(schema in document(), values in prop::collection::vec(value(), 12)) {
        let Some(validator) = validator(&schema) else { return Ok(()) };
        let budget = IrBudget::default();
        let (ir, arguments) = (compile(&schema, &budget), compile_object(&schema, &budget));
        for value in values.iter().filter(|value| validator.is_valid(value)) {
            prop_assert!(accepts(&ir, value), "{value} is lost: {ir:#?}");
            prop_assert!(!value.is_object() || accepts(&arguments, value), "{value} is lost: {arguments:#?}");
        }
    }
}
