//! Properties of the text over random schemas, and inputs made to hurt.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::random::{Tool, object_of, text, tools};
use super::{declared, declared_in_python, syntax_errors};
use crate::sdk::{SdkBundle, SdkLanguage, SdkOptions, SdkTool, render};

/// The text of each language, TypeScript first.
fn rendered(tools: &[Tool]) -> [SdkBundle; 2] {
    let tools: Vec<SdkTool<'_>> = tools.iter().map(Tool::face).collect();
    [SdkLanguage::TypeScript, SdkLanguage::Python]
        .map(|language| render(language, &tools, &SdkOptions::default()))
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
        let bundles = rendered(&distinct);
        let typescript = &bundles[0].text;
        prop_assert_eq!(syntax_errors(typescript), Vec::<String>::new(), "{}", typescript);
        prop_assert_eq!(&bundles, &rendered(&distinct));
        let shuffled: Vec<Tool> = distinct
            .iter()
            .rev()
            .map(|tool| Tool {
                parameters: reversed(&tool.parameters),
                output: reversed(&tool.output),
                ..tool.clone()
            })
            .collect();
        prop_assert_eq!(&bundles, &rendered(&shuffled));
        let hidden = |character: char| character.is_control() && character != '\n'
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        for bundle in &bundles {
            prop_assert!(!bundle.text.contains("```"));
            prop_assert!(!bundle.text.contains(hidden), "{:?}", &bundle.text);
        }
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
        let schema = deep(10_000, wrap);
        let text = declared(schema);
        assert_eq!(syntax_errors(&text), Vec::<String>::new(), "{index}");
        for text in [text, declared_in_python(schema)] {
            assert!(text.len() < 20_000, "{index}: {}", text.len());
        }
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
        let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        for text in [declared(&schema), declared_in_python(&schema)] {
            assert!(text.len() < 4_000, "{keyword}: {}", text.len());
        }
        // The same without names to lean on.
        let inline = (0..12).fold(json!({"type": "string"}), |inner, _| match keyword {
            "properties" => json!({"type": "object", "properties": {"a": inner, "b": inner}}),
            keyword => json!({keyword: [inner, inner]}),
        });
        for text in [declared(&inline), declared_in_python(&inline)] {
            assert!(text.len() < 4_000, "{keyword}: {}", text.len());
        }
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
    let schema = json!({"type": "object", "allOf": parts});
    for text in [declared(&schema), declared_in_python(&schema)] {
        assert!(text.len() < 20_000, "{}", text.len());
    }
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

/// SDK-8: what is long is written once, however often it is referred to.
#[test]
fn long_words_are_not_repeated_with_their_references() {
    let long = "words ".repeat(5_000);
    for target in [
        json!({"type": "string", "description": long}),
        json!({"const": long}),
        json!({"type": "string", "pattern": long}),
    ] {
        let members: Map<String, Value> =
            (0..500).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/K"}))).collect();
        let schema = json!({"$defs": {"K": target}, "type": "object", "properties": members});
        let size = schema.to_string().len();
        let output = json!(true);
        for language in [SdkLanguage::TypeScript, SdkLanguage::Python] {
            let text =
                render(language, &[super::tool("demo", &schema, &output)], &SdkOptions::default()).text;
            assert!(text.len() < 20_000 + 4 * size, "{language:?}: {} bytes of {size}", text.len());
        }
    }
}
