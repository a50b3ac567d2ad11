//! What was under way when a history ended (L-8).
//!
//! Owns the pairing of starts with ends. It never judges what to do about a call that has no end. It calls nobody.

use std::collections::BTreeMap;

use super::event::{EventBody, LedgerEvent};
use crate::ids::{CallId, SessionId};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Call,
    SubCall,
    Run,
}

/// The calls, sub-calls and runs that started and have no end: their start events, in order (L-8).
///
/// Their effects may have happened. A call that was started again after it ended counts by its last start.
pub fn unsettled(events: &[LedgerEvent]) -> Vec<&LedgerEvent> {
    let mut open: BTreeMap<(&SessionId, Kind, &CallId), usize> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let (kind, call, starts) = match &event.body {
            EventBody::ToolCall(data) => (Kind::Call, &data.call, true),
            EventBody::ToolResult(data) => (Kind::Call, &data.call, false),
            EventBody::CodeDispatchStart(data) => (Kind::SubCall, &data.call, true),
            EventBody::CodeDispatch(data) => (Kind::SubCall, &data.call, false),
            EventBody::RunStart(data) => (Kind::Run, &data.call, true),
            EventBody::RunEnd(data) => (Kind::Run, &data.call, false),
            EventBody::ApprovalAsked(_)
            | EventBody::ApprovalDecided(_)
            | EventBody::PermissionPreset(_)
            | EventBody::SandboxMode(_)
            | EventBody::ApprovalPolicy(_)
            | EventBody::StatePut(_) => continue,
        };
        let key = (&event.session, kind, call);
        if starts {
            open.insert(key, index);
        } else {
            open.remove(&key);
        }
    }
    let mut places: Vec<_> = open.into_values().collect();
    places.sort_unstable();
    places.into_iter().filter_map(|index| events.get(index)).collect()
}
