//! What a frame says.
//!
//! Owns the kinds and the payload of each. What comes often (calls, outcomes, lines) is laid out by hand; all else is
//! JSON. It never judges whether a message has its place.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::{Origin, Stray};
use crate::codemode::lane::Settlement;
use crate::codemode::program::PreparedProgram;
use crate::codemode::{LogLevel, StateError};
use crate::json::{has_big_integer, text_of, write_value};
use crate::limits::RunLimits;
use crate::outcome::{ErrorCode, RunFailure};

use super::Violation;
use super::frames::{Frame, put};

/// What a child says to its host.
#[derive(Debug)]
pub enum ToHost<'a> {
    /// It can take a program. JSON that the two sides of the handshake know.
    Ready(&'a str),
    /// The program calls a tool.
    Call {
        /// Its number, from 1.
        n: u64,
        /// The index of the tool among the bindings.
        tool: u32,
        /// The arguments as JSON.
        args: &'a str,
        /// What the program took since its call before.
        inputs: &'a str,
    },
    /// The program printed a line.
    Line(LogLevel, &'a str),
    /// The program asks for what is kept, and waits.
    Kept(KeptRequest),
    /// The program waits until what it committed is in the ledger.
    Record,
    /// The program, prepared, for its review.
    Prepared(Box<PreparedProgram>),
    /// The program has ended.
    Ended {
        /// How.
        finish: Finish,
        /// Its value as JSON; absent when it has none.
        value: Option<&'a str>,
    },
}

/// What a host says to its child.
#[derive(Debug)]
pub enum ToChild<'a> {
    /// How the child is to be. JSON that the two sides of the handshake know.
    Hello(&'a str),
    /// The next program.
    Begin(Box<Begin<'a>>),
    /// The outcome of a call.
    Settled(Outcome<'a>),
    /// What is kept.
    Kept(KeptReply),
    /// What was committed is in the ledger.
    Recorded,
    /// The program has passed its review.
    Go,
}

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The number of the call.
    pub n: u64,
    /// Whether there is a value.
    pub ok: bool,
    /// The value has integers that a plain number does not hold.
    pub big: bool,
    /// The value, or the report of the failure, as JSON.
    pub text: Cow<'a, str>,
}

impl Outcome<'static> {
    /// From the lane to text of at most `most` bytes.
    pub fn of(Settlement { n, tool, result }: Settlement, most: usize) -> Self {
        let (ok, text, big) = match result {
            Ok(value) => (true, text_of(&value), has_big_integer(&value)),
            Err(failure) => {
                let report = json!({
                    "tool": tool, "code": failure.code, "message": failure.message, "details": failure.details,
                });
                let big = failure.details.as_ref().is_some_and(has_big_integer);
                (false, report.to_string(), big)
            }
        };
        if text.len() <= most {
            return Self { n, ok, big, text: text.into() };
        }
        // The lane has refused such values; the details of a failure may be as large, and V8 does not forgive the host
        // a string that does not fit.
        let message = format!(
            "what the tool gave takes {} bytes, and a program can take {most} at a time; ask it for less",
            text.len()
        );
        let report = json!({"tool": tool, "code": ErrorCode::InvalidToolOutput, "message": message});
        Self { n, ok: false, big: false, text: report.to_string().into() }
    }
}

/// One program, on its way to a child.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin<'a> {
    /// The text as written.
    pub text: Cow<'a, str>,
    /// Whether the host reviews the prepared program before it runs.
    pub reviewed: bool,
    /// Where its clock and its chance begin.
    pub origin: Cow<'a, Origin>,
    /// What it may use.
    pub limits: Cow<'a, RunLimits>,
    /// What of the wall limit is used already.
    pub spent: Duration,
    /// The tools; absent when they are those of the program before.
    pub bindings: Option<MaybeOwned<'a>>,
}

/// Bindings on their way: the host lends them, the child gets its own.
#[derive(Debug)]
pub enum MaybeOwned<'a> {
    /// The host's.
    Lent(&'a Bindings),
    /// The child's.
    Owned(Box<Bindings>),
}

impl Serialize for MaybeOwned<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Lent(bindings) => bindings.serialize(serializer),
            Self::Owned(bindings) => bindings.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MaybeOwned<'_> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::Owned(Box::new(Bindings::deserialize(deserializer)?)))
    }
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// Why it failed; absent when it did not.
    pub failure: Option<RunFailure>,
    /// What the model is to be told.
    pub notes: Vec<String>,
    /// Time spent executing JavaScript.
    pub busy: Duration,
    /// How many outcomes of calls the program was given, in the order in which the host sent them. The others came when
    /// it had ended.
    pub taken: usize,
    /// What the program took after its last call.
    pub inputs: String,
    /// How it left its recording; absent when it did not, or had none.
    pub stray: Option<Stray>,
    /// Whether the child is to be used again.
    pub again: bool,
}

/// A question about what is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptRequest {
    /// The value of a key.
    Get(String),
    /// Gives a key a value, as JSON text.
    Set(String, String),
    /// Takes a key's value away.
    Delete(String),
    /// All keys.
    Keys,
    /// Makes the writes so far permanent.
    Commit,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptReply {
    /// A value as JSON text.
    Value(Option<String>),
    /// It is done.
    Done,
    /// Whether there was a value.
    Had(bool),
    /// The keys, sorted.
    Keys(Vec<String>),
    /// It was refused.
    Refused(StateError),
}

mod kind {
    pub(super) const READY: u8 = 1;
    pub(super) const CALL: u8 = 2;
    pub(super) const LINE: u8 = 3;
    pub(super) const KEPT: u8 = 4;
    pub(super) const RECORD: u8 = 5;
    pub(super) const PREPARED: u8 = 6;
    pub(super) const ENDED: u8 = 7;

    pub(super) const HELLO: u8 = 65;
    pub(super) const BEGIN: u8 = 66;
    pub(super) const SETTLED: u8 = 67;
    pub(super) const KEPT_REPLY: u8 = 68;
    pub(super) const RECORDED: u8 = 69;
    pub(super) const GO: u8 = 70;
}

impl<'a> ToHost<'a> {
    /// Whether a frame of this kind has an answer that the child waits for.
    pub(super) fn is_question(kind: u8) -> bool {
        matches!(kind, kind::KEPT | kind::RECORD)
    }

    /// What the message is called in errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Call { .. } => "call",
            Self::Line(..) => "line",
            Self::Kept(_) => "kept",
            Self::Record => "record",
            Self::Prepared(_) => "prepared",
            Self::Ended { .. } => "ended",
        }
    }

    /// Appends the message as a frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ready(text) => put(out, kind::READY, |out| out.extend_from_slice(text.as_bytes())),
            Self::Call { n, tool, args, inputs } => put(out, kind::CALL, |out| {
                out.extend_from_slice(&n.to_le_bytes());
                out.extend_from_slice(&tool.to_le_bytes());
                out.extend_from_slice(&u32::try_from(inputs.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(inputs.as_bytes());
                out.extend_from_slice(args.as_bytes());
            }),
            Self::Line(level, text) => put(out, kind::LINE, |out| {
                out.push(level_code(*level));
                out.extend_from_slice(text.as_bytes());
            }),
            Self::Kept(request) => put(out, kind::KEPT, |out| write_json(out, request)),
            Self::Record => put(out, kind::RECORD, |_| {}),
            Self::Prepared(program) => put(out, kind::PREPARED, |out| write_json(out, program)),
            Self::Ended { finish, value } => put(out, kind::ENDED, |out| {
                let mut head = Vec::new();
                write_json(&mut head, finish);
                out.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(&head);
                out.push(u8::from(value.is_some()));
                out.extend_from_slice(value.unwrap_or_default().as_bytes());
            }),
        }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`Violation::UnknownKind`] and [`Violation::Malformed`].
    pub fn decode(Frame { kind, payload }: Frame<'a>) -> Result<Self, Violation> {
        match kind {
            kind::READY => Ok(Self::Ready(utf8("ready", payload)?)),
            kind::CALL => {
                let short = || malformed("call", "it is too short");
                let (n, rest) = payload.split_first_chunk::<8>().ok_or_else(short)?;
                let (tool, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                let (inputs, args) = rest.split_at_checked(length).ok_or_else(short)?;
                let (n, tool) = (u64::from_le_bytes(*n), u32::from_le_bytes(*tool));
                Ok(Self::Call { n, tool, args: utf8("call", args)?, inputs: utf8("call", inputs)? })
            }
            kind::LINE => {
                let (level, text) =
                    payload.split_first().ok_or_else(|| malformed("line", "it has no level"))?;
                let level = level_of(*level).ok_or_else(|| malformed("line", "it has no such level"))?;
                Ok(Self::Line(level, utf8("line", text)?))
            }
            kind::KEPT => Ok(Self::Kept(from_json("kept", payload)?)),
            kind::RECORD if payload.is_empty() => Ok(Self::Record),
            kind::RECORD => Err(malformed("record", "it carries something")),
            kind::PREPARED => Ok(Self::Prepared(from_json("prepared", payload)?)),
            kind::ENDED => {
                let short = || malformed("ended", "it is too short");
                let (length, rest) = payload.split_first_chunk::<4>().ok_or_else(short)?;
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                let (head, rest) = rest.split_at_checked(length).ok_or_else(short)?;
                let (has, value) = rest.split_first().ok_or_else(short)?;
                let value = match (has, value) {
                    (0, []) => None,
                    (1, value) => Some(utf8("ended", value)?),
                    _ => return Err(malformed("ended", "it has a value and has none")),
                };
                Ok(Self::Ended { finish: from_json("ended", head)?, value })
            }
            other => Err(Violation::UnknownKind(other)),
        }
    }
}

impl<'a> ToChild<'a> {
    /// Appends the outcome of a call, of at most `most` bytes: as [`Outcome::of`] would make it, and written once.
    pub(super) fn encode_outcome(settlement: Settlement, most: usize, out: &mut Vec<u8>) {
        if let Ok(value) = &settlement.result {
            let start = out.len();
            let flags = Flags { ok: true, big: has_big_integer(value) };
            put(out, kind::SETTLED, |out| {
                put_head(out, settlement.n, flags);
                write_value(out, value);
            });
            if out.len() - start <= most {
                return;
            }
            out.truncate(start);
        }
        Self::Settled(Outcome::of(settlement, most)).encode(out);
    }

    /// Appends the message as a frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(text) => put(out, kind::HELLO, |out| out.extend_from_slice(text.as_bytes())),
            Self::Begin(begin) => put(out, kind::BEGIN, |out| write_json(out, begin)),
            Self::Settled(Outcome { n, ok, big, text }) => put(out, kind::SETTLED, |out| {
                put_head(out, *n, Flags { ok: *ok, big: *big });
                out.extend_from_slice(text.as_bytes());
            }),
            Self::Kept(reply) => put(out, kind::KEPT_REPLY, |out| write_json(out, reply)),
            Self::Recorded => put(out, kind::RECORDED, |_| {}),
            Self::Go => put(out, kind::GO, |_| {}),
        }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`Violation::UnknownKind`] and [`Violation::Malformed`].
    pub fn decode(Frame { kind, payload }: Frame<'a>) -> Result<Self, Violation> {
        match kind {
            kind::HELLO => Ok(Self::Hello(utf8("hello", payload)?)),
            kind::BEGIN => Ok(Self::Begin(from_json("begin", payload)?)),
            kind::SETTLED => {
                let short = || malformed("settled", "it is too short");
                let (n, rest) = payload.split_first_chunk::<8>().ok_or_else(short)?;
                let (flags, text) = rest.split_first().ok_or_else(short)?;
                let text = Cow::Borrowed(utf8("settled", text)?);
                let n = u64::from_le_bytes(*n);
                Ok(Self::Settled(Outcome { n, ok: flags & 1 != 0, big: flags & 2 != 0, text }))
            }
            kind::KEPT_REPLY => Ok(Self::Kept(from_json("kept", payload)?)),
            kind::RECORDED => Ok(Self::Recorded),
            kind::GO => Ok(Self::Go),
            other => Err(Violation::UnknownKind(other)),
        }
    }
}

/// What stands before the text of an outcome, beside the number of its call.
struct Flags {
    ok: bool,
    big: bool,
}

fn put_head(out: &mut Vec<u8>, n: u64, Flags { ok, big }: Flags) {
    out.extend_from_slice(&n.to_le_bytes());
    out.push(u8::from(ok) | u8::from(big) << 1);
}

fn level_code(level: LogLevel) -> u8 {
    match level {
        LogLevel::Debug => 0,
        LogLevel::Info => 1,
        LogLevel::Warn => 2,
        LogLevel::Error => 3,
    }
}

fn level_of(code: u8) -> Option<LogLevel> {
    [LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error]
        .into_iter()
        .find(|level| level_code(*level) == code)
}

/// Writing to memory cannot fail, and what is written is made of texts and numbers.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    if let Err(error) = serde_json::to_writer(out, value) {
        tracing::error!(%error, "a message could not be written");
    }
}

fn from_json<T: DeserializeOwned>(kind: &'static str, bytes: &[u8]) -> Result<T, Violation> {
    serde_json::from_slice(bytes).map_err(|error| malformed(kind, &error.to_string()))
}

fn utf8<'a>(kind: &'static str, bytes: &'a [u8]) -> Result<&'a str, Violation> {
    std::str::from_utf8(bytes).map_err(|error| malformed(kind, &error.to_string()))
}

fn malformed(kind: &'static str, reason: &str) -> Violation {
    Violation::Malformed { kind, reason: reason.to_owned() }
}
