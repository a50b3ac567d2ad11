//! How much memory the benchmark's process has.
//!
//! Owns the reading of Linux's own figure. It measures nothing else.

/// What is resident, in KiB; 0 where the system does not say.
pub(crate) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default()
}
