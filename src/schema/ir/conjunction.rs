//! Sets of schemas that hold together, which is what a type is made of.
//!
//! A type in a schema language is a conjunction: `allOf`, the siblings of a `$ref`, two branches that
//! declare the same member. Such a set is kept as a sorted list of terms, so that equal sets are one state
//! of the graph and a reference cycle closes by itself. This file brings a set to its smallest form
//! (`reduce`) and splits it into constraints and choices (`flatten`); it never looks at members or items,
//! which is `leaf`'s part.

use std::collections::BTreeSet;

use serde_json::Value;
use smallvec::{SmallVec, smallvec};

use super::Reason;
use super::document::{Document, NodeId};
use super::keywords::{Keywords, Kinds};

/// One conjunct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Term {
    /// Everything the schema says.
    Full(NodeId),
    /// Everything but its `nullable`.
    NotNull(NodeId),
    /// What it says itself, without the schemas it applies in place.
    Own(NodeId),
    /// Exactly this value: an index into the graph's list of constants.
    Constant(u32),
    /// `null`.
    Null,
    /// Any object.
    Object,
}

impl Term {
    /// The schema of which it is a part.
    pub(super) fn node(self) -> Option<NodeId> {
        match self {
            Self::Full(node) | Self::NotNull(node) | Self::Own(node) => Some(node),
            Self::Constant(_) | Self::Null | Self::Object => None,
        }
    }
}

/// A conjunction in its smallest form: sorted, without duplicates. Empty means anything.
pub(super) type Conjunction = SmallVec<[Term; 4]>;

/// A branch of a choice; several terms stand for their conjunction.
pub(super) type Branch = Conjunction;

/// A conjunction taken apart: every constraint holds, and one branch of each choice.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub(super) constraints: Conjunction,
    pub(super) choices: Vec<Vec<Branch>>,
    /// Some constraints were left out.
    pub(super) cut: bool,
}

/// A place where a type had to be wider than its schema.
pub(super) type Notes = BTreeSet<(NodeId, Reason)>;

/// Sets longer than this lose members, which widens: it keeps chains of unions with siblings linear.
const MAX_TERMS: usize = 64;

/// The schemas that hold wherever `node` holds, and nothing else of it: `$ref`, `allOf`, single-branch
/// unions.
fn in_place<'a>(document: &mut Document<'a>, node: NodeId, notes: &mut Notes) -> Vec<NodeId> {
    let Some(keywords) = document.keywords(node) else { return Vec::new() };
    let only = |branches: &'a [Value]| if let [only] = branches { Some(only) } else { None };
    let schemas = keywords.all_of.iter().chain(only(keywords.any_of)).chain(only(keywords.one_of));
    let (reference, dynamic) = (keywords.reference, keywords.dynamic_reference);
    let mut applied: Vec<NodeId> = schemas.map(|schema| document.node(schema, node)).collect();
    if let Some(reference) = reference {
        match document.resolve(node, reference) {
            Some(target) => applied.push(target),
            None => drop(notes.insert((node, Reason::DanglingReference))),
        }
    }
    if let Some(reference) = dynamic {
        match document.resolve_dynamic(node, reference) {
            Some(target) => applied.push(target),
            None => drop(notes.insert((node, Reason::DynamicReference))),
        }
    }
    applied
}

fn has_choice(keywords: &Keywords<'_>) -> bool {
    keywords.any_of.len() > 1
        || keywords.one_of.len() > 1
        || keywords.if_then_else.iter().all(Option::is_some)
}

/// Brings a set to its smallest form. `None`: nothing satisfies it.
///
/// A schema that says nothing itself is replaced by what it applies, so that a bare reference (or an
/// `allOf` of one, with a description beside it) is its target, under its target's name.
pub(super) fn reduce(document: &mut Document<'_>, terms: &[Term], notes: &mut Notes) -> Option<Conjunction> {
    let mut seen: BTreeSet<Term> = BTreeSet::new();
    let mut work = Conjunction::from_slice(terms);
    let mut kept = Conjunction::new();
    while let Some(term) = work.pop() {
        if terms.len() + work.len() > 1 && !seen.insert(term) {
            continue;
        }
        let (Term::Full(node) | Term::NotNull(node)) = term else {
            kept.push(term);
            continue;
        };
        let Some(keywords) = document.keywords(node) else { continue };
        if keywords.never && !keywords.nullable {
            return None;
        }
        if keywords.nullable && matches!(term, Term::Full(_)) {
            kept.push(term);
        } else if keywords.has_own_constraint() || has_choice(keywords) {
            kept.push(if keywords.nullable { term } else { Term::Full(node) });
        } else {
            seen.insert(term);
            for schema in in_place(document, node, notes) {
                if !seen.contains(&Term::Full(schema)) {
                    work.push(Term::Full(schema));
                }
            }
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept.truncate(MAX_TERMS);
    drop_implied(document, &mut kept);
    Some(kept)
}

/// Drops `Own` beside `Full` of the same schema, and `type: T` beside a schema of that type: an `anyOf` of
/// references under `type: object` stays a union of names.
fn drop_implied(document: &Document<'_>, kept: &mut Conjunction) {
    if kept.len() < 2 {
        return;
    }
    let mut at = 0;
    while let Some(term) = kept.get(at).copied() {
        let implied = match term {
            Term::Own(node) | Term::NotNull(node) if kept.contains(&Term::Full(node)) => true,
            Term::Object => implied_by_another(document, kept, term, Kinds::OBJECT),
            Term::Own(node) | Term::Full(node) => only_kinds(document, node, term)
                .is_some_and(|kinds| implied_by_another(document, kept, term, kinds)),
            Term::NotNull(_) | Term::Constant(_) | Term::Null => false,
        };
        if implied {
            kept.remove(at);
        } else {
            at += 1;
        }
    }
}

fn only_kinds(document: &Document<'_>, node: NodeId, term: Term) -> Option<Kinds> {
    let keywords = document.keywords(node)?;
    let alone = matches!(term, Term::Own(_))
        || (!keywords.nullable
            && !has_choice(keywords)
            && keywords.reference.is_none()
            && keywords.dynamic_reference.is_none()
            && keywords.all_of.is_empty()
            && keywords.any_of.is_empty()
            && keywords.one_of.is_empty());
    (alone && !keywords.has_more_than_kinds()).then_some(keywords.kinds)
}

fn implied_by_another(document: &Document<'_>, kept: &[Term], term: Term, kinds: Kinds) -> bool {
    kept.iter().filter(|other| **other != term).any(|other| match other {
        Term::Full(node) | Term::NotNull(node) | Term::Own(node) => {
            document.keywords(*node).is_some_and(|keywords| {
                let nullable = keywords.nullable && matches!(other, Term::Full(_));
                keywords.kinds.within(kinds) && (!nullable || kinds.has(Kinds::NULL))
            })
        }
        Term::Null => kinds.has(Kinds::NULL),
        Term::Object | Term::Constant(_) => false,
    })
}

/// Takes a set apart. `None`: nothing satisfies it.
pub(super) fn flatten(document: &mut Document<'_>, terms: &[Term], notes: &mut Notes) -> Option<Flat> {
    let mut flat = Flat::default();
    let mut seen: BTreeSet<Term> = BTreeSet::new();
    let mut work = Conjunction::from_slice(terms);
    work.reverse();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        let (Term::Full(node) | Term::NotNull(node)) = term else {
            flat.constraints.push(term);
            continue;
        };
        let Some(keywords) = document.keywords(node) else { continue };
        if keywords.nullable && matches!(term, Term::Full(_)) {
            flat.choices.push(vec![smallvec![Term::NotNull(node)], smallvec![Term::Null]]);
            continue;
        }
        if keywords.never {
            return None;
        }
        if keywords.has_own_constraint() {
            flat.constraints.push(Term::Own(node));
        }
        for choice in own_choices(document, node) {
            flat.choices.push(choice);
        }
        for schema in in_place(document, node, notes) {
            work.push(Term::Full(schema));
        }
    }
    flat.constraints.sort_unstable();
    flat.constraints.dedup();
    flat.cut = flat.constraints.len() > MAX_TERMS;
    flat.constraints.truncate(MAX_TERMS);
    Some(flat)
}

fn own_choices(document: &mut Document<'_>, node: NodeId) -> Vec<Vec<Branch>> {
    let Some(keywords) = document.keywords(node) else { return Vec::new() };
    let unions = [keywords.any_of, keywords.one_of];
    let conditional = keywords.if_then_else;
    let mut choices = Vec::new();
    for branches in unions.into_iter().filter(|branches| branches.len() > 1) {
        choices
            .push(branches.iter().map(|branch| smallvec![Term::Full(document.node(branch, node))]).collect());
    }
    if let [Some(condition), Some(then), Some(otherwise)] = conditional {
        let mut term = |schema| Term::Full(document.node(schema, node));
        choices.push(vec![smallvec![term(condition), term(then)], smallvec![term(otherwise)]]);
    }
    choices
}

/// The branches of a schema that is nothing but one union, so that nested unions become one list.
pub(super) fn pure_union(document: &mut Document<'_>, terms: &[Term]) -> Option<Vec<Branch>> {
    let [Term::Full(node)] = terms else { return None };
    let keywords = document.keywords(*node)?;
    let pure = !document.is_target(*node)
        && !keywords.nullable
        && !keywords.has_own_constraint()
        && keywords.reference.is_none()
        && keywords.dynamic_reference.is_none()
        && keywords.all_of.is_empty();
    if !pure || keywords.any_of.len() == 1 || keywords.one_of.len() == 1 {
        return None;
    }
    let mut choices = own_choices(document, *node);
    if choices.len() == 1 { choices.pop() } else { None }
}
