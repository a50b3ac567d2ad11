//! The reference: what must happen to the calls of a program, from the rules of the contract alone.
//!
//! Owns a lane of a few lines (CM-17 to CM-21) and the plan of a run: at each moment at which nothing moves, what has
//! been recorded and which bodies run, and what happens next. It shares no code with the lane. It calls the machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::machine::{Fault, Machine, Outcome, Standing, Started, Submission, Val};
use super::program::{Given, Program, Setting, ToolKind};
use super::source::Source;

/// One event of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Start(u64),
    /// The code of the failure, or `ok`.
    End(u64, String),
}

/// How a body answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Value,
    Fail,
}

/// What happens to a run at which nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Release(u64, Reply),
    /// The clock reaches the deadline of that call.
    Expire(u64),
    /// The host cancels the run.
    Cancel,
    /// Nothing, until the wall limit of the run is over.
    Wall,
}

/// A moment at which nothing moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moment {
    pub(crate) events: usize,
    pub(crate) logs: usize,
    pub(crate) running: BTreeSet<u64>,
    /// By how much the clock of the tools goes on, in milliseconds.
    pub(crate) advance: u64,
    pub(crate) action: Action,
}

/// How the run ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Value(String),
    /// What was thrown; whether by a promise that nobody handled.
    Threw(Fault, bool),
    Deadlock,
    CallLimit,
    Cancelled,
    Wall,
}

/// All that is expected of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) moments: Vec<Moment>,
    pub(crate) ending: Ending,
    pub(crate) logs: Vec<String>,
    pub(crate) calls: Vec<Submission>,
    /// In order. Those after `certain` happen only as far as the lane came before the run's end.
    pub(crate) events: Vec<Event>,
    pub(crate) certain: usize,
    /// The calls whose outcome the program has.
    pub(crate) delivered: BTreeSet<u64>,
    /// Those of them whose outcome came last before the host cancelled the run: it may have been first.
    pub(crate) unsure: BTreeSet<u64>,
    /// The calls that are at rest and wait for their turn when the run ends, and how each ended.
    pub(crate) rested: BTreeMap<u64, String>,
    pub(crate) peak: u64,
    /// Timers and outcomes could have come in another order: the run is no test.
    pub(crate) ambiguous: bool,
}

/// The timeout of [`ToolKind::Timed`], in milliseconds.
pub(crate) const TIMEOUT: u64 = 1_000;

/// The value of a call.
pub(crate) fn value(n: u64) -> u64 {
    n * 10
}

/// Whether a body runs for the call.
pub(crate) fn has_body(call: &Submission) -> bool {
    call.given == Given::Right && !matches!(call.tool, ToolKind::Denied | ToolKind::DeniedAlone)
}

fn runs_alone(tool: ToolKind) -> bool {
    matches!(tool, ToolKind::Alone | ToolKind::DeniedAlone)
}

struct Lane {
    setting: Setting,
    calls: Vec<Submission>,
    queue: VecDeque<u64>,
    /// With the time at which each began.
    running: BTreeMap<u64, u64>,
    barrier: bool,
    /// At rest before their turn, in submission order.
    waiting: BTreeMap<u64, Outcome>,
    next: u64,
    events: Vec<Event>,
    /// What the program does not have yet, with the number of events by then.
    outcomes: VecDeque<(u64, Outcome, usize)>,
    peak: u64,
    now: u64,
}

impl Lane {
    fn call(&self, n: u64) -> &Submission {
        &self.calls[usize::try_from(n - 1).unwrap()]
    }

    fn submit(&mut self, calls: Vec<Submission>) {
        self.queue.extend(calls.iter().map(|call| call.n));
        self.calls.extend(calls);
    }

    /// CM-18, CM-20: launches what may be launched.
    fn pump(&mut self) {
        while let Some(n) = self.queue.front().copied() {
            let alone = runs_alone(self.call(n).tool);
            let full = self.running.len() >= self.setting.max_parallel;
            if self.barrier || full || (alone && !self.running.is_empty()) {
                return;
            }
            self.queue.pop_front();
            self.events.push(Event::Start(n));
            let call = self.call(n);
            if has_body(call) {
                self.barrier = alone;
                self.running.insert(n, self.now);
                self.peak = self.peak.max(self.running.len() as u64);
            } else {
                let code = if call.given == Given::Invalid { "TOOL_ARGS_INVALID" } else { "DENIED" };
                let outcome = self.fails(n, code);
                self.rest(n, outcome);
            }
        }
    }

    fn fails(&self, n: u64, code: &str) -> Outcome {
        Err(Fault::Call { tool: self.call(n).tool.name(), code: code.to_owned() })
    }

    /// CM-19: a call is at rest, and is committed at once or when its turn comes.
    fn rest(&mut self, n: u64, outcome: Outcome) {
        if self.running.remove(&n).is_some() {
            self.barrier = false;
        }
        if !self.setting.in_order {
            return self.commit(n, outcome);
        }
        self.waiting.insert(n, outcome);
        while let Some(outcome) = self.waiting.remove(&self.next) {
            self.commit(self.next, outcome);
            self.next += 1;
        }
    }

    fn commit(&mut self, n: u64, outcome: Outcome) {
        self.events.push(Event::End(n, mark(&outcome)));
        self.outcomes.push_back((n, outcome, self.events.len()));
    }
}

fn mark(outcome: &Outcome) -> String {
    match outcome {
        Err(Fault::Call { code, .. }) => code.clone(),
        _ => "ok".to_owned(),
    }
}

/// Says what must happen when the program runs. What is left to choose, when bodies end and how, the source chooses.
pub(crate) fn plan(program: &Arc<Program>, source: &mut Source<'_>) -> Plan {
    let machine = Machine::start(program);
    let lane = Lane {
        setting: program.setting,
        calls: Vec::new(),
        queue: VecDeque::new(),
        running: BTreeMap::new(),
        barrier: false,
        waiting: BTreeMap::new(),
        next: 1,
        events: Vec::new(),
        outcomes: VecDeque::new(),
        peak: 0,
        now: 0,
    };
    let mut planner = Planner {
        machine,
        lane,
        moments: Vec::new(),
        certain: 0,
        delivered: BTreeSet::new(),
        lines: BTreeMap::new(),
        ambiguous: false,
    };
    let ending = loop {
        if let Some(ending) = planner.quiet() {
            break ending;
        }
        if let Some(ending) = planner.act(source) {
            break ending;
        }
    };
    let Planner { machine, mut lane, moments, certain, delivered, lines, ambiguous } = planner;
    // A line that came after it says that the program had it.
    let last = machine.logs().len();
    let unsure = lines.into_iter().filter(|(_, before)| ending == Ending::Cancelled && *before == last);
    let unsure = unsure.map(|(n, _)| n).collect();
    // What the lane could still have done.
    lane.submit(machine.take_calls());
    lane.pump();
    let certain =
        if matches!(ending, Ending::Cancelled | Ending::Wall) { lane.events.len() } else { certain };
    let Lane { calls, events, peak, waiting, .. } = lane;
    let rested = waiting.iter().map(|(n, outcome)| (*n, mark(outcome))).collect();
    Plan {
        moments,
        ending,
        logs: machine.logs(),
        calls,
        events,
        certain,
        delivered,
        unsure,
        rested,
        peak,
        ambiguous,
    }
}

struct Planner {
    machine: Started,
    lane: Lane,
    moments: Vec<Moment>,
    certain: usize,
    delivered: BTreeSet<u64>,
    /// How many lines there were when each of those was delivered.
    lines: BTreeMap<u64, usize>,
    ambiguous: bool,
}

impl Planner {
    /// Goes on until nothing moves, or the run has ended.
    fn quiet(&mut self) -> Option<Ending> {
        loop {
            self.lane.submit(self.machine.take_calls());
            match self.machine.standing() {
                Standing::Waits => {}
                Standing::Stopped => return Some(Ending::CallLimit),
                Standing::Returned(value) => return Some(Ending::Value(value.show())),
                Standing::Threw(fault, unhandled) => return Some(Ending::Threw(fault, unhandled)),
            }
            self.lane.pump();
            // With a timer that waits, which of them comes first is not for the rules to say.
            let timers = self.machine.timers();
            self.ambiguous |= timers > 1 || (timers > 0 && !self.lane.outcomes.is_empty());
            if let Some((n, outcome, events)) = self.lane.outcomes.pop_front() {
                self.delivered.insert(n);
                self.lines.insert(n, self.machine.logs().len());
                self.certain = events;
                self.machine.settle_call(n, &outcome);
            } else if timers > 0 {
                self.machine.fire();
            } else {
                self.certain = self.lane.events.len();
                return None;
            }
        }
    }

    /// Chooses what happens next, and does it.
    fn act(&mut self, source: &mut Source<'_>) -> Option<Ending> {
        let lane = &mut self.lane;
        let running: Vec<_> = lane.running.keys().copied().collect();
        if running.is_empty() {
            return Some(match self.machine.unhandled() {
                Some(fault) => Ending::Threw(fault, true),
                None => Ending::Deadlock,
            });
        }
        let (mut advance, mut ending) = (0, None);
        let first = lane
            .running
            .iter()
            .filter(|(n, _)| lane.call(**n).tool == ToolKind::Timed)
            .map(|(_, at)| *at)
            .min();
        let action = if lane.setting.wall && source.chance(1, 3) {
            ending = Some(Ending::Wall);
            Action::Wall
        } else if source.chance(1, 32) {
            ending = Some(Ending::Cancelled);
            Action::Cancel
        } else {
            let n = source.choose(&running);
            let since = lane.running[&n];
            let first_alone = lane.running.iter().filter(|(_, at)| Some(**at) == first).count() == 1;
            if lane.call(n).tool == ToolKind::Timed
                && Some(since) == first
                && first_alone
                && source.chance(1, 2)
            {
                advance = since + TIMEOUT - lane.now;
                Action::Expire(n)
            } else {
                // A moment later, so that no two deadlines are the same, unless one would be over.
                advance = u64::from(first.is_none_or(|first| lane.now + 1 < first + TIMEOUT));
                Action::Release(n, if source.chance(1, 4) { Reply::Fail } else { Reply::Value })
            }
        };
        self.moments.push(Moment {
            events: lane.events.len(),
            logs: self.machine.logs().len(),
            running: running.into_iter().collect(),
            advance,
            action,
        });
        lane.now += advance;
        match action {
            Action::Release(n, Reply::Value) => lane.rest(n, Ok(Val::Number(value(n)))),
            Action::Release(n, Reply::Fail) => {
                let outcome = lane.fails(n, "TOOL_FAILED");
                lane.rest(n, outcome);
            }
            Action::Expire(n) => {
                let outcome = lane.fails(n, "TOOL_TIMEOUT");
                lane.rest(n, outcome);
            }
            Action::Cancel | Action::Wall => {}
        }
        ending
    }
}
