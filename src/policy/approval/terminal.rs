//! A person at a terminal (PO-10).
//!
//! Owns the way of a question there and of a line back. Two threads of its own write and read, so that neither a
//! paused terminal nor a person who thinks ever holds up an asynchronous thread. A line counts only for a question
//! that stood there before the line was begun: what was typed ahead, or for a question that was withdrawn, allows
//! nothing. It calls nobody.

mod console;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::pipeline::{ApprovalAnswer, ApprovalQuestion, BoxFuture};
use crate::policy::approval::Answerer;
use crate::policy::approval::shown::{inert, question_text};

use console::{Console, Reply, Streams};

/// Longest note that is taken from a person, in characters.
const NOTE_CHARS: usize = 500;

/// Asks a person at a terminal, one question at a time.
///
/// `y` or `yes` allows the one call. Anything else rejects it, and is told to the model as the reason. Where there is
/// no terminal, nobody can be asked: the answer is [`ApprovalAnswer::Unavailable`], which grants nothing.
///
/// The terminal is opened when the first question comes. A host that runs in the background of a shell is stopped by
/// the system when it reads from its terminal.
pub struct TerminalAnswerer {
    /// Held while a question is open; the next one waits.
    console: tokio::sync::Mutex<State>,
}

enum State {
    Closed(Box<dyn FnOnce() -> Option<Streams> + Send>),
    Open(Console),
    /// There is no terminal.
    Absent,
}

impl TerminalAnswerer {
    /// The terminal that controls this process, wherever its standard streams go.
    pub fn tty() -> Self {
        Self::device("/dev/tty")
    }

    /// A terminal device.
    pub fn device(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::opening(move || open_device(&path))
    }

    /// A terminal that is open already. Nobody is asked if `input` is something else, such as a pipe.
    ///
    /// What was typed before a question is not thrown away as it is with a device.
    pub fn streams<I, O>(input: I, output: O) -> Self
    where
        I: Read + IsTerminal + Send + 'static,
        O: Write + Send + 'static,
    {
        Self::opening(move || {
            input.is_terminal().then(|| Streams {
                input: Box::new(input),
                output: Box::new(output),
                typed_ahead: None,
            })
        })
    }

    fn opening(open: impl FnOnce() -> Option<Streams> + Send + 'static) -> Self {
        Self { console: tokio::sync::Mutex::new(State::Closed(Box::new(open))) }
    }

    async fn ask(&self, question: &ApprovalQuestion<'_>) -> ApprovalAnswer {
        let mut state = self.console.lock().await;
        if matches!(&*state, State::Closed(_))
            && let State::Closed(open) = std::mem::replace(&mut *state, State::Absent)
            && let Some(console) = open().and_then(|streams| Console::start(streams).ok())
        {
            *state = State::Open(console);
        }
        let State::Open(console) = &mut *state else {
            return unavailable("there is no terminal to ask on");
        };
        match console.ask(question_text(question)).await {
            Reply::Line(line) => understood(&line),
            Reply::Closed => unavailable("the terminal was closed"),
            Reply::Stuck => unavailable("the terminal takes no output"),
        }
    }
}

impl Answerer for TerminalAnswerer {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn answer<'a>(&'a self, question: ApprovalQuestion<'a>) -> BoxFuture<'a, Option<ApprovalAnswer>> {
        Box::pin(async move { Some(self.ask(&question).await) })
    }
}

impl fmt::Debug for TerminalAnswerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalAnswerer").finish_non_exhaustive()
    }
}

/// Opens it twice: once to wait for lines, once to look without waiting for what was typed ahead.
fn open_device(path: &Path) -> Option<Streams> {
    let open = |flags: OFlags| -> Option<File> {
        let flags = i32::try_from((flags | OFlags::NOCTTY).bits()).ok()?;
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()
    };
    let input = open(OFlags::empty()).filter(File::is_terminal)?;
    let output = input.try_clone().ok()?;
    let typed_ahead = open(OFlags::NONBLOCK)?;
    Some(Streams {
        input: Box::new(input),
        output: Box::new(output),
        typed_ahead: Some(Box::new(typed_ahead)),
    })
}

fn understood(line: &str) -> ApprovalAnswer {
    let said = line.trim();
    match said.to_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::AllowedOnce,
        "" | "n" | "no" => ApprovalAnswer::Rejected { note: None },
        _ => ApprovalAnswer::Rejected { note: Some(inert(said).chars().take(NOTE_CHARS).collect()) },
    }
}

fn unavailable(reason: &str) -> ApprovalAnswer {
    ApprovalAnswer::Unavailable { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
