//! What can be hung on the pipeline.
//!
//! Owns the traits of the three chains and of observers, and their decisions. There is no decision that
//! rewrites arguments, which are already logged and shown (P-1). It calls nobody.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::content::ContentBlock;
use crate::outcome::{CallResult, DeferredContext};
use crate::pipeline::{AroundNext, Call, PostNext, PreNext};

/// A boxed future that borrows for `'a`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a pre-execute interceptor decides (P-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may go on to the guards.
    Allow,
    /// The call is denied.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// Somebody has to be asked (P-2).
    Ask {
        /// Why, for the person who is asked.
        reason: Option<String>,
    },
}

/// Decides on a call before it runs, or delegates (P-1).
pub trait PreExecute: Send + Sync {
    /// Decides, or returns what `next.decide()` does.
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision>;
}

/// Wraps the body of a call (P-6).
pub trait AroundDispatch: Send + Sync {
    /// Returns what `next.run(..)` does, or something in its place.
    fn around<'a>(&'a self, call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult>;
}

/// What a post-execute interceptor decides (P-8).
///
/// Content and value cannot both be replaced; the type has no way to say so.
#[derive(Clone, Debug, PartialEq)]
pub enum PostDecision {
    /// The result stands.
    Accept,
    /// The result stands with other content.
    AcceptContent(Vec<ContentBlock>),
    /// The value is replaced; it is validated and rendered again. Ignored on a failure, which can never become a
    /// success (P-5).
    AcceptValue(Value),
    /// The result becomes an error, `RESULT_BLOCKED` if it was a success; what the tool itself deferred is dropped.
    Block {
        /// Corrective text for the model.
        feedback: String,
        /// What the blocker itself defers.
        deferred: Vec<DeferredContext>,
    },
    /// Another decision, and messages that are delivered with the final result after those of the tool or the blocker.
    Deferring {
        /// The decision.
        decision: Box<PostDecision>,
        /// The messages.
        deferred: Vec<DeferredContext>,
    },
}

impl PostDecision {
    /// The same decision with further messages for the end of the outermost call, whether the call succeeds, fails or
    /// was denied. So an interceptor that only observes can add its word to what `next.review()` decides.
    #[must_use]
    pub fn and_defer(self, deferred: impl IntoIterator<Item = DeferredContext>) -> Self {
        let deferred: Vec<_> = deferred.into_iter().collect();
        if deferred.is_empty() { self } else { Self::Deferring { decision: Box::new(self), deferred } }
    }
}

/// Reviews a normalised result, or delegates (P-8).
pub trait PostExecute: Send + Sync {
    /// Decides, or returns what `next.review()` does.
    fn review<'a>(
        &'a self,
        call: &'a Call,
        result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision>;
}

/// Sees every final result (P-10). What it does, panics included, changes nothing.
pub trait ResultObserver: Send + Sync {
    /// Takes notice of a result.
    fn observe(&self, call: &Call, result: &CallResult);
}
