//! Tests of the ledger, and the samples that they share.
//!
//! Owns one event of every kind. It never reads the system's clock. Each area has its own file.

mod file;
mod format;
mod redaction;
mod side_path;
mod transcript;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::clock::{Clock, ManualClock, Timestamp};
use crate::content::ContentBlock;
use crate::ids::{CallId, SessionId, ToolName};
use crate::outcome::{DeferredContext, ErrorCode, RunFailure, RunFailureKind, RunStats};

pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new())
}

pub(super) fn session() -> SessionId {
    SessionId::from("s-1")
}

/// A small body that is told apart by its number.
pub(super) fn body(number: u64) -> EventBody {
    StatePut { call: None, key: format!("key {number}"), value: Some(Arc::new(json!(number))) }.into()
}

pub(super) fn event(session: &str, seq: u64) -> LedgerEvent {
    LedgerEvent {
        v: FORMAT_VERSION,
        seq,
        time: Timestamp(1_767_225_600_000),
        session: SessionId::from(session),
        turn: None,
        body: body(seq),
        source_seqs: Vec::new(),
    }
}

/// The start of the first sub-call of `c-1`.
pub(super) fn start(tool: &str, arguments: Value) -> CodeDispatchStart {
    let call = CallId::from("c-1");
    CodeDispatchStart {
        root: call.clone(),
        parent: call.clone(),
        call: call.sub_call(1),
        tool: ToolName::from(tool),
        arguments: Arc::new(arguments),
        inputs: "c3 s1".to_owned(),
    }
}

/// At least one event of every kind, with optional members there and absent.
pub(super) fn samples() -> Vec<LedgerEvent> {
    let call = CallId::from("c-1");
    let tool = ToolName::from("read");
    let start =
        start("read", json!({"path": "a\n\u{2028}\"b\"", "n": [u64::MAX, i64::MIN, 0.1, 1e300, 5e-324]}));
    let blocks = vec![
        ContentBlock::text("hello"),
        ContentBlock::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() },
        ContentBlock::Audio { data: "AA==".to_owned(), mime_type: "audio/wav".to_owned() },
        ContentBlock::ResourceLink { uri: "file:///a".to_owned(), name: "a".to_owned(), mime_type: None },
        ContentBlock::Json { value: json!(null) },
    ];
    let failed = start.settle(Settled::failure(
        ErrorCode::ToolFailed,
        "no such file".to_owned(),
        Some(json!({"errno": 2})),
        vec![ContentBlock::text("no such file")],
    ));
    let mut valued = start.settle(Settled::success(blocks.clone()));
    valued.value = Some(Arc::new(json!(null)));
    let mut failure = RunFailure::new(RunFailureKind::BusyTimeout, "too long");
    failure.line = Some(3);
    let ended = RunEnd {
        call: call.clone(),
        outcome: RunEnding::Finished,
        logs: vec!["one".to_owned()],
        result: Some(json!(null)),
        failure: None,
        notes: Vec::new(),
        inputs: "t1".to_owned(),
        stats: RunStats { wall_ms: 5, ..RunStats::default() },
    };
    let answered = ToolResult {
        call: call.clone(),
        tool: tool.clone(),
        is_error: false,
        content: blocks,
        code: None,
        details: None,
        meta: Some(json!({"rows": 1})),
        deferred: vec![DeferredContext::new("remember")],
        concludes_turn: true,
    };
    let denied = ToolResult {
        is_error: true,
        content: Vec::new(),
        code: Some(ErrorCode::Denied),
        details: Some(json!(null)),
        meta: None,
        deferred: Vec::new(),
        concludes_turn: false,
        ..answered.clone()
    };
    let bodies: Vec<EventBody> = vec![
        ToolCall::new(call.clone(), tool.clone(), json!("not JSON {")).into(),
        ApprovalAsked { call: call.clone(), tool, reason: Some("it writes".to_owned()) }.into(),
        ApprovalDecided { call: call.clone(), decision: ApprovalDecision::AllowedOnce, by: None }.into(),
        PresetChosen { preset: "careful".to_owned() }.into(),
        SandboxModeSet { mode: SandboxMode::WorkspaceWrite }.into(),
        ApprovalPolicySet { policy: ApprovalPolicy::OnRequest }.into(),
        RunStart {
            call: call.clone(),
            program: Arc::from("return 1;"),
            description: Some("one".to_owned()),
            at: Some(Timestamp(7)),
            seed: Some("00ff".to_owned()),
        }
        .into(),
        start.clone().into(),
        start.settle(Settled::success(Vec::new())).into(),
        failed.into(),
        valued.into(),
        StatePut { call: Some(call.clone()), key: "k".to_owned(), value: None }.into(),
        StatePut { call: None, key: String::new(), value: Some(Arc::new(json!(null))) }.into(),
        ended.clone().into(),
        RunEnd { outcome: RunEnding::Failed, result: None, failure: Some(failure), ..ended }.into(),
        answered.into(),
        denied.into(),
    ];
    (1..)
        .zip(bodies)
        .map(|(seq, body)| LedgerEvent {
            turn: (seq % 2 == 0).then_some(seq),
            source_seqs: if seq % 3 == 0 { vec![seq - 1] } else { Vec::new() },
            body,
            ..event("s-1", seq)
        })
        .collect()
}
