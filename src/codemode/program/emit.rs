//! From TypeScript to the script that V8 runs.
//!
//! Owns the wrapper, type erasure in place (lines and UTF-16 columns stay), and emission with a source
//! map for what cannot be erased (enums, namespaces, parameter properties, decorators, `<T>x`). It must
//! never write a diagnostic anywhere but into its result, and must only be called with enough stack.
//! `shape` has already decided what the value is.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use swc_common::errors::{DiagnosticBuilder, Emitter, Handler};
use swc_common::sync::Lrc;
use swc_common::{BytePos, GLOBALS, Globals, LineCol, Mark, SourceMap};
use swc_ecma_ast::{EsVersion, Id, Ident, Program};
use swc_ecma_codegen::text_writer::JsWriter;
use swc_ecma_transforms_base::fixer::fixer;
use swc_ecma_transforms_base::helpers::{HELPERS, Helpers, inject_helpers};
use swc_ecma_transforms_base::hygiene::hygiene;
use swc_ecma_transforms_base::resolver;
use swc_ecma_transforms_proposal::decorator_2022_03::decorator_2022_03;
use swc_ecma_transforms_typescript::typescript as strip_types;
use swc_ecma_visit::{Visit, VisitWith};
use swc_ts_fast_strip::{ErrorCode, Mode, Options, operate};

use super::parse::{self, Fault};
use super::position::{Position, is_line_end};

/// What stands before the program; it is on the program's first line.
const HEAD: &str = "\"use strict\";(async () => {";
/// What stands after the program and the statement that gives its value.
const FOOT: &str = "})";

/// The largest program in which what emission has named is renamed where it must be.
const MAX_RENAMED_BYTES: usize = 128 * 1024;

/// How to get from a place of the script to a place of the text that was emitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Map {
    /// The same lines, and the same columns but for the head.
    InPlace,
    /// Places of the script in order, each with its place in the text, and the last line of the program
    /// in the script.
    Tokens(Vec<(Position, Position)>, u32),
}

impl Map {
    /// Where a place of the script is in the text that was emitted; `None` in the wrapper.
    pub(super) fn origin(&self, place: Position) -> Option<Position> {
        match self {
            Self::InPlace if place.line == 1 => {
                let head = u32::try_from(HEAD.len()).ok()?;
                Some(Position {
                    line: 1,
                    column: place.column.checked_sub(head).filter(|column| *column > 0)?,
                })
            }
            Self::InPlace => Some(place),
            Self::Tokens(_, last) if place.line > *last => None,
            Self::Tokens(tokens, _) => {
                let index = tokens.partition_point(|(token, _)| *token <= place).checked_sub(1)?;
                tokens.get(index).map(|&(_, origin)| origin)
            }
        }
    }
}

/// Wraps a program and erases or emits its types. `value` is the statement that gives the value.
pub(super) fn emit(text: &str, value: &str, needs_emit: bool) -> Result<(String, Map), Fault> {
    if !needs_emit {
        match strip(&wrap(text, value)) {
            Ok(script) => return Ok((script, Map::InPlace)),
            Err(Some(fault)) => {
                let offset = fault.offset.saturating_sub(HEAD.len()).min(text.len());
                return Err(Fault { offset, ..fault });
            }
            Err(None) => {}
        }
    }
    let (code, places) = transform(text)?;
    let script = wrap(&code, value);
    let last = positions(&code, &[code.len()]).first().map_or(1, |end| end.line);
    Ok((script, Map::Tokens(tokens(text, &code, &places), last)))
}

fn wrap(code: &str, value: &str) -> String {
    // A final `\r` would join with the line feed and lose a line.
    let gap = if code.ends_with('\r') { " \n" } else { "\n" };
    [HEAD, code, gap, value, FOOT].concat()
}

/// Erases types in place. `Err(None)`: something in it needs emission.
fn strip(wrapped: &str) -> Result<String, Option<Fault>> {
    let faults = Faults::default();
    let map = Lrc::new(SourceMap::default());
    let handler = Handler::with_emitter(false, false, Box::new(faults.clone()));
    let options = Options {
        module: Some(true),
        mode: Mode::StripOnly,
        parser: parse::typescript(),
        ..Options::default()
    };
    match GLOBALS.set(&Globals::new(), || operate(&map, &handler, wrapped.to_owned(), options)) {
        Ok(output) => Ok(output.code),
        Err(error) if matches!(error.code, ErrorCode::UnsupportedSyntax) => Err(None),
        Err(error) => Err(Some(faults.first().unwrap_or(Fault { offset: 0, message: error.message }))),
    }
}

/// Collects what swc reports.
#[derive(Clone, Default)]
struct Faults(Arc<Mutex<Vec<Fault>>>);

impl Faults {
    fn first(&self) -> Option<Fault> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().min_by_key(|fault| fault.offset).cloned()
    }
}

impl Emitter for Faults {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let offset = diagnostic.span.primary_span().map_or(0, |span| parse::offset(span.lo));
        let fault = Fault { offset, message: parse::readable(&diagnostic.message()) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }
}

/// Emits JavaScript, with the place of each token.
fn transform(text: &str) -> Result<(String, Vec<(BytePos, LineCol)>), Fault> {
    let module = parse::parse(text)?;
    let mut code = Vec::with_capacity(text.len());
    let mut places = Vec::new();
    let emitted = GLOBALS.set(&Globals::new(), || {
        HELPERS.set(&Helpers::new(false), || {
            let unresolved = Mark::new();
            let top_level = Mark::new();
            let mut program = Program::Module(module);
            program.mutate(resolver(unresolved, top_level, true));
            let written = Names::of(&program);
            program.mutate(decorator_2022_03());
            let config = strip_types::Config {
                verbatim_module_syntax: true,
                native_class_properties: true,
                no_empty_export: true,
                ..strip_types::Config::default()
            };
            program.mutate(strip_types::typescript(config, unresolved, top_level));
            program.mutate(inject_helpers(unresolved));
            // It takes the square of the number of scopes, so that it runs only for what it is there for (M11).
            if Names::of(&program).clash_with(&written) {
                if text.len() > MAX_RENAMED_BYTES {
                    return Err(too_large_to_rename());
                }
                program.mutate(hygiene());
            }
            program.mutate(fixer(None));
            let sources = Lrc::new(SourceMap::default());
            let writer = JsWriter::new(Lrc::clone(&sources), "\n", &mut code, Some(&mut places));
            let mut emitter = swc_ecma_codegen::Emitter {
                cfg: swc_ecma_codegen::Config::default().with_target(EsVersion::EsNext),
                cm: sources,
                comments: None,
                wr: writer,
            };
            emitter.emit_program(&program).map_err(|_| cannot_be_emitted())
        })
    });
    emitted?;
    let code = String::from_utf8(code).map_err(|_| cannot_be_emitted())?;
    Ok((code, places))
}

fn cannot_be_emitted() -> Fault {
    Fault { offset: 0, message: "the program cannot be emitted".to_owned() }
}

fn too_large_to_rename() -> Fault {
    let limit = MAX_RENAMED_BYTES / 1024;
    let message =
        format!("a program with decorators can have {limit} KiB; write a function call in place of each");
    Fault { offset: 0, message }
}

/// The identifiers of a program, each with the context that tells it from others of the same name.
#[derive(Default)]
struct Names(BTreeSet<Id>);

impl Names {
    fn of(program: &Program) -> Self {
        let mut names = Self::default();
        program.visit_with(&mut names);
        names
    }

    /// Whether a name that a transformation has made up is also the name of something else.
    fn clash_with(&self, written: &Self) -> bool {
        let namesakes = self.0.iter().zip(self.0.iter().skip(1)).filter(|(one, other)| one.0 == other.0);
        namesakes.into_iter().any(|(one, other)| !written.0.contains(one) || !written.0.contains(other))
    }
}

impl Visit for Names {
    fn visit_ident(&mut self, node: &Ident) {
        self.0.insert(node.to_id());
    }
}

/// Turns swc's places into places as V8 counts them, in one pass over each of the two texts.
fn tokens(text: &str, code: &str, places: &[(BytePos, LineCol)]) -> Vec<(Position, Position)> {
    let mut offsets: Vec<usize> = places.iter().map(|&(from, _)| parse::offset(from)).collect();
    offsets.retain(|offset| *offset <= text.len());
    offsets.sort_unstable();
    offsets.dedup();
    let origins = positions(text, &offsets);
    let mut sorted: Vec<(LineCol, usize)> = places
        .iter()
        .map(|&(from, to)| (to, parse::offset(from)))
        .filter(|&(_, from)| from <= text.len())
        .collect();
    sorted.sort_by_key(|&(to, _)| (to.line, to.col));

    let head = u32::try_from(HEAD.len()).unwrap_or(u32::MAX);
    let mut tokens = Vec::with_capacity(sorted.len());
    let mut pending = sorted.into_iter().peekable();
    // swc ends lines only at `\n` and `\r`; V8 also at U+2028 and U+2029.
    let mut emitted = (0, 0);
    let mut place = Position { line: 1, column: 1 + head };
    let mut characters = code.chars().peekable();
    loop {
        let reached = |to: &(LineCol, usize)| (to.0.line, to.0.col) <= emitted;
        while let Some((_, from)) = pending.next_if(reached) {
            if let Some(origin) = offsets.binary_search(&from).ok().and_then(|index| origins.get(index)) {
                tokens.push((place, *origin));
            }
        }
        let Some(character) = characters.next() else { break };
        let ends = is_line_end(character) && !(character == '\r' && characters.peek() == Some(&'\n'));
        if ends && matches!(character, '\n' | '\r') {
            emitted = (emitted.0 + 1, 0);
        } else {
            emitted.1 += width(character);
        }
        place = if ends {
            Position { line: place.line + 1, column: 1 }
        } else {
            Position { column: place.column + width(character), ..place }
        };
    }
    tokens.dedup_by_key(|&mut (place, _)| place);
    tokens
}

/// The places of ascending byte offsets.
fn positions(text: &str, offsets: &[usize]) -> Vec<Position> {
    let mut found = Vec::with_capacity(offsets.len());
    let mut place = Position { line: 1, column: 1 };
    let mut pending = offsets.iter().peekable();
    let mut characters = text.char_indices().peekable();
    loop {
        let at = characters.peek().map_or(text.len(), |&(at, _)| at);
        while pending.next_if(|offset| **offset <= at).is_some() {
            found.push(place);
        }
        let Some((_, character)) = characters.next() else { break };
        let joins = character == '\r' && characters.peek().is_some_and(|&(_, next)| next == '\n');
        place = if is_line_end(character) && !joins {
            Position { line: place.line + 1, column: 1 }
        } else {
            Position { column: place.column + width(character), ..place }
        };
    }
    found
}

fn width(character: char) -> u32 {
    if character.len_utf16() == 2 { 2 } else { 1 }
}
