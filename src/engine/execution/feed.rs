//! What a program takes from outside: the time, chance, outcomes, timers.
//!
//! Owns where it comes from: the world, written down as it is taken (L-9), or what was written down, until that is used
//! up. A program that asks for something else than it got the last time has strayed, and is ended. It never waits.

use std::collections::BTreeMap;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::clock::Timestamp;
use crate::codemode::inputs::{Again, Input, InputRecorder, Inputs, Origin};
use crate::codemode::wire::Outcome;
use crate::engine::execution::Event;
use crate::engine::state::{Timers, Trip};

/// Where one program's inputs come from.
pub(in crate::engine) struct Feed {
    started: Timestamp,
    chance: ChaCha20Rng,
    recorder: InputRecorder,
    /// What is still to be given again.
    again: Inputs,
    /// The program was at its end where the recording ends.
    ends: bool,
    /// What had passed of the run when the program's own clock began.
    spent: Duration,
    /// The last reading, in milliseconds since the start.
    last: u64,
    /// Outcomes that came before it was their turn, by their calls.
    early: BTreeMap<u64, Outcome<'static>>,
}

/// What a program that runs again is to be given next.
pub(in crate::engine) enum Next {
    /// Whatever comes: the recording is used up, or there was none.
    Whatever,
    /// This is it.
    Event(Event),
    /// Outcomes that have not come yet.
    Wait,
    /// Nothing: here the program was at its end, and what waits to be given never was.
    End {
        /// There are such outcomes.
        undelivered: bool,
    },
}

impl Feed {
    /// For one run; what was written down for it and cannot be read counts as a program that strays at once.
    pub(in crate::engine) fn new(origin: &Origin, spent: Duration) -> Result<Self, Trip> {
        let (again, ends) = match &origin.again {
            None => (Inputs::default(), false),
            Some(Again { inputs, goes_on }) => {
                let read = Inputs::read(inputs.iter().map(String::as_str));
                (read.map_err(|_| Trip::Strayed)?, !goes_on)
            }
        };
        Ok(Self {
            started: origin.at,
            chance: ChaCha20Rng::from_seed(origin.seed.0),
            recorder: InputRecorder::default(),
            again,
            ends,
            spent,
            last: 0,
            early: BTreeMap::new(),
        })
    }

    /// When the program started, as it reads the time.
    pub(in crate::engine) fn started(&self) -> Timestamp {
        self.started
    }

    /// Fills bytes with chance.
    pub(in crate::engine) fn fill(&mut self, bytes: &mut [u8]) {
        self.chance.fill_bytes(bytes);
    }

    /// A reading of the clock, in milliseconds since the start of the run; `passed` since that of the program.
    pub(in crate::engine) fn clock(&mut self, passed: Duration) -> Result<u64, Trip> {
        match self.again.peek() {
            Some(Input::Clock(_)) => {
                if let Some(Input::Clock(millis)) = self.again.next() {
                    self.last = millis;
                }
            }
            Some(_) => return Err(Trip::Strayed),
            None if self.ends => return Err(Trip::Further),
            None => {
                let millis = u64::try_from(self.spent.saturating_add(passed).as_millis()).unwrap_or(u64::MAX);
                // A run that goes on may begin before the last reading of the one before.
                self.last = self.last.max(millis);
                self.recorder.clock(self.last);
            }
        }
        Ok(self.last)
    }

    /// What the program took since this was asked last, to go with its next call.
    pub(in crate::engine) fn take(&mut self) -> String {
        self.recorder.take()
    }

    /// What is to be given next.
    pub(in crate::engine) fn next(&mut self, timers: &mut Timers) -> Result<Next, Trip> {
        match self.again.peek() {
            None if self.ends => Ok(Next::End { undelivered: !self.early.is_empty() }),
            None if !self.early.is_empty() => {
                let early = std::mem::take(&mut self.early).into_values().collect();
                Ok(Next::Event(self.took(Event::Settled(early))))
            }
            None => Ok(Next::Whatever),
            Some(Input::Clock(_)) => Err(Trip::Strayed),
            Some(Input::Timer(id)) => {
                let id = *id;
                self.again.next();
                if timers.fire(id) { Ok(Next::Event(Event::Timer(id))) } else { Err(Trip::Strayed) }
            }
            Some(Input::Settled(calls)) => {
                if !calls.iter().all(|n| self.early.contains_key(n)) {
                    return Ok(Next::Wait);
                }
                let outcomes = calls.iter().filter_map(|n| self.early.remove(n)).collect();
                self.again.next();
                Ok(Next::Event(Event::Settled(outcomes)))
            }
        }
    }

    /// Keeps outcomes for their turn.
    pub(in crate::engine) fn keep(&mut self, outcomes: Vec<Outcome<'static>>) {
        self.early.extend(outcomes.into_iter().map(|outcome| (outcome.n, outcome)));
    }

    /// Writes down what the world gave.
    pub(in crate::engine) fn took(&mut self, event: Event) -> Event {
        match &event {
            Event::Settled(outcomes) => self.recorder.settled(outcomes.iter().map(|outcome| outcome.n)),
            Event::Timer(id) => self.recorder.timer(*id),
            Event::Trip(_) => {}
        }
        event
    }
}
