//! `isolane check` (I-4, CM-27).
//!
//! Owns how findings are laid out. It runs no program: the host has no runtime for one.

use std::fmt::Write as _;

use serde::Serialize;

use isolane::codemode::check::{CheckReport, Diagnostic, Severity};
use isolane::host::SessionOptions;
use isolane::limits::RunLimits;

use super::Ending;
use super::args::CheckArgs;
use super::deployment::Deployment;
use super::input::Source;
use super::output::{complain, say};
use super::run::block_on;
use super::text::{inert, json_line};

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    #[serde(flatten)]
    report: &'a CheckReport,
}

/// Checks a program.
pub(super) fn check(args: CheckArgs) -> anyhow::Result<Ending> {
    let limit = RunLimits::default().program_bytes;
    let deployment = Deployment::open(&args.deployment)?;
    let program = Source::find(args.code, args.program, limit)?.load(limit)?;
    let host = deployment.host_to_check()?;
    let session = host.session(SessionOptions::new("cli"))?;
    let report = block_on(async { session.check(&program.text).await })??;
    let ok = !report.has_errors();
    if args.json {
        say(&json_line(&Report { ok, report: &report })?)?;
    } else {
        let text: String = report.diagnostics.iter().map(|finding| lines(finding, &program.label)).collect();
        say(&text)?;
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
    // Writing to a string cannot fail, here and below.
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        let _ = writeln!(text, "  --> {}:{line}:{column}", inert(label));
    }
    if let Some(frame) = &finding.frame {
        let _ = writeln!(text, "{}", inert(frame));
    }
    for hint in &finding.hints {
        let _ = writeln!(text, "  hint: {}", inert(hint));
    }
    text
}

fn summary(report: &CheckReport) -> String {
    let count = |severity| report.diagnostics.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let more = match report.found.saturating_sub(report.diagnostics.len()) {
        0 => String::new(),
        more => format!(", {more} more not shown"),
    };
    format!("{}, {}{more}", counted(errors, "error"), counted(warnings, "warning"))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
