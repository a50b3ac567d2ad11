//! The schema of a Rust type, as small as a model should read it (T-6).
//!
//! Owns what is changed in the schema that `schemars` derives: what only Rust needs to know is left out, and
//! the rest is said in the fewest keywords. It must never make a schema of arguments accept what the type
//! refuses, nor a schema of a value refuse what the type writes. Its recursion is over the author's types,
//! never over data. The builder compiles what it makes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value};

const DEFINITIONS: &str = "#/$defs/";

/// What the type is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Read by `serde`: the arguments of a tool.
    Arguments,
    /// Written by `serde`: the value of a tool.
    Value,
}

/// The schema of `T`, tidied:
///
/// - No `$schema`, no title of the whole; no description of all the arguments, as the tool has one.
/// - No `format` of numbers; their bounds stay.
/// - An optional member of the arguments is left out or given: `null` is not another way to leave it out.
///   In a value `null` stays, for a type may write it.
/// - An enumeration of names is one `enum`, with what each name means in its description.
/// - A definition that is used once stands where it is used.
/// - The lines of a doc comment are joined to paragraphs.
/// - The keywords are in the order of every author's schema.
pub(super) fn derived_schema<T: JsonSchema>(purpose: Use) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let settings = match purpose {
        Use::Arguments => settings,
        Use::Value => settings.for_serialize(),
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove("title");
        if purpose == Use::Arguments {
            members.shift_remove("description");
        }
    }
    inline_single_uses(&mut schema);
    Tidy { purpose }.transform(&mut schema);
    crate::schema::in_order(schema.to_value())
}

/// Moves every definition that is used once to its place.
fn inline_single_uses(schema: &mut Schema) {
    // Moving a definition moves the references in it, so their number stays what it is.
    let single = count_uses(schema.as_value()).into_iter().filter(|(_, uses)| *uses == 1);
    for (name, _) in single {
        let definition = definitions(schema).and_then(|definitions| match definitions.get(&name) {
            Some(Value::Object(_)) => definitions.shift_remove(&name),
            _ => None,
        });
        let Some(Value::Object(definition)) = definition else { continue };
        let mut inline = Inline { reference: format!("{DEFINITIONS}{name}"), definition: Some(definition) };
        inline.transform(schema);
        if let (Some(unused), Some(definitions)) = (inline.definition, definitions(schema)) {
            definitions.insert(name, Value::Object(unused));
        }
    }
    if definitions(schema).is_some_and(|definitions| definitions.is_empty()) {
        schema.remove("$defs");
    }
}

fn definitions(schema: &mut Schema) -> Option<&mut Map<String, Value>> {
    schema.get_mut("$defs")?.as_object_mut()
}

/// How often each definition is referred to, wherever a reference may stand; what is only partly referred to
/// counts as used more than once.
fn count_uses(schema: &Value) -> BTreeMap<String, usize> {
    let mut uses = BTreeMap::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                open.extend(members.values());
                let reference = members.get("$ref").and_then(Value::as_str);
                if let Some(path) = reference.and_then(|reference| reference.strip_prefix(DEFINITIONS)) {
                    let (name, weight) = path.split_once('/').map_or((path, 1), |(name, _)| (name, 2));
                    *uses.entry(name.to_owned()).or_default() += weight;
                }
            }
            _ => {}
        }
    }
    uses
}

/// Puts a definition in the place of the one reference to it.
struct Inline {
    reference: String,
    /// Present until the place is found.
    definition: Option<Map<String, Value>>,
}

impl Transform for Inline {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.get("$ref").and_then(Value::as_str) != Some(&self.reference) {
            return transform_subschemas(self, schema);
        }
        let Some(members) = schema.as_object_mut() else { return };
        // What stands beside a reference holds as well as what it refers to: only notes may be replaced.
        let clash = |(key, _): (&String, &Value)| !is_note(key) && members.contains_key(key);
        if self.definition.as_ref().is_none_or(|definition| definition.iter().any(clash)) {
            return;
        }
        members.shift_remove("$ref");
        put_beneath(members, self.definition.take().unwrap_or_default());
    }
}

/// Adds the keywords of `beneath` that are not there yet, ahead of those that are.
fn put_beneath(members: &mut Map<String, Value>, mut beneath: Map<String, Value>) {
    beneath.extend(std::mem::take(members));
    *members = beneath;
}

fn is_note(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "examples" | "deprecated")
}

struct Tidy {
    purpose: Use,
}

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        let Some(members) = schema.as_object_mut() else { return };
        // Before what is inside, so that a member and its one branch are tidied as the one schema they become.
        if self.purpose == Use::Arguments {
            let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            for (name, property) in properties.into_iter().flatten() {
                if !required.iter().any(|required| required == name)
                    && let Some(property) = property.as_object_mut()
                {
                    forbid_null(property);
                }
            }
        }
        transform_subschemas(self, schema);
        let Some(members) = schema.as_object_mut() else { return };
        if members.get("format").and_then(Value::as_str).is_some_and(is_number_format) {
            members.shift_remove("format");
        }
        join_names(members);
        if let Some(Value::String(text)) = members.get_mut("description") {
            *text = join_lines(text);
        }
    }
}

/// Names of machine types, which `schemars` writes where JSON Schema knows no format.
fn is_number_format(format: &str) -> bool {
    let is_sized = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
    matches!(format, "float" | "double")
        || format.strip_prefix("uint").or_else(|| format.strip_prefix("int")).is_some_and(is_sized)
}

/// Takes `null` out of what a member may be, unless it is all that it may be.
fn forbid_null(member: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = member.get_mut("type")
        && types.len() > 1
    {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            member.insert("type".to_owned(), only);
        }
        if let Some(Value::Array(options)) = member.get_mut("enum") {
            options.retain(|option| !option.is_null());
        }
    }
    if let Some(Value::Array(branches)) = member.get_mut("anyOf")
        && !branches.iter().all(is_null)
    {
        branches.retain(|branch| !is_null(branch));
        if let [Value::Object(only)] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            let clash = only.keys().any(|key| !is_note(key) && key != "anyOf" && member.contains_key(key));
            if clash {
                member.insert("anyOf".to_owned(), Value::Array(vec![Value::Object(only)]));
            } else {
                member.shift_remove("anyOf");
                put_beneath(member, only);
            }
        }
    }
    if member.get("default").is_some_and(Value::is_null) {
        member.shift_remove("default");
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

/// Says an enumeration whose names are described one by one as a single `enum`: it is shorter, and a wrong
/// name is answered with the right ones.
fn join_names(schema: &mut Map<String, Value>) {
    if schema.contains_key("type") || schema.contains_key("enum") {
        return;
    }
    let Some(branches) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let mut names = Vec::new();
    let mut notes = String::new();
    for branch in branches {
        let Some(members) = branch.as_object() else { return };
        let plain = |key: &String| matches!(key.as_str(), "type" | "const" | "enum" | "description");
        if members.get("type").is_none_or(|name| name != "string") || !members.keys().all(plain) {
            return;
        }
        let first = names.len();
        names.extend(members.get("const").cloned());
        names.extend(members.get("enum").and_then(Value::as_array).into_iter().flatten().cloned());
        if let (Some(name), Some(note)) =
            (names.get(first).and_then(Value::as_str), members.get("description").and_then(Value::as_str))
        {
            // Writing to a string cannot fail.
            let _ = write!(notes, "\n- `{name}`: {note}");
        }
    }
    schema.shift_remove("oneOf");
    schema.shift_insert(0, "type".to_owned(), Value::from("string"));
    schema.shift_insert(1, "enum".to_owned(), Value::Array(names));
    if !notes.is_empty() {
        let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = format!("{before}{notes}").trim_start().to_owned();
        schema.insert("description".to_owned(), Value::String(text));
    }
}

/// Joins the lines of paragraphs; lists, quotes, tables, headings, indented and fenced lines stay as they are.
fn join_lines(text: &str) -> String {
    if text.contains("```") {
        return text.to_owned();
    }
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_anew = line.chars().next().is_none_or(|first| {
            first.is_whitespace()
                || first.is_ascii_digit()
                || matches!(first, '-' | '*' | '+' | '#' | '|' | '>')
        });
        if !joined.is_empty() {
            let after_break = joined.ends_with('\n') || joined.ends_with("  ");
            joined.push(if starts_anew || after_break { '\n' } else { ' ' });
        }
        joined.push_str(line);
    }
    joined
}

#[cfg(test)]
mod tests;
