//! The compact property form of parameters (T-6).
//!
//! Owns the builder in which each property carries its own `required` mark and the map is an implicit open
//! object. It produces plain JSON Schema of the author-side subset. It calls nobody.

use serde_json::{Map, Value, json};

/// What a property holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PropertyKind {
    /// A string.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list whose items are all of one kind.
    Array(Box<PropertyKind>),
    /// An open object with these properties.
    Object(Vec<Property>),
    /// One of these values.
    Enum(Vec<Value>),
}

/// One property of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    name: String,
    kind: PropertyKind,
    description: Option<String>,
    required: bool,
}

impl Property {
    /// An optional property without a description.
    pub fn new(name: impl Into<String>, kind: PropertyKind) -> Self {
        Self { name: name.into(), kind, description: None, required: false }
    }

    /// Marks the property as required.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// What the model reads about the property.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// The JSON Schema of an open object with these properties.
///
/// ```
/// use isolane::schema::{Property, PropertyKind, object};
///
/// let schema = object(vec![Property::new("city", PropertyKind::String).required()]);
/// assert_eq!(
///     schema,
///     serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
/// );
/// ```
pub fn object(properties: Vec<Property>) -> Value {
    let required: Vec<_> =
        properties.iter().filter(|property| property.required).map(|property| json!(property.name)).collect();
    let members: Map<_, _> = properties
        .into_iter()
        .map(|property| {
            let mut schema = kind_schema(property.kind);
            if let (Some(description), Some(members)) = (property.description, schema.as_object_mut()) {
                members.insert("description".to_owned(), Value::String(description));
            }
            (property.name, schema)
        })
        .collect();
    let mut schema = json!({"type": "object", "properties": members});
    if !required.is_empty()
        && let Some(object) = schema.as_object_mut()
    {
        object.insert("required".to_owned(), Value::Array(required));
    }
    schema
}

fn kind_schema(kind: PropertyKind) -> Value {
    match kind {
        PropertyKind::String => json!({"type": "string"}),
        PropertyKind::Number => json!({"type": "number"}),
        PropertyKind::Integer => json!({"type": "integer"}),
        PropertyKind::Boolean => json!({"type": "boolean"}),
        PropertyKind::Array(items) => json!({"type": "array", "items": kind_schema(*items)}),
        PropertyKind::Object(properties) => object(properties),
        PropertyKind::Enum(values) => json!({"enum": values}),
    }
}
