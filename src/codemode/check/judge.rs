//! What a check means for a run (CM-27).
//!
//! Owns the notes and the refusal that findings become. It never checks anything itself. It calls the check.

use std::sync::Arc;

use crate::codemode::program::PreparedProgram;
use crate::codemode::written::Review;
use crate::outcome::{RunFailure, RunFailureKind};
use crate::registry::RegistryView;
use crate::sdk::SdkCache;

use super::{CheckMode, CheckReport, Diagnostic, Severity, TypeChecker, check_program, declarations};

/// The check of every program of a runner.
#[derive(Clone, Debug)]
pub(in crate::codemode) struct ProgramCheck {
    checker: Arc<dyn TypeChecker>,
    mode: CheckMode,
    sdks: Arc<SdkCache>,
}

/// Most findings that a note or a failure spells out.
const SPELLED_OUT: usize = 10;

impl ProgramCheck {
    /// `None` when nothing is to be checked.
    pub(in crate::codemode) fn new(
        checker: Arc<dyn TypeChecker>,
        mode: CheckMode,
        sdks: Arc<SdkCache>,
    ) -> Option<Self> {
        (mode != CheckMode::Off).then_some(Self { checker, mode, sdks })
    }

    /// The check of one program against the tools of a view.
    pub(in crate::codemode) fn review(&self, view: Arc<RegistryView>) -> Review {
        let check = self.clone();
        Box::new(move |program| Box::pin(async move { check.judge(&view, &program).await }))
    }

    /// The notes for a program that may run, or why it may not.
    async fn judge(&self, view: &RegistryView, program: &PreparedProgram) -> Result<Vec<String>, RunFailure> {
        let checked = check_program(&*self.checker, declarations(&self.sdks, view), view, program).await;
        match (self.mode, checked) {
            (CheckMode::Enforce, Ok(report)) if report.has_errors() => Err(refusal(&report)),
            (CheckMode::Enforce, Err(error)) => {
                let message = format!("the program did not run: {error}");
                Err(RunFailure::new(RunFailureKind::Type, message))
            }
            (_, Ok(report)) => Ok(spell(&report.diagnostics, report.found)),
            (_, Err(error)) => Ok(vec![format!("the types of the program were not checked: {error}")]),
        }
    }
}

/// A line for each finding, and one for those that are left out.
fn spell<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>, found: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        diagnostics.into_iter().take(SPELLED_OUT).map(|finding| format!("type check: {finding}")).collect();
    let left = found.saturating_sub(lines.len());
    if left > 0 {
        lines.push(format!("type check: {left} more"));
    }
    lines
}

/// The failure of a program with errors: nothing of it ran.
fn refusal(report: &CheckReport) -> RunFailure {
    let mut errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    let Some(first) = errors.next() else { return RunFailure::new(RunFailureKind::Type, "a type error") };
    let others: Vec<String> =
        spell(errors, report.errors.saturating_sub(1)).iter().map(|line| format!("\n{line}")).collect();
    let hints: Vec<String> = first.hints.iter().map(|hint| format!(" ({hint})")).collect();
    RunFailure {
        kind: RunFailureKind::Type,
        message: format!(
            "{} {}{}; the program did not run, so nothing was done{}",
            first.code,
            first.message,
            hints.concat(),
            others.concat()
        ),
        line: first.line,
        column: first.column,
        frame: first.frame.clone(),
        stack: None,
    }
}
