//! One pass over a schema object: the keywords that decide its type, and its annotations.
//!
//! Must never judge more than one schema at a time, fail, or recurse: malformed keywords count as
//! absent, which widens. Hands the result to `document` (where sub-schemas lie) and `conjunction`
//! (what they mean together).

use serde_json::{Map, Value};

use super::super::draft::Draft;

/// A set of the six JSON kinds, of which numbers are two: whole ones, and those with a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    /// Of a set without `FRACTION`, whole numbers alone.
    pub(super) const NUMBER: Self = Self(4);
    pub(super) const STRING: Self = Self(8);
    pub(super) const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const FRACTION: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// How many there are in it.
    pub(super) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The kind of a value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() != 0.0) => {
                Self::FRACTION
            }
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn named(name: &Value) -> Self {
        match name.as_str() {
            Some("null") => Self::NULL,
            Some("boolean") => Self::BOOLEAN,
            Some("integer") => Self::NUMBER,
            Some("number") => Self::NUMBER.or(Self::FRACTION),
            Some("string") => Self::STRING,
            Some("array") => Self::ARRAY,
            Some("object") => Self::OBJECT,
            // A word this reader does not know may mean anything.
            _ => Self::ALL,
        }
    }

    fn read(ty: &Value) -> Self {
        match ty {
            Value::Array(names) if !names.is_empty() => {
                Self(names.iter().fold(0, |kinds, name| kinds | Self::named(name).0))
            }
            Value::Array(_) => Self::ALL,
            name => Self::named(name),
        }
    }
}

/// The keywords of one schema. Absent and malformed look the same.
#[derive(Debug)]
pub(super) struct Keywords<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) anchor: Option<&'a str>,
    pub(super) dynamic_anchor: Option<&'a str>,
    pub(super) reference: Option<&'a str>,
    pub(super) dynamic_reference: Option<&'a str>,
    pub(super) kinds: Kinds,
    pub(super) enumeration: Option<&'a [Value]>,
    pub(super) constant: Option<&'a Value>,
    pub(super) all_of: &'a [Value],
    pub(super) any_of: &'a [Value],
    pub(super) one_of: &'a [Value],
    pub(super) if_then_else: [Option<&'a Value>; 3],
    pub(super) nullable: bool,
    /// By name.
    pub(super) properties: Vec<(&'a str, &'a Value)>,
    /// By pattern.
    pub(super) patterns: Vec<(&'a str, &'a Value)>,
    pub(super) additional_properties: Option<&'a Value>,
    pub(super) unevaluated_properties: Option<&'a Value>,
    pub(super) property_names: Option<&'a Value>,
    pub(super) required: Vec<&'a str>,
    pub(super) items: Option<&'a Value>,
    pub(super) prefix_items: &'a [Value],
    pub(super) additional_items: Option<&'a Value>,
    pub(super) unevaluated_items: Option<&'a Value>,
    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    /// It forbids everything: `false`, or `not: {}`, as some generators write it.
    pub(super) never: bool,
    /// Sub-schemas that do not take part in the type: definitions, `not`, `contains`, ...; by keyword.
    pub(super) aside: Vec<(&'static str, &'a Value)>,
    /// Whether some keyword evaluates members in a way the type does not follow.
    pub(super) hidden_applicator: bool,
    /// Description, default, bounds and the like, in source order.
    pub(super) annotations: Vec<(&'static str, &'a Value)>,
}

impl<'a> Keywords<'a> {
    fn empty() -> Self {
        Self {
            id: None,
            anchor: None,
            dynamic_anchor: None,
            reference: None,
            dynamic_reference: None,
            kinds: Kinds::ALL,
            enumeration: None,
            constant: None,
            all_of: &[],
            any_of: &[],
            one_of: &[],
            if_then_else: [None; 3],
            nullable: false,
            properties: Vec::new(),
            patterns: Vec::new(),
            additional_properties: None,
            unevaluated_properties: None,
            property_names: None,
            required: Vec::new(),
            items: None,
            prefix_items: &[],
            additional_items: None,
            unevaluated_items: None,
            min_items: None,
            max_items: None,
            never: false,
            aside: Vec::new(),
            hidden_applicator: false,
            annotations: Vec::new(),
        }
    }

    /// Reads a schema by the rules of a draft. Where a `$ref` stands alone it switches its siblings off, all but the
    /// annotations and `nullable`, which only widens.
    pub(super) fn read(schema: &'a Value, draft: Draft) -> Self {
        let mut keywords = Self::empty();
        let Some(map) = schema.as_object() else {
            keywords.never = *schema == Value::Bool(false);
            return keywords;
        };
        for (name, value) in map {
            if draft.knows(name) {
                keywords.take(name, value);
            }
        }
        keywords.aside.sort_unstable_by_key(|(keyword, _)| *keyword);
        if draft.has_lone_references() && keywords.reference.is_some() {
            return Self {
                reference: keywords.reference,
                nullable: keywords.nullable,
                aside: keywords.aside,
                annotations: keywords.annotations,
                ..Self::empty()
            };
        }
        keywords
    }

    fn take(&mut self, name: &str, value: &'a Value) {
        match name {
            "$id" | "id" => self.id = value.as_str(),
            "$anchor" => self.anchor = value.as_str(),
            "$dynamicAnchor" => self.dynamic_anchor = value.as_str(),
            "$ref" => self.reference = value.as_str(),
            "$dynamicRef" | "$recursiveRef" => self.dynamic_reference = value.as_str(),
            "type" => self.kinds = Kinds::read(value),
            "enum" => {
                self.enumeration = value.as_array().filter(|values| !values.is_empty()).map(Vec::as_slice);
            }
            "const" => self.constant = Some(value),
            "allOf" => self.all_of = list(value),
            "anyOf" => self.any_of = list(value),
            "oneOf" => self.one_of = list(value),
            "if" => self.if_then_else[0] = Some(value),
            "then" => self.if_then_else[1] = Some(value),
            "else" => self.if_then_else[2] = Some(value),
            "nullable" => self.nullable = value.as_bool() == Some(true),
            "properties" => self.properties = entries(value),
            "patternProperties" => self.patterns = entries(value),
            "additionalProperties" => self.additional_properties = schema(value),
            "unevaluatedProperties" => self.unevaluated_properties = schema(value),
            "propertyNames" => self.property_names = schema(value),
            "required" => {
                self.required = list(value).iter().filter_map(Value::as_str).collect();
            }
            "items" => self.items = Some(value),
            "prefixItems" => self.prefix_items = list(value),
            "additionalItems" => self.additional_items = schema(value),
            "unevaluatedItems" => self.unevaluated_items = schema(value),
            "minItems" => {
                self.min_items = count(value);
                self.annotations.push(("minItems", value));
            }
            "maxItems" => {
                self.max_items = count(value);
                self.annotations.push(("maxItems", value));
            }
            "$defs" => self.aside.push(("$defs", value)),
            "definitions" => self.aside.push(("definitions", value)),
            "not" => {
                self.never = match value {
                    Value::Bool(all) => *all,
                    other => other.as_object().is_some_and(Map::is_empty),
                };
                self.aside.push(("not", value));
            }
            "contains" => self.hide("contains", value),
            "dependentSchemas" => self.hide("dependentSchemas", value),
            "dependencies" => self.hide("dependencies", value),
            _ => {
                if let Some(known) = ANNOTATIONS.iter().find(|known| **known == name) {
                    self.annotations.push((known, value));
                }
            }
        }
    }

    fn hide(&mut self, name: &'static str, value: &'a Value) {
        self.aside.push((name, value));
        self.hidden_applicator = true;
    }

    /// Whether keywords of this schema itself, not of one it applies in place, narrow the type.
    pub(super) fn has_own_constraint(&self) -> bool {
        self.kinds != Kinds::ALL || self.has_more_than_kinds()
    }

    /// Whether more than `type` narrows it.
    pub(super) fn has_more_than_kinds(&self) -> bool {
        self.enumeration.is_some()
            || self.constant.is_some()
            || self.constrains_objects()
            || self.constrains_arrays()
    }

    /// Whether it says something about objects.
    pub(super) fn constrains_objects(&self) -> bool {
        !self.properties.is_empty()
            || !self.patterns.is_empty()
            || !self.required.is_empty()
            || self.additional_properties.is_some()
            || self.unevaluated_properties.is_some()
            || self.property_names.is_some()
    }

    /// Whether it says something about arrays.
    pub(super) fn constrains_arrays(&self) -> bool {
        self.items.is_some()
            || !self.prefix_items.is_empty()
            || self.unevaluated_items.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some()
    }

    /// The schema of a declared member.
    pub(super) fn property(&self, name: &str) -> Option<&'a Value> {
        let found = self.properties.binary_search_by(|(key, _)| (*key).cmp(name)).ok()?;
        self.properties.get(found).map(|(_, schema)| *schema)
    }
}

/// What ends up in a doc comment, in the order it is printed there.
pub(super) const ANNOTATIONS: &[&str] = &[
    "description",
    "title",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "default",
];

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn schema(value: &Value) -> Option<&Value> {
    matches!(value, Value::Bool(_) | Value::Object(_)).then_some(value)
}

fn entries(value: &Value) -> Vec<(&str, &Value)> {
    value.as_object().map(sorted).unwrap_or_default()
}

/// The entries of an object by key, so that nothing downstream sees the source's order.
pub(super) fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// A count keyword, which JSON may spell `2` or `2.0`.
fn count(value: &Value) -> Option<usize> {
    if let Some(whole) = value.as_u64() {
        return usize::try_from(whole).ok();
    }
    let float = value.as_f64().filter(|float| (0.0..=1e9).contains(float) && float.fract() == 0.0)?;
    // Printing a whole float of this size gives its digits, without a lossy cast.
    format!("{float}").parse().ok()
}
