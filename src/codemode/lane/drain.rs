//! How long an ended run waits for what it has started (P-14).
//!
//! Owns the deadline, which begins when the lane has noticed the end. It never stops anything. It calls the
//! clock.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clock::{Clock, Sleep};

/// What a deadline is made of.
#[derive(Debug)]
pub(super) struct Patience {
    pub(super) clock: Arc<dyn Clock>,
    /// Absent: there is no end to it.
    pub(super) limit: Option<Duration>,
}

/// One wait.
pub(super) struct Deadline(State);

enum State {
    Endless,
    Running(Sleep),
    Over,
}

impl Patience {
    /// A deadline that begins now.
    pub(super) fn begin(&self) -> Deadline {
        Deadline(self.limit.map_or(State::Endless, |limit| State::Running(self.clock.sleep(limit))))
    }
}

impl Deadline {
    /// Ready when the time is over.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            State::Endless => Poll::Pending,
            State::Over => Poll::Ready(()),
            State::Running(sleep) => sleep.as_mut().poll(context).map(|()| self.0 = State::Over),
        }
    }
}
