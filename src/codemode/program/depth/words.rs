//! What words do to the depth of a text.
//!
//! Owns the keywords of JavaScript and TypeScript as far as they nest, take an operand, or go on with
//! a construct after a line end. It knows no other syntax.

/// A word by its effect on what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name, or a keyword that is neutral here.
    Name,
    /// `if`, `for`, `with`: parentheses and then a statement follow.
    Control,
    /// As `Control`; also the end of a `do` statement.
    While,
    /// `else`, `do`: a statement follows.
    Branch,
    /// Takes an operand, never is a name.
    Prefix,
    /// Takes an operand, unless it is a name.
    MaybePrefix,
    /// Stands between two operands, or goes on with a declaration.
    Infix,
    Await,
    Async,
    Infer,
    Extends,
    /// `catch` and `finally` go on after a block.
    Handler,
}

impl Word {
    /// Whether it can follow the end of a line or of a block without beginning a statement.
    pub(super) fn continues(self) -> bool {
        matches!(self, Self::While | Self::Branch | Self::Infix | Self::Extends | Self::Handler)
    }

    /// Whether a statement nests in the statement that the word begins.
    pub(super) fn is_statement(self) -> bool {
        self.is_control() || self == Self::Branch
    }

    /// Whether parentheses and then a statement follow.
    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Control | Self::While)
    }

    /// Whether the word is a link of a chain of operators.
    pub(super) fn is_prefix(self) -> bool {
        matches!(
            self,
            Self::Prefix | Self::MaybePrefix | Self::Infix | Self::Await | Self::Infer | Self::Extends
        )
    }

    /// After it, an operand comes in every reading.
    pub(super) fn is_certain_prefix(self) -> bool {
        matches!(self, Self::Prefix | Self::Branch | Self::Extends)
    }
}

/// The kind of a word.
pub(super) fn classify(word: &[u8]) -> Word {
    match word {
        b"if" | b"for" | b"with" => Word::Control,
        b"while" => Word::While,
        b"else" | b"do" => Word::Branch,
        b"return" | b"typeof" | b"void" | b"delete" | b"new" | b"throw" | b"case" | b"instanceof" => {
            Word::Prefix
        }
        b"yield" | b"keyof" | b"readonly" | b"unique" | b"asserts" | b"abstract" | b"declare" => {
            Word::MaybePrefix
        }
        b"in" | b"of" | b"as" | b"is" | b"satisfies" | b"implements" | b"from" => Word::Infix,
        b"await" => Word::Await,
        b"async" => Word::Async,
        b"infer" => Word::Infer,
        b"extends" => Word::Extends,
        b"catch" | b"finally" => Word::Handler,
        _ => Word::Name,
    }
}
