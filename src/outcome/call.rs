//! The result of one call.
//!
//! Owns success and failure of a call. The failure type has no way to conclude a turn (T-14). It calls nobody.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;
use crate::outcome::ErrorCode;

/// A message that is delivered with the final result of the outermost call (T-14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredContext {
    /// What the model is to read.
    pub text: String,
}

impl DeferredContext {
    /// A deferred message of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// What a call gave back.
pub type CallResult = Result<CallSuccess, CallFailure>;

/// A call that succeeded: one value, three readers (T-12).
#[derive(Clone, Debug, PartialEq)]
pub struct CallSuccess {
    /// The canonical value, validated against the output schema; what a program gets.
    pub value: Arc<Value>,
    /// What a model reads, rendered from the value.
    pub content: Vec<ContentBlock>,
    /// What a user interface stores; made for top-level calls only (T-11).
    pub meta: Option<Value>,
    /// Messages for the end of the outermost call.
    pub deferred: Vec<DeferredContext>,
    /// Whether the tool asked to conclude the turn.
    pub concludes_turn: bool,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct CallFailure {
    /// The stable code.
    pub code: ErrorCode,
    /// One or a few lines that say what to do next. Never holds host paths or stacks of the host.
    pub message: String,
    /// Structured detail, for example validation problems; absent when the message says all.
    pub details: Option<Value>,
    /// What a model reads; the message unless something replaced it.
    pub content: Vec<ContentBlock>,
    /// Messages for the end of the outermost call.
    pub deferred: Vec<DeferredContext>,
}

impl CallFailure {
    /// A failure whose content is its message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        let content = vec![ContentBlock::text(message.clone())];
        Self { code, message, details: None, content, deferred: Vec::new() }
    }

    /// The same with structured detail.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
