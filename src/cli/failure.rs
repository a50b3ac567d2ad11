//! A failed run, for people (CM-23).
//!
//! Owns its layout: kind and message, the place, the stack, the calls that did not finish. It never shows more than
//! fits a screen or two.

use std::fmt::Write as _;

use isolane::outcome::{RunFailure, SubCallReport, SubCallState};

use super::text::inert;

/// Most calls that are listed.
const LISTED: usize = 20;

/// The failure as lines; `label` says what the program is called.
pub(super) fn text(failure: &RunFailure, calls: &[SubCallReport], label: &str) -> String {
    let mut text = format!("error[{}]: {}\n", failure.kind.as_str(), inert(&failure.message));
    place(&mut text, label, failure.line.zip(failure.column), failure.frame.as_deref());
    if let Some(stack) = &failure.stack {
        let frames: Vec<_> = stack.lines().map(str::trim_start).filter(|line| is_frame(line)).collect();
        // A stack of one says what the place has said.
        if frames.len() > 1 {
            for frame in frames {
                // Writing to a string cannot fail, here and below.
                let _ = writeln!(text, "    {}", inert(&called(frame, label)));
            }
        }
    }
    unfinished(&mut text, calls);
    text
}

/// Adds where something is: line and column in the program that is called `label`, and the line itself.
pub(super) fn place(text: &mut String, label: &str, place: Option<(u32, u32)>, frame: Option<&str>) {
    // Writing to a string cannot fail.
    if let Some((line, column)) = place {
        let _ = writeln!(text, "  --> {}:{line}:{column}", inert(label));
    }
    if let Some(frame) = frame {
        let _ = writeln!(text, "{}", inert(frame));
    }
}

fn is_frame(line: &str) -> bool {
    line.starts_with("at ")
}

/// The frame with what people call the program, as `at f (prog.ts:1:2)`.
fn called(frame: &str, label: &str) -> String {
    if let Some(place) = frame.strip_prefix("at program:") {
        return format!("at {label}:{place}");
    }
    match frame.rsplit_once(" (program:") {
        Some((name, place)) => format!("{name} ({label}:{place}"),
        None => frame.to_owned(),
    }
}

fn unfinished(text: &mut String, calls: &[SubCallReport]) {
    let calls: Vec<_> = calls.iter().filter(|call| is_unfinished(call)).collect();
    if calls.is_empty() {
        return;
    }
    text.push_str("tool calls that did not finish:\n");
    for call in calls.iter().take(LISTED) {
        let _ = writeln!(text, "  {} ({}): {}", inert(call.tool.as_str()), call.id.as_str(), state(call));
    }
    if calls.len() > LISTED {
        let _ = writeln!(text, "  and {} more", calls.len() - LISTED);
    }
}

/// Whether the program ended before the call did. What failed before is the program's to tell.
fn is_unfinished(call: &SubCallReport) -> bool {
    match call.state {
        SubCallState::Finished => false,
        SubCallState::Failed => !call.delivered,
        SubCallState::Aborted | SubCallState::NotStarted | SubCallState::Unknown => true,
    }
}

fn state(call: &SubCallReport) -> String {
    match (call.state, call.code, &call.message) {
        (SubCallState::Finished, ..) => "finished".to_owned(),
        (SubCallState::Failed, Some(code), Some(message)) => format!("failed, {code}: {}", inert(message)),
        (SubCallState::Failed, ..) => "failed".to_owned(),
        (SubCallState::Aborted, ..) => "aborted after it had started, effects may have happened".to_owned(),
        (SubCallState::NotStarted, ..) => "never started, nothing happened".to_owned(),
        (SubCallState::Unknown, ..) => "outcome unknown".to_owned(),
    }
}
