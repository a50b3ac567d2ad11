//! Lines, columns and frames of a text.
//!
//! Owns how a place is counted: lines end where JavaScript says so (`\n`, `\r`, `\r\n`, U+2028,
//! U+2029), columns are UTF-16 units, both from 1, so that V8's numbers can be compared directly.
//! It must never let a character of the program act on a terminal. It knows nothing about programs.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::ids::spelling::is_unseen;

/// A place in the text as the model wrote it. A byte order mark at the start is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 units, from 1.
    pub column: u32,
}

/// Where the lines of one text begin and end.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Per line: byte offset of its first character and of its line terminator.
    spans: Vec<(usize, usize)>,
}

impl Lines {
    pub(super) fn new(text: &str) -> Self {
        let mut spans = Vec::new();
        let mut start = 0;
        let mut characters = text.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            if !is_line_end(character) {
                continue;
            }
            spans.push((start, offset));
            start = offset + character.len_utf8();
            if character == '\r'
                && let Some(&(next, '\n')) = characters.peek()
            {
                characters.next();
                start = next + 1;
            }
        }
        spans.push((start, text.len()));
        Self { spans }
    }

    /// How many lines there are; never 0.
    pub(super) fn count(&self) -> usize {
        self.spans.len()
    }

    /// The place of a byte offset; one past the end is the end.
    pub(super) fn position(&self, text: &str, offset: usize) -> Position {
        let index = self.spans.partition_point(|&(start, _)| start <= offset).saturating_sub(1);
        let (start, end) = self.spans.get(index).copied().unwrap_or_default();
        let before = text.get(start..offset.clamp(start, end)).unwrap_or_default();
        Position { line: count(index), column: count(before.encode_utf16().count()) }
    }

    /// The byte offset of a place; a column past the end of its line is the end of the line.
    /// `None` when there is no such line.
    pub(super) fn offset(&self, text: &str, position: Position) -> Option<usize> {
        let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
        let &(start, end) = self.spans.get(line)?;
        let mut left = position.column.saturating_sub(1) as usize;
        for (at, character) in text.get(start..end)?.char_indices() {
            if left < character.len_utf16() {
                return Some(start + at);
            }
            left -= character.len_utf16();
        }
        Some(end)
    }

    /// The text of a line without its terminator.
    pub(super) fn line<'a>(&self, text: &'a str, line: u32) -> Option<&'a str> {
        let &(start, end) = self.spans.get(usize::try_from(line).ok()?.checked_sub(1)?)?;
        text.get(start..end)
    }
}

/// Whether JavaScript ends a line at this character.
pub(super) fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// A number from 1 for an index from 0.
fn count(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

/// How many characters of a line a frame shows at most.
const FRAME_WIDTH: usize = 110;

/// The line of a place with a caret under it.
///
/// A long line is cut around the caret; tabs stay tabs in both lines; control characters, terminal
/// escapes and characters that reorder text are replaced by visible, inert ones.
pub(super) fn frame(text: &str, lines: &Lines, position: Position) -> String {
    let Some(line) = lines.line(text, position.line) else { return String::new() };
    let mut left = position.column.saturating_sub(1) as usize;
    let mut caret = 0_usize;
    let shown: Vec<char> = line.chars().map(inert).collect();
    for character in line.chars() {
        if left < character.len_utf16() {
            break;
        }
        left -= character.len_utf16();
        caret += 1;
    }

    let mut first = 0;
    let mut last = shown.len();
    if last > FRAME_WIDTH {
        first = caret.saturating_sub(FRAME_WIDTH * 2 / 3);
        last = (first + FRAME_WIDTH).min(shown.len());
        first = last.saturating_sub(FRAME_WIDTH);
    }
    let mut code = String::new();
    let mut pointer = String::new();
    if first > 0 {
        code.push('…');
        pointer.push(' ');
    }
    for (index, &character) in shown.iter().enumerate().take(last).skip(first) {
        code.push(character);
        if index < caret {
            pointer.push(if character == '\t' { '\t' } else { ' ' });
        }
    }
    if last < shown.len() {
        code.push('…');
    }
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(out, "{:>4} | {}\n     | {pointer}^", position.line, code.trim_end());
    out
}

/// The character itself, or a visible stand-in for one that could act on a terminal or hide text.
fn inert(character: char) -> char {
    match character {
        '\t' => '\t',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        unseen if is_unseen(unseen) => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    /// CM-7
    #[test]
    fn lines_end_where_javascript_ends_them() {
        let text = "a\r\nb\u{2028}c\rd\u{2029}\n";
        let lines = Lines::new(text);
        let all: Vec<_> = (1..=6).map(|line| lines.line(text, line).unwrap()).collect();
        assert_eq!(all, ["a", "b", "c", "d", "", ""]);
        assert_eq!(lines.line(text, 7), None);
    }

    /// CM-7
    #[test]
    fn columns_are_utf16_units() {
        let text = "é😀x";
        let lines = Lines::new(text);
        assert_eq!(lines.position(text, text.len() - 1), at(1, 4));
        assert_eq!(lines.offset(text, at(1, 4)), Some(text.len() - 1));
        assert_eq!(lines.offset(text, at(1, 99)), Some(text.len()));
        assert_eq!(lines.offset(text, at(2, 1)), None);
    }

    /// CM-7
    #[test]
    fn a_frame_shows_the_line_and_a_caret() {
        let text = "let a\n\tlet b = c\u{1b}[31m;";
        let lines = Lines::new(text);
        assert_eq!(frame(text, &lines, at(2, 10)), "   2 | \tlet b = c␛[31m;\n     | \t        ^");
    }

    /// CM-7
    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let text = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let lines = Lines::new(&text);
        let frame = frame(&text, &lines, at(1, 501));
        let rows: Vec<&str> = frame.lines().collect();
        let caret = rows[1].chars().position(|character| character == '^').unwrap();
        assert_eq!(rows[0].chars().nth(caret), Some('!'));
        assert!(rows[0].chars().count() <= 120, "{frame}");
    }
}
