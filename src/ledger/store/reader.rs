//! Reading a JSON Lines file.
//!
//! Owns what counts as a line, an event and an order, for the store and for tools alike. It never changes a file
//! and takes no lock: a file that is being written reads as far as it goes. It calls nobody.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize as _;

use super::{Sequences, StoreError, StoreWarning, version_problem};
use crate::ledger::depth::{MAX_EVENT_DEPTH, text_exceeds};
use crate::ledger::event::LedgerEvent;

/// Opens a ledger file for reading, whether or not somebody writes to it.
///
/// The events come one by one; an error ends them. [`EventReader::warnings`] is complete when they are at an end.
pub fn read_events(path: impl AsRef<Path>) -> Result<EventReader, StoreError> {
    let path = path.as_ref();
    let failed = |action, source| StoreError::Io { action, path: path.to_owned(), source };
    // A pipe would block in `open`; ask first what it is.
    if !std::fs::metadata(path).map_err(|error| failed("read", error))?.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    Ok(EventReader::new(File::open(path).map_err(|error| failed("open", error))?, path.to_owned()))
}

/// The events of a JSON Lines file, in the order of writing.
///
/// Checks that every line is an event of a version that this crate knows, and that the `seq` of each session counts
/// 1, 2, 3 without gap or repeat. A last line without an end is a warning: a whole event counts, a part of one does
/// not.
#[derive(Debug)]
pub struct EventReader {
    input: BufReader<File>,
    path: PathBuf,
    line: Vec<u8>,
    line_number: u64,
    /// Where the next line starts.
    offset: u64,
    sequences: Sequences,
    warnings: Vec<StoreWarning>,
    done: bool,
}

impl EventReader {
    pub(super) fn new(file: File, path: PathBuf) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, file),
            path,
            line: Vec::new(),
            line_number: 0,
            offset: 0,
            sequences: Sequences::default(),
            warnings: Vec::new(),
            done: false,
        }
    }

    /// What was passed over or put right so far.
    pub fn warnings(&self) -> &[StoreWarning] {
        &self.warnings
    }

    /// The end of the last event, the last `seq` of each session, and what was put right or passed over.
    pub(super) fn into_state(self) -> (u64, Sequences, Vec<StoreWarning>) {
        (self.offset, self.sequences, self.warnings)
    }

    fn read_next(&mut self) -> Result<Option<LedgerEvent>, StoreError> {
        self.line.clear();
        let read = self.input.read_until(b'\n', &mut self.line).map_err(|source| StoreError::Io {
            action: "read",
            path: self.path.clone(),
            source,
        })?;
        if read == 0 {
            return Ok(None);
        }
        let bytes = u64::try_from(read).unwrap_or(u64::MAX);
        self.line_number += 1;
        let (text, is_ended) = match self.line.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (self.line.as_slice(), false),
        };
        // What is no whole JSON value was torn. A whole one is judged like any other line: it may be of a newer
        // version, which must not be dropped.
        if !is_ended && !is_whole(text) {
            // Only the beginning of an event is dropped: the file may be something else altogether.
            if !begins_an_event(text) {
                return Err(StoreError::Malformed {
                    path: self.path.clone(),
                    line: self.line_number,
                    offset: self.offset,
                    reason: "it is not an event, and has no line end".to_owned(),
                });
            }
            self.warnings.push(StoreWarning::TornLine {
                path: self.path.clone(),
                offset: self.offset,
                bytes,
            });
            return Ok(None);
        }
        let event = parse(text).map_err(|reason| StoreError::Malformed {
            path: self.path.clone(),
            line: self.line_number,
            offset: self.offset,
            reason,
        })?;
        self.sequences.advance(&event).map_err(|problem| StoreError::OutOfOrder {
            path: self.path.clone(),
            line: self.line_number,
            offset: self.offset,
            problem,
        })?;
        if !is_ended {
            self.warnings.push(StoreWarning::UnendedLine { path: self.path.clone(), offset: self.offset });
        }
        self.offset = self.offset.saturating_add(bytes);
        Ok(Some(event))
    }
}

impl Iterator for EventReader {
    type Item = Result<LedgerEvent, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read_next().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// How every event begins in this and every later version.
const EVENT_START: &[u8] = b"{\"v\":";

fn begins_an_event(line: &[u8]) -> bool {
    line.starts_with(EVENT_START) || EVENT_START.starts_with(line)
}

/// Whether the text is one JSON value, complete.
fn is_whole(text: &[u8]) -> bool {
    if text_exceeds(text) {
        return false;
    }
    let mut parser = serde_json::Deserializer::from_slice(text);
    // The depth was checked above.
    parser.disable_recursion_limit();
    serde::de::IgnoredAny::deserialize(&mut parser).and_then(|_| parser.end()).is_ok()
}

/// Only what an unknown version can be relied on to have.
#[derive(serde::Deserialize)]
struct Versioned {
    v: u32,
}

/// The event that the text is, or what is wrong with it.
pub(super) fn parse(text: &[u8]) -> Result<LedgerEvent, String> {
    if text_exceeds(text) {
        return Err(format!("it is nested more than {MAX_EVENT_DEPTH} levels deep"));
    }
    let mut parser = serde_json::Deserializer::from_slice(text);
    // The depth was checked above.
    parser.disable_recursion_limit();
    let parsed = LedgerEvent::deserialize(&mut parser).and_then(|event| parser.end().map(|()| event));
    match parsed {
        Ok(event) => version_problem(event.v).map_or(Ok(event), Err),
        Err(error) => {
            // A newer version may well have kinds and members that this one cannot read.
            let version = serde_json::from_slice::<Versioned>(text).ok().map(|versioned| versioned.v);
            // The parser saw one line only; the line's own number stands before.
            let reason = || error.to_string().replace(" at line 1 column ", " at column ");
            Err(version.and_then(version_problem).unwrap_or_else(reason))
        }
    }
}
