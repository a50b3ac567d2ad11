//! How long an end waits for what was started, and what became of bodies that outlast it (P-14).
//!
//! Owns the deadline, which begins when somebody has noticed the end, and the list of bodies that nobody waits for any
//! more. It never stops anything. It calls the clock.
//!
//! The list holds no body: it looks at whether a call's [`Prepared`] is still alive, which the running body owns
//! together with whoever waits for it. So a body costs nothing here before it is left behind, and it leaves the list
//! by ending, however it ends: done, panicked, or gone with the host's runtime.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serde_json::json;

use crate::clock::{Clock, Sleep};
use crate::ids::ToolName;
use crate::outcome::{CallFailure, ErrorCode};
use crate::pipeline::{Call, Pipeline, Prepared};

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
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|body| body.strong_count() > 0);
        left.iter().filter_map(Weak::upgrade).map(|prepared| Arc::clone(prepared.call())).collect()
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

    /// Lists a call whose body goes on with nobody waiting for it.
    pub(super) fn list_undrained(&self, prepared: &Arc<Prepared>) {
        tracing::warn!(
            tool = %prepared.call.tool, call = %prepared.call.id, "a tool that was told to stop still runs"
        );
        self.shared.left_behind.add(prepared);
    }
}

/// The result of a call whose body is left behind.
pub(crate) fn undrained(tool: &ToolName) -> CallFailure {
    let message = format!("`{tool}` was told to stop and has not; it may still be running");
    CallFailure::new(ErrorCode::Aborted, message).with_details(json!({"drained": false}))
}
