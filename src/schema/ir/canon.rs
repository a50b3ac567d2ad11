//! From the graph of states to the public form: equal types once, cycles cut by names, large shared types
//! named.
//!
//! One depth-first pass with an explicit stack. A state met again while it is still open contains itself
//! and becomes a recursive definition; everything else is interned bottom-up. Must never look at the schema
//! except for names and documentation. `union` owns what makes a list of branches one type.

use std::collections::HashMap;

use super::arena::Arena;
use super::conjunction::Term;
use super::cycles::{circular_unions, for_each_child};
use super::document::NodeId;
use super::graph::{Graph, ObjectShape, Part, RestShape, Shape, StateId};
use super::keywords::Keywords;
use super::parts::long;
use super::sharing::name_shared;
use super::{
    Definition, DefinitionId, Doc, KeyPattern, Member, ObjectType, Rest, Type, TypeId, TypeIr, Variant,
    Widening,
};

/// Weight from which the target of a reference keeps its name.
const NAMED_WEIGHT: u64 = 3;

/// Widenings that are reported; each costs a pointer.
const MAX_WIDENINGS: usize = 100;

pub(super) fn canonical(graph: &Graph<'_>) -> TypeIr {
    let states = graph.states.len();
    let mut canon = Canon {
        graph,
        arena: Arena::default(),
        definitions: Vec::new(),
        by_name: HashMap::new(),
        finished: vec![None; states],
        open: vec![false; states],
        slots: vec![None; states],
        circular: circular_unions(graph),
        hints: Vec::new(),
        children: Vec::new(),
    };
    let root = canon.visit(graph.root);
    let node = canon.first_node(graph.root);
    let mut doc = canon.doc(node);
    canon.complete(&mut doc, node, graph.root);
    let Canon { arena, definitions, circular, hints, .. } = canon;
    let mut widenings: Vec<Widening> = graph
        .notes
        .iter()
        .take(MAX_WIDENINGS)
        .map(|(node, reason)| Widening { pointer: graph.document.pointer(*node), reason: *reason })
        .collect();
    for (state, _) in graph.states.iter().zip(circular).filter(|(_, circular)| *circular).take(MAX_WIDENINGS)
    {
        if let Some(node) = Graph::first_node(&state.terms) {
            let pointer = graph.document.pointer(node);
            widenings.push(Widening { pointer, reason: super::Reason::Circular });
        }
    }
    widenings.sort_by(|left, right| (&left.pointer, left.reason).cmp(&(&right.pointer, right.reason)));
    let mut ir = TypeIr { types: arena.into_types(), definitions, root, doc, widenings };
    name_shared(&mut ir, |ty| match hints.get(ty.index()) {
        Some(Some(node)) => graph.document.hint(*node),
        _ => String::new(),
    });
    ir
}

struct Canon<'g, 'a> {
    graph: &'g Graph<'a>,
    arena: Arena,
    definitions: Vec<Definition>,
    by_name: HashMap<(String, TypeId), DefinitionId>,
    finished: Vec<Option<TypeId>>,
    open: Vec<bool>,
    slots: Vec<Option<DefinitionId>>,
    circular: Vec<bool>,
    /// The first schema of each type, by the type's position.
    hints: Vec<Option<NodeId>>,
    /// What is left to visit of the open states, each one's after those of the ones around it.
    children: Vec<StateId>,
}

/// A state that is being visited.
struct Open {
    state: StateId,
    /// How many of the states in `children` belong to the ones around it.
    outer: usize,
}

impl Canon<'_, '_> {
    fn visit(&mut self, root: StateId) -> TypeId {
        let mut stack: Vec<Open> = Vec::new();
        self.enter(root, &mut stack);
        while let Some(Open { state, outer }) = stack.last() {
            let state = *state;
            let left = self.children.len() > *outer;
            if let Some(child) = left.then(|| self.children.pop()).flatten() {
                if self.finished.get(child.0 as usize).is_some_and(Option::is_none) {
                    if self.open.get(child.0 as usize) == Some(&true) {
                        self.cut(child);
                    } else {
                        self.enter(child, &mut stack);
                    }
                }
            } else {
                stack.pop();
                self.finish(state);
            }
        }
        self.type_of(root)
    }

    fn enter(&mut self, state: StateId, stack: &mut Vec<Open>) {
        if let Some(open) = self.open.get_mut(state.0 as usize) {
            *open = true;
        }
        let outer = self.children.len();
        let graph = self.graph;
        if let Some(Shape::Parts(parts)) = graph.get(state).and_then(|state| state.shape.as_ref()) {
            for_each_child(parts, |child, branch| {
                if !(branch && child == state) {
                    self.children.push(child);
                }
            });
        }
        if let Some(own) = self.children.get_mut(outer..) {
            own.reverse();
        }
        stack.push(Open { state, outer });
    }

    /// Gives a state that contains itself a name before it is known.
    fn cut(&mut self, state: StateId) {
        let definition = self.define(state, TypeId(0), true);
        let named = self.arena.intern(Type::Named(definition));
        if let Some(slot) = self.slots.get_mut(state.0 as usize) {
            *slot = Some(definition);
        }
        if let Some(finished) = self.finished.get_mut(state.0 as usize) {
            *finished = Some(named);
        }
    }

    fn define(&mut self, state: StateId, body: TypeId, recursive: bool) -> DefinitionId {
        let id = DefinitionId(u32::try_from(self.definitions.len()).unwrap_or(u32::MAX));
        let node = self.first_node(state);
        let hint = node.map_or_else(String::new, |node| self.graph.document.hint(node));
        let mut doc = self.doc(node);
        self.complete(&mut doc, node, state);
        self.definitions.push(Definition { hint, body, doc, recursive, used: false });
        id
    }

    fn finish(&mut self, state: StateId) {
        let mut ty = self.build(state);
        if self.circular.get(state.0 as usize) == Some(&true) {
            ty = self.arena.intern(Type::Json);
        }
        let node = self.first_node(state);
        if let Some(node) = node {
            if self.hints.len() <= ty.index() {
                self.hints.resize(ty.index() + 1, None);
            }
            if let Some(hint) = self.hints.get_mut(ty.index()) {
                hint.get_or_insert(node);
            }
        }
        if let Some(Some(slot)) = self.slots.get(state.0 as usize) {
            if let Some(definition) = self.definitions.get_mut(slot.index()) {
                definition.body = ty;
            }
            return;
        }
        if self.is_target(state)
            && self.arena.weight(ty).saturating_add(self.words_of(state)) >= NAMED_WEIGHT
            && !matches!(self.arena.get(ty), Type::Named(_))
        {
            let hint = node.map_or_else(String::new, |node| self.graph.document.hint(node));
            let known = self.by_name.get(&(hint.clone(), ty)).copied();
            let definition = known.unwrap_or_else(|| self.define(state, ty, false));
            self.by_name.insert((hint, ty), definition);
            ty = self.arena.intern(Type::Named(definition));
        }
        if let Some(finished) = self.finished.get_mut(state.0 as usize) {
            *finished = Some(ty);
        }
    }

    /// What the documentation of a state adds to its weight: with a name, it is written once.
    fn words_of(&self, state: StateId) -> u64 {
        let doc = self.doc(self.first_node(state));
        let tags: usize = doc.tags.iter().map(|tag| tag.value.len()).sum();
        long(doc.text.as_ref().map_or(0, String::len).saturating_add(tags))
    }

    fn is_target(&self, state: StateId) -> bool {
        self.graph.get(state).is_some_and(|state| {
            matches!(state.terms.as_slice(), [Term::Full(node)] if self.graph.document.is_target(*node))
        })
    }

    fn first_node(&self, state: StateId) -> Option<NodeId> {
        self.graph.get(state).and_then(|state| Graph::first_node(&state.terms))
    }

    /// What a schema says of itself.
    fn doc(&self, node: Option<NodeId>) -> Doc {
        self.keywords(node).map_or_else(Doc::default, Doc::of)
    }

    fn keywords(&self, node: Option<NodeId>) -> Option<&Keywords<'_>> {
        node.and_then(|node| self.graph.document.keywords(node))
    }

    fn type_of(&mut self, state: StateId) -> TypeId {
        match self.finished.get(state.0 as usize) {
            Some(Some(ty)) => *ty,
            _ => self.arena.intern(Type::Json),
        }
    }

    fn build(&mut self, state: StateId) -> TypeId {
        let graph = self.graph;
        let shape = graph.get(state).and_then(|state| state.shape.as_ref());
        let Some(Shape::Parts(parts)) = shape else { return self.arena.intern(Type::Json) };
        if let [part] = parts.as_slice() {
            return self.part(state, part).unwrap_or_else(|| self.arena.intern(Type::Never));
        }
        let mut variants = Vec::with_capacity(parts.len());
        for part in parts {
            let Some(ty) = self.part(state, part) else { continue };
            let doc = match part {
                Part::State { doc, .. } => self.keywords(*doc).map_or_else(Doc::default, Doc::of_variant),
                _ => Doc::default(),
            };
            variants.push(Variant { ty, doc });
        }
        self.arena.union(variants)
    }

    /// The type of a part. `None`: it is the state itself, and a union that lists itself says nothing by it.
    fn part(&mut self, state: StateId, part: &Part<'_>) -> Option<TypeId> {
        let ty = match part {
            Part::Null => Type::Null,
            Part::Boolean => Type::Boolean,
            Part::Number { .. } => Type::Number,
            Part::String => Type::String,
            Part::Literal(literal) => Type::Literal(literal.clone()),
            Part::Array { item, .. } => Type::Array(self.type_of(*item)),
            Part::Tuple { items, required, rest } => {
                let items = items.iter().map(|item| self.type_of(*item)).collect();
                let rest = rest.map(|rest| self.type_of(rest));
                Type::Tuple { items, required: *required, rest }
            }
            Part::Object(object) => self.object(object),
            Part::State { state: branch, .. } if *branch == state => return None,
            Part::State { state, .. } => return Some(self.type_of(*state)),
        };
        Some(self.arena.intern(ty))
    }

    fn object(&mut self, shape: &ObjectShape<'_>) -> Type {
        let rest = match &shape.rest {
            RestShape::Open => Rest::Open,
            RestShape::Closed => Rest::Closed,
            RestShape::Of(states) => {
                let variants = states
                    .iter()
                    .map(|state| Variant { ty: self.type_of(*state), doc: Doc::default() })
                    .collect();
                let ty = self.arena.union(variants);
                match self.arena.get(ty) {
                    Type::Json => Rest::Open,
                    Type::Never => Rest::Closed,
                    _ => Rest::Of(ty),
                }
            }
        };
        let mut members = Vec::with_capacity(shape.members.len());
        for member in &shape.members {
            let ty = self.type_of(member.state);
            if matches!(self.arena.get(ty), Type::Never) {
                if member.required {
                    return Type::Never;
                }
                if rest == Rest::Closed && shape.patterns.is_empty() {
                    continue;
                }
            }
            let said = self.keywords(member.doc);
            let mut doc = said.map_or_else(Doc::default, |keywords| Doc::of_member(keywords, &member.name));
            self.complete(&mut doc, member.doc, member.state);
            members.push(Member {
                name: member.name.as_ref().to_owned(),
                ty,
                required: member.required,
                doc,
            });
        }
        members.sort_by(|left, right| (!left.required, &left.name).cmp(&(!right.required, &right.name)));
        let mut patterns: Vec<(KeyPattern, TypeId)> = Vec::with_capacity(shape.patterns.len());
        for (pattern, state) in &shape.patterns {
            // Two expressions for the same keys both hold; one alone is wider.
            if !patterns.iter().any(|(known, _)| known == pattern) {
                patterns.push((pattern.clone(), self.type_of(*state)));
            }
        }
        Type::Object(ObjectType { members, patterns, rest })
    }

    /// Adds to the documentation that a schema has given what its type carries, unless that is printed with a name.
    fn complete(&self, doc: &mut Doc, given: Option<NodeId>, state: StateId) {
        let graph = self.graph;
        if self.is_named(state) {
            return;
        }
        let Some(known) = graph.get(state) else { return };
        let own = Graph::first_node(&known.terms);
        if own != given
            && let Some(keywords) = self.keywords(own)
        {
            doc.fill_from(keywords);
        }
        let Some(Shape::Parts(parts)) = &known.shape else { return };
        if self.has_whole_numbers(state, true) == Some(true) {
            doc.add_integer();
        }
        for part in parts {
            match part {
                Part::Array { item, doc: items } => {
                    let whole = !self.is_named(*item) && self.has_whole_numbers(*item, true) == Some(true);
                    doc.add_items(self.keywords(*items), whole);
                }
                Part::Tuple { rest, .. } => {
                    doc.drop_tag("minItems");
                    if rest.is_none() {
                        doc.drop_tag("maxItems");
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the numbers of a state, if it has any, are all whole. Looks into branches with `branches`.
    fn has_whole_numbers(&self, state: StateId, branches: bool) -> Option<bool> {
        let shape = self.graph.get(state).and_then(|state| state.shape.as_ref());
        let Some(Shape::Parts(parts)) = shape else { return Some(false) };
        let whole = |part: &Part<'_>| match part {
            Part::Number { whole } => Some(*whole),
            Part::State { state, .. } if branches => self.has_whole_numbers(*state, false),
            Part::State { .. } => Some(false),
            _ => None,
        };
        parts.iter().filter_map(whole).reduce(|one, other| one && other)
    }

    /// Whether a name stands for a state, and its documentation with that.
    fn is_named(&self, state: StateId) -> bool {
        let ty = self.finished.get(state.0 as usize).copied().flatten();
        ty.is_some_and(|ty| matches!(self.arena.get(ty), Type::Named(_)))
    }
}
