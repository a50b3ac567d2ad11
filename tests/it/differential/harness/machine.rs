//! What a generated program does, by the rules of the language alone.
//!
//! Owns promises, microtasks and asynchronous functions as ECMAScript has them, to the tick, as far as the generator
//! uses them; what each statement does stands in `steps`. It never knows of V8 or of the lane: it says which calls a
//! program makes, and is told how each one ended. It calls nobody but the program's tree.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::program::{Block, Combinator, Given, Program, Site, ToolKind};
use super::steps::{Flow, block};

/// A value of the program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    Undefined,
    Number(u64),
    Text(String),
    List(Vec<Val>),
    Fulfilled(Box<Val>),
    Rejected(Fault),
}

/// What is thrown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    Call { tool: &'static str, code: String },
    Own(u32),
    TypeError,
    Many(Vec<Fault>),
}

pub(crate) type Outcome = Result<Val, Fault>;

impl Val {
    /// As the program's `show` writes it.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Undefined => "undefined".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(list) => format!("[{}]", list.iter().map(Self::show).collect::<Vec<_>>().join(" ")),
            Self::Fulfilled(value) => format!("+{}", value.show()),
            Self::Rejected(fault) => format!("-{}", fault.tell()),
        }
    }
}

impl Fault {
    /// As the program's `tell` writes it.
    pub(crate) fn tell(&self) -> String {
        match self {
            Self::Call { tool, code } => format!("{tool}:{code}"),
            Self::Own(id) => format!("own {id}"),
            Self::TypeError => "TypeError".to_owned(),
            Self::Many(faults) => {
                format!("all({})", faults.iter().map(Self::tell).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A sub-call that the program has made.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) n: u64,
    pub(crate) tool: ToolKind,
    pub(crate) given: Given,
    pub(crate) args: Value,
}

type Job = Box<dyn FnOnce(&Machine, Outcome) + Send>;
type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(super) type Promise = usize;

enum State {
    Pending(Vec<Job>),
    Settled(Outcome),
}

struct Inner {
    promises: Vec<(State, bool)>,
    microtasks: VecDeque<(Job, Outcome)>,
    tasks: BTreeMap<usize, Task>,
    next_task: usize,
    current: usize,
    calls: BTreeMap<u64, Promise>,
    tools: BTreeMap<u64, &'static str>,
    timers: VecDeque<Promise>,
    /// Rejected, and nobody handles them; in order.
    unhandled: Vec<(Promise, Fault)>,
    outbox: Vec<Submission>,
    logs: Vec<String>,
    submitted: u64,
    most: u64,
    made: u64,
    /// It made more calls than it may: nothing of it goes on.
    stopped: bool,
    main: Promise,
}

/// A program that runs.
#[derive(Clone)]
pub(crate) struct Machine(Arc<Mutex<Inner>>);

/// How the program stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    Waits,
    /// It made more calls than it may.
    Stopped,
    Returned(Val),
    /// By itself, or (true) by a promise that nobody handled.
    Threw(Fault, bool),
}

/// A program that runs, and that is let go of with this: what waits for ever holds the machine that it waits in.
pub(crate) struct Started(Machine);

impl Deref for Started {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let waiting = self.0.0.lock().map(|mut inner| {
            (
                std::mem::take(&mut inner.promises),
                std::mem::take(&mut inner.microtasks),
                std::mem::take(&mut inner.tasks),
            )
        });
        // The lock is free again: what is dropped here may take it.
        drop(waiting);
    }
}

impl Machine {
    /// Begins a program, which may make so many calls, and runs it until it waits.
    pub(crate) fn start(program: &Arc<Program>) -> Started {
        let machine = Self(Arc::new(Mutex::new(Inner {
            promises: Vec::new(),
            microtasks: VecDeque::new(),
            tasks: BTreeMap::new(),
            next_task: 1,
            current: 0,
            calls: BTreeMap::new(),
            tools: BTreeMap::new(),
            timers: VecDeque::new(),
            unhandled: Vec::new(),
            outbox: Vec::new(),
            logs: Vec::new(),
            submitted: 0,
            most: program.setting.calls,
            made: 0,
            stopped: false,
            main: 0,
        })));
        let main = machine.run(program, &program.main, Val::Text("end".to_owned()));
        machine.lock().main = main;
        // Whoever runs the program looks at its promise.
        machine.handle(main);
        machine.drain();
        Started(machine)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    // ---- what the host sees ----

    pub(crate) fn standing(&self) -> Standing {
        let inner = self.lock();
        if inner.stopped {
            return Standing::Stopped;
        }
        match &inner.promises[inner.main].0 {
            State::Pending(_) => Standing::Waits,
            State::Settled(Err(fault)) => Standing::Threw(fault.clone(), false),
            State::Settled(Ok(value)) => match inner.unhandled.first() {
                Some((_, fault)) => Standing::Threw(fault.clone(), true),
                None => Standing::Returned(value.clone()),
            },
        }
    }

    /// What is rejected and unhandled by now.
    pub(crate) fn unhandled(&self) -> Option<Fault> {
        self.lock().unhandled.first().map(|(_, fault)| fault.clone())
    }

    /// The calls that were made since this was asked last.
    pub(crate) fn take_calls(&self) -> Vec<Submission> {
        std::mem::take(&mut self.lock().outbox)
    }

    /// The tool of a call.
    pub(crate) fn tool(&self, n: u64) -> &'static str {
        self.lock().tools[&n]
    }

    /// The lines so far.
    pub(crate) fn logs(&self) -> Vec<String> {
        self.lock().logs.clone()
    }

    pub(crate) fn timers(&self) -> usize {
        self.lock().timers.len()
    }

    /// Settles a call, and runs the program until it waits.
    pub(crate) fn settle_call(&self, n: u64, outcome: &Outcome) {
        let promise = self.lock().calls[&n];
        self.settle(promise, outcome);
        self.drain();
    }

    /// Fires the timer that was set first, and runs the program until it waits.
    pub(crate) fn fire(&self) {
        let Some(promise) = self.lock().timers.pop_front() else { return };
        self.settle(promise, &Ok(Val::Undefined));
        self.drain();
    }

    // ---- promises ----

    pub(super) fn promise(&self) -> Promise {
        let mut inner = self.lock();
        inner.promises.push((State::Pending(Vec::new()), false));
        inner.promises.len() - 1
    }

    pub(super) fn settle(&self, promise: Promise, outcome: &Outcome) {
        let mut inner = self.lock();
        let (state, handled) = &mut inner.promises[promise];
        let State::Pending(jobs) = state else { return };
        let (jobs, handled) = (std::mem::take(jobs), *handled);
        *state = State::Settled(outcome.clone());
        if let (Err(fault), false) = (outcome, handled) {
            let fault = fault.clone();
            inner.unhandled.push((promise, fault));
        }
        inner.microtasks.extend(jobs.into_iter().map(|job| (job, outcome.clone())));
    }

    fn handle(&self, promise: Promise) {
        let mut inner = self.lock();
        inner.promises[promise].1 = true;
        inner.unhandled.retain(|(rejected, _)| *rejected != promise);
    }

    pub(super) fn react(&self, promise: Promise, job: impl FnOnce(&Self, Outcome) + Send + 'static) {
        self.handle(promise);
        let mut inner = self.lock();
        let job: Job = Box::new(job);
        match &mut inner.promises[promise].0 {
            State::Pending(jobs) => jobs.push(job),
            State::Settled(outcome) => {
                let outcome = outcome.clone();
                inner.microtasks.push_back((job, outcome));
            }
        }
    }

    fn drain(&self) {
        loop {
            let next = {
                let mut inner = self.lock();
                if inner.stopped { None } else { inner.microtasks.pop_front() }
            };
            let Some((job, outcome)) = next else { return };
            job(self, outcome);
        }
    }

    pub(super) fn combine(&self, combinator: Combinator, promises: &[Promise]) -> Promise {
        let all = self.promise();
        let gathered = Arc::new(Mutex::new((vec![None::<Outcome>; promises.len()], promises.len())));
        if promises.is_empty() {
            self.settle(all, &Ok(Val::List(Vec::new())));
        }
        for (index, promise) in promises.iter().enumerate() {
            let gathered = Arc::clone(&gathered);
            self.react(*promise, move |machine, outcome| {
                let early = match (combinator, &outcome) {
                    (Combinator::Race, _) | (Combinator::All, Err(_)) | (Combinator::Any, Ok(_)) => true,
                    (Combinator::All | Combinator::Any | Combinator::AllSettled, _) => false,
                };
                if early {
                    return machine.settle(all, &outcome);
                }
                let mut gathered = gathered.lock().unwrap();
                gathered.0[index] = Some(outcome);
                gathered.1 -= 1;
                if gathered.1 == 0 {
                    let each: Vec<_> = gathered.0.iter().flatten().cloned().collect();
                    machine.settle(all, &conclude(combinator, each));
                }
            });
        }
        all
    }

    // ---- functions ----

    /// Calls an asynchronous function: its first part runs at once.
    pub(super) fn run(&self, program: &Arc<Program>, body: &Block, otherwise: Val) -> Promise {
        let promise = self.promise();
        let (machine, running) = (self.clone(), block(self.clone(), Arc::clone(program), Arc::clone(body)));
        let id = {
            let mut inner = self.lock();
            inner.next_task += 1;
            inner.next_task
        };
        let task = Box::pin(async move {
            let outcome = running.await.map(|flow| match flow {
                Flow::Next => otherwise,
                Flow::Return(value) => value,
            });
            machine.settle(promise, &outcome);
        });
        self.lock().tasks.insert(id, task);
        self.resume(id);
        promise
    }

    fn resume(&self, id: usize) {
        let (task, before) = {
            let mut inner = self.lock();
            (inner.tasks.remove(&id), std::mem::replace(&mut inner.current, id))
        };
        let Some(mut task) = task else { return };
        let pending = task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        let mut inner = self.lock();
        inner.current = before;
        if pending {
            inner.tasks.insert(id, task);
        }
    }

    pub(super) fn wait(&self, promise: Promise) -> Wait {
        Wait { machine: self.clone(), promise, outcome: Arc::default(), asked: false }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// A promise that a timer settles.
    pub(super) fn timer(&self) -> Promise {
        let promise = self.promise();
        self.lock().timers.push_back(promise);
        promise
    }

    pub(super) fn log(&self, line: String) {
        self.lock().logs.push(line);
    }

    /// Calls a tool; an error is what the program throws by itself, and nothing means that it is stopped.
    pub(super) fn call(&self, site: Site) -> Result<Option<Promise>, Fault> {
        let promise = self.promise();
        let mut inner = self.lock();
        inner.made += 1;
        if site.tool == ToolKind::Unknown || site.given == Given::NoJson {
            return Err(Fault::TypeError);
        }
        if inner.submitted >= inner.most {
            inner.stopped = true;
            return Ok(None);
        }
        inner.submitted += 1;
        let n = inner.submitted;
        let id = if site.given == Given::Invalid { json!(site.id.to_string()) } else { json!(site.id) };
        let args = json!({"id": id, "made": inner.made});
        inner.outbox.push(Submission { n, tool: site.tool, given: site.given, args });
        inner.tools.insert(n, site.tool.name());
        inner.calls.insert(n, promise);
        Ok(Some(promise))
    }
}

fn conclude(combinator: Combinator, each: Vec<Outcome>) -> Outcome {
    match combinator {
        Combinator::AllSettled => Ok(Val::List(
            each.into_iter()
                .map(|outcome| match outcome {
                    Ok(value) => Val::Fulfilled(Box::new(value)),
                    Err(fault) => Val::Rejected(fault),
                })
                .collect(),
        )),
        Combinator::Any => Err(Fault::Many(each.into_iter().filter_map(Result::err).collect())),
        Combinator::All | Combinator::Race => {
            Ok(Val::List(each.into_iter().filter_map(Result::ok).collect()))
        }
    }
}

/// An `await`.
pub(super) struct Wait {
    machine: Machine,
    promise: Promise,
    outcome: Arc<Mutex<Option<Outcome>>>,
    asked: bool,
}

impl Future for Wait {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Outcome> {
        if let Some(outcome) = self.outcome.lock().unwrap().take() {
            return Poll::Ready(outcome);
        }
        if !std::mem::replace(&mut self.asked, true) {
            let (slot, task) = (Arc::clone(&self.outcome), self.machine.lock().current);
            self.machine.react(self.promise, move |machine, outcome| {
                *slot.lock().unwrap() = Some(outcome);
                machine.resume(task);
            });
        }
        Poll::Pending
    }
}
