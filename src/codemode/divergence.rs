//! How a program that runs again did otherwise than when it was recorded (L-9).
//!
//! Owns the comparison of a run with its recording, and the words for the first difference. It runs nothing and calls
//! nobody.

use std::fmt;

use serde_json::Value;

use crate::codemode::inputs::Stray;
use crate::codemode::lane::CallDivergence;
use crate::codemode::recording::Recording;
use crate::codemode::runtime::RunReport;
use crate::ids::ToolName;
use crate::ledger::RunEnd;
use crate::outcome::{RunFailure, RunFailureKind, RunOutcome};

/// What came of running a program again as it was recorded (L-9).
#[derive(Debug)]
pub struct Replayed {
    /// Its outcome now. Where the recording ends before the program does, because the run was interrupted, this is a
    /// failure that says so; where the run was ended from outside, it is that end.
    pub outcome: RunOutcome,
    /// The first thing that is not as it was recorded; absent when all is, as far as the recording goes.
    pub divergence: Option<Divergence>,
    /// Whether the recording has the end of the run.
    pub is_whole: bool,
}

impl Replayed {
    /// Compares an outcome with the recording.
    pub(super) fn compare(recording: &Recording, mut outcome: RunOutcome, course: Course) -> Self {
        let end = recording.end.as_ref();
        // There is nothing to compare with beyond a point that the program itself did not choose.
        let ended = match end.map(|end| end.failure.as_ref()) {
            None => Some(interrupted()),
            Some(failure) => failure.filter(|failure| is_from_outside(failure)).cloned(),
        };
        let mut is_cut = false;
        let divergence = match ended {
            Some(failure) if course.stray == Some(Stray::Further) && course.call.is_none() => {
                outcome.result = Err(failure);
                is_cut = true;
                None
            }
            _ => course.divergence(),
        };
        // A program that was stopped on its way had no chance to make all its calls.
        let missing = course.missing.filter(|_| outcome.result.as_ref().err().is_none_or(is_its_own));
        let missing = missing.filter(|_| end.is_some()).map(|call| Divergence::Call(*call));
        let divergence = divergence.or(missing).or_else(|| Divergence::between(end?, &outcome, is_cut));
        Self { outcome, divergence, is_whole: end.is_some() }
    }
}

/// The failure of a program whose recording ends before it does.
fn interrupted() -> RunFailure {
    let message =
        "the run was interrupted here when it was recorded; it can go on from here by being resumed";
    RunFailure::new(RunFailureKind::Abort, message)
}

/// Whether something ended the run at a point that the program itself does not lead to.
fn is_from_outside(failure: &RunFailure) -> bool {
    matches!(failure.kind, RunFailureKind::Abort | RunFailureKind::WallTimeout | RunFailureKind::EngineExit)
}

/// Whether the program itself came to this end.
fn is_its_own(failure: &RunFailure) -> bool {
    matches!(
        failure.kind,
        RunFailureKind::Exception | RunFailureKind::Deadlock | RunFailureKind::InvalidOutput
    )
}

/// What a run says of its course beside its outcome.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// What the program took after its last call that started.
    pub(super) inputs: String,
    call: Option<Box<CallDivergence>>,
    missing: Option<Box<CallDivergence>>,
    stray: Option<Stray>,
    submitted: u64,
}

impl Course {
    /// Takes it from a report.
    pub(super) fn of(report: &mut RunReport) -> Self {
        let lane = &mut report.lane;
        // What was taken before calls that never started came first.
        let mut inputs = std::mem::take(&mut lane.inputs);
        inputs.push(' ');
        inputs.push_str(&report.inputs);
        Self {
            inputs: inputs.trim().to_owned(),
            call: lane.divergence.take(),
            missing: lane.missing.take(),
            stray: report.stray,
            submitted: u64::try_from(lane.sub_calls.len()).unwrap_or(u64::MAX),
        }
    }

    /// The first thing that was certainly not as it was recorded, whatever the outcome is.
    pub(super) fn divergence(&self) -> Option<Divergence> {
        if let Some(call) = &self.call {
            return Some(Divergence::Call((**call).clone()));
        }
        let further = self.stray? == Stray::Further;
        let next = self.missing.as_ref().map(|missing| missing.recorded.clone());
        Some(Divergence::Course { after: self.submitted, further, next })
    }
}

/// How a program that ran again did otherwise than when it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Divergence {
    /// A call of its.
    Call(CallDivergence),
    /// What it took from outside: the clock, outcomes, timers.
    Course {
        /// How many calls it had made.
        after: u64,
        /// It goes on where it had come to its end.
        further: bool,
        /// The call that it made next when it was recorded; absent when it made none.
        next: Option<(ToolName, Value)>,
    },
    /// A line that it printed; absent when there was none.
    Line {
        /// Which one, counted from 1.
        n: usize,
        /// What was recorded.
        recorded: Option<String>,
        /// What was printed now.
        printed: Option<String>,
    },
    /// How it ended, as JSON of the value or words of the failure.
    End {
        /// What was recorded.
        recorded: String,
        /// How it ended now.
        now: String,
    },
}

impl Divergence {
    /// The first thing by which an outcome differs from what was recorded of it. One that `is_cut` may have printed less:
    /// what a program took last is not known if something ended it from outside.
    fn between(end: &RunEnd, outcome: &RunOutcome, is_cut: bool) -> Option<Self> {
        let lines = if is_cut { outcome.logs.len() } else { end.logs.len().max(outcome.logs.len()) };
        for at in 0..lines {
            let (recorded, printed) = (end.logs.get(at).cloned(), outcome.logs.get(at).cloned());
            if recorded != printed {
                return Some(Self::Line { n: at + 1, recorded, printed });
            }
        }
        let spell = |result: Result<&Option<Value>, &RunFailure>| match result {
            Ok(Some(value)) => format!("value {value}"),
            Ok(None) => "no value".to_owned(),
            Err(failure) => failure.to_string(),
        };
        let recorded = spell(end.failure.as_ref().map_or(Ok(&end.result), Err));
        let now = spell(outcome.result.as_ref());
        (recorded != now).then_some(Self::End { recorded, now })
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |line: &Option<String>| line.as_ref().map_or("nothing".to_owned(), |line| format!("{line:?}"));
        match self {
            Self::Call(call) => call.fmt(f),
            Self::Course { after, further, next } => {
                match after {
                    0 => write!(f, "before its first call")?,
                    n => write!(f, "after call {n}")?,
                }
                let what = match further {
                    true => "the program goes on, where it had come to its end when it was recorded",
                    false => "the program reads the clock or waits otherwise than when it was recorded",
                };
                write!(f, " {what}")?;
                match next {
                    Some((tool, args)) => write!(f, "; its next call was `{tool}` with {args} then"),
                    None => Ok(()),
                }
            }
            Self::Line { n, recorded, printed } => {
                let (recorded, printed) = (shown(recorded), shown(printed));
                write!(f, "line {n} was {recorded} when it was recorded, and is {printed} now")
            }
            Self::End { recorded, now } => {
                write!(f, "it ended with {recorded} when it was recorded, and with {now} now")
            }
        }
    }
}
