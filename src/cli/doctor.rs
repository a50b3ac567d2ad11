//! `isolane doctor` (I-4, E-4).
//!
//! Owns the look at what this machine lets isolane promise: it has a child run a program, and tells what the child says
//! of its sandbox. It changes nothing, and believes a child only before a program has run in it.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use isolane::clock::{Clock as _, SystemClock};
use isolane::engine::{LayerReport, ProcessError, ProcessOptions, ProcessRuntime, v8_version};
use isolane::host::{Host, SessionOptions};
use isolane::limits::RunLimits;
use isolane::registry::PresentationMode;

use super::Ending;
use super::args::DoctorArgs;
use super::output::{say, tell};
use super::run::block_on;
use super::text::{inert, json_line};

/// How long the child may take for each of the two things that it is asked for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What programs in this process can do all the same, in the words of `docs/limitations.md`.
const NOT_PROMISED: [&str; 4] = [
    "a fault in V8, or a program that V8 cannot bear, ends the host",
    "a built-in that does not listen keeps its thread and its memory after the end of its run",
    "a program may have more memory than its limit for a moment",
    "no layer of the sandbox is on",
];

#[derive(Serialize)]
struct Report {
    /// Programs run in child processes, with every layer of the sandbox.
    ok: bool,
    version: &'static str,
    #[serde(rename = "v8")]
    engine: &'static str,
    process: Process,
    in_process: InProcess,
}

#[derive(Serialize)]
struct Process {
    /// Why no program runs there; absent when one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    sandbox: Vec<LayerReport>,
}

#[derive(Serialize)]
struct InProcess {
    not_promised: [&'static str; 4],
}

/// Shows what holds here.
pub(super) fn doctor(args: &DoctorArgs) -> anyhow::Result<Ending> {
    let process = block_on(children())?;
    let whole = process.sandbox.iter().all(|report| report.state.is_on());
    let report = Report {
        ok: process.error.is_none() && whole,
        version: env!("CARGO_PKG_VERSION"),
        engine: v8_version(),
        process,
        in_process: InProcess { not_promised: NOT_PROMISED },
    };
    if args.json {
        say(&json_line(&report)?)?;
    } else {
        tell(&text(&report))?;
    }
    Ok(if report.ok { Ending::Success } else { Ending::Failure })
}

async fn children() -> Process {
    let mut sandbox = Vec::new();
    let error = try_out(&mut sandbox).await.err();
    Process { error, sandbox }
}

async fn try_out(sandbox: &mut Vec<LayerReport>) -> Result<(), String> {
    let mut options = ProcessOptions::default();
    options.max_children = 1;
    let spell = |error: ProcessError| error.to_string();
    let runtime = ProcessRuntime::new(options).map_err(spell)?;
    *sandbox = tokio::select! {
        layers = runtime.layers() => layers.map_err(spell)?,
        () = SystemClock::new().sleep(PATIENCE) => return Err("the child did not say what its sandbox is".to_owned()),
    };
    let mut limits = RunLimits::default();
    limits.wall = PATIENCE;
    let host = Host::builder().runtime(runtime).mode(PresentationMode::Code).limits(limits).build();
    let session = host
        .map_err(|error| error.to_string())?
        .session(SessionOptions::new("doctor"))
        .map_err(|error| error.to_string())?;
    match session.run("return 1 + 1").await.result {
        Ok(Some(value)) if value == 2 => Ok(()),
        Ok(_) => Err("a program that returns 2 returned something else".to_owned()),
        Err(failure) => Err(failure.to_string()),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!("isolane {}, V8 {}\n", report.version, report.engine);
    text.push_str("\nPrograms in child processes, the default:\n");
    // Writing to a string cannot fail.
    let _ = match &report.process.error {
        None => writeln!(text, "  a program ran"),
        Some(error) => writeln!(text, "  no program runs: {}", inert(error)),
    };
    for layer in &report.process.sandbox {
        let note = layer.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let said = format!("{}{note}", layer.state);
        let _ = writeln!(text, "  {:18} {}", layer.layer, inert(&said));
    }
    text.push_str("\nPrograms in the host's own process, with --isolation in-process, are held less well:\n");
    for what in report.in_process.not_promised {
        let _ = writeln!(text, "  {what}");
    }
    text
}
