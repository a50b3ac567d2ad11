//! The graph of type states: every conjunction that the schema reaches, and its shape.
//!
//! Breadth first with explicit queues, so that each state is met at its least depth and the depth limit
//! does not depend on the order of keys. Must never evaluate a state twice or recurse. `leaf` says what one
//! conjunction means; `canon` turns the graph into the public form.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet, VecDeque};

use serde_json::Value;
use smallvec::smallvec;

use crate::json::estimated_size;

use super::conjunction::{Branch, Conjunction, Notes, Term, flatten, pure_union, reduce};
use super::document::{Document, NodeId};
use super::pattern::KeyPattern;
use super::{Doc, IrBudget, Literal, Reason};

/// A set that nothing satisfies.
pub(super) const NEVER: [Term; 2] = [Term::Null, Term::Object];

/// A state of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StateId(pub(super) u32);

/// What a state means: the union of its parts. No part: nothing satisfies it.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    /// Any JSON value.
    Any,
    Parts(Vec<Part<'a>>),
}

/// The length of a name or keyword, about.
const WORD: usize = 8;

#[derive(Debug)]
pub(super) enum Part<'a> {
    Null,
    Boolean,
    Number {
        /// Of those of the JSON Schema type `integer` alone.
        whole: bool,
    },
    String,
    Literal(Literal),
    Array {
        item: StateId,
        /// Whose documentation is that of the elements.
        doc: Option<NodeId>,
    },
    Tuple {
        items: Vec<StateId>,
        required: usize,
        rest: Option<StateId>,
    },
    Object(ObjectShape<'a>),
    /// Another state, as a branch.
    State {
        state: StateId,
        /// Whose documentation is the branch's.
        doc: Option<NodeId>,
    },
}

#[derive(Debug)]
pub(super) struct ObjectShape<'a> {
    pub(super) members: Vec<MemberShape<'a>>,
    pub(super) patterns: Vec<(KeyPattern, StateId)>,
    pub(super) rest: RestShape,
}

#[derive(Debug)]
pub(super) struct MemberShape<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) state: StateId,
    pub(super) required: bool,
    /// Whose documentation is the member's.
    pub(super) doc: Option<NodeId>,
}

#[derive(Debug)]
pub(super) enum RestShape {
    Open,
    Closed,
    /// The union of these.
    Of(Vec<StateId>),
}

#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) terms: Conjunction,
    pub(super) depth: usize,
    pub(super) shape: Option<Shape<'a>>,
    /// Nothing satisfies it.
    pub(super) dead: bool,
}

/// The document, its states, and what is left to do.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    pub(super) document: Document<'a>,
    pub(super) states: Vec<State<'a>>,
    pub(super) notes: Notes,
    pub(super) root: StateId,
    by_terms: BTreeMap<Conjunction, StateId>,
    constants: Vec<&'a Value>,
    current: VecDeque<StateId>,
    next: VecDeque<StateId>,
    budget: IrBudget,
    /// The depth of the state being evaluated.
    working_depth: usize,
    /// What the shapes so far take to print, about, in bytes.
    spent: usize,
    /// From where on states are [`Shape::Any`]: in proportion to the schema, whose unions may multiply (SDK-8).
    allowance: usize,
    /// The schema, until its size is part of the allowance: most need no more than every schema may have.
    unmeasured: Option<&'a Value>,
    /// Schemas beside which something was left out: the keys that it names are not known, so they close nothing.
    left_open: HashSet<NodeId>,
}

/// Bytes of shapes that every schema may have.
const LEAST_ALLOWANCE: usize = 64 * 1024;

/// Bytes of shapes for each byte of schema.
const SHARE: usize = 16;

impl<'a> Graph<'a> {
    /// Evaluates a schema. With `object`, as far as it describes objects.
    pub(super) fn build(schema: &'a Value, object: bool, budget: &IrBudget) -> Self {
        let (document, root) = Document::new(schema);
        let mut graph = Self {
            document,
            states: Vec::new(),
            notes: Notes::new(),
            root: StateId(0),
            by_terms: BTreeMap::new(),
            constants: Vec::new(),
            current: VecDeque::new(),
            next: VecDeque::new(),
            budget: *budget,
            working_depth: 1,
            spent: 0,
            allowance: LEAST_ALLOWANCE,
            unmeasured: Some(schema),
            left_open: HashSet::new(),
        };
        let mut terms: Conjunction = smallvec![Term::Full(root)];
        if object {
            terms.push(Term::Object);
        }
        graph.root = graph.state(&terms, 1);
        while let Some(state) = graph.pop() {
            graph.evaluate(state);
        }
        graph
    }

    fn pop(&mut self) -> Option<StateId> {
        if self.current.is_empty() {
            std::mem::swap(&mut self.current, &mut self.next);
        }
        self.current.pop_front()
    }

    pub(super) fn get(&self, id: StateId) -> Option<&State<'a>> {
        self.states.get(id.0 as usize)
    }

    /// The state of a set of terms at a container depth, queued when new.
    pub(super) fn state(&mut self, terms: &[Term], depth: usize) -> StateId {
        let reduced = reduce(&mut self.document, terms, &mut self.notes);
        // `null` and an object at once: the one name for what nothing satisfies.
        let key = reduced.unwrap_or_else(|| Conjunction::from_slice(&NEVER));
        let dead = key.as_slice() == NEVER;
        if let Some(id) = self.by_terms.get(&key).copied() {
            if let Some(state) = self.states.get_mut(id.0 as usize)
                && depth < state.depth
                && state.shape.is_none()
            {
                state.depth = depth;
                self.current.push_back(id);
            }
            return id;
        }
        let id = StateId(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        let settled = match (dead, key.is_empty()) {
            (true, _) => Some(Shape::Parts(Vec::new())),
            (false, true) => Some(Shape::Any),
            (false, false) if self.states.len() >= self.budget.max_states => {
                self.note(&key, Reason::TooLarge);
                Some(Shape::Any)
            }
            (false, false) => None,
        };
        if settled.is_none() {
            let same_level = depth <= self.working_depth;
            let queue = if same_level { &mut self.current } else { &mut self.next };
            queue.push_back(id);
        }
        self.states.push(State { terms: key.clone(), depth, shape: settled, dead });
        self.by_terms.insert(key, id);
        id
    }

    /// The term that stands for a constant.
    pub(super) fn constant(&mut self, value: &'a Value) -> Term {
        self.constants.push(value);
        Term::Constant(u32::try_from(self.constants.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn constant_value(&self, index: u32) -> &'a Value {
        self.constants.get(index as usize).copied().unwrap_or(&Value::Null)
    }

    /// The first schema among the terms, for names and documentation.
    pub(super) fn first_node(terms: &[Term]) -> Option<NodeId> {
        terms.iter().find_map(|term| term.node())
    }

    pub(super) fn note(&mut self, terms: &[Term], reason: Reason) {
        if let Some(node) = Self::first_node(terms) {
            self.notes.insert((node, reason));
        }
    }

    pub(super) fn max_depth(&self) -> usize {
        self.budget.max_depth
    }

    fn evaluate(&mut self, id: StateId) {
        let Some(state) = self.get(id) else { return };
        if state.shape.is_some() {
            return;
        }
        let (terms, depth) = (state.terms.clone(), state.depth);
        self.working_depth = depth;
        let shape = if self.has_spent_all() {
            self.note(&terms, Reason::TooLarge);
            Shape::Any
        } else {
            self.shape_of(&terms, depth)
        };
        self.spent = self.spent.saturating_add(self.size(&shape));
        if let Some(state) = self.states.get_mut(id.0 as usize) {
            state.shape = Some(shape);
        }
    }

    fn has_spent_all(&mut self) -> bool {
        if self.spent > self.allowance
            && let Some(schema) = self.unmeasured.take()
        {
            self.allowance = estimated_size(schema).saturating_mul(SHARE).saturating_add(LEAST_ALLOWANCE);
        }
        self.spent > self.allowance
    }

    fn shape_of(&mut self, terms: &[Term], depth: usize) -> Shape<'a> {
        let Some(flat) = flatten(&mut self.document, terms, &mut self.notes) else {
            return Shape::Parts(Vec::new());
        };
        if flat.cut {
            self.leave_open(&flat.constraints);
        }
        if flat.choices.is_empty() {
            return self.leaf(&flat.constraints, depth);
        }
        let branches = if flat.constraints.is_empty() && flat.choices.len() == 1 {
            self.spliced(flat.choices)
        } else {
            self.product(terms, &flat.constraints, flat.choices)
        };
        let mut parts: Vec<Part> = Vec::with_capacity(branches.len());
        for branch in branches {
            let doc = branch.last().copied().and_then(Term::node);
            let state = self.state(&branch, depth);
            if self.get(state).is_some_and(|state| state.dead) {
                continue;
            }
            parts.push(Part::State { state, doc });
        }
        Shape::Parts(parts)
    }

    /// One union; a branch that is nothing but a union itself is replaced by its branches.
    fn spliced(&mut self, choices: Vec<Vec<Branch>>) -> Vec<Branch> {
        let mut work: Vec<Branch> = choices.into_iter().flatten().rev().collect();
        let mut branches = Vec::with_capacity(work.len());
        while let Some(branch) = work.pop() {
            match pure_union(&mut self.document, &branch) {
                Some(inner) => work.extend(inner.into_iter().rev()),
                None => branches.push(branch),
            }
        }
        branches
    }

    /// Constraints times one branch of every choice. Choices that would make too many are left out, which
    /// widens.
    fn product(&mut self, terms: &[Term], constraints: &[Term], choices: Vec<Vec<Branch>>) -> Vec<Branch> {
        let mut products = vec![Conjunction::from_slice(constraints)];
        let mut first = true;
        for choice in choices {
            if !first && products.len().saturating_mul(choice.len()) > self.budget.max_variants {
                self.note(terms, Reason::TooManyVariants);
                self.leave_open(constraints);
                continue;
            }
            first = false;
            products = products
                .iter()
                .flat_map(|product| {
                    choice.iter().map(|branch| {
                        let mut combined = product.clone();
                        combined.extend_from_slice(branch);
                        combined
                    })
                })
                .collect();
        }
        products
    }

    fn leave_open(&mut self, constraints: &[Term]) {
        self.left_open.extend(constraints.iter().filter_map(|term| match term {
            Term::Own(node) => Some(*node),
            _ => None,
        }));
    }

    /// Whether something was left out beside a schema.
    pub(super) fn is_left_open(&self, node: NodeId) -> bool {
        self.left_open.contains(&node)
    }

    /// What a shape takes to print, about, in bytes. What it is made of counts where it is written.
    fn size(&self, shape: &Shape<'a>) -> usize {
        let Shape::Parts(parts) = shape else { return WORD };
        parts.iter().map(|part| self.part_size(part)).fold(WORD, usize::saturating_add)
    }

    fn part_size(&self, part: &Part<'a>) -> usize {
        let inner = match part {
            Part::Literal(Literal::String(text)) => text.len(),
            Part::Tuple { items, .. } => items.len().saturating_mul(WORD),
            Part::Array { doc, .. } | Part::State { doc, .. } => self.doc_size(*doc),
            Part::Object(object) => {
                let size = |member: &MemberShape<'a>| WORD + member.name.len() + self.doc_size(member.doc);
                object.members.iter().map(size).sum::<usize>() + object.patterns.len() * 2 * WORD
            }
            _ => 0,
        };
        WORD.saturating_add(inner)
    }

    fn doc_size(&self, node: Option<NodeId>) -> usize {
        node.and_then(|node| self.document.keywords(node)).map_or(0, Doc::size_of)
    }
}
