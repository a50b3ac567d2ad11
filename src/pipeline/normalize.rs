//! From what a body returned to a normalised result (T-10 to T-12).
//!
//! Owns the order: depth, schema, freeze, render, meta. A value that breaks its contract never becomes a
//! success. It calls the definition's pure functions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use crate::json;
use crate::outcome::{CallFailure, CallResult, CallSuccess, ErrorCode};
use crate::pipeline::Call;
use crate::tool::ToolDefinition;

/// A value nested deeper than this cannot be handed to a validator or a program.
const MAX_OUTPUT_DEPTH: usize = 128;

/// Validates, freezes and renders a value.
pub(super) fn normalize(definition: &ToolDefinition, call: &Call, value: Value) -> CallResult {
    if json::depth_exceeds(&value, MAX_OUTPUT_DEPTH) {
        json::dismantle(value);
        return Err(invalid(call, &format!("its value is nested more than {MAX_OUTPUT_DEPTH} levels deep")));
    }
    let output = definition.output();
    output.schema.validate(&value).map_err(|problems| {
        let details = serde_json::to_value(&problems).unwrap_or_default();
        invalid(call, &format!("its value breaks its own output schema: {problems}")).with_details(details)
    })?;
    let value = Arc::new(value);
    let content = catch_unwind(AssertUnwindSafe(|| (output.render)(&call.args, &value)))
        .map_err(|_| invalid(call, "its renderer panicked"))?
        .map_err(|reason| invalid(call, &format!("its renderer failed: {reason}")))?;
    let meta = match &output.presentation_meta {
        Some(meta) if call.parent.is_none() => Some(
            catch_unwind(AssertUnwindSafe(|| meta(&call.args, &value)))
                .map_err(|_| invalid(call, "its presentation panicked"))?
                .map_err(|reason| invalid(call, &format!("its presentation failed: {reason}")))?,
        ),
        _ => None,
    };
    Ok(CallSuccess { value, content, meta, deferred: Vec::new(), concludes_turn: false })
}

fn invalid(call: &Call, what: &str) -> CallFailure {
    let message =
        format!("the tool `{}` ran, but {what}. This is a bug of the tool; its effects stand", call.tool);
    CallFailure::new(ErrorCode::InvalidToolOutput, message)
}
