//! What one searched file contributes to a `grep`.
//!
//! Owns the step from the search library's lines to matches with columns and context, within what is left
//! of the result's bounds. It must never open or read a file; [`super::grep`] drives the search.

use std::collections::VecDeque;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::grep::{GrepMatch, GrepMode};

/// Collects the matches of one file.
#[derive(Debug)]
pub(super) struct FileSink<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) path: &'a str,
    /// Lines of context on each side.
    pub(super) context: u64,
    pub(super) max_line_chars: usize,
    /// What is wanted: the lines, or how many.
    pub(super) mode: GrepMode,
    /// Matches that may still be added.
    pub(super) room: usize,
    /// Bytes of text that may still be added.
    pub(super) bytes_left: usize,
    pub(super) matches: Vec<GrepMatch>,
    /// Lines that match, or matches.
    pub(super) count: u64,
    /// The last lines before this one, for the context before a match.
    pub(super) recent: VecDeque<(u64, String)>,
    /// A match was left out.
    pub(super) full: bool,
    /// The file turned out not to be text.
    pub(super) binary: bool,
}

impl FileSink<'_> {
    /// How many matches a matching line holds.
    fn matches_in(&self, line: &[u8]) -> u64 {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut count = 0;
        let counted = self.matcher.find_iter(line, |_| {
            count += 1;
            true
        });
        debug_assert!(counted.is_ok(), "this matcher does not fail");
        count.max(1)
    }

    /// Takes note of a line, matching or not, as context of the matches around it.
    fn remember(&mut self, number: u64, text: String) {
        for earlier in self.matches.iter_mut().rev() {
            if earlier.line.saturating_add(self.context) < number {
                break;
            }
            self.bytes_left = self.bytes_left.saturating_sub(text.len());
            earlier.after.push(text.clone());
        }
        // One more than the context: the line itself is among them.
        if self.recent.len() as u64 > self.context {
            self.recent.pop_front();
        }
        self.recent.push_back((number, text));
    }
}

impl Sink for FileSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        match self.mode {
            GrepMode::Matches => {}
            GrepMode::Count => {
                self.count += 1;
                return Ok(true);
            }
            GrepMode::CountMatches => {
                self.count += self.matches_in(found.bytes());
                return Ok(true);
            }
        }
        if self.room == 0 || self.bytes_left == 0 {
            self.full = true;
            return Ok(false);
        }
        self.count += 1;
        self.room -= 1;
        let line = found.line_number().unwrap_or(0);
        let bytes = without_ending(found.bytes());
        let start = self.matcher.find(bytes).ok().flatten().map_or(0, |range| range.start());
        let before_match = bytes.get(..start).unwrap_or_default();
        let column = String::from_utf8_lossy(before_match).chars().count();
        let (text, cut) = shorten(bytes, column, self.max_line_chars);
        if self.context > 0 {
            self.remember(line, text.clone());
        }
        let first = line.saturating_sub(self.context);
        let before = self.recent.iter().filter(|(number, _)| (first..line).contains(number));
        let before: Vec<String> = before.map(|(_, text)| text.clone()).collect();
        let added = self.path.len() + text.len() + before.iter().map(String::len).sum::<usize>();
        self.bytes_left = self.bytes_left.saturating_sub(added);
        self.matches.push(GrepMatch {
            path: self.path.to_owned(),
            line,
            column: column as u64 + 1,
            text,
            cut,
            before,
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let (text, _) = shorten(without_ending(context.bytes()), 0, self.max_line_chars);
        self.remember(context.line_number().unwrap_or(0), text);
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// At most `most` characters of a line, with the one at index `at` among them.
fn shorten(line: &[u8], at: usize, most: usize) -> (String, bool) {
    let text = String::from_utf8_lossy(line);
    if text.len() <= most || text.chars().count() <= most {
        return (text.into_owned(), false);
    }
    // A quarter of the room shows what comes before.
    (text.chars().skip(at.saturating_sub(most / 4)).take(most).collect(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B-1
    #[test]
    fn long_lines_are_cut_around_the_match() {
        assert_eq!(shorten(b"0123456789", 8, 4), ("789".to_owned(), true));
        assert_eq!(shorten(b"0123456789", 0, 4), ("0123".to_owned(), true));
        assert_eq!(shorten(b"0123", 3, 4), ("0123".to_owned(), false));
        assert_eq!(shorten("äöüß".as_bytes(), 3, 4), ("äöüß".to_owned(), false));
        assert_eq!(shorten(b"a\xffb", 0, 9), ("a\u{fffd}b".to_owned(), false));
    }
}
