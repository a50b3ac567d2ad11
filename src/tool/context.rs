//! What a tool's body is given (T-14).
//!
//! Owns the context and the two ways to hand something back. It never lets a failure conclude a turn: what was
//! handed back is read by the pipeline, which drops a conclusion unless the call succeeds. It calls `ids`, and `ledger`
//! for values that are too deep to be dropped.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::content::ContentBlock;
use crate::ids::{CallId, ParentToken, ScopeId, SessionId};
use crate::ledger::bound_content;
use crate::outcome::DeferredContext;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done, in the unit of `total`.
    pub done: f64,
    /// How much there is; absent when unknown.
    pub total: Option<f64>,
    /// A line for people; absent when there is nothing to say.
    pub message: Option<String>,
}

/// Where progress goes. Must not block.
pub trait ProgressSink: Send + Sync {
    /// Takes one report of the call.
    fn report(&self, call: &CallId, progress: Progress);
}

/// What a body handed back beside its value.
#[derive(Debug, Default)]
pub struct Handback {
    /// Deferred messages, in order.
    pub deferred: Vec<DeferredContext>,
    /// Whether the turn is to be concluded.
    pub conclude_turn: bool,
    /// What a model reads in place of the rendered value; absent: the rendered value.
    pub content: Option<Vec<ContentBlock>>,
}

/// What a tool's body gets along with its arguments (T-14). Cloning shares everything.
#[derive(Clone)]
pub struct ToolContext {
    /// The call's id.
    pub call: CallId,
    /// Present exactly when the call came from a program or another tool (CM-4).
    pub parent: Option<ParentToken>,
    /// The agent scope on whose behalf the call is made; absent for a direct call by the host.
    pub scope: Option<ScopeId>,
    /// The session that the call belongs to.
    pub session: SessionId,
    /// Cancelled when the body should come to rest. A tool with a timeout promises to heed it (T-4).
    pub cancel: CancellationToken,
    root: Option<Arc<Path>>,
    progress: Option<Arc<dyn ProgressSink>>,
    handback: Arc<Mutex<Handback>>,
}

impl ToolContext {
    /// A context for one call.
    pub fn new(call: CallId, session: SessionId, cancel: CancellationToken) -> Self {
        Self {
            call,
            parent: None,
            scope: None,
            session,
            cancel,
            root: None,
            progress: None,
            handback: Arc::default(),
        }
    }

    /// Sets the working root.
    pub fn with_root(mut self, root: Option<Arc<Path>>) -> Self {
        self.root = root;
        self
    }

    /// Sets where progress goes.
    pub fn with_progress(mut self, sink: Option<Arc<dyn ProgressSink>>) -> Self {
        self.progress = sink;
        self
    }

    /// The working root; absent when the session has none.
    pub fn root(&self) -> Option<PathBuf> {
        self.root.as_deref().map(Path::to_path_buf)
    }

    /// Reports progress; goes nowhere when nobody listens.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink.report(&self.call, progress);
        }
    }

    /// Delivers a message with the final result of the outermost call.
    pub fn defer_context(&self, message: impl Into<String>) {
        self.lock().deferred.push(DeferredContext::new(message));
    }

    /// Asks to conclude the turn. Counts only if the call succeeds.
    pub fn conclude_turn(&self) {
        self.lock().conclude_turn = true;
    }

    /// Forwards what nested calls deferred (T-15).
    pub fn forward_deferred(&self, deferred: impl IntoIterator<Item = DeferredContext>) {
        self.lock().deferred.extend(deferred);
    }

    /// Gives the content that a model reads when it is not a function of arguments and value alone, such as the
    /// blocks of a server. The value is held to its schema all the same; without success it is dropped.
    ///
    /// A JSON block may be of any depth; one too deep for an event is kept as its text (T-8).
    pub fn set_content(&self, mut content: Vec<ContentBlock>) {
        // Now, since the context may be dropped with it at any time.
        bound_content(&mut content);
        self.lock().content = Some(content);
    }

    /// Where progress goes; absent when nobody listens.
    pub fn progress_sink(&self) -> Option<Arc<dyn ProgressSink>> {
        self.progress.clone()
    }

    /// Takes what was handed back so far.
    pub(crate) fn take_handback(&self) -> Handback {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Handback> {
        self.handback.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call", &self.call)
            .field("parent", &self.parent)
            .field("scope", &self.scope)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
