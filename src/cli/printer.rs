//! Standard output while something runs.
//!
//! Owns the thread that writes what a program prints, so that a slow reader holds back neither the program nor the
//! signals. What waits in its queue is bounded by the run's own limit of output. It never formats; it hides the
//! progress line while it writes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::{io, thread};

use anyhow::Context as _;
use indicatif::ProgressBar;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use isolane::codemode::{LogLevel, LogSink};

use super::output::{StdoutError, say};
use super::text::{ended, inert};

enum Message {
    Text(String),
    /// Nothing that comes after this counts: a program that was given up may print on.
    End(oneshot::Sender<Result<(), StdoutError>>),
}

/// Sends text to the thread that writes it.
pub(super) struct Printer {
    messages: Sender<Message>,
}

impl Printer {
    /// Starts the thread. When nobody reads the output any more it cancels `run`, as a broken pipe ends any program.
    pub(super) fn start(progress: Option<ProgressBar>, run: CancellationToken) -> anyhow::Result<Arc<Self>> {
        let (messages, received) = channel();
        let writer = Writer { received, progress, run, outcome: Ok(()) };
        thread::Builder::new()
            .name("isolane-output".to_owned())
            .spawn(move || writer.write())
            .context("cannot start a thread")?;
        Ok(Arc::new(Self { messages }))
    }

    /// Prints the text.
    pub(super) fn print(&self, text: String) {
        // The thread is gone only when nothing is to be written any more.
        let _ = self.messages.send(Message::Text(text));
    }

    /// Waits until everything is written.
    pub(super) async fn finish(&self) -> Result<(), StdoutError> {
        let (reply, written) = oneshot::channel();
        let _ = self.messages.send(Message::End(reply));
        written.await.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has ended").into()))
    }
}

impl LogSink for Printer {
    fn line(&self, _level: LogLevel, text: &str) {
        self.print(ended(inert(text).into_owned()));
    }
}

struct Writer {
    received: Receiver<Message>,
    progress: Option<ProgressBar>,
    run: CancellationToken,
    outcome: Result<(), StdoutError>,
}

impl Writer {
    fn write(mut self) {
        while let Ok(message) = self.received.recv() {
            let mut text = match message {
                Message::Text(text) => text,
                Message::End(reply) => return self.end(reply),
            };
            // All that waits goes out at once.
            let end = loop {
                match self.received.try_recv() {
                    Ok(Message::Text(more)) => text.push_str(&more),
                    Ok(Message::End(reply)) => break Some(reply),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break None,
                }
            };
            self.put(&text);
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
