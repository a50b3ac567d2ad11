//! The type check of a program before it runs (CM-27).
//!
//! Owns what a check is asked and how its findings are told: with places in the program as written, and with the line
//! itself. It never runs a program and never decides what follows from a finding; the run does, by [`CheckMode`]. It
//! calls a [`TypeChecker`], which the engine implements.

mod judge;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::codemode::bindings::Bindings;
use crate::codemode::program::{Places, PreparedProgram, ProgramError};
use crate::codemode::written::prepare_text;
use crate::limits::{RunLimits, spell_duration};
use crate::pipeline::BoxFuture;
use crate::registry::RegistryView;
use crate::sdk::{SdkCache, SdkLanguage, SdkOptions};

pub(super) use judge::ProgramCheck;
pub use words::About;

/// What a type error of a program means for its run (CM-27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckMode {
    /// Nothing is checked.
    #[default]
    Off,
    /// The program runs, and its outcome has a note for each finding.
    Warn,
    /// A program with an error does not run: it has no effect at all. Neither does one whose check had no end. One that
    /// is nested too deeply for the compiler runs, with a note.
    Enforce,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program is wrong: in a call of a tool (its name, its arguments, its `await`, a member that its result does not
    /// declare), in a name that does not exist, in a call of what is not callable or a loop over what is no list, in a
    /// member that a primitive or a built-in object does not have, or against its own annotations.
    Error,
    /// The program can be right: a value may be absent, or TypeScript knows less than the program.
    Warning,
}

/// One finding, at its place in the program as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The compiler's number, such as `TS2551`; `unawaited` for a promise where a value is meant; `undeclared` for a
    /// member that only an open type admits; `object-text` for an object where a text is meant; `in-list` for Python's
    /// `in`; `unchecked` for a program whose types could not be checked; `syntax` for a text that is no program.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, with the nearest name where there is one. May have several lines.
    pub message: String,
    /// What else the compiler says to it, such as that an `await` was forgotten. Empty in most cases.
    pub hints: Vec<String>,
    /// Line of the first character, from 1; absent when the whole text is meant.
    pub line: Option<u32>,
    /// Column of the first character in UTF-16 units, from 1; absent with `line`.
    pub column: Option<u32>,
    /// Line of the place behind the last character.
    pub end_line: Option<u32>,
    /// Column of the place behind the last character.
    pub end_column: Option<u32>,
    /// The line with a caret; absent with `line`.
    pub frame: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column} ")?;
        }
        write!(f, "{} {}", self.code, self.message)?;
        for hint in &self.hints {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

/// What the check of a program found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The findings by place: fifty at most, errors before warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// How many there are.
    pub found: usize,
    /// How many of them are errors.
    pub errors: usize,
}

impl CheckReport {
    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }
}

/// What a checker is asked.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The declarations that the program is written against: a rendered SDK.
    pub declarations: Arc<str>,
    /// The text to check, a module.
    pub program: String,
    /// What is checked.
    pub scope: CheckScope,
}

/// What a check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckScope {
    /// The program, as one that a model wrote: what runs all the same is let pass.
    #[default]
    Program,
    /// The program and the declarations, with all that `--strict` says. For tests of a renderer.
    Declarations,
    /// These and the libraries of what every program has.
    Libraries,
}

/// A place of a checked text, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The compiler's number, such as `TS2551`, or a word, as in [`Diagnostic::code`].
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What else there is to say.
    pub hints: Vec<String>,
    /// `/program.ts` is the text, `/sdk.d.ts` the declarations; absent when it is about no file.
    pub file: Option<String>,
    /// Line, from 1; absent when it is about the whole file, or none.
    pub line: Option<u32>,
    /// Column in UTF-16 units, from 1.
    pub column: Option<u32>,
    /// Line of the place behind it.
    pub end_line: Option<u32>,
    /// Column of the place behind it.
    pub end_column: Option<u32>,
    /// What the host words better than the compiler; absent in most cases.
    #[serde(default)]
    pub about: Option<About>,
}

/// What a checker found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Findings {
    /// By place; of a program fifty at most, errors before warnings.
    pub diagnostics: Vec<Finding>,
    /// How many there are.
    pub found: usize,
    /// How many of them are errors.
    pub errors: usize,
}

/// Why there is no answer. Nothing is known about the program then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It took longer than it may.
    #[error("the type check did not end within {}; keep large data out of the program's text, or write simpler types", spell_duration(*limit))]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The compiler used more memory than it may.
    #[error("the type check used more than {} MiB of memory; keep large data out of the program's text, or write simpler types", limit / (1024 * 1024))]
    Heap {
        /// The limit in bytes.
        limit: usize,
    },
    /// The compiler gave up, in its own words.
    #[error("the type check gave up: {0}; write simpler types, or split the program into steps")]
    GaveUp(String),
    /// There is no compiler: a bug of the build, or no thread could be started.
    #[error("the type checker could not be started: {0}")]
    Unavailable(String),
}

/// Checks texts against declarations, with the real compiler.
pub trait TypeChecker: Send + Sync + fmt::Debug {
    /// Checks one text. Dropping the future ends the check.
    fn check(&self, request: CheckRequest) -> BoxFuture<'static, Result<Findings, CheckError>>;
}

/// Checks a text against what a view lets programs call. A text that is no program has that as its one finding, `syntax`.
pub async fn check_text(
    checker: &dyn TypeChecker,
    sdks: &SdkCache,
    view: &RegistryView,
    code: &str,
    limits: &RunLimits,
) -> Result<CheckReport, CheckError> {
    let bindings = Arc::new(Bindings::new(view, limits.argument_bytes));
    match prepare_text(code, limits.program_bytes, &bindings).await {
        Ok(program) => check_program(checker, declarations(sdks, view), view, &program).await,
        Err(error) => Ok(CheckReport { diagnostics: vec![not_a_program(error)], found: 1, errors: 1 }),
    }
}

/// What programs of this view are checked against.
fn declarations(sdks: &SdkCache, view: &RegistryView) -> Arc<str> {
    sdks.render(SdkLanguage::TypeScript, view, &SdkOptions::default()).text.as_str().into()
}

/// Checks a program against an SDK, that of `view`.
///
/// A program that the compiler cannot take for its depth is one with a remark that says so.
pub async fn check_program(
    checker: &dyn TypeChecker,
    declarations: Arc<str>,
    view: &RegistryView,
    program: &PreparedProgram,
) -> Result<CheckReport, CheckError> {
    let request = CheckRequest { declarations, program: program.typed(), scope: CheckScope::Program };
    let Findings { diagnostics, mut found, mut errors } = checker.check(request).await?;
    let places = program.places();
    let mut placed = Vec::with_capacity(diagnostics.len());
    for finding in diagnostics {
        let severity = finding.severity;
        if let Some(diagnostic) = place(finding, view, &places) {
            placed.push(diagnostic);
        } else {
            // About the call of a function that the author did not call.
            found = found.saturating_sub(1);
            errors = errors.saturating_sub(usize::from(severity == Severity::Error));
        }
    }
    Ok(CheckReport { diagnostics: placed, found, errors })
}

/// `None` for what is not in the program as written.
fn place(finding: Finding, view: &RegistryView, places: &Places<'_>) -> Option<Diagnostic> {
    let mut diagnostic = Diagnostic {
        code: finding.code,
        severity: finding.severity,
        message: finding.message,
        hints: finding.hints,
        line: None,
        column: None,
        end_line: None,
        end_column: None,
        frame: None,
    };
    if finding.line.is_none() {
        // About the whole of it.
        return finding.file.is_some().then_some(diagnostic);
    }
    let locate = |line: Option<u32>, column: Option<u32>| places.locate_typed(line?, column?);
    let start = locate(finding.line, finding.column)?;
    // What ends behind the program ends with it.
    let end = locate(finding.end_line, finding.end_column).filter(|end| *end >= start);
    if let Some(about) = finding.about {
        about.word(&mut diagnostic, view, places.rest_of_line(start));
    }
    Some(Diagnostic {
        line: Some(start.line),
        column: Some(start.column),
        end_line: end.map(|end| end.line),
        end_column: end.map(|end| end.column),
        frame: Some(places.frame(start)),
        ..diagnostic
    })
}

fn not_a_program(error: ProgramError) -> Diagnostic {
    Diagnostic {
        code: "syntax".to_owned(),
        severity: Severity::Error,
        message: error.message,
        hints: Vec::new(),
        line: error.position.map(|position| position.line),
        column: error.position.map(|position| position.column),
        end_line: None,
        end_column: None,
        frame: error.frame,
    }
}
