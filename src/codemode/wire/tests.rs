//! Frames, messages and the host's side of a conversation, without a process.
//!
//! Owns a conversation whose other side is a test: bytes in, what was made of them out.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Said};
use super::*;
use crate::clock::ManualClock;
use crate::codemode::bindings::Bindings;
use crate::codemode::inputs::Stray;
use crate::codemode::lane::{self, CommitOrder, LaneConfig, LaneDriver, LaneRoot, SubmitError};
use crate::codemode::program::{ProgramLimits, ToolHints, prepare};
use crate::codemode::{LogLevel, SessionState, StateError};
use crate::ledger::Ledger;
use crate::limits::{CallLimits, RunLimits};
use crate::outcome::{RunFailure, RunFailureKind};
use crate::pipeline::Pipeline;
use crate::registry::{Registry, Target};
use crate::tool::{Concurrency, Tool, ToolContext, ToolError};

fn bytes_of(message: &ToHost<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

fn frame_of(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len() + 1).unwrap().to_le_bytes().to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(payload);
    bytes
}

fn end(value: Option<&str>) -> ToHost<'_> {
    ToHost::Ended {
        finish: Finish {
            failure: None,
            notes: vec![],
            busy: Duration::ZERO,
            taken: 0,
            inputs: String::new(),
            stray: None,
            again: true,
        },
        value,
    }
}

proptest! {
    /// E-4: however the bytes of frames come, the frames are those that were sent.
    #[test]
    fn frames_come_out_as_they_went_in(
        sent in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20),
        cuts in prop::collection::vec(1_usize..200, 1..50),
    ) {
        let bytes: Vec<u8> = sent.iter().flat_map(|(kind, payload)| frame_of(*kind, payload)).collect();
        let (mut frames, mut rest, mut came) = (Frames::default(), &bytes[..], Vec::new());
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, more) = rest.split_at((*cut).min(rest.len()));
            rest = more;
            frames.push(chunk);
            while let Some(Frame { kind, payload }) = frames.next(300).unwrap() {
                came.push((kind, payload.to_vec()));
            }
        }
        prop_assert_eq!(came, sent);
        prop_assert!(!frames.is_partial());
    }

    /// E-4: any bytes are frames that can be read, the beginning of one, or a violation.
    #[test]
    fn any_payload_is_a_message_or_a_violation(kind in any::<u8>(), payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let frame = Frame { kind, payload: &payload };
        if let Ok(message) = ToHost::decode(frame) {
            let name = message.name();
            let again = bytes_of(&message);
            let message = ToHost::decode(Frame { kind: again[4], payload: &again[5..] }).unwrap();
            prop_assert_eq!((message.name(), bytes_of(&message)), (name, again));
        }
        let _ = ToChild::decode(frame);
    }

    /// E-4: what a child says comes to its host as it was said.
    #[test]
    fn messages_to_the_host_are_read_as_they_were_written(
        n in any::<u64>(), tool in any::<u32>(), text in ".*", other in ".*", level in 0_usize..4, which in 0_usize..12,
        again in any::<bool>(), busy in any::<Duration>(),
    ) {
        let level = [LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error][level];
        let failure = RunFailure { line: Some(3), stack: Some(other.clone()), ..RunFailure::new(RunFailureKind::Heap, &text) };
        let finish = |failure| Finish { failure, notes: vec![text.clone(), other.clone()], busy, taken: 0, inputs: other.clone(), stray: again.then_some(Stray::Further), again };
        let message = match which {
            0 => ToHost::Ready(&text),
            1 => ToHost::Call { n, tool, args: &text, inputs: &other },
            2 => ToHost::Line(level, &text),
            3 => ToHost::Kept(KeptRequest::Get(text.clone())),
            4 => ToHost::Kept(KeptRequest::Set(text.clone(), other.clone())),
            5 => ToHost::Kept(KeptRequest::Delete(text.clone())),
            6 => ToHost::Kept(KeptRequest::Keys),
            7 => ToHost::Kept(KeptRequest::Commit),
            8 => ToHost::Record,
            9 => ToHost::Ended { finish: finish(None), value: Some(&text) },
            10 => ToHost::Ended { finish: finish(None), value: None },
            _ => ToHost::Ended { finish: finish(Some(failure)), value: None },
        };
        let bytes = bytes_of(&message);
        let mut frames = Frames::default();
        frames.push(&bytes);
        let read = ToHost::decode(frames.next(usize::MAX).unwrap().unwrap()).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{message:?}"));
    }

    /// E-4: and the other way round.
    #[test]
    fn messages_to_the_child_are_read_as_they_were_written(
        n in any::<u64>(), text in ".*", ok in any::<bool>(), big in any::<bool>(), which in 0_usize..9,
    ) {
        let message = match which {
            0 => ToChild::Hello(&text),
            1 => ToChild::Settled(Outcome { n, ok, big, text: text.as_str().into() }),
            2 => ToChild::Kept(KeptReply::Value(Some(text.clone()))),
            3 => ToChild::Kept(KeptReply::Keys(vec![text.clone(), String::new()])),
            4 => ToChild::Kept(KeptReply::Had(ok)),
            5 => ToChild::Kept(KeptReply::Refused(StateError::NotJson(text.clone()))),
            6 => ToChild::Kept(KeptReply::Done),
            7 => ToChild::Recorded,
            _ => ToChild::Go,
        };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let mut frames = Frames::default();
        frames.push(&bytes);
        let read = ToChild::decode(frames.next(usize::MAX).unwrap().unwrap()).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{message:?}"));
    }
}

/// E-4: a length is judged as soon as it is there, and costs nothing before its bytes are.
#[test]
fn a_length_alone_takes_no_memory() {
    let mut frames = Frames::default();
    frames.push(&u32::MAX.to_le_bytes());
    assert_eq!(frames.next(100), Err(Violation::TooLong { bytes: 0xffff_fffe, most: 100 }));
    // Where so much may come, it is waited for.
    assert_eq!(frames.next(usize::MAX), Ok(None));
    assert!(frames.is_partial());
    let mut frames = Frames::default();
    frames.push(&frame_of(1, &[0; 101]));
    assert_eq!(frames.next(100), Err(Violation::TooLong { bytes: 101, most: 100 }));
    assert!(frames.next(101).unwrap().is_some());
    assert_eq!(frames.next(101), Ok(None));
}

/// The host's side, and a lane that nobody works: calls stay where they are.
struct Bench {
    conversation: Conversation,
    frames: Frames,
    out: Vec<u8>,
    state: SessionState,
    _driver: LaneDriver,
}

fn limits() -> RunLimits {
    let mut limits = RunLimits::default();
    (limits.argument_bytes, limits.output_bytes, limits.state_bytes) = (100, 50, 200);
    (limits.sub_calls, limits.queued_argument_bytes) = (3, 150);
    limits
}

fn bench(reviewed: bool) -> Bench {
    let registry = Registry::new();
    let body = |args: serde_json::Value, _context: ToolContext| async { Ok::<_, ToolError>(args) };
    let echo =
        Tool::builder("echo").output(json!({})).concurrency(Concurrency::Parallel).handler(body).unwrap();
    registry.register(&Target::Global, echo).unwrap().keep();
    let limits = limits();
    let bindings = Arc::new(Bindings::new(&registry.view(None).unwrap(), limits.argument_bytes));
    let clock = Arc::new(ManualClock::new());
    let (ledger, _) = Ledger::in_memory("s".into(), Arc::clone(&clock) as _);
    let root = LaneRoot {
        parent: "c".into(),
        root: "c".into(),
        session: "s".into(),
        scope: None,
        cancel: CancellationToken::new(),
        working_root: None,
        progress: None,
    };
    let config = LaneConfig {
        max_parallel: 1,
        commit_order: CommitOrder::Completion,
        max_calls: limits.sub_calls,
        max_queued_bytes: limits.queued_argument_bytes,
        max_value_bytes: 1_000,
        forwarded_blocks: 0,
        record_values: false,
        drain: None,
    };
    let pipeline = Pipeline::new(registry, CallLimits::default(), None);
    let (handle, driver) = lane::open(pipeline, ledger.clone(), clock, root, config);
    let state = SessionState::default();
    let draft = state.draft(limits.state_bytes, "c".into(), ledger, None);
    let conversation = Conversation::new(bindings, limits, handle, draft, 100, reviewed);
    Bench { conversation, frames: Frames::default(), out: Vec::new(), state, _driver: driver }
}

impl Bench {
    fn hear(&mut self, bytes: &[u8]) -> Result<Option<Said>, Violation> {
        self.frames.push(bytes);
        self.conversation.next(&mut self.frames, &mut self.out)
    }

    fn say(&mut self, message: &ToHost<'_>) -> Result<Option<Said>, Violation> {
        self.hear(&bytes_of(message))
    }

    fn call(&mut self, n: u64, args: &str) -> Result<Option<Said>, Violation> {
        self.say(&ToHost::Call { n, tool: 0, args, inputs: "" })
    }

    fn ask(&mut self, request: KeptRequest) -> KeptReply {
        assert!(matches!(self.say(&ToHost::Kept(request)), Ok(Some(Said::Nothing))));
        let mut frames = Frames::default();
        frames.push(&std::mem::take(&mut self.out));
        match ToChild::decode(frames.next(usize::MAX).unwrap().unwrap()).unwrap() {
            ToChild::Kept(reply) => reply,
            other => panic!("{other:?}"),
        }
    }
}

/// E-4
#[test]
fn calls_have_their_numbers_and_their_tools() {
    let mut bench = bench(false);
    for n in [0, 2, u64::MAX] {
        assert_eq!(bench.call(n, "{}").unwrap_err(), Violation::Misnumbered { given: n, expected: 1 });
    }
    assert!(matches!(bench.call(1, "{}"), Ok(Some(Said::Nothing))));
    assert_eq!(bench.call(1, "{}").unwrap_err(), Violation::Misnumbered { given: 1, expected: 2 });
    let absent = ToHost::Call { n: 2, tool: 1, args: "{}", inputs: "" };
    assert_eq!(bench.say(&absent).unwrap_err(), Violation::NoSuchTool(1));
    assert!(matches!(bench.call(2, "{"), Err(Violation::Malformed { kind: "call", .. })));
    assert!(matches!(bench.call(2, &"[".repeat(90)), Err(Violation::Malformed { kind: "call", .. })));
    let long = format!("\"{}\"", "x".repeat(99));
    assert_eq!(bench.call(2, &long).unwrap_err(), Violation::Limit("the limit of a call's arguments"));
    // None of these was made.
    assert_eq!(bench.conversation.outstanding(), 1);
    assert!(matches!(bench.call(2, "{}"), Ok(Some(Said::Nothing))));
}

/// E-4, E-6, E-8: V11. What a run may call is held by the host, whatever its child counts.
#[test]
fn calls_beyond_their_limits_are_refused() {
    let mut many = bench(false);
    for n in 1..=3 {
        assert!(matches!(many.call(n, "{}"), Ok(Some(Said::Nothing))), "{n}");
    }
    assert!(matches!(many.call(4, "{}"), Ok(Some(Said::Refused(SubmitError::TooMany { limit: 3 })))));
    assert_eq!(many.conversation.outstanding(), 3);
    let mut large = bench(false);
    let args = json!({"text": "x".repeat(80)}).to_string();
    assert!(matches!(large.call(1, &args), Ok(Some(Said::Nothing))));
    assert!(matches!(large.call(2, &args), Ok(Some(Said::Refused(SubmitError::TooLarge { limit: 150 })))));
}

/// E-4, E-6, E-8: V15, V16. Lines and the value share one limit, and empty lines count.
#[test]
fn output_is_counted_by_the_host() {
    let output = Violation::Limit("the limit of output");
    let line = |text| ToHost::Line(LogLevel::Info, text);
    let mut bench = bench(false);
    for _ in 0..5 {
        assert!(matches!(bench.say(&line("123456789")), Ok(Some(Said::Line(LogLevel::Info, _)))));
    }
    assert_eq!(bench.say(&line("1")).unwrap_err(), output);
    let mut empty = self::bench(false);
    let printed = (0..1_000).take_while(|_| empty.say(&line("")).is_ok()).count();
    assert_eq!(printed, 51);
    let mut whole = self::bench(false);
    let value = format!("\"{}\"", "x".repeat(48));
    assert!(matches!(whole.say(&end(Some(&value))), Ok(Some(Said::Ended(_, Some(_))))));
    let mut beside = self::bench(false);
    assert!(beside.say(&line("1")).is_ok());
    assert_eq!(beside.say(&end(Some(&value))).unwrap_err(), output);
}

/// E-4: a message has its place.
#[test]
fn what_comes_out_of_place_ends_the_conversation() {
    let program = prepare("return 1", &ProgramLimits::default(), &ToolHints::default()).unwrap();
    let prepared = || ToHost::Prepared(Box::new(program.clone()));
    let mut plain = bench(false);
    assert_eq!(plain.say(&ToHost::Ready("")).unwrap_err(), Violation::OutOfPlace("ready"));
    assert_eq!(plain.say(&prepared()).unwrap_err(), Violation::OutOfPlace("prepared"));
    assert!(matches!(plain.say(&ToHost::Record), Ok(Some(Said::Record))));
    assert!(matches!(plain.say(&end(Some("1"))), Ok(Some(Said::Ended(_, Some(value)))) if value == 1));
    for late in
        [end(None), ToHost::Record, ToHost::Line(LogLevel::Info, "late"), ToHost::Kept(KeptRequest::Keys)]
    {
        assert_eq!(plain.say(&late).unwrap_err(), Violation::OutOfPlace(late.name()));
    }
    assert_eq!(plain.call(1, "{}").unwrap_err(), Violation::OutOfPlace("call"));
    // Nothing of a program runs before its review, and there is one review.
    let mut reviewed = bench(true);
    assert_eq!(reviewed.call(1, "{}").unwrap_err(), Violation::OutOfPlace("call"));
    for early in [ToHost::Record, ToHost::Line(LogLevel::Info, "early"), ToHost::Kept(KeptRequest::Keys)] {
        assert_eq!(reviewed.say(&early).unwrap_err(), Violation::OutOfPlace(early.name()));
    }
    assert!(
        matches!(reviewed.say(&prepared()), Ok(Some(Said::Review(read))) if read.script() == program.script())
    );
    assert_eq!(reviewed.say(&prepared()).unwrap_err(), Violation::OutOfPlace("prepared"));
    // It has been read, and it has not passed.
    assert_eq!(reviewed.call(1, "{}").unwrap_err(), Violation::OutOfPlace("call"));
    reviewed.conversation.passed();
    assert_eq!(reviewed.say(&prepared()).unwrap_err(), Violation::OutOfPlace("prepared"));
    assert!(matches!(reviewed.call(1, "{}"), Ok(Some(Said::Nothing))));
    // What cannot be prepared has its end without a review.
    assert!(matches!(bench(true).say(&end(None)), Ok(Some(Said::Ended(_, None)))));
}

/// E-4
#[test]
fn what_cannot_be_read_ends_the_conversation() {
    let malformed = |kind, payload: &[u8]| match bench(false).hear(&frame_of(kind, payload)) {
        Err(Violation::Malformed { kind, reason }) => format!("{kind}: {reason}"),
        other => panic!("{kind} {payload:?}: {other:?}"),
    };
    let all = [
        malformed(1, &[0xff]),
        malformed(2, &[1; 7]),
        malformed(2, &[1; 11]),
        malformed(2, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff]),
        malformed(3, &[]),
        malformed(3, &[4]),
        malformed(3, &[0, 0xff]),
        malformed(4, b"\"Everything\""),
        malformed(5, &[0]),
        malformed(6, b"{}"),
        malformed(7, &[]),
        malformed(7, &[9, 0, 0, 0, b'{']),
        malformed(7, &[0, 0, 0, 0]),
        malformed(7, &[0, 0, 0, 0, 0, 0]),
        malformed(7, &[0, 0, 0, 0, 2]),
        malformed(7, &[0, 0, 0, 0, 0]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    ready: invalid utf-8 sequence of 1 bytes from index 0
    call: it is too short
    call: it is too short
    call: invalid utf-8 sequence of 1 bytes from index 0
    line: it has no level
    line: it has no such level
    line: invalid utf-8 sequence of 1 bytes from index 0
    kept: unknown variant `Everything`, expected one of `Get`, `Set`, `Delete`, `Keys`, `Commit` at line 1 column 12
    record: it carries something
    prepared: missing field `inner` at line 1 column 2
    ended: it is too short
    ended: it is too short
    ended: it is too short
    ended: it has a value and has none
    ended: it has a value and has none
    ended: EOF while parsing a value at line 1 column 0
    ");
    let failed = Finish {
        failure: Some(RunFailure::new(RunFailureKind::Heap, "full")),
        notes: vec![],
        busy: Duration::ZERO,
        taken: 0,
        inputs: String::new(),
        stray: None,
        again: false,
    };
    let both = ToHost::Ended { finish: failed, value: Some("1") };
    assert!(matches!(bench(false).say(&both), Err(Violation::Malformed { kind: "ended", .. })));
    for value in ["", "x", "1 2", &"[".repeat(40)] {
        assert!(
            matches!(bench(false).say(&end(Some(value))), Err(Violation::Malformed { kind: "ended", .. })),
            "{value}"
        );
    }
    for kind in [0, 8, 65, 67, 255] {
        assert_eq!(bench(false).hear(&frame_of(kind, b"")).unwrap_err(), Violation::UnknownKind(kind));
    }
    let most = 1_200 + 1024 * 1024;
    let mut long = u32::try_from(most + 2).unwrap().to_le_bytes().to_vec();
    assert_eq!(bench(false).hear(&long).unwrap_err(), Violation::TooLong { bytes: most + 1, most });
    // A prepared program may be longer than its text, and a child has to prepare it first.
    assert!(matches!(bench(true).hear(&long), Ok(None)));
    assert!(matches!(bench(true).hear(&[255; 5]), Err(Violation::TooLong { most: 1_054_976, .. })));
    long[..4].copy_from_slice(&u32::try_from(most + 1).unwrap().to_le_bytes());
    assert!(matches!(bench(false).hear(&long), Ok(None)));
}

/// E-4, CM-11: what is kept is bounded by the host, and permanent when it was committed.
#[test]
fn what_is_kept_is_held_to_its_quota() {
    let mut bench = bench(false);
    let key = || "k".to_owned();
    assert_eq!(bench.ask(KeptRequest::Get(key())), KeptReply::Value(None));
    assert_eq!(bench.ask(KeptRequest::Set(key(), "[1]".to_owned())), KeptReply::Done);
    assert_eq!(bench.ask(KeptRequest::Get(key())), KeptReply::Value(Some("[1]".to_owned())));
    assert_eq!(bench.ask(KeptRequest::Keys), KeptReply::Keys(vec![key()]));
    assert!(bench.state.keys().is_empty());
    assert_eq!(bench.ask(KeptRequest::Commit), KeptReply::Done);
    assert_eq!(bench.state.keys(), ["k"]);
    let large = json!("x".repeat(200)).to_string();
    let full = StateError::Full { bytes: 235, limit: 200 };
    assert_eq!(bench.ask(KeptRequest::Set(key(), large)), KeptReply::Refused(full));
    let noise = bench.ask(KeptRequest::Set(key(), "{".to_owned()));
    assert!(matches!(noise, KeptReply::Refused(StateError::NotJson(_))), "{noise:?}");
    assert_eq!(bench.ask(KeptRequest::Delete(key())), KeptReply::Had(true));
    assert_eq!(bench.ask(KeptRequest::Delete(key())), KeptReply::Had(false));
}

/// E-4, E-8: V15. A child that asks and does not listen is not heard until it does.
#[test]
fn answers_that_nobody_takes_stay_few() {
    let mut bench = bench(false);
    bench.ask(KeptRequest::Set("k".to_owned(), json!("x".repeat(100)).to_string()));
    let question = bytes_of(&ToHost::Kept(KeptRequest::Get("k".to_owned())));
    bench.frames.push(&question.repeat(20_000));
    let mut answered = 0;
    let mut hear = |bench: &mut Bench| loop {
        match bench.conversation.next(&mut bench.frames, &mut bench.out).unwrap() {
            Some(Said::Nothing) => answered += 1,
            Some(Said::Later) => return (answered, false),
            None => return (answered, true),
            other => panic!("{other:?}"),
        }
    };
    let (first, all) = hear(&mut bench);
    assert!(!all && bench.out.len() < 1024 * 1024 + 200, "{first} answers of {} bytes", bench.out.len());
    while !{
        bench.out.clear();
        hear(&mut bench).1
    } {}
    assert_eq!(hear(&mut bench).0, 20_000);
}

/// E-4, E-8: V11. A child that writes does not read meanwhile, so what it writes is read however much waits for it.
#[test]
fn calls_are_heard_whatever_waits() {
    let mut bench = bench(false);
    bench.out = vec![0; 3 * 1024 * 1024];
    assert!(matches!(bench.call(1, "{}"), Ok(Some(Said::Nothing))));
    assert!(matches!(bench.say(&ToHost::Line(LogLevel::Info, "still")), Ok(Some(Said::Line(..)))));
    assert!(matches!(bench.say(&ToHost::Kept(KeptRequest::Keys)), Ok(Some(Said::Later))));
    bench.out.clear();
    assert!(matches!(bench.hear(b""), Ok(Some(Said::Nothing))));
    // A question that is still coming is waited for: its child cannot listen before it has said it.
    bench.out = vec![0; 3 * 1024 * 1024];
    let question = bytes_of(&ToHost::Record);
    let (head, rest) = question.split_at(3);
    assert!(matches!(bench.hear(head), Ok(None)));
    assert!(matches!(bench.hear(rest), Ok(Some(Said::Later))));
}
