//! What a program took from outside of itself, in order (L-9).
//!
//! Owns how it is written down and read again: readings of the clock, outcomes as they were delivered, timers as they
//! fired. With the same of these, and the same seed, a program does the same. It knows no isolate and calls nobody.
//!
//! As text, tokens with a space between them: `c12` a reading 12 ms after the one before (or the start), `c0*7` seven
//! readings without any time between them, `s3` the outcome of call 3, `s4,5` those of two delivered together, `t2` timer
//! 2. A `?` says that there was more than is kept.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::iter::Peekable;
use std::str::{Chars, FromStr};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// Where a program's clock and chance begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The time of its start, as it reads it.
    pub at: Timestamp,
    /// What its random numbers are made from.
    pub seed: Seed,
    /// What it took when it ran before; absent for a program that runs for the first time.
    pub again: Option<Again>,
}

impl Origin {
    /// For a program that runs for the first time, with a seed that nobody can guess.
    pub fn new(at: Timestamp) -> Self {
        Self { at, seed: Seed::random(), again: None }
    }
}

/// What a program that runs again is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// What it took, in the order of the recording; see [`Inputs`].
    pub inputs: Vec<String>,
    /// Whether it goes on by itself from there (L-10), or was at its end (L-9).
    pub goes_on: bool,
}

/// How a program that runs again left its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stray {
    /// It took something else than it took the last time.
    Otherwise,
    /// It goes on where it had come to its end, or where it was interrupted.
    Further,
}

/// What the random numbers of a program are made from. As text, 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// One that nobody can guess; where the system has no randomness to give, all zeros.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::warn!(%error, "the random numbers of a program can be guessed");
        }
        Self(bytes)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It is worth as much as the secrets that a program makes from it.
        f.write_str("Seed(..)")
    }
}

/// A text that is no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a seed is 64 hexadecimal digits")]
pub struct SeedError;

impl FromStr for Seed {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(SeedError);
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).ok_or(SeedError)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| SeedError)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Seed {
    type Error = SeedError;

    fn try_from(text: String) -> Result<Self, SeedError> {
        text.parse()
    }
}

impl From<Seed> for String {
    fn from(seed: Seed) -> Self {
        seed.to_string()
    }
}

/// One thing that a program took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The clock, in milliseconds since the start of the run.
    Clock(u64),
    /// Outcomes that were delivered together, by the numbers of their calls.
    Settled(Vec<u64>),
    /// A timer fired, by its number.
    Timer(u64),
}

/// Most bytes of text that are kept between two calls; what a program took beyond that cannot be replayed.
const MOST_BYTES: usize = 64 * 1024;

/// And with the word that went past it, which may name the outcomes of a whole batch.
pub const MAX_INPUT_BYTES: usize = MOST_BYTES + 16 * 1024;

/// Writes down what a program takes.
#[derive(Debug, Default)]
pub struct InputRecorder {
    text: String,
    /// The last reading of the clock.
    clock: u64,
    /// Readings of the same time that are not written down yet.
    same: u64,
    full: bool,
}

impl InputRecorder {
    /// The clock was read, `millis` after the start of the run.
    pub fn clock(&mut self, millis: u64) {
        let passed = millis.saturating_sub(self.clock);
        if passed > 0 {
            self.flush();
            self.clock = millis;
            self.token(|text| write!(text, "c{passed}"));
        } else {
            self.same += 1;
        }
    }

    /// Outcomes were delivered together.
    pub fn settled(&mut self, calls: impl IntoIterator<Item = u64>) {
        self.flush();
        let calls: Vec<_> = calls.into_iter().map(|n| n.to_string()).collect();
        self.token(|text| write!(text, "s{}", calls.join(",")));
    }

    /// A timer fired.
    pub fn timer(&mut self, id: u64) {
        self.flush();
        self.token(|text| write!(text, "t{id}"));
    }

    /// What was written down since this was asked last.
    pub fn take(&mut self) -> String {
        self.flush();
        std::mem::take(&mut self.text)
    }

    fn flush(&mut self) {
        match std::mem::take(&mut self.same) {
            0 => {}
            1 => self.token(|text| text.write_str("c0")),
            times => self.token(|text| write!(text, "c0*{times}")),
        }
    }

    fn token(&mut self, write: impl FnOnce(&mut String) -> fmt::Result) {
        if self.full {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        if self.text.len() >= MOST_BYTES {
            self.full = true;
            self.text.push('?');
            return;
        }
        // Writing to a string cannot fail.
        let _ = write(&mut self.text);
    }
}

/// A text that says nothing of what a program took.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the program took cannot be read at byte {at}: {what}")]
pub struct InputError {
    /// Where, counted from 0.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// What a program took, to be given to it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    queue: VecDeque<(Input, u64)>,
    clock: u64,
    /// There was more, which was not kept.
    cut: bool,
}

impl Inputs {
    /// Reads texts in the order in which they were written.
    ///
    /// # Errors
    /// [`InputError`] with the place in the text that cannot be read.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, InputError> {
        let mut inputs = Self::default();
        let mut clock = 0;
        for text in texts {
            let mut at = 0;
            for token in text.split(' ').filter(|token| !token.is_empty()) {
                inputs.read_token(token, &mut clock).map_err(|what| InputError { at, what })?;
                at += token.len() + 1;
            }
        }
        Ok(inputs)
    }

    fn read_token(&mut self, token: &str, clock: &mut u64) -> Result<(), &'static str> {
        let mut rest = token.chars().peekable();
        let kind = rest.next();
        let (input, times) = match kind {
            Some('?') => {
                self.cut = true;
                return Ok(());
            }
            Some('c') => {
                *clock = clock.checked_add(number(&mut rest)?).ok_or("a time that is too late")?;
                let times = if rest.next_if_eq(&'*').is_some() { number(&mut rest)? } else { 1 };
                (Input::Clock(*clock), times)
            }
            Some('s') => {
                let mut calls = vec![number(&mut rest)?];
                while rest.next_if_eq(&',').is_some() {
                    calls.push(number(&mut rest)?);
                }
                (Input::Settled(calls), 1)
            }
            Some('t') => (Input::Timer(number(&mut rest)?), 1),
            _ => return Err("a word that is not known"),
        };
        if rest.next().is_some() {
            return Err("a word that goes on after its end");
        }
        if times > 0 && !self.cut {
            self.queue.push_back((input, times));
        }
        Ok(())
    }

    /// The next one, which stays.
    pub fn peek(&self) -> Option<&Input> {
        self.queue.front().map(|(input, _)| input)
    }

    /// Whether there was more than was kept.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

/// Each one is taken.
impl Iterator for Inputs {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        let (input, times) = self.queue.front_mut()?;
        *times = times.saturating_sub(1);
        if *times > 0 {
            return Some(input.clone());
        }
        self.queue.pop_front().map(|(input, _)| input)
    }
}

fn number(rest: &mut Peekable<Chars<'_>>) -> Result<u64, &'static str> {
    let mut value: Option<u64> = None;
    while let Some(digit) = rest.peek().and_then(|letter| letter.to_digit(10)) {
        rest.next();
        let next = value.unwrap_or(0).checked_mul(10).and_then(|value| value.checked_add(u64::from(digit)));
        value = Some(next.ok_or("a number that is too large")?);
    }
    value.ok_or("a word without its number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// L-9
    #[test]
    fn a_seed_is_read_as_it_is_written_and_is_not_shown() {
        let seed = Seed::random();
        assert_ne!(seed, Seed::random());
        assert_eq!(seed.to_string().parse(), Ok(seed));
        assert!(!format!("{seed:?}").contains(&seed.to_string()[..8]));
        for text in ["", "00", &"0".repeat(63), &"g".repeat(64), &"ä".repeat(32)] {
            assert_eq!(text.parse::<Seed>(), Err(SeedError), "{text}");
        }
    }

    /// L-9: readings that are alike are one word, and what is written is what is read.
    #[test]
    fn what_is_written_is_short_and_is_read_again() {
        let mut recorder = InputRecorder::default();
        for millis in [0, 0, 0, 3, 3, 10] {
            recorder.clock(millis);
        }
        recorder.settled([1]);
        let first = recorder.take();
        recorder.settled([2, 3]);
        recorder.timer(4);
        recorder.clock(10);
        let second = recorder.take();
        assert_eq!((first.as_str(), second.as_str()), ("c0*3 c3 c0 c7 s1", "s2,3 t4 c0"));
        assert_eq!(recorder.take(), "");
        let read: Vec<_> = Inputs::read([first.as_str(), second.as_str()]).unwrap().collect();
        let clock = |times: &[u64]| times.iter().copied().map(Input::Clock).collect::<Vec<_>>();
        let expected = [
            clock(&[0, 0, 0, 3, 3, 10]),
            vec![Input::Settled(vec![1]), Input::Settled(vec![2, 3]), Input::Timer(4)],
            clock(&[10]),
        ];
        assert_eq!(read, expected.concat());
    }

    /// L-9: text that says nothing is refused with its place.
    #[test]
    fn text_that_says_nothing_is_refused() {
        let refused = |text| Inputs::read([text]).unwrap_err().to_string();
        insta::assert_snapshot!(
            ["x", "c", "c1 s", "c1 s1,", "t1x", "c99999999999999999999", "s1 c18446744073709551615 c1"]
                .map(refused).join("\n"),
            @r"
        what the program took cannot be read at byte 0: a word that is not known
        what the program took cannot be read at byte 0: a word without its number
        what the program took cannot be read at byte 3: a word without its number
        what the program took cannot be read at byte 3: a word without its number
        what the program took cannot be read at byte 0: a word that goes on after its end
        what the program took cannot be read at byte 0: a number that is too large
        what the program took cannot be read at byte 25: a time that is too late
        "
        );
    }

    /// L-9: a program that takes without end costs a bounded text, which says that there was more.
    #[test]
    fn what_is_written_has_an_end() {
        let mut recorder = InputRecorder::default();
        (0..100_000).for_each(|id| recorder.timer(id));
        let text = recorder.take();
        assert!((MOST_BYTES..MOST_BYTES + 16).contains(&text.len()), "{}", text.len());
        assert!(Inputs::read([text.as_str()]).unwrap().is_cut());
    }

    fn input() -> impl Strategy<Value = Input> {
        prop_oneof![
            (0..5_u64).prop_map(Input::Clock),
            prop::collection::vec(1..9_u64, 1..4).prop_map(Input::Settled),
            (1..9_u64).prop_map(Input::Timer),
        ]
    }

    proptest! {
        /// L-9: whatever a program takes is read as it was, however it is cut into texts.
        #[test]
        fn any_inputs_come_back(steps in prop::collection::vec((input(), any::<bool>()), 0..60)) {
            let (mut recorder, mut texts, mut now) = (InputRecorder::default(), Vec::new(), 0);
            let mut expected = Vec::new();
            for (step, cut) in steps {
                let step = match step {
                    Input::Clock(passed) => { now += passed; Input::Clock(now) }
                    other => other,
                };
                match &step {
                    Input::Clock(millis) => recorder.clock(*millis),
                    Input::Settled(calls) => recorder.settled(calls.iter().copied()),
                    Input::Timer(id) => recorder.timer(*id),
                }
                expected.push(step);
                if cut { texts.push(recorder.take()); }
            }
            texts.push(recorder.take());
            let inputs = Inputs::read(texts.iter().map(String::as_str)).unwrap();
            prop_assert_eq!(inputs.collect::<Vec<_>>(), expected);
        }
    }
}
