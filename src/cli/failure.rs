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
    // Writing to a string cannot fail, here and below.
    if let (Some(line), Some(column)) = (failure.line, failure.column) {
        let _ = writeln!(text, "  --> {}:{line}:{column}", inert(label));
    }
    if let Some(frame) = &failure.frame {
        let _ = writeln!(text, "{}", inert(frame));
    }
    if let Some(stack) = &failure.stack {
        let frames: Vec<_> = stack.lines().map(str::trim_start).filter(|line| is_frame(line)).collect();
        // A stack of one says what the place has said.
        if frames.len() > 1 {
            for frame in frames {
                let _ = writeln!(text, "    {}", inert(frame));
            }
        }
    }
    unfinished(&mut text, calls);
    text
}

fn is_frame(line: &str) -> bool {
    line.starts_with("at ")
}

fn unfinished(text: &mut String, calls: &[SubCallReport]) {
    let calls: Vec<_> = calls.iter().filter(|call| call.state != SubCallState::Finished).collect();
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

fn state(call: &SubCallReport) -> String {
    let what = match call.state {
        SubCallState::Finished => "finished",
        SubCallState::Failed => "failed",
        SubCallState::Aborted => "aborted after it had started, effects may have happened",
        SubCallState::NotStarted => "never started, nothing happened",
        SubCallState::Unknown => "outcome unknown",
    };
    match (call.state, call.code, &call.message) {
        (SubCallState::Failed, Some(code), Some(message)) => format!("{what}, {code}: {}", inert(message)),
        _ => what.to_owned(),
    }
}
