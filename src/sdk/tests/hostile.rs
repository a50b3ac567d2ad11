//! Properties of the text over random schemas, and inputs made to hurt.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{declared, render, syntax_errors};
use crate::sdk::{SdkBundle, SdkTool};

/// Texts that break text handling.
const NAUGHTY: &[&str] = &[
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

fn text() -> impl Strategy<Value = String> {
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

fn object_of(entries: Vec<(String, Value)>) -> Value {
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

#[derive(Debug, Clone)]
struct Tool {
    name: String,
    description: String,
    parameters: Value,
    output: Value,
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = (text(), text(), schema(), schema())
        .prop_map(|(name, description, parameters, output)| Tool { name, description, parameters, output });
    prop::collection::vec(tool, 0..4)
}

fn rendered(tools: &[Tool]) -> SdkBundle {
    let tools: Vec<SdkTool<'_>> = tools
        .iter()
        .map(|tool| SdkTool {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            output: &tool.output,
        })
        .collect();
    render(&tools)
}

/// The same value with the members of every object the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(reversed).collect(),
        Value::Object(map) => {
            map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect::<Map<_, _>>().into()
        }
        scalar => scalar.clone(),
    }
}

proptest! {
    /// SDK-2, SDK-4, SDK-5
    #[test]
    fn any_schema_renders_to_the_same_readable_text(tools in tools()) {
        let mut distinct: Vec<Tool> = Vec::new();
        for tool in tools {
            if !distinct.iter().any(|known| known.name == tool.name) {
                distinct.push(tool);
            }
        }
        let bundle = rendered(&distinct);
        prop_assert_eq!(syntax_errors(&bundle.text), Vec::<String>::new(), "{}", &bundle.text);
        prop_assert_eq!(&bundle, &rendered(&distinct));
        let shuffled: Vec<Tool> = distinct
            .iter()
            .rev()
            .map(|tool| Tool {
                parameters: reversed(&tool.parameters),
                output: reversed(&tool.output),
                ..tool.clone()
            })
            .collect();
        prop_assert_eq!(&bundle, &rendered(&shuffled));
        prop_assert!(!bundle.text.contains("```"));
        let hidden = |character: char| character.is_control() && character != '\n'
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        prop_assert!(!bundle.text.contains(hidden), "{:?}", &bundle.text);
    }

    /// SDK-4
    #[test]
    fn a_description_adds_nothing_but_its_comment(description in text()) {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": description}}});
        let text = declared(&schema);
        let starts: Vec<usize> = text.match_indices("/**").map(|(at, _)| at).collect();
        let bare = match starts.first() {
            Some(start) => {
                let end = text[*start..].find("*/").unwrap() + start + 2;
                format!("{}{}", &text[..*start].trim_end(), &text[end..])
            }
            None => text.clone(),
        };
        let words: Vec<&str> = bare.split_whitespace().collect();
        let expected = "interface ToolArgsMap { demo: { a?: string; } & JsonObject; }";
        prop_assert_eq!(words.join(" ").replace("demo: {a", "demo: { a").replace("string }", "string; }"), expected);
    }
}

/// A schema nested in itself, without the recursion that dropping it would need.
fn deep(levels: usize, wrap: impl Fn(Value) -> Value) -> &'static Value {
    let schema = (0..levels).fold(json!({"type": "string"}), |inner, _| wrap(inner));
    Box::leak(Box::new(schema))
}

/// An object that takes its parts over: `json!` would copy them, level by level.
fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    object_of(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// SDK-8, T-8
#[test]
fn ten_thousand_levels_are_no_trouble() {
    let wraps: [fn(Value) -> Value; 9] = [
        |inner| object([("type", json!("object")), ("properties", object([("a", inner)]))]),
        |inner| object([("type", json!("array")), ("items", inner)]),
        |inner| object([("allOf", Value::Array(vec![inner]))]),
        |inner| object([("allOf", Value::Array(vec![inner, json!({"required": ["x"]})]))]),
        |inner| object([("anyOf", Value::Array(vec![inner, json!({"type": "null"})]))]),
        |inner| {
            let branches = Value::Array(vec![json!({"type": "object"}), inner]);
            object([("oneOf", branches), ("required", json!(["x"]))])
        },
        |inner| object([("not", inner)]),
        |inner| object([("const", Value::Array(vec![inner]))]),
        |inner| object([("default", object([("a", inner)])), ("type", json!("string"))]),
    ];
    for (index, wrap) in wraps.into_iter().enumerate() {
        let text = declared(deep(10_000, wrap));
        assert_eq!(syntax_errors(&text), Vec::<String>::new(), "{index}");
        assert!(text.len() < 20_000, "{index}: {}", text.len());
    }
}

/// SDK-8
#[test]
fn doubling_thirty_times_stays_small() {
    let twice = |keyword: &str, next: usize| match keyword {
        "properties" => {
            json!({"type": "object", "properties": {"a": {"$ref": format!("#/$defs/d{next}")}, "b": {"$ref": format!("#/$defs/d{next}")}}})
        }
        keyword => {
            json!({keyword: [{"$ref": format!("#/$defs/d{next}")}, {"$ref": format!("#/$defs/d{next}"), "title": "again"}]})
        }
    };
    for keyword in ["properties", "allOf", "anyOf", "prefixItems"] {
        let mut definitions: Map<String, Value> =
            (0..30).map(|index| (format!("d{index}"), twice(keyword, index + 1))).collect();
        definitions
            .insert("d30".to_owned(), json!({"type": "object", "properties": {"x": {"type": "string"}}}));
        let text = declared(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
        assert!(text.len() < 4_000, "{keyword}: {}", text.len());
        // The same without names to lean on.
        let inline = (0..12).fold(json!({"type": "string"}), |inner, _| match keyword {
            "properties" => json!({"type": "object", "properties": {"a": inner, "b": inner}}),
            keyword => json!({keyword: [inner, inner]}),
        });
        assert!(declared(&inline).len() < 4_000, "{keyword}");
    }
}

/// SDK-8
#[test]
fn unions_that_multiply_are_cut_short() {
    let union = |index: usize| {
        let branches: Vec<Value> =
            (0..10).map(|branch| json!({"properties": {format!("p{index}"): {"const": branch}}})).collect();
        json!({"anyOf": branches})
    };
    let parts: Vec<Value> = (0..10).map(union).collect();
    let text = declared(&json!({"type": "object", "allOf": parts}));
    assert!(text.len() < 20_000, "{}", text.len());
}

/// Unions beside each other, `levels` deep, whose every combination is another type all the way down.
fn multiplying(levels: usize) -> Value {
    let mut schema = json!({});
    for level in 0..levels {
        let union = |side: &str| {
            let branch = |number: usize| {
                let tag = json!({"properties": {format!("{side}{level}"): {"const": number}}});
                (0..=level).fold(tag, |inner, _| json!({"properties": {"p": inner}}))
            };
            json!({"anyOf": (0..8).map(branch).collect::<Vec<_>>()})
        };
        schema = json!({"type": "object", "properties": {"p": schema}, "allOf": [union("a"), union("b")]});
    }
    schema
}

/// SDK-8: neither the text nor the work grows faster than the schema.
#[test]
fn unions_that_multiply_level_by_level_stay_in_proportion() {
    for levels in 1..6 {
        let schema = multiplying(levels);
        let (text, size) = (declared(&schema), schema.to_string().len());
        assert!(text.len() <= 100_000 + 50 * size, "{levels} levels: {} of {size}", text.len());
    }
    // A union beside many members, each of its branches with all of them.
    let names: Vec<String> = (0..400).map(|index| format!("member_{index}")).collect();
    let members = object_of(names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect());
    let branches: Vec<Value> = names.iter().map(|name| json!({"required": [name]})).collect();
    let schema = json!({"type": "object", "properties": members, "anyOf": branches});
    let (text, size) = (declared(&schema), schema.to_string().len());
    assert!(text.len() <= 100_000 + 50 * size, "{} of {size}", text.len());
}
