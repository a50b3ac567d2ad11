//! What findings become, with a checker that says what it is told to say.

use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::codemode::program::{ProgramLimits, ToolHints, prepare};
use crate::outcome::{RunFailure, RunFailureKind};
use crate::registry::{Registry, Target};
use crate::tool::{Tool, ToolContext, ToolError};

/// Answers every request alike, and keeps it.
#[derive(Debug)]
struct Scripted {
    answer: Result<Findings, CheckError>,
    asked: Mutex<Vec<CheckRequest>>,
}

impl Scripted {
    fn new(answer: Result<Findings, CheckError>) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }
}

impl TypeChecker for Scripted {
    fn check(&self, request: CheckRequest) -> BoxFuture<'static, Result<Findings, CheckError>> {
        self.asked.lock().unwrap().push(request);
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

fn finding(severity: Severity, line: u32, column: u32) -> Finding {
    Finding {
        code: "TS1".to_owned(),
        severity,
        message: "it is wrong".to_owned(),
        hints: vec!["do it right".to_owned()],
        file: Some("/program.ts".to_owned()),
        line: Some(line),
        column: Some(column),
        end_line: Some(line),
        end_column: Some(column + 1),
        about: None,
    }
}

fn findings(diagnostics: Vec<Finding>) -> Findings {
    let errors = diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    Findings { found: diagnostics.len(), errors, diagnostics }
}

fn view() -> Arc<RegistryView> {
    let registry = Registry::new();
    let read = |_: serde_json::Value, _: ToolContext| async { Ok::<_, ToolError>(json!("text")) };
    let tool = Tool::builder("read").output(json!({"type": "string"})).handler(read).unwrap();
    registry.register(&Target::Global, tool).unwrap().keep();
    registry.view(None).unwrap()
}

async fn judged(mode: CheckMode, answer: Result<Findings, CheckError>) -> Result<Vec<String>, RunFailure> {
    let program =
        prepare("const a = 1;\nreturn a", &ProgramLimits::default(), &ToolHints::default()).unwrap();
    let check = ProgramCheck::new(Scripted::new(answer), mode, Arc::default()).unwrap();
    check.review(view())(Arc::new(program)).await
}

/// CM-27
#[tokio::test]
async fn a_checker_is_asked_about_the_program_and_the_sdk_of_its_tools() {
    let checker = Scripted::new(Ok(findings(vec![finding(Severity::Error, 2, 8)])));
    let report =
        check_text(&*checker, &SdkCache::new(), &view(), "const a = 1;\nreturn a", &RunLimits::default())
            .await
            .unwrap();
    assert_eq!((report.diagnostics[0].line, report.diagnostics[0].column), (Some(2), Some(8)));
    assert_eq!(report.diagnostics[0].frame.as_deref(), Some("   2 | return a\n     |        ^"));
    let asked = checker.asked.lock().unwrap();
    assert!(asked[0].declarations.contains("read: JsonObject"), "{}", asked[0].declarations);
    assert_eq!(asked[0].program, "async function __program() {const a = 1;\nreturn a\n\n}\n");
}

/// CM-27, CM-32
#[tokio::test]
async fn what_is_no_program_is_not_asked_about() {
    let checker = Scripted::new(Ok(Findings::default()));
    let report =
        check_text(&*checker, &SdkCache::new(), &view(), "const = 1", &RunLimits::default()).await.unwrap();
    assert_eq!((report.diagnostics[0].code.as_str(), report.diagnostics[0].line), ("syntax", Some(1)));
    assert!(checker.asked.lock().unwrap().is_empty());
}

/// CM-27
#[tokio::test]
async fn an_error_refuses_the_program_only_where_that_is_enforced() {
    let error = || Ok(findings(vec![finding(Severity::Error, 2, 8), finding(Severity::Error, 1, 29)]));
    assert!(ProgramCheck::new(Scripted::new(error()), CheckMode::Off, Arc::default()).is_none());
    let note = "type check: 2:8 TS1 it is wrong (do it right)";
    assert_eq!(judged(CheckMode::Warn, error()).await.unwrap()[0], note);
    let failure = judged(CheckMode::Enforce, error()).await.unwrap_err();
    assert_eq!((failure.kind, failure.line, failure.column), (RunFailureKind::Type, Some(2), Some(8)));
    assert_eq!(
        failure.message,
        "TS1 it is wrong (do it right); the program did not run, so nothing was done\ntype check: 1:1 TS1 it is wrong (do it right)"
    );
    let warning = Ok(findings(vec![finding(Severity::Warning, 2, 8)]));
    assert_eq!(judged(CheckMode::Enforce, warning).await.unwrap(), [note]);
}

/// CM-27: what is said of the whole program has no place, and stops nothing as a warning.
#[tokio::test]
async fn a_finding_about_the_whole_program_is_told() {
    let whole = Finding {
        line: None,
        column: None,
        end_line: None,
        end_column: None,
        ..finding(Severity::Warning, 1, 1)
    };
    let notes = judged(CheckMode::Enforce, Ok(findings(vec![whole]))).await.unwrap();
    assert_eq!(notes, ["type check: TS1 it is wrong (do it right)"]);
}

/// CM-27: nothing of which a check was begun and not ended runs where the check is enforced.
#[tokio::test]
async fn a_check_without_an_answer_is_told() {
    let late = || Err(CheckError::TimedOut { limit: Duration::from_secs(10) });
    let failure = judged(CheckMode::Enforce, late()).await.unwrap_err();
    assert_eq!(failure.kind, RunFailureKind::Type);
    assert_eq!(
        failure.message,
        "the program did not run: the type check did not end within 10 s; keep large data out of the program's text, or write simpler types"
    );
    let notes = judged(CheckMode::Warn, late()).await.unwrap();
    assert_eq!(
        notes,
        [
            "the types of the program were not checked: the type check did not end within 10 s; keep large data out of the program's text, or write simpler types"
        ]
    );
}

/// CM-27: an error counts though it is not among those that are told, and the call of `main` is not the author's.
#[tokio::test]
async fn errors_count_whether_told_or_not() {
    let warnings = (0..50).map(|_| finding(Severity::Warning, 2, 8)).collect();
    let answer = Ok(Findings { diagnostics: warnings, found: 60, errors: 1 });
    assert_eq!(judged(CheckMode::Enforce, answer).await.unwrap_err().kind, RunFailureKind::Type);
    let elsewhere = Ok(findings(vec![finding(Severity::Error, 3, 1)]));
    assert_eq!(judged(CheckMode::Enforce, elsewhere).await.unwrap(), Vec::<String>::new());
}

/// CM-27: many findings do not fill a model's context.
#[tokio::test]
async fn findings_beyond_ten_are_counted() {
    let many = (0..30).map(|_| finding(Severity::Warning, 2, 8)).collect();
    let notes =
        judged(CheckMode::Warn, Ok(Findings { diagnostics: many, found: 90, errors: 0 })).await.unwrap();
    assert_eq!((notes.len(), notes[10].as_str()), (11, "type check: 80 more"));
}
