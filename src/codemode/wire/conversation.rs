//! The host's side of one run in another process.
//!
//! Owns the order of what the child may say, and the limits that the child should have held and is not trusted to: its
//! calls are counted and numbered by the lane, its arguments parsed, its lines counted, its value read. It never waits.
//! It calls the lane and the session's state.

use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::Value;

use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::MAX_INPUT_BYTES;
use crate::codemode::lane::{LaneHandle, SubmitError};
use crate::codemode::program::PreparedProgram;
use crate::codemode::{LogLevel, StateDraft};
use crate::limits::RunLimits;

use super::Violation;
use super::frames::Frames;
use super::message::{Finish, KeptReply, KeptRequest, ToChild, ToHost};

/// What came of a frame, for whoever carries on the conversation.
#[derive(Debug)]
pub enum Said {
    /// It is dealt with.
    Nothing,
    /// A line was printed.
    Line(LogLevel, String),
    /// The lane did not take a call. Unless the run is over already, it is to end now.
    Refused(SubmitError),
    /// What was committed is to be recorded; then the child is to be told with [`ToChild::Recorded`].
    Record,
    /// The program is to be reviewed; if it may run, the child is to be told with [`ToChild::Go`].
    Review(Box<PreparedProgram>),
    /// The program has ended. Nothing may come after this.
    Ended(Box<Finish>, Option<Value>),
    /// Nothing was read: a question came, and the child is to take what it was answered before it gets another answer.
    Later,
}

/// What waits to be sent may take this much before no more is made.
const WAITING_BYTES: usize = 1024 * 1024;

/// What a frame may take beside what the limits speak of.
const SPARE_BYTES: usize = 1024 * 1024;

/// What a character may take in JSON.
const ESCAPED: usize = 6;

/// What a prepared program may take for each byte of its text.
const PREPARED: usize = 64;

/// The host's side; see the head of this file.
#[derive(Debug)]
pub struct Conversation {
    bindings: Arc<Bindings>,
    limits: RunLimits,
    handle: LaneHandle,
    state: StateDraft,
    /// The most that a payload may take.
    most: usize,
    /// The program has not passed its review yet.
    reviewed: bool,
    /// It is under review.
    prepared: bool,
    calls: u64,
    /// The calls whose outcomes were sent, in that order.
    given: Vec<u64>,
    printed: usize,
    ended: bool,
}

impl Conversation {
    /// For one run of a text of `text_bytes`; `reviewed` when it is not to run before [`Said::Review`].
    pub fn new(
        bindings: Arc<Bindings>,
        limits: RunLimits,
        handle: LaneHandle,
        state: StateDraft,
        text_bytes: usize,
        reviewed: bool,
    ) -> Self {
        let prepared = if reviewed { text_bytes.saturating_mul(PREPARED) } else { 0 };
        let most = [
            limits.argument_bytes,
            limits.output_bytes,
            limits.state_bytes.saturating_mul(ESCAPED),
            prepared,
        ];
        let most = most.into_iter().max().unwrap_or_default().saturating_add(SPARE_BYTES);
        Self {
            bindings,
            limits,
            handle,
            state,
            most,
            reviewed,
            prepared: false,
            calls: 0,
            given: Vec::new(),
            printed: 0,
            ended: false,
        }
    }

    /// Reads the next frame of those that came; nothing while it is still coming. An answer goes to `out`; where more
    /// than 1 MiB waits there, a question is [`Said::Later`].
    ///
    /// # Errors
    /// A [`Violation`] ends the conversation, and the child.
    pub fn next(&mut self, frames: &mut Frames, out: &mut Vec<u8>) -> Result<Option<Said>, Violation> {
        // All else is read whatever waits: a child that writes does not read before it has written.
        if out.len() >= WAITING_BYTES && frames.whole_kind().is_some_and(ToHost::is_question) {
            return Ok(Some(Said::Later));
        }
        match frames.next(self.most)? {
            Some(frame) => self.take(ToHost::decode(frame)?, out).map(Some),
            None => Ok(None),
        }
    }

    /// The program has passed its review, and may begin.
    pub fn passed(&mut self) {
        self.reviewed = false;
    }

    fn take(&mut self, message: ToHost<'_>, out: &mut Vec<u8>) -> Result<Said, Violation> {
        let name = message.name();
        if self.ended {
            return Err(Violation::OutOfPlace(name));
        }
        match message {
            ToHost::Prepared(program) if self.reviewed && !self.prepared => {
                self.prepared = true;
                Ok(Said::Review(program))
            }
            ToHost::Ended { finish, value } => self.end(finish, value),
            // Before it has passed its review, a program has not begun.
            _ if self.reviewed => Err(Violation::OutOfPlace(name)),
            ToHost::Call { n, tool, args, inputs } => self.call(n, tool, args, inputs),
            ToHost::Line(level, text) => {
                self.print(text.len())?;
                Ok(Said::Line(level, text.to_owned()))
            }
            ToHost::Kept(request) => {
                ToChild::Kept(self.kept(request)).encode(out);
                Ok(Said::Nothing)
            }
            ToHost::Record => Ok(Said::Record),
            ToHost::Ready(_) | ToHost::Prepared(_) => Err(Violation::OutOfPlace(name)),
        }
    }

    fn call(&mut self, n: u64, tool: u32, args: &str, inputs: &str) -> Result<Said, Violation> {
        let expected = self.calls.saturating_add(1);
        if n != expected {
            return Err(Violation::Misnumbered { given: n, expected });
        }
        if args.len() > self.limits.argument_bytes {
            return Err(Violation::Limit("the limit of a call's arguments"));
        }
        if inputs.len() > MAX_INPUT_BYTES {
            return Err(Violation::Limit("the limit of what a program takes between two calls"));
        }
        let name = usize::try_from(tool).ok().and_then(|tool| self.bindings.tool(tool));
        let name = name.cloned().ok_or(Violation::NoSuchTool(tool))?;
        let bytes = args.len();
        let args = serde_json::from_str(args)
            .map_err(|error| Violation::Malformed { kind: "call", reason: error.to_string() })?;
        self.calls = expected;
        let inputs = inputs.to_owned();
        Ok(self.handle.submit_read(name, args, bytes, inputs).map_or_else(Said::Refused, |_| Said::Nothing))
    }

    /// Counts what was printed as the child does: each line costs a byte more than its text.
    fn print(&mut self, bytes: usize) -> Result<(), Violation> {
        self.printed = self.printed.saturating_add(bytes).saturating_add(1);
        if self.printed > self.limits.output_bytes.saturating_add(1) {
            return Err(Violation::Limit("the limit of output"));
        }
        Ok(())
    }

    fn kept(&self, request: KeptRequest) -> KeptReply {
        let done = |written: Result<(), _>| written.map_or_else(KeptReply::Refused, |()| KeptReply::Done);
        match request {
            KeptRequest::Get(key) => KeptReply::Value(self.state.get(&key).map(|value| value.to_string())),
            KeptRequest::Set(key, json) => done(self.state.set(&key, &json)),
            KeptRequest::Delete(key) => {
                self.state.delete(&key).map_or_else(KeptReply::Refused, KeptReply::Had)
            }
            KeptRequest::Keys => KeptReply::Keys(self.state.keys()),
            KeptRequest::Commit => done(self.state.commit()),
        }
    }

    fn end(&mut self, finish: Finish, value: Option<&str>) -> Result<Said, Violation> {
        self.ended = true;
        // What came when the program had ended, it knows nothing of (CM-21).
        self.handle.take_back(self.given.get(finish.taken..).unwrap_or_default());
        if finish.failure.is_some() && value.is_some() {
            return Err(Violation::Malformed {
                kind: "ended",
                reason: "it failed and has a value".to_owned(),
            });
        }
        if finish.inputs.len() > MAX_INPUT_BYTES {
            return Err(Violation::Limit("the limit of what a program takes between two calls"));
        }
        let Some(text) = value else { return Ok(Said::Ended(Box::new(finish), None)) };
        self.print(text.len())?;
        let value = serde_json::from_str(text)
            .map_err(|error| Violation::Malformed { kind: "ended", reason: error.to_string() })?;
        Ok(Said::Ended(Box::new(finish), Some(value)))
    }

    /// Appends outcomes of calls, as many as are there and have room. Wakes `context` when there are more.
    pub fn give(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) {
        while out.len() < WAITING_BYTES
            && let Poll::Ready(settlement) = self.handle.poll_settled(context)
        {
            self.given.push(settlement.n);
            ToChild::encode_outcome(settlement, self.limits.value_bytes(), out);
        }
    }

    /// Calls whose outcome the child does not have yet.
    pub fn outstanding(&self) -> u64 {
        self.handle.outstanding()
    }
}
