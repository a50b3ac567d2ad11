//! What a lane knows when it is done.
//!
//! Owns the record of every sub-call (CM-31) and what they handed back, in submission order (CM-19). It calls
//! nobody.

use std::collections::BTreeMap;

use crate::content::ContentBlock;
use crate::ids::{CallId, ToolName};
use crate::outcome::{CallResult, DeferredContext, ErrorCode, SubCallReport, SubCallState};

/// Everything that the lane hands to the end of the run.
#[derive(Debug, Default)]
pub struct LaneReport {
    /// Every sub-call in submission order.
    pub sub_calls: Vec<SubCallReport>,
    /// Deferred messages in submission order.
    pub deferred: Vec<DeferredContext>,
    /// Whether a sub-call asked to conclude the turn.
    pub concludes_turn: bool,
    /// Blocks that are not text, in submission order (CM-12).
    pub blocks: Vec<ContentBlock>,
    /// Sub-calls that started.
    pub started: u64,
    /// Sub-calls that failed or were aborted.
    pub failed: u64,
    /// Most bodies that ran at the same time.
    pub peak_parallel: u64,
}

/// What is known of one sub-call while the lane works.
#[derive(Debug)]
struct Record {
    tool: ToolName,
    state: SubCallState,
    failure: Option<(ErrorCode, String)>,
    deferred: Vec<DeferredContext>,
    concludes_turn: bool,
    blocks: Vec<ContentBlock>,
}

#[derive(Debug, Default)]
pub(super) struct Records {
    by_number: BTreeMap<u64, Record>,
    started: u64,
    pub(super) peak_parallel: u64,
}

impl Records {
    pub(super) fn start(&mut self, n: u64, tool: &ToolName) {
        self.started += 1;
        self.insert(n, tool, SubCallState::Unknown);
    }

    pub(super) fn never_started(&mut self, n: u64, tool: &ToolName) {
        self.insert(n, tool, SubCallState::NotStarted);
    }

    fn insert(&mut self, n: u64, tool: &ToolName, state: SubCallState) {
        let record = Record {
            tool: tool.clone(),
            state,
            failure: None,
            deferred: Vec::new(),
            concludes_turn: false,
            blocks: Vec::new(),
        };
        self.by_number.insert(n, record);
    }

    pub(super) fn settle(&mut self, n: u64, result: &CallResult) {
        let Some(record) = self.by_number.get_mut(&n) else { return };
        match result {
            Ok(success) => {
                record.state = SubCallState::Finished;
                record.deferred.clone_from(&success.deferred);
                record.concludes_turn = success.concludes_turn;
                let other = success.content.iter().filter(|block| block.as_text().is_none());
                record.blocks = other.cloned().collect();
            }
            Err(failure) => {
                record.state = match failure.code {
                    ErrorCode::Aborted => SubCallState::Aborted,
                    ErrorCode::AbortedBeforeDispatch => SubCallState::NotStarted,
                    _ => SubCallState::Failed,
                };
                record.failure = Some((failure.code, failure.message.clone()));
                record.deferred.clone_from(&failure.deferred);
            }
        }
    }

    pub(super) fn into_report(
        self,
        parent: &CallId,
        undelivered: &std::collections::BTreeSet<u64>,
    ) -> LaneReport {
        let mut report =
            LaneReport { started: self.started, peak_parallel: self.peak_parallel, ..LaneReport::default() };
        for (n, record) in self.by_number {
            let failed = matches!(record.state, SubCallState::Failed | SubCallState::Aborted);
            report.failed += u64::from(failed);
            report.deferred.extend(record.deferred);
            report.blocks.extend(record.blocks);
            report.concludes_turn |= record.concludes_turn;
            let (code, message) = record.failure.unzip();
            report.sub_calls.push(SubCallReport {
                id: parent.sub_call(n),
                tool: record.tool,
                state: record.state,
                code,
                message,
                delivered: !undelivered.contains(&n),
            });
        }
        report
    }
}
