//! Being told to stop.
//!
//! Owns what SIGHUP, SIGINT and SIGTERM mean: the first one cancels what runs, which then ends in order, with its
//! events written; the next one ends the process at once. A SIGHUP that was ignored when the process started, as under
//! `nohup`, stays ignored. It never waits for anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGPIPE, by which a process ends that writes to a pipe without a reader.
pub(super) const BROKEN_PIPE: i32 = 13;

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
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let mut hangup =
        if is_ignored(SignalKind::hangup()) { None } else { Some(listen(SignalKind::hangup())?) };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    // A limit of file sizes is then an error of the write that meets it, not the end of the process.
    // What was installed stays when the stream goes.
    drop(listen(SignalKind::from_raw(FILE_TOO_LARGE))?);
    let stopped = Stopped::default();
    let noted = stopped.clone();
    tokio::spawn(async move {
        loop {
            let kind = tokio::select! {
                () = received(hangup.as_mut()) => SignalKind::hangup(),
                () = received(Some(&mut interrupt)) => SignalKind::interrupt(),
                () = received(Some(&mut terminate)) => SignalKind::terminate(),
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

/// Whether the signal is ignored now; no where the system does not say.
fn is_ignored(signal: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(signal.as_raw_value()).ok().and_then(|signal| signal.checked_sub(1));
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}

#[expect(clippy::exit, reason = "whoever asks twice does not want to wait for anything")]
fn exit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}
