//! The life of a program in its isolate: run, wait, run, until it has ended.
//!
//! Owns the order of events and the decision how a program ended. Every wait has an end: an outcome of a call, a
//! timer, the wall limit, cancellation, or, with nothing left to wait for, a deadlock at once (CM-24). It calls
//! the isolate's turns and waits for what is outside of it.

use std::rc::Rc;

use serde_json::Value;

use crate::codemode::wire::Outcome;
use crate::engine::execution::rejections::Thrown;
use crate::engine::execution::turn::{Finished, Standing, Turn, parse_result};
use crate::engine::execution::{Event, Next, Waiting, failure, host_bug};
use crate::engine::isolate::FreshIsolate;
use crate::engine::state::{RunState, Timers, Trip};
use crate::outcome::{RunFailure, RunFailureKind};

/// What a program that came to its end leaves.
pub(super) struct Returned {
    pub(super) value: Option<Value>,
    /// What is to be said of promises that were rejected after that.
    pub(super) late: Option<String>,
}

/// Runs the isolate's program to its end; `begun` is called once when its first turn is over.
pub(super) fn run(isolate: &mut FreshIsolate, begun: impl FnOnce()) -> Result<Returned, RunFailure> {
    if let Some(trip) = isolate.state().and_then(|state| state.meter.over()) {
        begun();
        return Err(ended_by(isolate, trip));
    }
    let started = isolate.start();
    begun();
    let (mut turn, promise) = started?;
    let mut settled_last = false;
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
        let event = next_event(isolate, settled_last);
        settled_last = matches!(event, Some(Event::Settled(_)));
        turn = match event {
            None => return Err(deadlock(isolate)),
            Some(Event::Settled(settlements)) => settle(isolate, settlements),
            Some(Event::Timer(id)) => isolate.fire(id),
            Some(Event::Trip(trip)) => return Err(ended_by(isolate, trip)),
        };
    }
}

/// What moves the program on, once what it has committed is in the ledger (CM-11).
fn next_event(isolate: &mut FreshIsolate, settled_last: bool) -> Option<Event> {
    let RunState { outside, timers, clock, meter, feed, .. } = isolate.state()?;
    let outside = Rc::clone(outside);
    if let Some(trip) = outside.record(meter) {
        return Some(Event::Trip(trip));
    }
    loop {
        match feed.next(timers) {
            Err(trip) => return Some(Event::Trip(trip)),
            Ok(Next::Event(event)) => return Some(event),
            Ok(Next::Whatever) => {
                let event = outside.next(Waiting { timers, clock, meter, settled_last });
                return event.map(|event| feed.took(event));
            }
            Ok(Next::End { undelivered }) => {
                if let Some(trip) = meter.over() {
                    return Some(Event::Trip(trip));
                }
                // Whatever it waits for did not come the last time, either: there is no sense in waiting for it.
                let waits = undelivered || timers.waiting() > 0 || outside.outstanding() > 0;
                return waits.then_some(Event::Trip(Trip::Further));
            }
            // Timers fire when it is their turn, not when they are due.
            Ok(Next::Wait) => {
                let mut none = Timers::default();
                match outside.next(Waiting { timers: &mut none, clock, meter, settled_last }) {
                    Some(Event::Settled(outcomes)) => feed.keep(outcomes),
                    Some(Event::Trip(trip)) => return Some(Event::Trip(trip)),
                    Some(Event::Timer(_)) | None => return Some(Event::Trip(Trip::Strayed)),
                }
            }
        }
    }
}

/// Gives the program outcomes; what has ended before the last of them did not have it (CM-21).
fn settle(isolate: &mut FreshIsolate, settlements: Vec<Outcome<'static>>) -> Turn {
    let mut settlements = settlements.into_iter();
    let turn = isolate.settle(&mut settlements);
    let left: Vec<u64> = settlements.map(|outcome| outcome.n).collect();
    if let Some(state) = isolate.state() {
        state.outside.take_back(&left);
    }
    turn
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
