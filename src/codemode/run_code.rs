//! The tool `run_code` (5.2).
//!
//! Owns its definition: arguments, value, and what a model reads of it. It runs programs through the same runner
//! as everybody else. It calls the runner.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::Clock;
use crate::codemode::fit::{fit_lines, fit_value};
use crate::codemode::lane::CommitOrder;
use crate::codemode::{ProgramRun, ProgramRunner, SessionState};
use crate::content::ContentBlock;
use crate::ids::SessionId;
use crate::json::estimated_size;
use crate::ledger::{Ledger, SessionLedgers};
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunOutcome, SubCallReport};
use crate::registry::RUN_CODE;
use crate::tool::{CallCard, CardKind, DefinitionError, Tool, ToolContext, ToolError};

/// Finds what belongs to a session that is open.
pub trait OpenSessions: SessionLedgers {
    /// What programs of the session keep; nothing for a session that is not open, whose programs keep nothing.
    fn state(&self, session: &SessionId) -> Option<SessionState>;
}

/// What every program of a deployment is run with.
#[derive(Clone, Debug)]
pub struct RunCodeSettings {
    /// The host's limits; a call may only lower them.
    pub limits: RunLimits,
    /// When outcomes of parallel sub-calls are delivered.
    pub commit_order: CommitOrder,
    /// How long tools that were told to stop are waited for.
    pub drain: Option<Duration>,
    /// Whether the values that programs get are recorded, so that their runs can be run again (L-9).
    pub record_values: bool,
}

/// What a model reads when there is nothing to read.
const NO_OUTPUT: &str = "(run_code completed with no output)";

/// The same when there is something and it has no letters: an empty block would not reach every model.
const EMPTY_OUTPUT: &str = "(run_code completed with empty output)";

/// Most groups of sub-calls that a failure's text spells out; its details have every call.
const SPELLED_OUT: usize = 20;

const DESCRIPTION: &str = "Runs one TypeScript program that calls the tools as typed functions: `await \
    tools.NAME({...})`. Only what the program prints with console.log or returns comes back. Top-level await and \
    return work; imports do not.";

/// Defines the tool.
pub fn run_code_tool(
    runner: ProgramRunner,
    settings: RunCodeSettings,
    sessions: Arc<dyn OpenSessions>,
    clock: Arc<dyn Clock>,
) -> Result<Tool, DefinitionError> {
    let shown = settings.limits.shown_bytes;
    Tool::builder(RUN_CODE)
        .description(DESCRIPTION)
        .foreign_parameters(json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The program, TypeScript or JavaScript."},
                "description": {
                    "type": "string",
                    "pattern": "\\S",
                    "description": "A short title for people: what the program does.",
                },
                "timeout_ms": {"type": "integer", "minimum": 1, "description": "Lowers the time limit of the run."},
                "max_output_bytes": {"type": "integer", "minimum": 1, "description": "Shows at most so much of what is printed and returned."},
            },
            "required": ["code"],
            "additionalProperties": false,
        }))
        .foreign_output(json!({
            "type": "object",
            "properties": {"logs": {"type": "array", "items": {"type": "string"}}, "result": {}},
            "required": ["logs"],
            "additionalProperties": false,
        }))
        .render(move |_args, value| Ok(vec![ContentBlock::text(render(value, shown).0)]))
        .present_call(present_call)
        .handler(move |args: Value, context: ToolContext| {
            let (runner, settings) = (runner.clone(), settings.clone());
            let ledger = sessions
                .ledger(&context.session)
                .unwrap_or_else(|| Ledger::disabled(context.session.clone(), Arc::clone(&clock)));
            let state = sessions.state(&context.session);
            async move {
                let keeps = Keeps { state: state.clone(), ledger: ledger.clone() };
                let run = program_run(&args, &context, settings, ledger, state.unwrap_or_default());
                let shown = run.limits.shown_bytes;
                reply(runner.run(run).await, &context, shown, keeps).await
            }
        })
}

fn program_run(
    args: &Value,
    context: &ToolContext,
    settings: RunCodeSettings,
    ledger: Ledger,
    state: SessionState,
) -> ProgramRun {
    let text = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
    // The pipeline spells `5000.0` as the integer that it is; one beyond 64 bits lowers no limit.
    let number = |name: &str| args.get(name).and_then(Value::as_u64);
    let mut limits = settings.limits;
    if let Some(timeout) = number("timeout_ms") {
        limits.wall = limits.wall.min(Duration::from_millis(timeout));
    }
    if let Some(bytes) = number("max_output_bytes").and_then(|bytes| usize::try_from(bytes).ok()) {
        limits.shown_bytes = limits.shown_bytes.min(bytes);
    }
    ProgramRun {
        call: context.call.clone(),
        parent: context.parent.clone(),
        code: text("code").unwrap_or_default(),
        description: text("description"),
        session: context.session.clone(),
        scope: context.scope.clone(),
        limits,
        commit_order: settings.commit_order,
        drain: settings.drain,
        record_values: settings.record_values,
        cancel: context.cancel.clone(),
        ledger,
        state,
        logs: None,
        progress: context.progress_sink(),
        working_root: context.root().map(Into::into),
    }
}

/// Where what is too large to be shown is kept.
struct Keeps {
    /// Nothing for a session that is not open.
    state: Option<SessionState>,
    ledger: Ledger,
}

/// The value for hosts, the text for the model; what sub-calls handed back goes on to the outer call (T-15).
async fn reply(
    outcome: RunOutcome,
    context: &ToolContext,
    room: usize,
    keeps: Keeps,
) -> Result<Value, ToolError> {
    context.forward_deferred(outcome.deferred);
    match outcome.result {
        Ok(result) => {
            if outcome.concludes_turn {
                context.conclude_turn();
            }
            let mut value = json!({"logs": outcome.logs});
            if let (Some(result), Some(members)) = (result, value.as_object_mut()) {
                members.insert("result".to_owned(), result);
            }
            let (mut text, left_out) = render(&value, room);
            let mut notes = outcome.notes;
            if left_out {
                notes.push(keep(&value, room, context, keeps).await);
            }
            add_notes(&mut text, &notes);
            let mut content = vec![ContentBlock::text(text)];
            content.extend(outcome.blocks);
            context.set_content(content);
            Ok(value)
        }
        Err(failure) => {
            let (logs, _) = fit_lines(&outcome.logs, room);
            let message = render_failure(&failure, &logs, &outcome.notes, &outcome.sub_calls);
            let mut details = serde_json::to_value(&failure).unwrap_or_default();
            if let Some(members) = details.as_object_mut() {
                members.insert("logs".to_owned(), json!(outcome.logs));
                members.insert("sub_calls".to_owned(), json!(outcome.sub_calls));
            }
            Err(ToolError::failed(message).with_details(details).with_blocks(outcome.blocks))
        }
    }
}

/// Keeps output that is not shown whole, and says where it is (CM-28).
async fn keep(value: &Value, room: usize, context: &ToolContext, Keeps { state, ledger }: Keeps) -> String {
    let bytes = estimated_size(value);
    let Some(state) = state else {
        return format!(
            "this is a part of about {bytes} bytes of output; {room} are shown. Print or return less"
        );
    };
    let key = state.keep_output(value.clone(), &context.call, &ledger).await;
    format!(
        "this is a part of about {bytes} bytes of output; {room} are shown. A program has all of it, \
         {{logs, result}}, in state.get(\"{key}\"): read on in pieces"
    )
}

/// Logs, then the result: strings raw, other JSON pretty-printed (CM-6), in at most so many bytes (CM-28); whether
/// anything was left out.
fn render(value: &Value, room: usize) -> (String, bool) {
    let logs = value.get("logs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let logs: Vec<String> = logs.map(str::to_owned).collect();
    let (mut parts, mut left_out) = match value.get("result") {
        None => fit_lines(&logs, room),
        // Neither pushes the other out: what the logs do not need, the result has, which is worth more.
        Some(result) => {
            let printed: usize = logs.iter().map(|line| line.len() + 1).sum();
            let (result, cut) = fit_value(result, room.saturating_sub(printed.min(room / 4)));
            let (mut parts, left_out) = fit_lines(&logs, room.saturating_sub(result.len()));
            parts.push(result);
            (parts, left_out || cut)
        }
    };
    if parts.iter().all(|part| part.trim().is_empty()) {
        left_out = false;
        parts = vec![if parts.is_empty() { NO_OUTPUT } else { EMPTY_OUTPUT }.to_owned()];
    }
    (parts.join("\n"), left_out)
}

fn add_notes(text: &mut String, notes: &[String]) {
    for note in notes {
        text.push_str("\nnote: ");
        text.push_str(note);
    }
}

fn render_failure(
    failure: &RunFailure,
    logs: &[String],
    notes: &[String],
    calls: &[SubCallReport],
) -> String {
    let mut text = String::new();
    for line in logs {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&failure.to_string());
    if let Some(frame) = &failure.frame {
        text.push('\n');
        text.push_str(frame);
    }
    add_notes(&mut text, notes);
    if !calls.is_empty() {
        text.push_str("\ntool calls of this run: ");
        text.push_str(&list(calls));
    }
    text
}

/// Every sub-call in order, equal neighbours as one: `read finished (3 times), write failed` (CM-31).
fn list(calls: &[SubCallReport]) -> String {
    let groups: Vec<_> =
        calls.chunk_by(|one, next| (&one.tool, one.state) == (&next.tool, next.state)).collect();
    let (spelled_out, rest) = groups.split_at(groups.len().min(SPELLED_OUT));
    let mut listed: Vec<_> = spelled_out.iter().filter_map(|group| describe(group)).collect();
    let mut more: BTreeMap<&str, usize> = BTreeMap::new();
    for call in rest.iter().copied().flatten() {
        *more.entry(call.state.as_str()).or_default() += 1;
    }
    let counted: Vec<_> = more.iter().map(|(state, count)| format!("{count} {state}")).collect();
    if !counted.is_empty() {
        listed.push(format!("and of the others {}", counted.join(", ")));
    }
    listed.join(", ")
}

fn describe(group: &[SubCallReport]) -> Option<String> {
    let SubCallReport { tool, state, .. } = group.first()?;
    let times = if group.len() > 1 { format!(" ({} times)", group.len()) } else { String::new() };
    Some(format!("{tool} {}{times}", state.as_str()))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a presenter")]
fn present_call(args: &Value) -> Option<CallCard> {
    let title = args.get("description").and_then(Value::as_str).unwrap_or("Run a program");
    Some(CallCard::Generic {
        title: title.to_owned(),
        kind: CardKind::Execute,
        raw_input: args.clone(),
        locations: Vec::new(),
    })
}
