//! The bodies that run at the same time.
//!
//! Owns launched dispatches until they come to rest. The first poll of a body happens on the lane's own thread, so
//! that a body that is done at once costs no hand-over; a body that waits moves to the host's runtime, where
//! bodies overlap for real and go on should the lane stop waiting for them (P-14). It calls the pipeline.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinHandle;

use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::{Pipeline, Prepared};

/// A body that has come to rest.
pub(super) struct Done {
    pub(super) n: u64,
    pub(super) prepared: Prepared,
    pub(super) result: CallResult,
}

type Dispatching = Pin<Box<dyn Future<Output = Done> + Send>>;

#[derive(Default)]
pub(super) struct Pool {
    running: FuturesUnordered<Running>,
}

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn launch(&self, pipeline: Pipeline, n: u64, prepared: Prepared) {
        let dispatching: Dispatching = Box::pin(async move {
            let result = pipeline.dispatch(&prepared).await;
            Done { n, prepared, result }
        });
        self.running.push(Running { n, body: Body::Inline(dispatching) });
    }

    /// Ready with the next body that is at rest; pending for ever when none runs.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Done, Lost>> {
        match self.running.poll_next_unpin(context) {
            Poll::Ready(Some(done)) => Poll::Ready(done),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// A body whose task vanished under the lane, for example because the host's runtime was shut down.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) n: u64,
}

impl Lost {
    pub(super) fn failure() -> CallFailure {
        CallFailure::new(
            ErrorCode::HostBug,
            "the host stopped while the tool was running; effects may have happened",
        )
    }
}

struct Running {
    n: u64,
    body: Body,
}

enum Body {
    Inline(Dispatching),
    Spawned(JoinHandle<Done>),
    Gone,
}

impl Future for Running {
    type Output = Result<Done, Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let n = self.n;
        loop {
            match &mut self.body {
                Body::Inline(dispatching) => {
                    if let Poll::Ready(done) = dispatching.as_mut().poll(context) {
                        return Poll::Ready(Ok(done));
                    }
                    let Ok(host) = tokio::runtime::Handle::try_current() else {
                        return Poll::Pending;
                    };
                    if let Body::Inline(dispatching) = std::mem::replace(&mut self.body, Body::Gone) {
                        self.body = Body::Spawned(host.spawn(dispatching));
                    }
                }
                Body::Spawned(task) => return Pin::new(task).poll(context).map_err(|_| Lost { n }),
                Body::Gone => return Poll::Ready(Err(Lost { n })),
            }
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("running", &self.running.len()).finish()
    }
}
