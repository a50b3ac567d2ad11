//! Runs whose host is killed (L-8, L-10).
//!
//! Owns a host that works on one run, with a tool that appends to a file, and its death by SIGKILL at random points, until
//! the run has come to its end. The host is this test binary once more, told by a variable of its environment to be it.
//!
//!   ISOLANE_KILLS       kills for each kind of store (6)
//!   ISOLANE_KILL_SEED   the seed of an earlier run, as a failure tells it

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use isolane::clock::SystemClock;
use isolane::codemode::lane::RecordedCall;
use isolane::codemode::{RecordingError, SessionState};
use isolane::host::{Decision, Host, ReplayError, RunOptions, SessionOptions};
use isolane::ledger::{
    EventBody, FsyncPolicy, Ledger, LedgerEvent, LedgerOptions, open_ledger, read_ledger, unsettled,
};
use isolane::limits::RunLimits;
use isolane::tool::{Concurrency, Tool, ToolContext};
use serde_json::{Value, json};

use crate::random::{Random, Seed, number};
use crate::support::{Isolation, runtime};

/// The variable that makes this binary the host: isolation, file of events, file of effects.
const HOST: &str = "ISOLANE_KILLED_HOST";

/// How many effects there are to be, some one after the other and some at the same time.
const EFFECTS: u64 = 12;

const PROGRAM: &str = "
    const luck = Math.random(), all = [];
    const append = async (n) => {
        try { all.push(await tools.append({ n, luck })); } catch (error) {
            if (error.code !== 'ABORTED') throw error;
            all.push(n);
        }
    };
    for (let n = 0; n < 6; n++) { await append(n); state.set('done', all); state.commit(); }
    await Promise.all([6, 7, 8, 9].map(append));
    await append(10); await append(11);
    console.log(all.length);
    return all.sort((a, b) => a - b);
";

/// The most turns of an empty loop between the last that was heard of a host and its death: some milliseconds.
const MOST_TURNS: u64 = 3_000_000;

fn effects(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn append(path: &Path) -> Tool {
    let path = path.to_owned();
    Tool::builder("append")
        .description("Appends a number to the file.")
        .foreign_parameters(json!({"type": "object"}))
        .foreign_output(json!({}))
        .concurrency(Concurrency::Parallel)
        .handler(move |args: Value, _context: ToolContext| {
            let path = path.clone();
            async move {
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                file.write_all(format!("{}\n", args["n"]).as_bytes()).unwrap();
                say("effect");
                Ok(args["n"].clone())
            }
        })
        .unwrap()
}

/// For whoever kills this process.
fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what}").and_then(|()| out.flush()).unwrap();
}

/// The host, which begins the run, or goes on with it; in the ordinary run of the tests there is nothing for it to do.
#[test]
fn the_host_of_a_run() {
    let Ok(told) = std::env::var(HOST) else { return };
    let [isolation, events, effects_file] = told.split(' ').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let isolation = if isolation == "Process" { Isolation::Process } else { Isolation::InProcess };
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let opened = open_ledger(events, FsyncPolicy::Never).unwrap();
        let clock = SystemClock::shared();
        let ledger = Ledger::new("s".into(), clock, opened.store, LedgerOptions::default()).unwrap();
        let events = ledger.events().await.unwrap();
        let effects_file = Path::new(effects_file);
        let (runtime, _) = runtime(isolation, &RunLimits::default());
        let builder = Host::builder().tools([append(effects_file)]).shared_runtime(runtime);
        let host = builder.record_values(true).build().unwrap();
        let options = SessionOptions::new("s").ledger(ledger).state(SessionState::restored(&events));
        let session = host.session(options).unwrap();
        // On a line of its own.
        say("\nready");
        let run = events.iter().find_map(|event| match &event.body {
            EventBody::RunStart(start) => Some(start.call.clone()),
            _ => None,
        });
        let outcome = match run {
            None => session.run(PROGRAM).await,
            Some(call) => {
                let before = effects(effects_file);
                let ask = |_: &RecordedCall| Decision::Ask;
                match session.resume(&events, &call, ask, RunOptions::default()).await {
                    Err(ReplayError::Recording(RecordingError::Ended { .. })) => return say("ended"),
                    Err(ReplayError::Undecided { calls }) => {
                        assert_eq!(effects(effects_file), before, "nothing is done before it is decided");
                        assert!(!calls.is_empty());
                        say("undecided");
                        // Whoever is asked looks what has happened.
                        let look = |call: &RecordedCall| {
                            let n = call.start.arguments["n"].as_u64().unwrap();
                            if before.contains(&n) { Decision::Fail } else { Decision::Retry }
                        };
                        session.resume(&events, &call, look, RunOptions::default()).await.unwrap()
                    }
                    resumed => resumed.unwrap(),
                }
            }
        };
        assert_eq!(outcome.result, Ok(Some(json!((0..EFFECTS).collect::<Vec<_>>()))));
        session.ledger().flush().await.unwrap();
        say("ended");
    });
}

/// Has a host work on the run, and kills it at a random point; true when it came to the end before.
fn work_and_kill(told: &str, random: &mut Random) -> bool {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_runs::the_host_of_a_run", "--nocapture", "--test-threads=1"])
        .env(HOST, told)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let mut heard = lines
        .map(Result::unwrap)
        .filter(|line| ["ready", "undecided", "effect", "ended"].contains(&line.as_str()));
    // At least one, so that the host is at work.
    let mut ended = false;
    // The other end is kept open: a host that speaks is not to fail.
    for line in heard.by_ref().take(usize::try_from(1 + random.below(EFFECTS / 2)).unwrap()) {
        ended |= line == "ended";
    }
    // Into the middle of whatever it does next.
    for _ in 0..random.below(MOST_TURNS) {
        std::hint::spin_loop();
    }
    host.kill().unwrap();
    let status = host.wait().unwrap();
    assert!(status.success() || status.code().is_none(), "it was killed, or done: {status}");
    drop(heard);
    ended || status.success()
}

/// Everything that is promised of what a host that was killed leaves.
fn check(events: &[LedgerEvent], effects: &[u64]) {
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let mut begun = BTreeMap::new();
    let mut done = Vec::new();
    for event in events {
        match &event.body {
            EventBody::CodeDispatchStart(start) => {
                let n = start.arguments["n"].as_u64().unwrap();
                assert_eq!(begun.insert(n, event.seq), None, "a call has one start");
            }
            EventBody::CodeDispatch(settled) => done.push(settled.arguments["n"].as_u64().unwrap()),
            _ => {}
        }
    }
    let open: Vec<_> = unsettled(events).iter().map(|event| event.seq).collect();
    for n in effects {
        assert_eq!(effects.iter().filter(|other| *other == n).count(), 1, "effect {n} was done twice");
        let seq = begun.get(n).unwrap_or_else(|| panic!("nothing tells that effect {n} has begun"));
        assert!(done.contains(n) || open.contains(seq), "effect {n} is neither done nor open");
    }
    assert!(
        done.iter().all(|n| effects.contains(n)),
        "what is done has had its effect: {done:?} {effects:?}"
    );
}

fn kill_again_and_again(ending: &str) {
    let seed = Seed::new();
    let mut random = Random(seed.0);
    let kills = number("ISOLANE_KILLS").unwrap_or(6);
    let (mut killed, mut ended) = (0, 0);
    while killed < kills || ended == 0 {
        let folder = tempfile::tempdir().unwrap();
        let [events, effects_file] =
            [ending, "txt"].map(|ending| folder.path().join(format!("run.{ending}")));
        let isolation = if random.below(2) == 0 { Isolation::Process } else { Isolation::InProcess };
        let told = format!("{isolation:?} {} {}", events.display(), effects_file.display());
        loop {
            let is_done = work_and_kill(&told, &mut random);
            let events: Vec<_> = read_ledger(&events).unwrap().map(Result::unwrap).collect();
            let effects = effects(&effects_file);
            check(&events, &effects);
            if is_done {
                assert_eq!(unsettled(&events), Vec::<&LedgerEvent>::new());
                let mut effects = effects;
                effects.sort_unstable();
                assert_eq!(effects, (0..EFFECTS).collect::<Vec<_>>(), "each effect is done once");
                ended += 1;
                break;
            }
            killed += 1;
        }
    }
}

/// L-8, L-10
#[test]
fn a_run_whose_host_is_killed_again_and_again_has_each_effect_once() {
    kill_again_and_again("jsonl");
}

/// L-8, L-10, L-7
#[cfg(feature = "sqlite")]
#[test]
fn the_same_holds_for_a_ledger_in_sqlite() {
    kill_again_and_again("sqlite");
}
