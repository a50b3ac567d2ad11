//! From what was thrown to a structured failure (CM-23).
//!
//! Owns the words and the place of exceptions and syntax errors. It never shows a frame or a path of the host. It
//! calls the prepared program for positions, frames and hints.

use serde::Deserialize;

use crate::codemode::bindings::Bindings;
use crate::codemode::program::{Position, PreparedProgram, ProgramError, ToolHints, explain_missing_global};
use crate::engine::execution::shorten;
use crate::engine::stack::{first_position, place_text};
use crate::ids::ToolName;
use crate::outcome::{RunFailure, RunFailureKind};

/// What the runtime JavaScript says of a thrown value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Description {
    name: String,
    message: String,
    stack: String,
    tool_call: Option<FailedCall>,
    missing: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FailedCall {
    tool: String,
    code: String,
}

/// The failure of a program that threw. `thrown_at` is for what has no stack of its own.
pub(super) fn exception(
    program: &PreparedProgram,
    bindings: &Bindings,
    description: Option<Description>,
    thrown_at: Option<Position>,
    unhandled: bool,
) -> RunFailure {
    let Some(Description { name, message, mut stack, tool_call, missing }) = description else {
        return RunFailure::new(RunFailureKind::Exception, "the program threw a value that cannot be shown");
    };
    let mut text = match (name.as_str(), &tool_call) {
        ("", _) => message,
        (_, Some(call)) => format!("{name} ({}, {}): {message}", call.tool, call.code),
        (_, None) if message.is_empty() => name,
        (_, None) => format!("{name}: {message}"),
    };
    // A program can write a stack of its own; a line that is not there is none of it.
    let there = |position: &Position| !program.frame(*position).is_empty();
    let mut position = first_position(&stack).filter(there).or(thrown_at);
    if let Some(missing) = missing {
        if let Some(place) = &mut position {
            let named = program.place_of_name(&missing, *place);
            stack = stack.replacen(&place_text(*place), &place_text(named), 1);
            *place = named;
        }
        let names: Vec<_> = bindings.names().iter().map(ToolName::as_str).collect();
        let rest = position.map(|position| program.rest_of_line(position)).unwrap_or_default();
        let follows = rest.strip_prefix(missing.as_str()).unwrap_or_default();
        let hints = ToolHints { names: &names, ..ToolHints::default() };
        if let Some(hint) = explain_missing_global(&missing, follows, &hints) {
            text.push_str(". ");
            text.push_str(&hint);
        }
    }
    if unhandled {
        text =
            format!("a promise was rejected and nobody handled it (write `await` before the call): {text}");
    }
    RunFailure {
        kind: RunFailureKind::Exception,
        message: text,
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        frame: position.map(|position| program.frame(position)),
        stack: (!stack.is_empty()).then_some(stack),
    }
}

/// The note on promises that were rejected when the program had returned already, the first of them as `failure`.
pub(super) fn late(failure: &RunFailure, count: usize) -> String {
    let line = failure.line.map(|line| format!(" at line {line}")).unwrap_or_default();
    let others = match count.saturating_sub(1) {
        0 => String::new(),
        others => format!(", and {others} more after it"),
    };
    let mut note = format!(
        "a promise was rejected{line} after the program had returned{others}, and nobody handled it; await it before \
         you return, or catch it: {}",
        failure.message
    );
    shorten(&mut note);
    note
}

/// The failure of a program that V8 does not compile.
pub(super) fn syntax(
    program: &PreparedProgram,
    text: &str,
    line: Option<usize>,
    column: Option<usize>,
) -> RunFailure {
    let place = line.zip(column);
    let place = place.and_then(|(line, column)| Some((line.try_into().ok()?, column.try_into().ok()?)));
    let ProgramError { message, position, frame, .. } = program.not_compiled(text, place);
    RunFailure {
        kind: RunFailureKind::Syntax,
        message,
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        frame,
        stack: None,
    }
}
