//! Fuzzes the renderer of SDKs: tools of any schema, name and description (SDK-2, SDK-4, SDK-8).
//!
//! Owns four properties of a text, in either language: the parser of TypeScript reads it (Python is read back by Python
//! itself, in `tests/python_types.rs`); it is the same when it is rendered again, and when
//! the members of every object and the tools come the other way round; it is not longer than its input by more than a
//! factor; and it has no fence and no character that hides others. What the types mean is for the library's own tests.
#![no_main]

use std::sync::OnceLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use isolane::sdk::{self, SdkBundle, SdkLanguage, SdkOptions, SdkTool};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use swc_common::BytePos;
use swc_ecma_parser::{Parser, StringInput, Syntax, TsSyntax};

/// Bytes of text for each byte of the tools' JSON, beside what any text has: one type may be written with as many
/// branches as a combination of unions may have.
const FACTOR: usize = 64;

/// Texts that break text handling, beside those of a list in `../shared/data`, where it is there.
const NAUGHTY: &[&str] = &[
    "*/",
    "*\u{200b}/ declare const evil: 1; /*",
    "```",
    "`${x}`",
    "\u{202e}live",
    "\u{2028}\r\n\u{0}\u{1b}[0m",
    "\\",
    "\"",
    "__proto__",
    "constructor",
    "]: any; [x: string",
    "{{types}}",
    "größe 田中 👩‍👧",
    "\u{e0041}\u{feff}",
    "$ref",
    "0",
    "",
];

const KINDS: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object", "odd"];

/// Keywords that take a schema, a list of them, and a map of them.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
];
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const MAP: &[&str] = &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
const TEXT: &[&str] =
    &["description", "title", "format", "pattern", "$anchor", "$dynamicAnchor", "$id", "$schema"];
const SCALAR: &[&str] =
    &["default", "const", "minimum", "nullable", "deprecated", "readOnly", "minItems", "maxItems", "type"];

struct Tool {
    name: String,
    description: String,
    parameters: Value,
    output: Value,
}

impl<'a> Arbitrary<'a> for Tool {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self { name: text(u)?, description: text(u)?, parameters: schema(u, 40)?, output: schema(u, 40)? })
    }
}

fn naughty() -> &'static [String] {
    static LIST: OnceLock<Vec<String>> = OnceLock::new();
    LIST.get_or_init(|| {
        let shared = std::env::var("ISOLANE_SHARED").unwrap_or_else(|_| "../shared".to_owned());
        let list = std::fs::read(format!("{shared}/data/naughty-strings/blns.json")).ok();
        let mut all: Vec<String> =
            list.and_then(|list| serde_json::from_slice(&list).ok()).unwrap_or_default();
        all.extend(NAUGHTY.iter().map(|text| (*text).to_owned()));
        all
    })
}

fn text(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.int_in_range(0..=3)? {
        0 => u.choose(naughty())?.clone(),
        1 => String::arbitrary(u)?,
        _ => (*u.choose(&["a", "b", "c", "d"])?).to_owned(),
    })
}

fn reference(u: &mut Unstructured<'_>) -> Result<String> {
    let name = text(u)?;
    Ok(match u.int_in_range(0..=5)? {
        0 => "#".to_owned(),
        1 => format!("#/$defs/{}", name.replace('~', "~0").replace('/', "~1")),
        2 => format!("#/definitions/{name}"),
        3 => format!("#/properties/{name}/anyOf/0"),
        4 => format!("#{name}"),
        _ => name,
    })
}

fn scalar(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=5)? {
        0 => Value::Null,
        1 => json!(bool::arbitrary(u)?),
        2 => json!(i64::arbitrary(u)?),
        3 => json!(f64::arbitrary(u)?),
        4 => json!(u.int_in_range(0..=9)?),
        _ => json!(text(u)?),
    })
}

fn schemas(u: &mut Unstructured<'_>, depth: u8) -> Result<Vec<Value>> {
    (0..u.int_in_range(0..=6)?).map(|_| schema(u, depth)).collect()
}

fn schema(u: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    if depth == 0 || u.is_empty() {
        return Ok(json!(true));
    }
    let inner = depth - 1;
    let mut map = Map::new();
    for _ in 0..u.int_in_range(0..=5)? {
        let (keyword, value) = match u.int_in_range(0..=9)? {
            0 | 1 => ("type", json!(u.choose(KINDS)?)),
            2 => ("$ref", json!(reference(u)?)),
            3 => (*u.choose(ONE)?, schema(u, inner)?),
            4 => (*u.choose(LIST)?, Value::Array(schemas(u, inner)?)),
            5 | 6 => {
                let keyword = *u.choose(MAP)?;
                let members = schemas(u, inner)?.into_iter().map(|schema| Ok((text(u)?, schema)));
                (keyword, Value::Object(members.collect::<Result<_>>()?))
            }
            7 => (*u.choose(TEXT)?, json!(text(u)?)),
            8 => (*u.choose(SCALAR)?, scalar(u)?),
            _ => {
                let keyword = *u.choose(&["required", "enum", "type", "const"])?;
                let values = (0..u.int_in_range(0..=4)?).map(|_| scalar(u));
                (keyword, Value::Array(values.collect::<Result<_>>()?))
            }
        };
        map.insert(keyword.to_owned(), value);
    }
    Ok(Value::Object(map))
}

/// The same value with the members of every object the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(reversed).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

fn render<'a>(language: SdkLanguage, tools: impl Iterator<Item = &'a Tool>) -> SdkBundle {
    let tools: Vec<SdkTool<'_>> = tools
        .map(|Tool { name, description, parameters, output }| SdkTool {
            name,
            description,
            parameters,
            output,
        })
        .collect();
    sdk::render(language, &tools, &SdkOptions::default())
}

fn assert_typescript(text: &str) {
    let end = BytePos(u32::try_from(text.len()).unwrap() + 1);
    let mut parser =
        Parser::new(Syntax::Typescript(TsSyntax::default()), StringInput::new(text, BytePos(1), end), None);
    let failed = parser.parse_module().err();
    let errors: Vec<_> = parser.take_errors().into_iter().chain(failed).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(mut tools) = (0..3).map(|_| Tool::arbitrary(&mut u)).collect::<Result<Vec<_>>>() else { return };
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools.dedup_by(|one, other| one.name == other.name);
    let turned: Vec<Tool> = tools
        .iter()
        .rev()
        .map(|tool| Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: reversed(&tool.parameters),
            output: reversed(&tool.output),
        })
        .collect();
    let size: usize = tools
        .iter()
        .map(|tool| json!([tool.name, tool.description, tool.parameters, tool.output]).to_string().len())
        .sum();
    for language in [SdkLanguage::TypeScript, SdkLanguage::Python] {
        let bundle = render(language, tools.iter());
        assert_eq!(bundle, render(language, tools.iter()));
        assert_eq!(bundle, render(language, turned.iter()));
        check(&bundle.text, size);
        if language == SdkLanguage::TypeScript {
            assert_typescript(&bundle.text);
        }
    }
});

fn check(text: &str, size: usize) {
    assert!(text.len() <= 500_000 + FACTOR * size, "{} bytes of {size}", text.len());
    assert!(!text.contains("```"));
    let hides = |character: char| {
        character.is_control() && character != '\n'
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(hides), "{text:?}");
}
