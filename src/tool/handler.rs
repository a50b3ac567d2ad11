//! The body of a tool.
//!
//! Owns the handler trait and the error that a body may end with. A body cannot choose among all error codes:
//! only the pipeline may say that a call was denied or aborted. It calls nobody.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::tool::ToolContext;

/// What a body runs as.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

/// Executes a tool. Implemented for every `Fn(Value, ToolContext) -> Future`.
///
/// A body must come to rest soon after its context is cancelled: the pipeline always waits for it (P-14).
pub trait ToolHandler: Send + Sync + 'static {
    /// Starts one call. The arguments fit the tool's parameters.
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
    /// Structured detail; absent when the message says all.
    pub details: Option<Value>,
    /// Whether the tool is only a stub in this deployment (`TOOL_UNSUPPORTED`).
    pub unsupported: bool,
}

impl ToolError {
    /// The tool ran and failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: None, unsupported: false }
    }

    /// The tool cannot do this here at all.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: None, unsupported: true }
    }

    /// The same with structured detail.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::failed(error.to_string())
    }
}
