//! Random schemas and tools, and texts made to hurt.
//!
//! Owns the strategies, shared with `tests/python_types.rs`, which includes this file: it may name the library's
//! public items alone, through what includes it. It checks nothing.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::SdkTool;

/// Texts that break text handling.
pub(crate) const NAUGHTY: &[&str] = &[
    "",
    "*/",
    "/*",
    "*\u{200d}/ declare const x: 1",
    "```",
    "````ts\nevil",
    "`${x}`",
    "\u{202e}live",
    "\u{2028}",
    "\u{0}\u{1b}[0m",
    "\\",
    "\\u0022",
    "\"",
    "'; drop",
    "__proto__",
    "constructor",
    "toString",
    "then",
    "class",
    "a.b",
    "a-b",
    "A_b",
    "größe",
    "田中さん",
    "👩‍👧",
    "{{types}}",
    "</script>",
    "@deprecated",
    "0",
    "1e3",
    "]: any; [x: string",
    "\u{e0041}",
    "\u{feff}",
    "line\r\nbreak",
    "x?: never; y",
    "// end",
    "$ref",
];

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(NAUGHTY).prop_map(str::to_owned), "[a-d]{1,2}", any::<String>(),]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-d]", 1 => text()]
}

fn reference() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just("#".to_owned()),
        "[a-d]".prop_map(|name| format!("#/$defs/{name}")),
        "[a-d]".prop_map(|name| format!("#/properties/{name}")),
        Just("#/nowhere".to_owned()),
        Just("#anchor".to_owned()),
        text(),
    ]
    .prop_map(|target| json!({"$ref": target}))
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        prop::sample::select(&["null", "boolean", "integer", "string", "array", "object", "odd"][..])
            .prop_map(|ty| json!({"type": ty})),
        prop::collection::vec(scalar(), 0..4).prop_map(|values| json!({"enum": values})),
        (scalar(), scalar()).prop_map(|(a, b)| json!({"const": [a, {"k": b}]})),
        reference(),
        scalar(),
    ]
}

pub(crate) fn object_of(entries: Vec<(String, Value)>) -> Value {
    Value::Object(entries.into_iter().collect::<Map<_, _>>())
}

/// One keyword with its value.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
    let map = prop::collection::vec((key(), inner.clone()), 0..4).prop_map(object_of);
    let named = |names: &'static [&'static str]| prop::sample::select(names).prop_map(str::to_owned);
    prop_oneof![
        (named(&["properties", "$defs", "patternProperties"]), map),
        (named(&["allOf", "anyOf", "oneOf", "prefixItems", "items"]), list),
        (
            named(&[
                "items",
                "additionalProperties",
                "additionalItems",
                "not",
                "if",
                "then",
                "else",
                "propertyNames",
                "unevaluatedProperties",
                "unevaluatedItems"
            ]),
            inner
        ),
        (
            named(&["description", "title", "format", "pattern", "$anchor", "$id", "type"]),
            text().prop_map(Value::from)
        ),
        (named(&["default", "minimum", "deprecated", "nullable", "minItems", "maxItems"]), scalar()),
        (named(&["minItems", "maxItems"]), (0_u8..5).prop_map(Value::from)),
        (Just("required".to_owned()), prop::collection::vec(key(), 0..3).prop_map(Value::from)),
        (Just("type".to_owned()), prop::sample::select(&["object", "array"][..]).prop_map(Value::from)),
        (Just("nullable".to_owned()), Just(json!(true))),
        (Just("$ref".to_owned()), reference().prop_map(|schema| schema["$ref"].clone())),
    ]
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 60, 6, |inner| prop::collection::vec(keyword(inner), 1..6).prop_map(object_of))
}

/// A tool that owns what its face borrows.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) output: Value,
}

impl Tool {
    pub(crate) fn face(&self) -> SdkTool<'_> {
        SdkTool {
            name: &self.name,
            description: &self.description,
            parameters: &self.parameters,
            output: &self.output,
        }
    }
}

pub(crate) fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = (text(), text(), schema(), schema())
        .prop_map(|(name, description, parameters, output)| Tool { name, description, parameters, output });
    prop::collection::vec(tool, 0..4)
}
