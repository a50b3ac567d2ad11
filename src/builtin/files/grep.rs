//! The `grep` tool.
//!
//! Owns which files are searched and what the result holds (B-1). Every file is searched through its own
//! descriptor; [`super::walk`] decides what is visited and [`super::sink`] what a file contributes.
//! It must never leave out anything without saying so: `truncated` and `skipped` tell.

use std::collections::VecDeque;
use std::io::Read as _;

use globset::GlobSet;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::FILE;
use super::error::FileError;
use super::glob::compile;
use super::limits::{FileLimits, clamp};
use super::open::{Opened, Regular, classify, open_any};
use super::root::Root;
use super::sink::FileSink;
use super::walk::{EntryKind, Walk, WalkOptions, as_path, show};

/// Largest compiled form of a pattern, in bytes.
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;

/// Arguments of `grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one argument of the tool")]
pub struct GrepArgs {
    /// Regular expression that a line must match somewhere (syntax of the Rust `regex` crate: no
    /// look-around, no back-references). Matches never span lines.
    pub pattern: String,
    /// File or directory to search, relative to the root. Default: the root.
    pub path: Option<String>,
    /// Search only files that match this glob: one without `/` is matched against the name, as `*.rs`;
    /// one with `/` against the path below `path`, as `src/**/*.rs`.
    pub glob: Option<String>,
    /// Take `pattern` as plain text instead of a regular expression.
    #[serde(default)]
    pub literal: bool,
    /// Ignore upper and lower case.
    #[serde(default)]
    pub case_insensitive: bool,
    /// Lines of context before and after each match. Default: 0.
    pub context: Option<u64>,
    /// Most matches, or files when counting, to return. Default: as many as the host allows.
    pub limit: Option<u64>,
    /// What to return. Default: `matches`.
    #[serde(default)]
    pub mode: GrepMode,
    /// Search names that start with a dot too.
    #[serde(default)]
    pub hidden: bool,
    /// Search what `.gitignore` and `.ignore` files leave out too, and `.git`.
    #[serde(default)]
    pub ignored: bool,
}

/// What `grep` returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepMode {
    /// The matching lines, in `matches`.
    #[default]
    Matches,
    /// Only how many lines match in each file, in `counts`.
    Count,
    /// Only how many matches there are in each file, in `counts`; a line may hold several.
    CountMatches,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepOutput {
    /// The matching lines, sorted by path and line; empty when counting.
    pub matches: Vec<GrepMatch>,
    /// Files with matching lines, sorted by path; empty unless counting.
    pub counts: Vec<FileCount>,
    /// Files that were searched, with or without a match.
    pub files_searched: u64,
    /// What should have been searched and was not.
    pub skipped: GrepSkipped,
    /// Whether matches or files are missing because there are too many.
    pub truncated: bool,
    /// Paths in the result whose names are not UTF-8: they show U+FFFD and cannot be opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lossy_paths: Vec<String>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepMatch {
    /// File, relative to the root.
    pub path: String,
    /// Line number, counted from 1.
    #[schemars(range(min = 1))]
    pub line: u64,
    /// Where in the line the first match starts, in characters counted from 1.
    #[schemars(range(min = 1))]
    pub column: u64,
    /// The line without its line ending; bytes that are not UTF-8 show as U+FFFD.
    pub text: String,
    /// Set when `text` is only the part of a long line around the match.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The lines before it, if `context` was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The lines after it, if `context` was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// How many lines of a file match, or how many matches it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCount {
    /// File, relative to the root.
    pub path: String,
    /// Matching lines, or matches, at least 1.
    #[schemars(range(min = 1))]
    pub count: u64,
}

/// What was not searched, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrepSkipped {
    /// Files that are not text: a NUL byte was found.
    pub binary: u64,
    /// Files larger than the host allows.
    pub too_large: u64,
    /// Files and directories that could not be read, or vanished.
    pub unreadable: u64,
}

/// Searches files for lines that match (B-1).
///
/// # Errors
/// [`FileError`] when the pattern or the glob is invalid, the path is refused (B-3) or names nothing that
/// can be searched, or on cancellation.
pub fn grep(
    root: &Root,
    args: &GrepArgs,
    limits: &FileLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<GrepOutput, FileError> {
    let mut search = Search::new(args, limits)?;
    let filter = args.glob.as_deref().map(Filter::new).transpose()?;
    let start = root.target("path", args.path.as_deref().unwrap_or("."))?;
    if let Opened::File(file) = open_any(root, &start)? {
        let bytes = u64::try_from(file.stat.st_size).unwrap_or(0);
        let limit = limits.max_file_bytes;
        if bytes > limit {
            return Err(FileError::TooLarge { path: start.given().to_owned(), bytes, limit });
        }
        let name = start.rel().rsplit('/').next().unwrap_or_default();
        if filter.is_none_or(|filter| filter.globs.is_match(name)) {
            search.file(&file, start.rel().as_bytes());
        }
        return Ok(search.output);
    }
    let options = WalkOptions {
        hidden: args.hidden,
        ignored: args.ignored,
        max_depth: usize::MAX,
        max_visited: limits.max_visited,
    };
    let mut walk = Walk::start(root, &start, options, cancelled)?;
    while let Some(kind) = walk.next()? {
        if kind != EntryKind::File || filter.as_ref().is_some_and(|filter| !filter.passes(&walk)) {
            continue;
        }
        let file = walk.open(FILE).ok().and_then(|file| classify(file, "").ok());
        match file {
            Some(Opened::File(file)) => search.file(&file, walk.path()),
            Some(Opened::Dir) | None => search.output.skipped.unreadable += 1,
        }
        if search.output.truncated {
            break;
        }
    }
    search.output.skipped.unreadable += walk.unreadable;
    search.output.truncated |= walk.truncated;
    Ok(search.output)
}

/// Which files a glob lets through.
struct Filter {
    globs: GlobSet,
    by_name: bool,
}

impl Filter {
    fn new(glob: &str) -> Result<Self, FileError> {
        Ok(Self { globs: compile(glob.strip_prefix("./").unwrap_or(glob))?, by_name: !glob.contains('/') })
    }

    fn passes(&self, walk: &Walk<'_>) -> bool {
        if !self.by_name {
            return self.globs.is_match(walk.path_below_start());
        }
        let name = walk.path().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        self.globs.is_match(as_path(name))
    }
}

/// A search in progress.
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    limits: &'a FileLimits,
    mode: GrepMode,
    context: u64,
    room: usize,
    bytes_left: usize,
    output: GrepOutput,
}

impl<'a> Search<'a> {
    fn new(args: &GrepArgs, limits: &'a FileLimits) -> Result<Self, FileError> {
        let counting = args.mode != GrepMode::Matches;
        let context = if counting { 0 } else { clamp(args.context.or(Some(0)), limits.max_context) };
        let matcher = compile_regex(args)?;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(context)
            .after_context(context)
            .build();
        Ok(Self {
            matcher,
            searcher,
            limits,
            mode: args.mode,
            context: context as u64,
            room: clamp(args.limit, if counting { limits.max_entries } else { limits.max_matches }),
            bytes_left: limits.max_result_bytes,
            output: GrepOutput::default(),
        })
    }

    fn file(&mut self, file: &Regular, path: &[u8]) {
        let limit = self.limits.max_file_bytes;
        if u64::try_from(file.stat.st_size).is_ok_and(|size| size > limit) {
            self.output.skipped.too_large += 1;
            return;
        }
        let (path, lossy) = show(path);
        let mut sink = FileSink {
            matcher: &self.matcher,
            path: &path,
            context: self.context,
            max_line_chars: self.limits.max_line_chars,
            mode: self.mode,
            room: self.room,
            bytes_left: self.bytes_left,
            matches: Vec::new(),
            count: 0,
            recent: VecDeque::new(),
            full: false,
            binary: false,
        };
        let mut input = (&file.file).take(limit.saturating_add(1));
        let result = self.searcher.search_reader(&self.matcher, &mut input, &mut sink);
        let skipped = &mut self.output.skipped;
        let reason = match result {
            Err(_) => Some(&mut skipped.unreadable),
            Ok(()) if sink.binary => Some(&mut skipped.binary),
            // It grew while it was read, or did not state its size.
            Ok(()) if input.limit() == 0 => Some(&mut skipped.too_large),
            Ok(()) => None,
        };
        if let Some(reason) = reason {
            *reason += 1;
            return;
        }
        let FileSink { room, bytes_left, matches, count, full, .. } = sink;
        self.output.files_searched += 1;
        self.output.truncated |= full;
        if count == 0 {
            return;
        }
        if self.mode == GrepMode::Matches {
            self.room = room;
            self.bytes_left = bytes_left;
            self.output.matches.extend(matches);
        } else {
            let Some(room) = room.checked_sub(1).filter(|_| bytes_left > 0) else {
                self.output.truncated = true;
                return;
            };
            self.room = room;
            self.bytes_left = bytes_left.saturating_sub(path.len());
            self.output.counts.push(FileCount { path: path.clone(), count });
        }
        if lossy {
            self.output.lossy_paths.push(path);
        }
    }
}

fn compile_regex(args: &GrepArgs) -> Result<RegexMatcher, FileError> {
    let fail = |message: String| FileError::Pattern { pattern: args.pattern.clone(), message };
    if !args.literal {
        // The matcher puts a group around the pattern, which moves the positions in its errors and makes
        // `a)(b` valid: the pattern has to be valid by itself.
        regex_syntax::parse(&args.pattern).map_err(|error| fail(syntax_problem(&args.pattern, &error)))?;
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .crlf(true)
        .case_insensitive(args.case_insensitive)
        .fixed_strings(args.literal)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build(&args.pattern)
        .map_err(|error| fail(error.to_string()))
}

/// What is wrong with a pattern. The library's text shows all of it; of a long one the place must do.
fn syntax_problem(pattern: &str, error: &regex_syntax::Error) -> String {
    const SHOWN: usize = 1_000;
    if pattern.len() <= SHOWN {
        return error.to_string();
    }
    match error {
        regex_syntax::Error::Parse(error) => {
            format!("{} at byte {}", error.kind(), error.span().start.offset)
        }
        regex_syntax::Error::Translate(error) => {
            format!("{} at byte {}", error.kind(), error.span().start.offset)
        }
        _ => "the pattern is not valid".to_owned(),
    }
}
