//! Replays the cases of `runtime-js/tests/` on the engine itself.
//!
//! Owns the reading of the case files, whose format is in their README, and the tools that they call. A file is one
//! test, which reports every case that differs. Calls and lines are compared each in their own order: a tool's body
//! runs after the program has gone on.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use isolane::codemode::LogLevel;
use isolane::limits::RunLimits;
use isolane::outcome::{RunFailure, RunFailureKind, RunOutcome};
use isolane::registry::{Restriction, Target};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};

use crate::support::{Host, Lines};

struct Case {
    program: String,
    transcript: String,
}

fn read_cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for part in text.split("=== program\n").skip(1) {
        let (program, transcript) = part.split_once("--- transcript\n").expect("a case has a transcript");
        cases.push(Case {
            program: program.to_owned(),
            transcript: transcript.trim_end_matches('\n').to_owned(),
        });
    }
    cases
}

/// A transcript in parts: calls, lines, and how it ended.
#[derive(Debug, PartialEq)]
struct Transcript {
    calls: Vec<String>,
    lines: Vec<String>,
    end: String,
}

fn expected(transcript: &str) -> Transcript {
    // A line that begins with none of the known words belongs to the event before it.
    const WORDS: [&str; 9] =
        ["call ", "log: ", "info: ", "warn: ", "error: ", "debug: ", "json ", "problem ", "threw "];
    let mut events: Vec<String> = Vec::new();
    for line in transcript.split('\n') {
        match events.last_mut() {
            Some(last) if line != "none" && !WORDS.iter().any(|word| line.starts_with(word)) => {
                last.push('\n');
                last.push_str(line);
            }
            _ => events.push(line.to_owned()),
        }
    }
    let mut parts =
        Transcript { calls: Vec::new(), lines: Vec::new(), end: events.pop().unwrap_or_default() };
    for event in events {
        if event.starts_with("call ") {
            parts.calls.push(event);
        } else {
            // The host has four levels; `log` is `info`.
            let line =
                event.strip_prefix("log: ").map_or_else(|| event.clone(), |text| format!("info: {text}"));
            parts.lines.push(line);
        }
    }
    parts.end = expected_end(&parts.end);
    parts
}

/// What the host makes of the report of a thrown value, which is what the transcript shows.
fn expected_end(end: &str) -> String {
    let Some(report) = end.strip_prefix("threw ") else {
        return match end.strip_prefix("json ") {
            Some(text) => format!("json {}", serde_json::from_str::<Value>(text).expect("the case has JSON")),
            None => end.to_owned(),
        };
    };
    let mut message: Vec<&str> = report.split('\n').collect();
    let mut take = |word: &str| {
        let found = message.last().and_then(|line| line.strip_prefix(word));
        found.inspect(|_| {
            message.pop();
        })
    };
    let missing = take("missing ");
    let tool = take("tool ").and_then(|line| line.rsplit_once(' '));
    let text = message.join("\n");
    let text = match (tool, text.split_once(": ")) {
        (Some((tool, code)), Some((name, rest))) => format!("{name} ({tool}, {code}): {rest}"),
        // An error without a message is its name.
        (None, Some((name, ""))) => name.to_owned(),
        _ => text,
    };
    match missing {
        Some(_) => format!("threw {text}. ..."),
        None => format!("threw {text}"),
    }
}

fn actual_end(outcome: &RunOutcome, wanted: &str) -> String {
    match &outcome.result {
        Ok(Some(value)) => format!("json {value}"),
        Ok(None) => "none".to_owned(),
        Err(RunFailure { kind: RunFailureKind::InvalidOutput, message, .. }) => format!("problem {message}"),
        Err(RunFailure { kind: RunFailureKind::Exception, message, .. }) => {
            // What exists instead of a missing global is the program module's to say.
            let said = wanted.strip_prefix("threw ").and_then(|wanted| wanted.strip_suffix(". ..."));
            match said.filter(|said| message.starts_with(*said)) {
                Some(_) => wanted.to_owned(),
                None => format!("threw {message}"),
            }
        }
        Err(other) => other.to_string(),
    }
}

fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

type Calls = Arc<Mutex<Vec<String>>>;

const NAMES: [&str; 14] = [
    "read",
    "echo",
    "fail",
    "big",
    "fetch-url",
    "get_user",
    "getUser",
    "a.b",
    "then",
    "__proto__",
    "constructor",
    "str",
    "thenable",
    "write",
];

fn answer(name: &str, args: Value) -> Result<Value, ToolError> {
    match name {
        "fail" => Err(ToolError::failed("no such file").with_details(json!({"path": "a"}))),
        "big" => Ok(json!({
            "id": 9_007_199_254_740_993_u64,
            "neg": i64::MIN,
            "n": 1.5,
            "e": 1e30,
            "list": [18_446_744_073_709_551_615_u64],
        })),
        "str" => Ok(json!("text")),
        "thenable" => Ok(json!({"then": "data", "__proto__": {"x": 1}, "constructor": 2})),
        _ => Ok(args),
    }
}

fn fixture(name: &'static str, calls: &Calls) -> Tool {
    let parameters = match name {
        "read" => json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
        }),
        _ => json!({"type": "object"}),
    };
    let calls = Arc::clone(calls);
    Tool::builder(name)
        .description("A tool of the cases.")
        .foreign_parameters(parameters)
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |args: Value, _context: ToolContext| {
            calls.lock().unwrap().push(format!("call {name} {args}"));
            let reply = answer(name, args);
            async move { reply }
        })
        .unwrap()
}

async fn replay(file: &str) {
    let calls = Calls::default();
    let tools = NAMES.iter().map(|name| fixture(name, &calls)).collect();
    let lines = Arc::new(Lines::default());
    let mut host = Host::with_tools(RunLimits::default(), tools);
    host.logs = Some(Arc::clone(&lines) as _);
    host.registry().open_scope("agent".into(), None).unwrap();
    let hidden = Restriction::deny(["write"]);
    host.registry().restrict(&Target::Scope("agent".into()), hidden).unwrap().keep();
    host.scope = Some("agent".into());

    let path = format!("{}/runtime-js/tests/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let cases = read_cases(&std::fs::read_to_string(path).unwrap());
    assert!(cases.len() > 10, "{file} has only {} cases", cases.len());
    let mut report = String::new();
    for Case { program, transcript } in &cases {
        let expected = expected(transcript);
        // The body of a function: what the last statement gives is not the program's value.
        let outcome = host.run(&format!("{program}\nreturn;")).await;
        let actual = Transcript {
            calls: std::mem::take(&mut *calls.lock().unwrap()),
            lines: lines.take().into_iter().map(|(of, text)| format!("{}: {text}", level(of))).collect(),
            end: actual_end(&outcome, &expected.end),
        };
        if actual != expected {
            let _ = write!(report, "\n=== program\n{program}expected {expected:#?}\nactual {actual:#?}\n");
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// CM-13, CM-14
#[tokio::test]
async fn arguments_cross_as_their_cases_say() {
    replay("arguments").await;
}

/// CM-29
#[tokio::test]
async fn the_console_writes_what_its_cases_say() {
    replay("console").await;
}

/// CM-9
#[tokio::test]
async fn globals_behave_as_their_cases_say() {
    replay("globals").await;
}

/// CM-13, CM-15, CM-16
#[tokio::test]
async fn results_cross_as_their_cases_say() {
    replay("results").await;
}

/// CM-16, CM-23
#[tokio::test]
async fn thrown_values_are_described_as_their_cases_say() {
    replay("thrown").await;
}

/// CM-10
#[tokio::test]
async fn the_tools_object_behaves_as_its_cases_say() {
    replay("tools").await;
}
