//! Text from schemas and tools, made harmless for the place where it goes.
//!
//! Everything a tool's author wrote may be hostile: it must not close a comment or a string, open a fence,
//! add a declaration, or show a reader something else than what is there (SDK-4). Only the printers of a language
//! and their layout call this; nothing foreign reaches the text by another road. How a name is spelled is for `ids`
//! to say.

use std::borrow::Cow;

use crate::ids::spelling::{is_plain_identifier, is_unseen, push_visible, string_literal, without_fences};

/// The lines of a text for a comment of any language: no line breaks, unseen characters or fences in them, no blank
/// lines at the ends, never two in a row. What ends a comment there is for the language to say.
pub(super) fn plain_lines(text: &str) -> Vec<Cow<'_, str>> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    let mut rest = Some(text);
    while let Some(from) = rest {
        let end = from.find(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
        let (line, after) = from.split_at(end.unwrap_or(from.len()));
        let behind = |first: char| after.strip_prefix("\r\n").or_else(|| after.strip_prefix(first));
        rest = after.chars().next().and_then(behind);
        let line = plain_line(line);
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// One line of it.
fn plain_line(text: &str) -> Cow<'_, str> {
    let shown = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if shown && !text.contains("```") {
        return Cow::Borrowed(text.trim_end());
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\t' {
            plain.push(' ');
        } else if !is_unseen(character) {
            plain.push(character);
        }
    }
    // After the unseen characters are gone, so that none can stand between two backticks.
    if plain.contains("```") {
        plain = without_fences(&plain, "'");
    }
    plain.truncate(plain.trim_end().len());
    Cow::Owned(plain)
}

/// The lines of a TypeScript doc comment's text: plain ones without an end of the comment.
pub(super) fn comment_lines(text: &str) -> Vec<Cow<'_, str>> {
    let mut lines = plain_lines(text);
    for line in lines.iter_mut().filter(|line| line.contains("*/")) {
        *line = Cow::Owned(line.replace("*/", "*\\/"));
    }
    lines
}

/// The text of a template literal type around `${string}`, without the backticks.
pub(super) fn template_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '`' | '\\' | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => push_visible(&mut out, other),
        }
    }
    out
}

/// A key in a type: bare where that means the same.
pub(super) fn property_key(name: &str) -> Cow<'_, str> {
    let bare = is_plain_identifier(name) && name != "__proto__";
    if bare { Cow::Borrowed(name) } else { Cow::Owned(string_literal(name)) }
}
