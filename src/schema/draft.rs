//! Which draft of JSON Schema a schema is written in.
//!
//! Owns the one answer for the validator and for the types that are rendered: a schema is read by the same rules
//! wherever it is read. It never resolves a reference, fails or recurses. It calls nobody.

use serde_json::Value;

/// A draft of JSON Schema, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Draft {
    /// What `$schema` says; without it 2020-12, or draft-07 if the schema has what 2020-12 forbids and draft-07 allows:
    /// a list of schemas as `items`, or an anchor as `$id`.
    pub(super) fn of(schema: &Value) -> Self {
        match schema.get("$schema").and_then(Value::as_str) {
            Some(uri) => Self::named(uri),
            None if is_older(schema) => Self::Draft7,
            None => Self::Draft2020,
        }
    }

    /// What is not known counts as the newest.
    fn named(uri: &str) -> Self {
        let known = [
            ("draft-03", Self::Draft4),
            ("draft-04", Self::Draft4),
            ("draft-06", Self::Draft6),
            ("draft-07", Self::Draft7),
            ("2019-09", Self::Draft2019),
        ];
        known.iter().find(|(name, _)| uri.contains(name)).map_or(Self::Draft2020, |(_, draft)| *draft)
    }

    /// Whether the word is a keyword, of all that changed between the drafts. One that is not constrains nothing.
    pub(super) fn knows(self, word: &str) -> bool {
        match word {
            "id" => self == Self::Draft4,
            "$id" | "const" | "contains" | "propertyNames" => self >= Self::Draft6,
            "if" | "then" | "else" => self >= Self::Draft7,
            "$anchor" | "dependentSchemas" | "unevaluatedItems" | "unevaluatedProperties" => {
                self >= Self::Draft2019
            }
            "$recursiveRef" => self == Self::Draft2019,
            "$dynamicRef" | "$dynamicAnchor" | "prefixItems" => self == Self::Draft2020,
            "additionalItems" => self < Self::Draft2020,
            _ => true,
        }
    }

    /// Whether a `$ref` switches the keywords beside it off.
    pub(super) fn has_lone_references(self) -> bool {
        self <= Self::Draft7
    }
}

fn is_older(schema: &Value) -> bool {
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        let Value::Object(members) = next else { continue };
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("items", Value::Array(_)) => return true,
                ("$id", Value::String(id))
                    if id.split_once('#').is_some_and(|(_, anchor)| !anchor.is_empty()) =>
                {
                    return true;
                }
                (
                    "items"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contentSchema",
                    Value::Object(_),
                ) => open.push(value),
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => open.extend(list),
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                    | "dependencies",
                    Value::Object(map),
                ) => open.extend(map.values()),
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Draft;

    /// T-7
    #[test]
    fn what_only_draft_7_allows_tells_it() {
        for (schema, expected) in [
            (json!(true), Draft::Draft2020),
            (json!({"items": {}}), Draft::Draft2020),
            (json!({"items": [true]}), Draft::Draft7),
            (json!({"properties": {"a": {"anyOf": [{"not": {"items": []}}]}}}), Draft::Draft7),
            (json!({"definitions": {"a": {"$id": "#a"}}}), Draft::Draft7),
            (json!({"$id": "https://example.com/a#"}), Draft::Draft2020),
            (json!({"properties": {"items": {"$id": "x"}}}), Draft::Draft2020),
            // Data and words that no draft knows are no schemas.
            (
                json!({"default": {"items": []}, "enum": [{"items": []}], "x-a": {"items": []}}),
                Draft::Draft2020,
            ),
            (
                json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": []}),
                Draft::Draft2019,
            ),
            (json!({"$schema": "http://json-schema.org/draft-04/schema#"}), Draft::Draft4),
            (
                json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": []}),
                Draft::Draft2020,
            ),
        ] {
            assert_eq!(Draft::of(&schema), expected, "{schema}");
        }
    }
}
