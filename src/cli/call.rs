//! `isolane call` (I-4).
//!
//! Owns one native call and how its result is shown. It never starts an engine.

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use isolane::clock::SystemClock;
use isolane::content::ContentBlock;
use isolane::host::Session;
use isolane::outcome::{CallResult, ErrorCode};

use super::args::CallArgs;
use super::deployment::Deployment;
use super::output::{complain, say};
use super::run::block_on;
use super::text::{ended, inert, json_line};
use super::{Ending, events, input, signals};

/// Calls one tool.
pub(super) fn call(args: CallArgs) -> anyhow::Result<Ending> {
    let deployment = Deployment::open(&args.deployment)?;
    let arguments = input::arguments(args.arguments)?;
    let clock = SystemClock::shared();
    let id = events::session_id(&*clock);
    let ledger = events::open(args.events.as_deref(), &deployment, &id, &clock)?;
    let session = events::session(&deployment.host()?, id, ledger)?;
    let (result, recorded) = block_on(make(session, &args.tool, arguments))?;
    let result = result?;
    let shown = show(&result, args.json);
    recorded?;
    shown?;
    Ok(if result.is_ok() { Ending::Success } else { Ending::Failure })
}

async fn make(
    session: Session,
    tool: &str,
    arguments: Value,
) -> (anyhow::Result<CallResult>, anyhow::Result<()>) {
    let cancel = CancellationToken::new();
    if let Err(error) = signals::cancels(cancel.clone()) {
        return (Err(error), Ok(()));
    }
    let result = session.call_with(tool, arguments, cancel.clone()).await;
    cancel.cancel();
    (Ok(result), events::close(&session).await)
}

/// `{ok, value, content, error}`; what is absent is null.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    value: Option<&'a Value>,
    content: &'a [ContentBlock],
    error: Option<ErrorReport<'a>>,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    code: ErrorCode,
    message: &'a str,
    details: Option<&'a Value>,
}

fn show(result: &CallResult, json: bool) -> anyhow::Result<()> {
    match result {
        _ if json => say(&json_line(&report(result))?)?,
        Ok(success) => say(&text(&success.content))?,
        Err(failure) => complain(&inert(&failure.to_string())),
    }
    Ok(())
}

fn report(result: &CallResult) -> Report<'_> {
    match result {
        Ok(success) => {
            Report { ok: true, value: Some(&success.value), content: &success.content, error: None }
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
