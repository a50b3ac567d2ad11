//! What is Python's own in the text: how tools are reached, what is imported, which names and words are harmless.
//!
//! Whether Python and its checkers agree is for `tests/python_types.rs` to ask; the text of each construct is in
//! `constructs` and `fixtures`.

use serde_json::{Value, json};

use super::{declared_in_python, tool};
use crate::sdk::{self, SdkBundle, SdkLanguage, SdkOptions, SdkTool};

fn render(tools: &[SdkTool<'_>]) -> SdkBundle {
    sdk::render(SdkLanguage::Python, tools, &SdkOptions::default())
}

/// The line that imports.
fn imported(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("from typing import ")).unwrap()
}

/// SDK-7, SDK-11
#[test]
fn the_whole_text() {
    let search = json!({
        "type": "object", "required": ["query"],
        "properties": {"query": {"type": "string", "description": "Words to look for."}, "limit": {"type": "integer", "default": 10}}
    });
    let hits = json!({"type": "array", "items": {"type": "string"}, "description": "Paths, best first."});
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tools = [
        SdkTool { name: "search", description: "Searches the tree.", parameters: &search, output: &hits },
        SdkTool { name: "my-tool", description: "", parameters: &none, output: &json!({}) },
        SdkTool { name: "ping", description: "", parameters: &none, output: &json!({"type": "null"}) },
        SdkTool { name: "list", description: "{{types}}", parameters: &search, output: &json!(true) },
    ];
    let bundle = render(&tools);
    assert_eq!((bundle.tools, bundle.bytes), (4, bundle.text.len()));
    assert_eq!(bundle.names, ["list", "my-tool", "ping", "search"]);
    insta::assert_snapshot!(bundle.text);
}

/// SDK-7
#[test]
fn no_tools_still_make_a_text() {
    let bundle = render(&[]);
    assert_eq!(imported(&bundle.text), "Protocol, TypeAlias, Union");
    assert!(
        bundle.text.ends_with("    \"\"\"Everything that can be called.\"\"\"\n\ntools: Tools\n"),
        "{}",
        bundle.text
    );
}

/// SDK-7: strict checkers want an overload to have a second, and an import a use.
#[test]
fn a_single_subscript_is_no_overload() {
    let none = json!({"type": "object", "required": ["a"]});
    let any = json!(true);
    let text = |names: &[&str]| {
        let tools: Vec<SdkTool<'_>> = names.iter().map(|name| tool(name, &none, &any)).collect();
        render(&tools).text
    };
    let one = text(&["a-b", "c"]);
    assert_eq!(imported(&one), "Awaitable, Callable, Literal, Protocol, TypeAlias, TypedDict, Union");
    assert!(one.contains("    def __getitem__(self, name: Literal[\"a-b\"]) -> Callable[[AB_Args], Awaitable[JsonValue]]: ...\n"), "{one}");
    let two = text(&["a-b", "c", "d-e"]);
    assert_eq!(two.matches("    @overload\n    def __getitem__").count(), 2, "{two}");
    assert!(imported(&two).ends_with(", overload"));
}

/// SDK-7: what is reserved, hides what annotations use, or is given another meaning, is reached by a subscript.
#[test]
fn odd_names_of_tools_are_subscripts() {
    let any = json!(true);
    let odd = [
        "",
        "2fa",
        "__getitem__",
        "__init__",
        "__secret",
        "a\"b",
        "a.b",
        "class",
        "None",
        "list",
        "str",
        "Literal",
        "overload",
        "JsonValue",
        "Odd_Args",
        "größe",
        "👩‍👧",
        "\u{202e}x",
        "x\n    def evil(self) -> None: ...",
    ];
    let plain = ["self", "Tools", "tools", "match", "_", "ToolCallError", "cls", "args", "print"];
    let tools: Vec<SdkTool<'_>> = odd.iter().chain(&plain).map(|name| tool(name, &any, &any)).collect();
    let text = render(&tools).text;
    for name in plain {
        assert!(text.contains(&format!("\n    async def {name}(self, args: ")), "{name}: {text}");
    }
    assert_eq!(text.matches("\n    def __getitem__(self, name: Literal[").count(), odd.len(), "{text}");
    assert_eq!(
        text.matches("def ").count(),
        odd.len() + plain.len() + 2,
        "one in a name, one of a helper: {text}"
    );
}

/// SDK-7: a class body would take such a key for something else; SDK-4.
#[test]
fn odd_keys_take_the_other_syntax() {
    for key in ["class", "a-b", "__x", "list", "Demo_Args", "größe", "ﬁ"] {
        let text = declared_in_python(&json!({"properties": {key: {"type": "string"}}, "required": [key]}));
        assert!(
            text.starts_with(&format!("Demo_Args = TypedDict(\"Demo_Args\", {{\n    \"{key}\": str,\n")),
            "{text}"
        );
    }
    // No class can have it, so none says that it has not.
    let text =
        declared_in_python(&json!({"properties": {"": {"type": "string"}}, "additionalProperties": false}));
    assert!(text.contains("args: dict[str, str] = ...") && text.contains("The key \"\": str"), "{text}");
}

/// SDK-4: whatever is said stays in its comment or docstring, and gives no orders to a checker.
#[test]
fn words_stay_where_they_are() {
    for words in [
        "\"\"\"\n    evil: int\n    \"\"\"",
        "ends with \"",
        "ends with \\",
        "type: ignore",
        "x # type: ignore",
        "mypy: ignore-errors",
        "a\u{2028}evil: int\r\nevil: int",
        "```\nevil",
    ] {
        let schema = json!({
            "description": words, "required": ["a"],
            "properties": {"a": {"type": "string", "description": words, "default": words}, "b": {"$ref": "#/$defs/b"}},
            "$defs": {"b": {"description": words, "type": "object", "required": ["x"], "properties": {"x": true}}}
        });
        let described = SdkTool { name: "demo", description: words, parameters: &schema, output: &schema };
        let text = render(&[described]).text;
        let mut in_docstring = false;
        for line in text.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches("\"\"\"").count();
            let code = line.split('#').next().unwrap();
            let orders = code.contains("evil") || line.contains("# type:") || line.contains("# mypy:");
            assert!(in_docstring || quotes > 0 || !orders, "{text}");
            in_docstring ^= quotes == 1;
        }
        assert!(!in_docstring && !text.contains("```"), "{text}");
    }
}

/// SDK-8: what the branches share is written once, with keys of any kind.
#[test]
fn branches_stand_on_what_they_share() {
    let branches: Vec<Value> =
        ["number", "commit-sha"].iter().map(|key| json!({"required": [key]})).collect();
    let text = declared_in_python(&json!({
        "type": "object", "required": ["owner", "repo"],
        "properties": {
            "owner": {"type": "string", "description": "Account that owns the repository."},
            "repo": {"type": "string", "description": "Name of the repository."},
            "number": {"type": "integer"}, "commit-sha": {"type": "string"}
        },
        "anyOf": branches
    }));
    insta::assert_snapshot!(text);
}

/// SDK-7: what no class can name is no base of one.
#[test]
fn branches_that_share_a_key_without_a_name_stand_alone() {
    let words = "Said of a key that has no name, so that it is worth to be written once.";
    let branches: Vec<Value> =
        ["number", "commit-sha"].iter().map(|key| json!({"required": [key]})).collect();
    let text = declared_in_python(&json!({
        "type": "object", "required": [""],
        "properties": {
            "": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": words},
            "number": {"type": "integer"}, "commit-sha": {"type": "string"}
        },
        "anyOf": branches
    }));
    insta::assert_snapshot!(text);
}

/// SDK-7, SDK-8
#[test]
fn long_unions_are_no_chain_and_one_literal() {
    let names: Vec<String> = (0..500).map(|index| format!("v{index}")).collect();
    let text = declared_in_python(&json!({"properties": {"a": {"enum": names}}}));
    assert_eq!(text.matches("Literal[").count(), 1);
    let objects: Vec<Value> = names
        .iter()
        .map(|name| json!({"type": "object", "required": [name], "properties": {name: true}}))
        .collect();
    let text = declared_in_python(&json!({"properties": {"a": {"anyOf": objects}}}));
    assert!(text.contains("a: Union[Demo_A, Demo_A2, "), "{text}");
}
