//! The life of a program in its isolate: run, wait, run, until it has ended.
//!
//! Owns the order of events and the decision how a program ended. Every wait has an end: an outcome of a call, a
//! timer, the wall limit, cancellation, or, with nothing left to wait for, a deadlock at once (CM-24). It calls
//! the isolate's turns and works the lane.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Sleep};
use crate::codemode::lane::Settlement;
use crate::engine::in_process::rejections::Thrown;
use crate::engine::in_process::turn::{Finished, Standing, Turn, host_bug, parse_result};
use crate::engine::in_process::{SharedLane, failure};
use crate::engine::isolate::FreshIsolate;
use crate::engine::state::Trip;
use crate::outcome::{RunFailure, RunFailureKind};

enum Event {
    Settled(Vec<Settlement>),
    Timer(u64),
    Trip(Trip),
}

/// Most outcomes that one entry into the isolate delivers.
const BATCH: usize = 256;

/// What a program that came to its end leaves.
pub(super) struct Returned {
    pub(super) value: Option<Value>,
    /// What is to be said of promises that were rejected after that.
    pub(super) late: Option<String>,
}

/// Runs the isolate's program to its end; `begun` is called once when its first turn is over.
pub(super) async fn run(
    isolate: &mut FreshIsolate,
    lane: &SharedLane,
    cancel: &CancellationToken,
    begun: impl FnOnce(),
) -> Result<Returned, RunFailure> {
    let over = isolate.state().is_some_and(|state| state.meter.wall_left().is_zero());
    let ended = if cancel.is_cancelled() { Some(Trip::Abort) } else { over.then_some(Trip::Wall) };
    if let Some(trip) = ended {
        begun();
        return Err(ended_by(isolate, trip));
    }
    let started = isolate.start();
    begun();
    let (mut turn, promise) = started?;
    let mut turns = Turns::default();
    loop {
        match turn {
            Turn::Threw(thrown) => return Err(threw(isolate, &thrown, false)),
            Turn::Terminated => return Err(tripped(isolate)),
            // A limit that tripped ends the run, also when V8 came to its end before it heard of it.
            Turn::Continues if isolate.has_tripped() => return Err(tripped(isolate)),
            Turn::Continues => {}
        }
        let Some(promise) = &promise else { return Err(host_bug("a program without a promise")) };
        match isolate.standing(promise) {
            Standing::Returned(value) => return returned(isolate, &value),
            Standing::Threw(thrown) => return Err(threw(isolate, &thrown, false)),
            Standing::Pending => {}
        }
        let event = match record_state(isolate, cancel).await {
            Some(trip) => Some(Event::Trip(trip)),
            None => next_event(isolate, lane, cancel, turns).await,
        };
        turns = Turns { settled_last: matches!(event, Some(Event::Settled(_))) };
        turn = match event {
            None => return Err(deadlock(isolate)),
            Some(Event::Settled(settlements)) => isolate.settle(settlements),
            Some(Event::Timer(id)) => isolate.fire(id),
            Some(Event::Trip(trip)) => return Err(ended_by(isolate, trip)),
        };
    }
}

/// Puts what the program has committed into the ledger before it goes on (CM-11); the limit that ended the wait.
async fn record_state(isolate: &mut FreshIsolate, cancel: &CancellationToken) -> Option<Trip> {
    let state = isolate.state()?;
    if !state.kept.has_unrecorded() {
        return None;
    }
    tokio::select! {
        () = state.kept.record() => None,
        () = cancel.cancelled() => Some(Trip::Abort),
        () = state.clock.sleep(state.meter.wall_left()) => Some(Trip::Wall),
    }
}

/// Whose turn it is when a call has settled and a timer is due: neither can keep the other waiting for ever.
#[derive(Clone, Copy, Default)]
struct Turns {
    settled_last: bool,
}

/// The next thing that can move the program on; nothing when nothing ever will.
async fn next_event(
    isolate: &mut FreshIsolate,
    lane: &SharedLane,
    cancel: &CancellationToken,
    turns: Turns,
) -> Option<Event> {
    let state = isolate.state()?;
    let handle = state.lane.clone();
    let clock = Arc::clone(&state.clock);
    let meter = Arc::clone(&state.meter);
    let mut timer: Option<Sleep> = None;
    let mut wall: Option<Sleep> = None;
    let mut cancelled = pin!(cancel.cancelled());
    poll_fn(|context| {
        // First, since a program may never have to wait.
        if cancel.is_cancelled() {
            return Poll::Ready(Some(Event::Trip(Trip::Abort)));
        }
        if meter.wall_left().is_zero() {
            return Poll::Ready(Some(Event::Trip(Trip::Wall)));
        }
        if !lane.work(context) {
            return Poll::Ready(Some(Event::Trip(Trip::Panic)));
        }
        // Again, since the lane may have closed for it meanwhile: a program must not see how its run ends (CM-30).
        if cancel.is_cancelled() {
            return Poll::Ready(Some(Event::Trip(Trip::Abort)));
        }
        if turns.settled_last
            && let Some(id) = state.timers.take_due(clock.monotonic())
        {
            return Poll::Ready(Some(Event::Timer(id)));
        }
        if let Poll::Ready(first) = handle.poll_settled(context) {
            let mut settled = vec![first];
            while settled.len() < BATCH
                && let Some(next) = handle.take_settled()
            {
                settled.push(next);
            }
            return Poll::Ready(Some(Event::Settled(settled)));
        }
        let next_due = state.timers.next_due();
        if let Some(id) = state.timers.take_due(clock.monotonic()) {
            return Poll::Ready(Some(Event::Timer(id)));
        }
        if next_due.is_none() && handle.outstanding() == 0 {
            return Poll::Ready(None);
        }
        if cancelled.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Event::Trip(Trip::Abort)));
        }
        if wall.get_or_insert_with(|| clock.sleep(meter.wall_left())).as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Event::Trip(Trip::Wall)));
        }
        if let Some(due) = next_due {
            let sleep = timer.get_or_insert_with(|| clock.sleep(due.saturating_sub(clock.monotonic())));
            if sleep.as_mut().poll(context).is_ready() {
                timer = None;
                if let Some(id) = state.timers.take_due(clock.monotonic().max(due)) {
                    return Poll::Ready(Some(Event::Timer(id)));
                }
            }
        }
        Poll::Pending
    })
    .await
}

fn returned(isolate: &mut FreshIsolate, value: &v8::Global<v8::Value>) -> Result<Returned, RunFailure> {
    if let Some(failure) = unhandled(isolate) {
        return Err(failure);
    }
    let Some(state) = isolate.state() else { return Err(host_bug("a run without state")) };
    let limit = state.limits.output_bytes;
    let room = limit.saturating_sub(state.printed_bytes);
    let finished = isolate.finish(value, room);
    if isolate.has_tripped() {
        return Err(tripped(isolate));
    }
    match finished {
        Finished::Value(text) => {
            let value = parse_result(text)?;
            let late = late(isolate);
            if isolate.has_tripped() { Err(tripped(isolate)) } else { Ok(Returned { value, late }) }
        }
        Finished::Problem(message) => Err(RunFailure::new(RunFailureKind::InvalidOutput, message)),
        Finished::TooLarge(bytes) => Err(RunFailure::new(
            RunFailureKind::OutputLimit,
            format!(
                "the program's value takes {bytes} bytes, and {room} of {limit} are left for it; return a summary, or \
                 only the part you need"
            ),
        )),
        Finished::Terminated => Err(tripped(isolate)),
    }
}

/// The failure of a program that leaves a rejection unhandled (CM-25).
fn unhandled(isolate: &mut FreshIsolate) -> Option<RunFailure> {
    let unhandled = &isolate.state()?.unhandled;
    match unhandled.first(false) {
        Some(reason) => Some(threw(isolate, &reason, true)),
        None if unhandled.untold(false) > 0 => Some(RunFailure::new(
            RunFailureKind::Exception,
            format!("{} promises were rejected and nobody handled them", unhandled.untold(false)),
        )),
        None => None,
    }
}

/// The note on promises that were rejected after the program had returned (CM-25).
fn late(isolate: &mut FreshIsolate) -> Option<String> {
    let unhandled = &isolate.state()?.unhandled;
    let count = unhandled.kept(true).saturating_add(unhandled.untold(true));
    let first = unhandled.first(true)?;
    let failure = threw(isolate, &first, false);
    Some(failure::late(&failure, count))
}

fn threw(isolate: &mut FreshIsolate, thrown: &Thrown, unhandled: bool) -> RunFailure {
    let description = isolate.describe(&thrown.value);
    if isolate.has_tripped() {
        return tripped(isolate);
    }
    let Some(state) = isolate.state() else { return host_bug("a run without state") };
    failure::exception(&state.program, &state.bindings, description, thrown.position, unhandled)
}

/// Ends the run while no JavaScript runs.
fn ended_by(isolate: &mut FreshIsolate, trip: Trip) -> RunFailure {
    if let Some(state) = isolate.state() {
        state.meter.trip(trip);
    }
    tripped(isolate)
}

/// The limit that ended the run, with the place where the program was.
fn tripped(isolate: &mut FreshIsolate) -> RunFailure {
    let heap = isolate.heap_exceeded();
    let Some(state) = isolate.state() else { return host_bug("a run without state") };
    if heap {
        state.meter.trip(Trip::Heap);
    }
    let Some(trip) = state.meter.tripped() else { return host_bug("V8 ended the program without a reason") };
    let mut failure = trip.failure(&state.limits);
    if let Some(position) = state.interrupted_at {
        failure.line = Some(position.line);
        failure.column = Some(position.column);
        failure.frame = Some(state.program.frame(position));
    }
    failure
}

fn deadlock(isolate: &mut FreshIsolate) -> RunFailure {
    if let Some(failure) = unhandled(isolate) {
        return failure;
    }
    let Some(state) = isolate.state() else { return host_bug("a run without state") };
    let program = &state.program;
    // V8 does not tell which of them it is: none of what V8 has of an async function can be reached from here.
    let mut lines: Vec<_> = program.waits().iter().map(|position| position.line).collect();
    lines.sort_unstable();
    lines.dedup();
    let place = match lines.as_slice() {
        [] => String::new(),
        [line] => format!(" at line {line}"),
        several => {
            let several: Vec<_> = several.iter().take(8).map(ToString::to_string).collect();
            format!(" at one of the lines {}", several.join(", "))
        }
    };
    let mut failure = RunFailure::new(
        RunFailureKind::Deadlock,
        format!(
            "the program waits{place} for a promise that nothing will ever settle: no tool call and no timer is pending"
        ),
    );
    if let [line] = *lines {
        failure.line = Some(line);
    }
    if let [position] = *program.waits() {
        failure.column = Some(position.column);
        failure.frame = Some(program.frame(position));
    }
    failure
}
