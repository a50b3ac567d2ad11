//! The loop of one step: one future, every ordered part of it.
//!
//! Owns the queue, the classification and the launching of calls: event, prepare, launch. It never runs two ordered
//! parts at the same time, nor anything beside an exclusive call. It calls the pipeline, the ledger and the pool, and
//! hands calls at rest to [`super::commit`].

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::ids::{CallId, ToolName};
use crate::ledger::{Ledger, MAX_VALUE_DEPTH, Slot, ToolCall, bound_value};
use crate::outcome::CallFailure;
use crate::pipeline::{
    Arrival, AtRest, CallRequest, Class, Hosting, Patience, Pipeline, Pool, Prepared, Route, Stage, Waits,
    aborted_before_dispatch, arguments_too_deep,
};
use crate::step::commit::not_started;
use crate::step::{
    BatchRule, StepCall, StepConfig, StepError, StepFailure, StepOutcome, StepResult, StepRoot, StepScheduler,
};
use crate::tool::Concurrency;

/// A call that the step has not launched yet.
struct Queued {
    call: StepCall,
    /// The arguments were too deep to be handled safely, and those of `call` only stand for them in the ledger.
    too_deep: bool,
}

/// A call that has its `tool/call` event and no `tool/result` yet.
pub(super) struct Started {
    pub(super) id: CallId,
    pub(super) tool: ToolName,
    /// The `seq` of its event; absent without a ledger (S-5).
    pub(super) seq: Option<u64>,
    /// What is to be said of it if the step is dropped now (P-13).
    pub(super) stage: Stage,
}

pub(super) struct Driver<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) ledger: &'a Ledger,
    config: &'a StepConfig,
    /// Its signal is the step's own, below the host's: a step that is dropped stops its calls and nothing else.
    root: StepRoot,
    aborted: Pin<Box<WaitForCancellationFutureOwned>>,
    queue: VecDeque<Queued>,
    pub(super) pool: Pool,
    waits: Waits,
    /// An exclusive call runs or is being committed (S-2).
    barrier: bool,
    /// The head of the queue is exclusive and waits for an empty pool; it is asked again when that has changed.
    head_waits: bool,
    /// One of the calls is exclusive, and the stricter rule is in force (S-8).
    serial: bool,
    /// The change of the registry for which the stricter rule was asked last.
    asked: Option<u64>,
    /// The first call that failed.
    pub(super) failed: Option<CallId>,
    pub(super) started: BTreeMap<u64, Started>,
    /// Calls that wait for the commits of earlier ones.
    pub(super) waiting: BTreeMap<u64, Arrival>,
    /// The results of the first calls; the next to be committed has their count as its number.
    pub(super) results: Vec<StepResult>,
    launched: u64,
    /// The event of the first call, by which those of the others are known to be of the same step (L-6).
    first_event: Option<u64>,
    /// The last event that was recorded.
    pub(super) last_event: Option<u64>,
}

enum Turn {
    Commit(AtRest),
    /// The step was aborted, and bodies have not come to rest in time.
    Leave,
    Launch(Queued, Fate),
    Done,
}

/// What is to become of the head of the queue.
#[derive(Clone, Copy)]
enum Fate {
    Run(Class),
    /// The step was aborted (S-6).
    Abort,
    /// An earlier call failed under the stricter rule (S-8).
    Skip,
}

impl<'a> Driver<'a> {
    pub(super) fn new(scheduler: &'a StepScheduler, mut root: StepRoot, calls: Vec<StepCall>) -> Self {
        root.cancel = root.cancel.child_token();
        let queue = calls.into_iter().map(|mut call| {
            let too_deep = bound_value(&mut call.args);
            Queued { call, too_deep }
        });
        let StepScheduler { pipeline, ledger, clock, config } = scheduler;
        let patience = Patience { clock: Arc::clone(clock), limit: config.drain };
        Self {
            pipeline,
            ledger,
            config,
            aborted: Box::pin(root.cancel.clone().cancelled_owned()),
            root,
            queue: queue.collect(),
            pool: Pool::new(Hosting::Inline, patience.clone()),
            waits: Waits::new(patience),
            barrier: false,
            head_waits: false,
            serial: false,
            asked: None,
            failed: None,
            started: BTreeMap::new(),
            waiting: BTreeMap::new(),
            results: Vec::new(),
            launched: 0,
            first_event: None,
            last_event: None,
        }
    }

    pub(super) async fn drive(mut self) -> Result<StepOutcome, StepFailure> {
        // The state is looked at after a panic only to wait for bodies and to tell what is left.
        let worked = AssertUnwindSafe(self.work()).catch_unwind().await;
        let Err(error) = worked.unwrap_or(Err(StepError::Panicked)) else {
            return Ok(StepOutcome { results: std::mem::take(&mut self.results) });
        };
        self.drain().await;
        let committed = std::mem::take(&mut self.results);
        let unsettled = std::mem::take(&mut self.started).into_values().map(|started| started.id).collect();
        Err(StepFailure { error, committed, unsettled })
    }

    async fn work(&mut self) -> Result<(), StepError> {
        // A result that cannot be durable is none (S-1).
        if let Some(error) = self.ledger.health() {
            return Err(error.into());
        }
        loop {
            match poll_fn(|context| self.poll_turn(context)).await {
                Turn::Commit(at_rest) => self.commit_at_rest(at_rest).await?,
                Turn::Leave => self.leave().await?,
                Turn::Launch(queued, fate) => self.launch(queued, fate).await?,
                Turn::Done => return self.all_written().await,
            }
            // Tools that answer at once must not keep the host's task from yielding.
            tokio::task::consume_budget().await;
        }
    }

    /// What is at rest is committed before anything is launched: a launch may wait for somebody's approval.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        if self.pool.len() > 0
            && let Poll::Ready(at_rest) = self.poll_rest(context)
        {
            return Poll::Ready(at_rest.map_or(Turn::Leave, Turn::Commit));
        }
        let aborted = self.aborted.as_mut().poll(context).is_ready();
        let idle = self.pool.len() == 0;
        let fate = if aborted { idle.then_some(Fate::Abort) } else { self.head_fate() };
        match fate.and_then(|fate| Some((self.queue.pop_front()?, fate))) {
            Some((queued, fate)) => Poll::Ready(Turn::Launch(queued, fate)),
            None if idle && self.queue.is_empty() => Poll::Ready(Turn::Done),
            None => Poll::Pending,
        }
    }

    /// What becomes of the head of the queue now; nothing while it has to wait, or when there is none.
    fn head_fate(&mut self) -> Option<Fate> {
        let running = self.pool.len();
        if running > 0 && (running >= self.config.max_parallel || self.barrier || self.head_waits) {
            return None;
        }
        let class = self.head_class()?;
        if running > 0 && (self.serial || class.concurrency == Concurrency::Exclusive) {
            self.head_waits = true;
            return None;
        }
        Some(if self.serial && self.failed.is_some() { Fate::Skip } else { Fate::Run(class) })
    }

    /// Ready with the next call at rest; with nothing, when the step was aborted and the time for bodies is over.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<Option<AtRest>> {
        if let Poll::Ready(at_rest) = self.pool.poll_next(context) {
            return Poll::Ready(Some(at_rest));
        }
        ready!(self.aborted.as_mut().poll(context));
        self.waits.poll(context).map(|()| None)
    }

    /// The class of the head of the queue, asked at every launch (S-3); under the stricter rule, exclusive if any of
    /// the calls that are left is (S-8).
    fn head_class(&mut self) -> Option<Class> {
        let head = self.classify(&self.queue.front()?.call);
        if self.config.batch_rule == BatchRule::AllOrSerial && !self.serial {
            let exclusive =
                |queued: &Queued| self.classify(&queued.call).concurrency == Concurrency::Exclusive;
            self.serial = head.concurrency == Concurrency::Exclusive
                || (self.asked != head.generation && self.queue.iter().any(exclusive));
            self.asked = head.generation;
        }
        Some(head)
    }

    fn classify(&self, call: &StepCall) -> Class {
        self.pipeline.classify(self.root.scope.as_ref(), &call.tool, &call.args, false)
    }

    async fn launch(&mut self, queued: Queued, fate: Fate) -> Result<(), StepError> {
        let Queued { call: StepCall { id, tool, args }, too_deep } = queued;
        let n = self.launched;
        let slot = self.reserve().await;
        // The ledger's own copy: a tool that changes its input cannot falsify the log (L-3).
        let event = || ToolCall::new(id.clone(), tool.clone(), args.clone()).in_step(self.first_event);
        let seq = slot.record_with(event, []);
        let seq = self.recorded(seq)?;
        self.first_event = self.first_event.or(seq);
        self.launched += 1;
        self.started.insert(n, Started { id: id.clone(), tool: tool.clone(), seq, stage: Stage::Deciding });
        let request = CallRequest {
            id,
            tool: tool.clone(),
            args,
            session: self.root.session.clone(),
            scope: self.root.scope.clone(),
            parent: None,
            event: seq,
            cancel: self.root.cancel.clone(),
            root: self.root.working_root.clone(),
            progress: self.root.progress.clone(),
        };
        let pipeline = self.pipeline;
        let mut prepared = pipeline.begin(request);
        let class = match fate {
            Fate::Skip => return self.skip(n, Arc::new(prepared)).await,
            Fate::Abort => return self.finish(n, Arc::new(prepared), aborted_before_dispatch(&tool)).await,
            Fate::Run(_) if too_deep => {
                let failure = arguments_too_deep(&tool, MAX_VALUE_DEPTH);
                return self.finish(n, Arc::new(prepared), failure).await;
            }
            Fate::Run(class) => class,
        };
        if self.ordered(pipeline.decide(&mut prepared)).await.is_none() {
            return self.finish(n, Arc::new(prepared), aborted_before_dispatch(&tool)).await;
        }
        let route = prepared.take_route();
        let prepared = Arc::new(prepared);
        match route {
            Route::Dispatch => self.dispatch(n, prepared, class).await,
            Route::PostResult(result) => self.arrive(n, Arrival::Review(prepared, result)).await,
            Route::Final(result) => self.arrive(n, Arrival::Finish(prepared, result)).await,
        }
    }

    async fn dispatch(&mut self, n: u64, prepared: Arc<Prepared>, class: Class) -> Result<(), StepError> {
        self.reach(n, Stage::Underway(Arc::clone(&prepared), None));
        if self.pipeline.classify_again(class, &prepared) == Concurrency::Exclusive {
            self.serial |= self.config.batch_rule == BatchRule::AllOrSerial;
            self.empty_pool().await?;
            if self.serial && self.failed.is_some() {
                return self.skip(n, prepared).await;
            }
            self.barrier = true;
        }
        self.pool.launch(self.pipeline, n, prepared).await;
        Ok(())
    }

    async fn skip(&mut self, n: u64, prepared: Arc<Prepared>) -> Result<(), StepError> {
        let failure = not_started(&prepared.call().tool, self.failed.as_ref());
        self.finish(n, prepared, failure).await
    }

    /// Answers for a call that does not start.
    async fn finish(
        &mut self,
        n: u64,
        prepared: Arc<Prepared>,
        failure: CallFailure,
    ) -> Result<(), StepError> {
        self.arrive(n, Arrival::Finish(prepared, Err(failure))).await
    }

    /// Commits what runs until nothing does, for a call that turned out to be exclusive while it was prepared.
    async fn empty_pool(&mut self) -> Result<(), StepError> {
        while self.pool.len() > 0 {
            match poll_fn(|context| self.poll_rest(context)).await {
                Some(at_rest) => self.commit_at_rest(at_rest).await?,
                None => self.leave().await?,
            }
        }
        Ok(())
    }

    /// What the pool held is committed: post-execute and the event are part of the barrier.
    pub(super) fn make_room(&mut self) {
        self.barrier = false;
        self.head_waits = false;
    }

    /// Waits for what is in flight, and lets its results go (S-7).
    async fn drain(&mut self) {
        while self.pool.len() > 0 {
            if poll_fn(|context| self.poll_rest(context)).await.is_none() {
                self.pool.leave(self.pipeline);
            }
        }
    }

    /// Awaits an ordered part while bodies go on. Nothing: the step was aborted, and the part has not ended within the
    /// time that a body would have had (P-14).
    pub(super) async fn ordered<F: Future>(&mut self, part: F) -> Option<F::Output> {
        let Self { waits, pool, aborted, .. } = self;
        waits.ordered(pool, part, |context| aborted.as_mut().poll(context)).await
    }

    /// A place in the ledger's backlog, while bodies go on.
    pub(super) async fn reserve(&mut self) -> Slot {
        self.pool.reserve(self.ledger).await
    }

    /// Stops the calls of a step that is given up before its end.
    pub(super) fn stop(&self) {
        self.root.cancel.cancel();
    }
}
