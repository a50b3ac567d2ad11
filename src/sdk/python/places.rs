//! Where each type of a schema is used first: what to call it, and whether it is written at all.
//!
//! The form gives names to few types; Python needs one for every object with members. Names come from the way to
//! the type: the key, or the definition. Must never recurse. Used by `printer`.

use crate::schema::ir::{Doc, Rest, Type, TypeId, TypeIr};

/// The first use of a type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The key, or what the schema calls the definition.
    pub(super) hint: &'a str,
    /// It is what the branches of a union share, and those are called by the hint.
    pub(super) shared: bool,
    /// The documentation of a union's branch.
    pub(super) doc: Option<&'a Doc>,
}

/// The places of a schema's types.
#[derive(Debug)]
pub(super) struct Places<'a> {
    places: Vec<Option<Place<'a>>>,
}

impl<'a> Places<'a> {
    /// `fallback` is what the root is called.
    pub(super) fn new(ir: &'a TypeIr, fallback: &'a str) -> Self {
        let mut places = Self { places: vec![None; ir.types.len()] };
        for definition in ir.definitions.iter().filter(|definition| definition.used) {
            places.meet(definition.body, Place { hint: &definition.hint, shared: false, doc: None });
        }
        places.meet(ir.root, Place { hint: fallback, shared: false, doc: None });
        // What a type refers to comes before it, but for definitions, which were met already.
        for (index, ty) in ir.types.iter().enumerate().rev() {
            if let Some(place) = places.at(index) {
                places.meet_parts(ir, ty, Place { doc: None, shared: false, ..place });
            }
        }
        places
    }

    /// The place of the type at a position; `None` when it is not written by itself.
    pub(super) fn at(&self, index: usize) -> Option<Place<'a>> {
        self.places.get(index).copied().flatten()
    }

    fn meet(&mut self, id: TypeId, place: Place<'a>) {
        if let Some(slot) = self.places.get_mut(id.index()) {
            slot.get_or_insert(place);
        }
    }

    fn meet_parts(&mut self, ir: &'a TypeIr, ty: &'a Type, place: Place<'a>) {
        match ty {
            Type::Array(item) => self.meet(*item, place),
            Type::Tuple { items, rest, .. } => {
                for item in items.iter().chain(rest) {
                    self.meet(*item, place);
                }
            }
            Type::Object(object) => {
                for member in &object.members {
                    self.meet(member.ty, Place { hint: &member.name, ..place });
                }
                for (_, value) in &object.patterns {
                    self.meet(*value, place);
                }
                if let Rest::Of(value) = object.rest {
                    self.meet(value, place);
                }
            }
            Type::Union(variants) => {
                for variant in variants {
                    let doc = Some(&variant.doc).filter(|doc| !doc.is_empty());
                    self.meet(variant.ty, Place { doc, ..place });
                }
            }
            Type::Intersection(parts) => {
                let Some((shared, branches)) = parts.split_first() else { return };
                self.meet(*shared, Place { shared: true, ..place });
                // The branches are written as classes on top of what they share.
                for branch in branches {
                    match ir.get(*branch) {
                        Type::Union(variants) => {
                            for variant in variants {
                                self.meet_parts_of_branch(ir, variant.ty, place);
                            }
                        }
                        _ => self.meet_parts_of_branch(ir, *branch, place),
                    }
                }
            }
            Type::Json
            | Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Number
            | Type::String
            | Type::Literal(_)
            | Type::Named(_) => {}
        }
    }

    fn meet_parts_of_branch(&mut self, ir: &'a TypeIr, branch: TypeId, place: Place<'a>) {
        if let ty @ Type::Object(_) = ir.get(branch) {
            self.meet_parts(ir, ty, place);
        }
    }
}
