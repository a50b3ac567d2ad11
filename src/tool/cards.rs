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
    /// Places; the lines themselves are in the result.
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
        /// What kind of call it was.
        kind: CardKind,
        /// The arguments as given; of large ones, what is worth showing.
        raw_input: Value,
        /// The places that it was about.
        locations: Vec<Location>,
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
    /// A search: what was found, as `matches` or as `paths`.
    Search(SearchCard),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The card as JSON, which it is read back from.
    fn told<C: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(card: &C) -> String {
        let told = serde_json::to_string(card).unwrap();
        assert_eq!(&serde_json::from_str::<C>(&told).unwrap(), card);
        told
    }

    /// T-16: the vocabulary is data with tags, and reads back as it was.
    #[test]
    fn cards_are_tagged_data() {
        let path = || "a.rs".to_owned();
        let place = Location { path: path(), line: Some(3) };
        let files = vec![FileDiff { path: path(), old: None, new: Some("x".to_owned()) }];
        let calls = [
            CallCard::Generic {
                title: "Read".to_owned(),
                kind: CardKind::Read,
                raw_input: json!({"path": "a.rs"}),
                locations: vec![place.clone(), Location { path: path(), line: None }],
            },
            CallCard::Terminal { title: "ls".to_owned(), cwd: "/w".to_owned() },
            CallCard::Diff { files: files.clone() },
        ];
        let results = [
            ResultCard::Generic {
                title: "Done".to_owned(),
                kind: CardKind::Edit,
                raw_input: json!({"path": "a.rs"}),
                locations: vec![place.clone()],
            },
            ResultCard::Terminal { title: "ok".to_owned(), cwd: "/w".to_owned() },
            ResultCard::Diff { files },
            ResultCard::Search(SearchCard::Matches(vec![place])),
            ResultCard::Search(SearchCard::Paths(vec![path()])),
            ResultCard::Read { path: path(), first_line: 1, lines: vec!["x".to_owned()], language: None },
        ];
        let told: Vec<_> = calls.iter().map(told).chain(results.iter().map(told)).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        {"card":"generic","title":"Read","kind":"read","raw_input":{"path":"a.rs"},"locations":[{"path":"a.rs","line":3},{"path":"a.rs"}]}
        {"card":"terminal","title":"ls","cwd":"/w"}
        {"card":"diff","files":[{"path":"a.rs","old":null,"new":"x"}]}
        {"card":"generic","title":"Done","kind":"edit","raw_input":{"path":"a.rs"},"locations":[{"path":"a.rs","line":3}]}
        {"card":"terminal","title":"ok","cwd":"/w"}
        {"card":"diff","files":[{"path":"a.rs","old":null,"new":"x"}]}
        {"card":"search","matches":[{"path":"a.rs","line":3}]}
        {"card":"search","paths":["a.rs"]}
        {"card":"read","path":"a.rs","first_line":1,"lines":["x"],"language":null}
        "#);
    }

    /// T-16
    #[test]
    fn kinds_are_a_closed_list() {
        let kinds = ["read", "edit", "search", "execute", "fetch", "think", "other"];
        let read: Result<Vec<CardKind>, _> =
            kinds.iter().map(|kind| serde_json::from_value(json!(kind))).collect();
        assert_eq!(serde_json::to_value(read.unwrap()).unwrap(), json!(kinds));
        assert!(serde_json::from_value::<CardKind>(json!("dance")).is_err());
        assert_eq!(CardKind::default(), CardKind::Other);
    }
}
