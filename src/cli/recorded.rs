//! Runs in a file of events.
//!
//! Owns how one of them is found, and what is said when it is not. It never changes the file. It calls the ledger's
//! readers.

use std::path::Path;

use anyhow::bail;

use isolane::ids::{CallId, SessionId, ToolName};
use isolane::ledger::{EventBody, LedgerEvent, StoreWarning, read_ledger};

use super::args::RecordedArgs;
use super::output::complain;

/// One run of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) session: SessionId,
    pub(super) call: CallId,
}

impl Found {
    /// As SESSION/CALL, which names it among all others.
    fn id(&self) -> String {
        format!("{}/{}", self.session, self.call)
    }

    fn is(&self, id: &str) -> bool {
        self.session.as_str() == id || self.call.as_str() == id || self.id() == id
    }
}

/// Most runs that an error lists.
const LISTED: usize = 10;

/// Finds the run that was asked for, or the last one.
pub(super) fn find(args: &RecordedArgs) -> anyhow::Result<Found> {
    let RecordedArgs { file, run } = args;
    let mut runs = Vec::new();
    read(file, |event| {
        if let EventBody::RunStart(start) = event.body {
            runs.push(Found { session: event.session, call: start.call });
        }
    })?;
    let list = |runs: &[Found]| {
        let last: Vec<_> = runs.iter().rev().take(LISTED).map(Found::id).collect();
        let more = runs.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(", and {more} before") } else { String::new() };
        format!("{}{more}", last.join(", "))
    };
    let Some(id) = run else {
        let Some(last) = runs.pop() else { bail!("{} tells of no run", file.display()) };
        return Ok(last);
    };
    let mut named: Vec<_> = runs.iter().filter(|run| run.is(id)).cloned().collect();
    match (named.pop(), named.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(found), false) => {
            named.push(found);
            bail!("{} runs of {} are named {id}: {}", named.len(), file.display(), list(&named))
        }
        (None, _) if runs.is_empty() => bail!("{} tells of no run", file.display()),
        (None, _) => bail!("{} has no run {id}; it has {}", file.display(), list(&runs)),
    }
}

/// The events of a session, in order.
pub(super) fn events(file: &Path, session: &SessionId) -> anyhow::Result<Vec<LedgerEvent>> {
    let mut events = Vec::new();
    let warnings = read(file, |event| {
        if event.session == *session {
            events.push(event);
        }
    })?;
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    Ok(events)
}

/// Whether the program of a run called one of these tools.
pub(super) fn calls(events: &[LedgerEvent], run: &CallId, tools: &[&str]) -> bool {
    let is_one = |tool: &ToolName| tools.contains(&tool.as_str());
    events.iter().any(|event| match &event.body {
        EventBody::CodeDispatchStart(start) => start.parent == *run && is_one(&start.tool),
        _ => false,
    })
}

fn read(file: &Path, mut each: impl FnMut(LedgerEvent)) -> anyhow::Result<Vec<StoreWarning>> {
    let mut reader = read_ledger(file)?;
    for event in &mut reader {
        each(event?);
    }
    Ok(reader.warnings().to_vec())
}
