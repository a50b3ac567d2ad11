//! Waiting awake, where the other side is about to answer.
//!
//! Owns the decision whether a short wait is worth a processor: to sleep and to be woken costs more than most tools take
//! that do nothing but compute. It never waits awake for long, never where it has just been in vain, and never on a
//! machine with one processor. It calls nobody.

use std::time::Duration;

use crate::clock::{Clock, SystemClock};

/// How long one wait may be awake. Waking a thread on another processor takes up to this.
const AWAKE: Duration = Duration::from_micros(50);

/// A sleep that was no longer than this, the time to be woken included, would have been worth waiting awake.
const BRIEF: Duration = Duration::from_micros(150);

/// After so many vain waits in a row, being awake costs no more than one part in a thousand.
const MOST_DOUBLINGS: u32 = 10;

/// How long the waits of one run may be awake together.
pub(super) const MOST_AWAKE: Duration = Duration::from_secs(3);

/// How one look at what is waited for is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It does not wait.
    Awake,
    /// It sleeps first.
    Asleep,
}

/// The waits of one thread for one other.
pub(super) struct Spin {
    clock: SystemClock,
    several_processors: bool,
    /// Brief sleeps that are to come before the next wait is awake.
    distrust: u32,
    /// Vain waits in a row.
    vain: u32,
    /// What is left to be awake.
    left: Duration,
}

impl Spin {
    /// To be made before a process gives up the right to ask how many processors there are.
    pub(super) fn new() -> Self {
        let several_processors = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        Self { clock: SystemClock::new(), several_processors, distrust: 1, vain: 0, left: MOST_AWAKE }
    }

    /// A new run begins.
    pub(super) fn renew(&mut self) {
        self.left = MOST_AWAKE;
    }

    /// Waits until `look` finds something, awake for a moment if that is promising, and then in one sleep.
    pub(super) fn wait(&mut self, mut look: impl FnMut(Look) -> bool) {
        if self.several_processors && self.distrust == 0 && !self.left.is_zero() {
            if !self.awake(|| look(Look::Awake)) {
                look(Look::Asleep);
            }
            return;
        }
        let begun = self.clock.monotonic();
        look(Look::Asleep);
        if self.clock.monotonic().saturating_sub(begun) <= BRIEF {
            self.distrust = self.distrust.saturating_sub(1);
        }
    }

    /// Whether it came while this waited awake.
    fn awake(&mut self, mut come: impl FnMut() -> bool) -> bool {
        let begun = self.clock.monotonic();
        loop {
            let come = come();
            let awake = self.clock.monotonic().saturating_sub(begun);
            if come || awake >= AWAKE {
                self.left = self.left.saturating_sub(awake);
                // Where others want the processors, whoever yields one waits long for the next turn: a sleeper is woken
                // before that.
                let served = come && awake < AWAKE.saturating_mul(2);
                self.vain = if served { 0 } else { (self.vain + 1).min(MOST_DOUBLINGS) };
                self.distrust = if served { 0 } else { 1 << self.vain };
                return come;
            }
            // Where there is no other processor for the other side, it has this one.
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin() -> Spin {
        Spin { several_processors: true, distrust: 0, ..Spin::new() }
    }

    /// E-11: what is about to come is waited for without a sleep.
    #[test]
    fn what_comes_at_once_costs_no_sleep() {
        let mut spin = spin();
        for _ in 0..3 {
            let mut looks = 0;
            spin.wait(|look| {
                assert_eq!(look, Look::Awake);
                looks += 1;
                looks == 2
            });
        }
    }

    /// E-11: a slow tool does not cost a processor.
    #[test]
    fn what_does_not_come_is_slept_for_and_less_and_less_waited_for_awake() {
        let mut spin = spin();
        let mut sleeps = 0;
        for _ in 0..5_000 {
            // No sleep at all is a brief one: the worst that can mislead.
            spin.wait(|look| {
                sleeps += u32::from(look == Look::Asleep);
                false
            });
        }
        assert_eq!(sleeps, 5_000);
        assert_eq!(spin.vain, MOST_DOUBLINGS);
        let (awake_before, mut awake) = (spin.left, false);
        for _ in 0..spin.distrust {
            spin.wait(|look| {
                awake |= look == Look::Awake;
                false
            });
        }
        assert!(!awake && spin.left == awake_before);
    }

    /// E-7: what a child waits awake is bounded, so that its processor time still tells what the program took.
    #[test]
    fn a_run_waits_awake_for_a_bounded_time() {
        let mut spin = spin();
        spin.left = Duration::from_nanos(1);
        let mut last = Look::Asleep;
        let mut wait = |spin: &mut Spin| {
            spin.wait(|look| {
                last = look;
                true
            });
            last
        };
        assert_eq!(wait(&mut spin), Look::Awake);
        assert_eq!(wait(&mut spin), Look::Asleep);
        spin.renew();
        assert_eq!(wait(&mut spin), Look::Awake);
    }
}
