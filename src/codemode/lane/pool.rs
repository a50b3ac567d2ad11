//! The bodies that run at the same time.
//!
//! Owns launched dispatches until the lane has taken their results. The first poll of a body happens at its launch,
//! on the lane's own thread, so that a body that is done at once costs no hand-over, and so that no body waits for
//! the next call to be prepared. A body that waits moves to the host's runtime, where bodies overlap for real and go
//! on should the lane stop waiting for them (P-14). It calls the pipeline.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinHandle;

use crate::outcome::CallResult;
use crate::pipeline::{Pipeline, Prepared};

/// A call whose body has come to rest.
pub(super) struct AtRest {
    pub(super) n: u64,
    /// Nothing when the body's task vanished under the lane, for example because the host's runtime was shut down.
    pub(super) end: Option<(Box<Prepared>, CallResult)>,
}

type Dispatching = Pin<Box<dyn Future<Output = (Box<Prepared>, CallResult)> + Send>>;

#[derive(Default)]
pub(super) struct Pool {
    running: FuturesUnordered<Running>,
    /// In the order in which they came to rest.
    at_rest: VecDeque<AtRest>,
}

impl Pool {
    /// Calls that occupy a place: a call keeps its own until the lane takes it out to commit it.
    pub(super) fn len(&self) -> usize {
        self.running.len() + self.at_rest.len()
    }

    /// Starts a body.
    ///
    /// The first poll may leave the lane's waker with the body. That costs a wake-up at most: a task that is
    /// spawned is always polled once more, by its own waker, and so is a future that joins the set.
    pub(super) fn launch(
        &mut self,
        context: &mut Context<'_>,
        pipeline: Pipeline,
        n: u64,
        prepared: Box<Prepared>,
    ) {
        let mut dispatching: Dispatching = Box::pin(async move {
            let result = pipeline.dispatch(&prepared).await;
            (prepared, result)
        });
        if let Poll::Ready(end) = dispatching.as_mut().poll(context) {
            self.at_rest.push_back(AtRest { n, end: Some(end) });
            return;
        }
        let body = match tokio::runtime::Handle::try_current() {
            Ok(host) => Body::Spawned(host.spawn(dispatching)),
            Err(_) => Body::Inline(dispatching),
        };
        self.running.push(Running { n, body });
    }

    /// Lets bodies go on, without taking any out.
    pub(super) fn advance(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(Some(done)) = self.running.poll_next_unpin(context) {
            self.at_rest.push_back(done);
        }
    }

    /// Ready with the next call that is at rest; pending for ever when none runs.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<AtRest> {
        self.advance(context);
        self.at_rest.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

struct Running {
    n: u64,
    body: Body,
}

enum Body {
    /// Polled by the lane itself, where there is no runtime to hand it to.
    Inline(Dispatching),
    Spawned(JoinHandle<(Box<Prepared>, CallResult)>),
}

impl Future for Running {
    type Output = AtRest;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<AtRest> {
        let n = self.n;
        let end = match &mut self.body {
            Body::Inline(dispatching) => dispatching.as_mut().poll(context).map(Some),
            Body::Spawned(task) => Pin::new(task).poll(context).map(Result::ok),
        };
        end.map(|end| AtRest { n, end })
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("running", &self.running.len())
            .field("at_rest", &self.at_rest.len())
            .finish()
    }
}
