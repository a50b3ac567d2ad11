//! A path argument, resolved against the root.
//!
//! Owns the lexical half of B-3: what a path means before the kernel sees it. It must never touch the file
//! system; [`super::beneath`] opens what it returns. Resolving `..` lexically is sound only because
//! links are refused in every component.

use std::path::{Component, Path};

use super::error::FileError;
use super::limits::MAX_PATH_BYTES;

/// A path inside the root: relative, `/` between components, without `.`, `..` or empty components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Name of the argument that the path was given in.
    argument: &'static str,
    given: String,
    rel: String,
    /// Whether `rel` is all of `given`, not a directory on the way.
    whole: bool,
}

impl Target {
    /// Resolves `given`, the path in `argument`, against a root that is known under the names `roots`.
    pub(super) fn resolve(argument: &'static str, given: &str, roots: &[&Path]) -> Result<Self, FileError> {
        if given.is_empty() {
            let rule = "must not be empty; give a path relative to the root, which itself is `.`";
            return Err(FileError::Argument { argument, rule });
        }
        if given.len() > MAX_PATH_BYTES {
            return Err(FileError::PathTooLong { argument, bytes: given.len(), limit: MAX_PATH_BYTES });
        }
        if given.contains('\0') {
            let rule = "must not contain a NUL character; no file has one in its name";
            return Err(FileError::Argument { argument, rule });
        }
        let outside = || FileError::OutsideRoot { argument, path: given.to_owned() };
        let absolute = given.starts_with('/');
        let mut parts: Vec<&str> = Vec::new();
        for part in given.split('/') {
            match part {
                "" | "." => {}
                ".." if absolute => {
                    parts.pop();
                }
                ".." => {
                    parts.pop().ok_or_else(outside)?;
                }
                name => parts.push(name),
            }
        }
        let rel = parts.join("/");
        if !absolute {
            return Ok(Self { argument, given: given.to_owned(), rel, whole: true });
        }
        let full = format!("/{rel}");
        let inside =
            roots.iter().find_map(|root| Path::new(&full).strip_prefix(root).ok()).ok_or_else(outside)?;
        let rel = inside.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let rel = rel.collect::<Vec<_>>().join("/");
        Ok(Self { argument, given: given.to_owned(), rel, whole: true })
    }

    /// Name of the argument that the path was given in.
    pub(super) fn argument(&self) -> &'static str {
        self.argument
    }

    /// The path as it stood in the arguments.
    pub(super) fn given(&self) -> &str {
        &self.given
    }

    /// The path below the root; empty for the root itself.
    pub(super) fn rel(&self) -> &str {
        &self.rel
    }

    /// The path below the root, `.` for the root itself.
    pub(super) fn shown(&self) -> &str {
        if self.rel.is_empty() { "." } else { &self.rel }
    }

    /// The directory and the name in it; `None` for the root itself.
    pub(super) fn split(&self) -> Option<(Self, &str)> {
        if self.rel.is_empty() {
            return None;
        }
        let (parent, name) = self.rel.rsplit_once('/').unwrap_or(("", &self.rel));
        let parent =
            Self { argument: self.argument, given: self.given.clone(), rel: parent.to_owned(), whole: false };
        Some((parent, name))
    }

    /// Whether this is all of the path that was given, not a directory on the way.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn components(&self) -> impl Iterator<Item = &str> + Clone {
        self.rel.split('/').filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rel(given: &str) -> Result<String, String> {
        Target::resolve("path", given, &[Path::new("/srv/real"), Path::new("/srv/alias")])
            .map(|target| target.rel)
            .map_err(|error| error.to_string())
    }

    /// B-3
    #[test]
    fn paths_inside_the_root_are_normalised() {
        for (given, expected) in [
            ("a/b", "a/b"),
            ("./a//b/", "a/b"),
            ("a/../b", "b"),
            (".", ""),
            ("a/..", ""),
            ("/srv/real/a", "a"),
            ("/srv/alias/a/./b", "a/b"),
            ("/srv/real", ""),
            ("/srv/x/../real/a", "a"),
            ("..a/b..", "..a/b.."),
        ] {
            assert_eq!(rel(given), Ok(expected.to_owned()), "{given}");
        }
    }

    /// B-3
    #[test]
    fn paths_that_leave_the_root_are_refused() {
        for given in
            ["..", "../real/a", "a/../../b", "/", "/etc/passwd", "/srv/realer", "/srv/real/../x", "//etc"]
        {
            assert_eq!(
                rel(given),
                Err(format!("`{given}` at /path is outside the root; give a path relative to the root"))
            );
        }
    }

    /// B-3
    #[test]
    fn paths_that_name_nothing_are_refused() {
        let refused = |given: &str| rel(given).unwrap_err();
        insta::assert_snapshot!(refused(""), @"the argument at /path must not be empty; give a path relative to the root, which itself is `.`");
        insta::assert_snapshot!(refused("a\0b"), @"the argument at /path must not contain a NUL character; no file has one in its name");
        insta::assert_snapshot!(refused(&"a/".repeat(9000)), @"the path at /path is too long: 18000 bytes, at most 16384 are allowed; give a shorter one");
    }
}
