//! Single values on the command line.
//!
//! Owns how times and sizes are written. It never decides what a value is for; a message says how to write it.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The smallest heap that V8 starts in, in MiB.
const MIN_HEAP_MIB: usize = 8;

/// The largest heap that makes sense: V8 compresses no pointers here, and nothing needs more.
const MAX_HEAP_MIB: usize = 64 * 1024;

const MIB: usize = 1024 * 1024;

/// Reads a time: numbers with units, as `10s`, `500ms`, `1.5s` or `1m30s`. It must be longer than 0.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(time_form());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |character| !character.is_ascii_digit() && character != '.');
        let (unit, after) =
            split_where(after, |character| character.is_ascii_digit() || character.is_whitespace());
        let seconds_per_unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(time_form()),
        };
        let number: f64 = number.parse().map_err(|_| time_form())?;
        let part = Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| too_long())?;
        total = total.checked_add(part).ok_or_else(too_long)?;
        rest = after.trim_start();
    }
    if total < Duration::from_millis(1) {
        return Err("the shortest time is 1ms".to_owned());
    }
    // Longer than anybody waits, and far from where sums of times overflow.
    if total > Duration::from_secs(366 * 24 * 3600) {
        return Err(too_long());
    }
    Ok(total)
}

fn time_form() -> String {
    "write a number with a unit (ms, s, m, h), as 10s, 500ms or 1m30s".to_owned()
}

fn too_long() -> String {
    "the longest time is a year".to_owned()
}

/// Reads a size in bytes: a number, with `KiB`, `MiB` or `GiB` (or `k`, `m`, `g`) after it for larger ones.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = split_where(text.trim(), |character| !character.is_ascii_digit());
    let unit = unit.trim().to_ascii_lowercase();
    let factor = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1024,
        "m" | "mib" => MIB,
        "g" | "gib" => 1024 * MIB,
        _ => return Err(size_form()),
    };
    let number: usize = number.parse().map_err(|_| size_form())?;
    number.checked_mul(factor).ok_or_else(|| "the size is too large".to_owned())
}

fn size_form() -> String {
    "write a number of bytes, as 65536, or with a unit, as 64KiB or 1MiB".to_owned()
}

/// Reads the size of a heap in MiB, in whole numbers.
pub(super) fn heap(text: &str) -> Result<usize, String> {
    let number: usize = text.trim().parse().map_err(|_| "write a whole number of MiB, as 256".to_owned())?;
    if (MIN_HEAP_MIB..=MAX_HEAP_MIB).contains(&number) {
        Ok(number)
    } else {
        Err(format!("a heap has {MIN_HEAP_MIB} to {MAX_HEAP_MIB} MiB"))
    }
}

/// Reads a whole number.
pub(super) fn count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "write a whole number, as 1000".to_owned())
}

/// Reads a whole number that is not 0.
pub(super) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.trim().parse().map_err(|_| "write a whole number, at least 1".to_owned())
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}
