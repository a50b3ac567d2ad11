//! The life of a child.
//!
//! Owns the order: greeted, confined, started, closed in, ready; then a program, and ready again with a new isolate, as
//! long as none of them was ended by a limit. It calls the sandbox, V8's start-up and the execution.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::codemode::bindings::Bindings;
use crate::codemode::program::PreparedProgram;
use crate::codemode::wire::{Begin, Finish, MaybeOwned, ToChild, ToHost, Violation};
use crate::codemode::written::{prepare_for, syntax_failure};
use crate::engine::child::far::Far;
use crate::engine::child::link::{Link, broken};
use crate::engine::child::{Hello, Ready};
use crate::engine::execution::{Ended, Execution, Outside, execute, shorten};
use crate::engine::isolate::{FreshIsolate, IsolateLimits};
use crate::engine::state::Trip;
use crate::engine::supervision::{self, Meter, Resort};
use crate::engine::{exit, lost, platform, sandbox};
use crate::limits::RunLimits;
use crate::outcome::RunFailure;

/// Serves one host to its end, and returns only when it cannot begin.
pub(super) fn serve() -> Result<(), String> {
    let mut link = Link::open();
    let hello = link.receive(|message| match message {
        ToChild::Hello(text) => serde_json::from_str::<Hello>(text).map_err(|error| error.to_string()),
        _ => broken(&Violation::OutOfPlace("host")),
    });
    let Some(hello) = hello.transpose()? else { return Err("nobody told this child how to be".to_owned()) };
    let mut layers = sandbox::before_threads(hello.host);
    lost::make_expendable();
    supervision::start();
    if hello.jitless {
        platform::without_machine_code();
    }
    let cancel = CancellationToken::new();
    let heard = cancel.clone();
    let life = move || match FreshIsolate::new(hello.isolate) {
        Ok(isolate) => {
            layers.extend(if hello.jitless {
                sandbox::after_start_without_compiler()
            } else {
                sandbox::after_start()
            });
            layers.sort_by_key(|report| report.layer);
            Child { link: Rc::new(RefCell::new(link)), layers, cancel, bindings: None }.live(isolate);
        }
        Err(error) => link.fail(&error.to_string()),
    };
    let life = move || {
        // The main thread waits for the host alone: this one ends the process, also when it panics.
        let lived = catch_unwind(AssertUnwindSafe(life));
        exit::end(if lived.is_ok() { 0 } else { PANICKED });
    };
    platform::spawn("isolane-isolate", life)
        .map_err(|error| format!("no thread could be started: {error}"))?;
    watch(&heard)
}

/// Exit code of a child in which Rust panicked.
const PANICKED: i32 = 101;

/// Waits on the main thread: a host that says nothing more has cancelled what runs, and one that is gone ends the
/// process, whatever runs.
fn watch(cancel: &CancellationToken) -> ! {
    let socket = std::io::stdin();
    let mut events = PollFlags::RDHUP;
    loop {
        let mut ready = [PollFd::new(&socket, events)];
        if poll(&mut ready, None).is_err() {
            continue;
        }
        let [ready] = ready;
        if ready.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            exit::end(0);
        }
        if ready.revents().contains(PollFlags::RDHUP) {
            cancel.cancel();
            // From here on, only the end of the host is news.
            events = PollFlags::empty();
        }
    }
}

struct Child {
    link: Rc<RefCell<Link>>,
    layers: Vec<sandbox::LayerReport>,
    /// Raised when the host says nothing more.
    cancel: CancellationToken,
    /// The tools of the program before.
    bindings: Option<Arc<Bindings>>,
}

impl Child {
    /// Runs programs until one of them makes the next one's life uncertain, or the host wants no more.
    fn live(mut self, mut isolate: FreshIsolate) {
        loop {
            self.link.borrow_mut().ready(&Ready::new(self.layers.clone(), None));
            let Some(begin) = self.next_program() else { return };
            let limits = IsolateLimits {
                unwinding_bytes: isolate.limits.unwinding_bytes,
                ..IsolateLimits::of(&begin.limits, 0)
            };
            if limits != isolate.limits {
                drop(isolate);
                let Ok(other) = FreshIsolate::new(limits) else { return };
                isolate = other;
            }
            let (ended, taken, tripped) = self.run(&mut isolate, begin);
            let again = !tripped && !self.cancel.is_cancelled();
            self.tell(ended, taken, again);
            if !again {
                return;
            }
            let limits = isolate.limits;
            drop(isolate);
            let Ok(next) = FreshIsolate::new(limits) else { return };
            isolate = next;
        }
    }

    /// The next program; nothing when the host wants no more.
    fn next_program(&self) -> Option<Begin<'static>> {
        loop {
            let begin = self.link.borrow_mut().receive(|message| match message {
                ToChild::Begin(begin) => Some(own(*begin)),
                // Of a program that has ended, and did not wait for it.
                ToChild::Settled(_) | ToChild::Kept(_) | ToChild::Recorded => None,
                ToChild::Hello(_) | ToChild::Go => broken(&Violation::OutOfPlace("host")),
            });
            if let Some(begin) = begin? {
                return Some(begin);
            }
        }
    }

    /// Prepares a program and runs it; how many outcomes it was given, and whether a limit ended it.
    fn run(&mut self, isolate: &mut FreshIsolate, begin: Begin<'static>) -> (Ended, usize, bool) {
        let clock = SystemClock::new();
        let Begin { text, reviewed, origin, limits, spent, bindings } = begin;
        let limits = limits.into_owned();
        match (bindings, &self.bindings) {
            (Some(MaybeOwned::Owned(bindings)), _) => self.bindings = Some(Arc::from(bindings)),
            (None, Some(_)) => {}
            _ => broken(&Violation::OutOfPlace("host")),
        }
        let Some(bindings) = self.bindings.clone() else { broken(&Violation::OutOfPlace("host")) };
        let program = match prepare_for(&text, limits.program_bytes, &bindings) {
            Ok(program) => Arc::new(program),
            Err(error) => return (failed(syntax_failure(error)), 0, false),
        };
        if reviewed && !self.review(&program) {
            // Whatever is said here, the host knows better why it let the program go.
            return (failed(Trip::Abort.failure(&limits)), 0, true);
        }
        let spent = spent.saturating_add(clock.monotonic());
        let handle = isolate.isolate.thread_safe_handle();
        let meter = Meter::new(&limits, spent, self.cancel.clone(), handle, Resort::EndProcess);
        let far = Rc::new(Far::new(Rc::clone(&self.link), limits.sub_calls));
        let notes = program.notes().to_vec();
        let outside = Rc::clone(&far) as Rc<dyn Outside>;
        let origin = origin.into_owned();
        let execution =
            Execution { program, bindings, limits, meter: Arc::clone(&meter), outside, origin, spent };
        let mut ended = execute(isolate, execution, || {});
        ended.notes.splice(0..0, notes);
        (ended, far.delivered(), meter.tripped().is_some() || isolate.heap_exceeded())
    }

    /// Has the host look at a prepared program; false when it is not to run.
    fn review(&self, program: &PreparedProgram) -> bool {
        let mut link = self.link.borrow_mut();
        link.write(&ToHost::Prepared(Box::new(program.clone())));
        link.flush();
        let passed = link.receive(|message| match message {
            ToChild::Go => {}
            _ => broken(&Violation::OutOfPlace("host")),
        });
        passed.is_some()
    }

    fn tell(&self, ended: Ended, taken: usize, again: bool) {
        let Ended { result, busy, notes, inputs, stray } = ended;
        let (value, mut failure) = match result {
            Ok(value) => (value.map(|value| value.to_string()), None),
            Err(failure) => (None, Some(failure)),
        };
        if let Some(failure) = &mut failure {
            shorten(&mut failure.message);
        }
        let finish = Finish { failure, notes, busy, taken, inputs, stray, again };
        let mut link = self.link.borrow_mut();
        link.write(&ToHost::Ended { finish, value: value.as_deref() });
        link.flush();
    }
}

fn failed(failure: RunFailure) -> Ended {
    Ended::without_program(failure, Duration::ZERO)
}

/// JSON is read into memory of its own, whatever its lifetime says.
fn own(begin: Begin<'_>) -> Begin<'static> {
    let Begin { text, reviewed, origin, limits, spent, bindings } = begin;
    let bindings = bindings.and_then(|bindings| match bindings {
        MaybeOwned::Owned(bindings) => Some(MaybeOwned::Owned(bindings)),
        MaybeOwned::Lent(_) => None,
    });
    let limits: std::borrow::Cow<'static, RunLimits> = std::borrow::Cow::Owned(limits.into_owned());
    let origin = std::borrow::Cow::Owned(origin.into_owned());
    Begin { text: text.into_owned().into(), reviewed, origin, limits, spent, bindings }
}
