//! A program as the model wrote it, on its way to what can run.
//!
//! Owns when and where a text is prepared, and the failure of one that is no program. A runtime asks for it, so that
//! one with a place of its own for parsing can do it there. It never runs anything. It calls `program`.

use std::fmt;
use std::sync::Arc;

use crate::codemode::bindings::Bindings;
use crate::codemode::program::{
    self, PreparedProgram, ProgramError, ProgramErrorKind, ProgramLimits, ToolHints,
};
use crate::ids::ToolName;
use crate::outcome::{RunFailure, RunFailureKind};
use crate::pipeline::BoxFuture;

/// Judges a prepared program before it runs: the notes for one that may, or why it may not.
pub type Review =
    Box<dyn FnOnce(Arc<PreparedProgram>) -> BoxFuture<'static, Result<Vec<String>, RunFailure>> + Send>;

/// A program's text, and what it takes to make it run.
pub struct WrittenProgram {
    /// The text as the model wrote it.
    pub text: Arc<str>,
    /// What it may be at most, in bytes ([`RunLimits::program_bytes`](crate::limits::RunLimits::program_bytes)).
    pub max_bytes: usize,
    /// What must have agreed before it runs (CM-27); absent when nothing must.
    pub review: Option<Review>,
}

impl fmt::Debug for WrittenProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrittenProgram")
            .field("bytes", &self.text.len())
            .field("reviewed", &self.review.is_some())
            .finish_non_exhaustive()
    }
}

impl WrittenProgram {
    /// The failure of a text that is too long to be looked at, before it is copied anywhere.
    pub(crate) fn oversized(&self, bindings: &Bindings) -> Option<RunFailure> {
        let too_long = self.text.len() > self.max_bytes;
        too_long
            .then(|| prepare_for(&self.text, self.max_bytes, bindings).err().map(syntax_failure))
            .flatten()
    }

    /// Prepares the program in this process and has it reviewed; with what the model is to be told of both.
    ///
    /// # Errors
    /// Why it cannot or may not run. What prepares a program cannot be stopped: its time is bounded by the size of the
    /// text, and whoever waits may stop waiting.
    pub async fn prepare(
        self,
        bindings: &Arc<Bindings>,
    ) -> Result<(Arc<PreparedProgram>, Vec<String>), RunFailure> {
        if let Some(failure) = self.oversized(bindings) {
            return Err(failure);
        }
        let program = prepare_text(&self.text, self.max_bytes, bindings).await;
        let program = Arc::new(program.map_err(syntax_failure)?);
        let mut notes = match self.review {
            Some(review) => review(Arc::clone(&program)).await?,
            None => Vec::new(),
        };
        notes.extend_from_slice(program.notes());
        Ok((program, notes))
    }
}

/// Texts up to this size are prepared on the caller's thread, where they take well under a millisecond.
const PREPARED_INLINE_BYTES: usize = 16 * 1024;

/// Unless they have more of these, which make the parser read ahead.
const PREPARED_INLINE_ANGLES: usize = 64;

fn prepared_inline(code: &str) -> bool {
    code.len() <= PREPARED_INLINE_BYTES
        && code.bytes().filter(|byte| *byte == b'<').count() <= PREPARED_INLINE_ANGLES
}

/// Prepares a text for tools of these names.
pub(super) async fn prepare_text(
    code: &str,
    max_bytes: usize,
    bindings: &Arc<Bindings>,
) -> Result<PreparedProgram, ProgramError> {
    if prepared_inline(code) {
        return prepare_for(code, max_bytes, bindings);
    }
    let (code, bindings) = (code.to_owned(), Arc::clone(bindings));
    let preparing = tokio::task::spawn_blocking(move || prepare_for(&code, max_bytes, &bindings));
    preparing.await.unwrap_or_else(|_| {
        Err(ProgramError {
            kind: ProgramErrorKind::Syntax,
            message: "the program could not be prepared: the parser gave up".to_owned(),
            position: None,
            frame: None,
        })
    })
}

/// Prepares a text for tools of these names, on this thread.
pub(crate) fn prepare_for(
    code: &str,
    max_bytes: usize,
    bindings: &Bindings,
) -> Result<PreparedProgram, ProgramError> {
    let names: Vec<_> = bindings.names().iter().map(ToolName::as_str).collect();
    let limits = ProgramLimits { max_bytes, ..ProgramLimits::default() };
    program::prepare(code, &limits, &ToolHints { names: &names, arguments: bindings.arguments() })
}

/// The failure of a run whose text is no program.
pub(crate) fn syntax_failure(error: ProgramError) -> RunFailure {
    let kind = match error.kind {
        ProgramErrorKind::TooLarge
        | ProgramErrorKind::TooDeep
        | ProgramErrorKind::Syntax
        | ProgramErrorKind::Import
        | ProgramErrorKind::NotAProgram => RunFailureKind::Syntax,
    };
    RunFailure {
        kind,
        message: error.message,
        line: error.position.map(|position| position.line),
        column: error.position.map(|position| position.column),
        frame: error.frame,
        stack: None,
    }
}
