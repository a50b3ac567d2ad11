//! The one road of every call: prepare, dispatch, finalize.
//!
//! Owns the order of the stages and their composition (P-12). It does not know who called: a model's step, a
//! program or the host; only the parent token tells nested calls apart. It calls the registry and the tool.
//!
//! Two stacks show what the order means. A timeout around a retry limits all attempts together:
//! `timeout(retry(body))`; a retry around a timeout gives each attempt its own: `retry(timeout(body))`.
//! Interceptors run in the order in which they were added, the first one outermost.

mod approval;
mod call;
mod chain;
mod dispatch;
mod finalize;
mod interceptor;
mod normalize;
mod prepare;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::limits::CallLimits;
use crate::outcome::CallResult;
use crate::registry::Registry;

pub use approval::{ApprovalAnswer, ApprovalQuestion, ApprovalService};
pub use call::{Call, CallRequest, Prepared, Route};
pub use chain::{AroundNext, Attachment, PostNext, PreNext};
pub use interceptor::{
    AroundDispatch, BoxFuture, Decision, PostDecision, PostExecute, PreExecute, ResultObserver,
};

use chain::Chains;

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
}

impl Pipeline {
    /// A pipeline over a registry. Without an approval service every `Ask` is a denial (P-2).
    pub fn new(registry: Registry, limits: CallLimits, approval: Option<Arc<dyn ApprovalService>>) -> Self {
        Self { shared: Arc::new(Shared { registry, limits, approval, chains: RwLock::default() }) }
    }

    /// The registry that calls are resolved in.
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// Runs one call from start to end (P-12). Schedulers use the parts instead.
    pub async fn execute(&self, request: CallRequest) -> CallResult {
        let mut prepared = self.prepare(request).await;
        match prepared.take_route() {
            Route::Dispatch => {
                let result = self.dispatch(&prepared).await;
                self.finalize(&prepared, result).await
            }
            Route::PostResult(result) => self.finalize(&prepared, result).await,
            Route::Final(result) => self.finish(&prepared, result),
        }
    }

    fn chains(&self) -> Arc<Chains> {
        Arc::clone(&self.shared.chains.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("registry", &self.shared.registry).finish_non_exhaustive()
    }
}
