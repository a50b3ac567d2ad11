//! `isolane call` (I-4).
//!
//! Owns one native call and how its result is shown. It never starts an engine.

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use isolane::clock::SystemClock;
use isolane::content::ContentBlock;
use isolane::host::{Session, SessionOptions};
use isolane::outcome::{CallResult, ErrorCode};

use super::args::CallArgs;
use super::deployment::{self, Deployment};
use super::output::{self, StdoutError, complain, say};
use super::run::block_on;
use super::signals::Stopped;
use super::text::{ended, inert, json_line};
use super::{Ending, events, input, signals};

/// Calls one tool.
pub(super) fn call(args: CallArgs) -> anyhow::Result<Ending> {
    let deployment = Deployment::open(&args.deployment)?;
    let arguments = input::arguments(args.arguments)?;
    let clock = SystemClock::shared();
    let id = events::session_id(&*clock);
    let ledger = events::open(args.events.as_deref(), &deployment, &id, &clock)?;
    let session = events::session(&deployment.host()?, SessionOptions::new(id), ledger)?;
    let Made { result, stopped, recorded } = block_on(make(session, &args.tool, arguments))??;
    let code = result.as_ref().err().map(|failure| failure.code);
    let unknown = |tool: &str| code == Some(ErrorCode::UnknownTool) && args.tool == tool;
    let mut notes = Vec::from_iter(deployment::hint(&args.deployment, unknown));
    let printed = if args.json {
        notes.extend(recorded.as_ref().err().map(output::chain));
        say(&json_line(&report(&result, &notes))?)
    } else {
        show(&result, &notes)
    };
    let aborted = matches!(code, Some(ErrorCode::Aborted | ErrorCode::AbortedBeforeDispatch));
    let stopped = stopped.by().filter(|_| aborted);
    // Of several errors one is the command's; the others must not be lost.
    if let Err(error) = &printed
        && (args.json || !error.reader_is_gone())
        && (stopped.is_some() || recorded.is_err())
    {
        complain(&format!("error: {error}"));
    }
    recorded?;
    if let Some(signal) = stopped {
        return Ok(Ending::Stopped(signal));
    }
    printed?;
    Ok(if result.is_ok() { Ending::Success } else { Ending::Failure })
}

/// A call that was made.
struct Made {
    result: CallResult,
    stopped: Stopped,
    recorded: anyhow::Result<()>,
}

async fn make(session: Session, tool: &str, arguments: Value) -> anyhow::Result<Made> {
    let cancel = CancellationToken::new();
    let stopped = signals::cancels(cancel.clone())?;
    let result = session.call_with(tool, arguments, cancel).await;
    let recorded = events::close(&session).await;
    stopped.nothing_is_left();
    Ok(Made { result, stopped, recorded })
}

/// `{ok, value, content, error, notes}`; what is absent is null.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    value: Option<&'a Value>,
    content: &'a [ContentBlock],
    error: Option<ErrorReport<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    code: ErrorCode,
    message: &'a str,
    details: Option<&'a Value>,
}

fn show(result: &CallResult, notes: &[String]) -> Result<(), StdoutError> {
    let printed = match result {
        Ok(success) => say(&text(&success.content)),
        Err(failure) => {
            complain(&inert(&failure.to_string()));
            Ok(())
        }
    };
    for note in notes {
        complain(&format!("note: {}", inert(note)));
    }
    printed
}

fn report<'a>(result: &'a CallResult, notes: &'a [String]) -> Report<'a> {
    match result {
        Ok(success) => {
            Report { ok: true, value: Some(&success.value), content: &success.content, error: None, notes }
        }
        Err(failure) => Report {
            ok: false,
            value: None,
            content: &failure.content,
            error: Some(ErrorReport {
                code: failure.code,
                message: &failure.message,
                details: failure.details.as_ref(),
            }),
            notes,
        },
    }
}

/// What a model reads, with a line in place of what is not text.
fn text(content: &[ContentBlock]) -> String {
    let mut text = String::new();
    for block in content {
        let shown = match block {
            ContentBlock::Text { text } => text.clone(),
            ContentBlock::Json { value } => format!("{value:#}"),
            ContentBlock::Image { data, mime_type } | ContentBlock::Audio { data, mime_type } => {
                format!("({mime_type}, {} characters of base64)", data.len())
            }
            ContentBlock::ResourceLink { uri, name, .. } => format!("({name}: {uri})"),
            _ => "(a block that cannot be shown)".to_owned(),
        };
        if !shown.is_empty() {
            text.push_str(&ended(inert(&shown).into_owned()));
        }
    }
    text
}
