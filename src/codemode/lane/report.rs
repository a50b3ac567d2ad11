//! What a lane knows when it is done.
//!
//! Owns the record of every sub-call (CM-31) and what they handed back, in submission order (CM-19). It keeps a few
//! words for a call that simply succeeded, and never content that is text (CM-22). It calls nobody.

use std::collections::BTreeMap;

use crate::codemode::lane::recorded::CallDivergence;
use crate::content::ContentBlock;
use crate::ids::{CallId, ToolName};
use crate::outcome::{CallFailure, DeferredContext, ErrorCode, SubCallReport, SubCallState};

/// Everything that the lane hands to the end of the run.
#[derive(Debug, Default)]
pub struct LaneReport {
    /// Every sub-call in submission order.
    pub sub_calls: Vec<SubCallReport>,
    /// Deferred messages in submission order.
    pub deferred: Vec<DeferredContext>,
    /// Whether a sub-call asked to conclude the turn.
    pub concludes_turn: bool,
    /// The first blocks that are not text, in submission order (CM-12); at most
    /// [`super::LaneConfig::forwarded_blocks`].
    pub blocks: Vec<ContentBlock>,
    /// Blocks beyond those.
    pub blocks_left_out: u64,
    /// Sub-calls that started.
    pub started: u64,
    /// Sub-calls that failed, were aborted or have an unknown end.
    pub failed: u64,
    /// Most bodies that ran at the same time.
    pub peak_parallel: u64,
    /// Most calls that were submitted and not yet delivered.
    pub peak_in_flight: u64,
    /// What the program took before calls that never started, in order, for a replay (L-9).
    pub inputs: String,
    /// The first call that was not as it was recorded; absent when there is none, or nothing was recorded.
    pub divergence: Option<Box<CallDivergence>>,
    /// The first call that was recorded and not made; absent when all were, or nothing was recorded.
    pub missing: Option<Box<CallDivergence>>,
}

/// What is known of one sub-call while the lane works.
#[derive(Debug)]
struct Record {
    id: CallId,
    tool: ToolName,
    state: SubCallState,
    /// What most calls do not have.
    extra: Option<Box<Extra>>,
}

#[derive(Debug, Default)]
struct Extra {
    failure: Option<(ErrorCode, String)>,
    deferred: Vec<DeferredContext>,
    concludes_turn: bool,
}

/// What a success hands back beside its value.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) deferred: Vec<DeferredContext>,
    pub(super) concludes_turn: bool,
    pub(super) blocks: Vec<ContentBlock>,
}

#[derive(Debug, Default)]
pub(super) struct Records {
    /// The record of call `n` has the index `n - 1`: calls start in order, and those that never do come last.
    calls: Vec<Record>,
    blocks: Blocks,
    started: u64,
    peak_parallel: u64,
}

impl Records {
    pub(super) fn new(forwarded_blocks: usize) -> Self {
        Self { blocks: Blocks { limit: forwarded_blocks, ..Blocks::default() }, ..Self::default() }
    }

    pub(super) fn start(&mut self, id: CallId, tool: ToolName) {
        self.started += 1;
        self.calls.push(Record { id, tool, state: SubCallState::Unknown, extra: None });
    }

    pub(super) fn never_started(&mut self, id: CallId, tool: ToolName) {
        self.calls.push(Record { id, tool, state: SubCallState::NotStarted, extra: None });
    }

    pub(super) fn running(&mut self, bodies: usize) {
        self.peak_parallel = self.peak_parallel.max(u64::try_from(bodies).unwrap_or(u64::MAX));
    }

    pub(super) fn succeed(&mut self, n: u64, handed: Handed) {
        let Handed { deferred, concludes_turn, blocks } = handed;
        self.blocks.keep(n, blocks);
        let Some(record) = self.get_mut(n) else { return };
        record.state = SubCallState::Finished;
        if concludes_turn || !deferred.is_empty() {
            record.extra = Some(Box::new(Extra { failure: None, deferred, concludes_turn }));
        }
    }

    pub(super) fn fail(&mut self, n: u64, state: SubCallState, failure: &CallFailure) {
        self.blocks.keep(n, not_text(&failure.content));
        let Some(record) = self.get_mut(n) else { return };
        record.state = state;
        record.extra = Some(Box::new(Extra {
            failure: Some((failure.code, failure.message.clone())),
            deferred: failure.deferred.clone(),
            concludes_turn: false,
        }));
    }

    fn get_mut(&mut self, n: u64) -> Option<&mut Record> {
        self.calls.get_mut(usize::try_from(n).ok()?.checked_sub(1)?)
    }

    /// `delivered` tells for each call whether the program had its outcome.
    pub(super) fn into_report(self, delivered: &[bool]) -> LaneReport {
        let Self { calls, blocks, started, peak_parallel } = self;
        let mut report = LaneReport {
            sub_calls: Vec::with_capacity(calls.len()),
            blocks: blocks.by_number.into_values().flatten().collect(),
            blocks_left_out: blocks.left_out,
            started,
            peak_parallel,
            ..LaneReport::default()
        };
        for (index, Record { id, tool, state, extra }) in calls.into_iter().enumerate() {
            report.failed += u64::from(!matches!(state, SubCallState::Finished | SubCallState::NotStarted));
            let Extra { failure, deferred, concludes_turn } = extra.map(|extra| *extra).unwrap_or_default();
            report.deferred.extend(deferred);
            report.concludes_turn |= concludes_turn;
            let (code, message) = failure.unzip();
            let delivered = delivered.get(index).copied().unwrap_or_default();
            report.sub_calls.push(SubCallReport { id, tool, state, code, message, delivered });
        }
        report
    }
}

/// What a program cannot print: the blocks that go to the model beside its output (CM-12).
pub(super) fn not_text(content: &[ContentBlock]) -> Vec<ContentBlock> {
    content.iter().filter(|block| block.as_text().is_none()).cloned().collect()
}

/// The first blocks in submission order, whatever the order in which calls are committed.
#[derive(Debug, Default)]
struct Blocks {
    limit: usize,
    by_number: BTreeMap<u64, Vec<ContentBlock>>,
    kept: usize,
    left_out: u64,
}

impl Blocks {
    fn keep(&mut self, n: u64, blocks: Vec<ContentBlock>) {
        if blocks.is_empty() {
            return;
        }
        self.kept += blocks.len();
        self.by_number.insert(n, blocks);
        while self.kept > self.limit
            && let Some(mut last) = self.by_number.last_entry()
        {
            if last.get_mut().pop().is_some() {
                self.kept -= 1;
                self.left_out += 1;
            }
            if last.get().is_empty() {
                last.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-22
    #[test]
    fn a_call_that_simply_succeeded_takes_a_few_words() {
        assert!(size_of::<Record>() <= 48, "{}", size_of::<Record>());
    }

    fn images(count: usize) -> Vec<ContentBlock> {
        vec![ContentBlock::Image { data: String::new(), mime_type: "image/png".to_owned() }; count]
    }

    /// CM-12
    #[test]
    fn the_first_blocks_in_submission_order_are_kept_and_the_others_counted() {
        let mut blocks = Blocks { limit: 8, ..Blocks::default() };
        blocks.keep(3, images(5));
        blocks.keep(1, images(4));
        blocks.keep(2, images(3));
        blocks.keep(4, images(1));
        let kept: Vec<_> = blocks.by_number.iter().map(|(n, blocks)| (*n, blocks.len())).collect();
        assert_eq!((kept, blocks.kept, blocks.left_out), (vec![(1, 4), (2, 3), (3, 1)], 8, 5));
        let mut none = Blocks::default();
        none.keep(1, images(2));
        assert_eq!((none.by_number.len(), none.kept, none.left_out), (0, 0, 2));
    }
}
