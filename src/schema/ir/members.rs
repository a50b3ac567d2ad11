//! What a conjunction says about objects: members, patterned keys, and all other keys.
//!
//! A key's type is what every constraint says about that key: its declaration, the patterns it matches, and
//! where neither applies the constraint's rule for additional ones. Belongs to `leaf`, which covers the
//! other kinds; the schemas found here go back to `graph` as states.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::conjunction::{Conjunction, Term};
use super::document::NodeId;
use super::graph::{Graph, MemberShape, NEVER, ObjectShape, RestShape, StateId};
use super::keywords::sorted;
use super::pattern::KeyPattern;

/// Longest list of allowed keys that is written out as members.
const MAX_LISTED_KEYS: usize = 256;

/// One constraint's rules for keys.
struct Rules<'a> {
    node: NodeId,
    patterns: Vec<(KeyPattern, &'a Value)>,
    additional: Option<&'a Value>,
}

impl<'a> Graph<'a> {
    pub(super) fn constant_object(&mut self, map: &'a Map<String, Value>, depth: usize) -> ObjectShape<'a> {
        let members = sorted(map)
            .into_iter()
            .map(|(name, value)| MemberShape {
                name: Cow::Borrowed(name),
                state: self.constant_state(value, depth),
                required: true,
                doc: None,
            })
            .collect();
        ObjectShape { members, patterns: Vec::new(), rest: RestShape::Closed }
    }

    /// `None`: no object satisfies the constraints.
    pub(super) fn object(&mut self, nodes: &[NodeId], depth: usize) -> Option<ObjectShape<'a>> {
        // Declared keys, and whether each must be there.
        let mut keys: BTreeMap<Cow<'a, str>, bool> = BTreeMap::new();
        let mut rules: Vec<Rules<'a>> = Vec::new();
        let mut listed: Option<BTreeSet<&'a str>> = None;
        let mut closed = false;
        for node in nodes {
            let Some(keywords) = self.document.keywords(*node) else { continue };
            for (name, _) in &keywords.properties {
                keys.entry(Cow::Borrowed(*name)).or_insert(false);
            }
            for name in &keywords.required {
                keys.insert(Cow::Borrowed(*name), true);
            }
            let patterns: Vec<(KeyPattern, &'a Value)> = keywords
                .patterns
                .iter()
                .map(|(pattern, schema)| (KeyPattern::read(pattern), *schema))
                .collect();
            for (pattern, _) in &patterns {
                if let KeyPattern::Exact(name) = pattern {
                    keys.entry(Cow::Owned(name.clone())).or_insert(false);
                }
            }
            rules.push(Rules { node: *node, patterns, additional: keywords.additional_properties });
            let forbids = keywords.unevaluated_properties == Some(&Value::Bool(false));
            if let Some(names) = keywords.property_names.and_then(|schema| self.listed_keys(*node, schema)) {
                listed = Some(match listed {
                    Some(other) => other.intersection(&names).copied().collect(),
                    None => names,
                });
            }
            closed |= forbids && self.evaluates_visibly(*node);
        }
        if let Some(listed) = &listed {
            if keys.iter().any(|(name, required)| *required && !listed.contains(name.as_ref())) {
                return None;
            }
            keys.retain(|name, _| listed.contains(name.as_ref()));
            for name in listed {
                keys.entry(Cow::Borrowed(*name)).or_insert(false);
            }
        }
        let mut members = Vec::with_capacity(keys.len());
        for (name, required) in keys {
            match self.member(&rules, &name) {
                Some(terms) => {
                    let doc = Self::first_node(&terms);
                    let state = self.state(&terms, depth + 1);
                    members.push(MemberShape { name, state, required, doc });
                }
                None if required => return None,
                None => {
                    let state = self.never();
                    members.push(MemberShape { name, state, required, doc: None });
                }
            }
        }
        if closed || listed.is_some() {
            // `unevaluatedProperties: false` next to rules that evaluate every key closes nothing, but then
            // `evaluates_visibly` was false already.
            return Some(ObjectShape { members, patterns: Vec::new(), rest: RestShape::Closed });
        }
        let (patterns, rest) = self.other_keys(&rules, depth);
        Some(ObjectShape { members, patterns, rest })
    }

    fn never(&mut self) -> StateId {
        self.state(&NEVER, 1)
    }

    /// What all constraints say about one key. `None`: it must be absent.
    fn member(&mut self, rules: &[Rules<'a>], name: &str) -> Option<Conjunction> {
        let mut terms = Conjunction::new();
        for rule in rules {
            let mut schemas: SmallVec<[&'a Value; 2]> = SmallVec::new();
            schemas.extend(self.document.keywords(rule.node).and_then(|keywords| keywords.property(name)));
            let mut unknown: Vec<&'a Value> = Vec::new();
            for (pattern, schema) in &rule.patterns {
                match pattern.matches(name) {
                    Some(true) => schemas.push(schema),
                    Some(false) => {}
                    None => unknown.push(schema),
                }
            }
            if schemas.is_empty() {
                match (unknown.as_slice(), rule.additional) {
                    ([], Some(schema)) => schemas.push(schema),
                    // Nothing else lets the key in.
                    ([only], Some(Value::Bool(false))) => schemas.push(only),
                    _ => {}
                }
            }
            for schema in schemas {
                if *schema == Value::Bool(false) {
                    return None;
                }
                terms.push(Term::Full(self.document.node(schema, rule.node)));
            }
        }
        Some(terms)
    }

    fn other_keys(&mut self, rules: &[Rules<'a>], depth: usize) -> (Vec<(KeyPattern, StateId)>, RestShape) {
        let patterned = rules.iter().filter(|rule| !rule.patterns.is_empty()).count();
        if patterned > 1 {
            // Keys fall into the products of several constraints' classes: wider is simpler.
            return (Vec::new(), RestShape::Open);
        }
        // What the constraints without patterns say about every other key; `None`: no such key.
        let mut common: Option<Vec<Term>> = Some(Vec::new());
        let mut own: Option<&Rules<'a>> = None;
        for rule in rules {
            if rule.patterns.is_empty() {
                common = self.with(common, rule.node, rule.additional);
            } else {
                own = Some(rule);
            }
        }
        let Some(own) = own else {
            return (Vec::new(), self.rest(common, Vec::new(), depth));
        };
        let mut patterns = Vec::new();
        let mut unclear = Vec::new();
        let mut every: Option<&'a Value> = None;
        for (pattern, schema) in &own.patterns {
            let Some(terms) = self.with(common.clone(), own.node, Some(schema)) else {
                if common.is_some() && pattern.is_many() {
                    patterns.push((pattern.clone(), self.never()));
                }
                continue;
            };
            match pattern {
                KeyPattern::Exact(_) => {}
                KeyPattern::Any => every = Some(schema),
                KeyPattern::Unknown => unclear.push(self.state(&terms, depth + 1)),
                KeyPattern::Prefix(_) | KeyPattern::Suffix(_) | KeyPattern::Contains(_) => {
                    let state = self.state(&terms, depth + 1);
                    patterns.push((pattern.clone(), state));
                }
            }
        }
        let rest = self.with(common, own.node, every.or(own.additional));
        let rest = self.rest(rest, unclear, depth);
        (patterns, rest)
    }

    fn with(
        &mut self,
        terms: Option<Vec<Term>>,
        node: NodeId,
        schema: Option<&'a Value>,
    ) -> Option<Vec<Term>> {
        let mut terms = terms?;
        match schema {
            Some(Value::Bool(false)) => return None,
            Some(Value::Bool(true)) | None => {}
            Some(schema) => terms.push(Term::Full(self.document.node(schema, node))),
        }
        Some(terms)
    }

    fn rest(&mut self, terms: Option<Vec<Term>>, mut others: Vec<StateId>, depth: usize) -> RestShape {
        match terms {
            None if others.is_empty() => RestShape::Closed,
            None => RestShape::Of(others),
            Some(terms) if terms.is_empty() => RestShape::Open,
            Some(terms) => {
                others.insert(0, self.state(&terms, depth + 1));
                RestShape::Of(others)
            }
        }
    }

    /// The keys that `propertyNames` lists, if it lists them.
    fn listed_keys(&mut self, node: NodeId, schema: &'a Value) -> Option<BTreeSet<&'a str>> {
        let mut node = self.document.node(schema, node);
        for _ in 0..8 {
            let keywords = self.document.keywords(node)?;
            if let Some(values) = keywords.enumeration.filter(|values| values.len() <= MAX_LISTED_KEYS) {
                return Some(values.iter().filter_map(Value::as_str).collect());
            }
            if let Some(value) = keywords.constant {
                return Some(value.as_str().into_iter().collect());
            }
            let reference = keywords.reference?;
            node = self.document.resolve(node, reference)?;
        }
        None
    }
}
