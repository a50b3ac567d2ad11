//! The host's side of a lane: one future, every ordered step (CM-17).
//!
//! Owns the order: start event, prepare, launch, commit, settle, settled event. Only bodies overlap. It never
//! starts a call after the run has ended, and it ends only when every started call has its settled event (L-5).
//! It calls the pipeline, the ledger and the pool.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde_json::json;

use crate::clock::Clock;
use crate::codemode::lane::pool::{Done, Lost, Pool};
use crate::codemode::lane::report::{LaneReport, Records};
use crate::codemode::lane::shared::{LaneHandle, Queued, Settlement};
use crate::codemode::lane::{CommitOrder, LaneConfig, LaneRoot};
use crate::ids::ToolName;
use crate::ledger::{CodeDispatchStart, Ledger, Slot};
use crate::outcome::{CallFailure, CallResult, ErrorCode};
use crate::pipeline::{CallRequest, Pipeline, Prepared, Route};
use crate::registry::Resolution;
use crate::tool::Concurrency;

/// Does every ordered step of a run's sub-calls; see [`LaneDriver::drive`].
#[derive(Debug)]
pub struct LaneDriver {
    handle: LaneHandle,
    pipeline: Pipeline,
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    root: LaneRoot,
    config: LaneConfig,
    pool: Pool,
    /// An exclusive call runs or is being committed (CM-18).
    barrier: bool,
    /// What the start events said, for the settled ones.
    started: BTreeMap<u64, Started>,
    /// Settled calls that wait for earlier ones, under [`CommitOrder::Submission`].
    waiting: BTreeMap<u64, Waiting>,
    next_commit: u64,
    seen: u64,
    records: Records,
}

#[derive(Debug)]
struct Started {
    tool: ToolName,
    event: Option<(CodeDispatchStart, u64)>,
}

#[derive(Debug)]
struct Waiting {
    prepared: Prepared,
    settled: Settled,
}

/// How far a call has come when it is committed.
#[derive(Debug)]
enum Settled {
    /// Still to be seen by post-execute.
    Reviewable(CallResult),
    /// Settled for good.
    Final(CallResult),
}

enum Step {
    Rest(Result<Done, Lost>),
    Work,
}

impl LaneDriver {
    pub(super) fn new(
        handle: LaneHandle,
        pipeline: Pipeline,
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        root: LaneRoot,
        config: LaneConfig,
    ) -> Self {
        Self {
            handle,
            pipeline,
            ledger,
            clock,
            root,
            config,
            pool: Pool::default(),
            barrier: false,
            started: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_commit: 1,
            seen: 0,
            records: Records::default(),
        }
    }

    /// Works until the handle is closed and every started call is settled.
    pub async fn drive(mut self) -> LaneReport {
        while !self.handle.is_closed() {
            self.launch_ready().await;
            match self.step().await {
                Step::Rest(done) => self.rest(done).await,
                Step::Work => {}
            }
        }
        self.wind_down().await;
        self.records.into_report(&self.root.parent, &self.handle.undelivered())
    }

    /// Waits for the next thing to do.
    async fn step(&mut self) -> Step {
        poll_fn(|context| {
            if let Poll::Ready(done) = self.pool.poll_next(context) {
                return Poll::Ready(Step::Rest(done));
            }
            if let Poll::Ready(()) = self.handle.poll_work(context, self.seen) {
                // Calls that cannot be launched yet stay queued; only newer ones are news.
                self.seen = self.handle.submitted();
                return Poll::Ready(Step::Work);
            }
            Poll::Pending
        })
        .await
    }

    /// Launches from the head of the queue for as long as the pool and the barrier allow (CM-18).
    async fn launch_ready(&mut self) {
        while !self.barrier
            && self.pool.len() < self.config.max_parallel.max(1)
            && !self.handle.is_closed()
            && let Some(queued) = self.handle.next_queued()
        {
            match self.classify(&queued) {
                Concurrency::Exclusive if self.pool.len() > 0 => {
                    self.handle.put_back(queued);
                    return;
                }
                class => self.launch(queued, class).await,
            }
        }
    }

    /// Asked at every launch, since the registry may have changed; exclusive in doubt (T-5).
    fn classify(&self, queued: &Queued) -> Concurrency {
        let view = self.pipeline.registry().view(self.root.scope.as_ref());
        match view.map(|view| view.resolve_execution(queued.tool.as_str(), true)) {
            Ok(Resolution::Tool(tool)) => tool.definition().scheduler().concurrency.classify(&queued.args),
            _ => Concurrency::Exclusive,
        }
    }

    async fn launch(&mut self, queued: Queued, class: Concurrency) {
        let Queued { n, tool, args } = queued;
        let id = self.root.parent.sub_call(n);
        let slot = reserve(&self.ledger).await;
        self.records.start(n, &tool);
        let event = self.ledger.is_enabled().then(|| CodeDispatchStart {
            root: self.root.root.clone(),
            parent: self.root.parent.clone(),
            call: id.clone(),
            tool: tool.clone(),
            // The ledger's own copy: a tool that changes its input cannot falsify the log (L-3).
            arguments: Arc::new(args.clone()),
        });
        let event = event.and_then(|event| {
            let seq = slot.record(event.clone(), [])?;
            Some((event, seq))
        });
        self.started.insert(n, Started { tool: tool.clone(), event });
        let request = CallRequest {
            id,
            tool,
            args,
            session: self.root.session.clone(),
            scope: self.root.scope.clone(),
            parent: Some(self.root.token()),
            cancel: self.root.cancel.clone(),
            root: self.root.working_root.clone(),
            progress: self.root.progress.clone(),
        };
        let mut prepared = self.pipeline.prepare(request).await;
        match prepared.take_route() {
            Route::Dispatch => {
                self.barrier = class == Concurrency::Exclusive;
                self.pool.launch(self.pipeline.clone(), n, prepared);
                let running = u64::try_from(self.pool.len()).unwrap_or(u64::MAX);
                self.records.peak_parallel = self.records.peak_parallel.max(running);
            }
            Route::PostResult(result) => self.settled(n, prepared, Settled::Reviewable(result)).await,
            Route::Final(result) => self.settled(n, prepared, Settled::Final(result)).await,
        }
    }

    async fn rest(&mut self, done: Result<Done, Lost>) {
        match done {
            Ok(Done { n, prepared, result }) => {
                self.settled(n, prepared, Settled::Reviewable(result)).await;
                // Post-execute is part of the barrier.
                self.barrier = false;
            }
            Err(Lost { n }) => {
                self.barrier = false;
                self.deliver(n, Err(Lost::failure())).await;
            }
        }
    }

    async fn settled(&mut self, n: u64, prepared: Prepared, settled: Settled) {
        match self.config.commit_order {
            CommitOrder::Completion => self.commit(n, prepared, settled).await,
            CommitOrder::Submission => {
                self.waiting.insert(n, Waiting { prepared, settled });
                while let Some(Waiting { prepared, settled }) = self.waiting.remove(&self.next_commit) {
                    self.commit(self.next_commit, prepared, settled).await;
                    self.next_commit += 1;
                }
            }
        }
    }

    async fn commit(&mut self, n: u64, prepared: Prepared, settled: Settled) {
        let result = match settled {
            Settled::Reviewable(result) => self.pipeline.finalize(&prepared, result).await,
            Settled::Final(result) => self.pipeline.finish(&prepared, result),
        };
        self.deliver(n, result).await;
    }

    /// Gives the program its outcome and hands the settled event to the side path (L-4).
    async fn deliver(&mut self, n: u64, result: CallResult) {
        let Some(started) = self.started.remove(&n) else { return };
        // Reserved first: a store that falls behind holds the lane here instead of growing the backlog.
        let slot = reserve(&self.ledger).await;
        self.records.settle(n, &result);
        let record = started.event.map(|(event, seq)| (event.settle((&result).into()), seq));
        let result = result.map(|success| success.value);
        self.handle.settle(Settlement { n, tool: started.tool, result });
        if let Some((record, seq)) = record {
            slot.record(record, [seq]);
        }
    }

    /// Aborts and drains what runs, drops what waits (CM-21).
    async fn wind_down(&mut self) {
        self.root.cancel.cancel();
        for queued in self.handle.drop_queued() {
            self.records.never_started(queued.n, &queued.tool);
        }
        // Under the strict order, settled calls may still wait for ones that run; completion order from here on.
        self.config.commit_order = CommitOrder::Completion;
        for (n, Waiting { prepared, settled }) in std::mem::take(&mut self.waiting) {
            self.commit(n, prepared, settled).await;
        }
        let mut deadline = self.config.drain.map(|drain| self.clock.sleep(drain));
        while self.pool.len() > 0 {
            let rest = poll_fn(|context| {
                if let Poll::Ready(done) = self.pool.poll_next(context) {
                    return Poll::Ready(Some(done));
                }
                match deadline.as_mut().map(|deadline| deadline.as_mut().poll(context)) {
                    Some(Poll::Ready(())) => Poll::Ready(None),
                    Some(Poll::Pending) | None => Poll::Pending,
                }
            });
            match rest.await {
                Some(done) => self.rest(done).await,
                None => return self.leave_undrained().await,
            }
        }
    }

    /// Bodies that do not heed their signal go on by themselves; the run does not wait for them (P-14).
    async fn leave_undrained(&mut self) {
        let left: Vec<_> = self.started.iter().map(|(n, started)| (*n, started.tool.clone())).collect();
        for (n, tool) in left {
            let message = format!("`{tool}` was told to stop and has not; it may still be running");
            let failure =
                CallFailure::new(ErrorCode::Aborted, message).with_details(json!({"drained": false}));
            self.deliver(n, Err(failure)).await;
        }
    }
}

async fn reserve(ledger: &Ledger) -> Slot {
    match ledger.try_reserve() {
        Some(slot) => slot,
        None => ledger.reserve().await,
    }
}
