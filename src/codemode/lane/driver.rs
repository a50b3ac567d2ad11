//! The host's side of a lane: one future, every ordered step (CM-17).
//!
//! Owns the loop and the launching of calls: start event, prepare, launch. Only bodies overlap. It never starts a
//! call after the run has ended, and it ends only when every started call has its settled event (L-5). It calls the
//! pipeline, the ledger and the pool, and hands calls at rest to [`super::commit`].
//!
//! Preparing is an ordered step, too: while a policy waits for somebody's approval, bodies run on, but no other call
//! is prepared or committed.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use serde_json::Value;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::clock::Clock;
use crate::codemode::lane::commit::Started;
use crate::codemode::lane::recorded::{
    CallDivergence, RecordedCall, RecordedCalls, RecordedOutcome, lost_before,
};
use crate::codemode::lane::report::{LaneReport, Records};
use crate::codemode::lane::shared::{Ending, LaneHandle, Queued, Work};
use crate::codemode::lane::{LaneConfig, LaneRoot};
use crate::ids::{CallId, ToolName};
use crate::ledger::{CodeDispatchStart, Ledger, MAX_VALUE_DEPTH, Slot};
use crate::pipeline::{
    Arrival, AtRest, CallRequest, Class, Hosting, Patience, Pipeline, Pool, Route, Stage, Waits,
    aborted_before_dispatch, arguments_too_deep,
};
use crate::tool::Concurrency;

/// Does every ordered step of a run's sub-calls; see [`LaneDriver::drive`].
///
/// Dropping it ends the run: bodies are told to stop, and started calls get their settled events as far as the
/// ledger takes them without waiting.
#[derive(Debug)]
pub struct LaneDriver {
    pub(super) handle: LaneHandle,
    pub(super) pipeline: Pipeline,
    pub(super) ledger: Ledger,
    pub(super) root: LaneRoot,
    pub(super) config: LaneConfig,
    /// The run's signal, for the host may raise it without closing the handle.
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    pub(super) pool: Pool,
    pub(super) waits: Waits,
    /// An exclusive call runs or is being committed (CM-18).
    pub(super) barrier: bool,
    /// The head of the queue is exclusive and waits for an empty pool; it is asked again when that has changed.
    pub(super) head_waits: bool,
    /// Calls with a start event and no settled event.
    pub(super) started: BTreeMap<u64, Started>,
    /// Calls at rest that wait for earlier ones, under [`super::CommitOrder::Submission`].
    pub(super) waiting: BTreeMap<u64, Arrival>,
    pub(super) next_commit: u64,
    pub(super) records: Records,
    /// What is known from a recording; nothing in a run that is made for the first time.
    pub(super) recorded: RecordedCalls,
    pub(super) divergence: Option<Box<CallDivergence>>,
    /// Ends the run from within.
    stop: CancellationToken,
    /// Calls that never start, because they did not when the run was recorded.
    pub(super) aside: Vec<Queued>,
    /// What the program took before calls that never started.
    pub(super) inputs: String,
}

enum Step {
    Commit(AtRest),
    Launch(Queued, Class),
    Ended,
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
        let patience = Patience { clock, limit: config.drain };
        Self {
            handle,
            pipeline,
            ledger,
            cancelled: Box::pin(root.cancel.clone().cancelled_owned()),
            root,
            waits: Waits::new(patience.clone()),
            records: Records::new(config.forwarded_blocks),
            config,
            pool: Pool::new(Hosting::Spawned, patience),
            barrier: false,
            head_waits: false,
            started: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_commit: 1,
            recorded: RecordedCalls::default(),
            divergence: None,
            stop: CancellationToken::new(),
            aside: Vec::new(),
            inputs: String::new(),
        }
    }

    /// Answers calls from a recording, as far as it goes (L-9, L-10).
    ///
    /// `stop` ends the run: it is raised when the program makes another call than is recorded.
    pub fn with_recorded(mut self, recorded: RecordedCalls, stop: CancellationToken) -> Self {
        self.recorded = recorded;
        self.stop = stop;
        self
    }

    /// Works until the handle is closed or the run's signal is raised, and every started call is settled.
    pub async fn drive(mut self) -> LaneReport {
        loop {
            match poll_fn(|context| self.poll_step(context)).await {
                Step::Commit(at_rest) => self.commit_at_rest(at_rest).await,
                Step::Launch(queued, class) => self.launch(queued, class).await,
                Step::Ended => break,
            }
            // Tools that answer at once must not keep the lane's task from yielding.
            tokio::task::consume_budget().await;
        }
        self.wind_down().await;
        let mut report = std::mem::take(&mut self.records).into_report(&self.handle.take_delivered());
        report.peak_in_flight = self.handle.peak_in_flight();
        report.inputs = std::mem::take(&mut self.inputs);
        report.divergence = self.divergence.take();
        report.missing = self.recorded.missing();
        report
    }

    /// What is at rest is committed before anything is launched: a launch may wait for somebody's approval.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        if let Poll::Ready(at_rest) = self.pool.poll_next(context) {
            return Poll::Ready(Step::Commit(at_rest));
        }
        if self.cancelled.as_mut().poll(context).is_ready() {
            self.handle.end(Ending::Cancelled);
            return Poll::Ready(Step::Ended);
        }
        let room = !self.barrier && !self.head_waits && self.pool.len() < self.config.max_parallel.max(1);
        match ready!(self.handle.poll_work(context, room)) {
            Work::Ended => Poll::Ready(Step::Ended),
            Work::Call(queued) => {
                let class = self.classify(&queued.tool, &queued.args);
                if class.concurrency == Concurrency::Exclusive && self.pool.len() > 0 {
                    self.handle.put_back(queued);
                    self.head_waits = true;
                    return Poll::Pending;
                }
                Poll::Ready(Step::Launch(queued, class))
            }
        }
    }

    /// Asked at every launch, since the registry may have changed; exclusive in doubt (T-5).
    fn classify(&self, tool: &ToolName, args: &Value) -> Class {
        self.pipeline.classify(self.root.scope.as_ref(), tool, args, true)
    }

    async fn launch(&mut self, queued: Queued, class: Class) {
        let slot = self.reserve().await;
        if self.handle.ending().is_some() {
            // It is still a call that never started: no event (L-5).
            self.handle.put_back(queued);
            return;
        }
        if self.recorded.never_starts(queued.n) {
            return self.aside.push(queued);
        }
        let recorded = match self.recorded.take(queued.n, &queued.tool, &queued.args) {
            Ok(recorded) => recorded,
            Err(divergence) => {
                self.divergence = Some(divergence);
                self.handle.end(Ending::Cancelled);
                self.stop.cancel();
                return self.aside.push(queued);
            }
        };
        let Queued { n, tool, args, inputs, too_deep, .. } = queued;
        let id = self.root.parent.sub_call(n);
        let event = match recorded {
            None => self.start(n, &id, &tool, &args, inputs, slot),
            Some(RecordedCall { start, seq, outcome }) => {
                drop(slot);
                self.records.start(id.clone(), tool.clone());
                let (event, stage) = match outcome {
                    RecordedOutcome::Settled(result) => (None, Stage::Finished(result)),
                    RecordedOutcome::Lost => (Some((start, seq)), Stage::Finished(Err(lost_before(&tool)))),
                    RecordedOutcome::Again => (Some((start, seq)), Stage::Deciding),
                };
                let is_known = matches!(stage, Stage::Finished(_));
                self.started.insert(n, Started { tool: tool.clone(), event, lost: false, stage });
                if is_known {
                    return self.deliver(n).await;
                }
                Some(seq)
            }
        };
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
            event,
        };
        let pipeline = self.pipeline.clone();
        let mut prepared = pipeline.begin(request);
        let refused = if too_deep {
            Some(arguments_too_deep(&prepared.call().tool, MAX_VALUE_DEPTH))
        } else {
            let decided = self.ordered(pipeline.decide(&mut prepared)).await;
            decided.is_none().then(|| aborted_before_dispatch(&prepared.call().tool))
        };
        if let Some(failure) = refused {
            return self.arrive(n, Arrival::Finish(Arc::new(prepared), Err(failure))).await;
        }
        let route = prepared.take_route();
        let prepared = Arc::new(prepared);
        match route {
            Route::Dispatch => {
                if !self.is_written(event).await {
                    let failure = aborted_before_dispatch(&prepared.call().tool);
                    return self.arrive(n, Arrival::Finish(prepared, Err(failure))).await;
                }
                self.reach(n, Stage::Underway(Arc::clone(&prepared), None));
                if pipeline.classify_again(class, &prepared) == Concurrency::Exclusive {
                    self.empty_pool().await;
                    self.barrier = true;
                }
                self.records.running(self.pool.len() + 1);
                self.pool.launch(&pipeline, n, prepared).await;
            }
            Route::PostResult(result) => self.arrive(n, Arrival::Review(prepared, result)).await,
            Route::Final(result) => self.arrive(n, Arrival::Finish(prepared, result)).await,
        }
    }

    /// Waits until the start of a call is in the store, in a run that may have to go on after a crash: nobody could know
    /// later that it had started (L-10). False when the run has ended and the store takes longer than a body may. A store
    /// that failed is not waited for: whoever keeps the ledger hears of it elsewhere.
    async fn is_written(&mut self, event: Option<u64>) -> bool {
        let Some(seq) = event.filter(|_| self.config.record_values) else { return true };
        let ledger = self.ledger.clone();
        self.ordered(ledger.written(seq)).await.is_some()
    }

    /// Records that the call starts, in the ledger and for the report. Returns the event's `seq`.
    fn start(
        &mut self,
        n: u64,
        id: &CallId,
        tool: &ToolName,
        args: &Value,
        inputs: String,
        slot: Slot,
    ) -> Option<u64> {
        self.records.start(id.clone(), tool.clone());
        let event = self.ledger.is_enabled().then(|| CodeDispatchStart {
            root: self.root.root.clone(),
            parent: self.root.parent.clone(),
            call: id.clone(),
            tool: tool.clone(),
            // The ledger's own copy: a tool that changes its input cannot falsify the log (L-3).
            arguments: Arc::new(args.clone()),
            inputs,
        });
        let event = event.and_then(|event| {
            let seq = slot.record(event.clone(), [])?;
            Some((event, seq))
        });
        let seq = event.as_ref().map(|(_, seq)| *seq);
        self.started.insert(n, Started { tool: tool.clone(), event, lost: false, stage: Stage::Deciding });
        seq
    }

    /// Commits what runs until nothing does, for a call that turned out to be exclusive when it was prepared.
    ///
    /// An ended run does not wait: its signal keeps the body from being invoked.
    async fn empty_pool(&mut self) {
        while self.pool.len() > 0 {
            let at_rest = poll_fn(|context| {
                if let Poll::Ready(at_rest) = self.pool.poll_next(context) {
                    return Poll::Ready(Some(at_rest));
                }
                self.handle.poll_ended(context).map(|()| None)
            });
            match at_rest.await {
                Some(at_rest) => self.commit_at_rest(at_rest).await,
                None => return,
            }
        }
    }

    /// Awaits an ordered step while bodies go on. Nothing: the run has ended, and the step has not within the time
    /// that a body would have had (P-14). Whatever holds up a second one is not waited for again.
    pub(super) async fn ordered<F: Future>(&mut self, step: F) -> Option<F::Output> {
        let Self { waits, pool, handle, .. } = self;
        waits.ordered(pool, step, |context| handle.poll_ended(context)).await
    }

    /// A place in the ledger's backlog, while bodies go on.
    pub(super) async fn reserve(&mut self) -> Slot {
        self.pool.reserve(&self.ledger).await
    }
}
