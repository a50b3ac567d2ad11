//! The figures of the type check (CM-27): a program of 50 lines against 50 tools.
//!
//! `cargo bench --bench check`. Medians and 99th percentiles of single measurements; nothing here is a test.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark program")]

mod memory;
mod table;

use std::fmt::Write as _;

use isolane::clock::{Clock, SystemClock};
use isolane::codemode::check::CheckMode;
use isolane::engine::TypeScriptChecker;
use isolane::host::{Host, Session, SessionOptions};
use isolane::tool::{Tool, ToolContext, ToolError};
use memory::private_kib;
use serde_json::{Value, json};
use table::{heading, row, since};

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(figures());
}

/// A tool as catalogues have them: some arguments with enumerations and a nested object, a list of records as result.
fn tool(index: usize) -> Tool {
    Tool::builder(format!("search_{index}"))
        .description("Searches one kind of record.")
        .foreign_parameters(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer"},
                "sort": {"enum": ["created", "updated", "name"]},
                "filter": {
                    "type": "object",
                    "properties": {"state": {"enum": ["open", "closed"]}, "labels": {"type": "array", "items": {"type": "string"}}},
                    "additionalProperties": false,
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }))
        .foreign_output(json!({
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "integer"}, "title": {"type": "string"}, "state": {"enum": ["open", "closed"]},
                            "owner": {"type": ["string", "null"]}, "tags": {"type": "array", "items": {"type": "string"}},
                        },
                        "required": ["id", "title", "state", "owner", "tags"],
                        "additionalProperties": false,
                    },
                },
                "total": {"type": "integer"},
            },
            "required": ["items", "total"],
            "additionalProperties": false,
        }))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!({"items": [], "total": 0})) })
        .unwrap()
}

fn session() -> Session {
    let builder = Host::builder().tools((0..50).map(tool));
    let host = builder.type_check(TypeScriptChecker::default(), CheckMode::Off).build().unwrap();
    host.session(SessionOptions::new("bench")).unwrap()
}

/// 50 lines; another text for each number.
fn program(number: usize) -> String {
    let mut text = format!("const run: number = {number};\nconst found = new Map<number, string>();\n");
    for at in 0..11 {
        let tool = (number + at) % 50;
        let _ = write!(
            text,
            "const page{at} = await tools.search_{tool}({{ query: `q${{run}}`, sort: \"name\", filter: {{ state: \"open\" }} }});\n\
             for (const item of page{at}.items) {{\n  if (item.owner !== null) found.set(item.id, item.owner.toUpperCase() + item.tags.join());\n}}\n"
        );
    }
    text.push_str("const names = [...found.values()].sort();\nconst first = names.at(0) ?? \"nobody\";\n");
    text.push_str("console.log(`${names.length} owners, first ${first}`);\nreturn names.slice(0, 10);\n");
    text
}

async fn figures() {
    let clock = SystemClock::new();
    let before = private_kib(std::process::id());
    let first = session();
    first.check(&program(0)).await.unwrap();
    let compiler = private_kib(std::process::id()).saturating_sub(before);
    println!("{:<58} {compiler:>7} KiB", "the compiler after its first check");
    drop(first);
    heading();
    let mut cold = Vec::new();
    for number in 0..20 {
        let session = session();
        let text = program(number);
        let begun = clock.monotonic();
        let report = session.check(&text).await.unwrap();
        cold.push(since(&clock, begun));
        assert_eq!(report.found, 0, "{report:?}");
    }
    row("type check, first of a process or after a stop", &mut cold);

    let session = session();
    for (name, wrong) in
        [("type check, warm, a right program", ""), ("type check, warm, a wrong one", "page0.itmes;\n")]
    {
        let mut warm = Vec::new();
        for number in 0..120 {
            let text = format!("{}{wrong}", program(number)).replacen(
                "return names",
                "const all = names",
                usize::from(!wrong.is_empty()),
            );
            let begun = clock.monotonic();
            let report = session.check(&text).await.unwrap();
            if number >= 20 {
                warm.push(since(&clock, begun));
            }
            assert_eq!(report.found, usize::from(!wrong.is_empty()), "{report:?}");
        }
        row(name, &mut warm);
    }
}
