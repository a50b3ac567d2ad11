//! The watchdog: time limits that hold whatever a program does (E-7).
//!
//! Owns the meter of a run (busy time, what tripped first) and the one thread that watches all meters. It asks V8
//! to terminate, from outside of the isolate's thread; where V8 does not listen within the grace, it gives the run
//! up, so that the host has its outcome all the same. It never touches an isolate's heap.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::engine::exit;
use crate::engine::state::Trip;
use crate::limits::RunLimits;

/// How often running programs are looked at.
const TICK: Duration = Duration::from_millis(5);

/// How long V8 may take to listen before a run is given up (E-7).
const GRACE: Duration = Duration::from_millis(250);

/// How long the interrupt, which notes where the program is, goes before the plain request to stop. A few built-ins
/// listen to the latter only.
const NOTING: Duration = Duration::from_millis(150);

/// How much longer both go where memory is short: a collection keeps V8 from listening.
const COLLECTING: Duration = Duration::from_millis(1_000);

/// One run's times and its first tripped limit.
pub(super) struct Meter {
    clock: SystemClock,
    busy_limit: Duration,
    wall_limit: Duration,
    cancel: CancellationToken,
    isolate: v8::IsolateHandle,
    /// Nanoseconds by `clock` at which JavaScript was entered; 0 while none runs.
    entered: AtomicU64,
    /// Nanoseconds spent in earlier entries.
    spent: AtomicU64,
    tripped: AtomicU8,
    /// Nanoseconds by `clock` at which the watchdog asked V8 to stop; 0 before.
    asked: AtomicU64,
    given_up: AtomicBool,
    abandoned: AtomicBool,
    gave_up: Notify,
    resort: Resort,
}

/// What becomes of a run that V8 does not give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resort {
    /// The host is told, and the thread goes on by itself.
    Forsake,
    /// The process ends, and its exit code says why.
    EndProcess,
}

impl Meter {
    /// `spent` is what of the wall limit is used already.
    pub(super) fn new(
        limits: &RunLimits,
        spent: Duration,
        cancel: CancellationToken,
        isolate: v8::IsolateHandle,
        resort: Resort,
    ) -> Arc<Self> {
        let meter = Arc::new(Self {
            clock: SystemClock::new(),
            busy_limit: limits.busy,
            wall_limit: limits.wall.saturating_sub(spent),
            cancel,
            isolate,
            entered: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            tripped: AtomicU8::new(Trip::NONE),
            asked: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            gave_up: Notify::new(),
            resort,
        });
        watchdog().watch(&meter);
        meter
    }

    /// JavaScript is about to run.
    pub(super) fn enter(&self) {
        self.entered.store(self.now().max(1), Ordering::Release);
    }

    /// JavaScript has come back.
    pub(super) fn leave(&self) {
        let entered = self.entered.swap(0, Ordering::AcqRel);
        if entered > 0 {
            let running = self.now().saturating_sub(entered);
            let spent = self.spent.fetch_add(running, Ordering::AcqRel).saturating_add(running);
            // The watchdog looks now and then only; many short entries must not slip through.
            if Duration::from_nanos(spent) >= self.busy_limit {
                self.trip(Trip::Busy);
            }
        }
    }

    /// Time spent executing JavaScript so far.
    pub(super) fn busy(&self) -> Duration {
        // In this order, from another thread: `leave` first clears `entered` and then adds to `spent`. A stretch that
        // is in the sum read first was therefore cleared before, and cannot be read as running after. The other way
        // round, a `leave` in between would count its stretch twice. This way it can be missed until the next look.
        let spent = self.spent.load(Ordering::Acquire);
        let running = match self.entered.load(Ordering::Acquire) {
            0 => 0,
            entered => self.now().saturating_sub(entered),
        };
        Duration::from_nanos(spent.saturating_add(running))
    }

    /// What is left of the wall limit.
    pub(super) fn wall_left(&self) -> Duration {
        self.wall_limit.saturating_sub(self.clock.monotonic())
    }

    /// Why the run must not go on, though no limit has tripped yet; to be asked while no JavaScript runs.
    pub(super) fn over(&self) -> Option<Trip> {
        if self.cancel.is_cancelled() {
            return Some(Trip::Abort);
        }
        self.wall_left().is_zero().then_some(Trip::Wall)
    }

    /// Records the first limit that tripped; later ones change nothing.
    pub(super) fn trip(&self, trip: Trip) {
        let _ = self.tripped.compare_exchange(Trip::NONE, trip as u8, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The first limit that tripped.
    pub(super) fn tripped(&self) -> Option<Trip> {
        Trip::from_code(self.tripped.load(Ordering::Acquire))
    }

    /// Completes when V8 did not listen to the request to stop.
    pub(super) async fn gave_up(&self) {
        loop {
            let notified = self.gave_up.notified();
            if self.given_up.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }

    /// Whether the host has its outcome already and waits for this run no more.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// The thread will never come back: there is nothing left to watch.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.give_up();
    }

    fn give_up(&self) {
        if self.resort == Resort::EndProcess {
            exit::by_limit(self.tripped().unwrap_or(Trip::Busy));
        }
        if !self.given_up.swap(true, Ordering::AcqRel) {
            self.gave_up.notify_waiters();
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.monotonic().as_nanos()).unwrap_or(u64::MAX)
    }

    /// One look of the watchdog.
    fn check(&self) {
        if self.entered.load(Ordering::Acquire) == 0 {
            // Waiting for tools: the run's own loop looks at the wall clock and at cancellation.
            self.asked.store(0, Ordering::Release);
            return;
        }
        let over = if self.busy() >= self.busy_limit {
            Some(Trip::Busy)
        } else if self.cancel.is_cancelled() {
            Some(Trip::Abort)
        } else if self.wall_left().is_zero() {
            Some(Trip::Wall)
        } else {
            self.tripped()
        };
        let Some(trip) = over else { return };
        self.trip(trip);
        match self.asked.load(Ordering::Acquire) {
            0 => {
                self.asked.store(self.now().max(1), Ordering::Release);
                self.isolate.request_interrupt(super::stack::note_position, std::ptr::null_mut());
            }
            asked => {
                let waited = Duration::from_nanos(self.now().saturating_sub(asked));
                let more = if trip == Trip::Heap { COLLECTING } else { Duration::ZERO };
                if waited >= NOTING + more {
                    self.isolate.terminate_execution();
                }
                if waited >= GRACE + more {
                    self.give_up();
                }
            }
        }
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter")
            .field("busy", &self.busy())
            .field("tripped", &self.tripped())
            .finish_non_exhaustive()
    }
}

struct Watchdog {
    meters: Mutex<Vec<std::sync::Weak<Meter>>>,
    changed: Condvar,
}

/// Starts the watchdog's thread, for a process that may start none later.
pub(super) fn start() {
    watchdog();
}

fn watchdog() -> &'static Watchdog {
    static WATCHDOG: OnceLock<&'static Watchdog> = OnceLock::new();
    WATCHDOG.get_or_init(|| {
        let watchdog: &'static Watchdog =
            Box::leak(Box::new(Watchdog { meters: Mutex::default(), changed: Condvar::new() }));
        let started = thread::Builder::new().name("isolane-watchdog".to_owned()).spawn(|| watchdog.run());
        if let Err(error) = started {
            tracing::error!(%error, "the watchdog could not be started; time limits hold only between entries");
        }
        watchdog
    })
}

impl Watchdog {
    fn watch(&self, meter: &Arc<Meter>) {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        meters.push(Arc::downgrade(meter));
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            meters.retain(|meter| {
                let watched = meter.upgrade().filter(|meter| !meter.abandoned.load(Ordering::Acquire));
                watched.inspect(|meter| meter.check()).is_some()
            });
            meters = if meters.is_empty() {
                self.changed.wait(meters).unwrap_or_else(PoisonError::into_inner)
            } else {
                let waited = self.changed.wait_timeout(meters, TICK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}
