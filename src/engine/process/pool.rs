//! Which children there are.
//!
//! Owns the children that wait: warm ones, which belong to nobody yet, and those that have served a session and serve no
//! other (E-2). It has warm ones made anew before they are needed, slower each time that it fails, and has as many as
//! there may be at most. It never waits under its lock. It calls the conductors.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::engine::child::{LayerReport, can_be_child};
use crate::engine::process::conductor::{self, End, Idle};
use crate::engine::process::options::{ChildProgram, ProcessError, ProcessOptions};
use crate::ids::SessionId;

/// How long is waited after the first failure; twice as long after each that follows.
const FIRST_REST: Duration = Duration::from_millis(50);

/// And at most.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// A run that waits for a child, or somebody who wants to know what children are like.
struct Order {
    /// Whose child it may be; absent when only a new one will do.
    session: Option<SessionId>,
    reply: oneshot::Sender<Result<Idle, ProcessError>>,
}

#[derive(Default)]
struct State {
    warm: Vec<Idle>,
    /// The longest unused first.
    idle: VecDeque<(SessionId, Idle)>,
    /// Runs that wait for a child; no more than there are places for runs.
    orders: VecDeque<Order>,
    /// Children that are there, whatever they do.
    alive: usize,
    /// Those of them that are being started.
    starting: usize,
    /// Starts that failed, or were for nothing, one after the other.
    failures: u32,
    layers: Option<Vec<LayerReport>>,
}

impl State {
    /// Children that ended while they waited are nobody's any more, and runs that were cancelled wait for none.
    fn forget_gone(&mut self) {
        self.warm.retain(|child| !child.is_gone());
        self.idle.retain(|(_, child)| !child.is_gone());
        self.orders.retain(|order| !order.reply.is_closed());
    }

    /// Whoever waits learns why, rather than wait for what may never come; but for those that other starts are under
    /// way for, where another may go better.
    fn fail_orders(&mut self, error: &ProcessError) {
        let served = if matches!(error, ProcessError::NoAnswer { .. }) { self.starting } else { 0 };
        let failed = self.orders.len().saturating_sub(served);
        for order in self.orders.drain(..failed) {
            // Nobody waits for a run that was cancelled meanwhile.
            let _ = order.reply.send(Err(error.clone()));
        }
    }
}

/// The children of one runtime.
pub(super) struct Pool {
    options: ProcessOptions,
    state: Mutex<State>,
}

impl Pool {
    pub(super) fn open(options: ProcessOptions) -> Result<Arc<Self>, ProcessError> {
        if options.program == ChildProgram::Own && !can_be_child() {
            return Err(ProcessError::NotAChild);
        }
        let pool = Arc::new(Self { options, state: Mutex::default() });
        pool.refill();
        Ok(pool)
    }

    pub(super) fn options(&self) -> &ProcessOptions {
        &self.options
    }

    pub(super) fn children(&self) -> usize {
        self.lock().alive
    }

    /// A child for a session: its own, a warm one, or a new one.
    pub(super) async fn take(self: &Arc<Self>, session: &SessionId) -> Result<Idle, ProcessError> {
        let (order, child) = oneshot::channel();
        {
            let mut state = self.lock();
            state.forget_gone();
            if let Some(at) = state.idle.iter().rposition(|(of, _)| of == session)
                && let Some((_, idle)) = state.idle.remove(at)
            {
                return Ok(idle);
            }
            if let Some(warm) = state.warm.pop() {
                drop(state);
                self.refill();
                return Ok(warm);
            }
            state.orders.push_back(Order { session: Some(session.clone()), reply: order });
        }
        self.refill();
        child.await.unwrap_or(Err(ProcessError::Closed))
    }

    /// The layers that children report.
    pub(super) async fn layers(self: &Arc<Self>) -> Result<Vec<LayerReport>, ProcessError> {
        if let Some(layers) = &self.lock().layers {
            return Ok(layers.clone());
        }
        let (order, child) = oneshot::channel();
        self.lock().orders.push_back(Order { session: None, reply: order });
        self.refill();
        let child = child.await.unwrap_or(Err(ProcessError::Closed))?;
        self.ready(child, None, None);
        Ok(self.lock().layers.clone().unwrap_or_default())
    }

    /// A child can take a program: one of its session's, if it has served one.
    pub(super) fn ready(
        &self,
        mut child: Idle,
        session: Option<&SessionId>,
        layers: Option<Vec<LayerReport>>,
    ) {
        let mut unused = None;
        {
            let mut state = self.lock();
            if let Some(layers) = layers {
                state.layers = Some(layers);
                state.starting = state.starting.saturating_sub(1);
            }
            if let Some(session) = session {
                // A program of its session may have come meanwhile.
                let ours = |order: &Order| order.session.as_ref() == Some(session);
                while let Some(at) = state.orders.iter().position(ours)
                    && let Some(order) = state.orders.remove(at)
                {
                    match order.reply.send(Ok(child)) {
                        Err(Ok(back)) => child = back,
                        Ok(()) | Err(Err(_)) => return,
                    }
                }
                // Somebody waits who may have no child of this session: it makes room.
                if !state.orders.is_empty() && state.alive >= self.options.max_children {
                    unused = Some(child);
                } else {
                    state.idle.push_back((session.clone(), child));
                    if state.idle.len() > self.options.max_idle {
                        unused = state.idle.pop_front().map(|(_, child)| child);
                    }
                }
            } else {
                while let Some(order) = state.orders.pop_front() {
                    match order.reply.send(Ok(child)) {
                        // That run has stopped waiting.
                        Err(Ok(back)) => child = back,
                        Ok(()) | Err(Err(_)) => return,
                    }
                }
                // One that was started for a run that another child has served is one too many.
                if state.warm.len() < self.options.warm {
                    state.warm.push(child);
                } else {
                    unused = Some(child);
                }
            }
        }
        drop(unused);
    }

    /// Whether a run waits for a child.
    pub(super) fn is_awaited(&self) -> bool {
        !self.lock().orders.is_empty()
    }

    /// A child has been given its first program: to start children is not in vain.
    pub(super) fn used(&self) {
        self.lock().failures = 0;
    }

    /// A child is no more; with why it never was one.
    pub(super) fn ended(self: &Arc<Self>, how: Result<End, ProcessError>) {
        {
            let mut state = self.lock();
            state.alive = state.alive.saturating_sub(1);
            state.forget_gone();
            match how {
                Ok(End::Served) => {}
                Ok(End::Unused) => state.failures = state.failures.saturating_add(1),
                Err(error) => {
                    tracing::warn!(%error, "a child could not be started");
                    state.starting = state.starting.saturating_sub(1);
                    state.failures = state.failures.saturating_add(1);
                    state.fail_orders(&error);
                }
            }
        }
        self.refill();
    }

    /// Has as many children made as are waited for, and as many as are to be ready.
    fn refill(self: &Arc<Self>) {
        loop {
            let (delay, unused) = {
                let mut state = self.lock();
                state.forget_gone();
                let wanted = self.options.warm.saturating_add(state.orders.len());
                if state.warm.len() + state.starting >= wanted {
                    return;
                }
                let unused = if state.alive >= self.options.max_children.max(1) {
                    // One that waits for a session gives its place to a run, not to a child that nobody needs yet.
                    let Some((_, unused)) = state.idle.pop_front().filter(|_| !state.orders.is_empty())
                    else {
                        return;
                    };
                    Some(unused)
                } else {
                    None
                };
                if unused.is_none() {
                    state.alive += 1;
                    state.starting += 1;
                }
                // A run that waits is served, or told, at once.
                let rests = state.failures > 0 && state.orders.is_empty();
                let rest = FIRST_REST.saturating_mul(2_u32.saturating_pow(state.failures.saturating_sub(1)));
                (if rests { rest.min(LONGEST_REST) } else { Duration::ZERO }, unused)
            };
            if unused.is_some() {
                // Its end comes back here.
                drop(unused);
                return;
            }
            if let Err(error) = conductor::start(self, delay) {
                let mut state = self.lock();
                state.alive = state.alive.saturating_sub(1);
                state.starting = state.starting.saturating_sub(1);
                state.fail_orders(&error);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
