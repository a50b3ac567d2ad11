//! Errors of the file tools as a caller gets them.
//!
//! Owns the names of the kinds and what detail goes with each; both are stable, for programs branch on them.
//! The message is the error's own text. It must never tell more than that text does.

use serde_json::{Map, Value, json};

use super::super::error::{FileError, NearText};
use crate::tool::ToolError;

/// The error of a call: its text, and `{"kind": ...}` with what a program can act on.
pub(super) fn tool_error(error: &FileError) -> ToolError {
    let mut details = Map::new();
    details.insert("kind".to_owned(), kind(error).into());
    let more = match error {
        FileError::Argument { argument, .. } => json!({"argument": argument}),
        FileError::OutsideRoot { argument, path } => json!({"argument": argument, "path": path}),
        FileError::IsDirectory { path } | FileError::Denied { path } | FileError::Changed { path } => {
            json!({"path": path})
        }
        FileError::Symlink { path, link } => json!({"path": path, "link": link}),
        FileError::NotFound { path, missing, near } | FileError::MissingParent { path, missing, near } => {
            json!({"path": path, "missing": missing, "near": near})
        }
        FileError::TooManyDirectories { path, needed, limit } => {
            json!({"path": path, "needed": needed, "limit": limit})
        }
        FileError::NotADirectory { path, at } => json!({"path": path, "at": at}),
        FileError::Special { path, kind } => json!({"path": path, "is": kind.to_string()}),
        FileError::NotUtf8 { path, offset } => json!({"path": path, "offset": offset}),
        FileError::TooLarge { path, bytes, limit } => json!({"path": path, "bytes": bytes, "limit": limit}),
        FileError::PathTooLong { argument, bytes, limit } => {
            json!({"argument": argument, "bytes": bytes, "limit": limit})
        }
        FileError::NameTooLong { argument, bytes } => json!({"argument": argument, "bytes": bytes}),
        FileError::TooManyLines { path, lines, limit } => {
            json!({"path": path, "lines": lines, "limit": limit})
        }
        FileError::Pattern { .. } | FileError::Cancelled | FileError::Root { .. } => json!({}),
        FileError::Glob { pattern, .. } => json!({"pattern": pattern}),
        FileError::NoMatch { path, near } => json!({"path": path, "near": near_text(near)}),
        FileError::ManyMatches { path, count, lines } => {
            json!({"path": path, "count": count, "lines": lines})
        }
        FileError::Io { path, action, .. } => json!({"path": path, "action": action}),
    };
    if let Value::Object(more) = more {
        details.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
    }
    ToolError::failed(error.to_string()).with_details(Value::Object(details))
}

fn kind(error: &FileError) -> &'static str {
    match error {
        FileError::Root { .. } => "root",
        FileError::Argument { .. } => "argument",
        FileError::OutsideRoot { .. } => "outside_root",
        FileError::Symlink { .. } => "symlink",
        FileError::NotFound { .. } => "not_found",
        FileError::MissingParent { .. } => "missing_parent",
        FileError::TooManyDirectories { .. } => "too_many_directories",
        FileError::IsDirectory { .. } => "is_directory",
        FileError::NotADirectory { .. } => "not_a_directory",
        FileError::Special { .. } => "special",
        FileError::NotUtf8 { .. } => "not_utf8",
        FileError::TooLarge { .. } => "too_large",
        FileError::PathTooLong { .. } => "path_too_long",
        FileError::NameTooLong { .. } => "name_too_long",
        FileError::TooManyLines { .. } => "too_many_lines",
        FileError::Denied { .. } => "denied",
        FileError::Pattern { .. } => "pattern",
        FileError::Glob { .. } => "glob",
        FileError::NoMatch { .. } => "no_match",
        FileError::ManyMatches { .. } => "many_matches",
        FileError::Changed { .. } => "changed",
        FileError::Cancelled => "cancelled",
        FileError::Io { .. } => "io",
    }
}

fn near_text(near: &NearText) -> Value {
    match near {
        NearText::FileHasCrlf => json!({"kind": "file_has_crlf"}),
        NearText::FileHasLf => json!({"kind": "file_has_lf"}),
        NearText::LineNumbers => json!({"kind": "line_numbers"}),
        NearText::WhiteSpace { first, last } => json!({"kind": "white_space", "first": first, "last": last}),
        NearText::FirstLine { line } => json!({"kind": "first_line", "line": line}),
        NearText::Nothing => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(error: &FileError) -> Value {
        tool_error(error).details.unwrap()
    }

    /// B-2, B-4
    #[test]
    fn details_say_what_a_program_can_act_on() {
        let path = || "a".to_owned();
        let not_found = FileError::NotFound { path: path(), missing: path(), near: None };
        assert_eq!(details(&not_found), json!({"kind": "not_found", "path": "a", "missing": "a"}));
        let many = FileError::ManyMatches { path: path(), count: 2, lines: vec![1, 4] };
        assert_eq!(details(&many), json!({"kind": "many_matches", "path": "a", "count": 2, "lines": [1, 4]}));
        let near = NearText::WhiteSpace { first: 3, last: 4 };
        assert_eq!(
            details(&FileError::NoMatch { path: path(), near }),
            json!({"kind": "no_match", "path": "a", "near": {"kind": "white_space", "first": 3, "last": 4}})
        );
    }

    /// Where the root lies is not for a program to know.
    #[test]
    fn the_place_of_the_root_is_not_among_the_details() {
        let source = std::io::Error::other("x");
        assert_eq!(details(&FileError::Root { path: "/srv/secret".into(), source }), json!({"kind": "root"}));
    }
}
