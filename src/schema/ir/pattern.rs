//! What can be said about the keys that a `patternProperties` expression matches.
//!
//! Reads the plain part of the regular expression language (anchors and literal text) and calls the rest
//! unknown; it must never claim a match that the expression would not make. Used by `leaf`.

/// The keys that an expression matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyPattern {
    /// Every key.
    Any,
    /// One key.
    Exact(String),
    /// The keys that begin so.
    Prefix(String),
    /// The keys that end so.
    Suffix(String),
    /// The keys that hold this.
    Contains(String),
    /// Some keys: the expression is beyond what this reader follows.
    Unknown,
}

impl KeyPattern {
    /// Reads an expression.
    pub fn read(expression: &str) -> Self {
        let (rest, from_start) = match expression.strip_prefix('^') {
            Some(rest) => (rest, true),
            None => (expression, false),
        };
        let mut literal = String::new();
        let mut characters = rest.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '$' if characters.peek().is_none() => {
                    return match (from_start, literal.is_empty()) {
                        (true, _) => Self::Exact(literal),
                        (false, true) => Self::Any,
                        (false, false) => Self::Suffix(literal),
                    };
                }
                // At the end and unanchored, `.*` matches the empty text and adds nothing.
                '.' if characters.peek() == Some(&'*') => {
                    characters.next();
                    if characters.peek().is_some() {
                        return Self::Unknown;
                    }
                    break;
                }
                '\\' => match characters.next() {
                    Some(escaped) if escaped.is_ascii_punctuation() => literal.push(escaped),
                    _ => return Self::Unknown,
                },
                '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                    return Self::Unknown;
                }
                plain => literal.push(plain),
            }
        }
        match (literal.is_empty(), from_start) {
            (true, _) => Self::Any,
            (false, true) => Self::Prefix(literal),
            (false, false) => Self::Contains(literal),
        }
    }

    /// Whether it matches some keys out of all, and it is known which.
    pub(super) fn is_many(&self) -> bool {
        matches!(self, Self::Prefix(_) | Self::Suffix(_) | Self::Contains(_))
    }

    /// Whether a key matches; `None` when that cannot be told.
    pub fn matches(&self, key: &str) -> Option<bool> {
        match self {
            Self::Any => Some(true),
            Self::Exact(text) => Some(key == text),
            Self::Prefix(text) => Some(key.starts_with(text.as_str())),
            Self::Suffix(text) => Some(key.ends_with(text.as_str())),
            Self::Contains(text) => Some(key.contains(text.as_str())),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KeyPattern;

    /// SDK-5
    #[test]
    fn plain_expressions_become_shapes_of_keys() {
        let read = KeyPattern::read;
        assert_eq!(read("^x-"), KeyPattern::Prefix("x-".to_owned()));
        assert_eq!(read("^x-.*"), KeyPattern::Prefix("x-".to_owned()));
        assert_eq!(read("_id$"), KeyPattern::Suffix("_id".to_owned()));
        assert_eq!(read("^a\\.b$"), KeyPattern::Exact("a.b".to_owned()));
        assert_eq!(read("foo"), KeyPattern::Contains("foo".to_owned()));
        assert_eq!(read(""), KeyPattern::Any);
        assert_eq!(read("^.*"), KeyPattern::Any);
    }

    /// SDK-5
    #[test]
    fn anything_else_is_unknown() {
        for expression in ["^[a-z]+$", "^x.*y", "a|b", "^\\d", "^a{2}", "^.*$", "(", "^x-.+"] {
            assert_eq!(KeyPattern::read(expression), KeyPattern::Unknown, "{expression}");
        }
    }
}
