//! The lane's one future, worked from more than one place.
//!
//! Owns the future and who may poll it. It never waits by itself, and a lane that panicked is never polled again. It
//! calls the lane.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::codemode::lane::{LaneDriver, LaneHandle, LaneReport};

/// The lane's one future. The run's own thread works it while the program runs, so that a call costs no change of
/// threads; the host works it to its end afterwards, also when that thread is lost.
#[derive(Clone)]
pub(super) struct SharedLane {
    driving: Arc<Mutex<Driving>>,
}

enum Driving {
    Works(Pin<Box<dyn Future<Output = LaneReport> + Send>>),
    /// At its end; the report is there until it is taken.
    Done(Option<LaneReport>),
    /// It panicked. It must not be polled again.
    Broken,
}

impl SharedLane {
    pub(super) fn new(driver: LaneDriver) -> Self {
        Self { driving: Arc::new(Mutex::new(Driving::Works(Box::pin(driver.drive())))) }
    }

    /// Does what there is to do. False when the lane is broken: what it has not settled yet, it never will.
    pub(super) fn work(&self, context: &mut Context<'_>) -> bool {
        let mut driving = self.driving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Driving::Works(future) = &mut *driving {
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(report)) => *driving = Driving::Done(Some(report)),
                Err(_) => *driving = Driving::Broken,
            }
        }
        !matches!(*driving, Driving::Broken)
    }

    pub(super) async fn finish(&self) -> LaneReport {
        poll_fn(|context| {
            self.work(context);
            match &mut *self.driving.lock().unwrap_or_else(PoisonError::into_inner) {
                Driving::Works(_) => Poll::Pending,
                Driving::Done(report) => Poll::Ready(report.take().unwrap_or_default()),
                Driving::Broken => Poll::Ready(LaneReport::default()),
            }
        })
        .await
    }
}

/// Waits until every started call is settled, which goes on when the host stops waiting.
pub(super) async fn finish(handle: &LaneHandle, lane: SharedLane) -> LaneReport {
    match Handle::try_current() {
        Ok(host) if handle.submitted() > 0 => {
            host.spawn(async move { lane.finish().await }).await.unwrap_or_default()
        }
        _ => lane.finish().await,
    }
}
