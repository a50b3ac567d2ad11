//! Many hostile runs and many honest ones through one runtime, several at a time (E-2, E-3, E-8).
//!
//! Owns the mixing and the counting of what is left: children, descriptors, threads, memory. The programs are those of the
//! hostile suite. By default a hundred of each; `ISOLANE_SOAK=2000 cargo test --test it boxed::soak -- --nocapture` has
//! 2,000 of each and prints the figures.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use isolane::clock::{Clock, SystemClock};
use isolane::engine::ProcessRuntime;
use isolane::limits::RunLimits;

use crate::boxed::{Program, host_on, resident, wait_until};
use crate::hostile::{HONEST, HONEST_OUTCOME, cheap, messages};
use crate::support::{alone, said, small_limits};

/// Runs at the same time.
const AT_ONCE: usize = 4;

fn entries(of: &str) -> usize {
    fs::read_dir(of).unwrap().count()
}

/// Descriptors and threads of this process.
fn held() -> (usize, usize) {
    (entries("/proc/self/fd"), entries("/proc/self/task"))
}

/// So many hostile runs and as many honest ones, each with its right outcome.
async fn mix(program: &Program, runtime: &ProcessRuntime, of_each: usize) {
    let mut honest = small_limits();
    (honest.busy, honest.wall) = (RunLimits::default().busy, RunLimits::default().wall);
    let (rows, next, wrong) = (cheap(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = (0..AT_ONCE).map(|_| async {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= of_each {
                return;
            }
            // Its ledger goes with it.
            let host = host_on(runtime, &small_limits());
            // A stride that is prime to any number of rows: each kind comes early.
            let (limits, (class, code, expected)) = &rows[n * 97 % rows.len()];
            let (actual, expected) =
                (said(&host.run_limited(code, limits.clone()).await), messages(expected));
            if actual != expected {
                wrong
                    .lock()
                    .unwrap()
                    .push(format!("{class}: {code}\n  expected {expected}\n  actual   {actual}"));
            }
            let actual = said(&host.run_limited(HONEST, honest.clone()).await);
            if actual != HONEST_OUTCOME {
                wrong.lock().unwrap().push(format!("after {class}: {code}\n  the honest program: {actual}"));
            }
            assert!(program.children().len() <= AT_ONCE + 2, "{:?}", program.children());
        }
    });
    futures_util::future::join_all(workers).await;
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} were wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// E-2, E-3, E-8: nothing adds up.
#[test]
fn many_runs_leave_nothing_behind() {
    if !alone("boxed::soak::many_runs_leave_nothing_behind") {
        return;
    }
    let of_each = std::env::var("ISOLANE_SOAK").map_or(100, |text| text.parse().unwrap());
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let program = Program::isolane();
    let mut options = program.options(&small_limits());
    (options.max_children, options.max_idle, options.runs_per_child) = (AT_ONCE + 2, 2, 20);
    let (begun, clock) = (held(), SystemClock::new());
    let runtime = ProcessRuntime::new(options).unwrap();
    // What is made once is made now.
    tokio.block_on(mix(&program, &runtime, 10.min(of_each)));
    let (warm, since) = (resident(), clock.monotonic());
    tokio.block_on(mix(&program, &runtime, of_each));
    let (end, took) = (resident(), clock.monotonic().saturating_sub(since));
    assert!(wait_until(|| program.children().len() <= 3), "{:?}", program.children());
    drop(runtime);
    program.wait(<[_]>::is_empty);
    assert!(wait_until(|| held() == begun), "descriptors and threads were {begun:?} and are {:?}", held());
    let grown = end.saturating_sub(warm) >> 10;
    println!(
        "{of_each} hostile and {of_each} honest runs in {took:?}; memory {} KiB, grown by {grown} KiB; descriptors and \
         threads {begun:?}, as before",
        end >> 10
    );
    // What allocators keep for later differs from run to run.
    assert!(grown <= 16 * 1024, "memory has grown by {grown} KiB");
}
