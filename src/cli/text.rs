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
    let mut line = escaped_json(serde_json::to_string(value)?, char::is_control);
    line.push('\n');
    Ok(line)
}

/// JSON for people, over several lines, that is JSON still when it is piped: what steers a terminal or reorders text is
/// escaped as JSON has it, and can only be inside strings.
pub(super) fn json_for_people(value: &serde_json::Value) -> String {
    escaped_json(format!("{value:#}"), is_active)
}

fn escaped_json(json: String, is_escaped: impl Fn(char) -> bool) -> String {
    if !json.chars().any(&is_escaped) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_escaped(character) {
            // All of them are in the basic plane. Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Adds an end of line where there is none.
pub(super) fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
