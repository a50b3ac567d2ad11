//! Results as far as a history has kept them.
//!
//! Owns what a presenter is given when an old session is shown again (T-3, L-6). It never makes up a value. It calls
//! nobody.

use std::sync::Arc;

use serde_json::Value;

use super::record::{CodeDispatch, ToolResult};
use crate::content::ContentBlock;
use crate::outcome::{CallFailure, CallResult, CallSuccess};

impl ToolResult {
    /// The result as far as it was kept, for presenters that show an old session (T-3): without its value, which is
    /// null, and with the text that the model read as a failure's message.
    pub fn restored(&self) -> CallResult {
        match self.code.filter(|_| self.is_error) {
            None => Ok(CallSuccess {
                value: Arc::new(Value::Null),
                content: self.content.clone(),
                meta: self.meta.clone(),
                deferred: self.deferred.clone(),
                concludes_turn: self.concludes_turn,
            }),
            Some(code) => Err(CallFailure {
                code,
                message: text_of(&self.content),
                details: self.details.clone(),
                content: self.content.clone(),
                deferred: self.deferred.clone(),
            }),
        }
    }
}

impl CodeDispatch {
    /// The result as far as it was kept, for presenters that show an old session (T-3): its value is null unless the
    /// host keeps values, and sub-calls have no meta (T-11).
    pub fn restored(&self) -> CallResult {
        match self.code.filter(|_| self.is_error) {
            None => Ok(CallSuccess {
                value: self.value.clone().unwrap_or_default(),
                content: self.content.clone(),
                meta: None,
                deferred: Vec::new(),
                concludes_turn: false,
            }),
            Some(code) => Err(CallFailure {
                code,
                message: self.message.clone().unwrap_or_else(|| text_of(&self.content)),
                details: self.details.clone(),
                content: self.content.clone(),
                deferred: Vec::new(),
            }),
        }
    }
}

fn text_of(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}
