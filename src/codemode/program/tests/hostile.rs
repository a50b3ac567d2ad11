//! Texts made to exhaust the parser: each ends in an error or a program, in time.

use super::HINTS;
use super::{program, refused};
use crate::codemode::program::{ProgramLimits, prepare};

/// M10, M11
#[test]
fn a_mebibyte_of_nesting_ends_in_an_error_or_a_program() {
    let units: [(&str, &str, &str); 44] = [
        ("(", "a", ")"),
        ("[", "a", "]"),
        ("{", "a", "}"),
        ("({a:", "1", "})"),
        ("`${", "a", "}`"),
        ("f(", "a", ")"),
        ("!", "a", ""),
        ("-", "a", ""),
        ("- ", "a", ""),
        ("~", "a", ""),
        ("await ", "a", ""),
        ("typeof ", "a", ""),
        ("new ", "a", ""),
        ("a=>", "a", ""),
        ("(a)=>", "a", ""),
        ("async a=>", "a", ""),
        ("x?y:", "a", ""),
        ("a?(b):", "c", ""),
        ("a?(b,c):d=>", "e", ""),
        ("a?(b):c=>{", "e", "}"),
        ("if(a)", "b", ""),
        ("if(a);else ", "b", ""),
        ("for(;;)", "b", ""),
        ("while(a)", "b", ""),
        ("do ", "b", ""),
        ("a:", "b", ""),
        ("a=", "b", ""),
        ("", "a", "+a"),
        ("", "a", ".b"),
        ("", "a", "()"),
        ("", "a", "[0]"),
        ("", "a", "``"),
        ("", "a", "!"),
        ("", "a", " as b"),
        ("", "a", "?.b"),
        ("", "a", ","),
        ("<T>", "a", ""),
        ("<T>(", "a", ")"),
        ("a<", "b", ""),
        ("A<", "B", ">"),
        ("class extends ", "a", "{}"),
        ("function f(){", "a", "}"),
        ("@a ", "class A {}", ""),
        ("}\n/[/", "a", "/"),
    ];
    for (open, middle, close) in units {
        for prefix in ["", "type X = ", "let x: "] {
            let size = if prefix.is_empty() { 1_000_000 } else { 100_000 };
            let count = (size - 64) / (open.len() + close.len());
            let text = [prefix, &open.repeat(count), middle, &close.repeat(count)].concat();
            let _ = prepare(&text, &ProgramLimits::default(), &HINTS);
        }
    }
}

/// M10, M11
#[test]
fn a_mebibyte_of_types_ends_in_an_error_or_a_program() {
    for (open, close) in [
        ("keyof ", ""),
        ("A extends B ? C : ", ""),
        ("[", "]"),
        ("", "[]"),
        ("(a: ", ") => b"),
        ("{a: ", "}"),
        ("A<", ">"),
        ("A|", ""),
        ("", ".b"),
        ("() => ", ""),
        ("readonly ", ""),
        ("A extends infer B extends ", ""),
        ("typeof ", ""),
        ("`${", "}`"),
        ("<T>() => ", ""),
        ("new () => ", ""),
        ("unique ", ""),
        ("", "[0]"),
    ] {
        let count = (1_000_000 - 64) / (open.len() + close.len());
        let text = ["type X = ", &open.repeat(count), "A", &close.repeat(count), ";"].concat();
        let _ = prepare(&text, &ProgramLimits::default(), &HINTS);
    }
}

/// M11
#[test]
fn long_tokens_and_lists_are_linear() {
    for text in [
        format!("return {}n", "9".repeat(1_000_000)),
        format!("return {}", "9".repeat(1_000_000)),
        format!("return '{}'", "\\n".repeat(500_000)),
        format!("return `{}`", "é".repeat(500_000)),
        format!("// {}", "x".repeat(1_000_000)),
        format!("/* {}", "*".repeat(1_000_000)),
        format!("return [{}]", "1,".repeat(100_000)),
        "let a;".repeat(40_000),
        "a\n".repeat(100_000),
        "f(1)\n".repeat(40_000),
        format!("return /{}/", "a".repeat(1_000_000)),
        format!("enum A {{ {} }}", "a,".repeat(20_000)),
        format!("enum A {{ a }} {}", "let x: number = f(1);".repeat(10_000)),
        format!("enum A {{ a }} return [{}]", "a,".repeat(80_000)),
        "export const a = 1;".repeat(15_000),
        "```ts\na\n```\n".repeat(20_000),
        "\u{7}".repeat(1_000_000),
    ] {
        let _ = prepare(&text, &ProgramLimits::default(), &HINTS);
    }
}

/// M10
#[test]
fn chains_just_below_the_limit_run_on_a_small_stack() {
    let texts: Vec<String> = [
        ("!", "a", ""),
        ("a=>", "a", ""),
        ("x?y:", "a", ""),
        ("if(a)", "b", ""),
        ("if(a);else ", "b", ""),
        ("", "a", "+a"),
        ("", "a", ".b"),
        ("", "a", "()"),
        ("", "a", "``"),
        ("", "a", " as b"),
        ("await ", "a", ""),
        ("a=", "b", ""),
        ("do ", "b", ";while(1)"),
    ]
    .into_iter()
    .flat_map(|(open, middle, close)| {
        let text = [&open.repeat(1300), middle, &close.repeat(1300)].concat();
        [text.clone(), format!("enum A {{}}\n{text}")]
    })
    .chain(
        [
            ("(", ")"),
            ("[", "]"),
            ("f(async () => {", "})"),
            ("class A { p = ", "}"),
            ("`${", "}`"),
            ("({a:", "})"),
        ]
        .into_iter()
        .flat_map(|(open, close)| {
            let count = 250 / open.matches(['(', '[', '{']).count().max(1) - 1;
            let text = [&open.repeat(count), "1", &close.repeat(count)].concat();
            [text.clone(), format!("enum A {{}}\n{text}")]
        }),
    )
    .collect();
    let work = move || {
        for text in &texts {
            if let Err(error) = prepare(text, &ProgramLimits::default(), &HINTS) {
                assert!(text.starts_with("class") || text.contains("\nclass"), "{error:?} {}", &text[..20]);
            }
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(work).unwrap().join().unwrap();
}

/// M11: `<` makes the parser read ahead, again and again where it stands in brackets or in another.
#[test]
fn reading_ahead_is_bounded_over_all_brackets() {
    let texts = [
        format!("return {}c{}", format!("(a{},", "<b".repeat(8)).repeat(250), ")".repeat(250)),
        format!("return {}c{}", "(a<b,".repeat(250), ")".repeat(250)),
        format!("{}return 1", format!("(a{};)", "<b".repeat(60)).repeat(2_000)),
        format!("return {}1", format!("a{} + ", "<b".repeat(60)).repeat(200)),
        format!("a<[{}", "b<[".repeat(400)),
        format!("a<{}", "{b: c<".repeat(400)),
        format!("a<b,{}", "'x',".repeat(200_000)),
    ];
    for text in texts {
        // A program or an error, in time.
        let _ = prepare(&text, &ProgramLimits::default(), &HINTS);
    }
    let usual = "if (a < b && (c < d || (e < f && g(() => { for (let i = 0; i < n; i++) h(i < 3 ? 1 : 2) }))) ) k();\n";
    program(&usual.repeat(5_000));
    program(&"type T = Map<string, Array<Set<Promise<Record<string, number>>>>>;\n".repeat(10_000));
}

/// M11: emission takes time in proportion to the text, also where it has to tell its own names from the program's.
#[test]
fn large_programs_are_emitted_in_time() {
    let many: Vec<_> =
        (0..5_000).map(|n| format!("function f{n}(a: number) {{ return a + {n} }}\n")).collect();
    let many = many.concat();
    let emitted = program(&format!("{many}enum E {{ A, B = A + 1 }}\nreturn E.B"));
    assert!(emitted.script().contains("f4999"));
    let error = refused(&format!("{many}let _dec = 1; @d class A {{}} return _dec"));
    assert_eq!(
        error.message,
        "a program with decorators can have 128 KiB; write a function call in place of each"
    );
}
