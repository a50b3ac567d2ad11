//! Ledgers whose writer is killed (L-8).
//!
//! Owns a process that writes events without end, and its death by SIGKILL at random points, again and again over one
//! file. The process is this test binary once more, told by a variable of its environment to be the writer. It never
//! looks at how a store keeps events: it opens what is left as anybody does.
//!
//!   ISOLANE_KILLS       kills for each kind of store (20)
//!   ISOLANE_KILL_SEED   the seed of an earlier run, as a failure tells it

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::content::ContentBlock;
use isolane::ids::{CallId, SessionId};
use isolane::ledger::{
    CodeDispatchStart, EventBody, FsyncPolicy, JsonLinesStore, Ledger, LedgerEvent, LedgerOptions,
    LedgerStore, Settled, SharedStore, StoreError, ToolCall, ToolResult, unsettled,
};
use isolane::outcome::CallSuccess;
use serde_json::{Value, json};

#[path = "killed/random.rs"]
mod random;
use random::{Random, Seed, number};

/// The variable that makes this binary the writer, and what it is told: store, policy and path.
const WRITER: &str = "ISOLANE_KILLED_WRITER";

/// The sessions of one file, whose events alternate.
const SESSIONS: [&str; 2] = ["a", "b"];

/// Kills over one file before there is a new one: what is read again grows with them.
const KILLS_A_FILE: u64 = 10;

/// The most events that are written before the writer is killed, as far as it has told of them.
const MOST_TOLD: u64 = 150;

/// The most turns of an empty loop between the last that was told and the kill: some milliseconds.
const MOST_TURNS: u64 = 3_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Store {
    JsonLines,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Store {
    fn open(self, path: &Path, policy: FsyncPolicy) -> Result<Box<dyn LedgerStore>, StoreError> {
        Ok(match self {
            Self::JsonLines => Box::new(JsonLinesStore::open(path, policy)?),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => Box::new(isolane::ledger::SqliteStore::open(path, policy)?),
        })
    }

    /// The events as a reader sees them who may not write.
    fn read(self, path: &Path) -> Vec<LedgerEvent> {
        match self {
            Self::JsonLines => isolane::ledger::read_events(path).unwrap().map(Result::unwrap).collect(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite => isolane::ledger::read_sqlite(path).unwrap().map(Result::unwrap).collect(),
        }
    }
}

const POLICIES: [(&str, FsyncPolicy); 3] = [
    ("always", FsyncPolicy::Always),
    ("interval", FsyncPolicy::Interval(Duration::from_millis(2))),
    ("never", FsyncPolicy::Never),
];

/// The event of a session that has this `seq`, and those that it answers: a call, the start of a sub-call, its end, the
/// call's result, and so on. Whoever goes on with a session goes on in the middle of it.
fn body(seq: u64) -> (EventBody, Option<u64>) {
    let (round, part) = ((seq - 1) / 4, (seq - 1) % 4);
    let call = CallId::from(format!("call-{round}"));
    let start = CodeDispatchStart {
        root: call.clone(),
        parent: call.clone(),
        call: call.sub_call(1),
        tool: "read".into(),
        arguments: Arc::new(json!({"path": format!("{round}.txt")})),
        inputs: String::new(),
    };
    // From a few bytes to several pages.
    let content = || vec![ContentBlock::text("x".repeat(usize::try_from(round * 7_919 % 20_000).unwrap()))];
    let success = |content| CallSuccess {
        value: Arc::new(Value::Null),
        content,
        meta: None,
        deferred: Vec::new(),
        concludes_turn: false,
    };
    match part {
        0 => (ToolCall::new(call, "run_code", json!({"code": format!("{round}")})).into(), None),
        1 => (start.into(), None),
        2 => (start.settle(Settled::success(content())).into(), Some(seq - 1)),
        _ => (ToolResult::new(call, "run_code".into(), &Ok(success(content()))).into(), Some(seq - 3)),
    }
}

/// What has started and has no end in a session that ends with this `seq`.
fn open_at(last: u64) -> Vec<u64> {
    match last % 4 {
        1 => vec![last],
        2 => vec![last - 1, last],
        3 => vec![last - 2],
        _ => Vec::new(),
    }
}

/// The writer, which only its death ends; in the ordinary run of the tests there is nothing for it to do.
#[test]
fn the_writer() {
    let Ok(told) = std::env::var(WRITER) else { return };
    let [store, policy, path] = told.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let store = match store {
        #[cfg(feature = "sqlite")]
        "Sqlite" => Store::Sqlite,
        _ => Store::JsonLines,
    };
    let (_, policy) = POLICIES.into_iter().find(|(name, _)| *name == policy).unwrap();
    let store = SharedStore::new(store.open(path.as_ref(), policy).unwrap());
    let ledgers = SESSIONS.map(|session| {
        let store = Box::new(store.clone());
        Ledger::new(SessionId::from(session), SystemClock::shared(), store, LedgerOptions::default()).unwrap()
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut out = std::io::stdout();
        for round in 0_u64.. {
            for ledger in &ledgers {
                // Batches of every size up to that of the backlog.
                for _ in 0..=round % 9 {
                    let slot = ledger.reserve().await;
                    let (body, answers) = body(ledger.last_seq() + 1);
                    slot.record(body, answers).unwrap();
                }
                let last = ledger.last_seq();
                ledger.written(last).await.unwrap();
                // Nobody listens any more: the parent has died.
                writeln!(out, "{} {last}", ledger.session()).unwrap();
                out.flush().unwrap();
            }
        }
    });
}

/// Has a writer write, and kills it at a random point; gives what it had said of each session by then.
fn write_and_kill(store: Store, policy: &str, path: &Path, random: &mut Random) -> [u64; 2] {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_writer", "--nocapture", "--test-threads=1"])
        .env(WRITER, format!("{store:?} {policy} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut told = [0; 2];
    let wanted = random.below(MOST_TOLD);
    let (mut seen, mut first) = (0, None);
    // At least one, so that the writer is at work.
    while seen <= wanted {
        let line = lines.next().expect("the writer has ended by itself").unwrap();
        let Some((session, last)) = line.split_once(' ') else { continue };
        let Some(place) = SESSIONS.iter().position(|name| *name == session) else { continue };
        told[place] = last.parse().unwrap();
        let all = told.iter().sum::<u64>();
        seen = all - *first.get_or_insert(all);
        if seen == 0 && wanted == 0 {
            break;
        }
    }
    // Into the middle of whatever it does next.
    for _ in 0..random.below(MOST_TURNS) {
        std::hint::spin_loop();
    }
    writer.kill().unwrap();
    let ended = writer.wait().unwrap();
    assert!(!ended.success() && ended.code().is_none(), "it was killed: {ended}");
    told
}

/// Everything that is promised of a file whose writer is gone.
fn check(store: Store, path: &Path, told: [u64; 2]) {
    let seen = store.read(path);
    let mut opened = store.open(path, FsyncPolicy::Never).unwrap();
    let events = opened.read_all().unwrap();
    assert_eq!(seen, events, "a reader sees what is there");
    for (session, told) in SESSIONS.iter().zip(told) {
        let id = SessionId::from(*session);
        let own: Vec<_> = events.iter().filter(|event| event.session == id).cloned().collect();
        let last = own.len() as u64;
        assert!(last >= told, "{session}: {told} events were written, and {last} are there");
        assert_eq!(opened.last_seq(&id).unwrap(), last);
        for (seq, event) in (1..).zip(&own) {
            let (body, answers) = body(seq);
            assert_eq!((event.seq, &event.body), (seq, &body), "{session}");
            assert_eq!(event.source_seqs, Vec::from_iter(answers), "{session} {seq}");
        }
        let open: Vec<_> = unsettled(&own).iter().map(|event| event.seq).collect();
        assert_eq!(open, open_at(last), "{session}: what started and has no end");
    }
}

fn kill_again_and_again(store: Store) {
    let seed = Seed::new();
    let mut random = Random(seed.0);
    let kills = number("ISOLANE_KILLS").unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    for kill in 0..kills {
        let path = folder.path().join(format!("ledger-{}", kill / KILLS_A_FILE));
        let (policy, _) = POLICIES[usize::try_from(random.below(3)).unwrap()];
        let told = write_and_kill(store, policy, &path, &mut random);
        check(store, &path, told);
    }
}

/// L-8, L-7
#[test]
fn a_killed_writer_leaves_a_json_lines_file_that_opens() {
    kill_again_and_again(Store::JsonLines);
}

/// L-8, L-7
#[cfg(feature = "sqlite")]
#[test]
fn a_killed_writer_leaves_an_sqlite_file_that_opens() {
    kill_again_and_again(Store::Sqlite);
}

/// L-7, L-8: a writer in another process keeps a second one out until it dies, and readers are welcome.
#[test]
fn a_living_writer_keeps_others_out_and_a_dead_one_does_not() {
    #[cfg(feature = "sqlite")]
    let stores = [Store::JsonLines, Store::Sqlite];
    #[cfg(not(feature = "sqlite"))]
    let stores = [Store::JsonLines];
    for store in stores {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_writer", "--nocapture", "--test-threads=1"])
            .env(WRITER, format!("{store:?} never {}", path.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().starts_with("b ") {}
        assert!(matches!(store.open(&path, FsyncPolicy::Never), Err(StoreError::Locked { .. })), "{store:?}");
        assert!(store.read(&path).len() > 1, "{store:?}");
        writer.kill().unwrap();
        writer.wait().unwrap();
        store.open(&path, FsyncPolicy::Never).unwrap();
    }
}
