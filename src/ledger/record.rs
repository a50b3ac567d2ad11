//! The data of each kind of event.
//!
//! Owns what is kept of a call, an approval, a setting and a run, and how it is spelt in JSON. An absent member
//! and `null` are told apart wherever `null` is a value. It never looks at a store. It calls `ids`, `content`
//! and `outcome` only.
//!
//! Arguments and values are the ledger's own copy (L-3): whoever records an event hands in a sibling of what the
//! tool runs with. An `Arc` that is also lent to a tool is such a copy, for nobody can change what it shares.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::content::ContentBlock;
use crate::ids::{CallId, ToolName};
use crate::outcome::{CallResult, DeferredContext, ErrorCode, RunFailure, RunOutcome, RunStats};

/// Data of `tool/call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call.
    pub call: CallId,
    /// The tool, by the name that the model used.
    pub tool: ToolName,
    /// The arguments; a string when the model's text was not JSON.
    pub arguments: Arc<Value>,
    /// The `seq` of the first call of the model step that this one belongs to; absent when it is the first itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
}

impl ToolCall {
    /// A call that is the first of its step, or the only one.
    pub fn new(call: impl Into<CallId>, tool: impl Into<ToolName>, arguments: Value) -> Self {
        Self { call: call.into(), tool: tool.into(), arguments: Arc::new(arguments), step: None }
    }

    /// The same as a further call of the step whose first call has this `seq`.
    pub fn in_step(self, first: Option<u64>) -> Self {
        Self { step: first, ..self }
    }
}

/// Data of `tool/result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that has its result.
    pub call: CallId,
    /// Its tool.
    pub tool: ToolName,
    /// Whether it failed.
    pub is_error: bool,
    /// All that the model reads of it.
    pub content: Vec<ContentBlock>,
    /// Why it failed; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The failure's structured detail, such as problems of arguments, or that the body still ran (P-14, P-16);
    /// absent when there is none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What a user interface shows of it (T-11).
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Messages that the model gets with the result (T-14).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredContext>,
    /// Whether the turn ends here (T-14).
    #[serde(default, skip_serializing_if = "is_false")]
    pub concludes_turn: bool,
}

impl ToolResult {
    /// What is kept of `result`: everything but the raw value (T-12).
    pub fn new(call: CallId, tool: ToolName, result: &CallResult) -> Self {
        match result {
            Ok(success) => Self {
                call,
                tool,
                is_error: false,
                content: success.content.clone(),
                code: None,
                details: None,
                meta: success.meta.clone(),
                deferred: success.deferred.clone(),
                concludes_turn: success.concludes_turn,
            },
            Err(failure) => Self {
                call,
                tool,
                is_error: true,
                content: failure.content.clone(),
                code: Some(failure.code),
                details: failure.details.clone(),
                meta: None,
                deferred: failure.deferred.clone(),
                concludes_turn: false,
            },
        }
    }
}

/// Data of `tool/code-dispatch-start` (L-2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeDispatchStart {
    /// The outermost call, the one that the model made.
    pub root: CallId,
    /// The call whose program made this one.
    pub parent: CallId,
    /// The sub-call: `<parent>:code:<n>`.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments after normalisation.
    pub arguments: Arc<Value>,
    /// What the program took from outside since its call before, for a replay (L-9): readings of the clock, outcomes,
    /// timers. Empty when it took nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
}

impl CodeDispatchStart {
    /// The settled event of this sub-call. Arguments are shared, content is moved.
    ///
    /// The value is left out (T-12) but where [`Settled::with_value`] gives it.
    pub fn settle(&self, settled: Settled) -> CodeDispatch {
        let Settled { content, failure, value } = settled;
        let (code, message, details) = match failure {
            None => (None, None, None),
            Some((code, message, details)) => (Some(code), Some(message), details),
        };
        CodeDispatch {
            root: self.root.clone(),
            parent: self.parent.clone(),
            call: self.call.clone(),
            tool: self.tool.clone(),
            arguments: Arc::clone(&self.arguments),
            is_error: code.is_some(),
            content,
            code,
            message,
            details,
            value,
        }
    }
}

/// How a sub-call ended, for [`CodeDispatchStart::settle`].
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    content: Vec<ContentBlock>,
    failure: Option<(ErrorCode, String, Option<Value>)>,
    value: Option<Arc<Value>>,
}

impl Settled {
    /// It succeeded, and this is its model-side content.
    pub fn success(content: Vec<ContentBlock>) -> Self {
        Self { content, failure: None, value: None }
    }

    /// It failed, with what the program's `ToolCallError` holds and its model-side content.
    pub fn failure(
        code: ErrorCode,
        message: String,
        details: Option<Value>,
        content: Vec<ContentBlock>,
    ) -> Self {
        Self { content, failure: Some((code, message, details)), value: None }
    }

    /// With the value that the program gets, for a host whose runs are to be replayed.
    pub fn with_value(self, value: Option<Arc<Value>>) -> Self {
        Self { value, ..self }
    }
}

impl From<&CallResult> for Settled {
    fn from(result: &CallResult) -> Self {
        match result {
            Ok(success) => Self::success(success.content.clone()),
            Err(failure) => Self::failure(
                failure.code,
                failure.message.clone(),
                failure.details.clone(),
                failure.content.clone(),
            ),
        }
    }
}

/// Data of `tool/code-dispatch` (L-2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeDispatch {
    /// The outermost call, the one that the model made.
    pub root: CallId,
    /// The call whose program made this one.
    pub parent: CallId,
    /// The sub-call: `<parent>:code:<n>`.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments after normalisation, as they were when the sub-call started.
    pub arguments: Arc<Value>,
    /// Whether it failed.
    pub is_error: bool,
    /// The full model-side content.
    pub content: Vec<ContentBlock>,
    /// Why it failed; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The failure's message as the program got it; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The failure's structured detail; absent when there is none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The value that the program got. Absent unless the host asked for it: values do not enter durable events
    /// by default (T-12), and only a replay needs them.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Arc<Value>>,
}

/// Data of `approval/asked`. `source_seqs` names the call's event where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalAsked {
    /// The call that waits.
    pub call: CallId,
    /// Its tool.
    pub tool: ToolName,
    /// Why the policy asks; absent when it gave no reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answer to a question for approval (PO-8). Only one of them grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Yes, for this one call.
    AllowedOnce,
    /// No.
    Rejected,
    /// The question was withdrawn before it was answered.
    Cancelled,
    /// Nobody could answer.
    Unavailable,
}

/// Data of `approval/decided`. `source_seqs` names the `approval/asked` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    /// The call that waited.
    pub call: CallId,
    /// The answer.
    pub decision: ApprovalDecision,
    /// Which answerer or policy decided; absent when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Data of `permission/preset` (PO-9): the intent. The knobs are replayed from their own events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetChosen {
    /// The preset's name.
    pub preset: String,
}

/// How much of the machine tools may touch (PO-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Nothing may be changed.
    ReadOnly,
    /// The workspace may be changed.
    WorkspaceWrite,
    /// Anything may be changed.
    DangerFullAccess,
}

/// Data of `sandbox/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxModeSet {
    /// The mode from here on.
    pub mode: SandboxMode,
}

/// When somebody is asked (PO-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Nobody is asked; what would need a question is rejected.
    Never,
    /// A policy may ask.
    OnRequest,
    /// Every call is asked about.
    Always,
}

/// Data of `approval/policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalPolicySet {
    /// The policy from here on.
    pub policy: ApprovalPolicy,
}

/// Data of `run/start`: what a replay needs to run the program again (L-9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// The call that carries the program.
    pub call: CallId,
    /// The program as written.
    pub program: Arc<str>,
    /// The title that the model gave it; absent when it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The time of the start as the program reads it; absent when the run cannot be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The seed of the program's random numbers, in hexadecimal; absent when the run cannot be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

/// Whether a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RunEnding {
    /// It did; [`RunEnd::result`] is its value.
    Finished,
    /// It did not; [`RunEnd::failure`] says why, by kind.
    Failed,
}

/// Data of `run/end`. `source_seqs` names the `run/start` event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The call that carried the program.
    pub call: CallId,
    /// Whether it came to its end.
    pub outcome: RunEnding,
    /// Every line that the program printed.
    pub logs: Vec<String>,
    /// The program's value; absent when it returned none or failed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed; absent when it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// Remarks for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the program took from outside after its last call, as in `tool/code-dispatch-start`. Empty when it took
    /// nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// What the run used.
    pub stats: RunStats,
}

impl RunEnd {
    /// What is kept of `outcome`. Sub-calls have their own events.
    pub fn new(call: CallId, outcome: &RunOutcome) -> Self {
        let (ending, result, failure) = match &outcome.result {
            Ok(value) => (RunEnding::Finished, value.clone(), None),
            Err(failure) => (RunEnding::Failed, None, Some(failure.clone())),
        };
        Self {
            call,
            outcome: ending,
            logs: outcome.logs.clone(),
            result,
            failure,
            notes: outcome.notes.clone(),
            inputs: String::new(),
            stats: outcome.stats.clone(),
        }
    }
}

/// Data of `state/put` (CM-11).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatePut {
    /// The call whose program changed it; absent when the host did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The key.
    pub key: String,
    /// The value from here on; absent when the key was deleted.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Arc<Value>>,
}

/// A member that is there is a value, `null` included.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the member by reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
