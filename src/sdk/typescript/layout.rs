//! How pieces of a TypeScript type stand together: parentheses, line breaks, doc comments.
//!
//! Knows the precedence of type operators and nothing about schemas. Foreign text comes in only as
//! documentation, which goes through `escape`. Used by `printer`.

use std::borrow::Cow;

use crate::schema::ir::Doc;

use super::super::escape::comment_lines;

/// What each level of a text stands further in.
pub(super) const INDENT: &str = "  ";

/// How tightly the outermost operator of a text binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Union,
    Intersection,
    Atom,
}

#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) code: Cow<'static, str>,
    pub(super) level: Level,
    /// A union written one branch a line: it starts on a line of its own.
    pub(super) block: bool,
}

impl Text {
    pub(super) fn atom(code: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.into(), level: Level::Atom, block: false }
    }

    /// Writes the text as an operand of an operator.
    pub(super) fn write_within(&self, level: Level, out: &mut String) {
        if self.level >= level {
            out.push_str(&self.code);
        } else if self.block {
            out.push_str("(\n");
            out.push_str(INDENT);
            write_indented(&self.code, INDENT, out);
            out.push_str("\n)");
        } else {
            out.push('(');
            out.push_str(&self.code);
            out.push(')');
        }
    }

    /// Writes the text behind `key:` or `type Name =`, all its lines but the first `indent` further in.
    pub(super) fn write_behind(&self, indent: &'static str, out: &mut String) {
        if self.block {
            // One level below the line that it belongs to.
            let inner = if indent.is_empty() { INDENT } else { "    " };
            out.push('\n');
            out.push_str(inner);
            write_indented(&self.code, inner, out);
        } else {
            out.push(' ');
            write_indented(&self.code, indent, out);
        }
    }
}

/// Writes lines, all but the first with an indentation before them.
fn write_indented(text: &str, indent: &str, out: &mut String) {
    if indent.is_empty() {
        out.push_str(text);
        return;
    }
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
            out.push_str(indent);
        }
        out.push_str(line);
    }
}

/// A union of texts; one that is long or documented takes a line for each branch.
pub(super) fn union(branches: &[(&Doc, Cow<'_, Text>)]) -> Text {
    if let [(_, only)] = branches {
        return only.as_ref().clone();
    }
    if branches.is_empty() {
        return Text::atom("never");
    }
    let documented = branches.iter().any(|(doc, _)| !doc.is_empty());
    let block = documented || branches.iter().any(|(_, text)| text.code.contains('\n'));
    let mut code = String::with_capacity(branches.iter().map(|(_, text)| text.code.len() + 3).sum());
    for (index, (doc, text)) in branches.iter().enumerate() {
        if block {
            if index > 0 {
                code.push('\n');
            }
            write_doc_comment(doc, "", &mut code);
            code.push_str("| ");
            text.write_within(Level::Intersection, &mut code);
        } else {
            if index > 0 {
                code.push_str(" | ");
            }
            text.write_within(Level::Union, &mut code);
        }
    }
    Text { code: code.into(), level: Level::Union, block }
}

/// Whether a documentation makes no comment: there is none, or one of unseen characters alone.
pub(super) fn shows_nothing(doc: &Doc) -> bool {
    doc.tags.is_empty() && doc.text.as_deref().is_none_or(|text| comment_lines(text).is_empty())
}

/// Writes a doc comment, or nothing. The place is where its line begins, `indent` in; so is the one that it ends at.
pub(super) fn write_doc_comment(doc: &Doc, indent: &str, out: &mut String) {
    let lines = doc.text.as_deref().map(comment_lines).unwrap_or_default();
    if lines.is_empty() && doc.tags.is_empty() {
        return;
    }
    let flat = lines.len() < 2;
    let begin = |out: &mut String| {
        if flat {
            out.push(' ');
        } else {
            out.push('\n');
            out.push_str(indent);
            out.push_str(" *");
        }
    };
    out.push_str("/**");
    for line in &lines {
        begin(out);
        if !flat && !line.is_empty() {
            out.push(' ');
        }
        out.push_str(line);
    }
    for tag in &doc.tags {
        begin(out);
        if !flat {
            out.push(' ');
        }
        out.push('@');
        out.push_str(tag.name);
        for (index, line) in comment_lines(&tag.value).iter().enumerate() {
            if index > 0 || !line.is_empty() {
                out.push(' ');
            }
            out.push_str(line);
        }
    }
    if !flat {
        out.push('\n');
        out.push_str(indent);
    }
    out.push_str(" */\n");
    out.push_str(indent);
}
