//! From what a body returned to a normalised result (T-10 to T-12).
//!
//! Owns the order: depth, schema, freeze, render, meta. A value that breaks its contract never becomes a
//! success. What tools and interceptors return may be of any depth: it is looked at before anybody clones or drops it,
//! which would recurse (T-8). It calls the definition's pure functions, and the ledger for what is too deep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use crate::json;
use crate::ledger::{bound_content, bound_value};
use crate::outcome::{CallFailure, CallResult, CallSuccess, ErrorCode};
use crate::pipeline::Call;
use crate::tool::ToolDefinition;

/// A value nested deeper than this cannot be handed to a validator or a program.
const MAX_OUTPUT_DEPTH: usize = 128;

/// Who made a value, and is at fault when it breaks the contract.
#[derive(Clone, Copy)]
pub(super) enum Maker {
    Tool,
    Interceptor,
}

/// Validates, freezes and renders a value.
pub(super) fn normalize(definition: &ToolDefinition, call: &Call, value: Value, maker: Maker) -> CallResult {
    if too_deep(&value) {
        json::dismantle(value);
        return Err(maker.too_deep(call));
    }
    let output = definition.output();
    output.schema.validate(&value).map_err(|problems| {
        let details = serde_json::to_value(&problems).unwrap_or_default();
        let owner = match maker {
            Maker::Tool => "its own",
            Maker::Interceptor => "the tool's",
        };
        maker.blame(call, &format!("breaks {owner} output schema: {problems}")).with_details(details)
    })?;
    let value = Arc::new(value);
    let mut content = catch_unwind(AssertUnwindSafe(|| (output.render)(&call.args, &value)))
        .map_err(|_| invalid(call, "its renderer panicked"))?
        .map_err(|reason| invalid(call, &format!("its renderer failed: {reason}")))?;
    bound_content(&mut content);
    let mut meta = match &output.presentation_meta {
        Some(meta) if call.parent.is_none() => Some(
            catch_unwind(AssertUnwindSafe(|| meta(&call.args, &value)))
                .map_err(|_| invalid(call, "its presentation panicked"))?
                .map_err(|reason| invalid(call, &format!("its presentation failed: {reason}")))?,
        ),
        _ => None,
    };
    meta.as_mut().map(bound_value);
    Ok(CallSuccess { value, content, meta, deferred: Vec::new(), concludes_turn: false })
}

/// Replaces what is too deep in a result by its text (T-8); the value of a success has a limit of its own.
pub(super) fn bound(result: &mut CallResult) {
    match result {
        Ok(success) => {
            bound_content(&mut success.content);
            success.meta.as_mut().map(bound_value);
        }
        Err(failure) => bound_failure(failure),
    }
}

pub(super) fn bound_failure(failure: &mut CallFailure) {
    bound_content(&mut failure.content);
    failure.details.as_mut().map(bound_value);
}

/// Whether a value can be neither copied nor dropped before it was looked at.
pub(super) fn too_deep(value: &Value) -> bool {
    json::depth_exceeds(value, MAX_OUTPUT_DEPTH)
}

impl Maker {
    pub(super) fn too_deep(self, call: &Call) -> CallFailure {
        self.blame(call, &format!("is nested more than {MAX_OUTPUT_DEPTH} levels deep"))
    }

    fn blame(self, call: &Call, what: &str) -> CallFailure {
        match self {
            Self::Tool => invalid(call, &format!("its value {what}")),
            Self::Interceptor => {
                let message = format!(
                    "an interceptor replaced the result of `{}`, and the new value {what}. This is a bug of the \
                     interceptor, not of the tool; effects of the call stand",
                    call.tool
                );
                CallFailure::new(ErrorCode::InvalidToolOutput, message)
            }
        }
    }
}

fn invalid(call: &Call, what: &str) -> CallFailure {
    let message =
        format!("the tool `{}` ran, but {what}. This is a bug of the tool; its effects stand", call.tool);
    CallFailure::new(ErrorCode::InvalidToolOutput, message)
}
