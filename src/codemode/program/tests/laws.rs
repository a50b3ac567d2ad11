//! Laws that hold for every text.

use proptest::prelude::*;

use super::HINTS;
use crate::codemode::program::emit::Map;
use crate::codemode::program::parse::parse_javascript;
use crate::codemode::program::position::Lines;
use crate::codemode::program::{Position, ProgramLimits, prepare};

fn check(source: &str) {
    let Ok(program) = prepare(source, &ProgramLimits::default(), &HINTS) else { return };
    let script = program.script();
    if let Err(fault) = parse_javascript(script) {
        panic!("{source:?}\n{script}\n{fault:?}");
    }
    let script_lines = Lines::new(script);
    let written = source.strip_prefix('\u{feff}').unwrap_or(source);
    let written_lines = Lines::new(written);
    if matches!(program.inner.built.map, Map::InPlace) {
        assert_eq!(script_lines.count(), written_lines.count() + 1, "{source:?}\n{script}");
    }
    for line in 0..u32::try_from(script_lines.count()).unwrap() + 2 {
        for column in (0..40).chain([1000]) {
            if let Some(place) = program.locate(line, column) {
                let text = written_lines.line(written, place.line).unwrap();
                assert!(place.column >= 1 && place.column as usize <= text.encode_utf16().count() + 1);
                let _ = program.frame(Position { line: place.line, column: place.column });
            }
        }
    }
}

const PIECES: [&str; 72] = [
    "a",
    "b",
    "main",
    "1",
    "'s'",
    "`t`",
    "`${",
    "}`",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    ".",
    ":",
    "?",
    "=>",
    "=",
    "+",
    "-",
    "!",
    "<",
    ">",
    "/",
    "/x/",
    "\n",
    "\r\n",
    "\r",
    "\u{2028}",
    " ",
    "\t",
    "async ",
    "await ",
    "function ",
    "return ",
    "export ",
    "default ",
    "import ",
    "from ",
    "type ",
    "interface ",
    "enum ",
    "namespace ",
    "class ",
    "extends ",
    "const ",
    "let ",
    "if ",
    "else ",
    "for ",
    "of ",
    "as ",
    "any",
    "number",
    "declare ",
    "abstract ",
    "static ",
    "@d ",
    "private ",
    "```ts\n",
    "\n```\n",
    "~~~\n",
    "// c\n",
    "/* c */",
    "😀",
    "é",
    "\u{feff}",
    "#!",
    "<!--",
];

const SEEDS: [&str; 10] = [
    "export default async function main() { return 1 }",
    "const a: number = 1; a",
    "enum A { B }\nreturn A.B",
    "class A { constructor(private x: number) {} }",
    "Prose\n```ts\nreturn 1\n```\n",
    "export default () => 1",
    "{ a: f(), b: 2 }",
    "async function () { return `x${1}` }",
    "abstract class A<T> { declare x: T; @d m?(): void; abstract y: T }",
    "for (const a of b) { try { c() } catch { d() } }",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// CM-7
    #[test]
    fn any_text_is_handled(text in any::<String>()) {
        check(&text);
    }

    /// CM-7
    #[test]
    fn any_sequence_of_tokens_is_handled(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24)) {
        check(&pieces.concat());
    }

    /// CM-7
    #[test]
    fn changed_programs_are_handled(
        seed in prop::sample::select(SEEDS.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(PIECES.to_vec())), 0..6),
    ) {
        let mut text: Vec<char> = seed.chars().collect();
        for (index, removed, piece) in changes {
            let at = index.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        check(&text.into_iter().collect::<String>());
    }
}
