//! `isolane run` (I-3).
//!
//! Owns the order: everything that can be wrong with the command is found before anything runs, and the events are
//! written before the command ends, however the program ended. It never words an outcome; [`report`] and
//! [`failure`] do.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use isolane::clock::SystemClock;
use isolane::codemode::LogSink;
use isolane::codemode::check::CheckMode;
use isolane::engine::{InProcessOptions, InProcessRuntime, ProcessRuntime};
use isolane::host::{Host, RunOptions, Session};
use isolane::outcome::{RunFailureKind, RunOutcome};

use super::args::{Check, DeploymentArgs, Isolation, RunArgs};
use super::deployment::{self, Deployment};
use super::input::{Program, Source};
use super::output::{self, StdoutError, complain};
use super::printer::Printer;
use super::progress::Progress;
use super::text::inert;
use super::{Ending, events, failure, report, signals};

/// Runs a program.
pub(super) fn run(args: RunArgs) -> anyhow::Result<Ending> {
    let limits = deployment::limits(&args.limits);
    let deployment = Deployment::open(&args.deployment)?;
    let source = Source::find(args.source, limits.program_bytes)?;
    let clock = SystemClock::shared();
    let id = events::session_id(&*clock);
    let ledger = events::open(args.events.as_deref(), &deployment, &id, &clock)?;
    let load = || source.load(limits.program_bytes);
    let check = mode(args.check);
    // The isolate is made beside all that follows.
    let (program, host) = match args.isolation {
        Isolation::Process => {
            let runtime = ProcessRuntime::new(deployment::children(&limits))?;
            (load()?, deployment.host_with(runtime, limits, check)?)
        }
        Isolation::InProcess => {
            let options = InProcessOptions { limits: limits.clone(), ..Default::default() };
            let runtime = InProcessRuntime::new(&options);
            (load()?, deployment.host_with(runtime, limits, check)?)
        }
    };
    let session = events::session(&host, id, ledger)?;
    let command = Run { host, session, program, tools: args.deployment, json: args.json };
    block_on(command.run())?
}

fn mode(check: Check) -> CheckMode {
    match check {
        Check::Off => CheckMode::Off,
        Check::Warn => CheckMode::Warn,
        Check::Enforce => CheckMode::Enforce,
    }
}

/// Works a command to its end; what it leaves behind is not waited for.
pub(super) fn block_on<T>(command: impl Future<Output = T>) -> anyhow::Result<T> {
    // One thread: programs have one of their own, and tools that block are handed to others.
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let executor = executor.context("cannot start the runtime")?;
    let ended = executor.block_on(command);
    executor.shutdown_background();
    Ok(ended)
}

struct Run {
    host: Host,
    session: Session,
    program: Program,
    tools: DeploymentArgs,
    json: bool,
}

impl Run {
    async fn run(self) -> anyhow::Result<Ending> {
        let cancel = CancellationToken::new();
        let stopped = signals::cancels(cancel.clone())?;
        let progress = if self.json { None } else { Progress::on_terminal() };
        if let Some(progress) = &progress {
            self.host.pipeline().add_around(None, Arc::clone(progress) as _).keep();
        }
        let printer = Printer::start(progress.as_ref().map(|progress| progress.bar()), cancel.clone())?;
        let options = RunOptions {
            logs: (!self.json).then(|| Arc::clone(&printer) as Arc<dyn LogSink>),
            cancel: Some(cancel.clone()),
            ..RunOptions::default()
        };
        let outcome = self.session.run_with(self.program.text, options).await;
        let recorded = events::close(&self.session).await;
        // All is done and written but the answer: whoever interrupts now wants the process to end.
        stopped.nothing_is_left();
        if let Some(progress) = progress {
            progress.finish();
        }
        let mut notes = report::notes(&outcome);
        notes.extend(deployment::hint(&self.tools, |tool| looked_for(&outcome, tool)));
        let printed = if self.json {
            notes.extend(recorded.as_ref().err().map(output::chain));
            printer.print(&report::json(&outcome, notes)?);
            printer.finish().await
        } else {
            show(&printer, &outcome, &notes, &self.program.label).await
        };
        let aborted = outcome.result.as_ref().is_err_and(|failure| failure.kind == RunFailureKind::Abort);
        let stopped = stopped.by().filter(|_| aborted);
        let gone = !self.json && printed.as_ref().is_err_and(StdoutError::reader_is_gone);
        // Of several errors one is the command's; the others must not be lost.
        if let Err(error) = &printed
            && !gone
            && (stopped.is_some() || recorded.is_err())
        {
            complain(&format!("error: {error}"));
        }
        recorded?;
        Ok(match (stopped, printed) {
            (Some(signal), _) => Ending::Stopped(signal),
            (None, Err(error)) if !gone => return Err(error.into()),
            // It was ended because nobody reads it any more, as a broken pipe ends any program.
            (None, Err(_)) if aborted => Ending::Stopped(signals::BROKEN_PIPE),
            (None, _) if outcome.result.is_ok() => Ending::Success,
            (None, _) => Ending::Failure,
        })
    }
}

/// Whether the program failed for want of this tool.
fn looked_for(outcome: &RunOutcome, tool: &str) -> bool {
    let missing = format!("there is no tool \"{tool}\"");
    outcome.result.as_ref().is_err_and(|failure| failure.message.contains(&missing))
}

/// What people see: the result after the logs, then notes and failure.
async fn show(
    printer: &Printer,
    outcome: &RunOutcome,
    notes: &[String],
    label: &str,
) -> Result<(), StdoutError> {
    if let Ok(Some(value)) = &outcome.result {
        printer.print(&report::value(value));
    }
    let printed = printer.finish().await;
    let mut text = String::new();
    match &outcome.result {
        // Nobody reads, which is why it was ended: nothing to tell.
        Err(failure) if printed.is_err() && failure.kind == RunFailureKind::Abort => return printed,
        Err(failure) => text.push_str(&failure::text(failure, &outcome.sub_calls, label)),
        Ok(_) => {}
    }
    for note in notes {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "note: {}", inert(note));
    }
    if !text.is_empty() {
        complain(&text);
    }
    printed
}
