//! Running recorded programs again, and going on with those that were interrupted (L-9, L-10).
//!
//! Owns what has to be the same, what has to be noticed, and what may be done twice. Each run is recorded by one host and
//! run again by another, whose tools would fail if they were touched.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use isolane::codemode::lane::RecordedOutcome;
use isolane::codemode::{LogLevel, LogSink, Recording, RecordingError, Replayed, SessionState};
use isolane::ids::CallId;
use isolane::ledger::{EventBody, LedgerEvent};
use isolane::limits::RunLimits;
use isolane::outcome::{RunFailureKind, RunOutcome};
use isolane::tool::{Tool, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Host, Isolation, said, tool};

/// Programs that take much from outside.
const PROGRAMS: &[&str] = &[
    "return 1 + 1",
    "console.log(Date.now(), Math.random(), crypto.randomUUID()); return [...crypto.getRandomValues(new Uint8Array(9))]",
    "const from = Date.now(); let n = 0; while (Date.now() - from < 25) n++; return [n, Date.now() - from]",
    "return [new Date().toISOString(), Date().length > 0, new Intl.DateTimeFormat('en', { timeStyle: 'full' }).format(), \
     performance.now() >= 0]",
    "const { a } = await tools.echo({ a: Math.random() }).then((it) => it.args); return [a, await tools.add({ a: 1, b: 2 })]",
    "const order = []; await Promise.all([30, 1, 15].map(async (ms) => { await tools.slow({ ms }); order.push(ms) })); \
     return order",
    "const seen = []; for (const ms of [8, 1, 4]) setTimeout(() => seen.push([ms, Date.now() > 0]), ms); \
     await tools.slow({ ms: 12 }); await new Promise((done) => setTimeout(done, 5)); return seen",
    "return await Promise.race([tools.slow({ ms: 2 }), tools.slow({ ms: 30 })])",
    "try { await tools.fail({ message: 'as it was' }) } catch (error) { return [error.code, error.message] }",
    "state.set('n', (state.get('n') ?? 0) + 1); return state.get('n')",
    "console.log('before'); throw new Error(`at ${Date.now()}`)",
    "await new Promise(() => {})",
    "tools.slow({ ms: 1000 }); for (let i = 0; i < 30; i++) tools.add({ a: i, b: 1 }); Date.now(); return Math.random()",
];

/// Tools that may not be touched.
fn untouchable() -> Vec<Tool> {
    let names = ["add", "fail", "big", "panics", "echo", "slow"];
    let refuse = |_: Value| -> Result<Value, ToolError> { panic!("a tool was touched") };
    names.map(|name| tool(name, &json!({}), &[], refuse)).into()
}

async fn replayed(events: &[LedgerEvent], call: &str, isolation: Isolation) -> Replayed {
    let host =
        Host::assemble(RunLimits::default(), untouchable(), isolane::clock::SystemClock::shared(), isolation);
    let recording = Recording::find(events, &CallId::from(call)).unwrap();
    let run = host.program_run("", RunLimits::default());
    let replayed = host.runner.replay(run, &recording).await;
    assert!(host.events().is_empty(), "a replay left events");
    if let Err(failure) = &replayed.outcome.result {
        assert_ne!(failure.kind, RunFailureKind::WallTimeout, "a replay waited for what cannot come");
    }
    replayed
}

/// L-9: whatever a program takes from outside, it takes again, in either isolation.
#[tokio::test]
async fn a_program_that_is_run_again_does_the_same() {
    for isolation in [Isolation::Process, Isolation::InProcess] {
        let host = Host::isolated(RunLimits::default(), isolation);
        let mut outcomes = Vec::new();
        for program in PROGRAMS {
            outcomes.push((*program, host.run(program).await));
        }
        let events = host.events();
        for (index, (program, outcome)) in outcomes.iter().enumerate() {
            for again in [Isolation::Process, Isolation::InProcess] {
                let Replayed { outcome: now, divergence, .. } =
                    replayed(&events, &format!("r{}", index + 1), again).await;
                assert_eq!(divergence, None, "{program}: {}", said(&now));
                assert_eq!((&now.logs, &now.result), (&outcome.logs, &outcome.result), "{program}");
            }
        }
    }
}

/// L-9: a long run gives the same bytes.
#[tokio::test]
async fn two_thousand_calls_give_the_same_bytes() {
    let program = "
        const all = [], draw = () => Math.floor(Math.random() * 1e9);
        for (let n = 0; n < 1000; n++) {
            const { args } = await tools.echo({ n, luck: draw(), at: Date.now(), id: crypto.randomUUID() });
            all.push(args);
            if (n % 100 === 0) console.log(n, args);
        }
        const order = [];
        await Promise.all(Array.from({ length: 1000 }, async (_, n) => {
            const { args } = await tools.echo({ n, luck: draw() });
            order.push(args.n); all.push(args);
        }));
        console.log(order.join());
        return all;
    ";
    let host = Host::new();
    let outcome = host.run(program).await;
    let events = host.events();
    assert_eq!(outcome.stats.sub_calls, 2_000);
    let bytes = |outcome: &RunOutcome| {
        (outcome.logs.join("\n"), serde_json::to_string(outcome.result.as_ref().unwrap()).unwrap())
    };
    for isolation in [Isolation::Process, Isolation::InProcess] {
        let again = replayed(&events, "r1", isolation).await;
        assert_eq!(again.divergence, None);
        assert_eq!(bytes(&again.outcome), bytes(&outcome));
    }
}

/// L-9: what is not as it was recorded is told, with the first call of it.
#[tokio::test]
async fn a_program_that_does_something_else_is_noticed() {
    let host = Host::new();
    let said = said(
        &host
            .run("const n = await tools.add({ a: 1, b: 2 }); console.log(n); return await tools.echo({ n })")
            .await,
    );
    assert!(said.contains("log 3"), "{said}");
    let events = host.events();
    let changed = |from: &str, to: &str| {
        let text = serde_json::to_string(&events).unwrap().replace(from, to);
        serde_json::from_str::<Vec<LedgerEvent>>(&text).unwrap()
    };
    let told = async |from: &str, to: &str| {
        let mut told = Vec::new();
        for isolation in [Isolation::InProcess, Isolation::Process] {
            let divergence = replayed(&changed(from, to), "r1", isolation).await.divergence;
            told.push(divergence.map(|divergence| divergence.to_string()).unwrap_or_default());
        }
        assert_eq!(told[0], told[1]);
        told.swap_remove(0)
    };
    let mut all = Vec::new();
    for (from, to) in [
        ("b: 2", "b: 3"),
        ("await tools.add({ a: 1, b: 2 })", "3"),
        ("const n", "Date.now(); const n"),
        ("log(n)", "log(n + 1)"),
        ("return await", "tools.echo({ n: n + 1 }); return await"),
        ("return await tools.echo({ n })", "return n"),
        ("return await", "void await"),
        ("return await", "await tools.echo({ n }); return await"),
        ("return await", "await new Promise((done) => setTimeout(done, 9e5)); return await"),
    ] {
        all.push(format!("{to}\n  {}", told(from, to).await));
    }
    insta::assert_snapshot!(all.join("\n"), @r#"
    b: 3
      call 1 was `add` with {"a":1,"b":2} when it was recorded, and is `add` with {"a":1,"b":3} now
    3
      call 1 was `add` with {"a":1,"b":2} when it was recorded, and is `echo` with {"n":3} now
    Date.now(); const n
      before its first call the program reads the clock or waits otherwise than when it was recorded; its next call was `add` with {"a":1,"b":2} then
    log(n + 1)
      line 1 was "3" when it was recorded, and is "4" now
    tools.echo({ n: n + 1 }); return await
      call 2 was `echo` with {"n":3} when it was recorded, and is `echo` with {"n":4} now
    return n
      call 2 was `echo` with {"n":3} when it was recorded, and is not made now
    void await
      it ended with value {"tool":"echo","args":{"n":3}} when it was recorded, and with no value now
    await tools.echo({ n }); return await
      after call 3 the program goes on, where it had come to its end when it was recorded
    await new Promise((done) => setTimeout(done, 9e5)); return await
      after call 1 the program reads the clock or waits otherwise than when it was recorded; its next call was `echo` with {"n":3} then
    "#);
}

/// L-9: a run that was ended from outside ends there again, at once; what it waited for is not waited for.
#[tokio::test]
async fn a_run_that_was_cancelled_ends_where_it_was() {
    for isolation in [Isolation::Process, Isolation::InProcess] {
        let host = Host::isolated(RunLimits::default(), isolation);
        let program = "console.log(await tools.add({ a: 1, b: 2 })); await tools.slow({ ms: 1e6 }); return 1";
        let (cancel, logs) = (CancellationToken::new(), Arc::new(CancelAtFirstLine::default()));
        logs.0.set(cancel.clone()).unwrap();
        let mut run = host.program_run(program, RunLimits::default());
        (run.cancel, run.logs) = (cancel, Some(logs as _));
        let outcome = host.runner.run(run).await;
        assert_eq!(outcome.result.as_ref().unwrap_err().kind, RunFailureKind::Abort);
        let Replayed { outcome: now, divergence, is_whole } =
            replayed(&host.events(), "none", isolation).await;
        assert_eq!((divergence, is_whole), (None, true), "{}", said(&now));
        // What it took last may have died with its process.
        assert!(outcome.logs.starts_with(&now.logs));
        assert_eq!(now.result, outcome.result);
    }
}

/// Ends the run when its program prints.
#[derive(Default)]
struct CancelAtFirstLine(OnceLock<CancellationToken>);

impl LogSink for CancelAtFirstLine {
    fn line(&self, _level: LogLevel, _text: &str) {
        self.0.get().unwrap().cancel();
    }
}

/// L-9: of a run that was interrupted, what there is is run again, and nothing beyond it is done.
#[tokio::test]
async fn a_run_that_was_interrupted_is_run_again_up_to_there() {
    let host = Host::new();
    let program = "console.log('begins'); const all = []; for (let n = 0; n < 9; n++) all.push(tools.echo({ n })); \
                   await all[0]; await Promise.all(all); return await tools.add({ a: 1, b: 2 })";
    assert!(host.run(program).await.result.is_ok());
    let events = host.events();
    for cut in 1..events.len() - 1 {
        for isolation in [Isolation::Process, Isolation::InProcess] {
            let Replayed { outcome, divergence, is_whole } = replayed(&events[..cut], "r1", isolation).await;
            assert_eq!((divergence, is_whole), (None, false), "cut at {cut}: {}", said(&outcome));
            assert_eq!(outcome.logs, ["begins"]);
            assert!(said(&outcome).contains("interrupted here"), "cut at {cut}: {}", said(&outcome));
        }
    }
}

/// L-9, T-12: what was not recorded is said to be missing.
#[tokio::test]
async fn what_a_replay_lacks_is_named() {
    let host = Host::new();
    host.run("return await tools.add({ a: 1, b: 2 })").await;
    let mut events = host.events();
    let of = |events: &[LedgerEvent], call: &str| Recording::find(events, &CallId::from(call)).map(drop);
    assert_eq!(
        of(&events, "r9").unwrap_err().to_string(),
        "the ledger has no run of the call `r9`; it has `r1`"
    );
    for event in &mut events {
        if let EventBody::CodeDispatch(dispatch) = &mut event.body {
            dispatch.value = None;
        }
    }
    assert_eq!(of(&events, "r1"), Err(RecordingError::NoValue { call: "r1:code:1".into() }));
    for event in &mut events {
        if let EventBody::RunStart(start) = &mut event.body {
            start.seed = None;
        }
    }
    assert_eq!(of(&events, "r1"), Err(RecordingError::NoOrigin { call: "r1".into() }));
}

/// A tool that counts how often it did something.
fn counted() -> (Arc<AtomicUsize>, Tool) {
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&count);
    let append = tool("append", &json!({}), &[], move |args| {
        counts.fetch_add(1, Ordering::SeqCst);
        Ok(args["n"].clone())
    });
    (count, append)
}

/// L-10: a run that was cut off at any of its events goes on from there, and does nothing twice that is known to be done.
#[tokio::test]
async fn a_run_goes_on_from_wherever_it_was_cut_off() {
    let program = "
        const start = Date.now(), luck = Math.random(), done = [];
        for (let n = 0; n < 4; n++) done.push(await tools.append({ n, luck }));
        await Promise.all([4, 5, 6].map(async (n) => done.push(await tools.append({ n, late: Date.now() >= start }))));
        console.log('done', done.length);
        return done.sort();
    ";
    let (_, append) = counted();
    let first = Host::with_tools(RunLimits::default(), vec![append]);
    let whole = first.run(program).await;
    let events = first.events();
    for cut in 1..events.len() - 1 {
        let left = &events[..cut];
        let (count, append) = counted();
        let host = Host::with_tools(RunLimits::default(), vec![append]);
        let recording = Recording::find(left, &CallId::from("r1")).unwrap();
        let (settled, unsettled) = (
            left.iter().filter(|event| matches!(event.body, EventBody::CodeDispatch(_))).count(),
            recording.unsettled().count(),
        );
        let outcome =
            host.runner.resume(host.program_run("", RunLimits::default()), &recording).await.unwrap();
        let lost = matches!(&outcome.result, Err(failure) if failure.message.contains("nothing is known of its end"));
        if unsettled == 0 {
            assert_eq!(outcome.result, whole.result, "cut at {cut}");
            assert_eq!(count.load(Ordering::SeqCst), 7 - settled, "cut at {cut}");
        } else {
            // Not made again unless somebody says so: the program is told.
            assert!(lost, "cut at {cut}: {}", said(&outcome));
        }
    }
}

/// L-10, CM-11: a run that goes on reads what was kept when it started, and keeps nothing twice.
#[tokio::test]
async fn what_a_run_kept_before_it_was_interrupted_is_not_kept_twice() {
    let program = "
        state.set('n', (state.get('n') ?? 0) + 1); state.commit();
        await tools.append({ n: state.get('n') });
        state.set('n', state.get('n') + 10); state.set('m', 1);
        return state.get('n');
    ";
    let (_, append) = counted();
    let first = Host::with_tools(RunLimits::default(), vec![append]);
    first.run("state.set('n', 100)").await;
    assert_eq!(first.run(program).await.result, Ok(Some(json!(111))));
    let events = first.events();
    let puts = |events: &[LedgerEvent]| {
        let put = |event: &LedgerEvent| match &event.body {
            EventBody::StatePut(put) => Some((put.key.clone(), put.value.as_deref().cloned())),
            _ => None,
        };
        events.iter().filter_map(put).collect::<Vec<_>>()
    };
    let begins = events
        .iter()
        .position(|event| matches!(&event.body, EventBody::RunStart(start) if *start.call.as_str() == *"r2"));
    for cut in begins.unwrap() + 1..events.len() - 3 {
        let left = &events[..cut];
        let (_, append) = counted();
        let host = Host::with_tools(RunLimits::default(), vec![append]);
        let mut recording = Recording::find(left, &CallId::from("r2")).unwrap();
        for call in recording.calls.values_mut() {
            if let RecordedOutcome::Lost = call.outcome {
                call.outcome = RecordedOutcome::Again;
            }
        }
        let mut run = host.program_run("", RunLimits::default());
        run.state = SessionState::restored(left);
        let state = run.state.clone();
        let outcome = host.runner.resume(run, &recording).await.unwrap();
        assert_eq!(outcome.result, Ok(Some(json!(111))), "cut at {cut}");
        assert_eq!(
            [state.get("n"), state.get("m")].map(|value| value.as_deref().cloned()),
            [Some(json!(111)), Some(json!(1))]
        );
        let all = [puts(left), puts(&host.events())].concat();
        assert_eq!(all, puts(&events), "cut at {cut}");
    }
}
