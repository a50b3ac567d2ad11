//! The schemas of one document: their ids, where they lie, and what a reference in them points at.
//!
//! Knows nothing of types. Must never recurse, fetch a document, or follow a reference further than its
//! target. `conjunction` and `graph` read it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use url::Url;

use super::super::draft::Draft;
use super::keywords::{Keywords, sorted};
use crate::json::pointer_step;

/// A schema of the document. Ids follow the sorted order of keys, not the source's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

/// How a schema hangs from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// Directly under a keyword: `items`, `not`.
    Keyword(&'static str),
    /// In a keyword's object: `properties`, `$defs`.
    Key(&'static str, &'a str),
    /// In a keyword's array: `anyOf`, `prefixItems`.
    Index(&'static str, usize),
    /// Reached by a pointer through something that is not a schema keyword.
    Pointer,
}

#[derive(Debug)]
struct Node<'a> {
    keywords: Keywords<'a>,
    parent: Option<NodeId>,
    step: Step<'a>,
    resource: usize,
    is_target: bool,
}

#[derive(Debug)]
struct Resource<'a> {
    root: &'a Value,
    base: Option<Url>,
}

/// The index of one document.
#[derive(Debug)]
pub(super) struct Document<'a> {
    nodes: Vec<Node<'a>>,
    by_address: BTreeMap<*const Value, NodeId>,
    resources: Vec<Resource<'a>>,
    by_uri: HashMap<String, usize>,
    anchors: HashMap<(usize, &'a str), NodeId>,
    /// `None` once a name is declared twice: only the caller's path would tell which one is meant.
    dynamic_anchors: HashMap<&'a str, Option<NodeId>>,
    draft: Draft,
}

struct Pending<'a> {
    value: &'a Value,
    parent: Option<NodeId>,
    step: Step<'a>,
    resource: usize,
}

impl<'a> Document<'a> {
    /// Indexes a document; linear in its size.
    pub(super) fn new(root: &'a Value) -> (Self, NodeId) {
        let mut document = Self {
            nodes: Vec::new(),
            by_address: BTreeMap::new(),
            resources: vec![Resource { root, base: None }],
            by_uri: HashMap::new(),
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            draft: Draft::of(root),
        };
        let id = document.index(root, None, Step::Pointer, 0);
        (document, id)
    }

    /// The schema at this place, indexed on first sight.
    pub(super) fn node(&mut self, value: &'a Value, parent: NodeId) -> NodeId {
        if let Some(id) = self.by_address.get(&std::ptr::from_ref(value)) {
            return *id;
        }
        let resource = self.get(parent).map_or(0, |node| node.resource);
        self.index(value, Some(parent), Step::Pointer, resource)
    }

    /// `None` only for an id of another document.
    pub(super) fn keywords(&self, id: NodeId) -> Option<&Keywords<'a>> {
        self.get(id).map(|node| &node.keywords)
    }

    /// Whether some reference seen so far points here.
    pub(super) fn is_target(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|node| node.is_target)
    }

    fn get(&self, id: NodeId) -> Option<&Node<'a>> {
        self.nodes.get(id.0 as usize)
    }

    fn index(&mut self, value: &'a Value, parent: Option<NodeId>, step: Step<'a>, resource: usize) -> NodeId {
        let first = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let mut work = vec![Pending { value, parent, step, resource }];
        while let Some(next) = work.pop() {
            let Entry::Vacant(place) = self.by_address.entry(std::ptr::from_ref(next.value)) else {
                continue;
            };
            let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            place.insert(id);
            let keywords = Keywords::read(next.value, self.draft);
            let resource = self.name_places(&keywords, next.value, id, next.resource);
            children(&keywords, |step, value| {
                work.push(Pending { value, parent: Some(id), step, resource });
            });
            self.nodes.push(Node {
                keywords,
                parent: next.parent,
                step: next.step,
                resource,
                is_target: false,
            });
        }
        first
    }

    /// Registers `$id` and anchors; returns the resource that the schema belongs to.
    fn name_places(&mut self, keywords: &Keywords<'a>, value: &'a Value, id: NodeId, outer: usize) -> usize {
        let mut resource = outer;
        if let Some(name) = keywords.id {
            if let Some(anchor) = name.strip_prefix('#') {
                self.anchors.entry((outer, anchor)).or_insert(id);
            } else if let Some(uri) = self.join(outer, name) {
                resource = self.resources.len();
                self.by_uri.entry(without_fragment(&uri)).or_insert(resource);
                self.resources.push(Resource { root: value, base: Some(uri) });
            }
        }
        for anchor in [keywords.anchor, keywords.dynamic_anchor].into_iter().flatten() {
            self.anchors.entry((resource, anchor)).or_insert(id);
        }
        if let Some(anchor) = keywords.dynamic_anchor {
            self.dynamic_anchors.entry(anchor).and_modify(|only| *only = None).or_insert(Some(id));
        }
        resource
    }

    fn join(&self, resource: usize, reference: &str) -> Option<Url> {
        match self.resources.get(resource).and_then(|resource| resource.base.as_ref()) {
            Some(base) => base.join(reference).ok(),
            None => Url::parse(reference)
                .or_else(|_| Url::parse("json-schema:///").and_then(|base| base.join(reference)))
                .ok(),
        }
    }

    /// The target of a `$ref` in schema `from`; `None` when the document does not hold it.
    pub(super) fn resolve(&mut self, from: NodeId, reference: &str) -> Option<NodeId> {
        let outer = self.get(from)?.resource;
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            outer
        } else {
            let uri = self.join(outer, uri)?;
            *self.by_uri.get(&without_fragment(&uri))?
        };
        let fragment = percent_decode(fragment)?;
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            self.follow(resource, from, &fragment)?
        } else {
            *self.anchors.get(&(resource, fragment.as_str()))?
        };
        self.mark_target(target);
        Some(target)
    }

    /// The target of a `$dynamicRef` or `$recursiveRef`, where it cannot depend on the path that led here.
    pub(super) fn resolve_dynamic(&mut self, from: NodeId, reference: &str) -> Option<NodeId> {
        if reference == "#" {
            if self.resources.len() > 2 {
                return None;
            }
            return self.resolve(from, reference);
        }
        let target = self.resolve(from, reference)?;
        let name = reference.rsplit('#').next().unwrap_or_default();
        if self.keywords(target)?.dynamic_anchor != Some(name) {
            // Without a dynamic anchor at the first target it is an ordinary reference.
            return Some(target);
        }
        let target = (*self.dynamic_anchors.get(name)?)?;
        self.mark_target(target);
        Some(target)
    }

    fn mark_target(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get_mut(id.0 as usize) {
            node.is_target = true;
        }
    }

    fn follow(&mut self, resource: usize, from: NodeId, pointer: &str) -> Option<NodeId> {
        let mut value = self.resources.get(resource)?.root;
        let mut nearest = *self.by_address.get(&std::ptr::from_ref(value)).unwrap_or(&from);
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            value = match value {
                Value::Object(map) => map.get(&segment)?,
                Value::Array(list) => list.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
            if let Some(known) = self.by_address.get(&std::ptr::from_ref(value)) {
                nearest = *known;
            }
        }
        matches!(value, Value::Object(_) | Value::Bool(_)).then(|| self.node(value, nearest))
    }

    /// What to call the type of a schema: the nearest key above it, with `item` for an array's element.
    /// Empty for the document's root and for what hangs from it without a key.
    pub(super) fn hint(&self, id: NodeId) -> String {
        let mut suffix = "";
        let mut at = id;
        for _ in 0..32 {
            let Some(node) = self.get(at) else { break };
            match node.step {
                Step::Key(_, key) => return format!("{key}{suffix}"),
                Step::Keyword("items") | Step::Index("items" | "prefixItems", _) => suffix = "_item",
                Step::Keyword("additionalProperties") => suffix = "_value",
                Step::Keyword(_) | Step::Index(..) | Step::Pointer => {}
            }
            let Some(parent) = node.parent else { break };
            at = parent;
        }
        suffix.trim_start_matches('_').to_owned()
    }

    /// The JSON pointer of a schema. A step through an unknown keyword appears as `?`.
    pub(super) fn pointer(&self, id: NodeId) -> String {
        let mut steps = Vec::new();
        let mut at = Some(id);
        while let Some(node) = at.and_then(|id| self.get(id)) {
            if node.parent.is_some() {
                steps.push(node.step);
            }
            at = node.parent;
        }
        let mut pointer = String::from("#");
        for step in steps.iter().rev() {
            pointer.push('/');
            match step {
                Step::Keyword(keyword) => pointer.push_str(keyword),
                Step::Key(keyword, key) => {
                    pointer.push_str(keyword);
                    pointer.push('/');
                    pointer.push_str(&pointer_step(key));
                }
                Step::Index(keyword, index) => {
                    pointer.push_str(keyword);
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                }
                Step::Pointer => pointer.push('?'),
            }
        }
        pointer
    }
}

fn children<'a>(keywords: &Keywords<'a>, mut visit: impl FnMut(Step<'a>, &'a Value)) {
    let single = [
        ("additionalProperties", keywords.additional_properties),
        ("unevaluatedProperties", keywords.unevaluated_properties),
        ("propertyNames", keywords.property_names),
        ("additionalItems", keywords.additional_items),
        ("unevaluatedItems", keywords.unevaluated_items),
        ("if", keywords.if_then_else[0]),
        ("then", keywords.if_then_else[1]),
        ("else", keywords.if_then_else[2]),
    ];
    for (keyword, value) in single {
        if let Some(value) = value {
            visit(Step::Keyword(keyword), value);
        }
    }
    let items: &[Value] = match keywords.items {
        Some(Value::Array(list)) => list,
        Some(value) => {
            visit(Step::Keyword("items"), value);
            &[]
        }
        None => &[],
    };
    for (keyword, list) in [
        ("allOf", keywords.all_of),
        ("anyOf", keywords.any_of),
        ("oneOf", keywords.one_of),
        ("prefixItems", keywords.prefix_items),
        ("items", items),
    ] {
        for (index, value) in list.iter().enumerate() {
            visit(Step::Index(keyword, index), value);
        }
    }
    for (keyword, entries) in
        [("properties", &keywords.properties), ("patternProperties", &keywords.patterns)]
    {
        for (key, value) in entries {
            visit(Step::Key(keyword, key), value);
        }
    }
    for (keyword, value) in &keywords.aside {
        match (*keyword, *value) {
            ("not" | "contains", value) => visit(Step::Keyword(keyword), value),
            (_, Value::Object(map)) => {
                for (key, value) in sorted(map) {
                    visit(Step::Key(keyword, key), value);
                }
            }
            _ => {}
        }
    }
}

fn without_fragment(uri: &Url) -> String {
    let mut uri = uri.clone();
    uri.set_fragment(None);
    uri.into()
}

/// `None` for what does not decode to UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
