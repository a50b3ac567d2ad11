//! Standard output while something runs.
//!
//! Owns the thread that writes what a program prints, so that a slow reader holds back neither the program nor the
//! signals. What waits in its queue is bounded by the run's own limit of output. It never formats; it hides the
//! progress line while it writes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use anyhow::Context as _;
use indicatif::ProgressBar;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use isolane::codemode::{LogLevel, LogSink};

use super::output::{StdoutError, say};
use super::text::{ended, inert};

/// Sends text to the thread that writes it.
pub(super) struct Printer {
    queue: Arc<Queue>,
}

/// What waits to be written. The run's limit of output bounds it.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    text: String,
    /// Nothing that comes after this counts: a program that was given up may print on.
    end: Option<oneshot::Sender<Result<(), StdoutError>>>,
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printer {
    /// Starts the thread. When nobody reads the output any more it cancels `run`, as a broken pipe ends any program.
    pub(super) fn start(progress: Option<ProgressBar>, run: CancellationToken) -> anyhow::Result<Arc<Self>> {
        let queue = Arc::new(Queue::default());
        let writer = Writer { queue: Arc::clone(&queue), progress, run, outcome: Ok(()) };
        thread::Builder::new()
            .name("isolane-output".to_owned())
            .spawn(move || writer.write())
            .context("cannot start a thread")?;
        Ok(Arc::new(Self { queue }))
    }

    /// Prints the text.
    pub(super) fn print(&self, text: &str) {
        let mut waiting = self.queue.lock();
        if !waiting.ended {
            waiting.text.push_str(text);
            self.queue.changed.notify_one();
        }
    }

    /// Waits until everything is written.
    pub(super) async fn finish(&self) -> Result<(), StdoutError> {
        let (reply, written) = oneshot::channel();
        {
            let mut waiting = self.queue.lock();
            waiting.ended = true;
            waiting.end = Some(reply);
            self.queue.changed.notify_one();
        }
        written.await.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has ended").into()))
    }
}

impl LogSink for Printer {
    fn line(&self, _level: LogLevel, text: &str) {
        self.print(&ended(inert(text).into_owned()));
    }
}

struct Writer {
    queue: Arc<Queue>,
    progress: Option<ProgressBar>,
    run: CancellationToken,
    outcome: Result<(), StdoutError>,
}

impl Writer {
    fn write(mut self) {
        loop {
            let (text, end) = {
                let waiting = self.queue.lock();
                let idle = |waiting: &mut Waiting| waiting.text.is_empty() && waiting.end.is_none();
                let mut waiting =
                    self.queue.changed.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
                (std::mem::take(&mut waiting.text), waiting.end.take())
            };
            // All that waits goes out at once.
            if !text.is_empty() {
                self.put(&text);
            }
            if let Some(reply) = end {
                return self.end(reply);
            }
        }
    }

    fn put(&mut self, text: &str) {
        if self.outcome.is_err() {
            return;
        }
        self.outcome = match &self.progress {
            Some(progress) => progress.suspend(|| say(text)),
            None => say(text),
        };
        if self.outcome.is_err() {
            self.run.cancel();
        }
    }

    fn end(self, reply: oneshot::Sender<Result<(), StdoutError>>) {
        // Whoever asked may have gone.
        let _ = reply.send(self.outcome);
    }
}
