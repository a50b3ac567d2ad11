//! One run, carried on with a child.
//!
//! Owns the loop of the conducting thread: frames in, the lane, outcomes out, and the limits that hold whatever the child
//! does (E-6, E-7). It works the lane itself, so that a call costs no change of threads. It calls the conversation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::codemode::bindings::Bindings;
use crate::codemode::lane::{LaneHandle, SubmitError};
use crate::codemode::wire::{Begin, Conversation, Finish, MaybeOwned, Said, ToChild};
use crate::codemode::{Review, RunRequest, StateDraft, WrittenProgram};
use crate::engine::execution::{Ended, engine_exit, shorten};
use crate::engine::process::conductor::{ENDING, wait};
use crate::engine::process::os_process::{Exit, Process};
use crate::engine::process::wake::Bell;
use crate::engine::process::watch::Taken;
use crate::engine::shared_lane::SharedLane;
use crate::engine::spin::{Look, MOST_AWAKE, Spin};
use crate::engine::state::{Logs, Trip};
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunFailureKind};
use crate::pipeline::BoxFuture;

/// How often the kernel is asked what the child takes.
const LOOK: Duration = Duration::from_millis(20);

/// How long a child that was told to stop may take before it is killed. V8 has its own, shorter grace in the child.
const GRACE: Duration = Duration::from_millis(400);

/// Frames that are dealt with before the lane has its turn.
const FRAMES_AT_ONCE: usize = 256;

/// Most bytes of a child's notes together.
const NOTE_BYTES: usize = 64 * 1024;

/// One run, on its way to a child.
pub(super) struct Job {
    pub(super) request: RunRequest,
    pub(super) handle: LaneHandle,
    pub(super) lane: SharedLane,
    pub(super) logs: Arc<Logs>,
    /// The host's runtime: bodies and timers belong to it.
    pub(super) host: Handle,
    /// Counts since the run began.
    pub(super) begun: Arc<SystemClock>,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// What became of a job.
pub(super) enum Answer {
    Ended(Ended),
    /// The child died before anything was said to it.
    NotBegun(Box<RunRequest>),
}

impl Job {
    /// Nothing of it was done.
    pub(super) fn give_back(self) {
        // Nobody waits for a run that was cancelled meanwhile.
        let _ = self.reply.send(Answer::NotBegun(Box::new(self.request)));
    }
}

/// Why the host ends a run before the child says how it went.
enum Verdict {
    Trip(Trip),
    /// The review refused the program.
    Refused(RunFailure),
}

/// Carries a job on to its end; whether the child can be used again. `sent` is what bindings the child has.
pub(super) fn carry_on(
    process: &mut Process,
    job: Job,
    sent: &mut Option<Arc<Bindings>>,
    bell: &Arc<Bell>,
    spin: &mut Spin,
    resident: usize,
    last: bool,
) -> bool {
    let Job { request, handle, lane, logs, host, begun, reply } = job;
    let _runtime = host.enter();
    let RunRequest { program, bindings, origin, limits, session: _, clock: _, state, cancel, logs: _ } =
        request;
    let WrittenProgram { text, max_bytes: _, review } = program;
    let reviewed = review.is_some();
    let begin = Begin {
        text: (&*text).into(),
        reviewed,
        origin: std::borrow::Cow::Borrowed(&origin),
        limits: std::borrow::Cow::Borrowed(&limits),
        spent: begun.monotonic(),
        bindings: match sent {
            Some(known) if Arc::ptr_eq(known, &bindings) => None,
            _ => Some(MaybeOwned::Lent(&bindings)),
        },
    };
    ToChild::Begin(Box::new(begin)).encode(&mut process.out);
    process.send();
    *sent = Some(Arc::clone(&bindings));
    let conversation =
        Conversation::new(bindings, limits.clone(), handle.clone(), state.clone(), text.len(), reviewed);
    let before = process.watch.look().unwrap_or_default();
    process.bound_processor(
        before.processor,
        limits.busy.saturating_mul(2).saturating_add(Duration::from_secs(10)).saturating_add(MOST_AWAKE),
    );
    let waker = Waker::from(Arc::clone(bell));
    let mut run = Run {
        process,
        bell,
        spin,
        conversation,
        limits,
        handle: handle.clone(),
        lane: &lane,
        logs: &logs,
        state,
        begun: &begun,
        before,
        taken: before,
        resident,
        looked: begun.monotonic(),
        review,
        reviewing: None,
        recording: None,
        record_asked: false,
        notes: Vec::new(),
        verdict: None,
        behind: false,
        stopping: None,
    };
    let (ended, again) = run.guarded(&mut Context::from_waker(&waker), &cancel);
    let again = again && !last;
    if !again {
        // Before the host is told: nothing of the program goes on when it has its outcome.
        run.process.say_no_more();
    }
    if reply.send(Answer::Ended(ended)).is_err() {
        // The host let go of the run: nobody else ends its calls and tells the ledger.
        handle.close();
        drop(host.spawn(async move { lane.finish().await }));
    }
    again
}

struct Run<'r> {
    process: &'r mut Process,
    bell: &'r Arc<Bell>,
    spin: &'r mut Spin,
    conversation: Conversation,
    limits: RunLimits,
    handle: LaneHandle,
    lane: &'r SharedLane,
    logs: &'r Logs,
    state: StateDraft,
    begun: &'r SystemClock,
    /// What the child had taken before.
    before: Taken,
    taken: Taken,
    resident: usize,
    looked: Duration,
    review: Option<Review>,
    reviewing: Option<BoxFuture<'static, Result<Vec<String>, RunFailure>>>,
    recording: Option<BoxFuture<'static, ()>>,
    /// The child waits for that.
    record_asked: bool,
    /// What the review said.
    notes: Vec<String>,
    verdict: Option<Verdict>,
    /// Not all that came is dealt with: nothing more is taken from the child before it is.
    behind: bool,
    /// When the child was told to stop.
    stopping: Option<Duration>,
}

impl Run<'_> {
    /// The same as [`Run::converse`]. What a host's own code does wrong on this thread ends the run alone.
    fn guarded(&mut self, context: &mut Context<'_>, cancel: &CancellationToken) -> (Ended, bool) {
        let conversed = catch_unwind(AssertUnwindSafe(|| self.converse(context, cancel)));
        conversed.unwrap_or_else(|_| (self.give_up(Trip::Panic.failure(&self.limits)), false))
    }

    /// How the run ended, and whether the child goes on.
    fn converse(&mut self, context: &mut Context<'_>, cancel: &CancellationToken) -> (Ended, bool) {
        let mut cancelled = pin!(cancel.cancelled());
        loop {
            self.bell.heard();
            // First what has come: a child that has ended may have said how.
            match self.hear() {
                Ok(Some((finish, value))) => return self.finished(finish, value),
                Ok(None) => {}
                Err(failure) => return (self.give_up(failure), false),
            }
            if self.process.ended && !self.behind {
                return (self.died(cancel), false);
            }
            self.see_to_review(context);
            // What was committed before a call was made is recorded before the call is (CM-11).
            if self.is_recorded(context) && !self.lane.work(context) {
                self.stop(Verdict::Trip(Trip::Panic));
            }
            if self.stopping.is_none() && cancelled.as_mut().poll(context).is_ready() {
                self.stop(Verdict::Trip(Trip::Abort));
            }
            let now = self.begun.monotonic();
            if self.stopping.is_none() && now >= self.limits.wall {
                self.stop(Verdict::Trip(Trip::Wall));
            }
            if let Some(failure) = self.overdrawn(now) {
                return (self.give_up(failure), false);
            }
            if self.stopping.is_none() {
                self.conversation.give(context, &mut self.process.out);
            }
            self.process.send();
            let until_wall = match self.stopping {
                None => self.limits.wall.saturating_sub(now),
                Some(_) => LOOK,
            };
            self.await_news(LOOK.min(until_wall));
        }
    }

    /// Waits for the bell or the child, at most so long, and takes what the child says.
    fn await_news(&mut self, most: Duration) {
        let Self { process, bell, spin, behind, .. } = self;
        if *behind {
            return wait(process, bell, false, Some(most));
        }
        if bell.is_rung() || !process.out.is_empty() {
            wait(process, bell, true, Some(most));
            process.receive();
            return;
        }
        spin.wait(|look| {
            if look == Look::Asleep {
                wait(process, bell, true, Some(most));
            }
            process.receive() || bell.is_rung()
        });
    }

    /// Deals with what has come. The failure of a child that does not keep to the protocol ends the run.
    fn hear(&mut self) -> Result<Option<(Finish, Option<serde_json::Value>)>, RunFailure> {
        self.behind = true;
        for _ in 0..FRAMES_AT_ONCE {
            let Process { frames, out, .. } = &mut *self.process;
            let said = self.conversation.next(frames, out).map_err(|violation| {
                tracing::warn!(%violation, "a child does not keep to the protocol");
                engine_exit(&format!("its child process does not keep to the protocol ({violation})"))
            })?;
            match said {
                None => {
                    self.behind = false;
                    return Ok(None);
                }
                // It is heard again when there is room to answer.
                Some(Said::Later) => return Ok(None),
                Some(Said::Line(level, line)) => self.logs.push(level, &line),
                Some(Said::Nothing | Said::Refused(SubmitError::Closed)) => {}
                Some(Said::Refused(SubmitError::TooMany { .. })) => self.stop(Verdict::Trip(Trip::Calls)),
                Some(Said::Refused(SubmitError::TooLarge { .. })) => self.stop(Verdict::Trip(Trip::Queue)),
                Some(Said::Record) => self.record_asked = true,
                Some(Said::Review(program)) => {
                    self.reviewing = self.review.take().map(|review| review(Arc::new(*program)));
                }
                Some(Said::Ended(finish, value)) => return Ok(Some((*finish, value))),
            }
        }
        // There may be more, and the lane has its turn first.
        self.bell.ring();
        Ok(None)
    }

    fn see_to_review(&mut self, context: &mut Context<'_>) {
        let Some(Poll::Ready(judged)) = self.reviewing.as_mut().map(|review| review.as_mut().poll(context))
        else {
            return;
        };
        self.reviewing = None;
        match judged {
            Ok(notes) => {
                self.notes = notes;
                self.conversation.passed();
                ToChild::Go.encode(&mut self.process.out);
            }
            Err(failure) => self.stop(Verdict::Refused(failure)),
        }
    }

    /// Puts what was committed into the ledger; whether it is there.
    fn is_recorded(&mut self, context: &mut Context<'_>) -> bool {
        if self.recording.is_none() && self.state.has_unrecorded() {
            let state = self.state.clone();
            self.recording = Some(Box::pin(async move { state.record().await }));
        }
        if self.recording.as_mut().is_some_and(|recording| recording.as_mut().poll(context).is_pending()) {
            return false;
        }
        self.recording = None;
        if std::mem::take(&mut self.record_asked) {
            ToChild::Recorded.encode(&mut self.process.out);
        }
        true
    }

    /// Tells the child to stop; the first reason stays.
    fn stop(&mut self, verdict: Verdict) {
        if self.stopping.is_none() {
            // Nothing more is launched, whatever the child still says.
            self.handle.close();
            self.process.send();
            self.process.say_no_more();
            self.verdict = Some(verdict);
            self.stopping = Some(self.begun.monotonic());
        }
    }

    /// The failure of a child that takes more than it may, or that was told to stop and does not.
    fn overdrawn(&mut self, now: Duration) -> Option<RunFailure> {
        if self.stopping.is_some_and(|since| now.saturating_sub(since) >= GRACE) {
            return Some(self.judged().unwrap_or_else(|| Trip::Abort.failure(&self.limits)));
        }
        if now.saturating_sub(self.looked) < LOOK {
            return None;
        }
        self.looked = now;
        self.taken = self.process.watch.look()?;
        if self.taken.resident > self.resident {
            return Some(RunFailure::new(
                RunFailureKind::Heap,
                format!(
                    "the program used more than {} MiB of memory in all; work on smaller pieces and keep only what you \
                     need",
                    self.resident / (1024 * 1024)
                ),
            ));
        }
        // V8 collects and compiles on other threads, the child waits awake for answers, and its own watchdog is there
        // first.
        let most = self
            .limits
            .busy
            .saturating_mul(2)
            .saturating_add(Duration::from_secs(2))
            .saturating_add(MOST_AWAKE);
        (self.busy() > most).then(|| Trip::Busy.failure(&self.limits))
    }

    fn busy(&self) -> Duration {
        self.taken.processor.saturating_sub(self.before.processor)
    }

    /// The host's own reason for the end, if it has one.
    fn judged(&mut self) -> Option<RunFailure> {
        Some(match self.verdict.take()? {
            Verdict::Trip(trip) => trip.failure(&self.limits),
            Verdict::Refused(failure) => failure,
        })
    }

    /// The child said how the program ended.
    fn finished(&mut self, finish: Finish, value: Option<serde_json::Value>) -> (Ended, bool) {
        let Finish { failure, notes, busy, taken: _, inputs, stray, again } = told_briefly(finish);
        let busy = busy.min(self.begun.monotonic());
        let stopped = self.stopping.is_some();
        let result = match (self.judged(), failure) {
            (Some(mut judged), Some(theirs)) => {
                // Where the program was, the child alone knows.
                if theirs.kind == RunFailureKind::Abort && judged.line.is_none() {
                    (judged.line, judged.column, judged.frame) = (theirs.line, theirs.column, theirs.frame);
                }
                Err(judged)
            }
            // It had come to its end before it heard that it was to stop; the run has not.
            (Some(judged), None) => Err(judged),
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(value),
        };
        let mut all = std::mem::take(&mut self.notes);
        all.extend(notes);
        (Ended { result, busy, notes: all, inputs, stray }, again && !stopped)
    }

    /// The child has ended without a word.
    fn died(&mut self, cancel: &CancellationToken) -> Ended {
        let exit = self.process.end(ENDING);
        if self.verdict.is_none() && cancel.is_cancelled() {
            // What ended the child and what cancelled the run may be one thing, such as a signal to both.
            self.verdict = Some(Verdict::Trip(Trip::Abort));
        }
        let failure = match (self.judged(), exit) {
            (Some(judged), _) => judged,
            (None, Exit::Limit(trip)) => trip.failure(&self.limits),
            (None, exit) => engine_exit(&format!("the process that ran the program {exit}")),
        };
        let mut ended = self.without_word(failure);
        if exit == Exit::Limit(Trip::Busy) {
            // The kernel does not count what the child had to wait for a processor; its own watchdog does.
            ended.busy = ended.busy.max(self.limits.busy);
        }
        ended
    }

    /// The child is killed for what it did.
    fn give_up(&mut self, failure: RunFailure) -> Ended {
        self.process.end(Duration::ZERO);
        self.without_word(failure)
    }

    fn without_word(&mut self, failure: RunFailure) -> Ended {
        Ended { notes: std::mem::take(&mut self.notes), ..Ended::without_program(failure, self.busy()) }
    }
}

/// What a child says of an end, no longer than an honest one would make it. The message is cut with all others.
fn told_briefly(mut finish: Finish) -> Finish {
    if let Some(failure) = &mut finish.failure {
        failure.frame.iter_mut().chain(&mut failure.stack).for_each(shorten);
    }
    let mut left = NOTE_BYTES;
    finish.notes.iter_mut().for_each(shorten);
    finish.notes.retain(|note| {
        let fits = note.len() <= left;
        left = left.saturating_sub(note.len());
        fits
    });
    finish
}
