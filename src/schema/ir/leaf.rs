//! What one conjunction of constraints means, kind by kind.
//!
//! JSON has six kinds and a constraint on one says nothing about the others, so a conjunction is a union of
//! at most six independent answers. Members and items are again conjunctions, handed back to `graph` as
//! states. Whatever is not followed here (`not`, `contains`, lengths) only widens.

use std::collections::HashSet;

use serde_json::Value;
use smallvec::SmallVec;

use super::conjunction::Term;
use super::document::NodeId;
use super::graph::{Graph, Part, Shape, StateId};
use super::keywords::Kinds;
use super::{Literal, Reason};

/// Longest run of items that is written out one by one because the length is fixed.
const MAX_FIXED_ITEMS: usize = 8;

/// Longest run of items that is written out because there are at least so many.
const MAX_LEAST_ITEMS: usize = 3;

impl<'a> Graph<'a> {
    pub(super) fn leaf(&mut self, constraints: &[Term], depth: usize) -> Shape<'a> {
        let mut kinds = Kinds::ALL;
        let mut nodes: SmallVec<[NodeId; 4]> = SmallVec::new();
        let mut constants: Option<Vec<&'a Value>> = None;
        for term in constraints {
            match term {
                Term::Null => kinds = kinds.and(Kinds::NULL),
                Term::Object => kinds = kinds.and(Kinds::OBJECT),
                Term::Constant(index) => {
                    constants = Some(both(constants, vec![self.constant_value(*index)]));
                }
                Term::Own(node) | Term::Full(node) | Term::NotNull(node) => {
                    let Some(keywords) = self.document.keywords(*node) else { continue };
                    kinds = kinds.and(keywords.kinds);
                    if let Some(values) = keywords.enumeration {
                        constants = Some(both(constants, values.iter().collect()));
                    }
                    if let Some(value) = keywords.constant {
                        constants = Some(both(constants, vec![value]));
                    }
                    nodes.push(*node);
                }
            }
        }
        if let Some(constants) = constants {
            return self.constants_shape(constraints, &constants, kinds, depth);
        }
        let mut arrays = false;
        let mut objects = false;
        for keywords in nodes.iter().filter_map(|node| self.document.keywords(*node)) {
            arrays |= keywords.constrains_arrays();
            objects |= keywords.constrains_objects();
        }
        if kinds == Kinds::ALL && !arrays && !objects {
            return Shape::Any;
        }
        if depth > self.max_depth() && kinds.has(Kinds::ARRAY.or(Kinds::OBJECT)) {
            self.note(constraints, Reason::TooDeep);
            return Shape::Any;
        }
        let mut parts = Vec::with_capacity(kinds.count());
        if kinds.has(Kinds::STRING) {
            parts.push(Part::String);
        }
        if kinds.has(Kinds::NUMBER) {
            parts.push(Part::Number { whole: !kinds.has(Kinds::FRACTION) });
        }
        if kinds.has(Kinds::BOOLEAN) {
            parts.push(Part::Boolean);
        }
        if kinds.has(Kinds::ARRAY) {
            parts.extend(self.array(&nodes, depth));
        }
        if kinds.has(Kinds::OBJECT) {
            parts.extend(self.object(&nodes, depth).map(Part::Object));
        }
        if kinds.has(Kinds::NULL) {
            parts.push(Part::Null);
        }
        Shape::Parts(parts)
    }

    fn constants_shape(
        &mut self,
        constraints: &[Term],
        values: &[&'a Value],
        kinds: Kinds,
        depth: usize,
    ) -> Shape<'a> {
        let mut parts = Vec::with_capacity(values.len());
        for value in values.iter().filter(|value| kinds.has(Kinds::of(value))) {
            match value {
                Value::Null => parts.push(Part::Null),
                Value::Bool(flag) => parts.push(Part::Literal(Literal::Boolean(*flag))),
                Value::String(text) => parts.push(Part::Literal(Literal::String(text.clone()))),
                Value::Number(number) => {
                    parts.push(Literal::number(number).map_or(Part::Number { whole: false }, Part::Literal));
                }
                Value::Array(_) | Value::Object(_) if depth > self.max_depth() => {
                    self.note(constraints, Reason::TooDeep);
                    return Shape::Any;
                }
                Value::Array(list) => {
                    let items: Vec<_> = list.iter().map(|item| self.constant_state(item, depth)).collect();
                    parts.push(Part::Tuple { required: items.len(), items, rest: None });
                }
                Value::Object(map) => {
                    let object = self.constant_object(map, depth);
                    parts.push(Part::Object(object));
                }
            }
        }
        Shape::Parts(parts)
    }

    pub(super) fn constant_state(&mut self, value: &'a Value, depth: usize) -> StateId {
        let term = self.constant(value);
        self.state(&[term], depth + 1)
    }

    fn array(&mut self, nodes: &[NodeId], depth: usize) -> Option<Part<'a>> {
        let items = self.items(nodes)?;
        let mut states = Vec::new();
        for terms in &items.prefix {
            states.push(self.state(terms, depth + 1));
        }
        let least = items.least;
        let most = items.most.unwrap_or(usize::MAX);
        let rest = match &items.rest {
            Some(terms) if most > states.len() => Some(self.state(terms, depth + 1)),
            _ => None,
        };
        if let Some(rest) = rest {
            let written = least <= if least == most { MAX_FIXED_ITEMS } else { MAX_LEAST_ITEMS };
            if states.is_empty() && (least == 0 || !written) {
                let doc = items.rest.as_deref().and_then(Self::first_node);
                return Some(Part::Array { item: rest, doc });
            }
            while states.len() < least && states.len() < items.prefix.len() + MAX_FIXED_ITEMS {
                states.push(rest);
            }
            let full = states.len() >= most;
            return Some(Part::Tuple {
                required: least.min(states.len()),
                items: states,
                rest: (!full).then_some(rest),
            });
        }
        (least <= states.len()).then_some(Part::Tuple { required: least, items: states, rest: None })
    }

    /// The item schemas of all constraints together. `None`: no array satisfies them.
    fn items(&mut self, nodes: &[NodeId]) -> Option<Items> {
        let mut sources: Vec<(NodeId, &'a [Value], Option<&'a Value>)> = Vec::new();
        let (mut least, mut most) = (0, usize::MAX);
        let mut closed_by_unevaluated = false;
        for node in nodes {
            let Some(keywords) = self.document.keywords(*node) else { continue };
            least = least.max(keywords.min_items.unwrap_or(0));
            most = most.min(keywords.max_items.unwrap_or(usize::MAX));
            let (prefix, rest) = match keywords.items {
                items if !keywords.prefix_items.is_empty() => {
                    (keywords.prefix_items, items.filter(|items| !items.is_array()))
                }
                Some(Value::Array(list)) => (list.as_slice(), keywords.additional_items),
                items => (&[][..], items),
            };
            let closes = keywords.unevaluated_items == Some(&Value::Bool(false));
            sources.push((
                *node,
                prefix,
                rest.filter(|rest| matches!(rest, Value::Bool(_) | Value::Object(_))),
            ));
            closed_by_unevaluated |= closes && self.evaluates_visibly(*node);
        }
        let written = sources.iter().map(|(_, prefix, _)| prefix.len()).max().unwrap_or(0);
        if closed_by_unevaluated && sources.iter().all(|(.., rest)| rest.is_none()) {
            most = most.min(written);
        }
        let mut prefix = Vec::with_capacity(written);
        for index in 0..written.min(most) {
            let Some(terms) = self.item(&sources, index) else {
                most = index;
                break;
            };
            prefix.push(terms);
        }
        let rest = if most > written { self.item(&sources, written) } else { None };
        if rest.is_none() {
            most = most.min(prefix.len());
        }
        (least <= most).then_some(Items { prefix, rest, least, most: (most != usize::MAX).then_some(most) })
    }

    fn item(
        &mut self,
        sources: &[(NodeId, &'a [Value], Option<&'a Value>)],
        index: usize,
    ) -> Option<Vec<Term>> {
        let mut terms = Vec::new();
        for (node, prefix, rest) in sources {
            match prefix.get(index).or(*rest) {
                Some(Value::Bool(false)) => return None,
                Some(schema) => terms.push(Term::Full(self.document.node(schema, *node))),
                None => {}
            }
        }
        Some(terms)
    }

    /// Whether what `unevaluated*` closes over can be seen: nothing that may or may not apply.
    pub(super) fn evaluates_visibly(&mut self, node: NodeId) -> bool {
        if self.is_left_open(node) {
            return false;
        }
        let mut seen = HashSet::new();
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if !seen.insert(node) {
                continue;
            }
            if seen.len() > 256 {
                return false;
            }
            let Some(keywords) = self.document.keywords(node) else { continue };
            let own = keywords.unevaluated_items.is_some() || keywords.unevaluated_properties.is_some();
            if keywords.hidden_applicator
                || keywords.any_of.len() > 1
                || keywords.if_then_else.iter().any(Option::is_some)
                || keywords.dynamic_reference.is_some()
                || !keywords.patterns.is_empty()
                || keywords.additional_properties.is_some()
                || (own && seen.len() > 1)
            {
                return false;
            }
            let reference = keywords.reference;
            let schemas: Vec<&'a Value> =
                keywords.all_of.iter().chain(keywords.any_of).chain(keywords.one_of).collect();
            for schema in schemas {
                work.push(self.document.node(schema, node));
            }
            if let Some(reference) = reference {
                match self.document.resolve(node, reference) {
                    Some(target) => work.push(target),
                    None => return false,
                }
            }
        }
        true
    }
}

#[derive(Debug)]
struct Items {
    prefix: Vec<Vec<Term>>,
    rest: Option<Vec<Term>>,
    least: usize,
    most: Option<usize>,
}

/// The values in both lists. Containers are not compared: one in the first list stays.
fn both<'a>(known: Option<Vec<&'a Value>>, values: Vec<&'a Value>) -> Vec<&'a Value> {
    let Some(mut known) = known else { return values };
    let comparable = |value: &Value| !value.is_array() && !value.is_object();
    if values.iter().all(|value| comparable(value)) {
        let keys: HashSet<String> = values.iter().map(|value| scalar_key(value)).collect();
        known.retain(|value| comparable(value) && keys.contains(&scalar_key(value)));
    }
    known
}

/// Equal for equal scalars: `1` and `1.0` are one number.
fn scalar_key(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}"),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
