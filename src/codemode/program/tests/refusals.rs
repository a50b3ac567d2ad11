//! What is refused, and the line that the model reads.

use std::fmt::Write as _;

use super::{HINTS, program, refused};
use crate::codemode::program::ProgramErrorKind::{Import, NotAProgram, Syntax, TooDeep, TooLarge};
use crate::codemode::program::{ArgumentNames, ProgramLimits, ToolHints, prepare};

/// CM-7
#[test]
fn a_syntax_error_is_readable() {
    let error = refused("const a = ;");
    assert_eq!(error.message, "Expression expected");
    assert_eq!(error.frame.as_deref(), Some("   1 | const a = ;\n     |           ^"));
}

/// CM-8
#[test]
fn imports_are_refused_with_what_exists_instead() {
    let cases = [
        "import fs from \"node:fs\"\nfs.x()",
        "import { exec } from 'child_process'",
        "const x = await import('axios')",
        "import x = require('crypto')",
        "import A = B.C",
        "export { a } from './a'",
        "export * from 'a'",
        "return import.meta.url",
        "return import(name)",
        "import 'write'",
    ];
    let mut all = String::new();
    for case in cases {
        let error = refused(case);
        assert_eq!(error.kind, Import, "{case}");
        let place = error.position.map(|place| (place.line, place.column));
        writeln!(all, "{error} @ {place:?}").unwrap();
    }
    insta::assert_snapshot!("imports", all);
}

/// CM-32
#[test]
fn texts_that_are_no_program_are_recognised() {
    let cases = [
        "ls -la",
        "ls",
        "cat foo.txt | grep x",
        "cd x && make",
        "npm install",
        "$ ls",
        "curl https://a.b/c",
        "make",
        "```bash\nls -la\n```",
        "#!/bin/bash\necho hi",
        "FOO=1 ./run.sh a",
        "git status",
        "ls | wc",
        "import os\nprint(os.getcwd())",
        "def f(x):\n    return x",
        "for x in range(3):\n    print(x)",
        "```python\nx = 1\n```",
        "from a import b",
        "{\"file_path\": \"a.txt\"}",
        "{\"code\": \"return 1\"}",
        "{\"tool\": \"write\", \"arguments\": {}}",
        "{ file_path: 'a.txt', n: -1 }",
        "{}",
        "```json\n{\"a\": 1}\n```",
        "I will now read the file and tell you what is in it.",
        "# Plan\nRead the file, then sum it.",
        "1. Read the file\n2. Sum it",
        "```md\n# Plan\n```",
        "with open(\"a.txt\") as f:\n    data = f.read()",
        "name = \"x\"\nprint(f\"hello {name}\")",
        "for x in range(3): print(x)",
        "xs = [x for x in range(3)]",
        "",
        "  \n",
        "// only a comment",
        "```ts\n```",
        "*** Begin Patch\n*** Update File: a\n*** End Patch",
    ];
    let mut all = String::new();
    for case in cases {
        let error = refused(case);
        assert_eq!(error.kind, NotAProgram, "{case}: {error}");
        assert!(!error.message.contains('\n'));
        writeln!(all, "{case:?}\n  {error}").unwrap();
    }
    insta::assert_snapshot!("no_programs", all);
}

/// CM-32
#[test]
fn no_tool_is_invented() {
    let error = prepare("ls -la", &ProgramLimits::default(), &ToolHints::default()).unwrap_err();
    assert_eq!(
        error.message,
        "this is a shell command; programs are TypeScript, and no visible tool runs commands"
    );
}

/// CM-32
#[test]
fn arguments_name_the_tool_that_they_fit() {
    let arguments =
        [&["file_path", "content"][..], &["file_path"], &["command"]].map(|required| ArgumentNames {
            required: required.iter().map(|name| (*name).to_owned()).collect(),
            optional: Vec::new(),
        });
    let hints = ToolHints { names: &["write", "read", "exec_command"], arguments: &arguments };
    for (text, tool) in [
        ("{\"file_path\": \"a.txt\"}", "tools.read"),
        ("{ command: 'ls' }", "tools.exec_command"),
        ("```json\n{\"content\": \"x\", \"file_path\": \"a.txt\"}\n```", "tools.write"),
        ("{\"tool_uses\": [{\"recipient_name\": \"functions.read\", \"parameters\": {}}]}", "tools.read"),
        ("{\"colour\": 1}", "tools.<name>"),
        ("{}", "tools.<name>"),
    ] {
        let error = prepare(text, &ProgramLimits::default(), &hints).unwrap_err();
        assert!(error.message.ends_with(&format!("`return await {tool}({{...}})`")), "{text}: {error}");
    }
    let error =
        prepare("{\"a\": 1}", &ProgramLimits::default(), &ToolHints { names: &["my-tool"], arguments: &[] });
    assert!(error.unwrap_err().message.contains("tools[\"my-tool\"]"));
}

/// CM-32
#[test]
fn sensible_programs_that_look_like_something_else_run() {
    for text in [
        "print(\"x\")",
        "find(x => x)",
        "const ls = 1\nls - 1",
        "read",
        "x",
        "[1, 2]",
        "\"text\"",
        "5",
        "sort(a)\ncut(b)",
        "test: for (;;) break test",
        "date.getTime()",
        "{ file }",
        "head - 1 + n",
        "echo`x`",
        "sort.x / 2",
        "hello",
        "Result: 5",
        "/* a */ // b\n1",
        "if (x): 1".trim_end_matches(": 1").trim_end_matches(')').trim_end_matches("if (x"),
    ] {
        if !text.is_empty() {
            program(text);
        }
    }
}

/// CM-7
#[test]
fn broken_programs_are_not_taken_for_something_else() {
    for text in [
        "const find = (x => ",
        "find (x => ",
        "make = ;",
        "test(1",
        "const a = {\n  b: 1\n",
        "for (const x of y) {",
        "let class = 1",
        "date. = 1",
        "return tools.read({ file_path: 'a' ",
        "class A { x: }",
        "if (a) {\n} else:\n".trim_end_matches(":\n"),
        "const x = 'The file is here",
    ] {
        let error = refused(text);
        assert_eq!(error.kind, Syntax, "{text}: {error}");
        assert!(error.position.is_some() && error.frame.is_some());
    }
}

/// CM-7, CM-23
#[test]
fn what_the_parser_panics_over_is_a_syntax_error() {
    // All but the last only in builds with assertions.
    for text in [
        "a ? (b, ca: d => e",
        "enum A { B implements \nreturn A.case a:",
        "a!.b! = c as D satisfies import(",
        "import a = void equire('b')",
        "enum A {[ B }\nre<T>turnnew  A1n.B",
        "function f(th c as: A, ...b: C[]): assert// c\n b is D {}",
        "a = <T>(y) => <T>await w = <T>v",
    ] {
        let error = refused(text);
        assert_eq!(error.kind, Syntax, "{text}: {error}");
        assert!(error.position.is_some() && error.frame.is_some(), "{text}");
    }
    let error = refused("let a = 1;\na = <T>(y) => <T>await w = <T>v");
    assert_eq!(
        error.message,
        "The left-hand side of an assignment expression must be a variable or a property access."
    );
    assert_eq!(error.position.map(|place| (place.line, place.column)), Some((2, 18)));
    for text in ["(a as T) = 1", "(<T>a.b) = 1", "(a!) = 1", "[a!, (b as T)] = c", "((a as T) as U) += 1"] {
        program(text);
    }
}

/// CM-32
#[test]
fn programs_that_were_garbled_on_the_way_are_told_how() {
    let mut all = String::new();
    for text in [
        "const a = “hello”;",
        "console.log(‘hi’)",
        "const f = (x) =&gt; x + 1;",
        "if (a &lt; 1 &amp;&amp; b) c()",
        "<code>\nreturn 1\n</code>",
        "<tool_code>\nconst a = ;\n</tool_code>",
        "```sql\nselect * from t\n```",
        "await tools.read(file_path=\"a.txt\", limit=1)",
        r#""const a = await tools.read({file_path: 'a'});\nreturn a""#,
        "`return 1`",
    ] {
        let error = refused(text);
        let place = error.position.map(|place| (place.line, place.column));
        writeln!(all, "{text:?}\n  {error} {place:?}").unwrap();
    }
    insta::assert_snapshot!("garbled", all);
    for (text, message) in [
        ("if (a < 2 and b) c()", "`and` is Python: write `&&`"),
        ("const a = b or c", "`or` is Python: write `||`"),
        ("if (not a) b()", "`not` is Python: write `!`"),
        ("return a is null", "`is` is Python: write `===`"),
        ("/* 😀 */ if (a and b) c()", "`and` is Python: write `&&`"),
    ] {
        assert_eq!(refused(text).message, message, "{text}");
    }
    program("let a; tools.read(a = {b: 1})");
    assert_eq!(refused("const a = \"&gt;\" +").message, "Expression expected");
}

/// CM-32
#[test]
fn an_example_in_a_comment_of_a_broken_program_does_not_run() {
    let error = refused("/*\n```ts\ndanger()\n```\n*/\nconst a = ;");
    assert_eq!((error.kind, error.position.map(|place| place.line)), (Syntax, Some(6)));
}

/// L6, L7
#[test]
fn what_is_not_part_of_the_language_is_a_syntax_error() {
    for text in [
        "with (a) { b }",
        "a = 010",
        "let x = 1\n--> foo",
        "x <!-- y",
        "yield = 1",
        "return new.target",
        "function f() { await 1 }",
        "break",
        "x = # y",
        "class A { #a; b = #a }",
        "class A { static { return 1 } }",
    ] {
        assert_eq!(refused(text).kind, Syntax, "{text}");
    }
    let error = refused("const a = 1;\nreturn <div>hi</div>");
    assert_eq!(error.message, "JSX is not available in a program; build strings or plain objects");
    assert_eq!(error.position.map(|place| (place.line, place.column)), Some((2, 8)));
}

/// M10, M11
#[test]
fn limits_are_named() {
    let limits = ProgramLimits { max_bytes: 10, max_nesting: 4 };
    let error = prepare("return 1234567", &limits, &HINTS).unwrap_err();
    assert_eq!(error.kind, TooLarge);
    assert_eq!(
        error.message,
        "the program has more than 10 bytes; pass large data through tools, not in the text"
    );
    let limits = ProgramLimits { max_bytes: 100, max_nesting: 4 };
    assert!(prepare("f([{a: (1)}])", &limits, &HINTS).is_ok());
    let error = prepare("x\nf([{a: ((1))}])", &limits, &HINTS).unwrap_err();
    assert_eq!(error.kind, TooDeep);
    assert_eq!(
        error.message,
        "the program is too complex: more than 4 brackets in brackets; split it into steps"
    );
    assert_eq!(error.frame.as_deref(), Some("   2 | f([{a: ((1))}])\n     |         ^"));
}
