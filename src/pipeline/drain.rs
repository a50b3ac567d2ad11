//! How long an end waits for what was started, and what became of bodies that outlast it (P-14).
//!
//! Owns deadlines, which begin when somebody has noticed the end, and the list of bodies that nobody waits for any
//! more. It never stops anything. It calls the clock.
//!
//! The list holds no body: it looks at whether a call's [`Prepared`] is still alive, which the running body owns
//! together with whoever waits for it. So a body costs nothing here before it is left behind, and it leaves the list
//! by ending, however it ends: done, panicked, or gone with the host's runtime.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Sleep};
use crate::outcome::{CallFailure, ErrorCode};
use crate::pipeline::prepare::aborted_before_dispatch;
use crate::pipeline::{Call, Pipeline, Pool, Prepared};

/// What a deadline is made of.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    pub(crate) clock: Arc<dyn Clock>,
    /// Absent: there is no end to it.
    pub(crate) limit: Option<Duration>,
}

/// One wait.
pub(crate) struct Deadline(State);

enum State {
    Endless,
    Running(Sleep),
    Over,
}

impl Patience {
    /// A deadline that begins now.
    pub(crate) fn begin(&self) -> Deadline {
        Deadline(self.limit.map_or(State::Endless, |limit| State::Running(self.clock.sleep(limit))))
    }

    /// Awaits a part of a call. Nothing: the call was cancelled, and the part has not ended within the time from then.
    pub(super) async fn within<F: Future>(&self, cancel: &CancellationToken, part: F) -> Option<F::Output> {
        let (mut part, mut told) = (pin!(part), pin!(cancel.cancelled()));
        let mut deadline = None;
        poll_fn(|context| {
            if let Poll::Ready(output) = part.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            ready!(told.as_mut().poll(context));
            deadline.get_or_insert_with(|| self.begin()).poll(context).map(|()| None)
        })
        .await
    }
}

impl Deadline {
    /// Ready when the time is over.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            State::Endless => Poll::Pending,
            State::Over => Poll::Ready(()),
            State::Running(sleep) => sleep.as_mut().poll(context).map(|()| self.0 = State::Over),
        }
    }
}

/// What a call comes to if its body, which a wrapper has told to stop, outlasts the deadline.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    failure: Mutex<Option<CallFailure>>,
    /// Whoever waits for the body.
    waiter: AtomicWaker,
}

impl Overdue {
    /// The first who gives up has the say until the guard is gone.
    pub(super) fn give_up(&self, failure: CallFailure) -> GivenUp<'_> {
        let mut kept = self.lock();
        if kept.is_some() {
            return GivenUp { overdue: None };
        }
        *kept = Some(failure);
        drop(kept);
        self.waiter.wake();
        GivenUp { overdue: Some(self) }
    }

    /// Ready when somebody has given up.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        self.waiter.register(context.waker());
        if self.lock().is_some() { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(super) fn take(&self) -> Option<CallFailure> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<CallFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held while a body that was told to stop is waited for; see [`AroundNext::give_up`].
///
/// [`AroundNext::give_up`]: crate::pipeline::AroundNext::give_up
#[must_use = "the call is given up only while this is held"]
#[derive(Debug)]
pub struct GivenUp<'a> {
    /// Absent when somebody else has given up before.
    overdue: Option<&'a Overdue>,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let Some(overdue) = self.overdue {
            overdue.take();
        }
    }
}

impl std::fmt::Debug for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.0 {
            State::Endless => "endless",
            State::Running(_) => "running",
            State::Over => "over",
        };
        f.debug_tuple("Deadline").field(&state).finish()
    }
}

/// How a scheduler that works for many calls waits when it is to end (P-14).
#[derive(Debug)]
pub(crate) struct Waits {
    patience: Patience,
    /// How long bodies are waited for, from when the end was noticed.
    bodies: Option<Deadline>,
    /// An ordered part was given up. Whatever holds up a second one is not waited for again.
    gave_up: bool,
}

impl Waits {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, bodies: None, gave_up: false }
    }

    /// Ready when the time of bodies is over. It begins when this is asked for the first time: whoever asks has noticed
    /// the end.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.bodies.get_or_insert_with(|| self.patience.begin()).poll(context)
    }

    /// Awaits an ordered part while bodies go on. Nothing: `ended` is ready, and the part has not ended within the time
    /// that a body would have had.
    pub(crate) async fn ordered<F: Future>(
        &mut self,
        pool: &mut Pool,
        part: F,
        mut ended: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Option<F::Output> {
        let Self { patience, bodies, gave_up } = self;
        let mut deadline = None;
        let given_up = |context: &mut Context<'_>| {
            ready!(ended(context));
            // Bodies run meanwhile, and so does their time.
            bodies.get_or_insert_with(|| patience.begin());
            if *gave_up {
                return Poll::Ready(());
            }
            deadline.get_or_insert_with(|| patience.begin()).poll(context)
        };
        let output = pool.beside_until(part, given_up).await;
        *gave_up |= output.is_none();
        output
    }
}

/// The calls whose bodies were left behind, oldest first.
#[derive(Debug, Default)]
pub(super) struct LeftBehind(Mutex<Vec<Weak<Prepared>>>);

impl LeftBehind {
    /// Takes a call in. Those whose bodies have ended go at the same time, so that the list never outgrows the bodies
    /// that really run.
    fn add(&self, prepared: &Arc<Prepared>) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|body| body.strong_count() > 0);
        left.push(Arc::downgrade(prepared));
    }

    fn calls(&self) -> Vec<Arc<Call>> {
        let alive: Vec<_> = {
            let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            left.retain(|body| body.strong_count() > 0);
            left.iter().filter_map(Weak::upgrade).collect()
        };
        // Outside of the lock: a body may end now, and then what it held is dropped here.
        alive.into_iter().map(|prepared| Arc::clone(prepared.call())).collect()
    }
}

impl Pipeline {
    /// The calls whose bodies were told to stop and are still running past their drain deadline, in the order in which
    /// they were given up (P-14). A call leaves the list when its body ends.
    ///
    /// Every scheduler of this pipeline reports here: direct calls, native steps and programs.
    pub fn undrained(&self) -> Vec<Arc<Call>> {
        self.shared.left_behind.calls()
    }

    /// Gives a call up whose dispatch goes on with nobody waiting for it: one whose body runs is listed, and one whose
    /// body has not started never will (P-13).
    pub(super) fn give_up(&self, prepared: &Arc<Prepared>) -> CallFailure {
        let tool = &prepared.call.tool;
        if !self.leave_behind(prepared) {
            return aborted_before_dispatch(tool);
        }
        let message = format!("`{tool}` was told to stop and has not; it may still be running");
        CallFailure::new(ErrorCode::Aborted, message).with_details(json!({"drained": false}))
    }

    /// The same for a body that a wrapper has told to stop, and for which it has the say.
    pub(super) fn give_up_overdue(&self, prepared: &Arc<Prepared>, mut failure: CallFailure) -> CallFailure {
        if self.leave_behind(prepared) {
            return failure;
        }
        let message =
            format!("`{}` was told to stop before it had started; nothing happened", prepared.call.tool);
        let mut settled = CallFailure::new(failure.code, message);
        if let Some(Value::Object(members)) = &mut failure.details {
            members.remove("drained");
        }
        settled.details = failure.details.filter(|details| *details != json!({}));
        settled.deferred = failure.deferred;
        settled
    }

    /// Lists a call whose body runs. False when it has not started: then it never will.
    fn leave_behind(&self, prepared: &Arc<Prepared>) -> bool {
        if prepared.body.withdraw() {
            return false;
        }
        let (tool, call) = (&prepared.call.tool, &prepared.call.id);
        tracing::warn!(%tool, %call, "a tool that was told to stop still runs");
        self.shared.left_behind.add(prepared);
        true
    }
}
