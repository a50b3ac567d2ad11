//! The bodies that run at the same time, for schedulers.
//!
//! Owns launched dispatches until the scheduler has taken their results. The first poll of a body happens at its
//! launch, on the scheduler's own thread, so that a body that is done at once costs no hand-over, and so that no body
//! waits for the next call to be prepared. It never decides what is launched or when. It calls the pipeline, and waits
//! for a place in the ledger.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::ledger::{Ledger, Slot};
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::drain::Deadline;
use crate::pipeline::{Patience, Pipeline, Prepared};

/// A call whose body has come to rest.
pub(crate) struct AtRest {
    /// The scheduler's number of the call.
    pub(crate) n: u64,
    pub(crate) prepared: Arc<Prepared>,
    /// Nothing when the dispatch vanished under the scheduler: it panicked outside of what the pipeline contains, or
    /// the host's runtime was shut down.
    pub(crate) result: Option<CallResult>,
}

type Dispatching = Pin<Box<dyn Future<Output = Option<CallResult>> + Send>>;

/// Where a body that waits goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosting {
    /// In the scheduler's own future: dropping the pool drops the body.
    Inline,
    /// On the host's runtime, where bodies overlap for real and outlive the pool; inline where there is none.
    Spawned,
}

pub(crate) struct Pool {
    hosting: Hosting,
    /// With a body that a wrapper has told to stop.
    patience: Patience,
    running: FuturesUnordered<Running>,
    /// In the order in which they came to rest.
    at_rest: VecDeque<AtRest>,
}

impl Pool {
    pub(crate) fn new(hosting: Hosting, patience: Patience) -> Self {
        Self { hosting, patience, running: FuturesUnordered::new(), at_rest: VecDeque::new() }
    }

    /// Calls that occupy a place: a call keeps its own until the scheduler takes it out to commit it.
    pub(crate) fn len(&self) -> usize {
        self.running.len() + self.at_rest.len()
    }

    /// Starts a body.
    ///
    /// The first poll may leave the scheduler's waker with the body. That costs a wake-up at most: a task that is
    /// spawned is always polled once more, by its own waker, and so is a future that joins the set.
    pub(crate) async fn launch(&mut self, pipeline: &Pipeline, n: u64, prepared: Arc<Prepared>) {
        let mut dispatching: Dispatching = {
            let (pipeline, prepared) = (pipeline.clone(), Arc::clone(&prepared));
            Box::pin(async move { AssertUnwindSafe(pipeline.dispatch(&prepared)).catch_unwind().await.ok() })
        };
        let first = poll_fn(|context| Poll::Ready(dispatching.as_mut().poll(context))).await;
        if let Poll::Ready(result) = first {
            self.at_rest.push_back(AtRest { n, prepared, result });
            return;
        }
        let host = match self.hosting {
            Hosting::Inline => None,
            Hosting::Spawned => Handle::try_current().ok(),
        };
        let body = match host {
            Some(host) => Body::Spawned(host.spawn(dispatching)),
            None => Body::Inline(dispatching),
        };
        let waiting = self.patience.limit.is_some().then(|| Waiting {
            pipeline: pipeline.clone(),
            patience: self.patience.clone(),
            deadline: None,
        });
        self.running.push(Running { n, prepared: Some(prepared), body, waiting });
    }

    /// Lets bodies go on, without taking any out.
    pub(crate) fn advance(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(Some(done)) = self.running.poll_next_unpin(context) {
            self.at_rest.extend(done);
        }
    }

    /// Ready with the next call that is at rest; pending for ever when none runs.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<AtRest> {
        self.advance(context);
        self.at_rest.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    /// Awaits an ordered step while bodies go on.
    async fn beside<F: Future>(&mut self, step: F) -> F::Output {
        let mut step = pin!(step);
        poll_fn(|context| {
            let output = step.as_mut().poll(context);
            if output.is_pending() {
                self.advance(context);
            }
            output
        })
        .await
    }

    /// The same until `given_up` is ready, which it is asked only while the step is not.
    pub(crate) async fn beside_until<F: Future>(
        &mut self,
        step: F,
        mut given_up: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Option<F::Output> {
        let mut step = pin!(step);
        poll_fn(|context| {
            if let Poll::Ready(output) = step.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            self.advance(context);
            given_up(context).map(|()| None)
        })
        .await
    }

    /// A place in a ledger's backlog, while bodies go on.
    pub(crate) async fn reserve(&mut self, ledger: &Ledger) -> Slot {
        match ledger.try_reserve() {
            Some(slot) => slot,
            None => self.beside(ledger.reserve()).await,
        }
    }

    /// Takes out what is at rest.
    pub(crate) fn take_at_rest(&mut self) -> VecDeque<AtRest> {
        std::mem::take(&mut self.at_rest)
    }

    /// Waits no longer for what runs, and tells which calls that were, in order, and what they come to. Bodies that
    /// have started go on by themselves and are listed until they end (P-14).
    ///
    /// Without a runtime there is nothing that could keep an inline body going, and it is dropped.
    pub(crate) fn leave(&mut self, pipeline: &Pipeline) -> Vec<Left> {
        let mut left = Vec::with_capacity(self.running.len());
        for running in std::mem::take(&mut self.running) {
            let Running { n, prepared: Some(prepared), body, .. } = running else { continue };
            body.leave();
            left.push((n, prepared));
        }
        left.sort_unstable_by_key(|(n, _)| *n);
        let give_up = |(n, prepared)| Left { n, failure: pipeline.give_up(&prepared), prepared };
        left.into_iter().map(give_up).collect()
    }
}

/// A call that is not waited for any more.
pub(crate) struct Left {
    pub(crate) n: u64,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) failure: CallFailure,
}

/// What is known of a call whose dispatch vanished.
pub(crate) fn lost() -> CallFailure {
    let message = "the host stopped while the tool was running; effects may have happened";
    CallFailure::new(ErrorCode::HostBug, message)
}

struct Running {
    n: u64,
    /// Taken out when the body is at rest.
    prepared: Option<Arc<Prepared>>,
    body: Body,
    /// Absent when bodies are waited for without end.
    waiting: Option<Waiting>,
}

/// How long a body is waited for that a wrapper has told to stop.
struct Waiting {
    pipeline: Pipeline,
    patience: Patience,
    /// There while somebody has given the call up.
    deadline: Option<Deadline>,
}

impl Waiting {
    /// Ready with what the call comes to when the time is over.
    fn poll(&mut self, prepared: &Prepared, context: &mut Context<'_>) -> Poll<CallFailure> {
        if prepared.overdue.poll(context).is_pending() {
            self.deadline = None;
            return Poll::Pending;
        }
        ready!(self.deadline.get_or_insert_with(|| self.patience.begin()).poll(context));
        // Nothing: the body has come to rest on another thread meanwhile, and says so itself.
        prepared.overdue.take().map_or(Poll::Pending, Poll::Ready)
    }
}

enum Body {
    Inline(Dispatching),
    Spawned(JoinHandle<Option<CallResult>>),
}

impl Body {
    /// Lets it go on by itself.
    fn leave(self) {
        if let (Self::Inline(dispatching), Ok(host)) = (self, Handle::try_current()) {
            drop(host.spawn(dispatching));
        }
    }
}

impl Running {
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<CallResult>> {
        match &mut self.body {
            Body::Inline(dispatching) => dispatching.as_mut().poll(context),
            Body::Spawned(task) => Pin::new(task).poll(context).map(|joined| joined.ok().flatten()),
        }
    }

    /// Ready with what the call comes to when its body, which was told to stop, is waited for no longer.
    fn poll_given_up(&mut self, context: &mut Context<'_>) -> Poll<Option<CallResult>> {
        let (Some(prepared), Some(waiting)) = (&self.prepared, &mut self.waiting) else {
            return Poll::Pending;
        };
        let failure = ready!(waiting.poll(prepared, context));
        let failure = waiting.pipeline.give_up_overdue(prepared, failure);
        let nothing = Body::Inline(Box::pin(std::future::pending()));
        std::mem::replace(&mut self.body, nothing).leave();
        Poll::Ready(Some(Err(failure)))
    }
}

impl Future for Running {
    type Output = Option<AtRest>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AtRest>> {
        let result = match self.poll_body(context) {
            Poll::Ready(result) => result,
            Poll::Pending => ready!(self.poll_given_up(context)),
        };
        let n = self.n;
        Poll::Ready(self.prepared.take().map(|prepared| AtRest { n, prepared, result }))
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("running", &self.running.len())
            .field("at_rest", &self.at_rest.len())
            .finish_non_exhaustive()
    }
}
