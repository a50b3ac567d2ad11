//! `isolane run`, `isolane replay` and `isolane resume` (I-3, I-6).
//!
//! Owns the order: everything that can be wrong with the command is found before anything runs, and the events are
//! written before the command ends, however the program ended. It never words an outcome; [`report`] and
//! [`failure`] do.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use isolane::clock::SystemClock;
use isolane::codemode::check::CheckMode;
use isolane::codemode::lane::RecordedCall;
use isolane::codemode::{LogSink, RecordingError, SessionState};
use isolane::host::{Decision, Host, ReplayError, RunOptions, Session, SessionOptions};
use isolane::ledger::LedgerEvent;
use isolane::outcome::{RunFailure, RunFailureKind, RunOutcome};

use super::args::{Check, DeploymentArgs, ReplayArgs, ResumeArgs, RunArgs, Unsettled};
use super::deployment::{self, Deployment};
use super::input::{Program, Source};
use super::output::{self, StdoutError, complain};
use super::printer::Printer;
use super::progress::Progress;
use super::recorded::{self, Found};
use super::report::ReplayReport;
use super::runtime::Runtime;
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
    let runtime = Runtime::start(&args.runtime, &limits)?;
    let Program { text, label } = source.load(limits.program_bytes)?;
    let host = runtime.host(deployment, limits, mode(args.check), ledger.is_some())?;
    let session = events::session(&host, SessionOptions::new(id), ledger)?;
    let what = What::Run(text);
    let command = Run { host, session, what, label, tools: args.deployment, json: args.json };
    block_on(command.run())?
}

/// Runs a recorded program again (I-6).
pub(super) fn replay(args: &ReplayArgs) -> anyhow::Result<Ending> {
    let limits = deployment::limits(&args.limits);
    let found = recorded::find(&args.recorded)?;
    let events = recorded::events(&args.recorded.file, &found.session)?;
    let allow_write = args.allow_write || recorded::calls(&events, &found.call, &deployment::WRITING);
    let tools = DeploymentArgs { root: ".".into(), allow_write };
    let deployment = Deployment::open(&tools)?;
    let host = Runtime::start(&args.runtime, &limits)?.host(deployment, limits, CheckMode::Off, true)?;
    let session = events::session(&host, SessionOptions::new(found.session.clone()), None)?;
    let (what, label) = (What::Replay { events, found }, PROGRAM.to_owned());
    let command = Run { host, session, what, label, tools, json: args.json };
    block_on(command.run())?
}

/// Goes on with a run that was interrupted (I-6).
pub(super) fn resume(args: ResumeArgs) -> anyhow::Result<Ending> {
    let limits = deployment::limits(&args.limits);
    let found = recorded::find(&args.recorded)?;
    let deployment = Deployment::open(&args.deployment)?;
    let clock = SystemClock::shared();
    // From here on nobody else writes to it, and what is read is all there is.
    let ledger = events::open(Some(&args.recorded.file), &deployment, &found.session, &clock)?;
    let events = match &ledger {
        Some(ledger) => block_on(ledger.events())?.context("cannot read the events again")?,
        None => Vec::new(),
    };
    let host = Runtime::start(&args.runtime, &limits)?.host(deployment, limits, CheckMode::Off, true)?;
    let options = SessionOptions::new(found.session.clone()).state(SessionState::restored(&events));
    let session = events::session(&host, options, ledger)?;
    let what = What::Resume { events, found, unsettled: args.unsettled };
    let label = PROGRAM.to_owned();
    let command = Run { host, session, what, label, tools: args.deployment, json: args.json };
    block_on(command.run())?
}

/// What people call a program that comes from a file of events.
const PROGRAM: &str = "program";

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

/// What is to be done with a program.
enum What {
    Run(String),
    Replay { events: Vec<LedgerEvent>, found: Found },
    Resume { events: Vec<LedgerEvent>, found: Found, unsettled: Unsettled },
}

impl What {
    /// The outcome, and what is to be said of the record.
    async fn done(
        self,
        session: &Session,
        options: RunOptions,
    ) -> anyhow::Result<(RunOutcome, Option<ReplayReport>)> {
        let report = |found: Found, whole, divergence| {
            let (session, run) = (found.session.to_string(), found.call.to_string());
            Some(ReplayReport { session, run, whole, divergence })
        };
        match self {
            Self::Run(text) => Ok((session.run_with(text, options).await, None)),
            Self::Replay { events, found } => {
                let replayed = session.replay(&events, &found.call, options).await?;
                let divergence = replayed.divergence.as_ref().map(ToString::to_string);
                Ok((replayed.outcome, report(found, replayed.is_whole, divergence)))
            }
            Self::Resume { events, found, unsettled } => {
                let if_idempotent = session.retry_if_idempotent();
                let decide = |call: &RecordedCall| match unsettled {
                    Unsettled::Ask => if_idempotent(call),
                    Unsettled::Retry => Decision::Retry,
                    Unsettled::Fail => Decision::Fail,
                };
                match session.resume(&events, &found.call, decide, options).await {
                    Ok(outcome) => Ok((outcome, report(found, false, None))),
                    Err(ReplayError::Recording(RecordingError::Diverged { divergence })) => {
                        let failure = RunFailure::new(RunFailureKind::Abort, divergence.to_string());
                        let divergence = Some(divergence.to_string());
                        Ok((RunOutcome::failed(failure), report(found, false, divergence)))
                    }
                    Err(error @ ReplayError::Undecided { .. }) => Err(anyhow::Error::from(error).context(
                        "the run stops before it goes on; say --unsettled retry or --unsettled fail",
                    )),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }
}

struct Run {
    host: Host,
    session: Session,
    what: What,
    /// What people call the program.
    label: String,
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
        let done = self.what.done(&self.session, options).await;
        let recorded = events::close(&self.session).await;
        let (outcome, replay) = done?;
        // All is done and written but the answer: whoever interrupts now wants the process to end.
        stopped.nothing_is_left();
        if let Some(progress) = progress {
            progress.finish();
        }
        let mut notes = report::notes(&outcome);
        notes.extend(deployment::hint(&self.tools, |tool| looked_for(&outcome, tool)));
        let divergence = replay.as_ref().and_then(|replay| replay.divergence.as_deref());
        let printed = if self.json {
            notes.extend(recorded.as_ref().err().map(output::chain));
            printer.print(&report::json(&outcome, notes, replay.as_ref())?);
            printer.finish().await
        } else {
            show(&printer, &outcome, &notes, &self.label, divergence).await
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
            (None, _) if outcome.result.is_ok() && divergence.is_none() => Ending::Success,
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
    divergence: Option<&str>,
) -> Result<(), StdoutError> {
    if let Ok(Some(value)) = &outcome.result {
        printer.print(&report::value(value));
    }
    let printed = printer.finish().await;
    let mut text = String::new();
    match &outcome.result {
        // If how it ended is what differs, this says so.
        _ if divergence.is_some() => {
            let _ = writeln!(text, "error[diverged]: {}", inert(divergence.unwrap_or_default()));
        }
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
