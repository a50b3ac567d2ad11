//! Text from schemas and tools, made harmless for the place where it goes.
//!
//! Everything a tool's author wrote may be hostile: it must not close a comment or a string, open a fence,
//! add a declaration, or show a reader something else than what is there (SDK-4). Only `typescript` calls
//! this; nothing foreign reaches the text by another road.

/// Whether a character is invisible, reorders what stands around it, or steers a terminal.
fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The lines of a doc comment's text: no line breaks, unseen characters, comment ends or fences in them, no
/// blank lines at the ends, never two in a row.
pub(super) fn comment_lines(text: &str) -> Vec<String> {
    let unified = text.replace("\r\n", "\n");
    let mut lines: Vec<String> = Vec::new();
    for line in unified.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let line = comment_line(line);
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
fn comment_line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\t' {
            plain.push(' ');
        } else if !is_unseen(character) {
            plain.push(character);
        }
    }
    // After the unseen characters are gone, so that none can stand between the two halves.
    if plain.contains("*/") {
        plain = plain.replace("*/", "*\\/");
    }
    if plain.contains("```") {
        plain = without_fences(&plain, "'");
    }
    plain.trim_end().to_owned()
}

/// Replaces each backtick of a run of three or more.
fn without_fences(text: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("```") {
        let (before, run) = rest.split_at(start);
        out.push_str(before);
        let length = run.bytes().take_while(|byte| *byte == b'`').count();
        out.push_str(&instead.repeat(length));
        rest = run.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// A string literal. It reads the same to every reader and decodes to exactly the text.
pub(super) fn string_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => push_visible(&mut out, other),
        }
    }
    out.push('"');
    if out.contains("```") { without_fences(&out, "\\u0060") } else { out }
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

fn push_visible(out: &mut String, character: char) {
    if is_unseen(character) {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                out.extend(char::from_digit(u32::from(*unit >> shift & 15), 16));
            }
        }
    } else {
        out.push(character);
    }
}

/// A key in a type: bare where that means the same.
pub(super) fn property_key(name: &str) -> String {
    let mut characters = name.chars();
    let bare = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || "_$".contains(first))
        && characters.all(|character| character.is_ascii_alphanumeric() || "_$".contains(character))
        && name != "__proto__";
    if bare { name.to_owned() } else { string_literal(name) }
}
