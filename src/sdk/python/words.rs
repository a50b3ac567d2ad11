//! Foreign text in Python: names, string literals, comments and docstrings.
//!
//! Owns which names may stand bare, and how the others and all prose are written so that they mean and show what
//! is there and nothing else (SDK-4). Checkers read some comments as orders; no foreign text becomes one. Must never
//! change what a name says. The first harm is done away with by `escape`.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::ids::spelling::{is_plain_identifier, is_unseen, string_literal};
use crate::schema::ir::Doc;

use super::super::escape::plain_lines;

/// Reserved words. Soft ones (`match`, `type`, `_`) are names like others.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Built-in names that annotations use.
const BUILTINS: &[&str] = &["bool", "dict", "float", "int", "list", "str"];

/// Names from `typing` that an SDK may use, in the order of their import.
pub(super) const TYPING: &[&str] = &[
    "Awaitable",
    "Callable",
    "Literal",
    "Never",
    "NotRequired",
    "Protocol",
    "TypeAlias",
    "TypeVar",
    "TypedDict",
    "Union",
    "overload",
];

/// Names that the template declares and annotations use.
const DECLARED: &[&str] = &["JsonValue", "OptionalCall"];

/// Whether a class can have a member of this name beside annotations that go on to mean what they say: inside a
/// class, a member hides what is called the same outside.
pub(super) fn is_member_name(name: &str) -> bool {
    let hides = |names: &[&str]| names.contains(&name);
    is_plain_identifier(name)
        && !name.contains('$')
        // Python gives these another name or a meaning.
        && !name.starts_with("__")
        && !hides(KEYWORDS)
        && !hides(BUILTINS)
        && !hides(TYPING)
        && !hides(DECLARED)
        && !is_like_a_type(name)
}

/// Whether a tool's type could be called so; see `names`.
fn is_like_a_type(name: &str) -> bool {
    let capital = |word: &str| word.starts_with(|first: char| first.is_ascii_uppercase());
    name.split_once('_').is_some_and(|(tool, word)| capital(tool) && capital(word))
}

/// A string literal that decodes to exactly the text.
///
/// The literal of JSON means the same in Python, but for unseen characters that JSON writes as two halves.
pub(super) fn python_string(text: &str) -> String {
    let halved = |character: char| u32::from(character) > 0xffff && is_unseen(character);
    let mut out = String::from("\"");
    let mut rest = text;
    while let Some((at, character)) = rest.char_indices().find(|(_, character)| halved(*character)) {
        let (before, from) = rest.split_at(at);
        out.push_str(unquoted(&string_literal(before)));
        let _ = write!(out, "\\U{:08x}", u32::from(character));
        rest = from.get(character.len_utf8()..).unwrap_or_default();
    }
    out.push_str(unquoted(&string_literal(rest)));
    out.push('"');
    out
}

fn unquoted(literal: &str) -> &str {
    literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(literal)
}

/// A documentation's lines: its text, then its facts in parentheses.
pub(super) fn doc_lines(doc: &Doc) -> Vec<String> {
    let lines = doc.text.as_deref().map(plain_lines).unwrap_or_default();
    let mut lines: Vec<String> = lines.into_iter().map(Cow::into_owned).collect();
    let facts: Vec<String> = doc
        .tags
        .iter()
        .map(|tag| match plain_lines(&tag.value).join(" ") {
            value if value.is_empty() => tag.name.to_owned(),
            value => format!("{}: {value}", tag.name),
        })
        .collect();
    if !facts.is_empty() {
        let facts = format!("({})", facts.join("; "));
        match lines.as_mut_slice() {
            [only] => *only = format!("{only} {facts}"),
            _ => lines.push(facts),
        }
    }
    lines
}

/// A comment of one line.
pub(super) fn comment(line: &str) -> String {
    let pieces: Vec<String> = line.split('#').map(without_order).collect();
    format!("# {}", pieces.join("#")).trim_end().to_owned()
}

/// Words that give orders to tools which read comments, when a colon follows.
const ORDERS: &[&str] = &[
    "cython", "doctest", "flake8", "fmt", "isort", "mypy", "noqa", "nosec", "pragma", "pylint", "pyre",
    "pyrefly", "pyright", "pytype", "ruff", "ty", "type", "yapf",
];

/// Checkers take their orders from what follows a `#`, a word of theirs and a colon: `type:`, `mypy:`, `pyright:`.
fn without_order(text: &str) -> String {
    let trimmed = text.trim_start();
    let ordered = trimmed.split_once(':').is_some_and(|(word, _)| {
        let word = word.trim_end();
        ORDERS.iter().any(|order| {
            // Also with what some of them put before the colon: `pyre-fixme`.
            word.strip_prefix(order).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
        })
    });
    if ordered {
        let space = text.strip_suffix(trimmed).unwrap_or_default();
        format!("{space}- {trimmed}")
    } else {
        text.to_owned()
    }
}

/// A docstring with its indentation and line break; nothing for no lines.
pub(super) fn docstring(lines: &[String], indent: &str) -> String {
    let raw = is_better_raw(lines);
    let harmless = |line: &String| {
        if raw { line.clone() } else { line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"") }
    };
    let r = if raw { "r" } else { "" };
    match lines {
        [] => String::new(),
        [only] => {
            let mut text = harmless(only);
            // Unless it is the last of three.
            if !raw && text.ends_with('"') && !text.ends_with("\\\"\\\"\\\"") {
                text.insert(text.len() - 1, '\\');
            }
            format!("{indent}{r}\"\"\"{text}\"\"\"\n")
        }
        lines => {
            let mut out = format!("{indent}{r}\"\"\"");
            for (index, line) in lines.iter().enumerate() {
                if index > 0 && !line.is_empty() {
                    out.push_str(indent);
                }
                out.push_str(&harmless(line));
                out.push('\n');
            }
            out.push_str(indent);
            out.push_str("\"\"\"\n");
            out
        }
    }
}

/// Whether a raw string holds the lines as they are, and another one only with backslashes for theirs.
fn is_better_raw(lines: &[String]) -> bool {
    let any = |part: &str| lines.iter().any(|line| line.contains(part));
    // At the end of a text of one line, these would belong to the closing quotes.
    let ends_well = !matches!(lines, [only] if only.ends_with(['"', '\\']));
    any("\\") && !any("\"\"\"") && ends_well
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SDK-7
    #[test]
    fn names_that_would_hide_or_mean_something_are_no_members() {
        for name in ["read", "match", "type", "_", "_a", "self", "Tools", "print", "get_issue", "A_b", "mro"]
        {
            assert!(is_member_name(name), "{name}");
        }
        for name in [
            "",
            "2fa",
            "a-b",
            "a$",
            "größe",
            "class",
            "None",
            "__init__",
            "__x",
            "list",
            "str",
            "Literal",
            "JsonValue",
            "Search_Args",
            "overload",
        ] {
            assert!(!is_member_name(name), "{name}");
        }
    }

    /// SDK-4
    #[test]
    fn literals_write_what_is_unseen_in_pythons_way() {
        for (text, expected) in [
            ("a\"b\\c\n", r#""a\"b\\c\n""#),
            ("\u{202e}x", r#""\u202ex""#),
            ("``\u{e0041}`\u{1d173}", r#""``\U000e0041`\U0001d173""#),
            ("```", r#""\u0060\u0060\u0060""#),
            ("🙂", r#""🙂""#),
        ] {
            assert_eq!(python_string(text), expected);
        }
    }

    /// SDK-4: neither a comment of the checkers' nor, by a `#` in it, a second one.
    #[test]
    fn no_comment_gives_orders() {
        for (line, expected) in [
            ("type: ignore", "# - type: ignore"),
            ("  mypy : strict", "#   - mypy : strict"),
            ("fine # pyright: basic", "# fine # - pyright: basic"),
            ("#type:int", "# #- type:int"),
            ("Note: this stays", "# Note: this stays"),
            ("so: does this", "# so: does this"),
            ("pyre-fixme: x", "# - pyre-fixme: x"),
            ("", "#"),
        ] {
            assert_eq!(comment(line), expected);
        }
    }

    /// SDK-4
    #[test]
    fn no_docstring_ends_early() {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(docstring(&[], ""), "");
        assert_eq!(docstring(&lines(&["says \"a\""]), "  "), "  \"\"\"says \"a\\\"\"\"\"\n");
        assert_eq!(docstring(&lines(&["\"\"\""]), ""), "\"\"\"\\\"\\\"\\\"\"\"\"\n");
        assert_eq!(docstring(&lines(&["\\\""]), ""), "\"\"\"\\\\\\\"\"\"\"\n");
        assert_eq!(docstring(&lines(&["a\\d+ \"b\" c"]), ""), "r\"\"\"a\\d+ \"b\" c\"\"\"\n");
        assert_eq!(docstring(&lines(&["\\", "\""]), ""), "r\"\"\"\\\n\"\n\"\"\"\n");
        assert_eq!(docstring(&lines(&["\\"]), ""), "\"\"\"\\\\\"\"\"\n");
        assert_eq!(docstring(&lines(&["\"\"\"\""]), ""), "\"\"\"\\\"\\\"\\\"\\\"\"\"\"\n");
        assert_eq!(
            docstring(&lines(&["a\"", "", "\"\"\" b"]), " "),
            " \"\"\"a\"\n\n \\\"\\\"\\\" b\n \"\"\"\n"
        );
    }
}
