//! The body of a tool.
//!
//! Owns the handler trait and the error that a body may end with. A body cannot choose among all error codes:
//! only the pipeline may say that a call was denied or aborted. It calls nobody.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::content::ContentBlock;
use crate::schema::{Problem, Problems};
use crate::tool::ToolContext;

/// What a body runs as.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

/// Executes a tool. Implemented for every `Fn(Value, ToolContext) -> Future`.
///
/// A body must come to rest soon after its context is cancelled: the pipeline always waits for it (P-14).
pub trait ToolHandler: Send + Sync + 'static {
    /// Starts one call. The arguments fit the tool's parameters, and `1.0` has become `1`.
    fn call(&self, args: Value, context: ToolContext) -> HandlerFuture;
}

impl<F, Fut> ToolHandler for F
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    fn call(&self, args: Value, context: ToolContext) -> HandlerFuture {
        Box::pin(self(args, context))
    }
}

/// Why a body failed.
///
/// Every `std::error::Error` converts into it with `?`; it is not one itself, so that this conversion can be.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError {
    /// What a model reads; says what to do next.
    pub message: String,
    /// Structured detail; absent when the message says all. Of any depth: the pipeline keeps what is too deep for an
    /// event as its text (T-8).
    pub details: Option<Value>,
    /// What a model gets after the message, such as the pictures of work that failed half-way (CM-12).
    pub blocks: Vec<ContentBlock>,
    /// Whether the tool is only a stub in this deployment (`TOOL_UNSUPPORTED`).
    pub unsupported: bool,
    /// Whether the arguments are at fault, although they fit the schema, and nothing was done
    /// (`TOOL_ARGS_INVALID`). The pipeline puts the tool's name before the message.
    pub invalid_arguments: bool,
}

impl ToolError {
    /// The tool ran and failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            details: None,
            blocks: Vec::new(),
            unsupported: false,
            invalid_arguments: false,
        }
    }

    /// The tool cannot do this here at all.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { unsupported: true, ..Self::failed(message) }
    }

    /// The arguments fit the schema and cannot be used all the same; nothing was done. `pointer` is the JSON
    /// pointer to the place, empty for all of them; `message` says what is wrong there and what is expected.
    pub fn invalid_arguments(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        let problem = Problem { pointer: pointer.into(), message: message.into(), hint: String::new() };
        let problems = Problems { listed: vec![problem], more: false };
        let details = serde_json::to_value(&problems).ok();
        Self { details, invalid_arguments: true, ..Self::failed(problems.to_string()) }
    }

    /// The same with structured detail.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same with blocks that a model gets after the message.
    pub fn with_blocks(mut self, blocks: Vec<ContentBlock>) -> Self {
        self.blocks = blocks;
        self
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::failed(error.to_string())
    }
}
