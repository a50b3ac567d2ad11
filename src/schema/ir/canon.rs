//! From the graph of states to the public form: equal types once, cycles cut by names, large shared types
//! named.
//!
//! One depth-first pass with an explicit stack. A state met again while it is still open contains itself
//! and becomes a recursive definition; everything else is interned bottom-up. Must never look at the schema
//! except for names and documentation. `union` owns what makes a list of branches one type.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::conjunction::Term;
use super::cycles::{circular_unions, for_each_child};
use super::document::NodeId;
use super::graph::{Graph, ObjectShape, Part, RestShape, Shape, StateId};
use super::parts::{long, weigh};
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
        hints: HashMap::new(),
    };
    let root = canon.visit(graph.root);
    let mut doc = graph.get(graph.root).map_or_else(Doc::default, |state| graph.terms_doc(&state.terms));
    canon.complete(&mut doc, graph.root);
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
    let mut ir = TypeIr { types: arena.types, definitions, root, doc, widenings };
    name_shared(&mut ir, |ty| hints.get(&ty).map_or_else(String::new, |node| graph.document.hint(*node)));
    ir
}

/// The types so far, each once.
#[derive(Debug, Default)]
pub(super) struct Arena {
    types: Vec<Type>,
    /// About how many words each takes to print, named parts counting one.
    weights: Vec<u64>,
    by_hash: HashMap<u64, Vec<TypeId>>,
}

impl Arena {
    pub(super) fn get(&self, id: TypeId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Json)
    }

    pub(super) fn weight(&self, id: TypeId) -> u64 {
        self.weights.get(id.index()).copied().unwrap_or(1)
    }

    pub(super) fn intern(&mut self, ty: Type) -> TypeId {
        let mut hasher = DefaultHasher::new();
        ty.hash(&mut hasher);
        let same = self.by_hash.entry(hasher.finish()).or_default();
        if let Some(id) = same.iter().find(|id| self.types.get(id.index()) == Some(&ty)) {
            return *id;
        }
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        same.push(id);
        let weight = weigh(&ty, |part| self.weights.get(part.index()).copied().unwrap_or(1));
        self.weights.push(weight);
        self.types.push(ty);
        id
    }
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
    hints: HashMap<TypeId, NodeId>,
}

impl Canon<'_, '_> {
    fn visit(&mut self, root: StateId) -> TypeId {
        let mut stack: Vec<(StateId, Vec<StateId>, usize)> = Vec::new();
        self.enter(root, &mut stack);
        while let Some((state, children, next)) = stack.last_mut() {
            let state = *state;
            if let Some(child) = children.get(*next).copied() {
                *next += 1;
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

    fn enter(&mut self, state: StateId, stack: &mut Vec<(StateId, Vec<StateId>, usize)>) {
        if let Some(open) = self.open.get_mut(state.0 as usize) {
            *open = true;
        }
        let mut children = Vec::new();
        if let Some(Shape::Parts(parts)) = self.shape(state) {
            for_each_child(parts, |child, branch| {
                if !(branch && child == state) {
                    children.push(child);
                }
            });
        }
        stack.push((state, children, 0));
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
        let mut doc = Doc::default();
        let mut hint = String::new();
        if let Some(state) = self.graph.get(state) {
            doc = self.graph.terms_doc(&state.terms);
            hint = Graph::first_node(&state.terms)
                .map_or_else(String::new, |node| self.graph.document.hint(node));
        }
        self.complete(&mut doc, state);
        self.definitions.push(Definition { hint, body, doc, recursive, used: false });
        id
    }

    fn finish(&mut self, state: StateId) {
        let mut ty = self.build(state);
        if self.circular.get(state.0 as usize) == Some(&true) {
            ty = self.arena.intern(Type::Json);
        }
        let node = self.graph.get(state).and_then(|state| Graph::first_node(&state.terms));
        if let Some(node) = node {
            self.hints.entry(ty).or_insert(node);
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
        let doc = self.graph.get(state).map(|state| self.graph.terms_doc(&state.terms)).unwrap_or_default();
        let tags: usize = doc.tags.iter().map(|tag| tag.value.len()).sum();
        long(doc.text.as_ref().map_or(0, String::len).saturating_add(tags))
    }

    fn is_target(&self, state: StateId) -> bool {
        self.graph.get(state).is_some_and(|state| {
            matches!(state.terms.as_slice(), [Term::Full(node)] if self.graph.document.is_target(*node))
        })
    }

    fn shape(&self, state: StateId) -> Option<&Shape> {
        self.graph.get(state).and_then(|state| state.shape.as_ref())
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
        let mut variants = Vec::with_capacity(parts.len());
        for part in parts {
            let (ty, doc) = match part {
                Part::Null => (Type::Null, Doc::default()),
                Part::Boolean => (Type::Boolean, Doc::default()),
                Part::Number => (Type::Number, Doc::default()),
                Part::String => (Type::String, Doc::default()),
                Part::Literal(literal) => (Type::Literal(literal.clone()), Doc::default()),
                Part::Array { item, .. } => (Type::Array(self.type_of(*item)), Doc::default()),
                Part::Tuple { items, required, rest } => {
                    let items = items.iter().map(|item| self.type_of(*item)).collect();
                    let rest = rest.map(|rest| self.type_of(rest));
                    (Type::Tuple { items, required: *required, rest }, Doc::default())
                }
                Part::Object(object) => (self.object(object), Doc::default()),
                // A union that lists itself says nothing by it.
                Part::State { state: branch, .. } if *branch == state => continue,
                Part::State { state, doc } => {
                    let ty = self.type_of(*state);
                    variants.push(Variant { ty, doc: doc.clone() });
                    continue;
                }
            };
            variants.push(Variant { ty: self.arena.intern(ty), doc });
        }
        self.arena.union(variants)
    }

    fn object(&mut self, shape: &ObjectShape) -> Type {
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
            let mut doc = member.doc.clone();
            self.complete(&mut doc, member.state);
            members.push(Member { name: member.name.clone(), ty, required: member.required, doc });
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

    /// Adds to a member's documentation what its type carries, unless that is printed with a name.
    fn complete(&mut self, doc: &mut Doc, state: StateId) {
        let graph = self.graph;
        if let Some(Some(ty)) = self.finished.get(state.0 as usize)
            && matches!(self.arena.get(*ty), Type::Named(_))
        {
            return;
        }
        let Some(known) = graph.get(state) else { return };
        doc.fill_from(&graph.terms_doc(&known.terms));
        let Some(Shape::Parts(parts)) = &known.shape else { return };
        for part in parts {
            match part {
                Part::Array { doc: items, .. } => doc.add_items(items),
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
}
