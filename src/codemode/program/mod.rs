//! From what a model wrote to a script that V8 can run, with positions that stay exact.
//!
//! Owns the only use of swc: recognising a program in a text, its value, the erasure of its types, and
//! the wording of what is wrong with it (CM-7, CM-8, CM-32). It must never run anything, never print,
//! and never take more stack or time than the size of the text allows, whoever wrote it. The engine
//! compiles [`PreparedProgram::script`] and asks [`PreparedProgram::locate`] about V8's positions.
//!
//! The stages: `fence` (Markdown) -> `depth` and `stack` (limits) -> `parse` -> `facts`, `shape` and
//! `calls` (what the value is) -> `edits` -> `emit`; `refuse` and `hints` word what is not a program.

mod attempt;
mod calls;
mod contain;
mod depth;
mod edits;
mod emit;
mod facts;
mod fence;
mod hints;
mod names;
mod parse;
mod position;
mod python;
mod refuse;
mod shape;
mod stack;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use attempt::{Built, Refusal, attempt};
use position::Lines;

pub use hints::{ArgumentNames, ToolHints, explain_missing_global};
pub use position::Position;

/// What stands before a program that is checked; it is on the program's first line.
const TYPED_HEAD: &str = "async function __program() {";

/// What a text may be at most before it is parsed (M10, M11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Bytes of the text as written. Default: 1 MiB.
    pub max_bytes: usize,
    /// Brackets within brackets, `${}` included. Default: 256. More than 512 counts as 512. Chains of
    /// operators have a fixed limit of 4,096 links.
    pub max_nesting: usize,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self { max_bytes: 1 << 20, max_nesting: 256 }
    }
}

/// A text that is a program, ready for V8. Cheap to clone.
///
/// Its serialised form is for another process of the same version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreparedProgram {
    inner: Arc<Prepared>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Prepared {
    built: Built,
    written: String,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramErrorKind {
    /// It does not parse as TypeScript, or has JSX.
    Syntax,
    /// It is longer than [`ProgramLimits::max_bytes`].
    TooLarge,
    /// It is nested more deeply than the limits allow.
    TooDeep,
    /// It imports, or exports from, a module (CM-8).
    Import,
    /// It is something else: a shell command, arguments, prose, nothing (CM-32).
    NotAProgram,
}

/// Why a text cannot run: one line that the model can act on, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProgramError {
    /// What kind of error it is.
    pub kind: ProgramErrorKind,
    /// What is wrong and what to do, in one line.
    pub message: String,
    /// The place in the text as written; absent when the whole text is meant.
    pub position: Option<Position>,
    /// The line of that place with a caret under it.
    pub frame: Option<String>,
}

/// Turns the text that a model wrote into a script.
///
/// # Errors
/// A [`ProgramError`] with the place in the text as written. It never panics and never prints.
///
/// ```
/// use isolane::codemode::program::{ProgramLimits, ToolHints, prepare};
/// let program = prepare("const n: number = 1;\nn + 1", &ProgramLimits::default(), &ToolHints::default())?;
/// assert!(program.script().contains("return n + 1"));
/// # Ok::<(), isolane::codemode::program::ProgramError>(())
/// ```
pub fn prepare(
    source: &str,
    limits: &ProgramLimits,
    hints: &ToolHints<'_>,
) -> Result<PreparedProgram, ProgramError> {
    if source.len() > limits.max_bytes {
        return Err(whole(
            ProgramErrorKind::TooLarge,
            format!(
                "the program has more than {} bytes; pass large data through tools, not in the text",
                limits.max_bytes
            ),
        ));
    }
    let text = without_mark(source);
    if text.trim().is_empty() {
        return Err(whole(ProgramErrorKind::NotAProgram, refuse::empty(hints)));
    }
    if let Some(message) = refuse::arguments(text, hints) {
        return Err(whole(ProgramErrorKind::NotAProgram, message));
    }
    let max_nesting = limits.max_nesting.min(512);
    let mut refusal = None;
    if !fence::begins_with_fence(text) {
        match attempt(&without_hashbang(text), max_nesting, hints) {
            Ok(built) => return Ok(finish(source, built, None)),
            Err(refused) => refusal = Some(refused),
        }
    }
    // Only what does not read as a program may be one inside Markdown.
    let retry = match refusal {
        None => true,
        Some(Refusal::Import(..)) => false,
        Some(_) => !fence::is_among_code(text),
    };
    if retry && let Some(fenced) = fence::extract(text) {
        if let Some(message) = fenced.foreign.as_deref().and_then(|language| refuse::foreign(language, hints))
        {
            return Err(whole(ProgramErrorKind::NotAProgram, message));
        }
        return match attempt(&without_hashbang(&fenced.text), max_nesting, hints) {
            Ok(built) => Ok(finish(source, built, fenced.note)),
            Err(refused) => {
                let error = error(text, &fenced.text, refused, hints);
                let language = fenced.foreign.filter(|_| error.kind == ProgramErrorKind::Syntax);
                let message = language.and_then(|language| refuse::other_language(&language, hints));
                Err(message.map_or(error, |message| whole(ProgramErrorKind::NotAProgram, message)))
            }
        };
    }
    let refused = refusal.unwrap_or_else(|| Refusal::NotAProgram(refuse::empty(hints)));
    Err(error(text, text, refused, hints))
}

fn finish(source: &str, mut built: Built, note: Option<String>) -> PreparedProgram {
    built.notes.splice(0..0, note);
    PreparedProgram { inner: Arc::new(Prepared { built, written: source.to_owned() }) }
}

fn whole(kind: ProgramErrorKind, message: String) -> ProgramError {
    ProgramError { kind, message, position: None, frame: None }
}

/// Words a refusal; `code` is `text` or the part of it that was read, on the same lines.
fn error(text: &str, code: &str, refusal: Refusal, hints: &ToolHints<'_>) -> ProgramError {
    let (kind, position, message) = match refusal {
        Refusal::NotAProgram(message) => return whole(ProgramErrorKind::NotAProgram, message),
        Refusal::TooDeep(position, message) => (ProgramErrorKind::TooDeep, position, message),
        Refusal::Import(position, message) => (ProgramErrorKind::Import, position, message),
        Refusal::Syntax(position, message) => {
            if let Some(message) = refuse::recognise(code, hints) {
                return whole(ProgramErrorKind::NotAProgram, message);
            }
            let misprint =
                Lines::new(code).line(code, position.line).and_then(|line| refuse::misprint(line, position));
            (ProgramErrorKind::Syntax, position, misprint.unwrap_or(message))
        }
        Refusal::Fence => {
            let position = Position { line: 1, column: 1 };
            (ProgramErrorKind::Syntax, position, "a template cannot be the tag of a template".to_owned())
        }
    };
    let frame = position::frame(text, &Lines::new(text), position);
    ProgramError { kind, message, position: Some(position), frame: Some(frame) }
}

/// The text without a byte order mark.
fn without_mark(source: &str) -> &str {
    source.strip_prefix('\u{feff}').unwrap_or(source)
}

/// Turns a hashbang of JavaScript into a comment of the same length.
fn without_hashbang(text: &str) -> Cow<'_, str> {
    let start = text.len() - text.trim_start().len();
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    let runs = ["node", "deno", "bun", "tsx", "ts-node", "isolane"].iter().any(|name| line.contains(name));
    if line.starts_with("#!") && runs {
        let mut changed = text.to_owned();
        changed.replace_range(start..start + 2, "//");
        return Cow::Owned(changed);
    }
    Cow::Borrowed(text)
}

/// The places of one program, with its lines.
#[derive(Debug)]
pub struct Places<'p> {
    program: &'p PreparedProgram,
    text: &'p str,
    lines: Lines,
}

impl<'p> Places<'p> {
    /// As [`PreparedProgram::locate_typed`].
    pub fn locate_typed(&self, line: u32, column: u32) -> Option<Position> {
        let built = &self.program.inner.built;
        let head = if line == 1 { u32::try_from(TYPED_HEAD.len()).ok()? } else { 0 };
        let column = column.checked_sub(head).filter(|column| *column > 0)?;
        if usize::try_from(line).ok()? > built.typed_lines {
            return None;
        }
        self.in_text(built.before_edits(Position { line, column }))
    }

    /// As [`PreparedProgram::frame`].
    pub fn frame(&self, position: Position) -> String {
        position::frame(self.text, &self.lines, position)
    }

    /// As [`PreparedProgram::rest_of_line`].
    pub fn rest_of_line(&self, position: Position) -> &'p str {
        let text = self.text;
        let rest = self.lines.offset(text, position).and_then(|offset| text.get(offset..));
        rest.and_then(|rest| rest.lines().next()).unwrap_or_default()
    }

    /// The place, if the text has it; the end of its line at most.
    fn in_text(&self, position: Position) -> Option<Position> {
        let offset = self.lines.offset(self.text, position)?;
        Some(self.lines.position(self.text, offset))
    }
}

impl PreparedProgram {
    /// A classic script in strict mode. Its completion value is one async function without parameters;
    /// the promise of that function is the value of the program.
    ///
    /// The program's first line is the script's first line; in the usual case, where types are erased
    /// in place, each line of the program is the same line of the script, and one line follows.
    pub fn script(&self) -> &str {
        &self.inner.built.script
    }

    /// The program with its types, as a module for a compiler to check (CM-27): one asynchronous function that holds what
    /// was written. What makes a program of a text (fences, `export`, a value that is not returned) is resolved.
    pub fn typed(&self) -> String {
        format!("{TYPED_HEAD}{}}}\n", self.inner.built.typed)
    }

    /// Where a place of [`PreparedProgram::typed`] is in the text as written; lines and columns as in
    /// [`PreparedProgram::locate`]. `None` for what the program's author did not write.
    pub fn locate_typed(&self, line: u32, column: u32) -> Option<Position> {
        self.places().locate_typed(line, column)
    }

    /// The places of this program, for whoever asks for many: its lines are looked for once.
    pub fn places(&self) -> Places<'_> {
        let text = without_mark(&self.inner.written);
        Places { program: self, text, lines: Lines::new(text) }
    }

    /// The text as the model wrote it, whole.
    pub fn written(&self) -> &str {
        &self.inner.written
    }

    /// Where a place of the script is in the text as written.
    ///
    /// Lines and columns count from 1, columns in UTF-16 units (V8's own column is one less). `None`
    /// for what the program's author did not write.
    pub fn locate(&self, script_line: u32, script_column: u32) -> Option<Position> {
        let place = Position { line: script_line, column: script_column.max(1) };
        self.places().in_text(self.inner.built.locate(place)?)
    }

    /// A line of the text as written with a caret under the place; empty for a line that is not there.
    pub fn frame(&self, position: Position) -> String {
        self.places().frame(position)
    }

    /// What is wrong with the program when V8 does not compile its script.
    ///
    /// `text` is V8's message, `place` the line and column in the script, from 1. A script that is nested more deeply
    /// than V8's stack allows has no place of its own; it is the place where the program is nested most deeply.
    pub fn not_compiled(&self, text: &str, place: Option<(u32, u32)>) -> ProgramError {
        let message = text.strip_prefix("Uncaught ").unwrap_or(text);
        let (kind, message, position) = if message.contains("Maximum call stack size exceeded") {
            let message = "the program is nested too deeply here: functions, conditions or operators within each \
                           other; split it into steps";
            (ProgramErrorKind::TooDeep, message, Some(self.inner.built.deepest))
        } else {
            let position = place.and_then(|(line, column)| self.locate(line, column));
            (ProgramErrorKind::Syntax, message, position)
        };
        let frame = position.map(|position| self.frame(position));
        ProgramError { kind, message: message.to_owned(), position, frame }
    }

    /// The place of a name that V8 says does not exist: V8 gives the start of the statement at times.
    ///
    /// It is the first place, from `from` on in the same line, where `name` stands as a word of its own and not as a
    /// member or in a string; `from` itself when there is none.
    pub fn place_of_name(&self, name: &str, from: Position) -> Position {
        let rest = self.rest_of_line(from);
        let Some(at) = names::find(rest, name) else { return from };
        let before = rest.get(..at).unwrap_or_default().encode_utf16().count();
        let column = from.column.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
        Position { column, ..from }
    }

    /// Where the program may wait for ever (CM-24): every `await` of something other than a call of a tool, in the
    /// text as written, the likeliest first. Incomplete beyond a few dozen.
    pub fn waits(&self) -> &[Position] {
        &self.inner.built.waits
    }

    /// The text from a place to the end of its line; empty for a place that is not there.
    pub fn rest_of_line(&self, position: Position) -> &str {
        self.places().rest_of_line(position)
    }

    /// What was done to find the program, one line each; empty in the usual case.
    pub fn notes(&self) -> &[String] {
        &self.inner.built.notes
    }
}
