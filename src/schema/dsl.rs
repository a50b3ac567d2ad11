//! The compact property form of parameters (T-6).
//!
//! Owns the builder in which each property carries its own `required` mark and the map is an implicit open
//! object. It produces plain JSON Schema of the author-side subset, and never recurses (T-8). It calls nobody.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// What a property holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PropertyKind {
    /// Any JSON value.
    Any,
    /// Nothing but `null`.
    Null,
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
    /// This value.
    Const(Value),
    /// Exactly one of these kinds.
    OneOf(Vec<PropertyKind>),
}

/// One property of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    name: String,
    kind: PropertyKind,
    required: bool,
    notes: Map<String, Value>,
}

impl Property {
    /// An optional property without a description.
    pub fn new(name: impl Into<String>, kind: PropertyKind) -> Self {
        Self { name: name.into(), kind, required: false, notes: Map::new() }
    }

    /// Marks the property as required.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// What the model reads about the property.
    pub fn describe(self, description: impl Into<String>) -> Self {
        self.note("description", Value::String(description.into()))
    }

    /// A short name for people.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.note("title", Value::String(title.into()))
    }

    /// What the tool assumes when the property is left out. It is told, not filled in.
    pub fn default(self, value: Value) -> Self {
        self.note("default", value)
    }

    /// Values that the property may have.
    pub fn examples(self, values: Vec<Value>) -> Self {
        self.note("examples", Value::Array(values))
    }

    fn note(mut self, keyword: &str, value: Value) -> Self {
        self.notes.insert(keyword.to_owned(), value);
        self
    }
}

/// The JSON Schema of an open object with these properties.
///
/// Of two properties with one name the later one holds; the definition of a tool refuses them.
///
/// ```
/// use isolane::schema::{Property, PropertyKind, object};
///
/// let schema = object(vec![
///     Property::new("city", PropertyKind::String).required().describe("Name of the city."),
///     Property::new("days", PropertyKind::Integer),
/// ]);
/// assert_eq!(
///     schema,
///     serde_json::json!({
///         "type": "object",
///         "properties": {"city": {"type": "string", "description": "Name of the city."}, "days": {"type": "integer"}},
///         "required": ["city"],
///     }),
/// );
/// ```
pub fn object(properties: Vec<Property>) -> Value {
    let mut steps = vec![Step::Make(PropertyKind::Object(properties))];
    let mut made = Vec::new();
    while let Some(step) = steps.pop() {
        let schema = match step {
            Step::Make(PropertyKind::Array(items)) => {
                steps.extend([Step::CloseArray, Step::Make(*items)]);
                continue;
            }
            Step::Make(PropertyKind::OneOf(kinds)) => {
                steps.push(Step::CloseOneOf(kinds.len()));
                steps.extend(kinds.into_iter().rev().map(Step::Make));
                continue;
            }
            Step::Make(PropertyKind::Object(properties)) => {
                let (heads, kinds): (Vec<_>, Vec<_>) = properties.into_iter().map(Property::split).unzip();
                steps.push(Step::CloseObject(heads));
                steps.extend(kinds.into_iter().rev().map(Step::Make));
                continue;
            }
            Step::Make(leaf) => leaf_schema(leaf),
            Step::CloseArray => {
                // Inserted, not put through `json!`, which would copy it level by level.
                let mut schema = typed("array");
                schema.insert("items".to_owned(), made.pop().unwrap_or_default());
                schema
            }
            Step::CloseOneOf(count) => {
                let kinds = made.split_off(made.len().saturating_sub(count));
                Map::from_iter([("oneOf".to_owned(), Value::Array(kinds))])
            }
            Step::CloseObject(heads) => {
                let members = made.split_off(made.len().saturating_sub(heads.len()));
                object_schema(heads, members)
            }
        };
        made.push(Value::Object(schema));
    }
    made.pop().unwrap_or_default()
}

/// The name that two properties of one object have, if there is one.
pub(crate) fn repeated_property(properties: &[Property]) -> Option<&str> {
    let mut objects = vec![properties];
    let mut kinds = Vec::new();
    while let Some(properties) = objects.pop() {
        let mut names = HashSet::new();
        if let Some(twice) = properties.iter().find(|property| !names.insert(property.name.as_str())) {
            return Some(&twice.name);
        }
        kinds.extend(properties.iter().map(|property| &property.kind));
        while let Some(kind) = kinds.pop() {
            match kind {
                PropertyKind::Array(items) => kinds.push(items),
                PropertyKind::OneOf(branches) => kinds.extend(branches),
                PropertyKind::Object(properties) => objects.push(properties),
                PropertyKind::Any
                | PropertyKind::Null
                | PropertyKind::String
                | PropertyKind::Number
                | PropertyKind::Integer
                | PropertyKind::Boolean
                | PropertyKind::Enum(_)
                | PropertyKind::Const(_) => {}
            }
        }
    }
    None
}

enum Step {
    Make(PropertyKind),
    CloseArray,
    CloseOneOf(usize),
    CloseObject(Vec<Head>),
}

/// A property without its kind.
struct Head {
    name: String,
    required: bool,
    notes: Map<String, Value>,
}

impl Property {
    fn split(self) -> (Head, PropertyKind) {
        (Head { name: self.name, required: self.required, notes: self.notes }, self.kind)
    }
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(name))])
}

fn leaf_schema(kind: PropertyKind) -> Map<String, Value> {
    match kind {
        PropertyKind::Null => typed("null"),
        PropertyKind::String => typed("string"),
        PropertyKind::Number => typed("number"),
        PropertyKind::Integer => typed("integer"),
        PropertyKind::Boolean => typed("boolean"),
        PropertyKind::Enum(values) => Map::from_iter([("enum".to_owned(), Value::Array(values))]),
        PropertyKind::Const(value) => Map::from_iter([("const".to_owned(), value)]),
        PropertyKind::Any | PropertyKind::Array(_) | PropertyKind::Object(_) | PropertyKind::OneOf(_) => {
            Map::new()
        }
    }
}

fn object_schema(heads: Vec<Head>, members: Vec<Value>) -> Map<String, Value> {
    let required: Vec<_> = heads.iter().filter(|head| head.required).map(|head| json!(head.name)).collect();
    let properties: Map<_, _> = heads
        .into_iter()
        .zip(members)
        .map(|(head, mut schema)| {
            if let Some(schema) = schema.as_object_mut() {
                schema.extend(head.notes);
            }
            (head.name, schema)
        })
        .collect();
    let mut schema = typed("object");
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema
}
