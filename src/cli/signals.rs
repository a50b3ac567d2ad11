//! Being told to stop.
//!
//! Owns what SIGINT and SIGTERM mean: the first one cancels what runs, which then ends in order, with its events
//! written; the next one ends the process at once. It never waits for anything.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Listens from here on. Cancel the token when nothing runs any more: the next signal then ends the process.
pub(super) fn cancels(run: CancellationToken) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    tokio::spawn(async move {
        loop {
            // As a shell reports a process that the signal has ended.
            let code = tokio::select! {
                _ = interrupt.recv() => 128 + SignalKind::interrupt().as_raw_value(),
                _ = terminate.recv() => 128 + SignalKind::terminate().as_raw_value(),
            };
            if run.is_cancelled() {
                exit(code);
            }
            run.cancel();
        }
    });
    Ok(())
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
