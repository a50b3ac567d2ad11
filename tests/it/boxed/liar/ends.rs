//! What a forged child says of a program's end, true or not.
//!
//! Owns those parts and how the run ends for each of them; the liar itself stands in `liar`.

use isolane::codemode::wire::{Frame, KeptRequest, ToChild, ToHost};
use isolane::outcome::{RunFailure, RunFailureKind};
use serde_json::json;

use super::{Part, calls_for_ever, drop_socket, end};

/// What a child may say and do, true or not; how the run ends, as [`said`] writes it.
pub(in crate::boxed) const ENDS: &[Part] = &[
    (
        "honest",
        |liar| {
            liar.line("hello");
            liar.call(1, "add", r#"{"a": 1, "b": 2}"#);
            let (kind, payload) = liar.hear();
            let Ok(ToChild::Settled(outcome)) = ToChild::decode(Frame { kind, payload: &payload }) else {
                end(9)
            };
            let text = outcome.text.into_owned();
            liar.ended(&text, false);
        },
        "value 3\nlog hello",
    ),
    (
        "takes-no-outcome",
        |liar| {
            liar.call(1, "add", r#"{"a": 1, "b": 2}"#);
            liar.hear();
            liar.taken = 0;
            liar.ended("1", false);
        },
        "value 1\nnote 1 tool call was not awaited when the program ended: add (it had finished). Write `await` before the \
         call, or await it with Promise.all",
    ),
    (
        "takes-outcomes-that-nobody-sent",
        |liar| {
            liar.taken = usize::MAX;
            liar.ended("1", false);
        },
        "value 1",
    ),
    ("ends-twice", |liar| [1, 2].into_iter().for_each(|n| liar.ended(&n.to_string(), false)), "value 1"),
    (
        "ends-twice-and-again",
        |liar| [1, 2].into_iter().for_each(|n| liar.ended(&n.to_string(), true)),
        "value 1",
    ),
    (
        "talks-after-its-end",
        |liar| {
            liar.ended("1", true);
            loop {
                liar.line("and another thing");
            }
        },
        "value 1",
    ),
    (
        "talks-while-it-waits",
        |liar| {
            liar.ended("1", true);
            liar.ready();
            liar.bytes(&[1]);
        },
        "value 1",
    ),
    (
        "fails-as-it-likes",
        |liar| liar.failed(RunFailure::new(RunFailureKind::Heap, "of course")),
        "heap: of course",
    ),
    (
        "half-a-frame",
        |liar| liar.bytes(&[100, 0, 0, 0, 3, 1, b'x']),
        "wall-timeout: the run took longer than 1 s; do less in one program",
    ),
    ("no-word", |_| {}, "wall-timeout: the run took longer than 1 s; do less in one program"),
    (
        "half-a-length",
        |liar| liar.bytes(&[1, 0]),
        "wall-timeout: the run took longer than 1 s; do less in one program",
    ),
    (
        "calls-for-ever",
        |liar| calls_for_ever(liar, "add", r#"{"a": 1, "b": 2}"#),
        "call-limit: the program made more than 50 tool calls; do the work in fewer calls, or in several programs",
    ),
    (
        "piles-up-arguments",
        |liar| {
            let args = json!({"ms": 60_000, "more": "x".repeat(2_000)}).to_string();
            calls_for_ever(liar, "slow", &args)
        },
        "call-limit: the program made calls with more than 0 MiB of arguments that nobody had taken yet; await some calls \
         before making more",
    ),
    (
        "does-not-listen",
        |liar| {
            for n in 1..=50 {
                liar.call(n, "big", r#"{"bytes": 1000000}"#);
            }
            loop {
                std::thread::park();
            }
        },
        "wall-timeout: the run took longer than 1 s; do less in one program",
    ),
    (
        "keeps-too-much",
        |liar| {
            liar.say(&ToHost::Kept(KeptRequest::Set("key".to_owned(), json!("x".repeat(2_000)).to_string())));
            let (_, payload) = liar.hear();
            let reply = String::from_utf8(payload).unwrap();
            liar.ended(&json!(reply).to_string(), false);
        },
        r#"value "{\"Refused\":{\"Full\":{\"bytes\":2037,\"limit\":1000}}}""#,
    ),
    (
        "keeps-noise",
        |liar| {
            liar.say(&ToHost::Kept(KeptRequest::Set("key".to_owned(), "{".to_owned())));
            let (_, payload) = liar.hear();
            liar.ended(&json!(String::from_utf8(payload).unwrap()).to_string(), false);
        },
        r#"value "{\"Refused\":{\"NotJson\":\"EOF while parsing an object at line 1 column 1\"}}""#,
    ),
    (
        "aborts",
        |_| std::process::abort(),
        "engine-exit: the engine failed: the process that ran the program was ended by signal 6; running the program again \
         may help",
    ),
    (
        "closes-and-stays",
        |liar| drop_socket(liar),
        "engine-exit: the engine failed: the process that ran the program was ended by signal 9; running the program \
         again may help",
    ),
];
