//! The three chains: which interceptors apply to a call, and how one delegates to the next.
//!
//! Owns registration with disposers and the `next` handles. An interceptor of a scope applies to the calls of
//! that scope and of its descendants (P-3). It never drops an interceptor while it holds the lock: one may own the
//! attachment of another. It calls the interceptors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::ids::ScopeId;
use crate::outcome::{CallFailure, CallResult};
use crate::pipeline::dispatch::Body;
use crate::pipeline::drain::GivenUp;
use crate::pipeline::{
    AroundDispatch, BoxFuture, Call, Decision, Pipeline, PostDecision, PostExecute, PreExecute,
    ResultObserver,
};
use crate::registry::{Registry, RegistryView};
use crate::tool::ToolDefinition;

/// An interceptor's place. Dropping it takes the interceptor off the pipeline; calls under way still meet it.
#[must_use = "dropping the attachment takes the interceptor off at once"]
#[derive(Debug)]
pub struct Attachment {
    pipeline: Option<Pipeline>,
    id: u64,
}

impl Attachment {
    /// Leaves the interceptor in place for as long as the pipeline lives.
    pub fn keep(mut self) {
        self.pipeline = None;
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(pipeline) = self.pipeline.take() {
            drop(pipeline.change_chains(|chains| chains.take(|id, _| id == self.id)));
        }
    }
}

/// The scope that an interceptor belongs to.
#[derive(Clone)]
struct Place {
    scope: ScopeId,
    /// Which opening of it; absent when it was not open then, which stands for every scope opened under the name.
    opening: Option<u64>,
}

impl Place {
    fn of(scope: ScopeId, registry: &Registry) -> Self {
        Self { opening: registry.opening(&scope), scope }
    }

    fn is_gone(&self, registry: &Registry) -> bool {
        self.opening.is_some() && registry.opening(&self.scope) != self.opening
    }

    fn is_on(&self, view: &RegistryView) -> bool {
        view.openings().any(|(scope, opening)| {
            *scope == self.scope && self.opening.is_none_or(|expected| expected == opening)
        })
    }
}

struct Entry<T: ?Sized> {
    id: u64,
    place: Option<Place>,
    interceptor: Arc<T>,
}

impl<T: ?Sized> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { id: self.id, place: self.place.clone(), interceptor: Arc::clone(&self.interceptor) }
    }
}

/// Every interceptor of a pipeline; replaced as a whole on change, so that a call sees one state.
#[derive(Clone, Default)]
pub(super) struct Chains {
    pre: Vec<Entry<dyn PreExecute>>,
    around: Vec<Entry<dyn AroundDispatch>>,
    post: Vec<Entry<dyn PostExecute>>,
    observers: Vec<Entry<dyn ResultObserver>>,
}

impl Chains {
    /// Takes out what is gone, to be dropped when the chains are not locked any more.
    #[must_use = "interceptors are dropped outside of the lock"]
    fn take(&mut self, gone: impl Fn(u64, Option<&Place>) -> bool) -> Self {
        Self {
            pre: self.pre.extract_if(.., |entry| gone(entry.id, entry.place.as_ref())).collect(),
            around: self.around.extract_if(.., |entry| gone(entry.id, entry.place.as_ref())).collect(),
            post: self.post.extract_if(.., |entry| gone(entry.id, entry.place.as_ref())).collect(),
            observers: self.observers.extract_if(.., |entry| gone(entry.id, entry.place.as_ref())).collect(),
        }
    }

    pub(super) fn pre(&self, view: Option<&RegistryView>) -> Vec<Arc<dyn PreExecute>> {
        applicable(&self.pre, view)
    }

    pub(super) fn around(&self, view: Option<&RegistryView>) -> Vec<Arc<dyn AroundDispatch>> {
        applicable(&self.around, view)
    }

    pub(super) fn post(&self, view: Option<&RegistryView>) -> Vec<Arc<dyn PostExecute>> {
        applicable(&self.post, view)
    }

    pub(super) fn observers(&self, view: Option<&RegistryView>) -> Vec<Arc<dyn ResultObserver>> {
        applicable(&self.observers, view)
    }
}

/// Those of everybody, and those of a scope on the chain of the view.
fn applicable<T: ?Sized>(entries: &[Entry<T>], view: Option<&RegistryView>) -> Vec<Arc<T>> {
    entries
        .iter()
        .filter(|entry| entry.place.as_ref().is_none_or(|place| view.is_some_and(|view| place.is_on(view))))
        .map(|entry| Arc::clone(&entry.interceptor))
        .collect()
}

/// An interceptor of a scope goes with the scope. One that is added before its scope is open waits for it, and stays
/// for whatever is opened under the name.
impl Pipeline {
    /// Adds a pre-execute interceptor for every call, or for a scope and its descendants.
    pub fn add_pre(&self, scope: Option<ScopeId>, interceptor: Arc<dyn PreExecute>) -> Attachment {
        self.attach(scope, |chains, id, place| chains.pre.push(Entry { id, place, interceptor }))
    }

    /// Adds an around interceptor for every call, or for a scope and its descendants.
    pub fn add_around(&self, scope: Option<ScopeId>, interceptor: Arc<dyn AroundDispatch>) -> Attachment {
        self.attach(scope, |chains, id, place| chains.around.push(Entry { id, place, interceptor }))
    }

    /// Adds a post-execute interceptor for every call, or for a scope and its descendants.
    pub fn add_post(&self, scope: Option<ScopeId>, interceptor: Arc<dyn PostExecute>) -> Attachment {
        self.attach(scope, |chains, id, place| chains.post.push(Entry { id, place, interceptor }))
    }

    /// Adds an observer of final results for every call, or for a scope and its descendants.
    pub fn add_observer(&self, scope: Option<ScopeId>, interceptor: Arc<dyn ResultObserver>) -> Attachment {
        self.attach(scope, |chains, id, place| chains.observers.push(Entry { id, place, interceptor }))
    }

    fn attach(
        &self,
        scope: Option<ScopeId>,
        add: impl FnOnce(&mut Chains, u64, Option<Place>),
    ) -> Attachment {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let registry = self.registry();
        let place = scope.map(|scope| Place::of(scope, registry));
        let gone = self.change_chains(|chains| {
            add(chains, id, place);
            // Interceptors whose scopes were closed meet no call any more.
            chains.take(|_, place| place.is_some_and(|place| place.is_gone(registry)))
        });
        drop(gone);
        Attachment { pipeline: Some(self.clone()), id }
    }

    fn change_chains<T>(&self, change: impl FnOnce(&mut Chains) -> T) -> T {
        let mut chains = self.shared.chains.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut chains))
    }
}

/// The rest of the pre-execute chain.
#[derive(Clone, Copy)]
pub struct PreNext<'a> {
    pub(super) call: &'a Call,
    pub(super) rest: &'a [Arc<dyn PreExecute>],
}

impl<'a> PreNext<'a> {
    /// What the rest of the chain decides; allow when nobody does (P-1).
    pub fn decide(self) -> BoxFuture<'a, Decision> {
        match self.rest.split_first() {
            None => Box::pin(std::future::ready(Decision::Allow)),
            Some((first, rest)) => first.decide(self.call, PreNext { call: self.call, rest }),
        }
    }
}

/// The rest of the around chain, with the body at its end.
#[derive(Clone, Copy)]
pub struct AroundNext<'a> {
    pub(super) body: &'a Body<'a>,
    pub(super) rest: &'a [Arc<dyn AroundDispatch>],
    pub(super) signal: Option<&'a CancellationToken>,
}

impl<'a> AroundNext<'a> {
    /// The definition of the tool that the call runs, for what it declares of itself (T-4).
    pub fn definition(&self) -> &'a ToolDefinition {
        self.body.definition()
    }

    /// The signal in force here: the caller's, or what a wrapper further out has put in its place.
    ///
    /// A wrapper that gives the body a signal of its own derives it from this one, so that those further out keep
    /// their power too.
    pub fn signal(&self) -> &'a CancellationToken {
        self.signal.unwrap_or(&self.body.call().cancel)
    }

    /// Whether the body was ever invoked in this call: when it was not, nothing happened (P-13).
    pub fn has_started(&self) -> bool {
        self.body.has_started()
    }

    /// Tells whoever waits for the call that the body was told to stop, and what the call comes to if the body has not
    /// come to rest when the host's drain deadline, which begins now, is over. The body is listed then, as that of a
    /// cancelled call is, and is not invoked again (P-14). If it never was, the call says that nothing happened, under
    /// the same code (P-13). Without a deadline nothing follows.
    ///
    /// It holds until the guard is dropped: drop it when the body rests, and at the latest before it is run again.
    pub fn give_up(&self, failure: CallFailure) -> GivenUp<'a> {
        self.body.give_up(failure)
    }

    /// Runs the rest of the chain and the body under the caller's signal. What comes back is normalised, whoever made
    /// it (P-7).
    pub fn run(self) -> BoxFuture<'a, CallResult> {
        match self.rest.split_first() {
            None => Box::pin(self.body.run(self.signal)),
            Some((first, rest)) => {
                let wrapped = first.around(self.body.call(), AroundNext { rest, ..self });
                Box::pin(async move { self.body.accept(wrapped.await) })
            }
        }
    }

    /// The same under another signal as well. The caller's signal stays fused in (P-6).
    pub fn run_with_signal(self, signal: &'a CancellationToken) -> BoxFuture<'a, CallResult> {
        AroundNext { signal: Some(signal), ..self }.run()
    }
}

/// The rest of the post-execute chain.
#[derive(Clone, Copy)]
pub struct PostNext<'a> {
    pub(super) call: &'a Call,
    pub(super) result: &'a CallResult,
    pub(super) rest: &'a [Arc<dyn PostExecute>],
}

impl<'a> PostNext<'a> {
    /// What the rest of the chain decides; accept when nobody does.
    pub fn review(self) -> BoxFuture<'a, PostDecision> {
        match self.rest.split_first() {
            None => Box::pin(std::future::ready(PostDecision::Accept)),
            Some((first, rest)) => first.review(self.call, self.result, PostNext { rest, ..self }),
        }
    }
}

macro_rules! opaque_debug {
    ($($name:ident),+) => {$(
        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("left", &self.rest.len()).finish_non_exhaustive()
            }
        }
    )+};
}

opaque_debug!(PreNext, AroundNext, PostNext);
