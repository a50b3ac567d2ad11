//! The progress line: which tool calls run.
//!
//! Owns the line and the counts behind it. It is drawn only on a terminal, only once a call has started, and is
//! gone when the run has ended. It never changes a call: it stands around the body and counts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use isolane::ids::ToolName;
use isolane::outcome::CallResult;
use isolane::pipeline::{AroundDispatch, AroundNext, BoxFuture, Call};

use super::text::inert;

/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Most tools that the line names.
const NAMED: usize = 4;

/// Counts calls and shows the counts.
pub(super) struct Progress {
    bar: ProgressBar,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: BTreeMap<ToolName, u64>,
    started: bool,
    done: u64,
}

impl Progress {
    /// A line on standard error; nothing if that is no terminal.
    pub(super) fn on_terminal() -> Option<Arc<Self>> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let counts = Arc::new(Counts::default());
        let shown = Arc::clone(&counts);
        let style = ProgressStyle::with_template("{spinner} {calls} ({elapsed})").ok()?.with_key(
            "calls",
            move |_state: &ProgressState, out: &mut dyn Write| {
                // A line that cannot be drawn is left out.
                let _ = out.write_str(&shown.line());
            },
        );
        Some(Arc::new(Self { bar: ProgressBar::new_spinner().with_style(style), counts }))
    }

    /// The line, for whoever has to write around it.
    pub(super) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl AroundDispatch for Progress {
    fn around<'a>(&'a self, call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            if self.counts.start(&call.tool) {
                self.bar.enable_steady_tick(TICK);
            }
            // Counts the end also of a call that is given up.
            let _running = Running { counts: &self.counts, tool: &call.tool };
            next.run().await
        })
    }
}

struct Running<'a> {
    counts: &'a Counts,
    tool: &'a ToolName,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.counts.end(self.tool);
    }
}

impl Counts {
    /// Counts the start of a call; whether it was the first.
    fn start(&self, tool: &ToolName) -> bool {
        let mut state = self.lock();
        *state.running.entry(tool.clone()).or_default() += 1;
        !std::mem::replace(&mut state.started, true)
    }

    fn end(&self, tool: &ToolName) {
        let mut state = self.lock();
        state.done += 1;
        if let Some(count) = state.running.get_mut(tool) {
            *count -= 1;
            if *count == 0 {
                state.running.remove(tool);
            }
        }
    }

    /// As `3 running: grep, read x2; 120 done`.
    fn line(&self) -> String {
        let state = self.lock();
        let running: u64 = state.running.values().sum();
        let mut line = format!("{running} running");
        for (index, (tool, count)) in state.running.iter().take(NAMED).enumerate() {
            line.push_str(if index == 0 { ": " } else { ", " });
            line.push_str(&inert(tool.as_str()));
            if *count > 1 {
                // Writing to a string cannot fail, here and below.
                let _ = write!(line, " x{count}");
            }
        }
        if state.running.len() > NAMED {
            line.push_str(", ...");
        }
        let _ = write!(line, "; {} done", state.done);
        line
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
