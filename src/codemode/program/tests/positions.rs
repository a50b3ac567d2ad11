//! From a place of the script back to the text as written.

use super::{program, refused};
use crate::codemode::program::{Position, PreparedProgram, ProgramErrorKind};

/// Where `needle` stands in the script is where it stands in the text.
fn same_place(program: &PreparedProgram, needle: &str) {
    let at = |text: &str| {
        let offset = text.find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
        let before = &text[..offset];
        let line = before.split('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count() + 1;
        Position { line: u32::try_from(line).unwrap(), column: u32::try_from(column).unwrap() }
    };
    let place = at(program.script());
    assert_eq!(
        program.locate(place.line, place.column),
        Some(at(program.written())),
        "{needle}\n{}",
        program.script()
    );
}

/// CM-7
#[test]
fn places_in_the_script_are_places_in_the_text() {
    let inserted = program("a('é😀', needle); other\nlast(x) + more");
    for needle in ["a('", "needle", "other", "last", "more"] {
        same_place(&inserted, needle);
    }
    let typed = program("const f = (a: Map<文, '😀'>) => needle;\r\nreturn f as 文 + more");
    for needle in ["const", "needle", "return", "more"] {
        same_place(&typed, needle);
    }
    for source in [
        "Prose é😀 here\n```ts\nfirst(needle);\nsecond()\n```\n",
        "export default async function () { needle() }",
        "export default async () => { needle() }",
        "// c\nfunction () { needle() }",
        "{ a: needle(), b: 2 }",
        "(async () => { await needle() })",
        "export const first = needle()",
    ] {
        same_place(&program(source), "needle");
    }
}

/// CM-7
#[test]
fn places_in_emitted_code_go_through_the_map() {
    let source =
        "enum A { X = 'é😀' }\nconst a: string = first(A.X,\n  needle(`x\u{2028}`), other);\nreturn last(a)";
    let program = program(source);
    let script = program.script();
    for name in ["first(", "needle(", "other)", "last("] {
        let lines = super::super::position::Lines::new(script);
        let found = lines.position(script, script.find(name).unwrap());
        let written = super::super::position::Lines::new(source);
        let expected = written.position(source, source.find(name).unwrap());
        assert_eq!(program.locate(found.line, found.column), Some(expected), "{name}\n{script}");
    }
    let last = u32::try_from(super::super::position::Lines::new(script).count()).unwrap();
    assert_eq!(program.locate(last, 1), None);
}

/// CM-7
#[test]
fn wrapper_code_has_no_place() {
    let program = program("return 1");
    assert_eq!(program.locate(1, 1), None);
    assert_eq!(program.locate(1, 27), None);
    assert_eq!(program.locate(1, 28), Some(Position { line: 1, column: 1 }));
    assert_eq!(program.locate(2, 1), None);
    assert_eq!(program.locate(0, 1), None);
    assert_eq!(program.locate(1, 9999), Some(Position { line: 1, column: 9 }));
}

/// CM-7
#[test]
fn a_mark_is_not_counted() {
    let program = program("\u{feff}return x");
    assert_eq!(program.locate(1, 28 + 7), Some(Position { line: 1, column: 8 }));
    assert_eq!(program.frame(Position { line: 1, column: 8 }), "   1 | return x\n     |        ^");
    assert_eq!(program.frame(Position { line: 9, column: 1 }), "");
}

/// CM-7
#[test]
fn errors_stand_where_they_are_in_the_whole_text() {
    let error = refused("Look:\n\n```ts\nconst a = 1;\nconst b = a +;\n```\n");
    assert_eq!(error.position, Some(Position { line: 5, column: 14 }));
    assert_eq!(error.frame.as_deref(), Some("   5 | const b = a +;\n     |              ^"));
    let error = refused("\u{feff}let 😀 = 1");
    assert_eq!(error.position.map(|position| position.line), Some(1));
}

/// CM-23
#[test]
fn a_missing_name_is_shown_where_it_stands() {
    let program = program("const 文a = 'foo', b = a.foo + foo + 1;\nfoo()");
    let place = |line, column| Position { line, column };
    assert_eq!(program.place_of_name("foo", place(1, 1)), place(1, 31));
    assert_eq!(program.place_of_name("foo", place(1, 32)), place(1, 32));
    assert_eq!(program.place_of_name("bar", place(1, 7)), place(1, 7));
    assert_eq!(program.place_of_name("foo", place(2, 1)), place(2, 1));
    assert_eq!(program.place_of_name("foo", place(9, 1)), place(9, 1));
}

/// CM-7, M10
#[test]
fn what_v8_has_no_stack_for_is_shown_where_it_is_deepest() {
    let program = program(&format!("const a = 1;\nconst f = {}1;\nf", "()=>".repeat(30)));
    let error =
        program.not_compiled("Uncaught RangeError: Maximum call stack size exceeded", Some((0, u32::MAX)));
    assert_eq!(error.kind, ProgramErrorKind::TooDeep);
    assert!(error.message.starts_with("the program is nested too deeply here"));
    assert_eq!(error.position, Some(Position { line: 2, column: 127 }));
    assert!(error.frame.unwrap().starts_with("   2 | "));
    let error = program.not_compiled("Uncaught SyntaxError: no", Some((3, 1)));
    assert_eq!(
        (error.message.as_str(), error.position),
        ("SyntaxError: no", Some(Position { line: 3, column: 1 }))
    );
}

/// CM-27, CM-7: the program with its types, and the way back from each place of it.
#[test]
fn the_typed_text_is_the_program_with_its_places() {
    let typed = |source: &str| {
        let program = program(source);
        let text = program.typed();
        let place = |word: &str| {
            let (line, found) = text.lines().enumerate().find(|(_, line)| line.contains(word))?;
            let column = found.split(word).next()?.encode_utf16().count() + 1;
            let number = |at: usize| u32::try_from(at).unwrap();
            program.locate_typed(number(line + 1), number(column)).map(|at| (at.line, at.column))
        };
        (text.clone(), place("here"))
    };
    let (text, place) = typed("const n: number = here;\nn");
    assert_eq!(text, "async function __program() {const n: number = here;\nreturn n\n\n}\n");
    assert_eq!(place, Some((1, 19)));
    assert_eq!(typed("export default async (a: string) => here(a)").1, Some((1, 37)));
    assert_eq!(typed("```ts\n\n  here<string>()\n```").1, Some((3, 3)));
    let (text, _) = typed("async function main(): Promise<void> {}");
    assert!(text.ends_with("\nreturn main()\n}\n"), "{text}");
    let program = program("async function main(): Promise<void> {}");
    assert_eq!(program.locate_typed(2, 8), None, "what the author did not write");
    assert_eq!(program.locate_typed(1, 3), None, "the head");
    assert_eq!(program.locate_typed(0, 0), None);
    assert_eq!(program.locate_typed(u32::MAX, u32::MAX), None);
}
