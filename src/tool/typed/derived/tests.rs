//! What derived schemas look like.

use serde_json::json;

use super::*;
use crate::schema::{Property, PropertyKind, Schema as Compiled, object};
use crate::tool::{Tool, ToolContext, ToolError, tool};

fn pretty(schema: &Value) -> String {
    format!("{schema:#}")
}

/// Where to look.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Search {
    /// What to look for,
    /// in any case.
    text: String,
    /// Most results.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// How to sort.
    order: Option<Order>,
    near: Option<Point>,
    tags: Option<Vec<Option<String>>>,
    #[serde(default)]
    since: Option<i64>,
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// Newest first.
    Newest,
    Name,
}

#[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
struct Point {
    x: f64,
    y: f64,
}

/// T-6
#[test]
fn arguments_are_said_in_the_fewest_keywords() {
    insta::assert_snapshot!(pretty(&derived_schema::<Search>(Use::Arguments)), @r#"
    {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "text": {
          "type": "string",
          "description": "What to look for, in any case."
        },
        "limit": {
          "type": "integer",
          "minimum": 1,
          "description": "Most results."
        },
        "order": {
          "type": "string",
          "enum": [
            "name",
            "newest"
          ],
          "description": "How to sort.\n- `newest`: Newest first."
        },
        "near": {
          "type": "object",
          "properties": {
            "x": {
              "type": "number"
            },
            "y": {
              "type": "number"
            }
          },
          "required": [
            "x",
            "y"
          ]
        },
        "tags": {
          "type": "array",
          "items": {
            "type": [
              "string",
              "null"
            ]
          }
        },
        "since": {
          "type": "integer"
        }
      },
      "required": [
        "text"
      ]
    }
    "#);
}

/// What was found.
#[derive(serde::Serialize, JsonSchema)]
struct Found {
    near: Option<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u8>,
}

/// T-2
#[test]
fn a_value_keeps_every_form_that_its_type_writes() {
    let schema = derived_schema::<Found>(Use::Value);
    insta::assert_snapshot!(pretty(&schema), @r#"
    {
      "type": "object",
      "properties": {
        "near": {
          "anyOf": [
            {
              "type": "object",
              "properties": {
                "x": {
                  "type": "number"
                },
                "y": {
                  "type": "number"
                }
              },
              "required": [
                "x",
                "y"
              ]
            },
            {
              "type": "null"
            }
          ]
        },
        "size": {
          "type": [
            "integer",
            "null"
          ],
          "minimum": 0,
          "maximum": 255
        }
      },
      "required": [
        "near"
      ],
      "description": "What was found."
    }
    "#);
    let compiled = Compiled::compile(schema).unwrap();
    for found in
        [Found { near: None, size: None }, Found { near: Some(Point { x: 0.5, y: 1.0 }), size: Some(255) }]
    {
        assert_eq!(compiled.validate(&serde_json::to_value(found).unwrap()), Ok(()));
    }
}

#[derive(serde::Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Tree {
    left: Option<Box<Node>>,
    from: Point,
    to: Point,
}

#[derive(serde::Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Node {
    next: Option<Box<Node>>,
}

/// T-6
#[test]
fn what_is_shared_or_refers_to_itself_keeps_its_name() {
    let schema = derived_schema::<Tree>(Use::Arguments);
    assert_eq!(
        schema.pointer("/properties"),
        Some(&json!({
            "left": {"$ref": "#/$defs/Node"}, "from": {"$ref": "#/$defs/Point"}, "to": {"$ref": "#/$defs/Point"},
        }))
    );
    assert_eq!(schema.pointer("/$defs/Node/properties"), Some(&json!({"next": {"$ref": "#/$defs/Node"}})));
    assert!(Compiled::compile(schema).is_ok());
}

/// T-6
#[test]
fn a_definition_that_cannot_be_moved_stays() {
    let mut schema = Schema::try_from(json!({
        "properties": {"a": {"$ref": "#/$defs/A", "minimum": 1}, "b": {"$ref": "#/$defs/B/properties/c"}},
        "$defs": {"A": {"minimum": 2}, "B": {"properties": {"c": true}}},
    }))
    .unwrap();
    let before = schema.clone();
    inline_single_uses(&mut schema);
    assert_eq!(schema, before);
}

/// T-6
#[test]
fn members_named_like_keywords_are_left_alone() {
    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Odd {
        format: String,
        #[serde(rename = "type")]
        kind: Option<String>,
        #[serde(rename = "$ref")]
        reference: String,
    }
    assert_eq!(
        derived_schema::<Odd>(Use::Arguments),
        json!({
            "type": "object",
            "properties": {"format": {"type": "string"}, "type": {"type": "string"}, "$ref": {"type": "string"}},
            "required": ["format", "$ref"],
        })
    );
}

/// T-6
#[tokio::test]
async fn the_three_ways_of_writing_parameters_give_one_schema() {
    /// Ignored: the tool has a description.
    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Forecast {
        /// Name of the city.
        city: String,
        days: Option<i32>,
        hours: Option<Vec<i64>>,
        metric: Option<bool>,
    }
    #[derive(serde::Serialize, JsonSchema)]
    struct Nothing {}
    async fn typed(_: Forecast, _: ToolContext) -> Result<Nothing, ToolError> {
        Ok(Nothing {})
    }
    async fn untyped(_: Value, _: ToolContext) -> Result<Value, ToolError> {
        Ok(json!({}))
    }
    // As text: what a model reads is the same to the last byte.
    let parameters = |tool: &Tool| tool.definition().model().parameters.to_string();

    let derived = tool::<Forecast, Nothing>("forecast", "").handler(typed).unwrap();
    let compact = object(vec![
        Property::new("city", PropertyKind::String).required().describe("Name of the city."),
        Property::new("days", PropertyKind::Integer),
        Property::new("hours", PropertyKind::Array(Box::new(PropertyKind::Integer))),
        Property::new("metric", PropertyKind::Boolean),
    ]);
    let builder = || Tool::builder("forecast").output(json!({"type": "object"}));
    let compact = builder().parameters(compact).handler(untyped).unwrap();
    let raw = builder()
        .parameters(json!({
            "type": "object",
            "required": ["city"],
            "properties": {
                "city": {"description": "Name of the city.", "type": "string"},
                "days": {"type": "integer"},
                "hours": {"type": "array", "items": {"type": "integer"}},
                "metric": {"type": "boolean"},
            },
        }))
        .handler(untyped)
        .unwrap();
    assert_eq!(parameters(&derived), parameters(&compact));
    assert_eq!(parameters(&derived), parameters(&raw));
}

/// T-6
#[test]
fn doc_comments_become_paragraphs_and_keep_their_lists() {
    assert_eq!(join_lines("one\ntwo\n\nthree\n- a\n- b\n"), "one two\n\nthree\n- a\n- b");
    assert_eq!(join_lines("```\na\nb\n```"), "```\na\nb\n```");
}
