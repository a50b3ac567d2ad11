//! The shapes that programs come in, and what their value is.

use super::{body, program};

/// CM-7
#[test]
fn a_body_with_return_and_await_is_left_alone() {
    assert_eq!(body("const a = await f()\nreturn a"), "const a = await f()\nreturn a\n");
    assert_eq!(body("if (x) return 1\ny"), "if (x) return 1\ny\n");
}

/// CM-7
#[test]
fn the_last_expression_is_the_value() {
    assert_eq!(body("const a = 1\na + 1"), "const a = 1\nreturn a + 1\n");
    assert_eq!(body("f();\n({a: 1});"), "f();\nreturn ({a: 1});\n");
    assert_eq!(body("console.log(x)"), "return console.log(x)\n");
    assert_eq!(body("(async () => { return 1 })()"), "return (async () => { return 1 })()\n");
    assert_eq!(body("x\nfunction f() {}\ntype T = 1;"), "return x\nfunction f() {}\n;          \n");
    assert_eq!(body("[1].map((x) => { return x })"), "return [1].map((x) => { return x })\n");
    assert_eq!(body("'use strict'\nread"), "'use strict'\nreturn read\n");
}

/// CM-7
#[test]
fn statements_that_are_no_expression_have_no_value() {
    for text in
        ["const a = 1", "if (a) { b } else { c }", "try { a } catch {}", "{ a; b }", "for (const a of b) a"]
    {
        assert_eq!(body(text), format!("{text}\n"));
    }
}

/// CM-7
#[test]
fn one_function_is_called() {
    assert_eq!(body("async () => { return 1 }"), "return (async () => { return 1 })()\n");
    assert_eq!(body("(async () => 1);"), "return ((async () => 1))();\n");
    assert_eq!(body("(async function () { return 1 })"), "return ((async function () { return 1 }))()\n");
    assert_eq!(body("const h = 1\nasync () => h"), "const h = 1\nreturn (async () => h)()\n");
    assert_eq!(
        body("async function () { return 1 }"),
        "const __default_export=async function () { return 1 }\nreturn __default_export()"
    );
    assert_eq!(
        body("// c\nfunction () { return 1 }"),
        "// c\nconst __default_export=function () { return 1 }\nreturn __default_export()"
    );
}

/// CM-7
#[test]
fn globals_are_given_to_functions_that_expect_them() {
    assert_eq!(body("async (tools) => 1"), "return (async (tools) => 1)(tools)\n");
    assert_eq!(
        body("async ({tools, console: log}) => 1"),
        "return (async ({tools, console: log}) => 1)({tools,console})\n"
    );
    assert_eq!(body("async (input: X) => 1"), "return (async (input   ) => 1)()\n");
}

/// CM-7
#[test]
fn a_lone_main_that_nobody_calls_is_called() {
    let main = "async function main() { return 1 }";
    assert_eq!(body(main), format!("{main}\nreturn main()"));
    assert_eq!(
        body(&format!("const h = 1\n{main}\nfunction g() {{}}")),
        format!("const h = 1\n{main}\nfunction g() {{}}\nreturn main()")
    );
    assert_eq!(body(&format!("{main}\nmain()")), format!("{main}\nreturn main()\n"));
    assert_eq!(body(&format!("{main}\nconst p = main()")), format!("{main}\nconst p = main()\n"));
    assert_eq!(body(&format!("{main}\nconsole.log(1)")), format!("{main}\nreturn console.log(1)\n"));
    assert_eq!(body("const run = async () => 1"), "const run = async () => 1\nreturn run()");
    assert_eq!(
        body("async function solve() { return 1 }"),
        "async function solve() { return 1 }\nreturn solve()"
    );
    assert_eq!(body("function add(a, b) { return a }"), "function add(a, b) { return a }\n");
    assert_eq!(body("const a = 1\nfunction helper() {}"), "const a = 1\nfunction helper() {}\n");
    assert_eq!(body("export async function main() {}"), "       async function main() {}\nreturn main()");
}

/// CM-7
#[test]
fn module_exports_is_the_value() {
    assert_eq!(
        body("module.exports = async () => 1;"),
        "const __default_export=                 async () => 1;\nreturn __default_export()"
    );
    assert_eq!(
        body("function f() {}\nmodule.exports = f"),
        "function f() {}\nconst __default_export=                 f\nreturn __default_export()"
    );
    assert_eq!(body("module.exports.a = 1"), "return module.exports.a = 1\n");
}

/// CM-7
#[test]
fn export_default_is_the_value() {
    assert_eq!(
        body("export default 1 + 1"),
        "const __default_export=               1 + 1\nreturn __default_export"
    );
    assert_eq!(
        body("export default async () => 1;\nconst a = 1"),
        "const __default_export=               async () => 1;\nconst a = 1\nreturn __default_export()"
    );
    assert_eq!(
        body("export default async function main() {}"),
        "               async function main() {}\nreturn main()"
    );
    assert_eq!(
        body("export default function () {}\n(1)"),
        "const __default_export=               function () {};\n(1)\nreturn __default_export()"
    );
    assert_eq!(
        body("async function f() {}\nexport default f"),
        "async function f() {}\nconst __default_export=               f\nreturn __default_export()"
    );
    assert_eq!(body("export default class A {}"), "               class A {}\nreturn A");
    assert_eq!(
        body("const x = 1\nexport { x as default }"),
        "const x = 1\n;                      \nreturn x"
    );
    assert_eq!(body("export = 5"), "const __default_export=         5\nreturn __default_export");
}

/// CM-7
#[test]
fn other_exports_are_erased() {
    assert_eq!(
        body("export const x: number = 1\nexport { x }"),
        "       const x         = 1\n;           \n"
    );
    assert_eq!(
        body("export type A = 1\nexport interface B {}\n5"),
        "       ;         \n                     \nreturn 5\n"
    );
    assert_eq!(body("/* a */ export /* b */ class C {}"), "/* a */        /* b */ class C {}\n");
}

/// CM-7
#[test]
fn types_are_erased_in_place() {
    assert_eq!(
        body("const f = (a: number, b?: 文): string => a as any;\nreturn f!(1)"),
        "const f = (a        , b    )         => a       ;\nreturn f (1)\n"
    );
    assert_eq!(
        body("declare global { var x: 1 }\nlet a = 1 satisfies number"),
        ";                          \nlet a = 1                 \n"
    );
    assert_eq!(body("import type { A } from 'a'\n1"), ";                         \nreturn 1\n");
    assert_eq!(
        program("import type { A } from 'a'\n1").notes(),
        ["left out the import of types from \"a\": there are no modules"]
    );
    assert_eq!(body("using a = f(); await using b = g()"), "using a = f(); await using b = g()\n");
}

/// CM-7
#[test]
fn fences_are_taken_off() {
    let fenced = "```ts\nconst sum = (xs: number[]): number => xs.reduce((a, b) => a + b, 0); return sum([1,2,3])\n```";
    let expected = "     \nconst sum = (xs          )         => xs.reduce((a, b) => a + b, 0); return sum([1,2,3])\n   \n";
    assert_eq!(body(fenced), expected);
    assert!(program(fenced).notes().is_empty());
    assert_eq!(program(fenced).written(), fenced);
    assert_eq!(body("Result:\n```ts\n1\n```"), "       \n     \nreturn 1\n   \n");
    assert_eq!(body("Here you go!\n\n~~~\nread\n~~~\nDone.").trim(), "return read");
    assert_eq!(body("```js\nasync () => 1\n```").trim(), "return (async () => 1)()");
    assert_eq!(body("```ts\nreturn 1").trim(), "return 1");
}

/// CM-32
#[test]
fn blocks_with_prose_are_joined() {
    let text = "First read:\n```ts\nconst a = 1;\n```\nThen:\n```ts\nreturn a;\n```\n";
    assert_eq!(body(text).split_whitespace().collect::<Vec<_>>().join(" "), "const a = 1; return a;");
    assert_eq!(program(text).notes(), ["joined 2 fenced blocks and ignored the prose around them"]);
}

/// CM-7
#[test]
fn a_fence_inside_a_program_is_part_of_it() {
    let text = "/*\n```ts\nfoo\n```\n*/\nconst a = `\n\\`\\`\\`ts\n`;\nreturn a";
    assert_eq!(body(text), format!("{text}\n"));
}

/// CM-7
#[test]
fn an_object_with_code_in_it_is_a_value() {
    assert_eq!(
        body("{ a: await tools.read({}), b: 2 }"),
        "const __default_export={ a: await tools.read({}), b: 2 }\nreturn __default_export"
    );
    assert_eq!(body("{ const a = 1; f(a) }"), "{ const a = 1; f(a) }\n");
}

/// CM-7, L6
#[test]
fn marks_hashbangs_and_line_ends_are_accepted() {
    assert_eq!(body("\u{feff}return 1"), "return 1\n");
    assert_eq!(body("#!/usr/bin/env node\r\nreturn 1\r"), "///usr/bin/env node\r\nreturn 1\r \n");
    assert_eq!(body("let a = '\u{2028}'; debugger"), "let a = '\u{2028}'; debugger\n");
}

/// CM-7, L7
#[test]
fn constructs_that_need_emission_are_emitted() {
    let text = "enum Color { Red, Blue }\nnamespace N { export const a = 1 }\n\
                class P { constructor(private x: number) {} }\nreturn [Color.Red, N.a, new P(1)]";
    let emitted = body(text);
    assert!(
        emitted.contains("Color[Color[\"Red\"] = 0] = \"Red\"") || emitted.contains("Color"),
        "{emitted}"
    );
    assert!(
        !emitted.contains("enum ") && !emitted.contains("namespace ") && emitted.contains("this.x = x"),
        "{emitted}"
    );
    let decorated = body(
        "function log(v: any, c: any) { return v }\nclass A { @log m() { return 1 } }\nreturn new A().m()",
    );
    assert!(!decorated.contains("@log") && decorated.contains("function"), "{decorated}");
    let own = body("const d = (v: any, c: any) => v;\nlet _initClass = 2;\n@d class A {}\nreturn _initClass");
    assert!(own.contains("let _initClass1 = 2;") && own.contains("return _initClass1;"), "{own}");
    assert!(!decorated.contains("import ") && !decorated.contains("require("), "{decorated}");
    assert!(body("let a = <number>b\nexport enum X { A }\na").contains("return a"));
}

/// CM-7
#[test]
fn a_bare_call_at_the_end_is_a_step_and_not_the_value() {
    assert_eq!(body("await tools.read({})"), "await tools.read({})\n");
    assert_eq!(body("tools[\"a-b\"]({})"), "tools[\"a-b\"]({})\n");
    assert_eq!(body("(await tools.read({})).text"), "return (await tools.read({})).text\n");
    assert_eq!(body("const a = await tools.read({}); a"), "const a = await tools.read({}); return a\n");
}

/// CM-32
#[test]
fn one_word_before_a_fence_is_prose() {
    for word in ["Solution", "OK", "console.log", "print"] {
        let text = format!("{word}\n```ts\nreturn 1\n```\n");
        let script = program(&text);
        assert!(
            !script.script().contains(word) && script.script().contains("return 1"),
            "{}",
            script.script()
        );
    }
}
