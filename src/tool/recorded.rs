//! The cards of calls that a ledger tells of (L-6).
//!
//! Owns the pairing of recorded calls with their results, and the generic cards. It never runs a tool and never fails:
//! what a definition does not draw, or cannot any more, has a generic card (T-3). It calls the definition's presenters.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, SessionId, ToolName};
use crate::ledger::{EventBody, LedgerEvent};
use crate::outcome::CallResult;
use crate::tool::{CallCard, CardKind, ResultCard, ToolDefinition};

/// What people see of one recorded call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: ToolName,
    /// The call whose program made this one; absent for calls of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// The card of the call.
    pub shown: CallCard,
    /// The card of its result; absent when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultCard>,
    /// Whether it failed; false also while it has no result.
    pub is_error: bool,
}

/// The cards of every call and sub-call, from the session's events and the tools' definitions of today (L-6).
///
/// They come in the order in which the calls started. A tool whose definition is gone has generic cards, and so has one
/// whose presenter draws nothing from what was kept: arguments, content, meta, and a failure's code and details. The
/// value of a result is null to a presenter here, as it is in no event (T-12), except in a sub-call whose value the
/// host has kept.
///
/// ```
/// use isolane::ledger::{LedgerEvent, ToolCall};
/// use isolane::registry::RegistryView;
/// use isolane::tool::{RecordedCall, derive_cards};
///
/// fn show(events: &[LedgerEvent], view: &RegistryView) -> Vec<RecordedCall> {
///     derive_cards(events, |tool| view.get(tool.as_str()).map(|tool| tool.definition().clone()))
/// }
/// ```
pub fn derive_cards<'a>(
    events: impl IntoIterator<Item = &'a LedgerEvent>,
    definition: impl Fn(&ToolName) -> Option<Arc<ToolDefinition>>,
) -> Vec<RecordedCall> {
    let mut shown = Shown { calls: Vec::new(), by_seq: BTreeMap::new() };
    for event in events {
        match &event.body {
            EventBody::ToolCall(data) => {
                shown.called(event, &data.call, &data.tool, None, &data.arguments, &definition);
            }
            EventBody::CodeDispatchStart(data) => {
                shown.called(event, &data.call, &data.tool, Some(&data.parent), &data.arguments, &definition);
            }
            EventBody::ToolResult(data) => shown.answered(event, || data.restored()),
            EventBody::CodeDispatch(data) => shown.answered(event, || data.restored()),
            EventBody::ApprovalAsked(_)
            | EventBody::ApprovalDecided(_)
            | EventBody::PermissionPreset(_)
            | EventBody::SandboxMode(_)
            | EventBody::ApprovalPolicy(_)
            | EventBody::RunStart(_)
            | EventBody::RunEnd(_)
            | EventBody::StatePut(_) => {}
        }
    }
    shown.calls.into_iter().map(|call| call.recorded).collect()
}

struct Call<'a> {
    recorded: RecordedCall,
    arguments: &'a Value,
    definition: Option<Arc<ToolDefinition>>,
}

struct Shown<'a> {
    calls: Vec<Call<'a>>,
    by_seq: BTreeMap<(&'a SessionId, u64), usize>,
}

impl<'a> Shown<'a> {
    fn called(
        &mut self,
        event: &'a LedgerEvent,
        call: &CallId,
        tool: &ToolName,
        parent: Option<&CallId>,
        arguments: &'a Value,
        definition: &impl Fn(&ToolName) -> Option<Arc<ToolDefinition>>,
    ) {
        let definition = definition(tool);
        let shown = definition.as_ref().and_then(|definition| definition.present_call(arguments));
        let recorded = RecordedCall {
            call: call.clone(),
            tool: tool.clone(),
            parent: parent.cloned(),
            shown: shown.unwrap_or_else(|| CallCard::generic(tool, arguments)),
            result: None,
            is_error: false,
        };
        self.by_seq.insert((&event.session, event.seq), self.calls.len());
        self.calls.push(Call { recorded, arguments, definition });
    }

    fn answered(&mut self, event: &'a LedgerEvent, result: impl FnOnce() -> CallResult) {
        let started = event.source_seqs.iter().find_map(|seq| self.by_seq.get(&(&event.session, *seq)));
        let Some(call) = started.and_then(|place| self.calls.get_mut(*place)) else { return };
        if call.recorded.result.is_some() {
            return;
        }
        let result = result();
        call.recorded.is_error = result.is_err();
        let card = call
            .definition
            .as_ref()
            .and_then(|definition| definition.present_result(call.arguments, &result));
        call.recorded.result =
            Some(card.unwrap_or_else(|| ResultCard::generic(&call.recorded.tool, call.arguments)));
    }
}

impl CallCard {
    /// The card of a call of which nothing more is known than its tool and its arguments (T-3).
    pub fn generic(tool: &ToolName, args: &Value) -> Self {
        Self::Generic {
            title: tool.as_str().to_owned(),
            kind: CardKind::Other,
            raw_input: args.clone(),
            locations: Vec::new(),
        }
    }
}

impl ResultCard {
    /// The card of a result of which nothing more is known than the call (T-3).
    pub fn generic(tool: &ToolName, args: &Value) -> Self {
        Self::Generic {
            title: tool.as_str().to_owned(),
            kind: CardKind::Other,
            raw_input: args.clone(),
            locations: Vec::new(),
        }
    }
}
