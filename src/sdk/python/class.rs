//! Declarations of Python types: classes of dicts, and aliases.
//!
//! Owns the two syntaxes of a `TypedDict` and where comments stand. Foreign text comes in as lines and keys, which go
//! through `words`. Must never decide what a type is. Used by `printer`.

use super::text::Text;
use super::words::{comment, docstring, is_member_name, python_string};

/// Longest line that ends in a comment.
const LINE: usize = 100;

const INDENT: &str = "    ";

/// A class of dicts.
#[derive(Debug)]
pub(super) struct Class<'a> {
    /// What it is, and what other keys it may have.
    pub(super) doc: Vec<String>,
    /// The classes whose members it has as well, declared before it.
    pub(super) bases: Vec<String>,
    /// Its own members.
    pub(super) fields: Vec<Field<'a>>,
}

/// A member of a class.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) key: &'a str,
    pub(super) text: Text,
    pub(super) required: bool,
    pub(super) doc: Vec<String>,
}

impl Class<'_> {
    /// Whether all keys can be written as names, which a class with bases needs.
    pub(super) fn has_names(&self) -> bool {
        self.fields.iter().all(|field| is_member_name(field.key))
    }

    /// The declaration under a name, with a blank line after it.
    pub(super) fn declare(&self, name: &str) -> String {
        // Where every member may be absent, that is said once.
        let total = self.fields.is_empty() || self.fields.iter().any(|field| field.required);
        let argument = if total { "" } else { ", total=False" };
        if !self.has_names() {
            let doc = comments("", &self.doc);
            let items = self.lines(|field| {
                format!("{}: {},", python_string(field.key), field.ty(total, field.text.evaluated()))
            });
            return format!("{doc}{name} = TypedDict(\"{name}\", {{\n{items}}}{argument})\n\n");
        }
        let bases = if self.bases.is_empty() { "TypedDict".to_owned() } else { self.bases.join(", ") };
        let doc = docstring(&self.doc, INDENT);
        let members =
            self.lines(|field| format!("{}: {}", field.key, field.ty(total, field.text.annotation())));
        let body = if doc.is_empty() && members.is_empty() { "    pass\n" } else { "" };
        format!("class {name}({bases}{argument}):\n{doc}{members}{body}\n")
    }

    fn lines(&self, code: impl Fn(&Field<'_>) -> String) -> String {
        self.fields.iter().map(|field| commented(INDENT, &code(field), &field.doc)).collect()
    }
}

impl Field<'_> {
    fn ty(&self, total: bool, ty: String) -> String {
        if total && !self.required { format!("NotRequired[{ty}]") } else { ty }
    }
}

/// The declaration of another name for a type, with a blank line after it.
pub(super) fn declare_alias(name: &str, text: &Text, doc: &[String]) -> String {
    let lines: Vec<String> = doc.iter().chain(&text.notes).cloned().collect();
    format!("{}\n", commented("", &format!("{name}: TypeAlias = {}", text.evaluated()), &lines))
}

/// A line of code with its comment: behind it when that is short, and else above it.
fn commented(indent: &str, code: &str, lines: &[String]) -> String {
    if let [only] = lines {
        let line = format!("{indent}{code}  {}", comment(only));
        if line.chars().count() <= LINE {
            return format!("{line}\n");
        }
    }
    format!("{}{indent}{code}\n", comments(indent, lines))
}

fn comments(indent: &str, lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        for piece in [indent, &comment(line), "\n"] {
            out.push_str(piece);
        }
    }
    out
}
