//! The measured depth is an upper bound of the depth of the syntax tree.

use proptest::prelude::*;
use swc_ecma_ast::{Decl, Expr, Module, Pat, Stmt, TsType};
use swc_ecma_visit::{Visit, VisitWith};

use super::super::parse::parse;
use super::super::stack::with_room;
use super::{Depth, MAX_CHAIN, Stop, measure};

fn depth(text: &str) -> Depth {
    measure(text, 256).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// Counts nodes within nodes.
#[derive(Default)]
struct Levels {
    now: usize,
    most: usize,
}

macro_rules! level {
    ($($visit:ident: $node:ty),*) => {$(
        fn $visit(&mut self, node: &$node) {
            self.now += 1;
            self.most = self.most.max(self.now);
            node.visit_children_with(self);
            self.now -= 1;
        }
    )*};
}

impl Visit for Levels {
    level!(visit_expr: Expr, visit_stmt: Stmt, visit_decl: Decl, visit_pat: Pat, visit_ts_type: TsType);
}

fn tree_depth(module: &Module) -> usize {
    let mut levels = Levels::default();
    module.visit_with(&mut levels);
    levels.most
}

/// M10
#[test]
fn brackets_in_text_are_not_brackets() {
    for text in ["'((('", "\"\\\"(((\"", "// (((\n", "/* ((( */", "`(((`", "a = /[(]((\\//g", "return /(((/"]
    {
        assert_eq!(depth(text).brackets, 0, "{text}");
        assert!(depth(text).exact, "{text}");
    }
    assert_eq!(depth("`${[`${(1)}`]}`").brackets, 4);
    assert_eq!(depth("(a) / 2 // (\n").brackets, 1);
    assert_eq!(depth("if (a) /[(]/.test(b)").brackets, 1);
    assert!(matches!(measure("((((", 3), Err(Stop::TooMuch { offset: 3, limit: 3, .. })));
}

/// M10
#[test]
fn what_cannot_be_told_is_said() {
    for text in ["{}\n/[(]/.test(b)", "{}\n/(/", "a\n/ 'x / 2", "a > /'/", "\\u0061", "a++ /(/"] {
        assert!(!depth(text).exact, "{text}");
    }
    for text in
        ["a / b / c", "a\n/ b / c", "{}\n/b/.test(c)", "a! / (b) / '/'", "a > b / 2", "(a)\n/ 2", "of / 2"]
    {
        assert!(depth(text).exact, "{text}");
    }
}

/// M10
#[test]
fn statements_and_lists_do_not_add_up() {
    for text in [
        "a.b(c);\n".repeat(9000),
        "a.b(c)\n".repeat(9000),
        "if (a) { b() }\n".repeat(9000),
        "const a = b.c\n".repeat(9000),
        "x = {a: 1, b: [2]}\n".repeat(9000),
        format!("x = [{}]", "{a: 1, b: -2},".repeat(9000)),
        "type A<T> = Map<T, A>;\nlet x: A<B> = new Map<A, B>();\n".repeat(2000),
        "interface A { a: string\n b: number }\n".repeat(2000),
        "for (let i = 0; i < n; i++) a[i] = i;\n".repeat(2000),
    ] {
        let found = depth(&text);
        assert!(found.chain < 40, "{found:?} {}", text.get(..20).unwrap_or_default());
    }
}

/// M10
#[test]
fn chains_are_limited() {
    let text = format!("x\na{}", "+a".repeat(MAX_CHAIN + 1));
    assert!(matches!(measure(&text, 256), Err(Stop::TooMuch { what: "operators in a row", .. })));
    let text = "<T>(".repeat(30);
    assert!(matches!(measure(&text, 256), Err(Stop::TooMuch { .. })));
    assert_eq!(measure("a <!-- b", 256), Err(Stop::HtmlComment { offset: 2 }));
    assert_eq!(measure("a\n --> b", 256), Err(Stop::HtmlComment { offset: 3 }));
    assert!(measure("while (n --> 0) '<!--'", 256).is_ok());
}

/// M10
#[test]
fn comparisons_are_not_nested() {
    for text in [
        format!("if ({}) f()", ["a < 1"; 500].join(" && ")),
        format!("x = {}0", "a < 1 ? 2 : ".repeat(500)),
        format!("x = [{}]", "a < 1, ".repeat(500)),
        format!("f({})", ["a.b < c[0] || d"; 500].join(", ")),
        format!("x = {{{}}}", "a: b < 1, ".repeat(500)),
        format!("const {}", (0..500).map(|n| format!("a{n} = b < {n}")).collect::<Vec<_>>().join(", ")),
        "x = a < b;\n".repeat(500),
        format!("x = {}1", "a < b == c + ".repeat(500)),
        format!("x = {}1", "a << b | ".repeat(64)),
    ] {
        let found = depth(&text);
        assert!(found.exact);
        let parsed = with_room(found, text.len(), || parse(&text).is_ok());
        assert_eq!(parsed, Some(true), "{}", &text[..30]);
    }
    // These are: each `<` may begin the arguments of the one before.
    assert!(measure(&format!("x = {}1", "a<".repeat(64)), 256).is_ok());
    let many =
        |text: &str| matches!(measure(text, 256), Err(Stop::TooMuch { what, .. }) if what.starts_with("`<`"));
    assert!(many(&format!("x = {}1", "a<".repeat(1_000))));
    assert!(many(&format!("x = {}1 /*{}*/ ;", "a<".repeat(10), "*".repeat(1 << 20))));
    // So are those in brackets, and those that something else has closed.
    assert!(many(&format!("x = {}", "(a<b,".repeat(250))));
    assert!(many(&"x = f<[(a<b,(a<b,(a<b,(a<b,(a<b,1)))))]>(1);".repeat(10_000)));
}

const UNITS: [&str; 82] = [
    "a",
    "b ",
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
    "?.",
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
    "async ",
    "await ",
    "function ",
    "function f(){",
    "return ",
    "x",
    "()",
    "[0]",
    "type A=",
    "let x:",
    "class A ",
    "class{",
    "p=",
    "extends ",
    "if(a)",
    "else ",
    "for(;;)",
    "of ",
    " as ",
    "keyof ",
    "abstract ",
    "@d ",
    "case a:",
    "do ",
    "while(a)",
    "a:",
    "new ",
    "typeof ",
    "in ",
    "infer ",
    "is ",
    "??",
    "**",
    "++",
    "(a)=>",
    "a=>",
    "<T>",
    "try{",
    "}catch{",
    "switch(a){",
    "{}",
    "[]",
    "...",
    "{a:",
    "from ",
    "\n\n",
    "a<",
    "a<b,",
    "&&a<",
    "?a<b:",
    "=a<",
    "<T=",
    " extends a<",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// M10
    #[test]
    fn the_tree_is_never_deeper_than_measured(
        head in prop::sample::select(vec!["", "x=", "type X=", "let x:", "class A{p="]),
        unit in prop::collection::vec(prop::sample::select(UNITS.to_vec()), 1..6),
        tail in prop::collection::vec(prop::sample::select(UNITS.to_vec()), 0..4),
        count in 1..7_usize,
    ) {
        let unit = unit.concat();
        let close: String = unit.chars().rev().filter_map(|c| match c { '(' => Some(')'), '[' => Some(']'), '{' => Some('}'), _ => None }).collect();
        for text in [
            [head, &unit.repeat(count), &tail.concat()].concat(),
            [head, &unit.repeat(count), "a", &close.repeat(count)].concat(),
        ] {
            let Ok(found) = measure(&text, 256) else { continue };
            // Some texts break assertions inside the parser, in debug builds; `attempt` catches them too.
            let parsed = std::panic::catch_unwind(|| parse(&text));
            if let (true, Ok(Ok(module))) = (found.exact, parsed) {
                let levels = tree_depth(&module);
                prop_assert!(levels <= 3 * (found.brackets + found.chain) + 6, "{levels} {found:?}\n{text}");
            }
        }
    }
}
