//! Python, told from a TypeScript program that is only broken.
//!
//! Owns the lines that no JavaScript program has. It is asked after parsing failed, and must never take a line for
//! Python because of what stands in a string. `refuse` words what is said about it.

use super::names::without_strings;

/// Whether a text that does not parse is Python.
pub(super) fn is_python(text: &str) -> bool {
    text.starts_with("#!") && text.lines().next().is_some_and(|line| line.contains("python"))
        || text.lines().map(str::trim).filter(|line| line.len() <= MAX_LINE).any(is_python_line)
}

/// Bytes of a line that a person would write; longer ones are not looked at.
const MAX_LINE: usize = 500;

/// Whether no JavaScript program has such a line.
fn is_python_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    match words.as_slice() {
        ["import", module] | ["from", module, "import", ..] => is_module(module),
        ["import", module, "as", alias] => is_module(module) && is_module(alias),
        ["import", module, ..] if module.ends_with(',') => {
            is_module(module) && !line.contains(['{', '"', '\''])
        }
        ["def" | "elif", ..] | ["async", "def", ..] => line.ends_with(':') || line.contains("):"),
        [
            "class" | "if" | "for" | "while" | "with" | "except" | "try:" | "else:" | "finally:" | "except:",
            ..,
        ] if line.ends_with(':') => true,
        ["print", text, ..] if text.starts_with(['"', '\'']) => true,
        _ => {
            let code = without_strings(line);
            has_string_prefix(line, &code)
                || is_statement_on_one_line(&code)
                || is_comprehension(&code)
                || has_lambda(&code)
        }
    }
}

fn is_module(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

/// `f"..."`, `r'...'`, `"""..."""`: in JavaScript neither a name nor a string stands before a quote.
fn has_string_prefix(line: &str, code: &str) -> bool {
    const SIGNS: [char; 8] = ['(', '=', ',', '[', '{', ':', '+', '%'];
    line.match_indices(['"', '\'']).any(|(at, _)| {
        // What is blank in `code` is inside of a string.
        let (Some(before), Some(quoted)) = (code.get(..at), line.get(at..)) else { return false };
        let name = before.trim_end_matches(|c: char| "fFrRbBuU".contains(c));
        let letters = before.len() - name.len();
        let word = name.trim_end();
        let begins =
            word.is_empty() || word.ends_with(SIGNS) || word.ends_with("return") || word.ends_with("in");
        let apart = !name.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'));
        let triple = quoted.starts_with("\"\"\"") || quoted.starts_with("'''");
        begins && apart && ((1..=2).contains(&letters) || (triple && line.get(..at) == Some(before)))
    })
}

/// `for x in y: ...`, `while x: ...`, `with x as y: ...`: JavaScript has a parenthesis after these words.
fn is_statement_on_one_line(code: &str) -> bool {
    let Some((word, rest)) = code.split_once(' ') else { return false };
    let Some((head, _)) = rest.trim_start().split_once(": ") else { return false };
    let has = |words: &[&str]| head.split_whitespace().any(|word| words.contains(&word));
    !head.starts_with('(')
        && match word {
            "for" => has(&["in"]),
            "with" => has(&["as"]),
            "while" => true,
            "if" => has(&["not", "in", "and", "or", "is"]),
            _ => false,
        }
}

/// `[x for x in y]`
fn is_comprehension(code: &str) -> bool {
    code.split_once(" for ").is_some_and(|(before, after)| {
        before.contains(['[', '{', '(']) && !before.ends_with([';', '}', ')']) && after.contains(" in ")
    })
}

/// `lambda x: ...`
fn has_lambda(code: &str) -> bool {
    code.split_once("lambda ").is_some_and(|(before, after)| {
        !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
            && after.split_once(':').is_some_and(|(names, _)| {
                names.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ',' | ' ' | '*'))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-32
    #[test]
    fn lines_of_python_are_told() {
        for line in [
            "print(f\"hello {name}\")",
            "x = f'{a}'",
            "return f\"{a}\"",
            "path = r'\\d+'",
            "    \"\"\"Reads a file.\"\"\"",
            "text = \"\"\"",
            "for x in range(3): print(x)",
            "with open(\"a.txt\") as f:",
            "with open('a') as f: data = f.read()",
            "while not done: step()",
            "if x is None: y()",
            "xs = [i * 2 for i in range(3)]",
            "d = {k: v for k, v in items}",
            "key = lambda x: x + 1",
            "def f(a): return a",
            "except ValueError as error:",
        ] {
            assert!(is_python(line), "{line}");
        }
    }

    /// CM-32
    #[test]
    fn lines_of_broken_programs_are_not() {
        for line in [
            "const a = \"f'x'\" +",
            "const a = 'print(f\"x\")' +",
            "if (x) y: z",
            "for (const x of y) {",
            "for await (const x of y) z: 1",
            "const f = x",
            "a = cond ? f : \"x\";",
            "call(\"look for x in y\", [",
            "for (const x in y) if (z) { // for a in b",
            "with (a) b: c",
            "const lambda = 1 +",
            "while (a) b: c",
            "return self ? \"a\" : 'b'",
            "x = [`a\"\"\"b`, \"f\" +",
            "f('a', \"b\"",
        ] {
            assert!(!is_python(line), "{line}");
        }
    }
}
