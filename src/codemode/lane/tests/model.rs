//! Every interleaving of a lane's two sides, in a model (CM-17, CM-21).
//!
//! Owns small runs of a program's thread and a driver's thread over one handle. A wake-up that is missed is a deadlock,
//! which the model reports with the order that led to it. Compiled under `--cfg isolane_loom` only; see
//! [`super::super::shared`] for how to run it.

use std::future::poll_fn;

use loom::future::block_on;
use loom::thread;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::shared::{LaneHandle, Settlement, SubmitError, Work};

/// The driver's part of the protocol: takes calls, settles them, and ends when the run does.
fn drive(handle: &LaneHandle) -> u64 {
    let mut launched = 0;
    loop {
        match block_on(poll_fn(|context| handle.poll_work(context, true))) {
            Work::Ended => return launched,
            Work::Call(queued) => {
                launched += 1;
                handle.settle(Settlement { n: queued.n, tool: queued.tool, result: Ok(Value::Null.into()) });
            }
        }
    }
}

fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Known to find what can be found in runs of this size, and done in seconds.
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn handle() -> LaneHandle {
    LaneHandle::new(8, 1_000, CancellationToken::new())
}

/// CM-17: each call reaches the driver and its outcome the program, whoever waits for whom. With room for one outcome,
/// the driver waits for the program as well.
#[test]
fn no_wake_up_is_missed_in_any_order() {
    model(|| {
        let handle = handle();
        let driver = {
            let handle = handle.clone();
            thread::spawn(move || drive(&handle))
        };
        for _ in 0..2 {
            handle.submit("tool".into(), json!({})).unwrap();
        }
        for n in 1..=2 {
            assert_eq!(block_on(poll_fn(|context| handle.poll_settled(context))).n, n);
        }
        handle.close();
        assert_eq!(driver.join().unwrap(), 2);
    });
}

/// CM-21: the end of a run reaches a driver that waits, and nothing is delivered after it.
#[test]
fn the_end_of_a_run_is_seen_in_any_order() {
    model(|| {
        let handle = handle();
        let driver = {
            let handle = handle.clone();
            thread::spawn(move || drive(&handle))
        };
        handle.submit("tool".into(), json!({})).unwrap();
        handle.close();
        assert_eq!(handle.submit("tool".into(), json!({})), Err(SubmitError::Closed));
        let in_time = u64::from(handle.take_settled().is_some());
        let launched = driver.join().unwrap();
        assert!(in_time <= launched);
        assert!(handle.take_settled().is_none(), "an ended run was given an outcome");
    });
}

/// CM-21: the same for a driver that waits for the end alone, while a step of its own is under way.
#[test]
fn a_step_that_waits_for_the_end_hears_of_it_in_any_order() {
    model(|| {
        let handle = handle();
        let driver = {
            let handle = handle.clone();
            thread::spawn(move || block_on(poll_fn(|context| handle.poll_ended(context))))
        };
        handle.close();
        driver.join().unwrap();
    });
}
