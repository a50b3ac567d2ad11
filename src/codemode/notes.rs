//! What a model must be told beside logs and result (CM-6, CM-21, CM-25).
//!
//! Owns the one-line notes: recoveries, calls that nobody awaited, values that were dropped. It never changes an
//! outcome. It calls nobody.

use serde_json::Value;

use crate::codemode::lane::LaneReport;
use crate::codemode::program::PreparedProgram;
use crate::outcome::{RunFailure, SubCallReport, SubCallState};

/// Most calls that one note names.
const NAMED: usize = 10;

/// Every note of a run, in the order in which they matter.
pub(super) fn collect(
    program: &PreparedProgram,
    result: &Result<Option<Value>, RunFailure>,
    logs: &[String],
    lane: &LaneReport,
    engine: Vec<String>,
) -> Vec<String> {
    let mut notes = program.notes().to_vec();
    notes.extend(engine);
    notes.extend(not_awaited(&lane.sub_calls));
    if matches!(result, Ok(None)) && logs.is_empty() {
        notes.extend(dropped_values(lane));
    }
    notes
}

fn not_awaited(calls: &[SubCallReport]) -> Option<String> {
    let left: Vec<_> = calls.iter().filter(|call| !call.delivered).collect();
    if left.is_empty() {
        return None;
    }
    let named: Vec<_> =
        left.iter().take(NAMED).map(|call| format!("{} ({})", call.tool, describe(call))).collect();
    let more = if left.len() > NAMED { format!(", and {} more", left.len() - NAMED) } else { String::new() };
    let (count, verb) = if left.len() == 1 {
        ("1 tool call was".to_owned(), "it")
    } else {
        (format!("{} tool calls were", left.len()), "them")
    };
    Some(format!(
        "{count} not awaited when the program ended: {}{more}. Write `await` before the call, or await {verb} with \
         Promise.all",
        named.join(", ")
    ))
}

fn describe(call: &SubCallReport) -> String {
    match (call.state, call.code) {
        (SubCallState::Finished, _) => "it had finished".to_owned(),
        (SubCallState::NotStarted, _) => "never started, nothing happened".to_owned(),
        (SubCallState::Aborted, _) => "aborted after it had started, effects may have happened".to_owned(),
        (SubCallState::Failed, Some(code)) => {
            format!("failed with {code}: {}", call.message.as_deref().unwrap_or_default())
        }
        (SubCallState::Failed | SubCallState::Unknown, _) => "outcome unknown".to_owned(),
    }
}

fn dropped_values(lane: &LaneReport) -> Option<String> {
    let finished = lane.sub_calls.iter().filter(|call| call.state == SubCallState::Finished).count();
    match (lane.started, finished) {
        (0, _) => None,
        (1, _) => Some(
            "1 tool call ran and its value was dropped, because nothing was printed or returned. Print with \
             console.log(...) or `return` what you need"
                .to_owned(),
        ),
        (started, _) => Some(format!(
            "{started} tool calls ran and their values were dropped, because nothing was printed or returned. Print \
             with console.log(...) or `return` what you need"
        )),
    }
}
