//! The `glob` tool.
//!
//! Owns what a glob means. It must never open a file; [`super::walk`] decides what is visited.

use globset::{GlobBuilder, GlobSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::limits::{FileLimits, MAX_GLOB_BYTES};
use super::root::Root;
use super::walk::{EntryKind, Walk, WalkOptions, is_zero, show};

/// Arguments of `glob`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobArgs {
    /// Glob that the path relative to `path` must match. `*` and `?` do not match `/`; `**/*.rs` matches
    /// at every depth, `*.rs` only directly in `path`. `[ab]` and `{a,b}` are alternatives.
    pub pattern: String,
    /// Directory to search, relative to the root. Default: the root.
    pub path: Option<String>,
    /// Search names that start with a dot too. Implied by a pattern with such a name, as `.github/*`.
    #[serde(default)]
    pub hidden: bool,
    /// Search what `.gitignore` and `.ignore` files leave out too, and `.git`.
    #[serde(default)]
    pub ignored: bool,
    /// Most paths to return. Default: as many as the host allows.
    pub limit: Option<u64>,
}

/// Files whose path matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlobOutput {
    /// Paths of regular files relative to the root, sorted.
    pub paths: Vec<String>,
    /// Whether paths are missing because there are too many.
    pub truncated: bool,
    /// Those of `paths` whose names are not UTF-8: they show U+FFFD and cannot be opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lossy_paths: Vec<String>,
    /// Directories that could not be read, whose files are missing; absent when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
}

/// Finds files by a glob (B-1).
///
/// # Errors
/// [`FileError`] when the glob is invalid, the path is refused (B-3) or names no directory, or on
/// cancellation.
pub fn glob(
    root: &Root,
    args: &GlobArgs,
    limits: &FileLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<GlobOutput, FileError> {
    let pattern = args.pattern.strip_prefix("./").unwrap_or(&args.pattern);
    let matcher = compile(pattern)?;
    let start = root.target("path", args.path.as_deref().unwrap_or("."))?;
    let names_hidden = pattern.split('/').any(|part| part.starts_with('.'));
    let options = WalkOptions {
        hidden: args.hidden || names_hidden,
        ignored: args.ignored,
        max_depth: usize::MAX,
        max_visited: limits.max_visited,
    };
    let limit = super::limits::clamp(args.limit, limits.max_entries);
    let mut walk = Walk::start(root, &start, options, cancelled)?;
    let mut output =
        GlobOutput { paths: Vec::new(), truncated: false, lossy_paths: Vec::new(), unreadable: 0 };
    let mut bytes_left = limits.max_result_bytes;
    while let Some(kind) = walk.next()? {
        if kind != EntryKind::File || !matcher.is_match(walk.path_below_start()) {
            continue;
        }
        if output.paths.len() >= limit || bytes_left == 0 {
            output.truncated = true;
            break;
        }
        bytes_left = bytes_left.saturating_sub(walk.path().len());
        let (path, lossy) = show(walk.path());
        if lossy {
            output.lossy_paths.push(path.clone());
        }
        output.paths.push(path);
    }
    output.truncated |= walk.truncated;
    output.unreadable = walk.unreadable;
    Ok(output)
}

/// Compiles a glob whose wildcards do not match `/`.
pub(super) fn compile(pattern: &str) -> Result<GlobSet, FileError> {
    let fail = |message: String| FileError::Glob { pattern: pattern.to_owned(), message };
    if pattern.is_empty() {
        return Err(fail("it is empty".to_owned()));
    }
    if pattern.len() > MAX_GLOB_BYTES {
        return Err(FileError::Glob {
            pattern: pattern.chars().take(32).chain("...".chars()).collect(),
            message: format!("it is longer than {MAX_GLOB_BYTES} bytes"),
        });
    }
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err(fail("globs are matched against paths below `path`: no leading `/`, no `..`".to_owned()));
    }
    let mut globs = GlobSet::builder();
    // The library's text names the glob again; its kind alone is the reason.
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    globs.add(glob.map_err(|error| fail(error.kind().to_string()))?);
    // A set of one: unlike the matcher of a single glob, building it reports what is too large.
    globs.build().map_err(|error| fail(error.kind().to_string()))
}
