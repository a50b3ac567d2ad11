//! Asking somebody (P-2).
//!
//! Owns the interface of the approval service. It never grants anything by itself. It calls nobody.

use crate::ids::{CallId, ScopeId, SessionId, ToolName};
use crate::pipeline::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A question about one call.
#[derive(Clone, Debug)]
pub struct ApprovalQuestion<'a> {
    /// The call.
    pub call: &'a CallId,
    /// The tool.
    pub tool: &'a ToolName,
    /// Its arguments.
    pub args: &'a Value,
    /// The scope that the question is routed by.
    pub scope: &'a ScopeId,
    /// The session.
    pub session: &'a SessionId,
    /// Why somebody is asked; absent when the policy gave no reason.
    pub reason: Option<&'a str>,
    /// The `seq` of the call's event in the session's ledger; absent when it is not recorded.
    pub event: Option<u64>,
    /// Cancelled when the question is withdrawn. The pipeline does not wait for an answer after that.
    pub cancel: &'a CancellationToken,
}

/// An answer. Only the first one grants, and for this one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// This one call may run.
    AllowedOnce,
    /// Somebody said no.
    Rejected {
        /// What they said; absent when they said nothing.
        note: Option<String>,
    },
    /// The question was withdrawn.
    Cancelled,
    /// Nobody could be reached.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// Answers questions about calls (P-2, PO-8).
pub trait ApprovalService: Send + Sync {
    /// Asks. A service that fails answers [`ApprovalAnswer::Unavailable`].
    fn ask<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer>;
}
