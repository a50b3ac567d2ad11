//! The thread of the host that conducts one child.
//!
//! Owns a child from its start to its end: greets it, waits for a run, carries it on, and makes the child available
//! again or ends it. It is that thread which started the process, so that the two end together. It never decides which
//! run a child gets. It calls the pool and the conversation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::{Clock, SystemClock};
use crate::codemode::bindings::Bindings;
use crate::codemode::wire::{PROTOCOL, ToChild, ToHost};
use crate::engine::child::{Hello, Layer, LayerReport, Ready};
use crate::engine::isolate::IsolateLimits;
use crate::engine::process::converse::{Job, carry_on};
use crate::engine::process::options::{ProcessError, ProcessOptions};
use crate::engine::process::os_process::{Process, path};
use crate::engine::process::pool::Pool;
use crate::engine::process::wake::Bell;
use crate::engine::process::watch::Taken;
use crate::ids::SessionId;

/// How long a program may take to become a child; one that never answers is none.
const START: Duration = Duration::from_secs(30);

/// How long a child that has closed its socket may take to end.
pub(super) const ENDING: Duration = Duration::from_millis(200);

/// How often is looked at a child that has nothing to do, and at whether it is still wanted.
const GLANCE: Duration = Duration::from_millis(200);

/// What a child may compute while it has nothing to do: V8 puts its heap in order.
const BUSY_WHILE_IDLE: Duration = Duration::from_secs(2);

/// Most bytes that a child says of itself.
const READY_BYTES: usize = 64 * 1024;

/// What V8 gets on top of a program's heap to unwind; a child that uses that up as well is at its end, and says so.
const UNWINDING_BYTES: usize = 192 * 1024 * 1024;

/// What is asked of a conductor.
enum Order {
    Nothing,
    Run(Box<Job>),
    /// Ends the child.
    Stop,
    /// The child has ended.
    Gone,
}

/// What comes to a child that waits.
enum Next {
    Job(Box<Job>),
    /// It is to end.
    Stop,
    /// It has ended, or said something.
    Lost,
}

/// How a child ended that had been one.
pub(super) enum End {
    /// After a program, or because it was to.
    Served,
    /// By itself, before it was given any program.
    Unused,
}

/// A child that waits for a program. Dropping it ends it.
pub(super) struct Idle {
    order: Arc<Mutex<Order>>,
    bell: Arc<Bell>,
    /// It has been given a run, which is not to be stopped by dropping this.
    given: bool,
}

impl Idle {
    /// Whether the child has ended.
    pub(super) fn is_gone(&self) -> bool {
        matches!(*self.order.lock().unwrap_or_else(PoisonError::into_inner), Order::Gone)
    }

    /// Gives it a run; one that has died meanwhile gives it back.
    pub(super) fn offer(mut self, job: Job) {
        self.given = true;
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*order, Order::Nothing) {
            return job.give_back();
        }
        *order = Order::Run(Box::new(job));
        self.bell.ring();
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.given && matches!(*order, Order::Nothing) {
            *order = Order::Stop;
            self.bell.ring();
        }
    }
}

/// Starts a child on a thread of its own, after `delay`. What becomes of it, the pool is told.
pub(super) fn start(pool: &Arc<Pool>, delay: Duration) -> Result<(), ProcessError> {
    let (weak, options) = (Arc::downgrade(pool), pool.options().clone());
    let conduct = move || {
        let conductor = Bell::new().map_err(|error| ProcessError::Start {
            program: path(&options.program).display().to_string(),
            reason: error.to_string(),
        });
        let ended = conductor.and_then(|bell| {
            let order = Arc::new(Mutex::new(Order::Nothing));
            let mut conductor = Conductor {
                pool: weak.clone(),
                options,
                bell,
                order,
                greeted: false,
                runs: 0,
                session: None,
            };
            conductor.rest(delay);
            // A part of the host that panics here costs this child, and nothing of what the pool counts.
            catch_unwind(AssertUnwindSafe(|| conductor.conduct())).unwrap_or_else(|_| conductor.panicked())
        });
        if let Some(pool) = weak.upgrade() {
            pool.ended(ended);
        }
    };
    thread::Builder::new()
        .name("isolane-child".to_owned())
        .spawn(conduct)
        .map(drop)
        .map_err(|error| ProcessError::Start { program: "a thread".to_owned(), reason: error.to_string() })
}

struct Conductor {
    pool: Weak<Pool>,
    options: ProcessOptions,
    bell: Arc<Bell>,
    order: Arc<Mutex<Order>>,
    /// It has been a child.
    greeted: bool,
    runs: u32,
    /// Whose programs it runs, once it has run one (E-2).
    session: Option<SessionId>,
}

impl Conductor {
    fn conduct(&mut self) -> Result<End, ProcessError> {
        if self.is_stopped() {
            return Err(ProcessError::Closed);
        }
        let mut process = Process::start(&self.options.program)?;
        let hello = Hello {
            host: std::process::id(),
            isolate: IsolateLimits::of(&self.options.limits, UNWINDING_BYTES),
            jitless: self.options.jitless,
        };
        ToChild::Hello(&serde_json::to_string(&hello).unwrap_or_default()).encode(&mut process.out);
        let layers = self.greet(&mut process)?;
        let is_on = |layer| layers.iter().any(|report| report.layer == layer && report.state.is_on());
        let lacks: Vec<_> = Layer::ALL.into_iter().filter(|layer| !is_on(*layer)).collect();
        if self.options.require_sandbox && !lacks.is_empty() {
            return Err(ProcessError::Sandbox { lacks });
        }
        self.greeted = true;
        tracing::debug!(pid = process.pid(), "a child is ready");
        let mut bindings: Option<Arc<Bindings>> = None;
        let mut first = Some(layers);
        loop {
            let Some(pool) = self.pool.upgrade() else { return Ok(End::Served) };
            let idle = Idle { order: Arc::clone(&self.order), bell: Arc::clone(&self.bell), given: false };
            pool.ready(idle, self.session.as_ref(), first.take());
            drop(pool);
            let job = match self.next_job(&mut process) {
                Next::Job(job) => job,
                Next::Lost if self.runs == 0 => return Ok(End::Unused),
                Next::Lost | Next::Stop => return Ok(End::Served),
            };
            if self.runs == 0
                && let Some(pool) = self.pool.upgrade()
            {
                pool.used();
            }
            self.session.get_or_insert_with(|| job.request.session.clone());
            self.runs += 1;
            let last = self.runs >= self.options.runs_per_child;
            if !carry_on(&mut process, *job, &mut bindings, &self.bell, self.options.resident_bytes, last) {
                return Ok(End::Served);
            }
            // It has been a child: that it is none any more is no failure of its start.
            if let Err(error) = self.greet(&mut process) {
                tracing::debug!(%error, "a child is not ready again");
                return Ok(End::Served);
            }
        }
    }

    /// Waits until the child says that it can take a program.
    fn greet(&self, process: &mut Process) -> Result<Vec<LayerReport>, ProcessError> {
        let clock = SystemClock::new();
        let silent = |what: String| ProcessError::NoAnswer {
            program: path(&self.options.program).display().to_string(),
            what,
        };
        loop {
            process.send();
            match process.frames.next(READY_BYTES) {
                Ok(None) => {}
                Ok(Some(frame)) => match ToHost::decode(frame) {
                    Ok(ToHost::Ready(text)) => return accept(text).map_err(silent),
                    _ => return Err(silent("answered with something else".to_owned())),
                },
                Err(violation) => return Err(silent(format!("answered with something else: {violation}"))),
            }
            if process.ended {
                return Err(silent(process.end(ENDING).to_string()));
            }
            if self.is_stopped() {
                return Err(ProcessError::Closed);
            }
            let Some(left) = START.checked_sub(clock.monotonic()).filter(|left| !left.is_zero()) else {
                return Err(silent(format!("did not answer within {} s", START.as_secs())));
            };
            // Dropping the runtime rings no bell that nobody has yet, and a child that runs no program takes nothing.
            wait(process, &self.bell, true, Some(left.min(GLANCE)));
            self.bell.heard();
            process.receive();
            if self.takes_too_much(process, None) {
                return Err(silent("took more memory than it may".to_owned()));
            }
        }
    }

    /// Whether a child that runs no program takes more than one may; `since` is what it had taken when its last one ended.
    fn takes_too_much(&self, process: &Process, since: Option<Taken>) -> bool {
        let Some(taken) = process.watch.look() else { return false };
        let idle = since.map(|since| taken.processor.saturating_sub(since.processor)).unwrap_or_default();
        taken.resident > self.options.resident_bytes || idle > BUSY_WHILE_IDLE
    }

    /// How it ended when a part of the host panicked.
    fn panicked(&self) -> Result<End, ProcessError> {
        if self.greeted {
            return Ok(End::Served);
        }
        let program = path(&self.options.program).display().to_string();
        Err(ProcessError::NoAnswer { program, what: "a part of the host panicked".to_owned() })
    }

    /// The next run, or why there is none.
    fn next_job(&self, process: &mut Process) -> Next {
        // Before its first program there is nobody in it who would take anything.
        let glance = (self.runs > 0).then_some(GLANCE);
        let since = process.watch.look();
        loop {
            self.bell.heard();
            {
                let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
                // What waits says nothing; if it does, it is not to be trusted with a program.
                if process.ended || process.frames.is_partial() {
                    if let Order::Run(job) = std::mem::replace(&mut *order, Order::Gone) {
                        // It died as it was given a program, of which nothing was sent: the next child has it.
                        job.give_back();
                    }
                    return Next::Lost;
                }
                match std::mem::replace(&mut *order, Order::Nothing) {
                    Order::Run(job) => return Next::Job(job),
                    Order::Nothing => {}
                    Order::Stop | Order::Gone => {
                        *order = Order::Gone;
                        return Next::Stop;
                    }
                }
            }
            wait(process, &self.bell, true, glance);
            process.receive();
            if glance.is_some() && self.takes_too_much(process, since) {
                tracing::warn!(pid = process.pid(), "a child takes more than it may while it waits");
                process.ended = true;
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.pool.upgrade().is_none()
    }

    /// Waits before a start, since the one before failed.
    fn rest(&self, delay: Duration) {
        let clock = SystemClock::new();
        while let Some(left) = delay.checked_sub(clock.monotonic()).filter(|left| !left.is_zero())
            // A run that waits is served, or told, at once.
            && self.pool.upgrade().is_some_and(|pool| !pool.is_awaited())
        {
            let timeout = Timespec::try_from(left.min(GLANCE)).ok();
            let _ = poll(&mut [PollFd::from_borrowed_fd(self.bell.fd(), PollFlags::IN)], timeout.as_ref());
        }
    }
}

/// The layers that a child reports, or what is wrong with it.
fn accept(text: &str) -> Result<Vec<LayerReport>, String> {
    let Ready { protocol, version, layers, failure } =
        serde_json::from_str(text).map_err(|error| format!("answered with something else: {error}"))?;
    if protocol != PROTOCOL || version != env!("CARGO_PKG_VERSION") {
        return Err(format!("is of version {version}"));
    }
    failure.map_or(Ok(layers), |failure| Err(format!("could not begin: {failure}")))
}

/// Waits for the bell, or so long, or until the child takes what is sent, or says something if it is listened to.
pub(super) fn wait(process: &Process, bell: &Bell, listens: bool, most: Option<Duration>) {
    let timeout = most.and_then(|most| Timespec::try_from(most).ok());
    let room = if process.out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
    let ears = if process.ended || !listens { PollFlags::empty() } else { PollFlags::IN };
    let socket = process.fd();
    let mut fds =
        [PollFd::from_borrowed_fd(bell.fd(), PollFlags::IN), PollFd::from_borrowed_fd(socket, ears | room)];
    // The end of the socket is always told: it would be news for ever.
    let fds = if process.ended { &mut fds[..1] } else { &mut fds[..] };
    // Interrupted is as good as woken.
    let _ = poll(fds, timeout.as_ref());
}
