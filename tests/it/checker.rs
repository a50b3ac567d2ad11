//! The type check of programs (CM-27): what it finds, where, what it lets pass, and what it may use.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use isolane::clock::ManualClock;
use isolane::codemode::check::{
    CheckError, CheckMode, CheckReport, CheckRequest, CheckScope, Finding, Severity, TypeChecker,
};
use isolane::engine::{TypeScriptChecker, TypeScriptOptions};
use isolane::host::{Host, SessionOptions};
use isolane::outcome::RunFailureKind;
use isolane::tool::{Tool, ToolContext, ToolError};

use crate::sdk::checker;
use crate::support::{self, tools};

async fn check(code: &str) -> CheckReport {
    let host = Host::builder().tools(tools()).type_check(checker().clone(), CheckMode::Off).build().unwrap();
    let session = host.session(SessionOptions::new("s")).unwrap();
    session.check(code).await.unwrap()
}

/// `line:column code` of each finding.
async fn places(code: &str) -> Vec<String> {
    let report = check(code).await;
    let place = |at: Option<u32>| at.map_or("-".to_owned(), |at| at.to_string());
    let one = |finding: &isolane::codemode::check::Diagnostic| {
        format!("{}:{} {}", place(finding.line), place(finding.column), finding.code)
    };
    report.diagnostics.iter().map(one).collect()
}

/// CM-27, CM-7
#[tokio::test]
async fn places_are_those_of_the_program_as_written() {
    let wrong = [
        ("return 'a'.lenght", "1:12 TS2551"),
        ("const words = ['a'];\n  words.pusch('b');", "2:9 TS2551"),
        ("const n: number = 1; n.toFixd()", "1:24 TS2551"),
        ("async () => {\n  return 'a'.lenght;\n}", "2:14 TS2551"),
        ("export default async function () {\n  return 'a'.lenght;\n}", "2:14 TS2551"),
        ("export default 'a'.lenght", "1:20 TS2551"),
        ("async function main() {\n  return 'a'.lenght;\n}", "2:14 TS2551"),
        ("Here it is:\n```ts\nreturn 'a'.lenght\n```\n", "3:12 TS2551"),
        ("// 😀 one\nreturn '😀'.lenght", "2:13 TS2551"),
        ("\u{feff}return 'a'.lenght", "1:12 TS2551"),
        ("enum Kind { A }\nreturn Kind.B", "2:13 TS2339"),
        ("return 'a'.lenght\r\n", "1:12 TS2551"),
    ];
    for (code, place) in wrong {
        assert_eq!(places(code).await, [place], "{code}");
    }
    // A function that is called for its author, with arguments that it lacks: it runs.
    let uncalled = "async function main(all: string[]) { return all?.length }";
    assert_eq!(places(uncalled).await, Vec::<String>::new());
    assert_eq!(places("const = 1").await, ["1:7 syntax"]);
}

/// CM-27
#[tokio::test]
async fn names_and_shapes_that_are_wrong_come_with_the_right_ones() {
    let report = check(
        "const { text } = await tools.ecko({});\n\
         await tools.add({ a: 1, bb: 2 });\n\
         await tools.add({ a: '1', b: 2 });\n\
         tools.add({ a: 1, b: 2 }).toFixed();\n",
    )
    .await;
    let lines: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(report.has_errors());
}

/// CM-27
#[tokio::test]
async fn a_missing_await_is_found() {
    let code = "tools.echo({ text: 'a' });\n\
        console.log(tools.echo({ text: 'a' }));\n\
        console.log(`${tools.echo({ text: 'a' })}`);\n\
        const kept = tools.echo({ text: 'a' });\n\
        return [await kept, JSON.stringify(kept)];";
    let report = check(code).await;
    let found: Vec<_> =
        report.diagnostics.iter().map(|finding| (finding.line.unwrap(), finding.severity)).collect();
    assert_eq!(found, [1, 2, 3, 5].map(|line| (line, Severity::Error)));
    // What the program does for itself alone may be left to itself.
    let report = check("async function rest() { await null }\nrest();\nreturn 1").await;
    let found: Vec<_> = report.diagnostics.iter().map(|finding| (finding.line, finding.severity)).collect();
    assert_eq!(found, [(Some(2), Severity::Warning)]);
    assert!(report.diagnostics.iter().all(|finding| finding.code == "unawaited"));
}

/// CM-27: a program cannot turn the check off.
#[tokio::test]
async fn comments_do_not_turn_the_check_off() {
    assert_eq!(places("// @ts-nocheck\nreturn 'a'.lenght").await, ["2:12 TS2551"]);
    assert_eq!(places("// @ts-ignore\nreturn 'a'.lenght").await, ["2:12 TS2551"]);
    assert_eq!(places("// @ts-expect-error\nreturn 'a'.length").await, Vec::<String>::new());
}

/// CM-27: the ways in which an `await` goes missing in loops and lists.
#[tokio::test]
async fn asynchronous_callbacks_that_nobody_awaits_are_found() {
    for (code, place) in [
        ("[1].forEach(async (n) => { await tools.echo({ n }); });", "1:5 unawaited"),
        ("return [1].filter(async (n) => (await tools.echo({ n })) === 1)", "1:12 unawaited"),
        ("console.log([1].map(async (n) => n))", "1:13 unawaited"),
        ("return 'text: ' + tools.echo({})", "1:19 unawaited"),
    ] {
        assert_eq!(places(code).await, [place], "{code}");
    }
}

/// CM-27, CM-7: what a model writes without types, and what runs.
#[tokio::test]
async fn what_runs_all_the_same_is_let_pass() {
    let right = [
        "const double = (x) => x * 2; return double(2)",
        "const o = {}; o.a = 1; return o.a",
        "const out = []; out.push(1); return out",
        "try { throw new Error('x') } catch (e) { return e.message }",
        "function f(a, ...rest) { return rest[a] } return f(0, 1)",
        "const byName = { a: 1 }; const key = 'a'; return byName[key]",
        "const all = {}; for (const k of ['a']) all[k] = 1; return all",
        "namespace N { export const a = 1 } return N.a",
        "return await Promise.all([tools.echo({ text: 'a' })])",
        "await new Promise((resolve) => setTimeout(resolve, 1))",
        "main(); async function main() { return 1 }",
        "const { a, ...rest } = { a: 1, b: 2 }; return rest",
        "class A { #n = 1; get n() { return this.#n } } return new A().n",
        "return [3, 1].toSorted().at(-1) ?? [...new Set([1])].length",
        "return Object.groupBy([1], (n) => n % 2 ? 'odd' : 'even').odd?.length",
    ];
    for code in right {
        assert_eq!(check(code).await, CheckReport::default(), "{code}");
    }
}

/// CM-27, CM-7: what TypeScript doubts and JavaScript does is remarked upon, and runs.
#[tokio::test]
async fn plain_javascript_has_no_errors() {
    let doubted = [
        "class A { constructor() { this.n = 0 } get() { return this.n } } return new A().get()",
        "const r = { total: 0 }; r.average = 5; return r",
        "function fmt(a, b) { return b ? a + b : a } return fmt(1)",
        "const all = { names: [] }; all.names.push('a'); return all",
        "const cached = { value: null }; cached.value = 5; return cached",
        "return new Date(2) - new Date(1)",
        "await new Promise(resolve => resolve())",
        "const counts = {}; counts['a'] = 1; return Object.entries(counts).sort((a, b) => b[1] - a[1])",
        "const groups = {}; for (const p of ['a.b']) groups[p.split('.').pop()] = 1; return groups",
        "const xs = [{ n: 1 }]; return xs.find((x) => x.n === 1).n",
        "return 'x'.match(/x/)[0]",
        "const err = new Error('x'); err.code = 'E'; return err.code",
        "function P() { this.x = 1 } return typeof P",
    ];
    for code in doubted {
        let report = check(code).await;
        assert!(!report.has_errors(), "{code}: {report:?}");
    }
}

/// CM-27: a member that a result does not declare may not be there; whoever expects that is not refused.
#[tokio::test]
async fn members_that_are_not_declared_are_remarked_upon() {
    let code = "const found = await tools.found({});\nconst { pathz } = found;\nreturn [found.path, found.pth, pathz]";
    let open = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let found = |_args: serde_json::Value, _context: ToolContext| async {
        Ok::<_, ToolError>(serde_json::json!({"path": "a"}))
    };
    let tool = Tool::builder("found").output(open).handler(found).unwrap();
    let host = Host::builder().tools([tool]).type_check(checker().clone(), CheckMode::Off).build().unwrap();
    let report = host.session(SessionOptions::new("s")).unwrap().check(code).await.unwrap();
    let lines: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "2:9 undeclared no member \"pathz\" is declared, so it may be anything or nothing; declared are path; did you \
             mean 'path'?",
            "3:27 undeclared no member \"pth\" is declared, so it may be anything or nothing; declared are path; did you \
             mean 'path'?",
        ]
    );
    assert_eq!(report.errors, 2);
    let guarded = host.session(SessionOptions::new("t")).unwrap();
    let guarded = guarded.check("const found = await tools.found({});\nreturn found.pth ?? 1").await.unwrap();
    assert_eq!((guarded.found, guarded.errors), (1, 0));
}

/// CM-27: no number of remarks hides an error.
#[tokio::test]
async fn an_error_behind_many_remarks_counts() {
    let code = format!("async function f() {{}}\n{}return 'a'.lenght", "f();\n".repeat(70));
    let report = check(&code).await;
    assert_eq!((report.diagnostics.len(), report.found, report.errors), (50, 71, 1));
    assert!(report.diagnostics.iter().any(|finding| finding.code == "TS2551"));
}

/// CM-27, CM-9: the compiler knows the globals of a program, and no other.
#[tokio::test]
async fn the_compiler_knows_what_a_program_has() {
    let host = support::Host::new();
    let outcome = host.run("return Object.getOwnPropertyNames(globalThis)").await;
    let names: Vec<String> = serde_json::from_value(outcome.result.unwrap().unwrap()).unwrap();
    assert!(names.len() > 60, "{names:?}");
    let every = format!("void [{}];", names.join(", "));
    assert_eq!(places(&every).await, Vec::<String>::new());
    for name in [
        "Atomics",
        "Buffer",
        "Deno",
        "Event",
        "SharedArrayBuffer",
        "Temporal",
        "WebAssembly",
        "document",
        "fetch",
        "global",
        "process",
        "require",
        "self",
        "window",
    ] {
        assert!(!names.contains(&name.to_owned()), "{name}");
        assert_eq!(check(&format!("void {name};")).await.diagnostics.len(), 1, "{name}");
    }
}

/// CM-27: with `enforce` a program with a type error has no side effects; with `warn` it runs, and the model is told.
#[tokio::test]
async fn a_program_with_a_type_error_runs_or_not_as_the_mode_says() {
    let code = "await tools.echo({ text: 'a' });\nreturn 'a'.lenght ?? null";
    let enforced = support::Host::checked(checker().clone(), CheckMode::Enforce);
    let outcome = enforced.run(code).await;
    let failure = outcome.result.unwrap_err();
    assert_eq!((failure.kind, failure.line, failure.column), (RunFailureKind::Type, Some(2), Some(12)));
    assert_eq!(
        failure.message,
        "TS2551 Property 'lenght' does not exist on type '\"a\"'. Did you mean 'length'?; the program did not run, so \
         nothing was done"
    );
    assert_eq!(outcome.sub_calls, []);
    let warned = support::Host::checked(checker().clone(), CheckMode::Warn);
    let outcome = warned.run(code).await;
    assert_eq!(outcome.result.unwrap(), Some(serde_json::Value::Null));
    assert_eq!(
        outcome.notes,
        ["type check: 2:12 TS2551 Property 'lenght' does not exist on type '\"a\"'. Did you mean 'length'?"]
    );
    // A warning stops nothing.
    assert!(enforced.run("const f = async () => 1; f(); return 1").await.result.is_ok());
}

fn request(program: impl Into<String>) -> CheckRequest {
    CheckRequest { declarations: "".into(), program: program.into(), scope: CheckScope::Program }
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

/// CM-27, M11: the compiler is stopped by its limit, and the next check has a new one.
#[tokio::test]
async fn a_check_that_takes_too_long_is_stopped() {
    let clock = Arc::new(ManualClock::new());
    let limit = Duration::from_secs(3);
    let options = TypeScriptOptions { limit, clock: Arc::clone(&clock) as _, ..TypeScriptOptions::default() };
    let checker = TypeScriptChecker::new(options);
    // All orders of eight things, compared with all orders of eight others.
    let endless = "type Orders<T, K = T> = [T] extends [never] ? [] : K extends K ? [K, ...Orders<Exclude<T, K>>] : never;\n\
        const p: Orders<0|1|2|3|4|5|6|7> = null as any; const q: Orders<1|2|3|4|5|6|7|8> = p;";
    // The compiler is there already, so that it works when it is stopped.
    checker.check(request("")).await.unwrap();
    let check = checker.check(request(endless));
    let advance = async {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(limit);
    };
    let (found, ()) = tokio::join!(check, advance);
    assert_eq!(found, Err(CheckError::TimedOut { limit }));
    let next = checker.check(request("'a'.lenght")).await.unwrap();
    assert_eq!(codes(&next.diagnostics), ["TS2551"]);
}

/// CM-27, M12
#[tokio::test]
async fn a_check_that_needs_too_much_memory_is_stopped() {
    let heap_bytes = 64 * 1024 * 1024;
    let checker = TypeScriptChecker::new(TypeScriptOptions { heap_bytes, ..TypeScriptOptions::default() });
    let mut large = String::new();
    for n in 0..60_000 {
        writeln!(large, "const a{n} = {{ b{n}: [{n}, '{n}'] }};").unwrap();
    }
    assert_eq!(checker.check(request(large)).await, Err(CheckError::Heap { limit: heap_bytes }));
    let next = checker.check(request("'a'.lenght")).await.unwrap();
    assert_eq!(codes(&next.diagnostics), ["TS2551"]);
}

/// CM-27, M10: what the compiler's own recursion cannot take is no crash, and no error of the program.
#[tokio::test]
async fn a_text_that_is_nested_too_deeply_is_remarked_upon() {
    let deep = format!("const a = {}1{};", "[".repeat(20_000), "]".repeat(20_000));
    let found = checker().check(request(deep)).await.unwrap();
    assert_eq!((codes(&found.diagnostics), found.errors), (vec!["unchecked"], 0));
    let next = checker().check(request("'a'.lenght")).await.unwrap();
    assert_eq!(codes(&next.diagnostics), ["TS2551"]);
}

/// CM-27: what a program has of half characters, and what a cut leaves of one, loses no finding.
#[tokio::test]
async fn half_characters_in_a_message_lose_nothing() {
    let literal = |before: &str| format!("const s = '{before}{}'; s.lenght;", "\u{1f600}".repeat(3000));
    let (even, odd) = (literal(""), literal("x"));
    for code in [r#"const a: "\ud83d" = "b";"#, r#"const o: { "\udc00": 1 } = {};"#, &even, &odd] {
        let found = checker().check(request(code)).await.unwrap();
        assert_eq!(found.errors, 1, "{code}");
    }
}

/// CM-27: the findings of one check are not those of another.
#[tokio::test]
async fn checks_know_nothing_of_each_other() {
    let first = checker()
        .check(request("export {}; declare global { interface Shared { a: 1 } var shared: Shared }"))
        .await
        .unwrap();
    assert_eq!(first.diagnostics, []);
    let second = checker().check(request("const x: Shared = shared;")).await.unwrap();
    assert_eq!(codes(&second.diagnostics), ["TS2304", "TS2304"]);
}
