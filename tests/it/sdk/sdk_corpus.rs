//! Cases of a schema, values that it accepts, and values that its type must refuse.
//!
//! Owns the form of a case: `{name, note, schema, valid, ts_must_reject}`, one JSON file each, read from the folder that
//! `ISOLANE_SDK_CORPUS` names, or from `cases/sdk` of the shared data: `ISOLANE_SDK_CORPUS=DIR cargo test sdk_corpus`
//! prints a line for each case and a total. The project's own cases are the fixtures of the renderer's unit tests, which
//! hold the text too; here the compiler has its say about them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{Assignments, Named, Verdict, say, sdk_of, shared};

#[derive(Deserialize)]
struct Case {
    name: String,
    schema: Value,
    #[serde(default)]
    valid: Vec<Value>,
    #[serde(default)]
    ts_must_reject: Vec<Value>,
    #[serde(skip)]
    of: Face,
}

/// What the schema is of.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Face {
    Arguments,
    Output,
    /// Of a result, and of arguments too if the values can be.
    #[default]
    Either,
}

impl Case {
    fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap();
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// What is wrong with the types of the schema.
    async fn problems(&self) -> Vec<String> {
        let declarations = sdk_of(&[Named { name: self.name.clone(), schema: &self.schema }]);
        let key = super::quote(&self.name);
        let mut types = Vec::new();
        if self.of != Face::Arguments {
            types.push(format!("ToolOutputMap[{key}]"));
        }
        if self.of == Face::Arguments || self.of == Face::Either && self.valid.iter().all(Value::is_object) {
            types.push(format!("ToolArgsMap[{key}]"));
        }
        let mut program = Assignments::default();
        let mut expected = Vec::new();
        for ty in &types {
            for (values, right) in [(&self.valid, true), (&self.ts_must_reject, false)] {
                for value in values {
                    expected.push((program.assign(ty, value), ty, value, right));
                }
            }
        }
        let verdict = Verdict::of(&declarations, &program.text).await;
        let wrong = verdict.wrong_lines();
        let mut problems: Vec<String> = verdict
            .declarations
            .iter()
            .map(|finding| format!("does not compile: {} {}", finding.code, finding.message))
            .collect();
        for (line, ty, value, right) in expected {
            if right && wrong.contains(&line) {
                problems.push(format!("{ty} refuses {value}: {}", verdict.message(line)));
            } else if !right && !wrong.contains(&line) {
                problems.push(format!("{ty} accepts {value}"));
            }
        }
        if !problems.is_empty() {
            problems.push(declarations);
        }
        problems
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(!files.is_empty(), "{} has no case", folder.display());
    files
}

async fn run(cases: Vec<Case>) {
    let mut failed = Vec::new();
    for case in &cases {
        let problems = case.problems().await;
        say(&format!("{} {}", if problems.is_empty() { "ok    " } else { "FAILED" }, case.name));
        if !problems.is_empty() {
            failed.push(format!("{}:\n{}", case.name, problems.join("\n")));
        }
    }
    say(&format!("{} of {} cases are right", cases.len() - failed.len(), cases.len()));
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// A case of the renderer's fixtures.
#[derive(Deserialize)]
struct Fixture {
    says: String,
    schema: Value,
    #[serde(default)]
    also: Vec<Value>,
    #[serde(default)]
    result: bool,
    #[serde(default)]
    of: Vec<Value>,
    #[serde(default)]
    not_of: Vec<Value>,
}

/// SDK-6
#[tokio::test]
async fn sdk_corpus() {
    let mut cases = Vec::new();
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sdk/tests/fixtures")) {
        let fixtures: Vec<Fixture> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for fixture in fixtures {
            for schema in std::iter::once(&fixture.schema).chain(&fixture.also) {
                cases.push(Case {
                    name: fixture.says.clone(),
                    schema: schema.clone(),
                    valid: fixture.of.clone(),
                    ts_must_reject: fixture.not_of.clone(),
                    of: if fixture.result { Face::Output } else { Face::Arguments },
                });
            }
        }
    }
    run(cases).await;
}

/// SDK-6
#[tokio::test]
async fn sdk_corpus_of_others() {
    let given = std::env::var_os("ISOLANE_SDK_CORPUS").map(PathBuf::from);
    if let Some(folder) = given.or_else(|| shared("cases/sdk")) {
        run(files(&folder).iter().map(|path| Case::read(path)).collect()).await;
    }
}

/// SDK-6: a type that is too wide, too narrow or broken is noticed.
#[tokio::test]
async fn sdk_corpus_notices_what_is_wrong() {
    let case = |schema: &Value, valid: Value, reject: Value| Case {
        name: "it's".to_owned(),
        schema: schema.clone(),
        valid: vec![valid],
        ts_must_reject: vec![reject],
        of: Face::Output,
    };
    let number = serde_json::json!({"type": "number"});
    assert_eq!(case(&number, 1.into(), "1".into()).problems().await, Vec::<String>::new());
    assert!(case(&number, "1".into(), "1".into()).problems().await[0].contains("refuses \"1\""));
    assert!(case(&number, 1.into(), 1.into()).problems().await[0].contains("accepts 1"));
    let broken = Verdict::of("interface Broken { a: Missing }", "").await;
    assert_eq!(broken.declarations[0].code, "TS2304");
}
