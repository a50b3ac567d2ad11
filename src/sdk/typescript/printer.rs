//! Types of the intermediate form as TypeScript text.
//!
//! One pass over the types in their order, each built from the texts of its parts. Owns what TypeScript
//! needs on top of the form's meaning: an index signature has to admit every named member it covers, and an
//! open object is written `& JsonObject`, which asks nothing of the members. Must never write a foreign
//! text except through `escape`, nor type anything narrower than the form.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::ids::spelling::string_literal;
use crate::schema::ir::{
    DefinitionId, Doc, KeyPattern, Literal, Member, ObjectType, Rest, Type, TypeId, TypeIr,
};

use super::super::definitions::Definitions;
use super::super::escape::{property_key, template_text};
use super::super::names::DeclaredNames;
use super::layout::{INDENT, Level, Text, shows_nothing, union, write_doc_comment};

/// Longest object that stays on one line.
const LINE: usize = 100;

/// The finished text of a type.
#[derive(Debug)]
pub(super) struct TypeText(Text);

impl TypeText {
    /// One entry of `ToolArgsMap` or `ToolOutputMap`.
    pub(super) fn entry(&self, name: &str, doc: &Doc) -> String {
        let said = doc.text.as_ref().map_or(0, String::len);
        let mut out = String::with_capacity(name.len() + said + self.0.code.len() * 5 / 4 + 64);
        out.push_str(INDENT);
        write_doc_comment(doc, INDENT, &mut out);
        out.push_str(&property_key(name));
        out.push(':');
        self.0.write_behind(INDENT, &mut out);
        out.push_str(";\n");
        out
    }
}

/// Prints one compiled schema: declares its named types, and returns the text of its root. `fallback` names a
/// type without a hint.
pub(super) fn print(
    ir: &TypeIr,
    fallback: &'static str,
    allocator: &mut DeclaredNames<'_>,
    declarations: &mut String,
) -> TypeText {
    let root = Definitions::new(ir, fallback, allocator, declarations).settle(|definitions| {
        let mut printer = Printer { ir, definitions, texts: Vec::with_capacity(ir.types.len()) };
        printer.print_all()?;
        Some(printer.text(ir.root).into_owned())
    });
    TypeText(root.unwrap_or_else(|| Text::atom("JsonValue")))
}

/// Prints the types of one compiled schema.
#[derive(Debug)]
struct Printer<'d, 'a, 'n> {
    ir: &'a TypeIr,
    definitions: &'d mut Definitions<'a, 'n>,
    texts: Vec<Text>,
}

impl Printer<'_, '_, '_> {
    /// `None`: a definition could not be declared.
    fn print_all(&mut self) -> Option<()> {
        let ir = self.ir;
        for (ty, definitions) in ir.types.iter().zip(self.definitions.bodies()) {
            let text = self.print(ty);
            for index in definitions {
                self.declare(index, &text)?;
            }
            self.texts.push(text);
        }
        Some(())
    }

    fn declare(&mut self, index: usize, body: &Text) -> Option<()> {
        let mut known = String::new();
        write_doc_comment(&self.ir.definitions.get(index)?.doc, "", &mut known);
        let comment = known.clone();
        known.push_str(&body.code);
        self.definitions.declare(index, known, |name| {
            let mut out = comment;
            let _ = write!(out, "type {name} =");
            body.write_behind("", &mut out);
            out.push_str(";\n");
            out
        })?;
        Some(())
    }

    fn text(&self, id: TypeId) -> Cow<'_, Text> {
        match (self.ir.get(id), self.texts.get(id.index())) {
            (Type::Named(definition), _) => Cow::Owned(Text::atom(self.name(*definition))),
            (_, Some(text)) => Cow::Borrowed(text),
            (_, None) => Cow::Owned(Text::atom("JsonValue")),
        }
    }

    fn name(&self, id: DefinitionId) -> String {
        self.definitions.name(id).unwrap_or("JsonValue").to_owned()
    }

    fn print(&self, ty: &Type) -> Text {
        match ty {
            Type::Json => Text::atom("JsonValue"),
            Type::Never => Text::atom("never"),
            Type::Null => Text::atom("null"),
            Type::Boolean => Text::atom("boolean"),
            Type::Number => Text::atom("number"),
            Type::String => Text::atom("string"),
            Type::Literal(Literal::Boolean(flag)) => Text::atom(if *flag { "true" } else { "false" }),
            Type::Literal(Literal::Number(digits)) => Text::atom(digits.clone()),
            Type::Literal(Literal::String(text)) => Text::atom(string_literal(text)),
            Type::Array(item) => {
                let mut code = String::new();
                self.write_list(*item, &mut code);
                Text::atom(code)
            }
            Type::Tuple { items, required, rest } => self.tuple(items, *required, *rest),
            Type::Object(object) => self.object(object),
            Type::Union(variants) => {
                let branches: Vec<_> =
                    variants.iter().map(|variant| (&variant.doc, self.text(variant.ty))).collect();
                union(&branches)
            }
            Type::Intersection(parts) => self.intersection(parts),
            Type::Named(definition) => Text::atom(self.name(*definition)),
        }
    }

    fn tuple(&self, items: &[TypeId], required: usize, rest: Option<TypeId>) -> Text {
        let mut code = String::from("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                code.push_str(", ");
            }
            let text = self.text(*item);
            if index < required {
                text.write_within(Level::Union, &mut code);
            } else {
                text.write_within(Level::Atom, &mut code);
                code.push('?');
            }
        }
        if let Some(rest) = rest {
            code.push_str(if items.is_empty() { "..." } else { ", ..." });
            self.write_list(rest, &mut code);
        }
        code.push(']');
        Text::atom(code)
    }

    fn write_list(&self, item: TypeId, out: &mut String) {
        self.text(item).write_within(Level::Atom, out);
        out.push_str("[]");
    }

    fn object(&self, object: &ObjectType) -> Text {
        let named = !object.members.is_empty() || !object.patterns.is_empty();
        match (named, self.rest(object)) {
            (false, Rest::Open) => Text::atom("JsonObject"),
            (false, Rest::Closed) => Text::atom("{ [key: string]: never }"),
            (_, rest) => {
                let mut code = String::new();
                self.write_braces(object, &mut code);
                if rest != Rest::Open {
                    return Text::atom(code);
                }
                code.push_str(" & JsonObject");
                Text { code: code.into(), level: Level::Intersection, block: false }
            }
        }
    }

    /// The other keys. A type for them that has to admit a member of any value says nothing: then the object
    /// is as good as open.
    fn rest(&self, object: &ObjectType) -> Rest {
        let any = |id: TypeId| matches!(self.ir.get(id), Type::Json);
        let holds_any = object.members.iter().any(|member| any(member.ty) || is_inherited(member))
            || object.patterns.iter().any(|(_, ty)| any(*ty));
        if holds_any && matches!(object.rest, Rest::Of(_)) { Rest::Open } else { object.rest }
    }

    /// Writes the members of an object type, without what makes it open.
    fn write_braces(&self, object: &ObjectType, out: &mut String) {
        let mut lines: Vec<Line<'_>> = Vec::with_capacity(object.members.len() + 1);
        for member in &object.members {
            let mark = if member.required { ":" } else { "?:" };
            let ty =
                if is_inherited(member) { Cow::Owned(Text::atom("unknown")) } else { self.text(member.ty) };
            lines.push(Line { doc: Some(&member.doc), key: property_key(&member.name), mark, ty });
        }
        for (pattern, ty) in &object.patterns {
            let Some(key) = template_key(pattern) else { continue };
            let matched = |member: &Member| pattern.matches(&member.name) == Some(true);
            let narrower: Vec<TypeId> = object
                .patterns
                .iter()
                .filter(|(other, _)| other != pattern && covers(pattern, other))
                .map(|(_, ty)| *ty)
                .collect();
            let types = std::iter::once(*ty).chain(narrower);
            let value = self.admitting(types, object.members.iter().filter(|member| matched(member)));
            let key = Cow::Owned(format!("[key: {key}]"));
            lines.push(Line { doc: None, key, mark: ":", ty: Cow::Owned(value) });
        }
        if let Rest::Of(ty) = self.rest(object) {
            let types = std::iter::once(ty).chain(object.patterns.iter().map(|(_, ty)| *ty));
            let value = self.admitting(types, object.members.iter());
            lines.push(Line { doc: None, key: "[key: string]".into(), mark: ":", ty: Cow::Owned(value) });
        }
        if lines.is_empty() {
            out.push_str("{}");
            return;
        }
        let length = lines.iter().map(Line::len).sum::<usize>();
        let flat = lines.iter().all(Line::is_one) && length <= LINE;
        let indent = if flat { "" } else { INDENT };
        out.reserve(if flat { length } else { length * 5 / 4 } + 4);
        out.push_str(if flat { "{ " } else { "{\n" });
        for (index, line) in lines.iter().enumerate() {
            if flat && index > 0 {
                out.push_str("; ");
            }
            out.push_str(indent);
            if let Some(doc) = line.doc {
                write_doc_comment(doc, indent, out);
            }
            out.push_str(&line.key);
            out.push_str(line.mark);
            line.ty.write_behind(indent, out);
            if !flat {
                out.push_str(";\n");
            }
        }
        out.push_str(if flat { " }" } else { "}" });
    }

    /// The value type of an index signature that holds `types` and covers some members.
    fn admitting<'m>(
        &self,
        types: impl Iterator<Item = TypeId>,
        members: impl Iterator<Item = &'m Member>,
    ) -> Text {
        let mut all: Vec<TypeId> = types.collect();
        let mut optional = false;
        for member in members {
            if is_inherited(member) {
                return Text::atom("unknown");
            }
            all.push(member.ty);
            optional |= !member.required;
        }
        let mut branches: Vec<TypeId> = Vec::new();
        for id in all {
            match self.ir.get(id) {
                Type::Union(variants) => branches.extend(variants.iter().map(|variant| variant.ty)),
                _ => branches.push(id),
            }
        }
        let mut seen = std::collections::HashSet::new();
        branches.retain(|id| seen.insert(*id));
        let has = |wanted: &Type| branches.iter().any(|id| self.ir.get(*id) == wanted);
        let json = has(&Type::Json);
        let strings = json || has(&Type::String);
        let numbers = json || has(&Type::Number);
        let booleans = json || has(&Type::Boolean);
        let mut texts: Vec<(&Doc, Cow<'_, Text>)> = Vec::new();
        let none = Doc::default();
        for id in &branches {
            let implied = match self.ir.get(*id) {
                Type::Literal(Literal::String(_)) => strings,
                Type::Literal(Literal::Number(_)) => numbers,
                Type::Literal(Literal::Boolean(_)) => booleans,
                Type::Never => branches.len() > 1 || optional,
                // Containers stay: one with optional parts is no `JsonValue` to TypeScript.
                Type::Null | Type::Boolean | Type::Number | Type::String => json,
                _ => false,
            };
            if !implied {
                texts.push((&none, self.text(*id)));
            }
        }
        if optional {
            texts.push((&none, Cow::Owned(Text::atom("undefined"))));
        }
        union(&texts)
    }

    /// Members that branches share, and the branches: these are written without what the first part says.
    fn intersection(&self, parts: &[TypeId]) -> Text {
        let Some((common, others)) = parts.split_first() else { return Text::atom("JsonValue") };
        let open = matches!(self.ir.get(*common), Type::Object(object) if object.rest == Rest::Open);
        let braces = |object: &ObjectType| {
            let mut code = String::new();
            self.write_braces(object, &mut code);
            Text::atom(code)
        };
        let bare = |id: TypeId| match self.ir.get(id) {
            Type::Object(object) if !open && object.rest == Rest::Open => Cow::Owned(self.object(object)),
            Type::Object(object) => Cow::Owned(braces(object)),
            _ => self.text(id),
        };
        let mut code = String::new();
        match self.ir.get(*common) {
            Type::Object(object) => self.write_braces(object, &mut code),
            _ => self.text(*common).write_within(Level::Intersection, &mut code),
        }
        for part in others {
            let text = match self.ir.get(*part) {
                Type::Union(variants) => {
                    let branches: Vec<_> =
                        variants.iter().map(|variant| (&variant.doc, bare(variant.ty))).collect();
                    Cow::Owned(union(&branches))
                }
                _ => bare(*part),
            };
            code.push_str(" & ");
            text.write_within(Level::Intersection, &mut code);
        }
        if open {
            code.push_str(" & JsonObject");
        }
        Text { code: code.into(), level: Level::Intersection, block: false }
    }
}

/// A member of an object type, or an index signature.
struct Line<'a> {
    doc: Option<&'a Doc>,
    key: Cow<'a, str>,
    /// What stands between the key and the type.
    mark: &'static str,
    ty: Cow<'a, Text>,
}

impl Line<'_> {
    /// Its length without its documentation, with what separates it from the next.
    fn len(&self) -> usize {
        self.key.len() + self.mark.len() + 1 + self.ty.code.len() + 2
    }

    /// Whether it takes no more than one line.
    fn is_one(&self) -> bool {
        self.doc.is_none_or(shows_nothing) && !self.ty.block && !self.ty.code.contains('\n')
    }
}

/// Whether every object has such a member already, a function, in the eyes of TypeScript: an optional
/// member of that name can have no other type.
fn is_inherited(member: &Member) -> bool {
    const INHERITED: &[&str] = &[
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    ];
    !member.required && INHERITED.contains(&member.name.as_str())
}

/// The template literal of an index signature; `None` for what is no pattern of many keys.
fn template_key(pattern: &KeyPattern) -> Option<String> {
    match pattern {
        KeyPattern::Prefix(text) => Some(format!("`{}${{string}}`", template_text(text))),
        KeyPattern::Suffix(text) => Some(format!("`${{string}}{}`", template_text(text))),
        KeyPattern::Contains(text) => Some(format!("`${{string}}{}${{string}}`", template_text(text))),
        KeyPattern::Any | KeyPattern::Exact(_) | KeyPattern::Unknown => None,
    }
}

/// Whether every key of `inner` is one of `outer`, so that TypeScript wants its type admitted there.
fn covers(outer: &KeyPattern, inner: &KeyPattern) -> bool {
    use KeyPattern::{Contains, Prefix, Suffix};
    match (outer, inner) {
        (Prefix(outer), Prefix(inner)) => inner.starts_with(outer.as_str()),
        (Suffix(outer), Suffix(inner)) => inner.ends_with(outer.as_str()),
        (Contains(outer), Prefix(inner) | Suffix(inner) | Contains(inner)) => inner.contains(outer.as_str()),
        _ => false,
    }
}
