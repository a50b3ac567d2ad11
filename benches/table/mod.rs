//! The table that the benchmarks print.
//!
//! Owns how times are put in order and spelled. It measures nothing.

use std::time::Duration;

use isolane::clock::{Clock, SystemClock};

/// The names of the columns.
pub(crate) fn heading() {
    println!("{:<58} {:>10} {:>10}", "figure", "p50", "p99");
}

/// Median and 99th percentile of single measurements.
pub(crate) fn row(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let index = ((times.len() - 1) as f64 * share).round() as usize;
        times[index]
    };
    println!("{name:<58} {:>10} {:>10}", show(at(0.5)), show(at(0.99)));
}

/// The time that has passed.
pub(crate) fn since(clock: &SystemClock, begun: Duration) -> Duration {
    clock.monotonic().saturating_sub(begun)
}

fn show(time: Duration) -> String {
    if time < Duration::from_millis(1) {
        format!("{:.2} us", time.as_secs_f64() * 1e6)
    } else {
        format!("{:.2} ms", time.as_secs_f64() * 1e3)
    }
}
