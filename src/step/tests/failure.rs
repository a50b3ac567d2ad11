//! Failures of the scheduler itself (S-7).

use super::*;
use crate::ledger::{FsyncPolicy, JsonLinesStore, read_events};
use crate::pipeline::script::{ledger, telling};
use crate::pipeline::{AtRest, CallRequest};

/// With a store that refuses everything after so many events.
fn full_after(events: usize) -> Setup {
    let mut setup = Setup::new(config());
    setup.ledger = ledger(&setup.clock, telling(setup.store.clone(), setup.bodies.trace.clone(), events));
    setup
}

fn known(failure: &StepFailure) -> (Vec<&str>, Vec<&str>) {
    let committed = failure.committed.iter().map(|result| result.id.as_str()).collect();
    (committed, failure.unsettled.iter().map(CallId::as_str).collect())
}

/// S-7
#[tokio::test]
async fn a_ledger_that_fails_ends_the_step_after_what_is_in_flight() {
    // Three calls and one result fit.
    let mut bench = full_after(4).start(&["par", "par", "par", "alone"]);
    bench.quiet().await;
    bench.release(1, Reply::Value).await;
    assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2, call 3, run 3, rest 1, result 1");
    bench.release(2, Reply::Value).await;
    assert!(!bench.is_done().await, "the third is still in flight, and nobody has told it to stop");
    bench.release(3, Reply::Value).await;
    assert_eq!(bench.trace().await, "rest 2, rest 3", "nothing is launched or made up");
    let failure = bench.end().await.unwrap_err();
    assert_eq!(known(&failure), (vec!["c:1"], vec!["c:2", "c:3"]));
    assert_eq!(
        failure.to_string(),
        "the step cannot be recorded: cannot write the ledger full: no space left"
    );
    assert_eq!(crate::ledger::unsettled(&bench.setup.store.events()).len(), 2, "no result was invented");
}

/// S-7: a call that could not be recorded is not started.
#[tokio::test]
async fn a_call_whose_event_is_refused_does_not_run() {
    let mut bench = full_after(1).start(&["now", "now"]);
    let failure = bench.end().await.unwrap_err();
    assert_eq!(known(&failure), (vec![], vec!["c:1"]));
    assert_eq!(bench.trace().await, "call 1, run 1");
    let mut again = Bench { stepping: None, ..bench };
    let (scheduler, root) = (again.setup.scheduler(), again.setup.root());
    again.stepping = Some(tokio::spawn(async move { scheduler.execute(root, calls(&["now"])).await }));
    let failure = again.end().await.unwrap_err();
    assert_eq!(known(&failure), (vec![], vec![]));
    assert_eq!(again.trace().await, "", "a ledger that has failed before takes no step at all");
}

/// S-7, P-14
#[tokio::test]
async fn a_failed_step_can_still_be_aborted() {
    let mut bench = full_after(3).start(&["par", "deaf"]);
    bench.quiet().await;
    bench.release(1, Reply::Value).await;
    assert!(!bench.is_done().await);
    bench.setup.cancel.cancel();
    bench.quiet().await;
    bench.setup.clock.advance(DRAIN);
    // The second call's result would have been the fourth event.
    assert_eq!(known(&bench.end().await.unwrap_err()), (vec!["c:1"], vec!["c:2"]));
}

/// Code of the host that panics where nothing contains it: when it is dropped.
struct Grenade {
    own: Mutex<Option<Attachment>>,
}

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

impl PreExecute for Grenade {
    fn decide<'a>(&'a self, call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        if number(&call.id) == 2 {
            // Takes itself off the pipeline, so that the calls under way hold the last references.
            drop(self.own.lock().unwrap().take());
        }
        next.decide()
    }
}

/// S-7, P-15
#[tokio::test]
async fn a_panic_in_an_ordered_part_ends_the_step_after_what_is_in_flight() {
    let setup = Setup::new(config());
    let grenade = Arc::new(Grenade { own: Mutex::new(None) });
    let attachment = setup.pipeline.add_pre(None, Arc::clone(&grenade) as _);
    *grenade.own.lock().unwrap() = Some(attachment);
    drop(grenade);
    let mut bench = setup.start(&["par", "now", "par"]);
    assert_eq!(bench.trace().await, "call 1, run 1, call 2, run 2, call 3, run 3");
    // The second call lets go of it when it is committed.
    bench.release(1, Reply::Value).await;
    assert!(!bench.is_done().await);
    bench.release(3, Reply::Value).await;
    let failure = bench.end().await.unwrap_err();
    assert_eq!(known(&failure), (vec!["c:1"], vec!["c:2", "c:3"]));
    assert!(matches!(failure.error, StepError::Panicked));
    assert_eq!(bench.trace().await, "rest 1, result 1, rest 3");
}

/// S-7: a dispatch that has vanished is no result.
#[tokio::test]
async fn a_dispatch_that_vanishes_is_a_failure_of_the_step() {
    let setup = Setup::new(config());
    let scheduler = setup.scheduler();
    let mut driver = Driver::new(&scheduler, setup.root(), calls(&["now"]));
    let request = CallRequest::new("c:1", "now", json!({}), "s".into());
    let prepared = Arc::new(setup.pipeline.prepare(request).await);
    let lost = AtRest { n: 0, prepared, result: None };
    let failure = driver.commit_at_rest(lost).await.unwrap_err();
    assert!(matches!(&failure, StepError::Lost { call } if call.as_str() == "c:1"), "{failure}");
    assert!(driver.results.is_empty() && setup.store.events().is_empty());
}

/// S-7: a tool, a policy or a model cannot make the scheduler fail.
#[tokio::test]
async fn a_tool_that_breaks_is_a_result_and_no_failure_of_the_step() {
    let setup = Setup::new(config());
    setup.register(setup.bodies.immediate("boom", Concurrency::Parallel, Reply::Panic)).keep();
    let mut bench = setup.start(&["boom", "now"]);
    assert_eq!(codes(&bench.outcome().await), ["TOOL_PANICKED", "ok"]);
}

/// S-1: with a store that has a thread, no result leaves before it is in the store.
#[tokio::test]
async fn every_result_is_in_the_store_when_the_step_ends() {
    for backlog in [1, 2, 10] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut setup = Setup::new(config());
        let options = LedgerOptions { backlog, ..LedgerOptions::default() };
        let store = Box::new(JsonLinesStore::open(&path, FsyncPolicy::Never).unwrap());
        setup.ledger = Ledger::new("s".into(), Arc::new(setup.clock.clone()), store, options).unwrap();
        let outcome = setup.scheduler().execute(setup.root(), calls(&["now"; 40])).await.unwrap();
        let events: Vec<_> = read_events(&path).unwrap().map(Result::unwrap).collect();
        check_ledger(&events, &outcome);
    }
}
