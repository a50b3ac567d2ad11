//! The bounds of the file tools.
//!
//! Owns the numbers a host may set, with their defaults; the functions of the sibling modules obey them.
//! It must never read configuration itself.

/// Bounds that hold for every file tool, whatever its arguments say.
///
/// They bound work and memory of one call. They do not bound how many calls run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLimits {
    /// Largest file, in bytes, that is read, searched or written. Default 10 MiB.
    pub max_file_bytes: u64,
    /// Most lines that one `read` returns; each takes some 500 bytes on its way. Default 200,000.
    pub max_lines: usize,
    /// Most matches that one `grep` returns. Default 1,000.
    pub max_matches: usize,
    /// Most entries that one `list`, paths that one `glob`, or files that one counting `grep` returns.
    /// Default 10,000.
    pub max_entries: usize,
    /// Most directory entries that one walk looks at, ignored ones included. Default 1,000,000.
    pub max_visited: usize,
    /// Most characters of one line in a `grep` result; longer lines are cut around the match. Default 500.
    pub max_line_chars: usize,
    /// Most lines of context on each side of a `grep` match. Default 20.
    pub max_context: usize,
    /// Most bytes of text in the result of one `list`, `glob` or `grep`: paths, lines and context. Default 4 MiB.
    pub max_result_bytes: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 10 * 1024 * 1024,
            max_lines: 200_000,
            max_matches: 1_000,
            max_entries: 10_000,
            max_visited: 1_000_000,
            max_line_chars: 500,
            max_context: 20,
            max_result_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Longest path argument, in bytes.
pub(super) const MAX_PATH_BYTES: usize = 16 * 1024;

/// Longest glob, in bytes; it bounds the recursion of the glob compiler.
pub(super) const MAX_GLOB_BYTES: usize = 1024;

/// Most directories that one `write` creates.
pub(super) const MAX_NEW_DIRS: usize = 64;

/// What a caller asked for, at most what the host allows.
pub(super) fn clamp(asked: Option<u64>, allowed: usize) -> usize {
    asked.map_or(allowed, |asked| usize::try_from(asked).unwrap_or(usize::MAX).min(allowed))
}
