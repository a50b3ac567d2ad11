//! What the type check says of programs against the file tools (CM-27): severities, places, and a word of each message.
//!
//! Owns the tables alone. No program of them runs.

use std::fmt::Write as _;

use isolane::builtin::files::{FileToolOptions, Root, file_tools};
use isolane::codemode::check::{CheckMode, CheckReport, Severity};
use isolane::host::{Host, Session, SessionOptions};

use crate::sdk::checker;

fn session() -> Session {
    let root = Root::open(std::env::temp_dir().as_path()).unwrap();
    let tools = file_tools(root, FileToolOptions::default()).unwrap();
    let host = Host::builder().tools(tools).type_check(checker().clone(), CheckMode::Off).build().unwrap();
    host.session(SessionOptions::new("s")).unwrap()
}

/// `E 2:8 TS2339` of each finding, `W` for a warning.
fn places(report: &CheckReport) -> Vec<String> {
    let one = |finding: &isolane::codemode::check::Diagnostic| {
        let severity = if finding.severity == Severity::Error { 'E' } else { 'W' };
        let place = finding
            .line
            .zip(finding.column)
            .map_or("-".to_owned(), |(line, column)| format!("{line}:{column}"));
        format!("{severity} {place} {}", finding.code)
    };
    report.diagnostics.iter().map(one).collect()
}

/// A program, the place of each finding, and what the messages and hints say among others.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

async fn hold(rows: &[Row]) {
    let session = session();
    let mut wrong = String::new();
    for (code, expected, words) in rows {
        let report = session.check(code).await.unwrap();
        let said: Vec<String> = report.diagnostics.iter().map(ToString::to_string).collect();
        let said = said.join("\n");
        let lacks = words.iter().any(|word| !said.contains(word));
        if places(&report) != *expected || lacks {
            writeln!(wrong, "{code}\n  is {:?}, not {expected:?}; {words:?}\n{said}\n", places(&report))
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// CM-27, CM-7: what runs well has no error, so that `enforce` lets it run: values that may be absent, arguments in a
/// variable, the habits of plain JavaScript, what the session keeps.
#[tokio::test]
async fn what_runs_well_has_no_errors() {
    let session = session();
    let right = [
        // Absent values, passed on, spread, destructured.
        "const { paths } = await tools.glob({ pattern: '*' });\n\
         return (await tools.read({ file_path: paths.find((p) => p.endsWith('.py')) })).total_lines",
        "const kb = (n: number) => n / 1024;\nreturn (await tools.list({})).entries.map((e) => kb(e.size))",
        "const m = new Map<string, string[]>();\nreturn [...m.get('a'), JSON.parse(m.get('b')[0])]",
        "const [, major] = 'v1.2'.match(/v(\\d+)/);\nconst { groups } = 'a'.match(/(?<x>a)/);\nreturn [major, groups.x]",
        "const { major } = 'v1'.match(/v(?<major>\\d)/).groups;\nreturn major",
        "const sizes: number[] = (await tools.list({})).entries.map((e) => e.size);\nreturn sizes",
        "const ys: string[] = ['a', null].filter(Boolean);\nreturn ys",
        "const queue = ['a'];\nwhile (queue.length) await tools.read({ file_path: queue.shift() });",
        "return Object.keys(new Map([['a', { x: 1 }]]).get('a'))",
        "const { matches } = await tools.grep({ pattern: 'x' });\nreturn matches.map((m) => [...m.before, ...m.after])",
        "let kind: string;\nfor (const x of ['a']) kind = x;\nreturn kind",
        "function size(x: string): number { if (x) return 1; }\nreturn size('a')",
        // What a variable widens.
        "const args = { pattern: 'TODO', mode: 'count' };\nreturn await tools.grep(args)",
        "let mode = 'count';\nif (1 > 2) mode = 'matches';\nreturn await tools.grep({ pattern: 'TODO', mode })",
        "const common = { pattern: 'TODO', mode: 'count' };\nreturn await tools.grep({ ...common, path: 'src' })",
        "return await Promise.all([{ pattern: 'a', mode: 'count' }].map((q) => tools.grep(q)))",
        // What the session keeps, and what an error has, may be anything.
        "state.set('n', (state.get('n') ?? 0) + 1);\nreturn state.get('n')",
        "const seen = state.get('seen') || [];\nseen.push('x');\nreturn seen.length",
        "const cache = state.get('cache') ?? {};\ncache['a'] = 1;\nfor (const x of state.get('todo')) print(x.a)",
        "interface R { n: number }\nconst rows: R[] = [{ n: 1 }];\nstate.set('rows', rows);\nstate.set('o', { n: undefined })",
        "try { await tools.list() } catch (e) { if (e instanceof ToolCallError) return e.details?.path }",
        "return await tools.read({ file_path: 'a', offset: state.get('cursor') })",
        // Plain JavaScript.
        "async function f({ pattern, limit = 10 } = {}) { return tools.grep({ pattern, limit }) }\nreturn await f({ pattern: 'a' })",
        "class A { title: string; constructor() { this.init() } init() { this.title = 't' } }\nreturn new A().title",
        "return Array(3).fill().map((_, i) => i)",
        "return ['1'].filter((s) => !isNaN(s)).map((s) => Math.round(s) + parseInt(7 / 2))",
        "const copy = { a: 1, b: 2 };\ndelete copy.b;\nreturn copy",
        "function P(x) { this.x = x }\nP.prototype.get = function () { return this.x };\nreturn new P(1).get()",
        "const port = 80;\nreturn port == '80'",
        "const [a, b] = ['x'];\nreturn [a, b]",
        "const rows = [['name', 'size']];\nrows.push(['a', 1]);\nreturn rows",
        "let result = '';\nresult = [1].length;\nreturn result",
        "let lines = (await tools.read({ file_path: 'a' })).lines;\nlines = lines.map((l) => l.text);\nreturn lines",
        "let data = await tools.read({ file_path: 'a' });\ndata = JSON.parse(data.lines[0].text);\nreturn data.name",
        "const o = { n: 1 };\no.n = 'many';\no.label = 'x';\no['other'] = 1;\nreturn [o.label, o.other]",
        "const kinds = ['file', 'dir'] as const;\nreturn kinds.includes('f' + 'ile')",
        "let t: NodeJS.Timeout | null = null;\nreturn t",
        "return [[1], [2]].reduce((all, one) => all.concat(one), [])",
        "return [true, false].reduce((s, x) => s + x, 0) + [3, 1].sort((a, b) => a > b)[0]",
        "const hooks = { done: null };\nhooks.done?.(1);\nreturn hooks",
        "var x = 1; var x = 'a';\nreturn x",
        "const counts = {};\nlet best = 0;\nfor (const [w, n] of Object.entries(counts)) if (n > best) best = n;\nreturn best",
        "class Base { run() { return this.name() } }\nclass Child extends Base { name() { return 'c' } }\nreturn new Child().run()",
        "const r = await tools.read({ file_path: 'a' }).catch((e) => ({ error: e.message }));\nreturn r.error ?? r.total_lines",
        "return typeof process === 'undefined' ? 1 : process.pid",
        "const cache: Record<string, Promise<number>> = {};\ncache.a ||= Promise.resolve(1);\nif (!cache.a) return 1;",
        "const all = await Promise.all(Object.entries({ a: tools.list() }).map(async ([k, p]) => [k, await p]));\nreturn all",
        "const r = await tools.list();\nif (r.error) throw new Error(r.error);\nif ('cursor' in r) print(r.cursor);",
        "const jobs = [];\njobs.push(tools.list());\nreturn await Promise.all(jobs)",
        "const a = tools.list(), b = tools.list();\nawait Promise.all([a, b]);\nreturn a === b",
    ];
    let mut wrong = String::new();
    for code in right {
        let report = session.check(code).await.unwrap();
        if report.has_errors() {
            writeln!(wrong, "{code}\n{report:#?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// CM-27: what a program declares of what it has anyway changes nothing.
#[tokio::test]
async fn declarations_of_what_is_there_are_let_pass() {
    hold(&[
        ("declare const tools: any;\nawait tools.list({});", &[], &[]),
        (
            "declare const tools: any;\nawait tools.lst({});",
            &["E 2:13 TS2551"],
            &["there is no tool \"lst\"; did you mean tools.list?"],
        ),
        ("declare function print(...all: unknown[]): void;\nprint('x');", &[], &[]),
        ("declare class Foo { x: number }\nreturn 1", &[], &[]),
        ("declare const other: { a: number };\nreturn other.a", &[], &[]),
    ])
    .await;
}

/// CM-27, CM-9, CM-10: the words are those of the run.
#[tokio::test]
async fn what_is_not_there_is_worded_as_a_run_words_it() {
    hold(&[
        (
            "return process.env",
            &["E 1:8 TS2591"],
            &["`process` does not exist in a program; there is no environment"],
        ),
        ("const fs = require('fs')", &["E 1:12 TS2591"], &["`tools.read` is the nearest tool"]),
        ("return Buffer.from('a')", &["E 1:8 TS2591"], &["use `Uint8Array`, `TextEncoder`"]),
        ("await fetch('https://a.b')", &["E 1:7 TS2304"], &["no visible tool reaches the network"]),
        ("await fs.readFile('x')", &["E 1:7 TS2304"], &["`tools.read` is the nearest tool"]),
        ("return len([])", &["E 1:8 TS2304"], &["this is Python: write `x.length`"]),
        ("return True", &["E 1:8 TS2304"], &["this is Python: write `true`"]),
        (
            "await read({ file_path: 'a' })",
            &["E 1:7 TS2304"],
            &["`read` is a tool: call `await tools.read({...})`"],
        ),
        ("await functions.read({})", &["E 1:7 TS2552"], &["tools are called as `await tools.read({...})`"]),
        ("const result = 1;\nreturn resutl", &["E 2:8 TS2552"], &["Did you mean 'result'?"]),
        (
            "await tools.read_file({})",
            &["E 1:13 TS2339"],
            &["there is no tool \"read_file\"; did you mean tools.read?"],
        ),
        (
            "await tools['reed']({})",
            &["E 1:7 TS7053"],
            &["there is no tool \"reed\"; did you mean tools.read?"],
        ),
        (
            "await tools.bash({})",
            &["E 1:13 TS2339"],
            &["there is no tool \"bash\"; there are tools.glob, tools.grep"],
        ),
        ("await tools('read', {})", &["E 1:7 TS2349"], &["`tools` is no function"]),
        (
            "await tools.read('a')",
            &["E 1:18 TS2345"],
            &["arguments are one object: await tools.read({file_path: string", "(given a string)"],
        ),
        ("await tools.read('a', 1, 2)", &["E 1:23 TS2554"], &["(given a string and 2 more)"]),
        ("const { read } = tools;\nawait read('a', 5)", &["E 2:17 TS2554"], &["(given a string and 1 more)"]),
        ("await tools.list('src')", &["E 1:18 TS2559"], &["arguments are one object: await tools.list("]),
        (
            "const read = tools.read;\nawait read()",
            &["E 2:7 TS2554"],
            &["`read` takes arguments: await tools.read({file_path"],
        ),
        (
            "await tools.read({})",
            &["E 1:18 TS2345"],
            &["'file_path' is missing", "call it as `await tools.read({file_path"],
        ),
        ("await tools.read({ path: 'a' })", &["E 1:20 TS2353"], &["'path' does not exist"]),
    ])
    .await;
}

/// CM-27: every way in which an `await` goes missing, and where it belongs.
#[tokio::test]
async fn promises_where_values_are_meant_are_found() {
    hold(&[
        (
            "const { paths } = tools.glob({ pattern: '*' });",
            &["E 1:9 TS2339"],
            &["this is a promise", "write `await` before the call"],
        ),
        (
            "const n = await tools.glob({ pattern: '*' }).paths;",
            &["E 1:46 TS2339"],
            &["write `(await tools.glob(...)).paths`"],
        ),
        (
            "const r = tools.list();\nreturn r.entries",
            &["E 2:10 TS2339"],
            &["write `await` where it comes from"],
        ),
        ("return { list: tools.list() }", &["E 1:16 unawaited"], &["write `await`"]),
        ("return ['a'].map((p) => tools.read({ file_path: p }))", &["E 1:8 unawaited"], &["Promise.all"]),
        ("const p = tools.list();\nconsole.log({ p })", &["E 2:15 unawaited"], &["not its value"]),
        ("const p = tools.list();\nreturn { ...p, n: 1 }", &["E 2:13 unawaited"], &["not its value"]),
        (
            "async function has() { return true }\nif (!has()) return 1",
            &["E 2:6 unawaited"],
            &["always true"],
        ),
        (
            "async function has() { return true }\nreturn has() ? 1 : 2",
            &["E 2:8 unawaited"],
            &["always true"],
        ),
        (
            "async function n() { return 1 }\nreturn n() > 2 || n() === 1",
            &["E 2:8 unawaited", "E 2:19 unawaited"],
            &["not its value"],
        ),
        (
            "async function n() { return 1 }\nlet all = 0;\nall += n();\nreturn all",
            &["E 3:8 unawaited"],
            &["write `await`"],
        ),
        (
            "async function get() { return {} }\nfor (const [k] of Object.entries(get())) print(k)",
            &["E 2:34 unawaited"],
            &["not its value"],
        ),
        (
            "async function get() { return '' }\nreturn JSON.parse(get())",
            &["E 2:19 unawaited"],
            &["not its value"],
        ),
        ("for (const p of tools.list()) print(p)", &["E 1:17 TS2488"], &["this is a promise, not a list"]),
        (
            "async function big(p: string) { return p.length > 2 }\nreturn ['a'].filter(big)",
            &["E 2:14 unawaited"],
            &["`filter` decides nothing"],
        ),
        (
            "async function big(p: string) { return p.length > 2 }\nreturn ['a'].some((p) => big(p))",
            &["E 2:14 unawaited"],
            &["`some` decides nothing"],
        ),
        (
            "const one = async (p) => { await tools.read({ file_path: p }) };\n['a'].forEach(one)",
            &["W 2:7 unawaited"],
            &["nobody waits"],
        ),
        ("return await ['a'].reduce(async (s, p) => s + p, '')", &["E 1:43 unawaited"], &["write `await`"]),
        ("const f = (s: string) => s;\nreturn f(tools.list())", &["E 2:10 unawaited"], &["not its value"]),
        ("const p = tools.list();\nreturn String(p)", &["E 2:15 unawaited"], &["not its value"]),
        ("state.set('x', tools.list())", &["E 1:16 unawaited"], &["not its value"]),
        ("await tools.read({ file_path: tools.list() })", &["E 1:20 unawaited"], &["not its value"]),
    ])
    .await;
}

/// CM-27: results that are taken for something else.
#[tokio::test]
async fn results_that_are_taken_for_something_else_are_found() {
    hold(&[
        (
            "const r = await tools.read({ file_path: 'a' });\nreturn r.split('\\n')",
            &["E 2:10 undeclared"],
            &["this is an object, not a text"],
        ),
        (
            "const r = await tools.list();\nreturn r.map((e) => e.path)",
            &["E 2:10 undeclared"],
            &["not a list; declared are entries (a list)"],
        ),
        ("const r = await tools.list();\nreturn r.length", &["E 2:10 undeclared"], &["not a text or a list"]),
        ("const r = await tools.list();\nreturn r.data.entries", &["E 2:10 undeclared"], &["\"data\""]),
        ("const r = await tools.list();\nreturn r['data']", &["E 2:10 undeclared"], &["\"data\""]),
        ("const r = await tools.list();\nreturn r['data'] ?? 1", &["W 2:10 undeclared"], &["\"data\""]),
        (
            "const { content = '' } = await tools.read({ file_path: 'a' });\nreturn content",
            &["W 1:9 undeclared"],
            &["\"content\""],
        ),
        (
            "const r = await tools.read({ file_path: 'a' });\nreturn r.totalLines",
            &["E 2:10 undeclared"],
            &["did you mean 'total_lines'?"],
        ),
        ("const r = await tools.list();\nr.seen = 1;\nreturn r.seen", &[], &[]),
        ("const r = await tools.list();\nfor (const e of r) print(e)", &["E 2:17 TS2488"], &["iterator"]),
        ("const r = await tools.list();\nreturn JSON.parse(r)", &["E 2:19 TS2345"], &["'string'"]),
        (
            "const r = await tools.list();\nreturn `${r}`",
            &["W 2:11 object-text"],
            &["[object Object]", "(entries, truncated, unreadable)"],
        ),
        ("const r = await tools.list();\nreturn 'a' + r", &["W 2:14 object-text"], &["JSON.stringify"]),
        (
            "const r = await tools.read({ file_path: 'a' });\nreturn r.lines.join('\\n')",
            &["W 2:16 object-text"],
            &["map them to a member (number, text)"],
        ),
        ("return 'a' in ['a']", &["W 1:8 in-list"], &["xs.includes(x)"]),
    ])
    .await;
}

/// CM-27: what cannot be right stays an error.
#[tokio::test]
async fn what_cannot_be_right_is_an_error() {
    hold(&[
        ("await tools.grep({ pattern: 'x', mode: 'files' })", &["E 1:34 TS2322"], &["\"files\""]),
        ("await tools.read({ file_path: 'a', limit: null })", &["E 1:36 TS2322"], &["'null'"]),
        ("const n: number = '5';\nreturn n", &["E 1:7 TS2322"], &["'number'"]),
        (
            "interface Row { id: number }\nconst row: Row = { idd: 1 };\nreturn row",
            &["E 2:20 TS2353"],
            &["'idd'"],
        ),
        (
            "function add(a: number, b: number) { return a + b }\nreturn [add(1), add(1, '2')]",
            &["E 2:9 TS2554", "E 2:24 TS2345"],
            &["Expected 2"],
        ),
        (
            "const xs: string[] = [];\nxs.push(1);\nconst m = new Map<string, number>();\nm.set('a', 'b')",
            &["E 2:9 TS2345", "E 4:12 TS2345"],
            &[],
        ),
        ("const n = 5;\nreturn n.length", &["E 2:10 TS2339"], &["'5'"]),
        ("return [[1].lenght, new Set([1]).push(1)]", &["E 1:13 TS2551", "E 1:34 TS2339"], &["'length'"]),
        (
            "class A { count = 1 }\nreturn [A().count, new A().cout]",
            &["E 2:9 TS2348", "E 2:28 TS2551"],
            &["'new'"],
        ),
        (
            "const d = { a: 1 };\nfor (const [k] of d) print(k, d.items())",
            &["E 2:19 TS2488", "E 2:33 TS2339"],
            &[],
        ),
        (
            "const n = 1;\nn = 2;\nconsole.log(m);\nconst m = 1",
            &["E 2:1 TS2588", "E 3:13 TS2448", "W 3:13 TS2454"],
            &[],
        ),
        ("await setTimeout(100)", &["E 1:18 TS2345"], &["'number'"]),
        (
            "try { await tools.list() } catch (e) { if (e instanceof ToolCallError) return e.tool }",
            &["E 1:81 TS2339"],
            &["'ToolCallError'"],
        ),
    ])
    .await;
}

/// CM-27, M10: a program that is nested too deeply for the compiler runs, and is said not to be checked.
#[tokio::test]
async fn a_program_that_is_too_deep_for_the_compiler_is_remarked_upon() {
    let chain = format!("const p = Promise.resolve(1);\nreturn await p{}", ".then((x) => x)".repeat(2000));
    let report = session().check(&chain).await.unwrap();
    assert_eq!((places(&report), report.errors), (vec!["W - unchecked".to_owned()], 0));
    assert!(report.diagnostics[0].message.contains("nested too deeply"), "{report:?}");
    // A long sum is not deep.
    let sum = format!("const s = 'a';\nreturn s{}", " + s".repeat(1500));
    assert_eq!(session().check(&sum).await.unwrap(), CheckReport::default());
}
