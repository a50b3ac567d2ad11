//! One order for the keywords of a schema (T-6).
//!
//! Owns the order in which an author's schema is shown to a model, however the author wrote it: the same contract is
//! the same bytes, whether it came from a type, from properties or from JSON. It keeps the order of the properties,
//! which is the author's own and which the SDK follows, and never changes what a schema means. It calls nobody.

use serde_json::{Map, Value};

/// What something is comes first, what is told about it last; keywords that are not named stand between.
const FIRST: [&str; 10] = [
    "$ref",
    "type",
    "const",
    "enum",
    "oneOf",
    "anyOf",
    "additionalProperties",
    "properties",
    "required",
    "items",
];
const LAST: [&str; 5] = ["title", "description", "default", "examples", "$defs"];

fn rank(keyword: &str) -> usize {
    let first = FIRST.iter().position(|known| *known == keyword);
    let last = || LAST.iter().position(|known| *known == keyword).map(|place| FIRST.len() + 1 + place);
    first.or_else(last).unwrap_or(FIRST.len())
}

/// The schema with the keywords of every schema in it in order, and `required` in the order of the properties.
pub(crate) fn in_order(mut schema: Value) -> Value {
    let mut open = vec![&mut schema];
    while let Some(next) = open.pop() {
        let Value::Object(members) = next else { continue };
        let mut sorted: Vec<_> = std::mem::take(members).into_iter().collect();
        sorted.sort_by_key(|(keyword, _)| rank(keyword));
        members.extend(sorted);
        order_required(members);
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("items" | "additionalProperties", value) => open.push(value),
                ("oneOf" | "anyOf", Value::Array(schemas)) => open.extend(schemas),
                ("properties" | "$defs", Value::Object(schemas)) => open.extend(schemas.values_mut()),
                _ => {}
            }
        }
    }
    schema
}

fn order_required(members: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = members.get("properties") else { return };
    let places: std::collections::HashMap<String, usize> =
        properties.keys().enumerate().map(|(place, name)| (name.clone(), place)).collect();
    if let Some(Value::Array(required)) = members.get_mut("required") {
        required.sort_by_key(|name| {
            name.as_str().and_then(|name| places.get(name).copied()).unwrap_or(usize::MAX)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// T-6: keywords are in order at every depth, properties and data stay as they are.
    #[test]
    fn keywords_have_an_order_and_properties_keep_theirs() {
        let schema = json!({
            "required": ["other", "b", "a"],
            "description": "d",
            "properties": {
                "b": {"default": {"type": 1, "const": 2, "$ref": 3}, "items": {"title": "t", "type": "string"}, "type": "array"},
                "a": {"description": "e", "oneOf": [{"minimum": 1, "type": "integer"}]},
            },
            "type": "object",
        });
        let ordered = in_order(schema.clone());
        assert_eq!(
            ordered.to_string(),
            r#"{"type":"object","properties":{"b":{"type":"array","items":{"type":"string","title":"t"},"default":{"type":1,"const":2,"$ref":3}},"a":{"oneOf":[{"type":"integer","minimum":1}],"description":"e"}},"required":["b","a","other"],"description":"d"}"#
        );
        assert_eq!(in_order(ordered.clone()).to_string(), ordered.to_string());
    }
}
