//! A person who types, played by the test.
//!
//! Owns keys that come when the test presses them and a screen that can be waited for, and one real terminal device.
//! No test sleeps: it waits for what the other side shows.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;

/// Presses keys, and marks on the screen that somebody waits for one.
struct Keys(Receiver<&'static str>, Screen);

/// Stands on the screen once for each time that somebody began to wait for a line.
const WAITING: &str = "\u{1}";

impl Read for Keys {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.write_all(WAITING.as_bytes())?;
        let Ok(pressed) = self.0.recv() else { return Ok(0) };
        buffer[..pressed.len()].copy_from_slice(pressed.as_bytes());
        Ok(pressed.len())
    }
}

#[derive(Clone, Default)]
struct Screen(Arc<(Mutex<String>, Condvar)>);

impl Screen {
    /// Waits until the text stands there `times` times, however long that takes.
    fn shows(&self, text: &str, times: usize) {
        let (shown, changed) = &*self.0;
        let shown = shown.lock().unwrap();
        drop(changed.wait_while(shown, |shown| shown.matches(text).count() < times).unwrap());
    }

    fn text(&self) -> String {
        self.0.0.lock().unwrap().replace(WAITING, "")
    }
}

impl Write for Screen {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let (shown, changed) = &*self.0;
        shown.lock().unwrap().push_str(std::str::from_utf8(text).unwrap());
        changed.notify_all();
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const PROMPT: &str = "Allow this one call?";

fn played() -> (Arc<TerminalAnswerer>, Sender<&'static str>, Screen) {
    let (press, keys) = channel();
    let screen = Screen::default();
    let (output, marks) = (screen.clone(), screen.clone());
    let terminal = TerminalAnswerer::opening(move || {
        Some(Streams { input: Box::new(Keys(keys, marks)), output: Box::new(output), typed_ahead: None })
    });
    (Arc::new(terminal), press, screen)
}

async fn ask(terminal: &TerminalAnswerer, tool: &str) -> ApprovalAnswer {
    let (call, tool, scope, session) = ("c".into(), tool.into(), "agent".into(), "s".into());
    let (args, cancel) = (json!({"path": "a"}), CancellationToken::new());
    let question = ApprovalQuestion {
        call: &call,
        tool: &tool,
        args: &args,
        scope: &scope,
        session: &session,
        reason: None,
        event: None,
        cancel: &cancel,
    };
    terminal.answer(question).await.unwrap()
}

fn start(terminal: &Arc<TerminalAnswerer>, tool: &'static str) -> JoinHandle<ApprovalAnswer> {
    let terminal = Arc::clone(terminal);
    tokio::spawn(async move { ask(&terminal, tool).await })
}

fn rejected(note: &str) -> ApprovalAnswer {
    ApprovalAnswer::Rejected { note: Some(note.to_owned()) }
}

/// PO-8, PO-10: only a plain yes allows; what else is typed is told to the model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_answers_line_by_line() {
    let (terminal, press, screen) = played();
    let cases = [
        (&["y\n"][..], ApprovalAnswer::AllowedOnce),
        (&[" YES \r\n"], ApprovalAnswer::AllowedOnce),
        (&["\n"], ApprovalAnswer::Rejected { note: None }),
        (&["No\n"], ApprovalAnswer::Rejected { note: None }),
        (&["yess\n"], rejected("yess")),
        (&["use ", "b.txt\u{1b}[2J\n"], rejected("use b.txt\\u001b[2J")),
    ];
    for (times, (lines, expected)) in cases.into_iter().enumerate() {
        let asking = start(&terminal, "write");
        screen.shows(PROMPT, times + 1);
        for line in lines {
            press.send(line).unwrap();
        }
        assert_eq!(asking.await.unwrap(), expected);
    }
}

/// PO-8: while a person thinks, the one thread of the runtime goes on.
#[tokio::test]
async fn a_question_holds_up_no_asynchronous_thread() {
    let (terminal, press, screen) = played();
    let thinks = async {
        tokio::task::spawn_blocking(move || screen.shows(PROMPT, 1)).await.unwrap();
        press.send("y\n").unwrap();
    };
    let (answer, ()) = tokio::join!(ask(&terminal, "write"), thinks);
    assert_eq!(answer, ApprovalAnswer::AllowedOnce);
}

/// PO-8: a line that was begun for a question that is gone allows nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_a_withdrawn_question_does_not_allow_the_next() {
    let (terminal, press, screen) = played();
    let first = start(&terminal, "first");
    screen.shows(WAITING, 1);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    screen.shows("(the question was withdrawn)", 1);
    let second = start(&terminal, "second");
    screen.shows(PROMPT, 2);
    press.send("y\n").unwrap();
    screen.shows("please answer again", 1);
    assert!(!second.is_finished());
    press.send("n\n").unwrap();
    assert_eq!(second.await.unwrap(), ApprovalAnswer::Rejected { note: None });
}

/// PO-8: questions do not mix; each waits until the one before has its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_question_stands_there_at_a_time() {
    let (terminal, press, screen) = played();
    let first = start(&terminal, "first");
    screen.shows("`first`", 1);
    let second = start(&terminal, "second");
    tokio::task::yield_now().await;
    assert_eq!(screen.text().matches(PROMPT).count(), 1);
    // What follows in the same read was typed before the second question was there.
    press.send("y\ny\n").unwrap();
    assert_eq!(first.await.unwrap(), ApprovalAnswer::AllowedOnce);
    screen.shows("`second`", 1);
    press.send("not this one\n").unwrap();
    assert_eq!(second.await.unwrap(), rejected("not this one"));
}

/// PO-8, PO-10
#[tokio::test]
async fn where_there_is_no_terminal_nothing_is_granted() {
    let absent = ApprovalAnswer::Unavailable { reason: "there is no terminal to ask on".to_owned() };
    let (reader, writer) = io::pipe().unwrap();
    let file = tempfile::tempfile().unwrap();
    drop(reader);
    assert_eq!(ask(&TerminalAnswerer::streams(file, writer), "write").await, absent);
    assert_eq!(ask(&TerminalAnswerer::device("/dev/null"), "write").await, absent);
    assert_eq!(ask(&TerminalAnswerer::device("/nonexistent/tty"), "write").await, absent);
}

/// PO-8
#[tokio::test]
async fn a_terminal_that_is_closed_grants_nothing() {
    let (terminal, press, _screen) = played();
    drop(press);
    let closed = ApprovalAnswer::Unavailable { reason: "the terminal was closed".to_owned() };
    assert_eq!(ask(&terminal, "write").await, closed);
    assert_eq!(ask(&terminal, "write").await, closed);
}

/// PO-8, PO-10: on a real device, what was typed before the question was shown is thrown away.
#[test]
fn on_a_device_what_was_typed_ahead_counts_for_nothing() {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let path = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let mut person = File::from(person);
    person.write_all(b"y\ny\n").unwrap();
    let device = path.clone();
    let asking = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { ask(&TerminalAnswerer::device(device), "write").await })
    });
    let mut shown = Vec::new();
    let mut buffer = [0; 1024];
    while !String::from_utf8_lossy(&shown).contains(PROMPT) {
        let read = person.read(&mut buffer).unwrap();
        shown.extend_from_slice(&buffer[..read]);
    }
    person.write_all(b"rather not\n").unwrap();
    assert_eq!(asking.join().unwrap(), rejected("rather not"));
}
