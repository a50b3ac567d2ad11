//! What a run gave back, for people and for programs.
//!
//! Owns the JSON object of `run --json`, `replay --json` and `resume --json` and the text of a value. It never leaves anything out of the object; the
//! text leaves out what it names in a note.

use serde::Serialize;
use serde_json::Value;

use isolane::outcome::{RunFailure, RunFailureKind, RunOutcome, RunStats, SubCallReport};

use super::text::{ended, inert, json_for_people, json_line};

/// `{ok, logs, result, error, stats}`, what is absent is null; and `replay` where something was recorded before.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    logs: &'a [String],
    result: Option<&'a Value>,
    error: Option<ErrorReport<'a>>,
    stats: StatsReport<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<&'a ReplayReport>,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    kind: RunFailureKind,
    message: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    frame: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<&'a str>,
    /// All of them, with their states (CM-31).
    sub_calls: &'a [SubCallReport],
}

impl<'a> ErrorReport<'a> {
    fn new(failure: &'a RunFailure, sub_calls: &'a [SubCallReport]) -> Self {
        Self {
            kind: failure.kind,
            message: &failure.message,
            line: failure.line,
            column: failure.column,
            frame: failure.frame.as_deref(),
            stack: failure.stack.as_deref(),
            sub_calls,
        }
    }
}

#[derive(Serialize)]
struct StatsReport<'a> {
    #[serde(flatten)]
    stats: &'a RunStats,
    notes: Vec<String>,
}

/// What is said of a run that was run again, or went on, beside its outcome (I-6).
#[derive(Serialize)]
pub(super) struct ReplayReport {
    pub(super) session: String,
    /// The call that carried the program.
    pub(super) run: String,
    /// Whether the record has the end of the run.
    pub(super) whole: bool,
    /// The first thing that is not as it was recorded; absent when all is, as far as the record goes.
    pub(super) divergence: Option<String>,
}

/// The outcome as one line of JSON.
pub(super) fn json(
    outcome: &RunOutcome,
    notes: Vec<String>,
    replay: Option<&ReplayReport>,
) -> Result<String, serde_json::Error> {
    let diverged = replay.is_some_and(|replay| replay.divergence.is_some());
    json_line(&Report {
        ok: outcome.result.is_ok() && !diverged,
        replay,
        logs: &outcome.logs,
        result: outcome.result.as_ref().ok().and_then(Option::as_ref),
        error: outcome.result.as_ref().err().map(|failure| ErrorReport::new(failure, &outcome.sub_calls)),
        stats: StatsReport { stats: &outcome.stats, notes },
    })
}

/// A value for people: text as it is, anything else as JSON.
pub(super) fn value(value: &Value) -> String {
    ended(match value {
        Value::String(text) => inert(text).into_owned(),
        other => json_for_people(other),
    })
}

/// Remarks about a run: what it has to say, and what is not shown.
pub(super) fn notes(outcome: &RunOutcome) -> Vec<String> {
    let mut notes = outcome.notes.clone();
    notes.extend(outcome.deferred.iter().map(|deferred| deferred.text.clone()));
    if !outcome.blocks.is_empty() {
        notes
            .push(format!("{} blocks of tool results that are not text are not shown", outcome.blocks.len()));
    }
    if notes.is_empty() && outcome.logs.is_empty() && matches!(outcome.result, Ok(None)) {
        notes.push("the program printed nothing and returned nothing".to_owned());
    }
    notes
}
