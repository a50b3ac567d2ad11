//! The host, seen from an isolate's thread in a child.
//!
//! Owns the waiting of a program for a host at the other end of a socket. Calls are numbered and counted here so that a
//! limit has its place in the program, and once more by the host, which takes nothing for granted. It calls the link.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::codemode::wire::{KeptReply, KeptRequest, Outcome, ToChild, ToHost, Violation};
use crate::codemode::{LogLevel, StateError};
use crate::engine::child::link::{Link, broken};
use crate::engine::execution::{BATCH, BATCH_BYTES, Event, Kept, Outside, Refused, Waiting};
use crate::engine::state::Trip;
use crate::engine::supervision::Meter;
use crate::json::unreadable;

/// What came and has not been asked for yet.
#[derive(Default)]
struct Inbox {
    outcomes: VecDeque<Outcome<'static>>,
    reply: Option<KeptReply>,
    recorded: bool,
}

impl Inbox {
    fn sort(&mut self, message: ToChild<'_>) {
        match message {
            ToChild::Settled(Outcome { n, ok, big, text }) => {
                self.outcomes.push_back(Outcome { n, ok, big, text: Cow::Owned(text.into_owned()) });
            }
            ToChild::Kept(reply) => self.reply = Some(reply),
            ToChild::Recorded => self.recorded = true,
            ToChild::Hello(_) | ToChild::Begin(_) | ToChild::Go => broken(&Violation::OutOfPlace("host")),
        }
    }
}

/// What one run in a child reaches.
pub(super) struct Far {
    link: Rc<RefCell<Link>>,
    inbox: RefCell<Inbox>,
    /// Most calls.
    most: u64,
    calls: Cell<u64>,
    delivered: Cell<u64>,
    /// There are commits that the host was not asked to record.
    committed: Cell<bool>,
}

impl Far {
    pub(super) fn new(link: Rc<RefCell<Link>>, most: u64) -> Self {
        Self {
            link,
            inbox: RefCell::default(),
            most,
            calls: Cell::new(0),
            delivered: Cell::new(0),
            committed: Cell::new(false),
        }
    }

    /// How many outcomes the program was given.
    pub(super) fn delivered(&self) -> usize {
        usize::try_from(self.delivered.get()).unwrap_or(usize::MAX)
    }

    /// Outcomes that have come, as many as one entry into the isolate takes.
    fn batch(&self) -> Option<Event> {
        let mut inbox = self.inbox.borrow_mut();
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(next) = inbox.outcomes.pop_front()
        {
            bytes += next.text.len();
            batch.push(next);
        }
        self.delivered.set(self.delivered.get() + batch.len() as u64);
        (!batch.is_empty()).then_some(Event::Settled(batch))
    }

    /// Sorts what the link has.
    fn sort(&self, link: &mut Link) {
        let mut inbox = self.inbox.borrow_mut();
        while link.next(|message| inbox.sort(message)).is_some() {}
    }

    /// Waits until the inbox has what is asked for; nothing when the host has said all before that.
    fn until<T>(&self, take: impl Fn(&mut Inbox) -> Option<T>) -> Option<T> {
        let mut link = self.link.borrow_mut();
        link.flush();
        loop {
            self.sort(&mut link);
            if let Some(taken) = take(&mut self.inbox.borrow_mut()) {
                return Some(taken);
            }
            if link.is_closed() {
                return None;
            }
            link.wait(None);
        }
    }

    fn ask(&self, request: KeptRequest) -> KeptReply {
        self.link.borrow_mut().write(&ToHost::Kept(request));
        self.until(|inbox| inbox.reply.take()).unwrap_or(KeptReply::Refused(StateError::Closed))
    }

    /// The answer to a write, which gives nothing but whether it was done.
    fn write(&self, request: KeptRequest) -> Result<(), StateError> {
        match self.ask(request) {
            KeptReply::Refused(error) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Outside for Far {
    fn submit(&self, tool: usize, args: String, inputs: String) -> Result<u64, Refused> {
        // The host ends a child whose arguments it cannot read; a program is told.
        if let Some(error) = unreadable(&args) {
            return Err(Refused::Error(format!("the arguments are not JSON that can be read: {error}")));
        }
        let n = self.calls.get() + 1;
        if n > self.most {
            return Err(Refused::Trip(Trip::Calls));
        }
        self.calls.set(n);
        let tool = u32::try_from(tool).unwrap_or(u32::MAX);
        self.link.borrow_mut().write(&ToHost::Call { n, tool, args: &args, inputs: &inputs });
        Ok(n)
    }

    fn outstanding(&self) -> u64 {
        self.calls.get().saturating_sub(self.delivered.get())
    }

    fn line(&self, level: LogLevel, text: &str) {
        let mut link = self.link.borrow_mut();
        link.write(&ToHost::Line(level, text));
        // Whatever becomes of this process: what was printed has been printed.
        link.flush();
    }

    fn kept(&self) -> &dyn Kept {
        self
    }

    fn record(&self, _meter: &Meter) -> Option<Trip> {
        if !self.committed.replace(false) {
            return None;
        }
        self.link.borrow_mut().write(&ToHost::Record);
        let recorded = self.until(|inbox| std::mem::take(&mut inbox.recorded).then_some(()));
        recorded.is_none().then_some(Trip::Abort)
    }

    fn take_back(&self, numbers: &[u64]) {
        // They are the last ones: the program has ended.
        self.delivered.set(self.delivered.get().saturating_sub(numbers.len() as u64));
    }

    fn next(&self, mut waiting: Waiting<'_>) -> Option<Event> {
        let mut link = self.link.borrow_mut();
        link.flush();
        if waiting.timers.waiting() > 0 {
            link.look();
        }
        loop {
            if let Some(trip) = waiting.meter.over() {
                return Some(Event::Trip(trip));
            }
            if let Some(due) = waiting.due(false) {
                return Some(due);
            }
            self.sort(&mut link);
            if let Some(settled) = self.batch() {
                return Some(settled);
            }
            if link.is_closed() {
                return Some(Event::Trip(Trip::Abort));
            }
            let until_due = waiting.until_due();
            if let Some(due) = waiting.due(true) {
                return Some(due);
            }
            if until_due.is_none() && self.delivered.get() >= self.calls.get() {
                return None;
            }
            // Without a timer the host alone ends the wait; it has the wall clock, and so does the meter.
            link.wait(until_due.map(|due| due.min(waiting.meter.wall_left())));
        }
    }
}

impl Kept for Far {
    fn get(&self, key: &str) -> Option<String> {
        match self.ask(KeptRequest::Get(key.to_owned())) {
            KeptReply::Value(value) => value,
            _ => None,
        }
    }

    fn set(&self, key: &str, json: &str) -> Result<(), StateError> {
        self.write(KeptRequest::Set(key.to_owned(), json.to_owned()))
    }

    fn delete(&self, key: &str) -> Result<bool, StateError> {
        match self.ask(KeptRequest::Delete(key.to_owned())) {
            KeptReply::Had(had) => Ok(had),
            KeptReply::Refused(error) => Err(error),
            _ => Ok(false),
        }
    }

    fn keys(&self) -> Vec<String> {
        match self.ask(KeptRequest::Keys) {
            KeptReply::Keys(keys) => keys,
            _ => Vec::new(),
        }
    }

    fn commit(&self) -> Result<(), StateError> {
        self.write(KeptRequest::Commit).inspect(|()| self.committed.set(true))
    }
}
