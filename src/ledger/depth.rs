//! Values too deep to be written and read by ordinary means.
//!
//! Owns the deepest nesting that an event may hold and what stands for anything deeper. It never loses data: the
//! text of the value stays. It hands the walk to [`crate::json`].

use std::sync::Arc;

use serde_json::{Value, json};

use super::event::EventBody;
use super::record::{RunEnd, ToolResult};
use crate::content::ContentBlock;
use crate::json::{canonical_text, depth_exceeds, dismantle};

/// Containers of one value that are kept as JSON; a value nested deeper is kept as
/// `{"$deep": "<its canonical text>"}`.
pub const MAX_VALUE_DEPTH: usize = 256;

/// Containers of a whole event: those of a value, and the few around it.
pub(super) const MAX_EVENT_DEPTH: usize = MAX_VALUE_DEPTH + 8;

/// Replaces every value of the event that is too deep. A body that has been through here can be written, cloned
/// and dropped without a deep recursion.
pub(super) fn bound(body: &mut EventBody) {
    match body {
        EventBody::ToolCall(data) => bound_shared(&mut data.arguments),
        EventBody::ToolResult(ToolResult { content, details, meta, .. }) => {
            bound_content(content);
            bound_any(details.iter_mut());
            bound_any(meta.iter_mut());
        }
        EventBody::CodeDispatchStart(data) => bound_shared(&mut data.arguments),
        EventBody::CodeDispatch(data) => {
            bound_shared(&mut data.arguments);
            bound_content(&mut data.content);
            bound_any(data.details.iter_mut());
            data.value.iter_mut().for_each(bound_shared);
        }
        EventBody::RunEnd(RunEnd { result, .. }) => bound_any(result.iter_mut()),
        EventBody::StatePut(data) => data.value.iter_mut().for_each(bound_shared),
        EventBody::ApprovalAsked(_)
        | EventBody::ApprovalDecided(_)
        | EventBody::PermissionPreset(_)
        | EventBody::SandboxMode(_)
        | EventBody::ApprovalPolicy(_)
        | EventBody::RunStart(_) => {}
    }
}

fn bound_any<'a>(values: impl Iterator<Item = &'a mut Value>) {
    for value in values {
        bound_value(value);
    }
}

/// Replaces what is too deep in the blocks. What is left of them can be cloned and dropped.
pub(crate) fn bound_content(blocks: &mut [ContentBlock]) {
    for block in blocks {
        if let ContentBlock::Json { value } = block {
            bound_value(value);
        }
    }
}

/// Replaces a value that is too deep, and tells whether it was. What stands for it can be cloned and dropped.
pub(crate) fn bound_value(value: &mut Value) -> bool {
    let too_deep = depth_exceeds(value, MAX_VALUE_DEPTH);
    if too_deep {
        let stand_in = stand_in(value);
        dismantle(std::mem::replace(value, stand_in));
    }
    too_deep
}

fn bound_shared(value: &mut Arc<Value>) {
    if depth_exceeds(value, MAX_VALUE_DEPTH) {
        let stand_in = Arc::new(stand_in(value));
        if let Some(last) = Arc::into_inner(std::mem::replace(value, stand_in)) {
            dismantle(last);
        }
    }
}

/// Whether this is what stands for a value that was too deep.
pub fn is_too_deep(kept: &Value) -> bool {
    kept.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("$deep"))
}

fn stand_in(value: &Value) -> Value {
    json!({ "$deep": canonical_text(value) })
}

/// Whether JSON text nests deeper than an event may. Counts brackets outside strings; whether the text is JSON at
/// all is the parser's to say.
pub(super) fn text_exceeds(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_EVENT_DEPTH {
            return true;
        }
    }
    false
}
