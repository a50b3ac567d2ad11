//! The documentation that a schema carries, as data: a text and tags.
//!
//! Texts stay raw here; whoever prints them escapes them. Must never put more than a small value into a tag.

use serde_json::Value;

use super::keywords::{ANNOTATIONS, Keywords, sorted};

/// Longest default value, in bytes, that is shown.
const MAX_VALUE: usize = 200;

/// Documentation of a type or member. Hostile text is possible in all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Doc {
    /// The description. `None`: there is none.
    pub text: Option<String>,
    /// Facts that the type does not say, in a fixed order.
    pub tags: Vec<DocTag>,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocTag {
    /// `deprecated`, `readonly`, `default`, `format`, `minimum`, ...: the JSON Schema keyword, mostly. `integer`: the
    /// numbers of the type are whole. `items`: what is said of a list's elements.
    pub name: &'static str,
    /// Its value; empty for a flag.
    pub value: String,
}

impl Doc {
    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.tags.is_empty()
    }

    /// About how many bytes a schema says of itself.
    pub(super) fn size_of(keywords: &Keywords<'_>) -> usize {
        let size = |(name, value): &(&str, &Value)| match value {
            Value::String(text) if *name == "default" => name.len() + text.len().min(MAX_VALUE),
            Value::String(text) => name.len() + text.len(),
            Value::Array(_) | Value::Object(_) => name.len() + MAX_VALUE,
            Value::Null | Value::Bool(_) | Value::Number(_) => name.len() + 4,
        };
        keywords.annotations.iter().map(size).sum()
    }

    /// What a schema says of itself.
    pub(super) fn of(keywords: &Keywords<'_>) -> Self {
        let mut doc = Self::default();
        if keywords.annotations.is_empty() {
            return doc;
        }
        for name in ANNOTATIONS {
            let found = keywords.annotations.iter().find(|(known, _)| known == name);
            if let Some((name, value)) = found {
                doc.take(name, value);
            }
        }
        doc
    }

    /// As [`Doc::of`]; a title that says more than the member's name stands in for a description.
    pub(super) fn of_member(keywords: &Keywords<'_>, name: &str) -> Self {
        let mut doc = Self::of(keywords);
        if doc.text.is_none() {
            doc.text = title(keywords).filter(|title| letters(title) != letters(name)).map(str::to_owned);
        }
        doc
    }

    /// As [`Doc::of`]; a branch's title stands in for a description.
    pub(super) fn of_variant(keywords: &Keywords<'_>) -> Self {
        let mut doc = Self::of(keywords);
        if doc.text.is_none() {
            doc.text = title(keywords).map(str::to_owned);
        }
        doc
    }

    /// Adds what another schema says of the same thing on top.
    pub(super) fn fill_from(&mut self, keywords: &Keywords<'_>) {
        let other = Self::of(keywords);
        if self.is_empty() {
            *self = other;
            return;
        }
        if self.text.is_none() {
            self.text = other.text;
        }
        for tag in other.tags {
            if !self.tags.iter().any(|known| known.name == tag.name) {
                self.tags.push(tag);
            }
        }
    }

    pub(super) fn drop_tag(&mut self, name: &str) {
        self.tags.retain(|tag| tag.name != name);
    }

    /// Adds the documentation of the elements below that of a list, and whether their numbers are all whole.
    pub(super) fn add_items(&mut self, items: Option<&Keywords<'_>>, whole: bool) {
        let text = items.and_then(|items| Self::of(items).text);
        let value = match (text, whole) {
            (Some(text), true) => format!("integer: {text}"),
            (Some(text), false) => text,
            (None, true) => "integer".to_owned(),
            (None, false) => return,
        };
        self.tags.push(DocTag { name: "items", value });
    }

    /// Adds that its numbers are all whole, which no type says. It comes before what narrows them more.
    pub(super) fn add_integer(&mut self) {
        let flags = ["deprecated", "readonly", "writeonly"];
        let place = self.tags.iter().take_while(|tag| flags.contains(&tag.name)).count();
        self.tags.insert(place, DocTag { name: "integer", value: String::new() });
    }

    fn take(&mut self, name: &'static str, value: &Value) {
        match (name, value) {
            ("description", Value::String(text)) if !text.trim().is_empty() => {
                self.text = Some(text.clone());
            }
            ("description" | "title", _) => {}
            ("deprecated", Value::Bool(true)) => self.tag("deprecated", String::new()),
            ("readOnly", Value::Bool(true)) => self.tag("readonly", String::new()),
            ("writeOnly", Value::Bool(true)) => self.tag("writeonly", String::new()),
            ("uniqueItems", Value::Bool(true)) => self.tag("uniqueItems", String::new()),
            ("default", value) => {
                if let Some(text) = small_json(value) {
                    self.tag("default", text);
                }
            }
            (_, Value::String(text)) => self.tag(name, text.clone()),
            (_, Value::Number(number)) => self.tag(name, number.to_string()),
            _ => {}
        }
    }

    fn tag(&mut self, name: &'static str, value: String) {
        self.tags.push(DocTag { name, value });
    }
}

fn title<'a>(keywords: &Keywords<'a>) -> Option<&'a str> {
    let (_, value) = keywords.annotations.iter().find(|(name, _)| *name == "title")?;
    value.as_str().filter(|title| !title.trim().is_empty())
}

fn letters(text: &str) -> String {
    text.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Compact JSON with sorted keys; `None` when it would be long or has more than three levels.
fn small_json(value: &Value) -> Option<String> {
    let mut out = String::new();
    write_json(value, 3, &mut out)?;
    Some(out)
}

/// Recurses at most `levels` deep.
fn write_json(value: &Value, levels: usize, out: &mut String) -> Option<()> {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => return None,
        Value::Array(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, levels - 1, out)?;
            }
            out.push(']');
        }
        Value::Object(map) if map.len() <= MAX_VALUE => {
            out.push('{');
            for (index, (key, item)) in sorted(map).into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.to_owned()).to_string());
                out.push(':');
                write_json(item, levels - 1, out)?;
            }
            out.push('}');
        }
        Value::Object(_) => return None,
        Value::String(text) if text.len() > MAX_VALUE => return None,
        scalar => out.push_str(&scalar.to_string()),
    }
    (out.len() <= MAX_VALUE).then_some(())
}
