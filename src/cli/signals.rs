//! Being told to stop.
//!
//! Owns what SIGHUP, SIGINT and SIGTERM mean: the first one cancels what runs, which then ends in order, with its
//! events written; the next one ends the process at once. A signal that was ignored when the process started, as
//! under `nohup`, stays ignored. It never waits for anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGXFSZ, which has this number on every system that is supported.
const FILE_TOO_LARGE: i32 = 25;

/// Knows which signal came first.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopped(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// 0 while there was none.
    first: AtomicI32,
    done: AtomicBool,
}

impl Stopped {
    /// The signal that cancelled what ran; nothing when none did.
    pub(super) fn by(&self) -> Option<i32> {
        Some(self.0.first.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// From here on a signal ends the process at once, also if it is the first.
    pub(super) fn nothing_is_left(&self) {
        self.0.done.store(true, Ordering::Relaxed);
    }

    /// Takes note of a signal; whether what runs can still be ended in order.
    fn note(&self, signal: i32) -> bool {
        let State { first, done } = &*self.0;
        first.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            && !done.load(Ordering::Relaxed)
    }
}

/// Listens from here on: the first signal cancels `run`.
pub(super) fn cancels(run: CancellationToken) -> anyhow::Result<Stopped> {
    let ignored = ignored();
    let listen = |kind: SignalKind| {
        let is_ignored = is_among(ignored, kind.as_raw_value());
        (!is_ignored).then(|| signal(kind)).transpose().context("cannot listen for signals")
    };
    let mut hangup = listen(SignalKind::hangup())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    // A limit of file sizes is then an error of the write that meets it, not the end of the process.
    // What was installed stays when the stream goes.
    drop(signal(SignalKind::from_raw(FILE_TOO_LARGE)).context("cannot listen for signals")?);
    let stopped = Stopped::default();
    let noted = stopped.clone();
    tokio::spawn(async move {
        loop {
            let kind = tokio::select! {
                () = received(hangup.as_mut()) => SignalKind::hangup(),
                () = received(interrupt.as_mut()) => SignalKind::interrupt(),
                () = received(terminate.as_mut()) => SignalKind::terminate(),
            };
            let signal = kind.as_raw_value();
            if !noted.note(signal) {
                exit(exit_code(signal));
            }
            run.cancel();
        }
    });
    Ok(stopped)
}

/// As a shell reports a process that the signal has ended.
pub(super) fn exit_code(signal: i32) -> u8 {
    u8::try_from(128_i32.saturating_add(signal)).unwrap_or(u8::MAX)
}

async fn received(signal: Option<&mut Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        std::future::pending::<()>().await;
    }
}

/// The signals that are ignored, as bits from the lowest; none where the system does not say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_among(mask: u64, signal: i32) -> bool {
    u32::try_from(signal)
        .ok()
        .and_then(|signal| signal.checked_sub(1))
        .is_some_and(|bit| mask >> bit & 1 == 1)
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
fn exit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}
