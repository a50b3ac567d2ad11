//! Text from schemas and tools, made harmless for the place where it goes.
//!
//! Everything a tool's author wrote may be hostile: it must not close a comment or a string, open a fence,
//! add a declaration, or show a reader something else than what is there (SDK-4). Only the printers of a language
//! and their layout call this; nothing foreign reaches the text by another road. How a name is spelled is for `ids`
//! to say.

use crate::ids::spelling::{is_plain_identifier, is_unseen, push_visible, string_literal, without_fences};

/// The lines of a text for a comment of any language: no line breaks, unseen characters or fences in them, no blank
/// lines at the ends, never two in a row. What ends a comment there is for the language to say.
pub(super) fn plain_lines(text: &str) -> Vec<String> {
    let unified = text.replace("\r\n", "\n");
    let mut lines: Vec<String> = Vec::new();
    for line in unified.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let line = plain_line(line);
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// One line of it.
fn plain_line(text: &str) -> String {
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
    plain.trim_end().to_owned()
}

/// The lines of a TypeScript doc comment's text: plain ones without an end of the comment.
pub(super) fn comment_lines(text: &str) -> Vec<String> {
    let mut lines = plain_lines(text);
    for line in lines.iter_mut().filter(|line| line.contains("*/")) {
        *line = line.replace("*/", "*\\/");
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
pub(super) fn property_key(name: &str) -> String {
    let bare = is_plain_identifier(name) && name != "__proto__";
    if bare { name.to_owned() } else { string_literal(name) }
}
