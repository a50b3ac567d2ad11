//! Small changes to the text of a program that keep positions exact.
//!
//! Owns insertions (never with a line end) and blanking (every character but whitespace becomes as
//! many spaces as it has UTF-16 units), and the way back from the changed text to the text before.
//! It must never remove or add a line. `shape` decides what to change, `emit` uses the result.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::position::{Lines, Position};

/// Changes that are still to be made, by byte offset in the text before.
#[derive(Debug, Default)]
pub(super) struct Edits {
    insertions: Vec<(usize, String)>,
    blanks: Vec<(Range<usize>, Option<char>)>,
}

/// Text that was put in: where it stands in the changed text, and its length in UTF-16 units.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Insertion {
    at: Position,
    length: u32,
}

/// The insertions of a text, ordered, to go back with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Undo {
    insertions: Vec<Insertion>,
}

impl Edits {
    /// Puts text without line ends before the byte at `offset`.
    pub(super) fn insert(&mut self, offset: usize, text: impl Into<String>) {
        self.insertions.push((offset, text.into()));
    }

    /// Overwrites a range with spaces.
    pub(super) fn blank(&mut self, range: Range<usize>) {
        self.blanks.push((range, None));
    }

    /// Overwrites a statement with spaces and a semicolon, so that its neighbours do not join.
    pub(super) fn blank_statement(&mut self, range: Range<usize>) {
        self.blanks.push((range, Some(';')));
    }

    /// The changed text and the way back from it.
    pub(super) fn apply(mut self, text: &str) -> (String, Undo) {
        let mut changed = String::with_capacity(text.len() + 64);
        self.insertions.sort_by_key(|(offset, _)| *offset);
        self.blanks.sort_by_key(|(range, _)| range.start);
        let mut insertions = self.insertions.into_iter().peekable();
        let mut blanks = self.blanks.into_iter().peekable();
        let mut placed: Vec<(usize, u32)> = Vec::new();
        let mut place = |changed: &mut String, inserted: &str| {
            placed.push((changed.len(), inserted.encode_utf16().count().try_into().unwrap_or(u32::MAX)));
            changed.push_str(inserted);
        };
        for (offset, character) in text.char_indices() {
            while let Some((_, inserted)) = insertions.next_if(|(at, _)| *at <= offset) {
                place(&mut changed, &inserted);
            }
            while blanks.next_if(|(range, _)| range.end <= offset).is_some() {}
            match blanks.peek_mut() {
                Some((range, mark)) if range.start <= offset => push_blank(&mut changed, character, mark),
                _ => changed.push(character),
            }
        }
        for (_, inserted) in insertions {
            place(&mut changed, &inserted);
        }
        if placed.is_empty() {
            return (changed, Undo::default());
        }
        let lines = Lines::new(&changed);
        let insertions = placed
            .into_iter()
            .map(|(offset, length)| Insertion { at: lines.position(&changed, offset), length })
            .collect();
        (changed, Undo { insertions })
    }
}

impl Undo {
    /// Where a place of the changed text was before; inside an insertion: where that was made.
    pub(super) fn position(&self, place: Position) -> Position {
        let mut column = place.column;
        let mut shift = 0;
        for insertion in self.insertions.iter().filter(|insertion| insertion.at.line == place.line) {
            if place.column >= insertion.at.column.saturating_add(insertion.length) {
                shift = u32::saturating_add(shift, insertion.length);
            } else if place.column > insertion.at.column {
                column = insertion.at.column;
                break;
            }
        }
        Position { line: place.line, column: column.saturating_sub(shift).max(1) }
    }
}

/// The blank form of a character; `mark` is written once, in place of the first visible unit.
fn push_blank(out: &mut String, character: char, mark: &mut Option<char>) {
    if character.is_whitespace() || character == '\u{feff}' {
        out.push(character);
        return;
    }
    out.push(mark.take().unwrap_or(' '));
    if character.len_utf16() == 2 {
        out.push(' ');
    }
}

/// A text with everything blank but the given ranges, which are in order.
pub(super) fn only(text: &str, kept: &[Range<usize>]) -> String {
    let mut edits = Edits::default();
    let mut from = 0;
    for range in kept {
        edits.blank(from..range.start);
        from = range.end;
    }
    edits.blank(from..text.len());
    edits.apply(text).0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-7
    #[test]
    fn insertions_are_undone_exactly() {
        let mut edits = Edits::default();
        edits.insert(2, "return ");
        edits.insert(3, "!");
        edits.blank_statement(4..6);
        let (changed, undo) = edits.apply("a\nbcdefg");
        assert_eq!(changed, "a\nreturn b!c; fg");
        let back = |column| undo.position(Position { line: 2, column }).column;
        assert_eq!([1, 4, 8, 9, 10, 11].map(back), [1, 1, 1, 2, 2, 3]);
    }

    /// CM-32
    #[test]
    fn blanking_keeps_lines_and_utf16_columns() {
        let kept = std::slice::from_ref(&(12..16));
        assert_eq!(only("Hi 😀é\r\n\tcode\nbye", kept), "      \r\n\tcode\n   ");
    }
}
