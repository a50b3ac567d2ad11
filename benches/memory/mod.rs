//! How much memory processes have.
//!
//! Owns the reading of Linux's own figure. It measures nothing else.

use std::fs::read_to_string;

/// What a process has for itself alone, in KiB; 0 where the system does not say.
pub(crate) fn private_kib(pid: u32) -> u64 {
    let map = read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    sum(&map, |key| key.starts_with("Private_"))
}

/// Lines such as `VmRSS:   1234 kB`.
fn sum(text: &str, wanted: impl Fn(&str) -> bool) -> u64 {
    let fields = text.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| wanted(key));
    fields.filter_map(|(_, value)| value.split_whitespace().next()?.parse::<u64>().ok()).sum()
}
