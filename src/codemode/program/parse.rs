//! The parser: from text to a syntax tree or the first error.
//!
//! Owns the choice of syntax (a TypeScript module with decorators, `return` allowed at the top level)
//! and the wording of the parser's errors. It must never print, and must only be called with enough
//! stack (`stack`). `shape` reads the tree.

use swc_common::{BytePos, Spanned};
use swc_ecma_ast::{EsVersion, Module};
use swc_ecma_parser::error::{Error, SyntaxError};
use swc_ecma_parser::{EsSyntax, Lexer, Parser, StringInput, Syntax, TsSyntax};

/// Where the parser begins to count; 0 is kept by swc for "nowhere".
const FIRST: u32 = 1;

/// Something that is wrong at a byte offset of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// TypeScript as programs have it.
pub(super) fn typescript() -> TsSyntax {
    TsSyntax { decorators: true, ..TsSyntax::default() }
}

/// The byte offset of a position in a tree that `parse` made.
pub(super) fn offset(position: BytePos) -> usize {
    position.0.saturating_sub(FIRST) as usize
}

/// Parses a program.
pub(super) fn parse(text: &str) -> Result<Module, Fault> {
    parse_as(text, Syntax::Typescript(typescript()))
}

/// Parses a program that may have JSX, to tell it from other errors.
pub(super) fn parse_jsx(text: &str) -> Result<Module, Fault> {
    parse_as(text, Syntax::Typescript(TsSyntax { tsx: true, ..typescript() }))
}

/// Parses plain JavaScript.
pub(super) fn parse_javascript(text: &str) -> Result<Module, Fault> {
    let syntax = EsSyntax { explicit_resource_management: true, ..EsSyntax::default() };
    parse_as(text, Syntax::Es(syntax))
}

fn parse_as(text: &str, syntax: Syntax) -> Result<Module, Fault> {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX - FIRST) + FIRST;
    let input = StringInput::new(text, BytePos(FIRST), BytePos(end));
    let mut parser = Parser::new_from(Lexer::new(syntax, EsVersion::EsNext, input, None));
    let parsed = parser.parse_module();
    let mut errors = parser.take_errors();
    errors.retain(|error| !matches!(error.kind(), SyntaxError::ReturnNotAllowed));
    let (module, fatal) = match parsed {
        Ok(module) => (Some(module), None),
        Err(error) => (None, Some(error)),
    };
    match (errors.into_iter().chain(fatal).min_by_key(|error| error.span().lo), module) {
        (None, Some(module)) => Ok(module),
        (Some(error), _) => Err(fault(&error, text)),
        (None, None) => Err(Fault { offset: 0, message: "the text cannot be parsed".to_owned() }),
    }
}

fn fault(error: &Error, text: &str) -> Fault {
    Fault { offset: offset(error.span().lo).min(text.len()), message: readable(&innermost(error.kind())) }
}

/// The message of the error itself, without the parser's account of what it was trying to do.
fn innermost(error: &SyntaxError) -> String {
    let mut error = error;
    while let SyntaxError::WithLabel { inner, .. } = error {
        error = inner.kind();
    }
    error.msg().into_owned()
}

/// A message of swc as one readable line.
pub(super) fn readable(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches("x ").trim_start_matches("× ");
    line.replace("'<eof>'", "the end of the program").replace("<eof>", "the end of the program")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-7
    #[test]
    fn the_first_error_by_position_is_reported() {
        let fault = parse("with (a) {}\nlet = 1 +").unwrap_err();
        assert_eq!(fault.offset, 0);
    }

    /// CM-7
    #[test]
    fn a_return_at_the_top_level_is_no_error() {
        assert!(parse("if (a) return 1\nreturn await 2").is_ok());
    }
}
