//! What can go wrong with a file tool.
//!
//! Owns [`FileError`] and its texts, which a model reads and acts on: each names the path as it was given
//! and, where there is one, the next step. It must never carry the root's own path or any path outside it.

use std::fmt;
use std::path::PathBuf;

/// Why a file tool did not do what it was asked.
///
/// `path` is always the path as it was given in the arguments; other paths are relative to the root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The root could not be opened. For the host; a model never sees it.
    #[error("cannot open the root `{}`: {source}", path.display())]
    Root {
        /// The path the host gave.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An argument that its type allows but the tool does not.
    #[error("the argument at /{argument} {rule}")]
    Argument {
        /// Name of the argument.
        argument: &'static str,
        /// What must hold of it, and what to do.
        rule: &'static str,
    },
    /// B-3: the path leaves the root.
    #[error("`{path}` at /{argument} is outside the root; give a path relative to the root")]
    OutsideRoot {
        /// Name of the argument.
        argument: &'static str,
        /// The path as given.
        path: String,
    },
    /// B-3: a component of the path is a symbolic link.
    #[error(
        "`{path}` is refused: `{link}` is a symbolic link, and links are not followed; name the real file"
    )]
    Symlink {
        /// The path as given.
        path: String,
        /// The part of it that is a link.
        link: String,
    },
    /// Nothing has that name.
    #[error("no such file or directory: `{path}`{}", missing_hint(path, missing, near.as_deref()))]
    NotFound {
        /// The path as given.
        path: String,
        /// The shortest leading part of it that does not exist.
        missing: String,
        /// What that part may have meant: a sibling with a similar name.
        near: Option<String>,
    },
    /// `write` without `create_dirs` into a directory that does not exist.
    #[error(
        "no such directory: `{missing}`{}; pass `create_dirs: true` to make it",
        near.as_deref().map(did_you_mean).unwrap_or_default()
    )]
    MissingParent {
        /// The path as given.
        path: String,
        /// The shortest leading part of it that does not exist.
        missing: String,
        /// A sibling of it with a similar name.
        near: Option<String>,
    },
    /// `write` would have to make more directories than is allowed.
    #[error("`{path}` needs {needed} new directories; at most {limit} are made at once")]
    TooManyDirectories {
        /// The path as given.
        path: String,
        /// How many are missing.
        needed: usize,
        /// How many may be made.
        limit: usize,
    },
    /// A file was needed and the path names a directory.
    #[error("`{path}` is a directory, not a file; use `list` to see what is in it")]
    IsDirectory {
        /// The path as given.
        path: String,
    },
    /// A directory was needed and a part of the path names something else.
    #[error("`{at}` is not a directory")]
    NotADirectory {
        /// The path as given.
        path: String,
        /// The leading part of it that is not a directory.
        at: String,
    },
    /// A pipe, device or socket.
    #[error("`{path}` is {kind}; only regular files are opened")]
    Special {
        /// The path as given.
        path: String,
        /// What it is.
        kind: SpecialKind,
    },
    /// The file is not text.
    #[error("`{path}` is not UTF-8 text (first bad byte at offset {offset})")]
    NotUtf8 {
        /// The path as given.
        path: String,
        /// Bytes before the first one that is not UTF-8.
        offset: usize,
    },
    /// The file, or the text to write, is larger than the cap.
    #[error("`{path}` is too large: {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// The path as given.
        path: String,
        /// Its size in bytes, as far as it is known.
        bytes: u64,
        /// The cap in bytes.
        limit: u64,
    },
    /// The path is longer than allowed.
    #[error(
        "the path at /{argument} is too long: {bytes} bytes, at most {limit} are allowed; give a shorter one"
    )]
    PathTooLong {
        /// Name of the argument.
        argument: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The longest that is allowed, in bytes.
        limit: usize,
    },
    /// A name in the path is longer than the file system takes.
    #[error(
        "the path at /{argument} has a name that is too long for the file system ({bytes} bytes); shorten it"
    )]
    NameTooLong {
        /// Name of the argument.
        argument: &'static str,
        /// Length of the longest name in bytes.
        bytes: usize,
    },
    /// More lines than one `read` returns.
    #[error(
        "`{path}` has {lines} lines to read, and at most {limit} are read at once; \
         give a `limit`, and go on with `offset`"
    )]
    TooManyLines {
        /// The path as given.
        path: String,
        /// Lines that were asked for and are there.
        lines: u64,
        /// The most that are read at once.
        limit: u64,
    },
    /// The system denies it.
    #[error("permission denied: `{path}`")]
    Denied {
        /// The path as given.
        path: String,
    },
    /// `grep` got something that is not a regular expression.
    #[error("invalid regular expression: {message}")]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// The reason, with the position, in the words of the regex library.
        message: String,
    },
    /// `glob` or `grep` got something that is not a glob.
    #[error("invalid glob `{pattern}`: {message}")]
    Glob {
        /// The glob as given.
        pattern: String,
        /// The reason.
        message: String,
    },
    /// `edit` did not find the text to replace.
    #[error("`old_string` does not occur in `{path}`{near}")]
    NoMatch {
        /// The path as given.
        path: String,
        /// What comes nearest to it.
        near: NearText,
    },
    /// `edit` found the text more than once and `all` was not set.
    #[error(
        "`old_string` occurs {count} times in `{path}` (lines {}); \
         give more of the text around it, or pass `all: true`",
        line_list(lines, *count)
    )]
    ManyMatches {
        /// The path as given.
        path: String,
        /// How often it occurs.
        count: usize,
        /// 1-based lines where the first occurrences start.
        lines: Vec<u64>,
    },
    /// B-4: the file changed between reading and replacing it.
    #[error("`{path}` was changed by someone else during the edit; nothing was written: read it again")]
    Changed {
        /// The path as given.
        path: String,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Anything else the system reports.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// The path as given.
        path: String,
        /// What was being done: a verb.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl FileError {
    pub(super) fn io(path: &str, action: &'static str, source: impl Into<std::io::Error>) -> Self {
        let source = source.into();
        match source.kind() {
            std::io::ErrorKind::PermissionDenied => Self::Denied { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), action, source },
        }
    }
}

/// What a file that is neither regular nor a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A named pipe.
    Fifo,
    /// A block or character device.
    Device,
    /// A socket.
    Socket,
    /// Something else.
    Other,
}

impl fmt::Display for SpecialKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Fifo => "a named pipe",
            Self::Device => "a device",
            Self::Socket => "a socket",
            Self::Other => "not a regular file",
        })
    }
}

/// What in a file comes nearest to a text that does not occur in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearText {
    /// It occurs with `\r\n` for each `\n`.
    FileHasCrlf,
    /// It occurs with `\n` for each `\r\n`.
    FileHasLf,
    /// It occurs without the line numbers at the start of its lines.
    LineNumbers,
    /// Lines that differ from it only in white space, 1-based and inclusive.
    WhiteSpace {
        /// First such line.
        first: u64,
        /// Last such line.
        last: u64,
    },
    /// Only its first line occurs, 1-based.
    FirstLine {
        /// Where.
        line: u64,
    },
    /// Nothing comes near.
    Nothing,
}

impl fmt::Display for NearText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileHasCrlf => {
                formatter.write_str("; its lines end with CRLF: write `\\r\\n` for each `\\n`")
            }
            Self::FileHasLf => formatter.write_str("; its lines end with LF: write `\\n` for each `\\r\\n`"),
            Self::LineNumbers => formatter.write_str("; leave out the line numbers"),
            Self::WhiteSpace { first, last } if first == last => {
                write!(formatter, "; line {first} differs only in white space: copy it exactly")
            }
            Self::WhiteSpace { first, last } => {
                write!(formatter, "; lines {first} to {last} differ only in white space: copy them exactly")
            }
            Self::FirstLine { line } => {
                write!(formatter, "; its first line is line {line}, but the lines after it differ")
            }
            Self::Nothing => formatter.write_str("; read the file again"),
        }
    }
}

fn missing_hint(path: &str, missing: &str, near: Option<&str>) -> String {
    match near {
        Some(near) if path == missing => did_you_mean(near),
        Some(near) => format!("; `{missing}` does not exist, did you mean `{near}`?"),
        None if path.contains(char::REPLACEMENT_CHARACTER) => {
            "; a name that is not UTF-8 is shown with U+FFFD in it and cannot be opened".to_owned()
        }
        None if path == missing => "; use `list` or `glob` to find it".to_owned(),
        None => format!("; `{missing}` does not exist, use `list` to see what does"),
    }
}

fn did_you_mean(near: &str) -> String {
    format!("; did you mean `{near}`?")
}

fn line_list(lines: &[u64], count: usize) -> String {
    let mut text = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() < count {
        text.push_str(", ...");
    }
    text
}
