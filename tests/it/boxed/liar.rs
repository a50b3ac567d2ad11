//! A child that lies.
//!
//! Owns a child that speaks the protocol by hand, and its parts. It is this very test program, started by `forged.sh`
//! under the name of a part. It judges nothing: what has to become of each part is its third member.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use isolane::codemode::LogLevel;
use isolane::codemode::wire::{Finish, Frame, Frames, KeptRequest, MaybeOwned, PROTOCOL, ToChild, ToHost};
use isolane::outcome::{RunFailure, RunFailureKind};
use serde_json::json;

use crate::boxed::Program;

/// The child's side of the socket, in the hands of a liar.
pub(super) struct Liar {
    socket: UnixStream,
    frames: Frames,
    tools: Vec<String>,
}

impl Liar {
    /// The next frame; when there is none any more, so is the liar.
    fn hear(&mut self) -> (u8, Vec<u8>) {
        let mut chunk = vec![0; 65536];
        loop {
            if let Some(Frame { kind, payload }) = self.frames.next(usize::MAX).unwrap() {
                return (kind, payload.to_vec());
            }
            match self.socket.read(&mut chunk) {
                Ok(bytes) if bytes > 0 => self.frames.push(&chunk[..bytes]),
                _ => end(0),
            }
        }
    }

    /// Hears nothing, and is there until it is killed; or gone when nobody is left to kill it.
    fn linger(&mut self) -> ! {
        loop {
            self.hear();
        }
    }

    /// Bytes as they are.
    fn bytes(&mut self, bytes: &[u8]) {
        if self.socket.write_all(bytes).is_err() {
            end(0);
        }
    }

    fn frame(&mut self, kind: u8, payload: &[u8]) {
        let mut bytes = u32::try_from(payload.len() + 1).unwrap().to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(payload);
        self.bytes(&bytes);
    }

    fn say(&mut self, message: &ToHost<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.bytes(&bytes);
    }

    fn hello(&mut self) {
        let (kind, payload) = self.hear();
        assert!(matches!(ToChild::decode(Frame { kind, payload: &payload }), Ok(ToChild::Hello(_))));
    }

    fn ready(&mut self) {
        self.say(&ToHost::Ready(&greeting(PROTOCOL, env!("CARGO_PKG_VERSION"), None)));
    }

    /// Behaves until it has been given a program.
    fn begin(&mut self) {
        self.hello();
        self.ready();
        self.begin_again();
    }

    fn begin_again(&mut self) {
        let (kind, payload) = self.hear();
        let Ok(ToChild::Begin(begin)) = ToChild::decode(Frame { kind, payload: &payload }) else { end(9) };
        if let Some(MaybeOwned::Owned(bindings)) = &begin.bindings {
            self.tools = bindings.names().iter().map(ToString::to_string).collect();
        }
    }

    fn tool(&self, name: &str) -> u32 {
        u32::try_from(self.tools.iter().position(|tool| tool == name).unwrap()).unwrap()
    }

    fn call(&mut self, n: u64, tool: &str, args: &str) {
        let tool = self.tool(tool);
        self.say(&ToHost::Call { n, tool, args, inputs: "" });
    }

    fn line(&mut self, text: &str) {
        self.say(&ToHost::Line(LogLevel::Info, text));
    }

    fn ended(&mut self, value: &str, again: bool) {
        self.say(&ToHost::Ended { finish: finish(again), value: Some(value) });
    }

    fn failed(&mut self, failure: RunFailure) {
        let finish = Finish { failure: Some(failure), ..finish(false) };
        self.say(&ToHost::Ended { finish, value: None });
    }
}

fn finish(again: bool) -> Finish {
    let (notes, inputs) = (Vec::new(), String::new());
    Finish { failure: None, notes, busy: Duration::ZERO, inputs, stray: None, again }
}

fn greeting(protocol: u32, version: &str, failure: Option<&str>) -> String {
    json!({"protocol": protocol, "version": version, "layers": [], "failure": failure}).to_string()
}

#[expect(clippy::exit, reason = "how a child ends is its part")]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// What a forged child does, and what becomes of the run that it was for.
pub(super) type Part = (&'static str, fn(&mut Liar), &'static str);

/// Nothing becomes of the child; what is said of it.
pub(super) const NO_CHILD: &[Part] = &[
    ("ends-at-once", |_| end(7), "ended with exit code 7"),
    ("closes-at-once", |liar| drop_socket(liar), "was ended by signal 9"),
    (
        "garbage-first",
        |liar| liar.bytes(b"\xff\xff\xff\xffwhat is this"),
        "answered with something else: a frame of 4294967294 bytes came, and the longest that may is 65536",
    ),
    ("no-greeting-but-an-end", |liar| liar.ended("1", true), "answered with something else"),
    (
        "a-greeting-of-noise",
        |liar| liar.say(&ToHost::Ready("hello")),
        "answered with something else: expected value at line 1 column 1",
    ),
    (
        "a-greeting-too-long",
        |liar| liar.say(&ToHost::Ready(&greeting(PROTOCOL, &"1".repeat(70_000), None))),
        "answered with something else: a frame of 70054 bytes came, and the longest that may is 65536",
    ),
    (
        "another-version",
        |liar| liar.say(&ToHost::Ready(&greeting(PROTOCOL, "0.0.0", None))),
        "is of version 0.0.0",
    ),
    (
        "another-protocol",
        |liar| liar.say(&ToHost::Ready(&greeting(PROTOCOL + 1, "0.0.0", None))),
        "is of version 0.0.0",
    ),
    (
        "cannot-begin",
        |liar| liar.say(&ToHost::Ready(&greeting(PROTOCOL, env!("CARGO_PKG_VERSION"), Some("no luck")))),
        "could not begin: no luck",
    ),
];

/// A frame that is not in order, once a program has begun; what the violation is.
pub(super) const BROKEN: &[Part] = &[
    ("no-kind", |liar| liar.bytes(&[0; 64]), "a frame `any` came that cannot be read: it has no kind"),
    (
        "four-gigabytes",
        |liar| liar.bytes(&[255, 255, 255, 255, 3, 1]),
        "a frame of 4294967294 bytes came, and the longest that may is 1054576",
    ),
    (
        "a-byte-too-long",
        |liar| liar.bytes(&[0x72, 0x17, 0x10, 0, 3]),
        "a frame of 1054577 bytes came, and the longest that may is 1054576",
    ),
    ("unknown-kind", |liar| liar.frame(200, b"text"), "a frame of the unknown kind 200 came"),
    (
        "kind-of-the-host",
        |liar| liar.frame(67, &[1, 0, 0, 0, 0, 0, 0, 0, 1, b'1']),
        "a frame of the unknown kind 67 came",
    ),
    ("ready-again", Liar::ready, "a frame `ready` came at the wrong time"),
    (
        "flood-of-lines",
        |liar| loop {
            liar.line("more and more");
        },
        OUTPUT,
    ),
    (
        "flood-of-empty-lines",
        |liar| loop {
            liar.line("");
        },
        OUTPUT,
    ),
    ("one-long-line", |liar| liar.line(&"x".repeat(6_001)), OUTPUT),
    (
        "line-of-nothing",
        |liar| liar.frame(3, &[]),
        "a frame `line` came that cannot be read: it has no level",
    ),
    (
        "line-of-no-level",
        |liar| liar.frame(3, &[4, b'x']),
        "a frame `line` came that cannot be read: it has no such level",
    ),
    (
        "line-of-bytes",
        |liar| liar.frame(3, &[1, b'x', 0xff]),
        "a frame `line` came that cannot be read: invalid utf-8 sequence of 1 bytes from index 1",
    ),
    (
        "call-cut-off",
        |liar| liar.frame(2, &[1, 0, 0]),
        "a frame `call` came that cannot be read: it is too short",
    ),
    (
        "call-twice",
        |liar| {
            liar.call(1, "slow", r#"{"ms": 60000}"#);
            liar.call(1, "slow", r#"{"ms": 60000}"#);
        },
        "a call came with number 1 in the place of 2",
    ),
    ("call-zero", |liar| liar.call(0, "add", "{}"), "a call came with number 0 in the place of 1"),
    (
        "call-of-the-future",
        |liar| liar.call(u64::MAX, "add", "{}"),
        "a call came with number 18446744073709551615 in the place of 1",
    ),
    (
        "call-of-no-tool",
        |liar| liar.say(&ToHost::Call { n: 1, tool: u32::MAX, args: "{}", inputs: "" }),
        "a call came of tool 4294967295, which is not there",
    ),
    (
        "call-of-the-next-tool",
        |liar| {
            let tool = u32::try_from(liar.tools.len()).unwrap();
            liar.say(&ToHost::Call { n: 1, tool, args: "{}", inputs: "" });
        },
        "a call came of tool 12, which is not there",
    ),
    (
        "arguments-of-noise",
        |liar| liar.call(1, "add", "{"),
        "a frame `call` came that cannot be read: EOF while parsing an object at line 1 column 1",
    ),
    (
        "arguments-too-deep",
        |liar| liar.call(1, "echo", &"[".repeat(3_000)),
        "a frame `call` came that cannot be read: recursion limit exceeded at line 1 column 128",
    ),
    (
        "arguments-too-long",
        |liar| liar.call(1, "echo", &format!(r#"{{"a": "{}"}}"#, "x".repeat(4_000))),
        "the limit of a call's arguments was exceeded, which the other side should have stopped",
    ),
    (
        "question-of-noise",
        |liar| liar.frame(4, b"{"),
        "a frame `kept` came that cannot be read: EOF while parsing an object at line 1 column 1",
    ),
    (
        "record-with-luggage",
        |liar| liar.frame(5, &[1]),
        "a frame `record` came that cannot be read: it carries something",
    ),
    (
        "end-cut-off",
        |liar| liar.frame(7, &[1, 0]),
        "a frame `ended` came that cannot be read: it is too short",
    ),
    (
        "end-beyond-its-end",
        |liar| liar.frame(7, &[255, 255, 255, 255, 1]),
        "a frame `ended` came that cannot be read: it is too short",
    ),
    (
        "end-of-noise",
        |liar| liar.frame(7, &[1, 0, 0, 0, b'{', 0]),
        "a frame `ended` came that cannot be read: EOF while parsing an object at line 1 column 1",
    ),
    (
        "end-with-both",
        |liar| {
            let failure = Some(RunFailure::new(RunFailureKind::Exception, "thrown"));
            liar.say(&ToHost::Ended { finish: Finish { failure, ..finish(false) }, value: Some("1") });
        },
        "a frame `ended` came that cannot be read: it failed and has a value",
    ),
    (
        "value-of-noise",
        |liar| liar.ended("nothing", false),
        "a frame `ended` came that cannot be read: expected ident at line 1 column 2",
    ),
    (
        "value-too-deep",
        |liar| liar.ended(&"[".repeat(3_000), false),
        "a frame `ended` came that cannot be read: recursion limit exceeded at line 1 column 128",
    ),
    ("value-too-long", |liar| liar.ended(&format!("\"{}\"", "x".repeat(6_000)), false), OUTPUT),
];

const OUTPUT: &str = "the limit of output was exceeded, which the other side should have stopped";

/// What a child may say and do, true or not; how the run ends, as [`said`] writes it.
pub(super) const ENDS: &[Part] = &[
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

fn calls_for_ever(liar: &mut Liar, tool: &str, args: &str) -> ! {
    let mut n = 0;
    loop {
        n += 1;
        liar.call(n, tool, args);
    }
}

/// Closes the socket, and is still there.
fn drop_socket(liar: &Liar) -> ! {
    liar.socket.shutdown(std::net::Shutdown::Both).unwrap();
    loop {
        std::thread::park();
    }
}

/// Adds a line to the file `starts` beside the program.
fn count_start() {
    let program = PathBuf::from(std::env::args_os().next().unwrap());
    let mut starts =
        OpenOptions::new().create(true).append(true).open(program.with_file_name("starts")).unwrap();
    starts.write_all(b"started\n").unwrap();
}

/// Parts of tests that do more than one run.
const OTHERS: &[Part] = &[
    ("mute", |_| {}, ""),
    (
        "dies-when-ready",
        |liar| {
            liar.hello();
            liar.ready();
            end(0)
        },
        "",
    ),
    (
        "talks-when-ready",
        |liar| {
            liar.hello();
            let mut both = Vec::new();
            ToHost::Ready(&greeting(PROTOCOL, env!("CARGO_PKG_VERSION"), None)).encode(&mut both);
            ToHost::Line(LogLevel::Info, "hello?").encode(&mut both);
            liar.bytes(&both);
        },
        "",
    ),
    (
        "spins",
        |liar| {
            liar.begin();
            while std::hint::black_box(true) {}
        },
        "",
    ),
    (
        "grows",
        |liar| {
            liar.begin();
            let held = vec![1_u8; 600 << 20];
            std::hint::black_box(&held);
            liar.linger();
        },
        "",
    ),
    (
        "fails-and-counts",
        |liar| {
            liar.hello();
            count_start();
            end(7)
        },
        "",
    ),
    (
        "dies-and-counts",
        |liar| {
            liar.hello();
            count_start();
            liar.ready();
            end(0)
        },
        "",
    ),
    (
        "boasts",
        |liar| {
            liar.begin();
            let finish =
                Finish { busy: Duration::MAX, notes: vec!["note ".repeat(4_000); 40], ..finish(false) };
            liar.say(&ToHost::Ended { finish, value: None });
        },
        "",
    ),
    (
        "rants",
        |liar| {
            liar.begin();
            let mut failure = RunFailure::new(RunFailureKind::Exception, "m".repeat(100_000));
            failure.frame = Some("f".repeat(100_000));
            failure.stack = Some("s".repeat(100_000));
            liar.failed(failure);
        },
        "",
    ),
    (
        "records-for-ever",
        |liar| {
            liar.begin();
            let mut many = Vec::new();
            (0..10_000).for_each(|_| ToHost::Record.encode(&mut many));
            loop {
                liar.bytes(&many);
            }
        },
        "",
    ),
    (
        "asks-for-ever",
        |liar| {
            liar.begin();
            let text = json!("x".repeat(900_000)).to_string();
            liar.say(&ToHost::Kept(KeptRequest::Set("k".to_owned(), text)));
            let mut many = Vec::new();
            (0..10_000).for_each(|_| ToHost::Kept(KeptRequest::Get("k".to_owned())).encode(&mut many));
            loop {
                liar.bytes(&many);
            }
        },
        "",
    ),
];

/// Not a test of its own: what a forged child does. `forged.sh` alone names a part.
#[test]
fn part() {
    let Ok(name) = std::env::var("ISOLANE_FORGED_PART") else { return };
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let mut liar = Liar { socket, frames: Frames::default(), tools: Vec::new() };
    if let Some(code) = name.strip_prefix("exits-") {
        liar.begin();
        end(code.parse().unwrap());
    }
    let of = |parts: &[Part]| parts.iter().find(|part| part.0 == name).map(|part| part.1);
    if let Some(act) = of(NO_CHILD) {
        liar.hello();
        act(&mut liar);
    } else if let Some(act) = of(OTHERS) {
        act(&mut liar);
    } else {
        liar.begin();
        of(BROKEN).or_else(|| of(ENDS)).unwrap()(&mut liar);
    }
    liar.linger();
}

/// A program that plays a part.
pub(super) fn forged(part: &str) -> Program {
    let program =
        Program::linked(part, &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/boxed/forged.sh"));
    // By this name it starts even when it was built anew in the meantime.
    let exe = format!("/proc/{}/exe", std::process::id());
    std::os::unix::fs::symlink(exe, program.folder.path().join("it")).unwrap();
    program
}
