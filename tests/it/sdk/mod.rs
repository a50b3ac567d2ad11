//! What the real compiler says about the rendered SDK (SDK-5, SDK-6).
//!
//! Owns the questions: schemas with values that are and are not of their type, whole catalogues, the official JSON
//! Schema suite. It reads its data in place and says so when there is none. It calls the renderer and the checker.

mod catalogues;
mod sdk_corpus;
mod suite;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use isolane::codemode::check::{CheckRequest, CheckScope, Finding, TypeChecker};
use isolane::engine::{TypeScriptChecker, TypeScriptOptions};
use isolane::sdk::{SdkOptions, SdkTool, render_typescript};
use serde_json::{Value, json};

/// One compiler for all of these tests.
pub(crate) fn checker() -> &'static TypeScriptChecker {
    static CHECKER: OnceLock<TypeScriptChecker> = OnceLock::new();
    CHECKER.get_or_init(|| TypeScriptChecker::new(TypeScriptOptions::default()))
}

/// A schema under a name.
struct Named<'a> {
    name: String,
    schema: &'a Value,
}

/// The SDK of tools that each take and give what a schema describes.
fn sdk_of(schemas: &[Named<'_>]) -> String {
    let tools: Vec<SdkTool<'_>> = schemas
        .iter()
        .map(|Named { name, schema }| SdkTool { name, description: "", parameters: schema, output: schema })
        .collect();
    render_typescript(&tools, &SdkOptions::default()).text
}

/// The program that gives each value its type, one a line.
#[derive(Default)]
struct Assignments {
    text: String,
    lines: u32,
}

impl Assignments {
    /// The line on which it stands.
    fn assign(&mut self, ty: &str, value: &Value) -> u32 {
        self.lines += 1;
        let mut literal = String::new();
        spell(value, &mut literal);
        writeln!(self.text, "const _{}: {ty} = {literal};", self.lines).unwrap();
        self.lines
    }
}

/// A value as an expression on one line: JSON, but for line separators and the one key that is no property.
fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                spell(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (key, member) in members {
                let key = quote(key);
                let _ = if key == "\"__proto__\"" { write!(out, "[{key}]:") } else { write!(out, "{key}:") };
                spell(member, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::String(text) => out.push_str(&quote(text)),
        other => out.push_str(&other.to_string()),
    }
}

fn quote(text: &str) -> String {
    json!(text).to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// What the compiler finds in an SDK and in a program.
struct Verdict {
    declarations: Vec<Finding>,
    program: Vec<Finding>,
}

impl Verdict {
    async fn of(declarations: &str, program: &str) -> Self {
        let request = CheckRequest {
            declarations: declarations.into(),
            program: format!("{program}export {{}};\n"),
            scope: CheckScope::Declarations,
        };
        let found = checker().check(request).await.unwrap().diagnostics;
        let (program, declarations) =
            found.into_iter().partition(|finding| finding.file.as_deref() == Some("/program.ts"));
        Self { declarations, program }
    }

    /// The lines of the program in which something is wrong.
    fn wrong_lines(&self) -> BTreeSet<u32> {
        self.program.iter().filter_map(|finding| finding.line).collect()
    }

    /// What is wrong in a line.
    fn message(&self, line: u32) -> &str {
        let finding = self.program.iter().find(|finding| finding.line == Some(line));
        finding.map_or("", |finding| &finding.message)
    }
}

/// The folder of public test data; `None`, said aloud, where it is not at hand.
fn shared(folder: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("ISOLANE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = shared.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    say(&format!("skipped: no shared data, {} is not there", path.display()));
    None
}

/// Prints a line that is not captured: a figure must be seen when nothing fails.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// SDK-6: the libraries of what every program has compile without a word.
#[tokio::test]
async fn the_libraries_of_programs_compile() {
    let request = CheckRequest {
        declarations: sdk_of(&[]).into(),
        program: "export {};".to_owned(),
        scope: CheckScope::Libraries,
    };
    let found = checker().check(request).await.unwrap();
    assert_eq!(found.diagnostics, []);
}
