//! Reading Rust files as tokens.
//!
//! Owns the walk over the tree and a tokeniser that knows just enough of Rust to pass over comments, strings and
//! characters. It judges nothing: `paths.rs` makes paths of the tokens, the rules read both.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// An identifier, a `::`, or one character of punctuation; a literal is `"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
}

/// One file of the tree.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root of the package, with `/`.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// The same without items under `#[cfg(test)]`; nothing for a file that is all test.
    pub(crate) shipped: Vec<Token>,
}

impl SourceFile {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let tokens = tokenize(text);
        let is_test = name.split('/').any(|part| part == "tests" || part == "tests.rs");
        let shipped = if is_test { Vec::new() } else { without_tests(&tokens).0 };
        Self { name: name.to_owned(), text: text.to_owned(), tokens, shipped }
    }

    /// The module that the file is, from the crate's root; `lib.rs` and `main.rs` are the root.
    pub(crate) fn module(&self) -> Vec<&str> {
        let inside = self.name.strip_prefix("src/").unwrap_or(&self.name);
        let inside = inside.strip_suffix(".rs").unwrap_or(inside);
        let mut parts: Vec<&str> = inside.split('/').collect();
        if matches!(parts.last(), Some(&"mod")) || matches!(parts.as_slice(), ["lib" | "main"]) {
            parts.pop();
        }
        parts
    }
}

/// Reads every `.rs` file under the given folders or files of `root`, in the order of their names.
pub(crate) fn read_tree(root: &Path, under: &[&str]) -> io::Result<Vec<SourceFile>> {
    let mut open: Vec<PathBuf> =
        under.iter().map(|part| root.join(part)).filter(|path| path.exists()).collect();
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            if !path.ends_with("target") {
                for entry in std::fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(path);
        }
    }
    let mut files = Vec::new();
    for path in found {
        let name: Vec<_> =
            path.strip_prefix(root).unwrap_or(&path).iter().map(|part| part.to_string_lossy()).collect();
        files.push(SourceFile::new(&name.join("/"), &std::fs::read_to_string(&path)?));
    }
    drop_test_modules(&mut files);
    Ok(files)
}

/// A file whose parent declares it under `#[cfg(test)]` ships nothing.
fn drop_test_modules(files: &mut [SourceFile]) {
    let mut tests = BTreeSet::new();
    for file in &*files {
        let module = file.module().join("/");
        for name in without_tests(&file.tokens).1 {
            tests.insert(format!("src/{module}/{name}.rs").replace("//", "/"));
        }
    }
    for file in files.iter_mut().filter(|file| tests.contains(&file.name)) {
        file.shipped.clear();
    }
}

/// What is left without the items under `#[cfg(test)]`, and the names of the modules declared under it.
fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if MARK.iter().enumerate().all(|(i, mark)| is(tokens, at + i, mark)) {
            let start = at + MARK.len();
            at = end_of_item(tokens, start);
            let item = tokens.get(start..at).unwrap_or_default();
            if let [.., keyword, name, end] = item
                && keyword.text == "mod"
                && end.text == ";"
            {
                modules.push(name.text.clone());
            }
        } else {
            kept.push(token.clone());
            at += 1;
        }
    }
    (kept, modules)
}

/// The first token after the item that starts at `start`: past its `;` or its closing brace.
fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the token at `at` reads `text`.
pub(crate) fn is(tokens: &[Token], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

/// Splits Rust source into tokens.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: text, line: 1 };
    std::iter::from_fn(|| lexer.token()).collect()
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn token(&mut self) -> Option<Token> {
        loop {
            let first = self.rest.chars().next()?;
            if first.is_whitespace() {
                self.take(first.len_utf8());
            } else if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.block_comment();
            } else {
                let line = self.line;
                return Some(Token { text: self.real(first).to_owned(), line });
            }
        }
    }

    fn real(&mut self, first: char) -> &'a str {
        if let Some(length) = self.raw_string() {
            self.take(length);
            return "\"";
        }
        // `b"..."` and `b'.'` are literals like any other.
        let prefix = usize::from(matches!(first, 'b' | 'c'));
        match self.rest.as_bytes().get(prefix) {
            Some(b'"') => {
                self.take(prefix + 1);
                self.quoted('"');
                return "\"";
            }
            Some(b'\'') => return self.quote(prefix),
            _ => {}
        }
        if first.is_alphanumeric() || first == '_' {
            let rest = self.rest.strip_prefix("r#").unwrap_or(self.rest);
            self.take(self.rest.len() - rest.len());
            return self.take(rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()));
        }
        self.take(if self.rest.starts_with("::") { 2 } else { first.len_utf8() })
    }

    /// A character, or a lifetime.
    fn quote(&mut self, prefix: usize) -> &'a str {
        let mut after = self.rest.get(prefix + 1..).unwrap_or_default().chars();
        let (first, second) = (after.next(), after.next());
        if first == Some('\\') || second == Some('\'') {
            self.take(prefix + 1);
            self.quoted('\'');
            return "\"";
        }
        self.take(prefix + 1);
        "'"
    }

    fn quoted(&mut self, end: char) {
        let mut escaped = false;
        let length = self.rest.char_indices().find_map(|(at, c)| {
            let ends = c == end && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then_some(at + 1)
        });
        self.take(length.unwrap_or(self.rest.len()));
    }

    fn raw_string(&self) -> Option<usize> {
        let body = ["r", "br", "cr"].iter().find_map(|prefix| self.rest.strip_prefix(prefix))?;
        let quoted = body.trim_start_matches('#');
        let inside = quoted.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(body.len() - quoted.len()));
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        Some(self.rest.len() - inside.len() + length)
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
                if depth == 0 {
                    return;
                }
            } else if let Some(c) = self.rest.chars().next() {
                self.take(c.len_utf8());
            } else {
                return;
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }
}
