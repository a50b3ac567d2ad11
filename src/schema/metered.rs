//! A value as the validator sees it, with a meter on every look (P-16, T-8).
//!
//! Owns the representation of JSON that the validators are compiled for: borrowed `serde_json` values that pay for
//! each access from the budget of [`work`](super::work). A schema from outside can ask for exponential work by
//! referring to one place twice, over and over; every such round looks at the value, so that no round is free. It
//! must never answer differently from `serde_json` itself. It calls `work`.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};

use super::work::{blame, spend};

/// The representation; nothing but a name for the validator's type.
pub(super) struct Metered;

/// A value that is paid for when it is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a>(pub(super) &'a Value);

/// Bytes of text that cost as much as one look.
pub(super) const BYTES_PER_LOOK: usize = 64;

impl Json for Metered {
    type Node<'a> = Look<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const KEYS_PER_LOOKUP: usize = <SerdeJson as Json>::KEYS_PER_LOOKUP;
    const ACYCLIC: bool = <SerdeJson as Json>::ACYCLIC;

    fn prepare_key(key: &str) -> String {
        SerdeJson::prepare_key(key)
    }

    fn with_string_node<T>(buffer: &mut (), string: &str, f: impl FnOnce(Look<'_>) -> T) -> T {
        SerdeJson::with_string_node(buffer, string, |node| f(Look(node)))
    }
}

impl<'a> Node<'a, Metered> for Look<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    #[inline]
    fn as_object(&self) -> Option<Members<'a>> {
        spend(1);
        self.0.as_object().map(Members)
    }

    #[inline]
    fn as_array(&self) -> Option<Items<'a>> {
        spend(1);
        self.0.as_array().map(|items| Items(items))
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        spend(1);
        let text = self.0.as_str()?;
        spend(text.len() / BYTES_PER_LOOK);
        Some(Cow::Borrowed(text))
    }

    #[inline]
    fn as_number(&self) -> Option<&'a Number> {
        spend(1);
        self.0.as_number()
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        spend(1);
        self.0.as_bool()
    }

    #[inline]
    fn is_null(&self) -> bool {
        spend(1);
        self.0.is_null()
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        spend(1);
        self.0.json_type()
    }

    fn string_length(&self) -> Option<u64> {
        spend(1 + self.0.as_str().map_or(0, str::len) / BYTES_PER_LOOK);
        self.0.string_length()
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        spend(1 + self.0.as_str().map_or(0, str::len) / BYTES_PER_LOOK);
        self.0.string_length_within(min, max)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        spend(cost_of_comparing(self.0, expected));
        self.0.equals_value(expected)
    }

    /// Only what makes an error asks for the whole value.
    fn to_value(&self) -> Cow<'a, Value> {
        blame(self.0);
        Cow::Borrowed(self.0)
    }

    #[inline]
    fn identity(&self) -> Option<NodeIdentity> {
        spend(1);
        Node::identity(&self.0)
    }
}

/// What comparing may cost at most; nothing worth counting where the first look tells the two apart.
fn cost_of_comparing(value: &Value, expected: &Value) -> usize {
    match (value, expected) {
        (Value::String(one), Value::String(other)) if one.len() == other.len() => {
            1 + one.len() / BYTES_PER_LOOK
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            crate::json::Extent::of(value).weight
        }
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
            crate::json::Extent::of(value).weight
        }
        _ => 1,
    }
}

pub(super) struct Members<'a>(&'a Map<String, Value>);

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Look<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn get(&self, key: &String) -> Option<Look<'a>> {
        spend(1);
        <&Map<String, Value> as Object<'a, SerdeJson>>::get(&self.0, key).map(Look)
    }

    #[inline]
    fn members(&self) -> MembersIter<'a> {
        spend(self.0.len());
        MembersIter(self.0.iter())
    }
}

pub(super) struct MembersIter<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Look<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), Look(value)))
    }
}

pub(super) struct Items<'a>(&'a [Value]);

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Look<'a>;
    type ElementsIter = std::iter::Map<std::slice::Iter<'a, Value>, fn(&'a Value) -> Look<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn elements(&self) -> Self::ElementsIter {
        spend(self.0.len());
        self.0.iter().map(Look)
    }

    fn is_unique(&self) -> bool {
        spend(self.0.iter().map(|item| crate::json::Extent::of(item).weight).sum());
        jsonschema::json::unique::is_unique(self.0)
    }
}
