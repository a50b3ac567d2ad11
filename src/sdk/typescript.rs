//! Types of the intermediate form as TypeScript text.
//!
//! One pass over the types in their order, each built from the texts of its parts. Owns what TypeScript
//! needs on top of the form's meaning: an index signature has to admit every named member it covers, and an
//! open object is written `& JsonObject`, which asks nothing of the members. Must never write a foreign
//! text except through `escape`, nor type anything narrower than the form.

use crate::ids::spelling::string_literal;
use crate::schema::ir::{
    DefinitionId, Doc, KeyPattern, Literal, Member, ObjectType, Rest, Type, TypeId, TypeIr,
};

use super::definitions::Definitions;
use super::escape::{property_key, template_text};
use super::layout::{Level, Text, doc_comment, indent, union};
use super::names::DeclaredNames;

/// Longest object that stays on one line.
const LINE: usize = 100;

/// One entry of `ToolArgsMap` or `ToolOutputMap`.
pub(super) fn entry(name: &str, doc: &Doc, ty: &TypeText) -> String {
    let comment = doc_comment(doc);
    let line = ty.0.behind(&format!("{}:", property_key(name)));
    format!("{}\n", indent(&format!("{comment}{line};")))
}

/// The finished text of a type.
#[derive(Debug)]
pub(super) struct TypeText(Text);

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
        Some(printer.text(ir.root))
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
        let comment = doc_comment(&self.ir.definitions.get(index)?.doc);
        let known = format!("{comment}{}", body.code);
        self.definitions.declare(index, known, |name| {
            format!("{comment}{};\n", body.behind(&format!("type {name} =")))
        })?;
        Some(())
    }

    fn text(&self, id: TypeId) -> Text {
        match self.ir.get(id) {
            Type::Named(definition) => Text::atom(self.name(*definition)),
            _ => self.texts.get(id.index()).cloned().unwrap_or_else(|| Text::atom("JsonValue")),
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
            Type::Literal(Literal::Boolean(flag)) => Text::atom(flag.to_string()),
            Type::Literal(Literal::Number(digits)) => Text::atom(digits.clone()),
            Type::Literal(Literal::String(text)) => Text::atom(string_literal(text)),
            Type::Array(item) => Text::atom(format!("{}[]", self.text(*item).within(Level::Atom))),
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
        let mut parts: Vec<String> = Vec::with_capacity(items.len() + 1);
        for (index, item) in items.iter().enumerate() {
            let text = self.text(*item);
            parts.push(if index < required {
                text.within(Level::Union)
            } else {
                format!("{}?", text.within(Level::Atom))
            });
        }
        if let Some(rest) = rest {
            parts.push(format!("...{}[]", self.text(rest).within(Level::Atom)));
        }
        Text::atom(format!("[{}]", parts.join(", ")))
    }

    fn object(&self, object: &ObjectType) -> Text {
        let named = !object.members.is_empty() || !object.patterns.is_empty();
        match (named, self.rest(object)) {
            (false, Rest::Open) => Text::atom("JsonObject"),
            (false, Rest::Closed) => Text::atom("{ [key: string]: never }"),
            (_, Rest::Open) => Text {
                code: format!("{} & JsonObject", self.braces(object)),
                level: Level::Intersection,
                block: false,
            },
            (_, Rest::Closed | Rest::Of(_)) => Text::atom(self.braces(object)),
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

    /// The members of an object type, without what makes it open.
    fn braces(&self, object: &ObjectType) -> String {
        let mut lines: Vec<(String, String)> = Vec::new();
        for member in &object.members {
            let mark = if member.required { "" } else { "?" };
            let head = format!("{}{mark}:", property_key(&member.name));
            let ty = if is_inherited(member) { Text::atom("unknown") } else { self.text(member.ty) };
            lines.push((doc_comment(&member.doc), ty.behind(&head)));
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
            lines.push((String::new(), value.behind(&format!("[key: {key}]:"))));
        }
        if let Rest::Of(ty) = self.rest(object) {
            let types = std::iter::once(ty).chain(object.patterns.iter().map(|(_, ty)| *ty));
            let value = self.admitting(types, object.members.iter());
            lines.push((String::new(), value.behind("[key: string]:")));
        }
        if lines.is_empty() {
            return "{}".to_owned();
        }
        let flat = lines.iter().all(|(doc, line)| doc.is_empty() && !line.contains('\n'))
            && lines.iter().map(|(_, line)| line.len() + 2).sum::<usize>() <= LINE;
        if flat {
            let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
            return format!("{{ {} }}", lines.join("; "));
        }
        let lines: Vec<String> =
            lines.into_iter().map(|(doc, line)| indent(&format!("{doc}{line};"))).collect();
        format!("{{\n{}\n}}", lines.join("\n"))
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
        let mut texts: Vec<(&Doc, Text)> = Vec::new();
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
            texts.push((&none, Text::atom("undefined")));
        }
        union(&texts)
    }

    /// Members that branches share, and the branches: these are written without what the first part says.
    fn intersection(&self, parts: &[TypeId]) -> Text {
        let Some((common, others)) = parts.split_first() else { return Text::atom("JsonValue") };
        let open = matches!(self.ir.get(*common), Type::Object(object) if object.rest == Rest::Open);
        let bare = |id: TypeId| match self.ir.get(id) {
            Type::Object(object) if !open && object.rest == Rest::Open => self.object(object),
            Type::Object(object) => Text::atom(self.braces(object)),
            _ => self.text(id),
        };
        let mut texts = vec![match self.ir.get(*common) {
            Type::Object(object) => self.braces(object),
            _ => self.text(*common).within(Level::Intersection),
        }];
        for part in others {
            let text = match self.ir.get(*part) {
                Type::Union(variants) => {
                    let branches: Vec<_> =
                        variants.iter().map(|variant| (&variant.doc, bare(variant.ty))).collect();
                    union(&branches)
                }
                _ => bare(*part),
            };
            texts.push(text.within(Level::Intersection));
        }
        if open {
            texts.push("JsonObject".to_owned());
        }
        Text { code: texts.join(" & "), level: Level::Intersection, block: false }
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
