//! What a tool's author may use in a schema (T-7).
//!
//! Owns the list of keywords and types of the author-side subset, and the place of what is outside it. It does
//! not look at values. It calls nobody.

use serde_json::Value;

use crate::json::pointer_step;

/// A keyword outside the author-side subset (T-7).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pointer}`: {reason}; a tool's own schema may use {SUPPORTED}")]
pub struct SubsetError {
    /// JSON pointer to the keyword.
    pub pointer: String,
    /// What is wrong with it.
    pub reason: String,
}

const SUPPORTED: &str = "object, array, string, number, integer, boolean, null, oneOf, enum, const, title, \
    description, default and examples";

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// What a keyword's value holds, so far as the check follows it.
enum Holds {
    Data,
    Type,
    Schema,
    SchemaList,
    SchemaMap,
    Bool,
}

fn holds(keyword: &str) -> Option<Holds> {
    Some(match keyword {
        "title" | "description" | "default" | "examples" | "enum" | "const" | "required" => Holds::Data,
        "type" => Holds::Type,
        "items" => Holds::Schema,
        "oneOf" => Holds::SchemaList,
        "properties" => Holds::SchemaMap,
        "additionalProperties" => Holds::Bool,
        _ => return None,
    })
}

/// Checks that `schema` stays inside the subset; the error names the first keyword that does not.
pub fn check_subset(schema: &Value) -> Result<(), SubsetError> {
    let mut open = vec![(String::new(), schema)];
    while let Some((pointer, schema)) = open.pop() {
        let Some(members) = schema.as_object() else {
            return Err(SubsetError { pointer, reason: "a schema here must be an object".to_owned() });
        };
        for (keyword, value) in members {
            let place = format!("{pointer}/{}", pointer_step(keyword));
            match holds(keyword) {
                None => {
                    return Err(SubsetError {
                        pointer: place,
                        reason: format!("`{keyword}` is not supported"),
                    });
                }
                Some(Holds::Data) => {}
                Some(Holds::Type) => check_type(&place, value)?,
                Some(Holds::Bool) if value.is_boolean() => {}
                Some(Holds::Bool | Holds::Schema) => open.push((place, value)),
                Some(Holds::SchemaList) => {
                    let items = value.as_array().into_iter().flatten().enumerate();
                    open.extend(items.map(|(index, item)| (format!("{place}/{index}"), item)));
                }
                Some(Holds::SchemaMap) => {
                    let items = value.as_object().into_iter().flatten();
                    open.extend(items.map(|(name, item)| (format!("{place}/{}", pointer_step(name)), item)));
                }
            }
        }
    }
    Ok(())
}

fn check_type(place: &str, value: &Value) -> Result<(), SubsetError> {
    match value.as_str() {
        Some(name) if TYPES.contains(&name) => Ok(()),
        Some(name) => {
            Err(SubsetError { pointer: place.to_owned(), reason: format!("`{name}` is not a type") })
        }
        None => {
            Err(SubsetError { pointer: place.to_owned(), reason: "a type here must be one name".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// T-7
    #[test]
    fn the_subset_passes() {
        let schema = json!({
            "type": "object", "title": "t", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"oneOf": [{"type": "string", "enum": ["x"]}, {"const": null}]},
                           "b": {"type": "array", "items": {"type": "integer", "default": 1}}},
        });
        assert_eq!(check_subset(&schema), Ok(()));
    }

    /// T-7
    #[test]
    fn what_is_outside_is_named_by_its_pointer() {
        let error =
            check_subset(&json!({"type": "object", "properties": {"a/b": {"pattern": "x"}}})).unwrap_err();
        insta::assert_snapshot!(error, @"`/properties/a~1b/pattern`: `pattern` is not supported; a tool's own schema may use object, array, string, number, integer, boolean, null, oneOf, enum, const, title, description, default and examples");
        let error = check_subset(&json!({"type": ["string", "null"]})).unwrap_err();
        assert_eq!(error.reason, "a type here must be one name");
    }
}
