//! One snapshot per construct of JSON Schema, and the rules about the text as a whole.

use serde_json::{Value, json};

use super::{declared, declared_in_python, python_entry, render, syntax_errors, tool};
use crate::sdk::{SdkOptions, SdkTool, render_tool_declaration};

/// Checks the text of one construct, in each language, against the snapshots of the test's name.
macro_rules! construct {
    ($schema:tt) => {
        let schema = json!($schema);
        let text = declared(&schema);
        assert_eq!(syntax_errors(&text), Vec::<String>::new(), "{text}");
        insta::assert_snapshot!(text);
        insta::with_settings!({snapshot_suffix => "python"}, {
            insta::assert_snapshot!(declared_in_python(&schema));
        });
    };
}

/// SDK-2, SDK-11
#[test]
fn members_are_sorted_required_first() {
    construct!({
        "type": "object", "required": ["zone", "city"],
        "properties": {
            "b": {"type": "integer"}, "zone": {"type": "string"}, "a": {"type": "boolean"},
            "city": {"type": "string"}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn closed_objects_name_all_their_keys() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "empty": {"type": "object", "additionalProperties": false},
            "inner": {"type": "object", "properties": {"x": {}}, "additionalProperties": false},
            "bare": {"type": "object"}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn literals_from_enum_and_const() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "mixed": {"enum": ["on", 0, 1.5, false, null]},
            "tag": {"const": "v2"},
            "pair": {"const": [1, "x"]},
            "point": {"const": {"y": 2, "x": 1}},
            "filtered": {"type": "string", "enum": ["a", null, 3]},
            "huge": {"const": 9_007_199_254_740_993_u64},
            "both": {"enum": [true, false]}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn lists_of_types() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "a": {"type": ["array", "null"], "items": {"type": ["string", "integer"]}},
            "all": {"type": ["null", "boolean", "number", "string", "array", "object"]},
            "odd": {"type": "file"},
            "nullable": {"type": "string", "nullable": true}
        }
    });
}

/// SDK-5, SDK-11: that numbers are whole is said where no branch admits others.
#[test]
fn whole_numbers_are_told() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "plain": {"type": "integer", "description": "How many.", "readOnly": true, "minimum": 0},
            "maybe": {"type": ["integer", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "some": {"type": "array", "items": {"type": "integer", "description": "Numbers of items."}},
            "more": {"type": ["array", "null"], "items": {"type": "integer"}},
            "both": {"allOf": [{"type": "number"}, {"type": "integer"}]},
            "named": {"$ref": "#/$defs/count"},
            "listed": {"type": "integer", "enum": [1, 2]},
            "not_all": {"anyOf": [{"type": "integer"}, {"type": "number", "maximum": 0.5}]},
            "any": {"anyOf": [{"type": "integer"}, {}]},
            "wide": {"type": ["integer", "number"]}
        },
        "$defs": {"count": {"type": "integer", "description": "A count of things that are counted in many places."}}
    });
}

/// SDK-5, SDK-11
#[test]
fn keywords_without_a_type_leave_other_kinds_alone() {
    construct!({
        "additionalProperties": false,
        "properties": {"members": {"properties": {"a": {"type": "string"}}}, "items": {"items": {"type": "number"}}}
    });
}

/// SDK-5, SDK-11
#[test]
fn tuples_of_every_kind() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "closed": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": false, "minItems": 2},
            "open": {"type": "array", "prefixItems": [{"type": "number"}]},
            "rest": {"type": "array", "prefixItems": [{"type": "number"}], "items": {"type": "string"}, "minItems": 1},
            "optional": {"type": "array", "prefixItems": [{"type": "number"}, {"enum": ["a", "b"]}], "items": false, "minItems": 1},
            "fixed": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "some": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9},
            "many": {"type": "array", "items": {"type": "string"}, "minItems": 40},
            "none": {"type": "array", "maxItems": 0}
        }
    });
}

/// SDK-5, SDK-11: a list of `items` is of an older draft, to which `prefixItems` is no keyword.
#[test]
fn tuples_of_older_drafts() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "closed": {"type": "array", "items": [{"type": "number"}], "additionalItems": false, "minItems": 1},
            "rest": {"type": "array", "items": [{"type": "number"}], "additionalItems": {"type": "string"}, "minItems": 1},
            "word": {"type": "array", "prefixItems": [{"type": "number"}]}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn index_signatures_admit_the_named_members() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
            "mixed": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"], "additionalProperties": {"type": "boolean"}},
            "prefixed": {"type": "object", "properties": {"x-id": {"type": "string"}, "y": {"type": "string"}}, "patternProperties": {"^x-": {"type": "number"}}, "additionalProperties": false},
            "nested": {"type": "object", "patternProperties": {"^x-": {"type": "number"}, "^x-a": {"type": "string"}, "`$": {"type": "null"}}},
            "unclear": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "number"}}, "additionalProperties": false},
            "listed": {"type": "object", "propertyNames": {"enum": ["b", "a"]}, "additionalProperties": {"type": "number"}}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn members_of_any_value_leave_their_neighbours_admitted() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "typed": {"type": "object", "properties": {"any": {}, "pair": {"type": "array", "prefixItems": [{"type": "number"}]}}, "additionalProperties": {"type": "string"}},
            "prefixed": {"type": "object", "properties": {"x-pair": {"type": "array", "prefixItems": [{"type": "number"}]}}, "patternProperties": {"^x-": {}}, "additionalProperties": false}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn unions_stay_discriminable() {
    construct!({
        "type": "object", "required": ["shape"], "additionalProperties": false,
        "properties": {"shape": {
            "type": "object",
            "oneOf": [
                {"title": "Circle", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                {"description": "Four sides.", "properties": {"kind": {"const": "box"}, "w": {"type": "number"}}, "required": ["kind", "w"]}
            ]
        }}
    });
}

/// SDK-5, SDK-11
#[test]
fn members_that_all_branches_share_are_written_once() {
    construct!({
        "type": "object", "required": ["owner", "repo"],
        "properties": {
            "owner": {"type": "string", "description": "Account that owns the repository."},
            "repo": {"type": "string", "description": "Name of the repository."},
            "number": {"type": "integer"}, "sha": {"type": "string"}
        },
        "anyOf": [{"required": ["number"]}, {"required": ["sha"]}]
    });
}

/// SDK-5, SDK-11
#[test]
fn all_of_merges_and_distributes() {
    construct!({
        "additionalProperties": false,
        "properties": {
            "merged": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a", "b"]}]},
            "distributed": {"allOf": [
                {"oneOf": [{"type": "object", "required": ["id"], "properties": {"id": {"type": "number"}}}, {"type": "null"}]},
                {"properties": {"role": {"type": "string"}}, "required": ["role"]}
            ]},
            "impossible": {"allOf": [{"type": "string"}, {"type": "number"}]},
            "conditional": {"type": "object", "if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn references_of_every_kind_are_names() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "by_path": {"$ref": "#/$defs/point"},
            "described": {"description": "Where to go.", "allOf": [{"$ref": "#/$defs/point"}]},
            "nullable": {"$ref": "#/$defs/point", "nullable": true},
            "escaped": {"$ref": "#/definitions/a~1b%20~0c"},
            "anchored": {"$ref": "#there"},
            "by_id": {"$ref": "other.json#/$defs/inner"},
            "into_place": {"$ref": "#/properties/merged"},
            "merged": {"$ref": "#/$defs/point", "required": ["z"]},
            "dangling": {"$ref": "#/$defs/nowhere"},
            "plain": {"$ref": "#/$defs/id"},
            "circular": {"$ref": "#/$defs/loop"}
        },
        "$defs": {
            "point": {"type": "object", "description": "A place.", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}},
            "there": {"$anchor": "there", "enum": ["a", "b", "c", "d"]},
            "id": {"type": "string", "description": "An id."},
            "other": {"$id": "other.json", "$defs": {"inner": {"type": "object", "required": ["self"], "properties": {"self": {"$ref": "#/$defs/name"}}}, "name": {"type": "string"}}},
            "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "string"}]}
        },
        "definitions": {"a/b ~c": {"type": "object", "required": ["q"], "properties": {"q": {"type": "null"}}}}
    });
}

/// SDK-5, SDK-11, T-8
#[test]
fn recursive_types_are_names() {
    construct!({
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {"type": "object", "required": ["left"], "properties": {"left": {"$ref": "#/$defs/leaf"}, "up": {"$ref": "#"}}},
            "leaf": {"type": "object", "properties": {"trees": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
        }
    });
}

/// SDK-8, SDK-11
#[test]
fn equal_large_parts_are_written_once() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "home": {"type": "object", "required": ["street"], "properties": {"street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string"}, "country": {"type": "string"}}},
            "work": {"type": "object", "required": ["street"], "properties": {"zip": {"type": "string"}, "street": {"type": "string"}, "city": {"type": "string"}, "country": {"type": "string"}}}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn annotations_become_tags() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "page": {"type": "integer", "description": "Page to read.", "minimum": 1, "maximum": 100, "default": 1},
            "when": {"type": "string", "format": "date-time", "readOnly": true},
            "old": {"type": "string", "deprecated": true, "description": "Use `new`.\nIt is better."},
            "code": {"type": "string", "pattern": "^[A-Z]*/", "minLength": 2},
            "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string", "description": "One tag."}},
            "title_only": {"type": "string", "title": "Title Only"},
            "said": {"type": "string", "title": "What to say"}
        }
    });
}

/// SDK-5, SDK-11
#[test]
fn what_cannot_be_said_widens() {
    construct!({
        "type": "object", "required": ["x"], "additionalProperties": false,
        "properties": {
            "x": {"not": {"type": "string"}}, "never": {"not": {}}, "yes": true, "no": false,
            "toString": {"type": "string"}, "garbage": 5
        }
    });
}

/// SDK-4, SDK-11
#[test]
fn keys_are_quoted_where_needed() {
    construct!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "content-type": true, "2fa": true, "": true, "it's": true, "a\"b\\c": true, "class": true,
            "__proto__": true, "then": true, "line\u{2028}break": true, "\u{202e}evil": true, "```": true, "größe": true
        }
    });
}

/// SDK-4, SDK-11
#[test]
fn descriptions_cannot_leave_their_comment() {
    construct!({
        "type": "object", "description": "ends */ here, opens ```` and \u{202e}reverses\u{1b}[31m",
        "properties": {
            "a": {"type": "string", "description": "*\u{200b}/ declare const evil: number; /*\r\nnext\u{2028}\u{2029}\n\n\n\tlast\u{0}  "},
            "b": {"type": "string", "description": "/", "default": "*/"},
            "c": {"type": "string", "description": "\u{e0041}\u{feff}"}
        }
    });
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| {
        json!({"type": "object", "required": ["a"], "properties": {"a": inner}, "additionalProperties": false})
    })
}

/// SDK-8
#[test]
fn the_seventeenth_container_is_json() {
    assert!(!declared(&nested(16)).contains("JsonValue"));
    let text = declared(&nested(17));
    assert_eq!((text.matches("a:").count(), text.matches("a: JsonValue").count()), (16, 1), "{text}");
    let text = declared_in_python(&nested(17));
    assert_eq!((text.matches(" a:").count(), text.matches(" a: JsonValue").count()), (16, 1), "{text}");
}

/// SDK-3, SDK-11
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
        SdkTool {
            name: "__proto__",
            description: "{{types}}",
            parameters: &none,
            output: &json!({"type": "null"}),
        },
    ];
    let bundle = render(&tools);
    assert_eq!(syntax_errors(&bundle.text), Vec::<String>::new());
    assert_eq!((bundle.tools, bundle.bytes), (3, bundle.text.len()));
    assert_eq!(bundle.names, ["__proto__", "my-tool", "search"]);
    insta::assert_snapshot!(bundle.text);
}

/// SDK-3
#[test]
fn no_tools_still_make_a_text() {
    let bundle = render(&[]);
    assert_eq!(syntax_errors(&bundle.text), Vec::<String>::new());
    assert!(bundle.text.contains("interface ToolArgsMap {\n}\n") && bundle.text.ends_with("};\n"));
}

/// R-12: no two of them merge.
#[test]
fn tools_whose_names_sound_alike_declare_different_types() {
    let schema = json!({"$ref": "#/$defs/p", "$defs": {"p": {"type": "object", "required": ["x"], "properties": {"x": true}}}});
    let any = json!(true);
    let names = ["get_issue", "get-issue", "GetIssue", "get_issue2"];
    let tools: Vec<SdkTool<'_>> = names.iter().map(|name| tool(name, &schema, &any)).collect();
    let text = render(&tools).text;
    let mut types: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("type ")?.split(' ').next()).collect();
    types.retain(|name| !name.starts_with("Json") && *name != "ToolName");
    assert_eq!(types, ["GetIssue_P", "GetIssue2_P", "GetIssue3_P", "GetIssue22_P"]);
}

/// SDK-8
#[test]
fn what_arguments_and_result_share_is_declared_once() {
    let schema = json!({"$ref": "#/$defs/Node", "$defs": {"Node": {
        "type": "object", "required": ["v"], "properties": {"v": {"type": "number"}, "next": {"$ref": "#/$defs/Node"}, "at": {"$ref": "#/$defs/At"}}},
        "At": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}}}});
    let walk = tool("walk", &schema, &schema);
    insta::assert_snapshot!(render_tool_declaration(&walk, &SdkOptions::default()));
    insta::with_settings!({snapshot_suffix => "python"}, {
        insta::assert_snapshot!(python_entry(&walk));
    });
}
