//! Diagnostics of isolane itself.
//!
//! Owns the variable `ISOLANE_LOG`. Without it nothing is set up, which costs a start nothing. It never writes to
//! standard output.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Names what is logged: a level, or targets with levels.
const VARIABLE: &str = "ISOLANE_LOG";

/// Starts logging to standard error if the environment asks for it.
pub(super) fn start() -> anyhow::Result<()> {
    let Some(wanted) = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()) else { return Ok(()) };
    let wanted = wanted.into_string().ok().context("ISOLANE_LOG is not UTF-8")?;
    let targets: Targets = wanted.parse().with_context(|| {
        format!("{VARIABLE} is neither a level (as `debug`) nor targets with levels (as `isolane=trace`)")
    })?;
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    tracing_subscriber::registry().with(lines).with(targets).try_init().context("logging cannot be started")
}
