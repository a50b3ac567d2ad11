//! Programs inside Markdown.
//!
//! Owns finding fenced blocks and choosing those that are a program. It blanks out everything else, so
//! that lines and columns still are those of the text as written. It must never look inside a text that
//! is a program already: `prepare` asks for it only when the text begins with a fence or does not parse.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::edits;

/// One fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    language: String,
    inside: Range<usize>,
}

/// A text of which only the fenced program is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fenced {
    /// As long as the text as written, in lines and UTF-16 columns.
    pub(super) text: String,
    /// The language of the blocks when none of them is a program by its name, e.g. `bash`.
    pub(super) foreign: Option<String>,
    /// What was done, for the model.
    pub(super) note: Option<String>,
}

const PROGRAM_LANGUAGES: [&str; 14] = [
    "ts",
    "typescript",
    "js",
    "javascript",
    "tsx",
    "jsx",
    "mts",
    "cts",
    "mjs",
    "cjs",
    "node",
    "deno",
    "ecmascript",
    "code",
];

/// Whether the first visible thing is a fence.
pub(super) fn begins_with_fence(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| fence_of(line).is_some())
}

/// Takes the program out of the text; `None` when there is no fence.
pub(super) fn extract(text: &str) -> Option<Fenced> {
    let blocks = blocks(text);
    if blocks.is_empty() {
        return None;
    }
    let named = |block: &Block| PROGRAM_LANGUAGES.contains(&block.language.as_str());
    let unnamed = |block: &Block| block.language.is_empty();
    let any_named = blocks.iter().any(named);
    let any_unnamed = blocks.iter().any(unnamed);
    let is_chosen = |block: &Block| match (any_named, any_unnamed) {
        (true, _) => named(block),
        (false, true) => unnamed(block),
        (false, false) => true,
    };
    let foreign =
        if any_named || any_unnamed { None } else { blocks.first().map(|block| block.language.clone()) };
    let kept: Vec<Range<usize>> =
        blocks.iter().filter(|block| is_chosen(block)).map(|block| block.inside.clone()).collect();
    let mut done = Vec::new();
    if kept.len() > 1 {
        done.push(format!("joined {} fenced blocks", kept.len()));
    }
    if blocks.len() > kept.len() {
        let languages: BTreeSet<&str> = blocks
            .iter()
            .filter(|block| !is_chosen(block))
            .map(|block| if block.language.is_empty() { "unnamed" } else { block.language.as_str() })
            .collect();
        let languages: Vec<&str> = languages.into_iter().take(5).collect();
        done.push(format!("left out fenced blocks that are not a program ({})", languages.join(", ")));
    }
    if prose(text, &blocks).next().is_some() {
        done.push(
            "ignored the prose around".to_owned()
                + if blocks.len() == 1 { " the fenced block" } else { " them" },
        );
    }
    let note = (!done.is_empty()).then(|| done.join(" and "));
    Some(Fenced { text: edits::only(text, &kept), foreign, note })
}

/// The fence that a line begins with: its character, its length, and the rest of the line.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_start();
    let character = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(character);
    let length = line.len() - rest.len();
    (length >= 3).then_some((character, length, rest.trim()))
}

/// The languages of blocks that hold Markdown: what is a program is in the fences in them.
const MARKDOWN_LANGUAGES: [&str; 3] = ["md", "markdown", "mdx"];

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, String, usize)> = None;
    // The fences of Markdown around.
    let mut around: Vec<(char, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((character, length, rest)) = fence_of(line) else { continue };
        if let Some((fence, least, language, from)) = open.take() {
            if character == fence && length >= least && rest.is_empty() {
                blocks.push(Block { language, inside: from..start });
            } else {
                open = Some((fence, least, language, from));
            }
            continue;
        }
        if rest.is_empty()
            && around.last().is_some_and(|&(fence, least)| character == fence && length >= least)
        {
            around.pop();
            continue;
        }
        let closing: String = std::iter::repeat_n(character, length).collect();
        if let Some(inside) = rest.strip_suffix(closing.as_str()) {
            // A whole block on one line.
            let from = start + line.find(rest).unwrap_or_default();
            let code = from..from + inside.len();
            blocks.push(one_line(inside, code));
        } else if !rest.contains(character) {
            let language =
                rest.split([' ', '\t', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
            let rest = text.get(at..).unwrap_or_default();
            if MARKDOWN_LANGUAGES.contains(&language.as_str()) && has_inner_fence(rest, character, length) {
                around.push((character, length));
            } else {
                open = Some((character, length, language, at));
            }
        }
    }
    if let Some((_, _, language, from)) = open {
        blocks.push(Block { language, inside: from..text.len() });
    }
    blocks
}

/// Whether a fence follows that can only be one inside of a block with this fence.
fn has_inner_fence(text: &str, fence: char, least: usize) -> bool {
    text.lines()
        .filter_map(fence_of)
        .any(|(character, length, rest)| !rest.is_empty() || character != fence || length < least)
}

fn one_line(inside: &str, code: Range<usize>) -> Block {
    let word = inside.split(' ').next().unwrap_or_default();
    if PROGRAM_LANGUAGES.contains(&word) && word.len() < inside.len() {
        return Block { language: word.to_owned(), inside: code.start + word.len()..code.end };
    }
    Block { language: String::new(), inside: code }
}

/// The lines that are neither in a block nor a fence nor blank.
fn prose<'a>(text: &'a str, blocks: &[Block]) -> impl Iterator<Item = &'a str> {
    let mut at = 0;
    let mut blocks = blocks.iter().map(|block| block.inside.clone()).collect::<VecDeque<_>>();
    text.split_inclusive('\n').filter(move |line| {
        let start = at;
        at += line.len();
        while blocks.front().is_some_and(|inside| inside.end <= start) {
            blocks.pop_front();
        }
        let inside = blocks.front().is_some_and(|inside| inside.contains(&start));
        !line.trim().is_empty() && fence_of(line).is_none() && !inside
    })
}

/// Whether a line outside of the blocks looks like code: then the fences are part of a broken program,
/// in a comment for example, and what is in them was not meant to run.
pub(super) fn is_among_code(text: &str) -> bool {
    prose(text, &blocks(text)).map(str::trim).any(|line| {
        let sign = ["//", "/*", "*/", "const ", "let "].iter().any(|sign| line.starts_with(sign));
        sign || (line.ends_with([';', '{', '}']) && mark(line).is_none())
    })
}

/// The text of a heading, of an item of a list, or of a quotation.
pub(super) fn mark(line: &str) -> Option<&str> {
    let (mark, rest) = line.trim_start().split_once(' ')?;
    let numbered = mark.strip_suffix(['.', ')']).is_some_and(|number| {
        !number.is_empty() && number.len() < 4 && number.bytes().all(|digit| digit.is_ascii_digit())
    });
    let heading = mark.len() < 7 && mark.bytes().all(|letter| letter == b'#');
    (numbered || heading || matches!(mark, "-" | "*" | "+" | ">" | "•")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        extract(text).unwrap().text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// CM-7
    #[test]
    fn a_fenced_block_is_its_inside_on_the_same_lines() {
        let fenced = extract("```ts\nreturn 1\n```\n").unwrap();
        assert_eq!(fenced, Fenced { text: "     \nreturn 1\n   \n".to_owned(), foreign: None, note: None });
    }

    /// CM-32
    #[test]
    fn blocks_are_joined_in_order_and_prose_is_ignored() {
        let fenced = extract("First:\n```ts\na()\n```\nthen\n~~~js\nb()\n~~~\n").unwrap();
        assert_eq!(fenced.text.lines().collect::<Vec<_>>()[2], "a()");
        assert_eq!(fenced.note.as_deref(), Some("joined 2 fenced blocks and ignored the prose around them"));
    }

    /// CM-32
    #[test]
    fn only_blocks_that_are_programs_are_taken() {
        assert_eq!(code("```json\n{}\n```\n```ts\na()\n```\n```\nout\n```"), "a()");
        assert_eq!(code("```\na()\n```"), "a()");
        assert_eq!(extract("```bash\nls\n```").unwrap().foreign.as_deref(), Some("bash"));
    }

    /// CM-32
    #[test]
    fn fences_among_code_are_not_prose_around_a_program() {
        assert!(is_among_code("/*\n```ts\nf()\n```\n*/\nconst a = ;"));
        assert!(!is_among_code("Do this:\n```ts\nf();\n```\nThen tell me (please)."));
    }

    /// CM-32
    #[test]
    fn items_of_a_list_are_prose_whatever_they_end_in() {
        assert!(!is_among_code("# Plan {#plan}\n1. Read it;\n2) Sum it;\n- call `f({})`;\n```ts\nf();\n```"));
        assert_eq!(
            code("# Plan\n1. Read it;\n   ```ts\n   a()\n   ```\n2. Sum it;\n   ```ts\n   b()\n   ```"),
            "a() b()"
        );
        assert!(is_among_code("call();\n```ts\nf();\n```"));
    }

    /// CM-32
    #[test]
    fn fences_in_a_block_of_markdown_are_the_program() {
        for text in [
            "````md\n# Plan\n```ts\na()\n```\n````\n",
            "```markdown\n# Plan\n```ts\na()\n```\n```\n",
            "~~~md\n```ts\na()\n```\n~~~",
            "````md\n```ts\na()\n```\n",
            "````md\n```\na()\n```\n````\n",
            "`````md\n````md\n```ts\na()\n```\n````\n`````\n",
        ] {
            assert_eq!(code(text), "a()", "{text}");
        }
        assert_eq!(code("```md\nnothing here\n```\n"), "nothing here");
        assert_eq!(extract("```md\n# Plan\n```\n").unwrap().foreign.as_deref(), Some("md"));
    }

    /// CM-7
    #[test]
    fn unusual_fences_are_fences() {
        assert_eq!(code("```ts\na()"), "a()");
        assert_eq!(code("  ````typescript title=\"x\"\na(`\n```\n`)\n  ````"), "a(` ``` `)");
        assert_eq!(code("```ts return 1```"), "return 1");
        assert_eq!(code("```ts\r\na()\r\n```\r\n"), "a()");
        assert_eq!(extract("no fence"), None);
    }
}
