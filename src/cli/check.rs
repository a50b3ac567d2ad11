//! `isolane check` (I-4, CM-27).
//!
//! Owns how findings are laid out. It runs no program: the host has no runtime for one.

use std::fmt::Write as _;

use serde::Serialize;

use isolane::codemode::check::{CheckReport, Diagnostic, Severity};
use isolane::host::{SessionCheckError, SessionOptions};
use isolane::limits::RunLimits;

use super::Ending;
use super::args::CheckArgs;
use super::deployment::Deployment;
use super::failure;
use super::input::Source;
use super::output::{StdoutError, chain, complain, say, tell};
use super::run::block_on;
use super::text::{inert, json_line};

#[derive(Serialize)]
struct Answer<'a> {
    ok: bool,
    #[serde(flatten)]
    report: &'a CheckReport,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Checks a program.
pub(super) fn check(args: CheckArgs) -> anyhow::Result<Ending> {
    let json = args.json;
    let ending = answer(args);
    if json
        && let Err(error) = &ending
        && error.downcast_ref::<StdoutError>().is_none()
    {
        // Whoever reads the answer reads nothing else.
        let report = CheckReport::default();
        say(&json_line(&Answer { ok: false, report: &report, error: Some(chain(error)) })?)?;
    }
    ending
}

fn answer(args: CheckArgs) -> anyhow::Result<Ending> {
    let limit = RunLimits::default().program_bytes;
    let deployment = Deployment::open(&args.deployment)?;
    let program = Source::find(args.source, limit)?.load(limit)?;
    let host = deployment.host_to_check()?;
    let session = host.session(SessionOptions::new("cli"))?;
    let (report, error) = match block_on(async { session.check(&program.text).await })? {
        Ok(report) => (report, None),
        // Nothing is known of the program, which is the program's doing.
        Err(SessionCheckError::Check(error)) => (CheckReport::default(), Some(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let ok = error.is_none() && !report.has_errors();
    if args.json {
        say(&json_line(&Answer { ok, report: &report, error })?)?;
    } else if let Some(error) = error {
        complain(&format!("error: {}", inert(&error)));
    } else {
        let text: String = report.diagnostics.iter().map(|finding| lines(finding, &program.label)).collect();
        tell(&text)?;
        complain(&summary(&report));
    }
    Ok(if ok { Ending::Success } else { Ending::Failure })
}

fn lines(finding: &Diagnostic, label: &str) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut text = format!("{severity}[{}]: {}\n", finding.code, inert(&finding.message));
    failure::place(&mut text, label, finding.line.zip(finding.column), finding.frame.as_deref());
    for hint in &finding.hints {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  hint: {}", inert(hint));
    }
    text
}

fn summary(report: &CheckReport) -> String {
    let (errors, warnings) = (report.errors, report.found.saturating_sub(report.errors));
    let more = match report.found.saturating_sub(report.diagnostics.len()) {
        0 => String::new(),
        more => format!(", {more} more not shown"),
    };
    format!("{}, {}{more}", counted(errors, "error"), counted(warnings, "warning"))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
