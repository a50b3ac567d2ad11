//! How pieces of a TypeScript type stand together: parentheses, line breaks, doc comments.
//!
//! Knows the precedence of type operators and nothing about schemas. Foreign text comes in only as
//! documentation, which goes through `escape`. Used by `typescript`.

use crate::schema::ir::Doc;

use super::escape::comment_lines;

/// How tightly the outermost operator of a text binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Union,
    Intersection,
    Atom,
}

#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) code: String,
    pub(super) level: Level,
    /// A union written one branch a line: it starts on a line of its own.
    pub(super) block: bool,
}

impl Text {
    pub(super) fn atom(code: impl Into<String>) -> Self {
        Self { code: code.into(), level: Level::Atom, block: false }
    }

    pub(super) fn within(&self, level: Level) -> String {
        if self.level >= level {
            self.code.clone()
        } else if self.block {
            format!("(\n{}\n)", indent(&self.code))
        } else {
            format!("({})", self.code)
        }
    }

    /// The text behind `key:` or `type Name =`.
    pub(super) fn behind(&self, head: &str) -> String {
        if self.block { format!("{head}\n{}", indent(&self.code)) } else { format!("{head} {}", self.code) }
    }
}

pub(super) fn indent(text: &str) -> String {
    format!("  {}", text.replace('\n', "\n  "))
}

/// A union of texts; one that is long or documented takes a line for each branch.
pub(super) fn union(branches: &[(&Doc, Text)]) -> Text {
    if let [(_, only)] = branches {
        return only.clone();
    }
    if branches.is_empty() {
        return Text::atom("never");
    }
    let documented = branches.iter().any(|(doc, _)| !doc.is_empty());
    let broken = branches.iter().any(|(_, text)| text.code.contains('\n'));
    if !documented && !broken {
        let texts: Vec<String> = branches.iter().map(|(_, text)| text.within(Level::Union)).collect();
        return Text { code: texts.join(" | "), level: Level::Union, block: false };
    }
    let lines: Vec<String> = branches
        .iter()
        .map(|(doc, text)| {
            let branch = text.within(Level::Intersection);
            format!("{}| {}", doc_comment(doc), branch)
        })
        .collect();
    Text { code: lines.join("\n"), level: Level::Union, block: true }
}

/// A doc comment with its line break, or nothing.
pub(super) fn doc_comment(doc: &Doc) -> String {
    let mut lines = doc.text.as_deref().map(comment_lines).unwrap_or_default();
    let mut tags: Vec<String> = Vec::with_capacity(doc.tags.len());
    for tag in &doc.tags {
        let value = comment_lines(&tag.value).join(" ");
        tags.push(if value.is_empty() { format!("@{}", tag.name) } else { format!("@{} {value}", tag.name) });
    }
    match lines.len() {
        0 | 1 => {
            lines.extend(tags);
            if lines.is_empty() { String::new() } else { format!("/** {} */\n", lines.join(" ")) }
        }
        _ => {
            lines.extend(tags);
            let lines: Vec<String> =
                lines.iter().map(|line| format!(" * {line}").trim_end().to_owned()).collect();
            format!("/**\n{}\n */\n", lines.join("\n"))
        }
    }
}
