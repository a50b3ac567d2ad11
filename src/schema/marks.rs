//! What is added to a schema so that no round of the validator is free.
//!
//! Owns the one change that the compiled copy of a schema has: where branches are tried, the validator first asks
//! what kind the value is, and any kind will do. Without that a tangle of references whose ends never look at the
//! value (`false`, `{"not": {}}`) could be gone through for ever without a single look to count. It changes
//! the meaning of nothing, and never touches the schema that anybody is shown. It calls nobody.

use serde_json::{Value, json};

/// Keywords that try one value against several schemas, or in which a schema is followed by another.
const BRANCHING: [&str; 5] = ["allOf", "anyOf", "oneOf", "if", "not"];

/// Keywords whose members are schemas, by name.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords that hold data, which only looks like a schema.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The schema as it is compiled; nothing when it is compiled as it is.
pub(super) fn marked(schema: &Value) -> Option<Value> {
    let led_into = data_that_is_referred_to(schema)?;
    let mut copy = schema.clone();
    let mut open = vec![&mut copy];
    while let Some(next) = open.pop() {
        match next {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                if !members.contains_key("type") && BRANCHING.iter().any(|key| members.contains_key(*key)) {
                    let any = json!(["null", "boolean", "object", "array", "number", "string"]);
                    members.insert("type".to_owned(), any);
                }
                for (key, value) in members {
                    let key = key.as_str();
                    if DATA.contains(&key) && !led_into.contains(&key) {
                        continue;
                    }
                    if MAPS.contains(&key) && value.is_object() {
                        open.extend(value.as_object_mut().into_iter().flat_map(|map| map.values_mut()));
                    } else {
                        open.push(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Some(copy)
}

/// Which keywords of data some reference leads into, or a schema that is called like one; nothing when the schema
/// refers to nothing at all.
fn data_that_is_referred_to(schema: &Value) -> Option<Vec<&'static str>> {
    let mut led_into = None;
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        match next {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for reference in REFERENCES.iter().filter_map(|keyword| members.get(*keyword)?.as_str()) {
                    let escaped = reference.contains('%');
                    let found = DATA.iter().filter(|name| escaped || reference.contains(**name));
                    led_into.get_or_insert_with(Vec::new).extend(found);
                }
                open.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    led_into
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-8: a mark where branches are tried, none in data, none where the kind is asked anyway.
    #[test]
    fn only_branches_are_marked() {
        let any = json!(["null", "boolean", "object", "array", "number", "string"]);
        let schema = json!({
            "properties": {"enum": {"anyOf": [{"$ref": "#"}]}, "a": {"type": "object", "allOf": []}},
            "enum": [{"anyOf": []}],
            "default": {"not": {}},
        });
        let mut expected = schema.clone();
        expected["properties"]["enum"]["type"] = any.clone();
        assert_eq!(marked(&schema), Some(expected));

        let led = json!({"$ref": "#/x/default", "x": {"default": {"not": {}}}});
        assert_eq!(marked(&led).unwrap()["x"]["default"]["type"], any);
        let escaped = json!({"$ref": "#/x/%64efault", "x": {"default": {"not": {}}}});
        assert_eq!(marked(&escaped).unwrap()["x"]["default"]["type"], any);
        assert_eq!(marked(&json!({"anyOf": [{}, false], "const": {"ref": 1}})), None);
    }
}
