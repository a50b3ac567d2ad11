//! The only reader of time.
//!
//! Owns the [`Clock`] that everything else is handed, the system's and a manual one for tests and replay.
//! No other module may ask the system for the time or sleep. It calls nobody.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// A wait that a [`Clock`] gives out.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

/// A source of time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The calendar time, for events and people.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment, for measuring; never goes back.
    fn monotonic(&self) -> Duration;

    /// Completes when `duration` has passed by this clock.
    fn sleep(&self, duration: Duration) -> Sleep;
}

/// The system's clock. Sleeping needs a tokio runtime with time enabled.
#[derive(Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    #[expect(clippy::disallowed_methods, reason = "this file is where time is read")]
    pub fn new() -> Self {
        Self { origin: std::time::Instant::now() }
    }

    /// The same, ready to be shared.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self::new())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this file is where time is read")]
    fn now(&self) -> Timestamp {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this file is where waiting happens")]
    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A clock that stands still until it is told to move.
///
/// Clones share the same time.
#[derive(Clone, Default)]
pub struct ManualClock {
    state: Arc<Mutex<ManualState>>,
}

#[derive(Default)]
struct ManualState {
    elapsed: Duration,
    next: u64,
    sleepers: BTreeMap<(Duration, u64), oneshot::Sender<()>>,
}

/// The calendar time at which every [`ManualClock`] starts: 2026-01-01T00:00:00Z.
const MANUAL_EPOCH_MS: u64 = 1_767_225_600_000;

impl ManualClock {
    /// A clock at its fixed starting time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the time forward and wakes every sleep that is over by then, earliest first.
    pub fn advance(&self, by: Duration) {
        let due: Vec<_> = {
            let mut state = self.lock();
            state.elapsed = state.elapsed.saturating_add(by);
            let now = state.elapsed;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.sleepers, later).into_values().collect()
        };
        for sleeper in due {
            // A sleep that was dropped needs no waking.
            let _ = sleeper.send(());
        }
    }

    /// How many sleeps are waiting; lets a test see that the other side has reached its wait.
    pub fn sleepers(&self) -> usize {
        let mut state = self.lock();
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        state.sleepers.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("elapsed", &self.lock().elapsed).finish_non_exhaustive()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.lock().elapsed.as_millis()).unwrap_or(u64::MAX);
        Timestamp(MANUAL_EPOCH_MS.saturating_add(elapsed))
    }

    fn monotonic(&self) -> Duration {
        self.lock().elapsed
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        if duration.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        let woken = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            let key = (state.elapsed.saturating_add(duration), state.next);
            state.next += 1;
            state.sleepers.insert(key, sender);
            receiver
        };
        Box::pin(async move {
            // The sender lives in the clock; if the clock is gone, time has stopped for good.
            if woken.await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_manual_clock_wakes_what_is_due_and_nothing_else() {
        let clock = ManualClock::new();
        let mut short = clock.sleep(Duration::from_millis(10));
        let mut long = clock.sleep(Duration::from_millis(20));
        assert_eq!((short.as_mut().now_or_never(), clock.sleepers()), (None, 2));
        clock.advance(Duration::from_millis(10));
        assert_eq!((short.as_mut().now_or_never(), long.as_mut().now_or_never()), (Some(()), None));
        clock.advance(Duration::from_millis(15));
        assert_eq!(long.as_mut().now_or_never(), Some(()));
        assert_eq!(clock.now(), Timestamp(MANUAL_EPOCH_MS + 25));
    }
}
