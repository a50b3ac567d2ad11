//! What a program reaches outside of its isolate.
//!
//! Owns the interface between a run and its host: calls, lines, what is kept, and the wait for what comes next. It
//! decides nothing. One implementation stands in the host's process, the other at the end of a socket.

use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::codemode::wire::Outcome;
use crate::codemode::{LogLevel, StateError};
use crate::engine::state::{Timers, Trip};
use crate::engine::supervision::Meter;

/// The host, seen from an isolate's thread.
pub(in crate::engine) trait Outside {
    /// Joins a call to the lane's queue and returns its number, counted from 1. Never waits.
    ///
    /// `tool` is the index of a binding, `args` JSON text; `inputs` is what the program took since its call before.
    fn submit(&self, tool: usize, args: String, inputs: String) -> Result<u64, Refused>;

    /// Calls whose outcome the program does not have yet.
    fn outstanding(&self) -> u64;

    /// Takes one line; it has been counted already.
    fn line(&self, level: LogLevel, text: &str);

    /// What programs of the session keep.
    fn kept(&self) -> &dyn Kept;

    /// Has what the program committed in the ledger before it goes on (CM-11); the limit that ended the wait.
    fn record(&self, meter: &Meter) -> Option<Trip>;

    /// The program did not have these outcomes after all, by the numbers of their calls.
    fn take_back(&self, numbers: &[u64]);

    /// Waits for the next thing that can move the program on; nothing when nothing ever will.
    fn next(&self, waiting: Waiting<'_>) -> Option<Event>;
}

/// The values that programs of a session keep (CM-11).
pub(in crate::engine) trait Kept {
    /// The value of a key as JSON text.
    fn get(&self, key: &str) -> Option<String>;
    /// Gives a key a value, as JSON text.
    fn set(&self, key: &str, json: &str) -> Result<(), StateError>;
    /// Takes a key's value away; false when it has none.
    fn delete(&self, key: &str) -> Result<bool, StateError>;
    /// The keys that have a value, sorted by their bytes.
    fn keys(&self) -> Vec<String>;
    /// Makes the writes so far permanent.
    fn commit(&self) -> Result<(), StateError>;
}

/// A call that was not taken.
#[derive(Debug)]
pub(in crate::engine) enum Refused {
    /// A limit ends the run.
    Trip(Trip),
    /// The program is told.
    Error(String),
}

/// What a program waits for.
pub(in crate::engine) struct Waiting<'a> {
    pub(in crate::engine) timers: &'a mut Timers,
    pub(in crate::engine) clock: &'a SystemClock,
    pub(in crate::engine) meter: &'a Meter,
    /// Outcomes were delivered last: neither they nor the timers can keep the others waiting for ever.
    pub(in crate::engine) settled_last: bool,
}

impl Waiting<'_> {
    /// The timer that is due, if it is a timer's turn: after outcomes were delivered, or `always`.
    pub(in crate::engine) fn due(&mut self, always: bool) -> Option<Event> {
        let turn = always || self.settled_last;
        let id = turn.then(|| self.timers.take_due(self.clock.monotonic()))??;
        Some(Event::Timer(id))
    }

    /// How long until the next timer is due; nothing without timers.
    pub(in crate::engine) fn until_due(&self) -> Option<Duration> {
        self.timers.next_due().map(|due| due.saturating_sub(self.clock.monotonic()))
    }
}

/// What moves a program on.
pub(in crate::engine) enum Event {
    /// Outcomes of calls, in the lane's order.
    Settled(Vec<Outcome<'static>>),
    /// A timer is due.
    Timer(u64),
    /// A limit, or the host, ends the run.
    Trip(Trip),
}

/// Most outcomes that one entry into the isolate delivers.
pub(in crate::engine) const BATCH: usize = 256;

/// And most bytes, but for the last of them.
pub(in crate::engine) const BATCH_BYTES: usize = 1024 * 1024;
