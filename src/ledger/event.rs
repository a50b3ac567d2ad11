//! The envelope of an event and the kinds of event (L-1).
//!
//! Owns the format version, the order of an event's members and the list of kinds. It never decides when an
//! event is written. It hands the data of each kind to [`super::record`].

use serde::{Deserialize, Serialize};

use super::record::{
    ApprovalAsked, ApprovalDecided, ApprovalPolicySet, CodeDispatch, CodeDispatchStart, PresetChosen, RunEnd,
    RunStart, SandboxModeSet, StatePut, ToolCall, ToolResult,
};
use crate::clock::Timestamp;
use crate::ids::SessionId;

/// The version of the format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The JSON Schema (2020-12) of one event, as documented in `docs/ledger.md`.
pub const FORMAT_SCHEMA: &str = include_str!("../../docs/ledger.schema.json");

/// One line of a session's history (L-1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEvent {
    /// [`FORMAT_VERSION`] at the time of writing.
    pub v: u32,
    /// The event's place in its session: 1, 2, 3 and so on without a gap.
    pub seq: u64,
    /// When it was recorded.
    pub time: Timestamp,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The turn of the conversation that was under way; absent outside turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// What happened: the members `kind` and `data`.
    #[serde(flatten)]
    pub body: EventBody,
    /// For results, the `seq` of the events that this one answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_seqs: Vec<u64>,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident($data:ident) = $name:literal,)+) => {
        /// What happened, by kind (L-1).
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", content = "data")]
        pub enum EventBody {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant($data),)+
        }

        impl EventBody {
            /// The names of all kinds, in order of declaration.
            pub const KINDS: &'static [&'static str] = &[$($name,)+];

            /// The name of this kind, as it is written.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        $(impl From<$data> for EventBody {
            fn from(data: $data) -> Self {
                Self::$variant(data)
            }
        })+
    };
}

kinds! {
    /// The model called a tool.
    ToolCall(ToolCall) = "tool/call",
    /// A call of the model has its result.
    ToolResult(ToolResult) = "tool/result",
    /// The lane launched a sub-call of a program (L-2).
    CodeDispatchStart(CodeDispatchStart) = "tool/code-dispatch-start",
    /// A sub-call settled (L-2).
    CodeDispatch(CodeDispatch) = "tool/code-dispatch",
    /// Somebody was asked to allow a call (PO-8).
    ApprovalAsked(ApprovalAsked) = "approval/asked",
    /// The question has its answer (PO-8).
    ApprovalDecided(ApprovalDecided) = "approval/decided",
    /// A named pair of the two knobs below was chosen; each knob has its own event too (PO-9).
    PermissionPreset(PresetChosen) = "permission/preset",
    /// The sandbox mode was set (PO-9).
    SandboxMode(SandboxModeSet) = "sandbox/mode",
    /// The approval policy was set (PO-9).
    ApprovalPolicy(ApprovalPolicySet) = "approval/policy",
    /// A program started.
    RunStart(RunStart) = "run/start",
    /// A program ended, however it ended.
    RunEnd(RunEnd) = "run/end",
    /// A program changed a value of the session's state (CM-11).
    StatePut(StatePut) = "state/put",
}
