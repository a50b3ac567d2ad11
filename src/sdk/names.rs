//! Names of declared types: identifiers, distinct within a bundle, the same for the same tools.
//!
//! A name is the tool's words and the schema's word, joined by `_`, which neither half contains, so names
//! of different tools cannot meet. Must never depend on anything but the names of the tools and the
//! definitions in their order.

use std::collections::HashMap;

/// One distinct prefix per tool, for names in byte order.
pub(super) fn tool_prefixes(names: &[&str]) -> Vec<String> {
    let mut taken = Taken(HashMap::with_capacity(names.len()));
    names.iter().map(|name| taken.distinct(words(name, "Tool"))).collect()
}

/// The words of a text as one identifier, without `_`.
fn words(text: &str, fallback: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|character: char| !character.is_ascii_alphanumeric()) {
        let mut characters = word.chars();
        if let Some(first) = characters.next() {
            if out.is_empty() && first.is_ascii_digit() {
                out.push_str(fallback);
            }
            out.push(first.to_ascii_uppercase());
            out.push_str(characters.as_str());
        }
    }
    out.truncate(60);
    if out.is_empty() { fallback.to_owned() } else { out }
}

/// The names that are taken, each with the last number that was tried behind it.
#[derive(Debug, Clone, Default)]
struct Taken(HashMap<String, u32>);

impl Taken {
    /// The base itself, or with the least number from 2 that is free.
    fn distinct(&mut self, base: String) -> String {
        let Some(mut count) = self.0.get(&base).copied() else {
            self.0.insert(base.clone(), 1);
            return base;
        };
        let name = loop {
            count = count.saturating_add(1);
            let candidate = format!("{base}{count}");
            if !self.0.contains_key(&candidate) {
                break candidate;
            }
        };
        self.0.insert(base, count);
        self.0.insert(name.clone(), 1);
        name
    }
}

/// The types that one tool declares.
#[derive(Debug, Clone)]
pub(super) struct DeclaredNames<'a> {
    prefix: &'a str,
    taken: Taken,
    /// By word and text: a definition that arguments and result share is declared once.
    declared: HashMap<(String, String), String>,
    /// By word: name and text of the first recursive type.
    recursive: HashMap<String, (String, String)>,
}

impl<'a> DeclaredNames<'a> {
    pub(super) fn new(prefix: &'a str) -> Self {
        Self { prefix, taken: Taken::default(), declared: HashMap::new(), recursive: HashMap::new() }
    }

    /// A new name for a type that is not written yet.
    pub(super) fn reserve(&mut self, hint: &str, fallback: &str) -> String {
        self.taken.distinct(format!("{}_{}", self.prefix, words(hint, fallback)))
    }

    /// The name of a type with this text, and whether it still has to be declared.
    pub(super) fn declare(&mut self, hint: &str, fallback: &str, text: &str) -> (String, bool) {
        let key = (words(hint, fallback), text.to_owned());
        if let Some(name) = self.declared.get(&key) {
            return (name.clone(), false);
        }
        let name = self.reserve(hint, fallback);
        self.declared.insert(key, name.clone());
        (name, true)
    }

    /// The declared recursive type that a definition might repeat.
    pub(super) fn recursive(&self, hint: &str, fallback: &str) -> Option<&(String, String)> {
        self.recursive.get(&words(hint, fallback))
    }

    /// Remembers the text of a recursive type.
    pub(super) fn remember(&mut self, hint: &str, fallback: &str, name: &str, text: &str) {
        self.recursive.entry(words(hint, fallback)).or_insert_with(|| (name.to_owned(), text.to_owned()));
    }
}
