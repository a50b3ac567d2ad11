//! Random programs against a small model of the lane (CM-17 to CM-21, L-5).

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Parallel,
    /// Parallel, and ignores its signal.
    Deaf,
    Exclusive,
    /// Parallel, and done at once.
    Immediate,
    Denied,
    Unknown,
}

impl Kind {
    fn tool(self) -> &'static str {
        match self {
            Self::Parallel => "par",
            Self::Deaf => "deaf",
            Self::Exclusive => "alone",
            Self::Immediate => "now",
            Self::Denied => "denied",
            Self::Unknown => "nothing",
        }
    }

    fn runs_alone(self) -> bool {
        matches!(self, Self::Exclusive | Self::Unknown)
    }

    fn has_body(self) -> bool {
        !matches!(self, Self::Denied | Self::Unknown)
    }
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Submit(Kind),
    /// Releases one of the bodies that wait.
    Release(prop::sample::Index, Reply),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Close,
    Cancel,
    /// After all bodies were released.
    CloseIdle,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let kind = prop_oneof![
        6 => Just(Kind::Parallel),
        1 => Just(Kind::Deaf),
        2 => Just(Kind::Exclusive),
        2 => Just(Kind::Immediate),
        1 => Just(Kind::Denied),
        1 => Just(Kind::Unknown),
    ];
    let reply = prop_oneof![4 => Just(Reply::Value), 1 => Just(Reply::Fail), 1 => Just(Reply::Panic), 1 => Just(Reply::Conclude)];
    let action = prop_oneof![
        5 => kind.prop_map(Action::Submit),
        4 => (any::<prop::sample::Index>(), reply).prop_map(|(which, reply)| Action::Release(which, reply)),
    ];
    prop::collection::vec(action, 0..40)
}

/// Which calls run and which are settled, by the rules alone.
struct Model {
    max: usize,
    order: CommitOrder,
    kinds: Vec<Kind>,
    queue: VecDeque<u64>,
    running: Vec<u64>,
    /// At rest, under submission order.
    waiting: Vec<u64>,
    settled: Vec<u64>,
}

impl Model {
    fn kind(&self, n: u64) -> Kind {
        self.kinds[usize::try_from(n).unwrap() - 1]
    }

    fn submit(&mut self, kind: Kind) {
        self.kinds.push(kind);
        self.queue.push_back(self.kinds.len() as u64);
        self.pump();
    }

    fn rest(&mut self, n: u64) {
        self.running.retain(|running| *running != n);
        self.settle(n);
        self.pump();
    }

    fn settle(&mut self, n: u64) {
        if self.order == CommitOrder::Completion {
            self.settled.push(n);
            return;
        }
        self.waiting.push(n);
        while let Some(place) = self.waiting.iter().position(|n| *n == self.settled.len() as u64 + 1) {
            self.settled.push(self.waiting.remove(place));
        }
    }

    fn pump(&mut self) {
        while let Some(n) = self.queue.front().copied() {
            let barrier = self.running.iter().any(|n| self.kind(*n).runs_alone());
            let kind = self.kind(n);
            if barrier || self.running.len() >= self.max || (kind.runs_alone() && !self.running.is_empty()) {
                return;
            }
            self.queue.pop_front();
            match kind {
                Kind::Parallel | Kind::Deaf | Kind::Exclusive => self.running.push(n),
                Kind::Immediate | Kind::Denied | Kind::Unknown => self.settle(n),
            }
        }
    }
}

/// What holds of every trace, whatever the program did.
fn check_trace(lines: &[String], model: &Model) {
    let mut bodies = Vec::new();
    let mut step: Option<(&str, u64)> = None;
    let (mut prepared, mut ran) = (0, 0);
    let mut alone = None;
    for line in lines {
        let (what, n) = line.split_once(' ').unwrap();
        let n: u64 = n.parse().unwrap();
        let kind = model.kind(n);
        match what {
            "prepare" | "review" => {
                assert_eq!(step, None, "ordered steps never overlap: {lines:?}");
                step = Some((what, n));
            }
            "prepared" | "reviewed" => {
                assert_eq!(step.take().map(|(_, n)| n), Some(n));
            }
            "run" => {
                assert!(kind.has_body(), "{n} must not run");
                assert!(n > ran, "bodies start in submission order: {lines:?}");
                ran = n;
                bodies.push(n);
                assert!(bodies.len() <= model.max, "more than {} bodies: {lines:?}", model.max);
                assert_eq!(alone, None, "nothing runs beside an exclusive call: {lines:?}");
                if kind == Kind::Exclusive {
                    assert_eq!(bodies, [n], "an exclusive call runs alone: {lines:?}");
                    alone = Some(n);
                } else if kind == Kind::Immediate {
                    bodies.pop();
                }
            }
            "rest" => bodies.retain(|body| *body != n),
            "settled" if alone == Some(n) => alone = None,
            _ => {}
        }
        if what == "prepare" {
            assert!(n > prepared, "calls are prepared in submission order: {lines:?}");
            assert_eq!(alone, None, "the barrier holds until the commit is done: {lines:?}");
            prepared = n;
        }
    }
}

fn numbers(lines: &[String], what: &str) -> Vec<u64> {
    let found = lines.iter().filter_map(|line| line.strip_prefix(what)?.strip_prefix(' '));
    found.map(|n| n.parse().unwrap()).collect()
}

async fn play(max: usize, order: CommitOrder, actions: Vec<Action>, end: End) {
    let setup = Setup::new(LaneConfig { max_parallel: max, commit_order: order, ..config() });
    let mut bench = setup.watched().start();
    let mut model = Model {
        max,
        order,
        kinds: Vec::new(),
        queue: VecDeque::new(),
        running: Vec::new(),
        waiting: Vec::new(),
        settled: Vec::new(),
    };
    for action in actions {
        match action {
            Action::Submit(kind) => {
                let n = bench.submit(kind.tool());
                model.submit(kind);
                assert_eq!(n, model.kinds.len() as u64);
            }
            Action::Release(which, reply) => {
                let waiting = bench.setup.bodies.waiting();
                if !waiting.is_empty() {
                    let n = *which.get(&waiting);
                    bench.setup.bodies.release(n, reply);
                    model.rest(n);
                }
            }
        }
        bench.quiet().await;
        assert_eq!(bench.setup.bodies.waiting(), model.running, "which bodies run");
        assert_eq!(bench.outcomes(), model.settled.len(), "how many calls are settled");
    }
    if matches!(end, End::CloseIdle) {
        while let Some(n) = bench.setup.bodies.waiting().first().copied() {
            bench.release(n, Reply::Value).await;
            model.rest(n);
        }
        assert_eq!(bench.outcomes(), model.kinds.len(), "every call is settled");
    }
    let in_time = bench.outcomes();
    let left = model.running.clone();
    if matches!(end, End::Cancel) {
        bench.setup.cancel.cancel();
    } else {
        bench.handle.close();
    }
    bench.quiet().await;
    let deaf: Vec<_> = left.iter().filter(|n| model.kind(**n) == Kind::Deaf).collect();
    assert_eq!(bench.is_done().await, deaf.is_empty());
    bench.setup.clock.advance(DRAIN);
    let report = bench.report().await;
    assert_eq!(bench.outcomes(), in_time, "an ended run gets no more outcomes");
    check_report(&report, &model, &left, in_time);

    let lines = bench.setup.bodies.trace.lines();
    check_trace(&lines, &model);
    let settled = numbers(&lines, "settled");
    assert_eq!(settled[..in_time], model.settled[..], "the order of commits");
    assert_eq!(numbers(&lines, "value"), model.settled, "outcomes in the order of commits");
    if order == CommitOrder::Submission {
        assert!(settled.is_sorted(), "{settled:?}");
    }
}

fn check_report(report: &LaneReport, model: &Model, left: &[u64], in_time: usize) {
    assert_eq!(report.sub_calls.len(), model.kinds.len());
    for (n, call) in (1..).zip(&report.sub_calls) {
        let expected = if model.queue.contains(&n) {
            [SubCallState::NotStarted; 2]
        } else if left.contains(&n) {
            [SubCallState::Aborted; 2]
        } else {
            [SubCallState::Finished, SubCallState::Failed]
        };
        assert!(expected.contains(&call.state), "{n}: {call:?}");
        assert_eq!(call.delivered, model.settled.contains(&n), "{n}: {call:?}");
    }
    assert_eq!(report.sub_calls.iter().filter(|call| call.delivered).count(), in_time);
    let deferred: Vec<_> = report.deferred.iter().map(|context| context.text.clone()).collect();
    let by_number = |text: &String| text.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(deferred.is_sorted_by_key(by_number), "{deferred:?}");
    assert_eq!(report.concludes_turn, !deferred.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// CM-17, CM-18, CM-19, CM-20, CM-21, L-5
    #[test]
    fn a_lane_does_what_the_rules_say(
        max in prop_oneof![Just(1_usize), Just(2), Just(3), Just(10)],
        order in prop_oneof![Just(CommitOrder::Completion), Just(CommitOrder::Submission)],
        actions in actions(),
        end in prop_oneof![Just(End::Close), Just(End::Cancel), Just(End::CloseIdle)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(max, order, actions, end));
    }
}
