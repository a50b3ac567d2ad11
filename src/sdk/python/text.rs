//! A Python type as text: alternatives that are joined once it is written.
//!
//! Owns the two ways to write one type. Annotations are never run, so `A | B` and names of later classes may stand
//! in them as they are; what is run when the text is imported needs quotes around such names and `Union[...]` around
//! those. Must never know a schema. Used by `printer` and `class`.

use std::collections::HashSet;

/// More alternatives than this make a chain of `|` that is nested too deep for parsers.
const MAX_CHAIN: usize = 32;

/// A type, and what is to be said about it where it is used.
#[derive(Debug, Clone, Default)]
pub(super) struct Text {
    /// None: nothing is of the type.
    alternatives: Vec<Alternative>,
    /// Lines of plain text for a comment beside it.
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Alternative {
    /// The value in `Literal[...]`.
    Literal(String),
    Code {
        annotation: String,
        /// Where it is run, if that differs.
        evaluated: Option<String>,
    },
}

impl Alternative {
    fn is_code(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Code { annotation, .. } if codes.contains(&annotation.as_str()))
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Self::Literal(_)) || self.is_code(&["None", "bool", "float", "int", "str"])
    }
}

impl Text {
    pub(super) fn code(annotation: impl Into<String>) -> Self {
        Self::alternative(Alternative::Code { annotation: annotation.into(), evaluated: None })
    }

    pub(super) fn literal(value: impl Into<String>) -> Self {
        Self::alternative(Alternative::Literal(value.into()))
    }

    /// A name that may be declared later on.
    pub(super) fn forward(name: &str) -> Self {
        let evaluated = Some(format!("\"{name}\""));
        Self::alternative(Alternative::Code { annotation: name.to_owned(), evaluated })
    }

    fn alternative(alternative: Alternative) -> Self {
        Self { alternatives: vec![alternative], notes: Vec::new() }
    }

    /// A list or dict of these: `head` and the closing bracket around the type.
    pub(super) fn inside(self, head: &str) -> Self {
        let (annotation, evaluated) = (self.annotation(), self.evaluated());
        let evaluated = (annotation != evaluated).then(|| format!("{head}{evaluated}]"));
        let alternative = Alternative::Code { annotation: format!("{head}{annotation}]"), evaluated };
        Self { alternatives: vec![alternative], notes: self.notes }
    }

    /// One of these, each alternative and each note once.
    pub(super) fn union(texts: impl IntoIterator<Item = Self>) -> Self {
        let (mut alternatives, mut notes) = (HashSet::new(), HashSet::new());
        let mut union = Self::default();
        for text in texts {
            union
                .alternatives
                .extend(text.alternatives.into_iter().filter(|one| alternatives.insert(one.clone())));
            union.notes.extend(text.notes.into_iter().filter(|note| notes.insert(note.clone())));
        }
        if union.alternatives.iter().any(|one| one.is_code(&["JsonValue"])) {
            // Containers stay: one of narrower parts is no `JsonValue` to a checker.
            union.alternatives.retain(|one| !one.is_scalar());
        }
        union
    }

    /// As an annotation.
    pub(super) fn annotation(&self) -> String {
        self.join(|annotation, _| annotation)
    }

    /// As an expression that Python runs.
    pub(super) fn evaluated(&self) -> String {
        self.join(|annotation, evaluated| evaluated.unwrap_or(annotation))
    }

    fn join(&self, pick: impl for<'t> Fn(&'t str, Option<&'t str>) -> &'t str) -> String {
        let mut literals: Vec<&str> = Vec::new();
        let mut place = 0;
        let mut parts: Vec<String> = Vec::new();
        for alternative in &self.alternatives {
            match alternative {
                Alternative::Literal(value) => {
                    if literals.is_empty() {
                        place = parts.len();
                    }
                    literals.push(value);
                }
                Alternative::Code { annotation, evaluated } => {
                    parts.push(pick(annotation, evaluated.as_deref()).to_owned());
                }
            }
        }
        if !literals.is_empty() {
            parts.insert(place, format!("Literal[{}]", literals.join(", ")));
        }
        let quoted = parts.iter().any(|part| part.starts_with('"'));
        match parts.as_slice() {
            [] => "Never".to_owned(),
            [only] => only.clone(),
            parts if quoted || parts.len() > MAX_CHAIN => format!("Union[{}]", parts.join(", ")),
            parts => parts.join(" | "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SDK-7
    #[test]
    fn what_is_run_quotes_what_may_come_later() {
        let node = Text::union([Text::forward("Node"), Text::code("None")]);
        assert_eq!(
            (node.annotation().as_str(), node.evaluated().as_str()),
            ("Node | None", "Union[\"Node\", None]")
        );
        let list = Text::union([node.inside("list["), Text::code("str")]);
        assert_eq!(list.annotation(), "list[Node | None] | str");
        assert_eq!(list.evaluated(), "list[Union[\"Node\", None]] | str");
    }

    /// SDK-7
    #[test]
    fn literals_are_one_alternative() {
        let text = Text::union([
            Text::code("None"),
            Text::literal("\"a\""),
            Text::code("float"),
            Text::literal("1"),
            Text::literal("\"a\""),
        ]);
        assert_eq!(text.annotation(), "None | Literal[\"a\", 1] | float");
        assert_eq!(Text::default().annotation(), "Never");
    }

    /// SDK-8: parsers give up on long chains.
    #[test]
    fn many_alternatives_are_no_chain() {
        let many = Text::union((0..40).map(|index| Text::code(format!("T{index}"))));
        assert!(many.annotation().starts_with("Union[T0, T1, "));
    }
}
