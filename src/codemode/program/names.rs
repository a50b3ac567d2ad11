//! Names as they stand in a line of a program.
//!
//! Owns finding a name outside of strings and comments, and the words of a line with its strings taken out. It knows
//! one line at a time, so that it must never be used to decide what runs: only where a message points and what it says.

/// The byte offset at which `name` stands as a word of its own: not a member, not a key, not inside a string.
pub(super) fn find(line: &str, name: &str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let code = without_strings(line);
    let mut from = 0;
    while let Some(found) = code.get(from..)?.find(name) {
        let at = from + found;
        let end = at + name.len();
        let before = code.get(..at)?.trim_end();
        let member = before.ends_with('.') && !before.ends_with("...");
        let after = code.get(end..)?;
        let key = after.trim_start().starts_with(':') && before.ends_with(['{', ',']);
        let alone = !code.get(..at)?.ends_with(is_part) && !after.starts_with(is_part);
        if alone && !member && !key {
            return Some(at);
        }
        from = end;
    }
    None
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#')
}

/// The line with spaces in place of what stands in quotes and behind `//`, byte for byte. What a template holds in
/// `${}` stays.
pub(super) fn without_strings(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    // The quote that is open, and templates around it whose `${` is open, by the braces open in each.
    let mut quote: Option<char> = None;
    let mut around: Vec<usize> = Vec::new();
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let rest = line.get(at..).unwrap_or_default();
        let mut blank = |letters: &str| code.extend(std::iter::repeat_n(' ', letters.len()));
        match quote {
            Some(_) if letter == '\\' => {
                blank("\\");
                if let Some((_, escaped)) = letters.next() {
                    blank(escaped.encode_utf8(&mut [0; 4]));
                }
            }
            Some('`') if rest.starts_with("${") => {
                letters.next();
                blank("${");
                around.push(0);
                quote = None;
            }
            Some(open) => {
                blank(letter.encode_utf8(&mut [0; 4]));
                if letter == open {
                    quote = None;
                }
            }
            None if matches!(letter, '"' | '\'' | '`') => {
                blank(" ");
                quote = Some(letter);
            }
            None if rest.starts_with("//") => {
                blank(rest);
                break;
            }
            None => match (letter, around.last_mut()) {
                ('}', Some(0)) => {
                    blank("}");
                    around.pop();
                    quote = Some('`');
                }
                (letter, Some(braces)) if matches!(letter, '{' | '}') => {
                    *braces = if letter == '{' { *braces + 1 } else { braces.saturating_sub(1) };
                    code.push(letter);
                }
                _ => code.push(letter),
            },
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-23
    #[test]
    fn a_name_is_found_where_it_stands_for_itself() {
        for (line, name, at) in [
            ("const a = foo + 1", "foo", Some(10)),
            ("const foobar = a.foo + 'foo' + foo", "foo", Some(31)),
            ("f({ foo: foo })", "foo", Some(9)),
            ("f(`foo ${`${foo}`} ${ {a: 1}.b }`)", "foo", Some(12)),
            ("x ? foo : 1", "foo", Some(4)),
            ("f(...foo)", "foo", Some(5)),
            ("a // foo", "foo", None),
            ("\"é\\\"foo\", größe", "größe", Some(11)),
            ("a?.foo", "foo", None),
            ("", "foo", None),
            ("a", "", None),
        ] {
            assert_eq!(find(line, name), at, "{line}");
        }
    }
}
