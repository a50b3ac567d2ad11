//! Types of the intermediate form as Python text.
//!
//! One pass over the types in their order, each built from the texts of its parts, as in `typescript`. Owns what
//! Python can and cannot say: every object with members is a class of its own, other keys and the places in a list are
//! for a comment to tell. Must never write a foreign text except through `words`, nor give a named key a
//! type that is narrower than the form. Keys that are not named are the limit: a value may have them, and a checker
//! refuses them in a literal (`docs/limitations.md`).

use crate::schema::ir::{
    Definition, DefinitionId, KeyPattern, Literal, Member, ObjectType, Rest, Type, TypeId, TypeIr, Variant,
};

use super::super::definitions::Definitions;
use super::super::names::DeclaredNames;
use super::class::{Class, Field, declare_alias};
use super::places::{Place, Places};
use super::text::Text;
use super::words::{doc_lines, python_string};

/// Prints one compiled schema: declares its classes and named types, and returns the text of its root. `fallback`
/// names a type without a hint.
pub(super) fn print(
    ir: &TypeIr,
    fallback: &'static str,
    allocator: &mut DeclaredNames<'_>,
    declarations: &mut String,
) -> Text {
    let places = Places::new(ir, fallback);
    let root = Definitions::new(ir, fallback, allocator, declarations).settle(|definitions| {
        let texts = Vec::with_capacity(ir.types.len());
        let mut printer = Printer { ir, places: &places, definitions, texts };
        printer.print_all()?;
        Some(printer.text(ir.root))
    });
    root.unwrap_or_else(|| Text::code("JsonValue"))
}

/// Prints the types of one compiled schema.
#[derive(Debug)]
struct Printer<'d, 'a, 'n> {
    ir: &'a TypeIr,
    places: &'d Places<'a>,
    definitions: &'d mut Definitions<'a, 'n>,
    texts: Vec<Text>,
}

impl<'a> Printer<'_, 'a, '_> {
    /// `None`: a definition could not be declared.
    fn print_all(&mut self) -> Option<()> {
        let ir = self.ir;
        let bodies = self.definitions.bodies();
        let places = self.places;
        for (index, (ty, definitions)) in ir.types.iter().zip(bodies).enumerate() {
            let text = match places.at(index) {
                Some(place) => self.declared(ty, place, &definitions)?,
                None => Text::default(),
            };
            self.texts.push(text);
        }
        Some(())
    }

    /// The text of a type, which is a name if it has to be declared.
    fn declared(&mut self, ty: &'a Type, place: Place<'a>, definitions: &[usize]) -> Option<Text> {
        let class = match ty {
            Type::Object(object) => self.class(object),
            _ => None,
        };
        let (text, aliases) = match (class, definitions.split_first()) {
            (Some(class), Some((first, others))) => (self.declare_class(*first, class)?, others),
            (Some(class), None) => (self.declare_part(place, class), definitions),
            (None, _) => (self.print(ty, place), definitions),
        };
        for index in aliases {
            let doc = self.ir.definitions.get(*index).map(of_definition).unwrap_or_default();
            let alias = declare_alias("", &text, &doc);
            self.definitions.declare(*index, alias, |name| declare_alias(name, &text, &doc))?;
        }
        Some(text)
    }

    fn declare_class(&mut self, index: usize, mut class: Class<'a>) -> Option<Text> {
        let mut doc = self.ir.definitions.get(index).map(of_definition).unwrap_or_default();
        doc.append(&mut class.doc);
        class.doc = doc;
        let name = self.definitions.declare(index, class.declare(""), |name| class.declare(name))?;
        Some(Text::code(name))
    }

    fn declare_part(&mut self, place: Place<'a>, mut class: Class<'a>) -> Text {
        if let Some(doc) = place.doc {
            let mut lines = doc_lines(doc);
            lines.append(&mut class.doc);
            class.doc = lines;
        }
        let text = class.declare("");
        let write = |name: &str| class.declare(name);
        let name = if place.shared {
            self.definitions.declare_part(&format!("{} base", place.hint), &text, write)
        } else {
            self.definitions.declare_part(place.hint, &text, write)
        };
        Text::code(name)
    }

    fn text(&self, id: TypeId) -> Text {
        match self.ir.get(id) {
            Type::Named(definition) => self.named(*definition),
            _ => self.texts.get(id.index()).cloned().unwrap_or_else(|| Text::code("JsonValue")),
        }
    }

    fn named(&self, id: DefinitionId) -> Text {
        let recursive = self.ir.definition(id).is_some_and(|definition| definition.recursive);
        match self.definitions.name(id) {
            Some(name) if recursive => Text::forward(name),
            name => Text::code(name.unwrap_or("JsonValue")),
        }
    }

    fn print(&mut self, ty: &'a Type, place: Place<'a>) -> Text {
        match ty {
            Type::Json => Text::code("JsonValue"),
            Type::Named(definition) => self.named(*definition),
            Type::Never => Text::default(),
            Type::Null => Text::code("None"),
            Type::Boolean => Text::code("bool"),
            Type::Number => Text::union(["int", "float"].map(Text::code)),
            Type::String => Text::code("str"),
            Type::Literal(literal) => print_literal(literal),
            Type::Array(item) => self.text(*item).inside("list["),
            Type::Tuple { items, required, rest } => self.tuple(items, *required, *rest),
            Type::Object(object) => self.dict(object),
            Type::Union(variants) => Text::union(variants.iter().map(|variant| self.variant(variant))),
            Type::Intersection(parts) => self.intersection(parts, place),
        }
    }

    /// A list of whatever may stand in it; what stands where is a note.
    fn tuple(&self, items: &[TypeId], required: usize, rest: Option<TypeId>) -> Text {
        let mut list = Text::union(items.iter().chain(&rest).map(|item| self.text(*item))).inside("list[");
        let alike = |one: TypeId| items.iter().all(|item| *item == one);
        let note = match (items, rest) {
            ([], _) => None,
            (_, Some(rest)) if alike(rest) => (required > 0).then(|| format!("At least {required}")),
            ([first, ..], None) if alike(*first) && required == items.len() => {
                Some(format!("Exactly {required}"))
            }
            _ => Some(self.places_in(items, required, rest)),
        };
        list.notes.splice(0..0, note);
        list
    }

    /// What stands where in a list.
    fn places_in(&self, items: &[TypeId], required: usize, rest: Option<TypeId>) -> String {
        let mut places: Vec<String> = Vec::with_capacity(items.len() + 1);
        for (index, item) in items.iter().enumerate() {
            let item = self.text(*item).annotation();
            places.push(if index < required { item } else { format!("maybe {item}") });
        }
        places.extend(rest.map(|rest| format!("any number of {}", self.text(rest).annotation())));
        format!("In order: {}", places.join(", "))
    }

    /// A branch; the documentation of a class stands in the class.
    fn variant(&self, variant: &Variant) -> Text {
        let mut text = self.text(variant.ty);
        let in_class = matches!(self.ir.get(variant.ty), Type::Object(object) if has_members(object));
        if !variant.doc.is_empty() && !in_class {
            text.notes.insert(0, format!("{}: {}", text.annotation(), doc_lines(&variant.doc).join(" ")));
        }
        text
    }

    /// An object type with members. `None`: it has none that a class could name.
    fn class(&self, object: &'a ObjectType) -> Option<Class<'a>> {
        if !has_members(object) {
            return None;
        }
        let fields = object.members.iter().filter(|member| is_nameable(member)).map(|member| {
            let text = self.text(member.ty);
            let mut doc = doc_lines(&member.doc);
            doc.extend_from_slice(&text.notes);
            Field { key: &member.name, text, required: member.required, doc }
        });
        Some(Class { doc: self.other_keys(object), bases: Vec::new(), fields: fields.collect() })
    }

    /// What a class cannot say about keys.
    fn other_keys(&self, object: &ObjectType) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for member in object.members.iter().filter(|member| !is_nameable(member)) {
            lines.push(format!("The key \"\": {}", self.text(member.ty).annotation()));
        }
        for (pattern, ty) in &object.patterns {
            if let Some(keys) = of_keys(pattern) {
                lines.push(format!("{keys}: {}", self.text(*ty).annotation()));
            }
        }
        if let Rest::Of(ty) = object.rest {
            lines.push(format!("Other keys: {}", self.text(ty).annotation()));
        }
        lines
    }

    /// An object type without members that could be named: any key, with what any of them may hold.
    fn dict(&self, object: &ObjectType) -> Text {
        let rest = match object.rest {
            Rest::Open => Some(Text::code("JsonValue")),
            Rest::Closed => None,
            Rest::Of(ty) => Some(self.text(ty)),
        };
        let members = object.members.iter().map(|member| member.ty);
        let patterns = object.patterns.iter().map(|(_, ty)| *ty);
        let values = members.chain(patterns).map(|ty| self.text(ty)).chain(rest);
        let mut dict = Text::union(values).inside("dict[str, ");
        if !object.members.is_empty() || !object.patterns.is_empty() {
            dict.notes.splice(0..0, self.other_keys(object));
        }
        dict
    }

    /// Members that branches share, and the branches: classes on top of a shared one.
    fn intersection(&mut self, parts: &[TypeId], place: Place<'a>) -> Text {
        let Some((shared, others)) = parts.split_first() else { return Text::code("JsonValue") };
        let [branch] = others else { return self.text(*shared) };
        let branches = match self.ir.get(*branch) {
            Type::Union(variants) => {
                variants.iter().map(|variant| (variant.ty, Some(&variant.doc))).collect()
            }
            _ => vec![(*branch, None)],
        };
        let mut texts = Vec::with_capacity(branches.len());
        for (branch, doc) in branches {
            let doc = doc.filter(|doc| !doc.is_empty());
            texts.push(self.branch(*shared, branch, Place { doc, ..place }));
        }
        Text::union(texts)
    }

    /// What is no object with members adds nothing that could be said.
    fn branch(&mut self, shared: TypeId, branch: TypeId, place: Place<'a>) -> Text {
        let base = self.text(shared);
        let Type::Object(object) = self.ir.get(branch) else { return base };
        let Some(mut class) = self.class(object) else { return base };
        match self.ir.get(shared) {
            // No class: there is nothing in it that one could name.
            Type::Object(shared) if !has_members(shared) => class.doc.append(&mut self.other_keys(shared)),
            _ => class.bases.push(base.annotation()),
        }
        if !class.has_names() && !class.bases.is_empty() {
            // Such keys need the other syntax, which knows no bases.
            let own = Class { doc: Vec::new(), bases: Vec::new(), fields: std::mem::take(&mut class.fields) };
            let own = self.declare_part(Place { doc: None, shared: true, ..place }, own);
            class.bases.push(own.annotation());
        }
        self.declare_part(place, class)
    }
}

fn of_definition(definition: &Definition) -> Vec<String> {
    doc_lines(&definition.doc)
}

/// Whether a class can have the key at all.
fn is_nameable(member: &Member) -> bool {
    !member.name.is_empty()
}

fn has_members(object: &ObjectType) -> bool {
    object.members.iter().any(is_nameable)
}

fn print_literal(literal: &Literal) -> Text {
    match literal {
        Literal::Boolean(true) => Text::literal("True"),
        Literal::Boolean(false) => Text::literal("False"),
        Literal::String(text) => Text::literal(python_string(text)),
        // No literal type holds a fraction.
        Literal::Number(digits) if digits.contains(['.', 'e', 'E']) => Text::code("float"),
        Literal::Number(digits) => Text::literal(digits.clone()),
    }
}

/// The keys of a pattern in words; `None` for what is no pattern of many keys.
fn of_keys(pattern: &KeyPattern) -> Option<String> {
    match pattern {
        KeyPattern::Prefix(text) => Some(format!("Keys that begin with {}", python_string(text))),
        KeyPattern::Suffix(text) => Some(format!("Keys that end with {}", python_string(text))),
        KeyPattern::Contains(text) => Some(format!("Keys that contain {}", python_string(text))),
        KeyPattern::Any | KeyPattern::Exact(_) | KeyPattern::Unknown => None,
    }
}
