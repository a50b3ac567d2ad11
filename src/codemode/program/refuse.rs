//! Texts that are no program: shell commands, arguments, prose, Python, patches.
//!
//! Owns telling these apart and the one line that says what to do instead (CM-32). It must never refuse
//! a text that parses as a sensible program: it is asked after parsing failed, and `only_shell` is the
//! one test for texts that parse by accident. `hints` knows the tools.

use super::hints::{Power, ToolHints, first_reference};
use super::names::without_strings;
use super::position::Position;
use super::{fence, python};
use crate::ids::{nearest, tool_reference};

/// Says what a fenced block of another language is.
pub(super) fn foreign(language: &str, hints: &ToolHints<'_>) -> Option<String> {
    match language {
        "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "powershell" | "cmd" | "fish" => {
            Some(shell(hints))
        }
        "python" | "py" | "python3" => Some(python(hints)),
        "diff" | "patch" => Some(patch(hints)),
        _ => None,
    }
}

/// The message for a fenced block of a language of which nothing better is known.
pub(super) fn other_language(language: &str, hints: &ToolHints<'_>) -> Option<String> {
    let known =
        language.len() <= 20 && language.chars().all(|c| c.is_ascii_alphanumeric() || "+#-.".contains(c));
    known.then(|| {
        format!(
            "the fenced block is `{language}`, not a program; pass TypeScript, for example `return await {}({{...}})`",
            first_reference(hints)
        )
    })
}

/// What a line means that does not parse for how it is written, not for what it says.
pub(super) fn misprint(line: &str, place: Position) -> Option<String> {
    let mut column = 1;
    let character = line.chars().find(|character| {
        let found = column >= place.column;
        column += if character.len_utf16() == 2 { 2 } else { 1 };
        found
    });
    if let Some(quote) = character.filter(|character| "“”„‟‘’‚‛«»".contains(*character)) {
        return Some(format!("`{quote}` is a typographic quotation mark; write `\"` or `'`"));
    }
    if let Some((word, meant)) = operator_of_python(line, place) {
        return Some(format!("`{word}` is Python: write `{meant}`"));
    }
    let code = without_strings(line);
    ENTITIES.iter().find(|(entity, _)| code.contains(entity)).map(|(entity, meant)| {
        format!("the program is escaped as HTML; pass it as plain text, with `{meant}` for `{entity}`")
    })
}

/// The operator in words at the place, or right before it, and what it is called here.
fn operator_of_python(line: &str, place: Position) -> Option<(&'static str, &'static str)> {
    const BETWEEN: [(&str, &str); 4] = [("and", "&&"), ("or", "||"), ("is", "==="), ("not", "!")];
    let units = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let mut left = units;
    let at = line.char_indices().find_map(|(at, character)| {
        let found = left == 0;
        left = left.saturating_sub(character.len_utf16());
        found.then_some(at)
    })?;
    let (before, rest) = line.split_at_checked(at)?;
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == '$';
    let here = rest.split(|character| !is_part(character)).next()?;
    let last = before.trim_end().rsplit(|character| !is_part(character)).next()?;
    let is_apart = before.ends_with([' ', '\t']);
    let found = |wanted: &str| BETWEEN.into_iter().find(|(word, _)| *word == wanted);
    found(here).or_else(|| found(last).filter(|(word, _)| is_apart && *word == "not"))
}

const ENTITIES: [(&str, &str); 6] =
    [("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'")];

/// The name of the tags that a text is wrapped in, as programs are in some prompts.
fn wrapping_tag(text: &str) -> Option<&str> {
    const TAGS: [&str; 10] = [
        "code",
        "program",
        "script",
        "typescript",
        "ts",
        "javascript",
        "js",
        "tool_code",
        "run_code",
        "answer",
    ];
    let name = text.strip_prefix('<')?.split(['>', ' ', '\n']).next().filter(|name| TAGS.contains(name))?;
    text.strip_suffix('>')?.strip_suffix(name)?.ends_with("</").then_some(name)
}

/// Says what a text that does not parse is, if it is not an attempt at a program.
pub(super) fn recognise(text: &str, hints: &ToolHints<'_>) -> Option<String> {
    let text = text.trim();
    if let Some(message) = arguments(text, hints) {
        return Some(message);
    }
    if let Some(tag) = wrapping_tag(text) {
        return Some(format!("pass the program without the tags `<{tag}>` and `</{tag}>` around it"));
    }
    if is_patch(text) {
        return Some(patch(hints));
    }
    if python::is_python(text) {
        return Some(python(hints));
    }
    if is_shell(text) {
        return Some(shell(hints));
    }
    is_prose(text).then(|| {
        format!(
            "this is prose, not a program; pass only TypeScript, for example `return await {}({{...}})`",
            first_reference(hints)
        )
    })
}

/// The message for a text without any code.
pub(super) fn empty(hints: &ToolHints<'_>) -> String {
    format!(
        "there is no program in the text; pass TypeScript, for example `return await {}({{...}})`",
        first_reference(hints)
    )
}

/// The message for a shell command.
pub(super) fn shell(hints: &ToolHints<'_>) -> String {
    format!("this is a shell command; programs are TypeScript, and {}", Power::Commands.sentence(hints))
}

fn python(hints: &ToolHints<'_>) -> String {
    format!(
        "this is Python; programs are TypeScript: write the same in TypeScript and call tools as `await {}({{...}})`",
        first_reference(hints)
    )
}

fn patch(hints: &ToolHints<'_>) -> String {
    format!("this is a patch; programs are TypeScript, and {}", Power::Patches.sentence(hints))
}

/// The message for a text that is one JSON object.
pub(super) fn arguments(text: &str, hints: &ToolHints<'_>) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    if object.get("code").is_some_and(serde_json::Value::is_string) {
        return Some(
            "this is JSON with the program inside; pass the program's text itself as `code`".to_owned(),
        );
    }
    Some(literal(called(&object, hints), &object.keys().map(String::as_str).collect::<Vec<_>>(), hints))
}

/// The tool that an object says it is a call of.
fn called<'a>(object: &serde_json::Map<String, serde_json::Value>, hints: &ToolHints<'a>) -> Option<&'a str> {
    let first = object.get("tool_uses").and_then(|uses| uses.get(0)?.as_object());
    ["tool", "name", "tool_name", "recipient_name"]
        .iter()
        .filter_map(|key| first.unwrap_or(object).get(*key)?.as_str())
        .find_map(|name| nearest(name.trim_start_matches("functions."), hints.names.iter().copied()))
}

/// The message for an object of constants: somebody's arguments, and the tool if it is known.
pub(super) fn literal(tool: Option<&str>, given: &[&str], hints: &ToolHints<'_>) -> String {
    let mut visible = hints.names.iter().filter(|name| **name != "run_code");
    let only = visible.next().filter(|_| visible.next().is_none()).copied();
    match tool.or_else(|| hints.tool_for(given)).or(only).map(tool_reference) {
        Some(tool) => format!(
            "these are arguments of a tool, not a program; call the tool with them: `return await {tool}({{...}})`"
        ),
        None => "these are arguments of a tool, not a program; call the tool that they are for with them: \
                 `return await tools.<name>({...})`"
            .to_owned(),
    }
}

const COMMANDS: [&str; 84] = [
    "ls", "cd", "cat", "echo", "grep", "egrep", "rg", "find", "sed", "awk", "head", "tail", "wc", "sort",
    "uniq", "cut", "tr", "xargs", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "touch", "chmod", "chown", "pwd",
    "which", "whoami", "env", "printenv", "export", "source", "curl", "wget", "git", "gh", "npm", "npx",
    "pnpm", "yarn", "bun", "node", "deno", "tsc", "python", "python3", "pip", "pip3", "uv", "cargo", "rustc",
    "go", "make", "cmake", "gcc", "docker", "kubectl", "ssh", "scp", "tar", "zip", "unzip", "sudo", "apt",
    "apt-get", "brew", "ps", "kill", "df", "du", "date", "sleep", "tee", "diff", "patch", "tree", "file",
    "stat", "bash", "sh", "zsh", "jq",
];

/// Whether a name is a command of the shell that programs do not use as a variable.
pub(super) fn is_command(word: &str) -> bool {
    COMMANDS.contains(&word)
}

/// Whether the first line of a text that does not parse is a command.
fn is_shell(text: &str) -> bool {
    if text.starts_with("#!") {
        return text.lines().next().is_some_and(|line| line.ends_with("sh"));
    }
    let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))
    else {
        return false;
    };
    if let Some(rest) = line.strip_prefix("$ ") {
        return rest.starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '.' | '/'));
    }
    let mut words = line.split_whitespace().peekable();
    while words.next_if(|word| is_assignment(word)).is_some() {}
    let Some(first) = words.next() else { return false };
    let second = words.next().unwrap_or_default();
    if matches!((first, second), ("if" | "while", "[" | "[[") | ("set", "-e" | "-ex" | "-euo" | "-x")) {
        return true;
    }
    if first == "for" && line.contains("; do") {
        return true;
    }
    if first.starts_with("./")
        || (first.starts_with('/') && first.matches('/').count() > 1 && !first.ends_with('/'))
    {
        return !first.starts_with("//") && !first.starts_with("/*");
    }
    let code = ["=", "=>", "(", ".", ":", ",", "{", "?", "in", "of", "as", "=="];
    is_command(first.trim_end_matches(';'))
        && !code.contains(&second)
        && !second.starts_with(['(', '='])
        && (first != "export" || second.contains('='))
}

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| {
        !name.is_empty()
            && !value.is_empty()
            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
    })
}

fn is_patch(text: &str) -> bool {
    text.starts_with("*** Begin Patch")
        || text.starts_with("diff --git ")
        || (text.starts_with("--- ") && text.lines().nth(1).is_some_and(|line| line.starts_with("+++ ")))
}

/// Three words in a row at the start, and nowhere a sign of code.
fn is_prose(text: &str) -> bool {
    let signs = ["=", "{", ";", "=>", "await ", "const ", "return ", "tools.", "console.", "()"];
    if signs.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    // A heading or an item of a list may be as short as it likes.
    let first = text.lines().next().unwrap_or_default();
    let (text, least) = fence::mark(first).map_or((text, 3), |marked| (marked, 1));
    let words = text.split_whitespace().take_while(|word| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
    });
    let keywords = [
        "const", "let", "var", "function", "class", "import", "export", "return", "if", "for", "while",
        "await", "async",
    ];
    let first = text.split_whitespace().next().unwrap_or_default();
    words.take(least).count() == least && !keywords.contains(&first)
}
