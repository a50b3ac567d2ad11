//! The one road of every call: prepare, dispatch, finalize.
//!
//! Owns the order of the stages and their composition (P-12). It does not know who called: a model's step, a
//! program or the host; only the parent token tells nested calls apart. It calls the registry and the tool.
//!
//! Two stacks show what the order means. A timeout around a retry limits all attempts together:
//! `timeout(retry(body))`; a retry around a timeout gives each attempt its own: `retry(timeout(body))`.
//! Interceptors run in the order in which they were added, the first one outermost.

mod admission;
mod approval;
mod arrival;
mod call;
mod chain;
mod classify;
mod dispatch;
mod drain;
mod finalize;
mod interceptor;
mod normalize;
mod pool;
mod prepare;
#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::ledger::bound_value;
use crate::limits::CallLimits;
use crate::outcome::{CallFailure, CallResult};
use crate::registry::Registry;

pub use approval::{ApprovalAnswer, ApprovalQuestion, ApprovalService};
pub use call::{Call, CallRequest, Prepared, Route};
pub use chain::{AroundNext, Attachment, PostNext, PreNext};
pub use drain::GivenUp;
pub use interceptor::{
    AroundDispatch, BoxFuture, Decision, PostDecision, PostExecute, PreExecute, ResultObserver,
};

pub(crate) use arrival::{Arrival, Stage};
pub(crate) use classify::Class;
pub(crate) use drain::{Patience, Waits};
pub(crate) use pool::{AtRest, Hosting, Left, Pool, lost};
pub(crate) use prepare::{aborted_before_dispatch, arguments_too_deep};

use chain::Chains;
use drain::LeftBehind;

/// The pipeline of one deployment. Cloning shares it.
#[derive(Clone)]
pub struct Pipeline {
    shared: Arc<Shared>,
}

struct Shared {
    registry: Registry,
    limits: CallLimits,
    approval: Option<Arc<dyn ApprovalService>>,
    chains: RwLock<Arc<Chains>>,
    /// How long direct calls wait for bodies that were told to stop.
    patience: RwLock<Option<Patience>>,
    left_behind: LeftBehind,
}

impl Pipeline {
    /// A pipeline over a registry. Without an approval service every `Ask` is a denial (P-2).
    pub fn new(registry: Registry, limits: CallLimits, approval: Option<Arc<dyn ApprovalService>>) -> Self {
        let shared = Shared {
            registry,
            limits,
            approval,
            chains: RwLock::default(),
            patience: RwLock::default(),
            left_behind: LeftBehind::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets how long [`Pipeline::execute`] waits for a body that was told to stop, by the caller or by a timeout, and
    /// for the interceptors before and after the body of a cancelled call; without it, for ever (P-14).
    ///
    /// It does not limit a body that nobody told to stop. Schedulers that use the parts have deadlines of their own.
    pub fn set_drain(&self, clock: Arc<dyn Clock>, limit: Duration) {
        let patience = Patience { clock, limit: Some(limit) };
        let mut current = self.shared.patience.write().unwrap_or_else(PoisonError::into_inner);
        let former = current.replace(patience);
        drop(current);
        drop(former);
    }

    /// The registry that calls are resolved in.
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// Runs one call from start to end (P-12). Schedulers use the parts instead.
    pub async fn execute(&self, mut request: CallRequest) -> CallResult {
        let too_deep = bound_value(&mut request.args);
        self.execute_bounded(request, too_deep).await
    }

    /// The same for a caller who had to make the arguments safe, and knows whether they were too deep (T-8).
    pub(crate) async fn execute_bounded(&self, request: CallRequest, too_deep: bool) -> CallResult {
        let patience = self.shared.patience.read().unwrap_or_else(PoisonError::into_inner).clone();
        let patience = patience.as_ref();
        let mut prepared = self.begin_bounded(request, too_deep);
        let cancel = prepared.call.cancel.clone();
        if patiently(patience, &cancel, self.decide(&mut prepared)).await.is_none() {
            let failure = aborted_before_dispatch(&prepared.call.tool);
            return self.finish(&prepared, Err(failure));
        }
        let route = prepared.take_route();
        let prepared = Arc::new(prepared);
        let result = match route {
            Route::Dispatch => match self.dispatch_patiently(patience, &prepared).await {
                Ok(result) => result,
                Err(left) => return self.finish(&prepared, Err(left)),
            },
            Route::PostResult(result) => result,
            Route::Final(result) => return self.finish(&prepared, result),
        };
        let denial = prepared.denial(&result);
        match patiently(patience, &cancel, self.finalize(&prepared, result)).await {
            Some(result) => result,
            None => self.finish(&prepared, Err(prepared.unreviewed(denial))),
        }
    }

    /// Dispatches, and waits for the body as long as the host will have it. An error is what a call comes to that is
    /// not waited for any more: its body still runs, or never starts (P-14).
    async fn dispatch_patiently(
        &self,
        patience: Option<&Patience>,
        prepared: &Arc<Prepared>,
    ) -> Result<CallResult, CallFailure> {
        let Some(patience) = patience else { return Ok(self.dispatch(prepared).await) };
        let mut pool = Pool::new(Hosting::Inline, patience.clone());
        pool.launch(self, 0, Arc::clone(prepared)).await;
        let resting = poll_fn(|context| pool.poll_next(context));
        if let Some(at_rest) = patience.within(&prepared.call.cancel, resting).await {
            return Ok(at_rest.result.unwrap_or_else(|| Err(lost())));
        }
        Err(pool.leave(self).pop().map_or_else(lost, |left| left.failure))
    }

    fn chains(&self) -> Arc<Chains> {
        Arc::clone(&self.shared.chains.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Awaits a part of a call, for ever unless there is a limit to it.
async fn patiently<F: Future>(
    patience: Option<&Patience>,
    cancel: &CancellationToken,
    part: F,
) -> Option<F::Output> {
    match patience {
        None => Some(part.await),
        Some(patience) => patience.within(cancel, part).await,
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("registry", &self.shared.registry).finish_non_exhaustive()
    }
}
