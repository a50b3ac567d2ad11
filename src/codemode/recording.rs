//! One run as the ledger has it, to be run again (L-9, L-10).
//!
//! Owns how a run is found among the events of its session, and what it lacks to be run again. It runs nothing. It calls
//! the ledger's records.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::codemode::divergence::Divergence;
use crate::codemode::inputs::{Again, InputError, Inputs, Origin, Seed};
use crate::codemode::lane::{RecordedCall, RecordedCalls, RecordedOutcome};
use crate::codemode::state::SessionState;
use crate::ids::CallId;
use crate::ledger::{CodeDispatch, EventBody, LedgerEvent, RunEnd, RunStart, StatePut, is_too_deep};
use crate::outcome::{CallFailure, CallResult, CallSuccess, ErrorCode};

/// Why a run cannot be run again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// No run of this call has started.
    #[error("the ledger has no run of the call `{call}`; it has {}", spell(.known))]
    NoSuchRun {
        /// The call that was asked for.
        call: CallId,
        /// The calls that carried a program.
        known: Vec<CallId>,
    },
    /// Its start was recorded by a version that recorded neither clock nor seed.
    #[error("the run of `{call}` was recorded without its clock and seed")]
    NoOrigin {
        /// Its call.
        call: CallId,
    },
    /// A sub-call's value is not there.
    #[error(
        "the value of `{call}` was not recorded; a host whose runs are to be run again has to say so before \
         (`HostBuilder::record_values`)"
    )]
    NoValue {
        /// The sub-call.
        call: CallId,
    },
    /// A sub-call's value nests too deep to be kept as it was.
    #[error(
        "the value of `{call}` nests too deep to be recorded as it was; a run with such a value cannot be run again"
    )]
    TooDeep {
        /// The sub-call.
        call: CallId,
    },
    /// What the program took cannot be read.
    #[error(transparent)]
    Inputs(#[from] InputError),
    /// The program took more than is kept.
    #[error(
        "the program read the clock, or waited, more often than is recorded; such a run cannot be run again"
    )]
    Cut,
    /// The program did otherwise than it had done: there is nothing to go on from.
    #[error("the run cannot go on from where it was, for it does otherwise than it did: {divergence}")]
    Diverged {
        /// How.
        divergence: Box<Divergence>,
    },
    /// The run has come to its end: there is nothing to go on with.
    #[error("the run of `{call}` has come to its end")]
    Ended {
        /// Its call.
        call: CallId,
    },
}

fn spell(calls: &[CallId]) -> String {
    if calls.is_empty() {
        return "none at all".to_owned();
    }
    let calls: Vec<_> = calls.iter().map(|call| format!("`{call}`")).collect();
    calls.join(", ")
}

/// A run that was recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its start, and the `seq` of that.
    pub start: (RunStart, u64),
    /// Its end; absent when it never came to it.
    pub end: Option<RunEnd>,
    /// Its sub-calls. Those of whose end nothing is known are [`RecordedOutcome::Lost`].
    pub calls: BTreeMap<u64, RecordedCall>,
    /// What programs of its session kept before it started.
    pub state: SessionState,
    /// What it kept itself before its end.
    pub kept: Vec<StatePut>,
    at: Timestamp,
    seed: Seed,
    inputs: Vec<String>,
}

impl Recording {
    /// Finds the run of a call among the events of its session.
    ///
    /// # Errors
    /// See [`RecordingError`].
    pub fn find(events: &[LedgerEvent], call: &CallId) -> Result<Self, RecordingError> {
        let starts = events.iter().filter_map(|event| match &event.body {
            EventBody::RunStart(start) => Some((start, event.seq)),
            _ => None,
        });
        let found = starts.clone().find(|(start, _)| start.call == *call);
        let Some((start, seq)) = found else {
            let known = starts.map(|(start, _)| start.call.clone()).collect();
            return Err(RecordingError::NoSuchRun { call: call.clone(), known });
        };
        let no_origin = || RecordingError::NoOrigin { call: call.clone() };
        let at = start.at.ok_or_else(no_origin)?;
        let seed = start.seed.as_deref().and_then(|seed| seed.parse().ok()).ok_or_else(no_origin)?;
        let state = SessionState::restored(events.iter().filter(|event| event.seq < seq));
        let mut recording = Self {
            start: (start.clone(), seq),
            end: None,
            calls: BTreeMap::new(),
            state,
            kept: Vec::new(),
            at,
            seed,
            inputs: Vec::new(),
        };
        for event in events.iter().filter(|event| event.seq > seq) {
            recording.add(event)?;
        }
        recording.inputs = recording.calls.values().map(|call| call.start.inputs.clone()).collect();
        recording.inputs.extend(recording.end.iter().map(|end| end.inputs.clone()));
        if Inputs::read(recording.inputs.iter().map(String::as_str))?.is_cut() {
            return Err(RecordingError::Cut);
        }
        Ok(recording)
    }

    fn add(&mut self, event: &LedgerEvent) -> Result<(), RecordingError> {
        let call = self.start.0.call.clone();
        match &event.body {
            EventBody::CodeDispatchStart(start) if start.parent == call => {
                if let Some(n) = start.call.sub_number() {
                    let outcome = RecordedOutcome::Lost;
                    self.calls.insert(n, RecordedCall { start: start.clone(), seq: event.seq, outcome });
                }
            }
            EventBody::CodeDispatch(settled) if settled.parent == call => {
                let known = settled.call.sub_number().and_then(|n| self.calls.get_mut(&n));
                if let Some(known) = known {
                    known.outcome = RecordedOutcome::Settled(result_of(settled)?);
                }
            }
            EventBody::StatePut(put) if put.call.as_ref() == Some(&call) => self.kept.push(put.clone()),
            EventBody::RunEnd(end) if end.call == call => self.end = Some(end.clone()),
            _ => {}
        }
        Ok(())
    }

    /// Where the program's clock and chance begin when it is run again; `goes_on` when it is to go on from its last event.
    pub fn origin(&self, goes_on: bool) -> Origin {
        let again = Some(Again { inputs: self.inputs.clone(), goes_on });
        Origin { at: self.at, seed: self.seed, again }
    }

    /// The program as written.
    pub fn program(&self) -> Arc<str> {
        Arc::clone(&self.start.0.program)
    }

    /// The sub-calls for a lane that answers them; `goes_on` when it is to make those that are not known.
    pub fn recorded_calls(&self, goes_on: bool) -> RecordedCalls {
        RecordedCalls { calls: self.calls.clone(), complete: !goes_on }
    }

    /// The sub-calls that had started and of whose end nothing is known.
    pub fn unsettled(&self) -> impl Iterator<Item = (u64, &RecordedCall)> {
        let unsettled = |call: &&RecordedCall| !matches!(call.outcome, RecordedOutcome::Settled(_));
        self.calls.iter().map(|(n, call)| (*n, call)).filter(move |(_, call)| unsettled(call))
    }
}

fn result_of(settled: &CodeDispatch) -> Result<CallResult, RecordingError> {
    let CodeDispatch { call, is_error, content, code, message, details, value, .. } = settled;
    if *is_error {
        let code = code.unwrap_or(ErrorCode::ToolFailed);
        let mut failure = CallFailure::new(code, message.clone().unwrap_or_default());
        failure.details.clone_from(details);
        failure.content.clone_from(content);
        return Ok(Err(failure));
    }
    let value = value.clone().ok_or_else(|| RecordingError::NoValue { call: call.clone() })?;
    if is_too_deep(&value) {
        return Err(RecordingError::TooDeep { call: call.clone() });
    }
    Ok(Ok(CallSuccess {
        value,
        content: content.clone(),
        meta: None,
        deferred: Vec::new(),
        concludes_turn: false,
    }))
}
