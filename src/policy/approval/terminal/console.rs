//! The two threads at a terminal.
//!
//! Owns which question the next line is for. The writer shows a question and then hands it to the reader; the reader
//! waits for a line only while a question stands there. Neither is ever waited for: a thread that hangs in the
//! terminal is left alone and ends with its next word. They call nobody.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

/// Texts that wait to be written; beyond that the terminal takes no output.
const BACKLOG: usize = 8;

/// Bytes of a line that are kept.
const LINE_BYTES: usize = 4 * 1024;

/// Reads of what was typed ahead, so that an endless stream cannot hold up a question.
const READS_AHEAD: usize = 64;

const WITHDRAWN: &str = "\n(the question was withdrawn)\n";
const TOO_EARLY: &str = "(that line was begun before this question; please answer again) ";

/// An open terminal.
pub(super) struct Streams {
    pub(super) input: Box<dyn Read + Send>,
    pub(super) output: Box<dyn Write + Send>,
    /// Reads what was typed ahead and does not wait for more; absent where that cannot be had.
    pub(super) typed_ahead: Option<Box<dyn Read + Send>>,
}

/// What came of a question.
pub(super) enum Reply {
    Line(String),
    /// The terminal is gone.
    Closed,
    /// It has not taken what was to be written before.
    Stuck,
}

/// A question that is, or will be, shown.
struct Ticket {
    id: u64,
    reply: oneshot::Sender<Reply>,
}

enum Job {
    Show(String, Ticket),
    Say(&'static str),
}

#[derive(Default)]
struct Desk {
    shown: Option<Ticket>,
    /// The text of a question is being written: it may stand there already.
    showing: bool,
    /// Nobody asks any more, or the terminal is gone.
    over: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut desk = self.lock();
        desk.over = true;
        if let Some(ticket) = desk.shown.take() {
            // Whoever withdrew the question needs no reply.
            let _ = ticket.reply.send(Reply::Closed);
        }
        self.changed.notify_all();
    }
}

/// Asks one question after the other.
pub(super) struct Console {
    shared: Arc<Shared>,
    jobs: SyncSender<Job>,
    next: u64,
}

impl Console {
    pub(super) fn start(streams: Streams) -> io::Result<Self> {
        let Streams { input, output, typed_ahead } = streams;
        let shared = Arc::<Shared>::default();
        let (jobs, queue) = sync_channel(BACKLOG);
        let (for_writer, for_reader) = (Arc::clone(&shared), Arc::clone(&shared));
        let notes = jobs.clone();
        thread::Builder::new()
            .name("isolane-terminal-out".to_owned())
            .spawn(move || write_jobs(&for_writer, &queue, output, typed_ahead))?;
        thread::Builder::new()
            .name("isolane-terminal-in".to_owned())
            .spawn(move || read_lines(&for_reader, &notes, input))
            .inspect_err(|_| shared.close())?;
        Ok(Self { shared, jobs, next: 0 })
    }

    /// Shows the text and waits for a line. Dropping the future withdraws the question.
    pub(super) async fn ask(&mut self, text: String) -> Reply {
        if self.shared.lock().over {
            return Reply::Closed;
        }
        let (reply, answer) = oneshot::channel();
        self.next += 1;
        let id = self.next;
        match self.jobs.try_send(Job::Show(text, Ticket { id, reply })) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Reply::Stuck,
            Err(TrySendError::Disconnected(_)) => return Reply::Closed,
        }
        let mut withdrawal = Withdrawal { console: self, id: Some(id) };
        let reply = answer.await;
        withdrawal.id = None;
        // A ticket that was let go was in the hands of a thread that has ended.
        reply.unwrap_or(Reply::Closed)
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.shared.close();
    }
}

struct Withdrawal<'a> {
    console: &'a Console,
    /// Nothing once there is a reply.
    id: Option<u64>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut desk = self.console.shared.lock();
        if desk.shown.as_ref().is_some_and(|ticket| ticket.id == id) {
            desk.shown = None;
            // A terminal that is stuck need not be told.
            let _ = self.console.jobs.try_send(Job::Say(WITHDRAWN));
        }
    }
}

fn write_jobs(
    shared: &Shared,
    queue: &Receiver<Job>,
    mut output: Box<dyn Write + Send>,
    mut typed_ahead: Option<Box<dyn Read + Send>>,
) {
    let mut say = |text: &str| output.write_all(text.as_bytes()).and_then(|()| output.flush());
    while let Ok(job) = queue.recv() {
        let (text, ticket) = match &job {
            Job::Say(text) => (*text, None),
            Job::Show(_, ticket) if ticket.reply.is_closed() => continue,
            Job::Show(text, ticket) => (text.as_str(), Some(ticket)),
        };
        if let (Some(_), Some(typed_ahead)) = (ticket, &mut typed_ahead) {
            let mut thrown_away = [0; LINE_BYTES];
            let _ = (0..READS_AHEAD)
                .take_while(|_| typed_ahead.read(&mut thrown_away).is_ok_and(|n| n > 0))
                .count();
        }
        shared.lock().showing = ticket.is_some();
        if say(text).is_err() {
            break;
        }
        if let Job::Show(_, ticket) = job {
            let mut desk = shared.lock();
            desk.showing = false;
            if desk.over {
                break;
            }
            if !ticket.reply.is_closed() {
                desk.shown = Some(ticket);
                shared.changed.notify_all();
                continue;
            }
            drop(desk);
            // Withdrawn while it was written.
            if say(WITHDRAWN).is_err() {
                break;
            }
        }
    }
    shared.close();
}

fn read_lines(shared: &Shared, notes: &SyncSender<Job>, mut input: Box<dyn Read + Send>) {
    let mut desk = shared.lock();
    while !desk.over {
        let Some(asked) = desk.shown.as_ref().map(|ticket| ticket.id) else {
            desk = shared.changed.wait(desk).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(desk);
        let line = read_line(&mut *input);
        desk = shared.lock();
        let Some(line) = line else { break };
        match desk.shown.take() {
            Some(ticket) if ticket.id == asked => {
                let _ = ticket.reply.send(Reply::Line(line));
            }
            // Another question stands there now: this line was begun for the one before.
            Some(newer) => {
                desk.shown = Some(newer);
                let _ = notes.try_send(Job::Say(TOO_EARLY));
            }
            // Or is about to: whoever sees it must not take it for answered.
            None if desk.showing => {
                let _ = notes.try_send(Job::Say(TOO_EARLY));
            }
            None => {}
        }
    }
    drop(desk);
    shared.close();
}

/// The next line, without its end; nothing when the terminal is gone. Whatever follows it in the same read was typed
/// ahead and is thrown away.
fn read_line(input: &mut dyn Read) -> Option<String> {
    let mut line = Vec::new();
    let mut buffer = [0; LINE_BYTES];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => buffer.get(..read)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let rest = read.get(..end.unwrap_or(read.len()))?;
        line.extend(rest.iter().take(LINE_BYTES.saturating_sub(line.len())));
        if end.is_some() {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
}
