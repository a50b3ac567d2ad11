//! Which names a finished Python text uses.
//!
//! Owns a reader that knows strings and comments from code. An import that nothing uses is an error to strict
//! checkers, and what is used shows best in the text itself. Must never be asked about text that `words` did not write.

use std::collections::BTreeSet;

/// Those of `known` that stand in the code, outside strings and comments.
pub(super) fn used_names(known: &[&'static str], code: &str) -> BTreeSet<&'static str> {
    let mut used = BTreeSet::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' if rest.starts_with("\"\"\"") => 3 + string_end(rest.get(3..).unwrap_or_default(), "\"\"\""),
            '"' => 1 + string_end(rest.get(1..).unwrap_or_default(), "\""),
            first if is_word(first) => {
                let word = rest.split(|character| !is_word(character)).next().unwrap_or_default();
                used.extend(known.iter().filter(|name| **name == word));
                word.len()
            }
            other => other.len_utf8(),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    used
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Where a string ends, its closing quotes included.
fn string_end(text: &str, quotes: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if text.get(at..).is_some_and(|rest| rest.starts_with(quotes)) {
            return at + quotes.len();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::used_names;

    /// SDK-7
    #[test]
    fn only_code_uses_names() {
        let used = |code| used_names(&["A", "B"], code).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(used("x: A[int]  # B\ny: AB"), "A");
        assert_eq!(used("\"\"\" A \\\"\"\" \"\"\" B"), "B");
        assert_eq!(used("L[\"A\\\" B\"]"), "");
        assert_eq!(used("\"unfinished A"), "");
        assert_eq!(used("# é A\nB"), "B");
    }
}
