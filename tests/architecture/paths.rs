//! The paths that a file names.
//!
//! Owns the unfolding of `use` trees and of paths in expressions and types, and the answer to which top-level
//! module a path leads to. It knows no names beyond `crate`, `super` and `self`, and judges nothing.

use crate::source::{SourceFile, Token, is};

/// A path as written, with groups unfolded: `a::{b, c::d}` is `a::b` and `a::c::d`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// How many modules are open around it inside the file.
    depth: usize,
}

impl NamedPath {
    /// Whether the segments hold `part` in one piece.
    pub(crate) fn has(&self, part: &[&str]) -> bool {
        self.segments
            .windows(part.len())
            .any(|window| window.iter().zip(part).all(|(have, want)| have == want))
    }
}

/// Every path of more than one segment, and every imported name.
pub(crate) fn paths(tokens: &[Token]) -> Vec<NamedPath> {
    let mut found = Vec::new();
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let depth = braces.iter().filter(|is_module| **is_module).count();
        match token.text.as_str() {
            "{" => braces.push(at >= 2 && is(tokens, at - 2, "mod")),
            "}" => {
                braces.pop();
            }
            "use" => {
                at = tree(tokens, at + 1, &[], depth, &mut found);
                continue;
            }
            _ if starts_path(tokens, at) => {
                let (segments, end) = expression(tokens, at);
                if segments.len() > 1 {
                    found.push(NamedPath { segments, line: token.line, depth });
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The top-level module that a path leads to when it leaves the file's own; `None` when it stays or is foreign.
///
/// In a binary, the library is `isolane`.
pub(crate) fn target<'a>(file: &SourceFile, path: &'a NamedPath) -> Option<&'a str> {
    let first = path.segments.first()?.as_str();
    let index = match first {
        "crate" => 1,
        "isolane" if crate::ranks::is_binary(&file.name) => 1,
        "super" => {
            let ups = path.segments.iter().take_while(|segment| *segment == "super").count();
            if ups < file.module().len() + path.depth {
                return None;
            }
            ups
        }
        _ => return None,
    };
    path.segments.get(index).map(String::as_str)
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn starts_path(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| is_word(&token.text)) && (at == 0 || !is(tokens, at - 1, "::"))
}

/// A path such as `a::b::<T>::c`; its segments and the first token after it.
fn expression(tokens: &[Token], start: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let mut at = start;
    while let Some(token) = tokens.get(at).filter(|token| is_word(&token.text)) {
        segments.push(token.text.clone());
        at += 1;
        if !is(tokens, at, "::") {
            break;
        }
        // A generic argument is read on its own; the path goes on after it where one follows.
        if is(tokens, at + 1, "<") {
            break;
        }
        at += 1;
    }
    (segments, at.max(start + 1))
}

/// One branch of a `use` tree; returns the first token after it.
fn tree(
    tokens: &[Token],
    start: usize,
    prefix: &[String],
    depth: usize,
    found: &mut Vec<NamedPath>,
) -> usize {
    let mut segments = prefix.to_vec();
    let line = tokens.get(start).map_or(0, |token| token.line);
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some() && !is(tokens, at, "}") {
                    at = tree(tokens, at, &segments, depth, found);
                    if is(tokens, at, ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => at += 2,
            word if is_word(word) || word == "*" => {
                segments.push(word.to_owned());
                at += 1;
            }
            _ => break,
        }
    }
    found.push(NamedPath { segments, line, depth });
    at.max(start + 1)
}
