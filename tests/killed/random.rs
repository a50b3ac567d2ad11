//! Random points at which a process is killed, that can be had again.
//!
//! Owns the numbers, and how a failure tells where they came from. It kills nobody.

#![expect(clippy::print_stderr, reason = "the seed of a failure")]

/// Small and repeatable.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Tells with which seed it was, when the test fails.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// The one that was asked for, or any.
    pub(crate) fn new() -> Self {
        Self(number("ISOLANE_KILL_SEED").unwrap_or_else(|| getrandom::u64().unwrap()))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}; try it again with ISOLANE_KILL_SEED={}", self.0, self.0);
        }
    }
}

/// A number from the environment.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
