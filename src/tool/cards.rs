//! The presentation vocabulary (T-16).
//!
//! Owns tagged data that a user interface draws as it likes; these are not widgets. It calls nobody.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call does, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// Reads something.
    Read,
    /// Changes something.
    Edit,
    /// Looks for something.
    Search,
    /// Runs something.
    Execute,
    /// Gets something from elsewhere.
    Fetch,
    /// Changes nothing outside.
    Think,
    /// Anything else.
    #[default]
    Other,
}

/// A place that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The path, as the tool takes it.
    pub path: String,
    /// The line, counted from 1; absent when the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// One file's change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The path, as the tool takes it.
    pub path: String,
    /// The text before; absent for a new file.
    pub old: Option<String>,
    /// The text after; absent for a removed file.
    pub new: Option<String>,
}

/// How a call is shown while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "card", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallCard {
    /// Any call.
    Generic {
        /// A short title for people.
        title: String,
        /// What kind of call.
        kind: CardKind,
        /// The arguments as given.
        raw_input: Value,
        /// The places it is about.
        locations: Vec<Location>,
    },
    /// A command.
    Terminal {
        /// The command line.
        title: String,
        /// Where it runs.
        cwd: String,
    },
    /// A change of files.
    Diff {
        /// The files.
        files: Vec<FileDiff>,
    },
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchCard {
    /// Places with their text.
    Matches(Vec<Location>),
    /// Paths only.
    Paths(Vec<String>),
}

/// How a result is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "card", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultCard {
    /// Any result.
    Generic {
        /// A short title for people.
        title: String,
    },
    /// A command's end.
    Terminal {
        /// What it printed.
        title: String,
        /// Where it ran.
        cwd: String,
    },
    /// A change of files.
    Diff {
        /// The files.
        files: Vec<FileDiff>,
    },
    /// A search.
    Search {
        /// What was found.
        found: SearchCard,
    },
    /// Lines of a file.
    Read {
        /// The path.
        path: String,
        /// The number of the first line, counted from 1.
        first_line: u64,
        /// The lines.
        lines: Vec<String>,
        /// The language, by the file's ending; absent when unknown.
        language: Option<String>,
    },
}
