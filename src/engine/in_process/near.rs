//! The host, seen from an isolate's thread in the same process.
//!
//! Owns the wait of that thread: it works the lane while the program waits, so that a call costs no change of threads.
//! Every wait has an end: an outcome of a call, a timer, the wall limit, cancellation, or, with nothing left to wait
//! for, none at all (CM-24). It calls the lane, the session's state and the lines.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Sleep, SystemClock};
use crate::codemode::bindings::Bindings;
use crate::codemode::lane::{LaneHandle, SubmitError};
use crate::codemode::wire::Outcome;
use crate::codemode::{LogLevel, StateDraft, StateError};
use crate::engine::execution::{BATCH, BATCH_BYTES, Event, Kept, Outside, Refused, Waiting};
use crate::engine::in_process::park::Park;
use crate::engine::shared_lane::SharedLane;
use crate::engine::state::{Logs, Trip};
use crate::engine::supervision::Meter;

/// What a run on a thread of the host reaches.
pub(super) struct Near {
    pub(super) park: Park,
    pub(super) handle: LaneHandle,
    pub(super) lane: SharedLane,
    pub(super) bindings: Arc<Bindings>,
    /// Most bytes of an outcome.
    pub(super) most: usize,
    pub(super) state: StateDraft,
    pub(super) logs: Arc<Logs>,
    pub(super) cancel: CancellationToken,
}

impl Near {
    /// Ends the run's calls and waits for them.
    pub(super) fn wind_down(&self) {
        self.handle.close();
        self.park.block_on(self.lane.finish());
    }

    /// Outcomes that are there, the first of which is `first`.
    fn batch(&self, first: Outcome<'static>) -> Event {
        let mut bytes = first.text.len();
        let mut settled = vec![first];
        while settled.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(next) = self.handle.take_settled()
        {
            let next = Outcome::of(next, self.most);
            bytes += next.text.len();
            settled.push(next);
        }
        Event::Settled(settled)
    }
}

impl Outside for Near {
    fn submit(&self, tool: usize, args: String, inputs: String) -> Result<u64, Refused> {
        let Some(tool) = self.bindings.tool(tool).cloned() else {
            return Err(Refused::Error("there is no such tool".to_owned()));
        };
        let bytes = args.len();
        let args = serde_json::from_str(&args).map_err(|error| {
            Refused::Error(format!("the arguments are not JSON that can be read: {error}"))
        })?;
        self.handle.submit_read(tool, args, bytes, inputs).map_err(|error| match error {
            SubmitError::TooMany { .. } => Refused::Trip(Trip::Calls),
            SubmitError::TooLarge { .. } => Refused::Trip(Trip::Queue),
            SubmitError::Closed => Refused::Error(error.to_string()),
        })
    }

    fn outstanding(&self) -> u64 {
        self.handle.outstanding()
    }

    fn line(&self, level: LogLevel, text: &str) {
        self.logs.push(level, text);
    }

    fn kept(&self) -> &dyn Kept {
        &self.state
    }

    fn record(&self, meter: &Meter) -> Option<Trip> {
        if !self.state.has_unrecorded() {
            return None;
        }
        self.park.block_on(async {
            tokio::select! {
                () = self.state.record() => None,
                () = self.cancel.cancelled() => Some(Trip::Abort),
                () = SystemClock::new().sleep(meter.wall_left()) => Some(Trip::Wall),
            }
        })
    }

    fn take_back(&self, numbers: &[u64]) {
        self.handle.take_back(numbers);
    }

    fn next(&self, mut waiting: Waiting<'_>) -> Option<Event> {
        let (meter, clock) = (waiting.meter, waiting.clock);
        let mut timer: Option<Sleep> = None;
        let mut wall: Option<Sleep> = None;
        let mut cancelled = pin!(self.cancel.cancelled());
        self.park.block_on(poll_fn(|context| {
            // First, since a program may never have to wait.
            if let Some(trip) = meter.over() {
                return Poll::Ready(Some(Event::Trip(trip)));
            }
            if !self.lane.work(context) {
                return Poll::Ready(Some(Event::Trip(Trip::Panic)));
            }
            // Again, since the lane may have closed for it meanwhile: a program must not see how its run ends (CM-30).
            if self.cancel.is_cancelled() {
                return Poll::Ready(Some(Event::Trip(Trip::Abort)));
            }
            if let Some(due) = waiting.due(false) {
                return Poll::Ready(Some(due));
            }
            if let Poll::Ready(first) = self.handle.poll_settled(context) {
                return Poll::Ready(Some(self.batch(Outcome::of(first, self.most))));
            }
            let until_due = waiting.until_due();
            if let Some(due) = waiting.due(true) {
                return Poll::Ready(Some(due));
            }
            if until_due.is_none() && self.handle.outstanding() == 0 {
                return Poll::Ready(None);
            }
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Event::Trip(Trip::Abort)));
            }
            if wall.get_or_insert_with(|| clock.sleep(meter.wall_left())).as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Event::Trip(Trip::Wall)));
            }
            while let Some(left) = waiting.until_due() {
                if timer.get_or_insert_with(|| clock.sleep(left)).as_mut().poll(context).is_pending() {
                    break;
                }
                timer = None;
                if let Some(due) = waiting.due(true) {
                    return Poll::Ready(Some(due));
                }
            }
            Poll::Pending
        }))
    }
}

impl Kept for StateDraft {
    fn get(&self, key: &str) -> Option<String> {
        Self::get(self, key).map(|value| value.to_string())
    }

    fn set(&self, key: &str, json: &str) -> Result<(), StateError> {
        Self::set(self, key, json)
    }

    fn delete(&self, key: &str) -> Result<bool, StateError> {
        Self::delete(self, key)
    }

    fn keys(&self) -> Vec<String> {
        Self::keys(self)
    }

    fn commit(&self) -> Result<(), StateError> {
        Self::commit(self)
    }
}
