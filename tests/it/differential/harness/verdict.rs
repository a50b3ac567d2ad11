//! Whether what was seen of a run is what its plan expects.
//!
//! Owns the comparison: the order of events and who runs beside whom, what the program saw, the report, the notes and
//! the kind of failure. Where a run's end and the lane are free to come one before the other, it accepts both and
//! nothing else. It calls nobody.

use std::collections::{BTreeMap, BTreeSet};

use isolane::ledger::{EventBody, LedgerEvent};
use isolane::outcome::{ErrorCode, RunFailureKind, RunOutcome, SubCallReport, SubCallState};
use serde_json::Value;

use super::Case;
use super::interpreted::threw;
use super::model::{Ending, Event, Plan, has_body, value};
use super::play::{Seen, number};

/// What is wrong with it, in words; nothing when it is right.
pub(crate) fn judge(case: &Case, seen: &Seen) -> Result<(), String> {
    let plan = &case.plan;
    if let Some(missed) = &seen.missed {
        return Err(missed.clone());
    }
    let events = ledger(plan, &seen.events)?;
    let tail = order(plan, &events)?;
    end(plan, &seen.outcome)?;
    same("lines", &seen.outcome.logs, &plan.logs)?;
    report(plan, &seen.outcome, &events, tail)?;
    bodies(plan, seen, &events)?;
    note(&seen.outcome)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: &T, expected: &T) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("{what}: seen {seen:?}, expected {expected:?}")) }
}

/// L-1, L-2, L-3, L-5: the events of calls, in order, each with what it must say.
fn ledger(plan: &Plan, events: &[LedgerEvent]) -> Result<Vec<Event>, String> {
    let mut seen = Vec::new();
    let mut open = BTreeMap::new();
    let arguments =
        |n: u64| plan.calls.get(usize::try_from(n - 1).unwrap()).map(|call| (call.tool.name(), &call.args));
    for (seq, event) in (1..).zip(events) {
        same("seq", &event.seq, &seq)?;
        let is_edge = seq == 1 || usize::try_from(seq) == Ok(events.len());
        match &event.body {
            EventBody::RunStart(_) if seq == 1 => {}
            EventBody::RunEnd(_) if is_edge => {
                same("what the run's end refers to", &event.source_seqs, &vec![1])?;
                same("calls without a settled event at the run's end", &open, &BTreeMap::new())?;
            }
            EventBody::CodeDispatchStart(data) => {
                let n = number(&data.call);
                same("start", &Some((data.tool.as_str(), &*data.arguments)), &arguments(n))?;
                same("parents", &(data.root.as_str(), data.parent.as_str()), &("r", "r"))?;
                if open.insert(n, seq).is_some() {
                    return Err(format!("{n} started twice"));
                }
                seen.push(Event::Start(n));
            }
            EventBody::CodeDispatch(data) => {
                let n = number(&data.call);
                same("settled", &Some((data.tool.as_str(), &*data.arguments)), &arguments(n))?;
                let start = open.remove(&n).ok_or_else(|| format!("{n} settled without a start"))?;
                same("what a settled event refers to", &event.source_seqs, &vec![start])?;
                same("is_error", &data.is_error, &data.code.is_some())?;
                let mark = data.code.map_or("ok", |code| code.as_str()).to_owned();
                if !data.is_error {
                    let text = data.content.first().and_then(|block| block.as_text()).unwrap_or_default();
                    same("content", &text, &value(n).to_string().as_str())?;
                }
                seen.push(Event::End(n, mark));
            }
            other => return Err(format!("an event out of place at {seq}: {}", other.kind())),
        }
    }
    let last = events.last().map(|event| event.body.kind());
    same("the last event", &last, &Some("run/end"))?;
    Ok(seen)
}

/// CM-17 to CM-21: the order of events. Gives how many of the expected ones happened.
fn order(plan: &Plan, seen: &[Event]) -> Result<usize, String> {
    let certain = plan.certain;
    let differs = |what: &str| Err(format!("{what}: seen {seen:?}"));
    if seen.len() < certain || seen[..certain] != plan.events[..certain] {
        return differs("events in another order");
    }
    let tail = seen.iter().zip(&plan.events).take_while(|(seen, expected)| seen == expected).count();
    let mut open = BTreeSet::new();
    for event in &seen[..tail] {
        match event {
            Event::Start(n) => _ = open.insert(*n),
            Event::End(n, _) => _ = open.remove(n),
        }
    }
    for event in &seen[tail..] {
        let Event::End(n, mark) = event else { return differs("a start that nothing led to") };
        if !open.remove(n) {
            return differs("an end out of place");
        }
        let surely_ran = plan.events[..certain].contains(&Event::Start(*n));
        let body = has_body(&plan.calls[usize::try_from(n - 1).unwrap()]);
        let fits = match mark.as_str() {
            "ABORTED" => true,
            "ABORTED_BEFORE_DISPATCH" => !surely_ran || !body,
            // At rest before the end, and committed in its turn.
            _ => plan.rested.get(n) == Some(mark) || !body,
        };
        if !fits {
            return differs(&format!("{n} cannot end with {mark}"));
        }
    }
    if open.is_empty() { Ok(tail) } else { differs("calls without an end") }
}

/// CM-23 to CM-25: how the run ends.
fn end(plan: &Plan, outcome: &RunOutcome) -> Result<(), String> {
    let failure = outcome.result.as_ref().map_err(|failure| failure.kind);
    let failed = |kind| same("the end", &failure.err(), &Some(kind));
    match &plan.ending {
        Ending::Value(text) => same("the value", &outcome.result, &Ok(Some(Value::String(text.clone())))),
        Ending::Threw(fault, unhandled) => {
            failed(RunFailureKind::Exception)?;
            let message =
                outcome.result.as_ref().err().map(|failure| failure.message.as_str()).unwrap_or_default();
            let nobody = message.starts_with("a promise was rejected and nobody handled it");
            if nobody == *unhandled && message.contains(&threw(fault, false)) {
                return Ok(());
            }
            Err(format!("the message: seen {message:?}, expected {:?}", threw(fault, *unhandled)))
        }
        Ending::Deadlock => failed(RunFailureKind::Deadlock),
        Ending::CallLimit => failed(RunFailureKind::CallLimit),
        Ending::Cancelled => failed(RunFailureKind::Abort),
        Ending::Wall => failed(RunFailureKind::WallTimeout),
    }
}

/// CM-31: every call that was made, with its state.
fn report(plan: &Plan, outcome: &RunOutcome, seen: &[Event], tail: usize) -> Result<(), String> {
    let ids: Vec<_> = outcome.sub_calls.iter().map(|call| call.id.as_str().to_owned()).collect();
    let mut expected: Vec<_> = plan.calls.iter().map(|call| format!("r:code:{}", call.n)).collect();
    if plan.ending == Ending::Cancelled {
        // The host may have been first: then the program did not come to its last calls, none of which started.
        let started = seen.iter().filter(|event| matches!(event, Event::Start(_))).count();
        expected.truncate(ids.len().max(started));
    }
    same("the sub-calls of the report", &ids, &expected)?;
    for (call, reported) in plan.calls.iter().zip(&outcome.sub_calls) {
        let SubCallReport { tool, state, code, message, delivered, .. } = reported;
        same("a reported tool", &tool.as_str(), &call.tool.name())?;
        let place = seen.iter().position(|event| matches!(event, Event::End(n, _) if *n == call.n));
        let mark = place.map(|place| match &seen[place] {
            Event::End(_, mark) => mark.as_str(),
            Event::Start(_) => "",
        });
        let expected = match mark {
            None | Some("ABORTED_BEFORE_DISPATCH") => SubCallState::NotStarted,
            Some("ok") => SubCallState::Finished,
            Some("ABORTED") => SubCallState::Aborted,
            Some(_) => SubCallState::Failed,
        };
        same(&format!("the state of {}", call.n), state, &expected)?;
        let code = code.map(ErrorCode::as_str);
        same(&format!("the code of {}", call.n), &code, &mark.filter(|mark| *mark != "ok"))?;
        same(&format!("whether {} has a message", call.n), &message.is_some(), &code.is_some())?;
        // What came as the program ended, it may have or not.
        let possible = place.is_some_and(|place| place < tail);
        let fits = if *delivered {
            plan.delivered.contains(&call.n) || possible
        } else {
            !plan.delivered.contains(&call.n) || plan.unsure.contains(&call.n)
        };
        if !fits {
            return Err(format!("whether the program has the outcome of {}: seen {delivered}", call.n));
        }
    }
    let started = seen.iter().filter(|event| matches!(event, Event::Start(_))).count();
    same("the count of started calls", &outcome.stats.sub_calls, &(started as u64))?;
    let complete = tail == plan.events.len() || plan.certain == plan.events.len();
    if complete || outcome.stats.peak_parallel > plan.peak {
        same("bodies at the same time", &outcome.stats.peak_parallel, &plan.peak)?;
    }
    Ok(())
}

/// CM-13, CM-14: what bodies were given; those that must not run have not.
fn bodies(plan: &Plan, seen: &Seen, events: &[Event]) -> Result<(), String> {
    for call in &plan.calls {
        let started = events.contains(&Event::Start(call.n));
        let surely = plan.events[..plan.certain].contains(&Event::Start(call.n)) && has_body(call);
        match seen.bodies.get(&call.n) {
            Some(given) => {
                same("what a body was given", given, &(call.tool.name().to_owned(), call.args.clone()))?;
                if !started || !has_body(call) {
                    return Err(format!("the body of {} ran", call.n));
                }
            }
            None if surely => return Err(format!("the body of {} did not run", call.n)),
            None => {}
        }
    }
    let most = plan.calls.len() as u64;
    match seen.bodies.keys().find(|n| **n > most) {
        Some(n) => Err(format!("the body of {n} ran, and there is no such call")),
        None => Ok(()),
    }
}

/// CM-21: calls that nobody awaited are named.
fn note(outcome: &RunOutcome) -> Result<(), String> {
    let left: Vec<_> = outcome.sub_calls.iter().filter(|call| !call.delivered).collect();
    let about = |note: &&String| {
        note.contains("not awaited when the program ended") || note.contains("had no outcome yet")
    };
    let notes: Vec<_> = outcome.notes.iter().filter(about).collect();
    let calls =
        if left.len() == 1 { "1 tool call ".to_owned() } else { format!("{} tool calls ", left.len()) };
    let named = notes.len() == 1
        && notes[0].contains(calls.trim_end())
        && notes[0].contains("not awaited") == outcome.result.is_ok()
        && left.iter().take(10).all(|call| notes[0].contains(&format!("{} (", call.tool)));
    if if left.is_empty() { notes.is_empty() } else { named } {
        return Ok(());
    }
    Err(format!("the note on {} calls without an outcome: {:?}", left.len(), outcome.notes))
}
