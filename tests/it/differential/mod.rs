//! Random programs in V8 against a reference model of the language and of the lane (5.3 to 5.5, L-1 to L-5).
//!
//! Owns how many there are, which seeds they have, and what is shown of one that differs. `harness` has the rest; the
//! fuzz target `programs` has the same programs without an engine.
//!
//! `ISOLANE_DIFFERENTIAL` says how many programs run in each isolation instead of 200, and `ISOLANE_DIFFERENTIAL_SEED`
//! which seed is the first.

mod harness;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use harness::interpreted::Interpreted;
use harness::{Bounds, Case, Source, play, verdict};
use isolane::clock::{Clock, SystemClock};
use isolane::codemode::CodeRuntime;
use isolane::limits::RunLimits;

use crate::support::{Isolation, runtime};

const BOUNDS: Bounds = Bounds { size: 24, time: true };

/// How long a smaller program is looked for that differs as well.
const SHRINKING: Duration = Duration::from_secs(20);

/// Enough choices for any program of that size.
const BYTES: usize = 1_024;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// The bytes of a seed: SplitMix64.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..len.div_ceil(8)).flat_map(|_| next().to_le_bytes()).take(len).collect()
}

/// What differs, with both traces.
async fn differs(case: &Case, runtime: &Arc<dyn CodeRuntime>) -> Option<String> {
    let seen = play::play(case, Arc::clone(runtime)).await;
    let problem = verdict::judge(case, &seen).err()?;
    let mut text = format!("{problem}\n\n{case}\nseen events\n");
    for event in &seen.events {
        let _ = writeln!(text, "{}", serde_json::to_string(event).unwrap());
    }
    let _ = writeln!(text, "seen lines {:?}\nseen end {:?}", seen.outcome.logs, seen.outcome.result);
    let _ = writeln!(text, "seen notes {:?}\nseen report {:#?}", seen.outcome.notes, seen.outcome.sub_calls);
    Some(text)
}

/// Runs the programs of many seeds; the first one that differs is made smaller and shown.
async fn compare(place: &str, bounds: Bounds, runtime: impl Fn(&Case) -> Arc<dyn CodeRuntime>) {
    let first = setting("ISOLANE_DIFFERENTIAL_SEED", 1);
    for seed in first..first + setting("ISOLANE_DIFFERENTIAL", 200) {
        let case = Case::new(&bytes(seed, BYTES), bounds);
        let Some(mut shown) = differs(&case, &runtime(&case)).await else { continue };
        let clock = SystemClock::new();
        let mut least = (bounds.size, BYTES);
        for size in 1..=bounds.size {
            for len in (8..=BYTES).step_by(8).take_while(|len| *len < 8 * size + 64) {
                let smaller = Case::new(&bytes(seed, len), Bounds { size, ..bounds });
                if clock.monotonic() < SHRINKING
                    && smaller.program.text().len() < case.program.text().len()
                    && least == (bounds.size, BYTES)
                    && let Some(text) = differs(&smaller, &runtime(&smaller)).await
                {
                    (shown, least) = (text, (size, len));
                }
            }
        }
        panic!("seed {seed}, size {}, {} bytes of choices, {place}: {shown}", least.0, least.1);
    }
}

async fn compare_in(isolation: Isolation) {
    let (runtime, _threads) = runtime(isolation, &RunLimits::default());
    compare(&format!("{isolation:?}"), BOUNDS, |_| Arc::clone(&runtime)).await;
}

/// CM-17, CM-18, CM-19, CM-20, CM-21, CM-31, L-2, L-5: the lane alone, with the model of the language in the place of
/// an engine.
#[tokio::test]
async fn programs_do_without_an_engine_what_the_rules_say() {
    let bounds = Bounds { time: false, ..BOUNDS };
    compare("no engine", bounds, |case| Arc::new(Interpreted(Arc::clone(&case.program)))).await;
}

/// CM-13, CM-16, CM-17, CM-18, CM-19, CM-20, CM-21, CM-23, CM-24, CM-25, CM-31, L-2, L-5
#[tokio::test]
async fn programs_do_in_the_process_what_the_rules_say() {
    compare_in(Isolation::InProcess).await;
}

/// CM-13, CM-16, CM-17, CM-18, CM-19, CM-20, CM-21, CM-23, CM-24, CM-25, CM-31, L-2, L-5
#[tokio::test]
async fn programs_do_in_children_what_the_rules_say() {
    compare_in(Isolation::Process).await;
}

/// For the rules, see CM-17 to CM-25: the programs have what they are to have. A generator that forgets a part tests
/// nothing of it.
#[test]
fn the_programs_are_of_every_kind() {
    let mut texts = String::new();
    let mut endings = Vec::new();
    for seed in 1..=400 {
        let case = Case::new(&bytes(seed, BYTES), BOUNDS);
        texts.push_str(&case.to_string());
        endings.push(format!("{:?}", case.plan.ending));
    }
    for part in [
        "Promise.all(",
        "Promise.allSettled(",
        "Promise.race(",
        "Promise.any(",
        "for (",
        "helper0()",
        "try {",
        "finally",
        "setTimeout",
        "NaN",
        "tools as any",
        "tools.denied",
        "tools.alone",
        ".map(async",
        "Expire",
        "Cancel",
        "Fail",
        "max_parallel: 1,",
        "in_order: true",
    ] {
        assert!(texts.contains(part), "{part}");
    }
    for ending in ["Value", "Deadlock", "CallLimit", "Cancelled", "Wall", "true)", "false)"] {
        let many = endings.iter().filter(|it| it.contains(ending)).count();
        assert!(many > 0, "{ending}");
    }
    assert_eq!(Source::new(&[]).below(3), 0);
}
