//! Foreign text for a terminal and for JSON.
//!
//! Owns the rule that nothing a program or a tool says can steer a terminal (CM-29): what would is shown, not sent. It never shortens anything.

use std::borrow::Cow;
use std::fmt::Write as _;

use isolane::ids::is_steering;
use serde::Serialize;

/// The text with every character but line feed and tab that steers a terminal or reorders text as an escape, such as
/// `\u{1b}`.
pub(super) fn inert(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

fn is_active(character: char) -> bool {
    is_steering(character) && character != '\n' && character != '\t'
}

/// The value as one line of JSON, with its end of line.
///
/// JSON itself escapes the control characters below U+0020 alone; the others, which some terminals obey too, can
/// only be inside strings and are escaped there.
pub(super) fn json_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(value)?;
    if line.chars().any(char::is_control) {
        let mut escaped = String::with_capacity(line.len() + 16);
        for character in line.chars() {
            if character.is_control() {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            } else {
                escaped.push(character);
            }
        }
        line = escaped;
    }
    line.push('\n');
    Ok(line)
}

/// Adds an end of line where there is none.
pub(super) fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
