//! The TypeScript compiler in an isolate of its own (CM-27).
//!
//! Owns the thread of that isolate, how long a check may take, and the replacement of an isolate that was stopped. It
//! runs no program: what it is given is text to the compiler. One check runs at a time; the others wait. It calls
//! `isolate` and the clock.

mod compiler;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, SystemClock};
use crate::codemode::check::{CheckError, CheckRequest, Findings, TypeChecker};
use crate::engine::{lost, platform};
use crate::pipeline::BoxFuture;

use compiler::Compiler;

/// What a check may use.
#[derive(Clone, Debug)]
pub struct TypeScriptOptions {
    /// Longest time of one check, from the moment at which the compiler turns to it. Default: 10 s.
    pub limit: Duration,
    /// Heap of the compiler in bytes. Default: 256 MiB; it works with about 100. It gets as much again once, to stop.
    pub heap_bytes: usize,
    /// The clock of `limit`.
    pub clock: Arc<dyn Clock>,
}

impl Default for TypeScriptOptions {
    fn default() -> Self {
        Self { limit: Duration::from_secs(10), heap_bytes: 256 * 1024 * 1024, clock: SystemClock::shared() }
    }
}

/// The TypeScript compiler. Cloning shares it.
///
/// The first check starts it: it takes a thread and about 120 MB until the last clone is dropped.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use isolane::codemode::check::{CheckRequest, CheckScope, TypeChecker};
/// use isolane::engine::{TypeScriptChecker, TypeScriptOptions};
///
/// let checker = TypeScriptChecker::new(TypeScriptOptions::default());
/// let request = CheckRequest {
///     declarations: "declare const limit: number;".into(),
///     program: "limit.toFixd(2);".to_owned(),
///     scope: CheckScope::Program,
/// };
/// let findings = checker.check(request).await?;
/// assert_eq!(findings.diagnostics[0].code, "TS2551");
/// assert!(findings.diagnostics[0].message.contains("Did you mean 'toFixed'?"));
/// # Ok::<(), isolane::codemode::check::CheckError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TypeScriptChecker {
    options: TypeScriptOptions,
    /// The isolate, while no check has it; absent before the first, and after one that was stopped.
    idle: Arc<Mutex<Option<Worker>>>,
    /// Threads that V8 does not give back, each with the memory that it had.
    held: Arc<AtomicUsize>,
}

/// After so many of them there are no more checks: the host's memory is not a program's to take.
const MOST_HELD: usize = 2;

impl TypeScriptChecker {
    /// A checker that starts with the first check.
    pub fn new(options: TypeScriptOptions) -> Self {
        Self { options, idle: Arc::default(), held: Arc::default() }
    }
}

impl Default for TypeScriptChecker {
    fn default() -> Self {
        Self::new(TypeScriptOptions::default())
    }
}

impl fmt::Debug for TypeScriptChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypeScriptChecker").field("options", &self.options).finish_non_exhaustive()
    }
}

impl TypeChecker for TypeScriptChecker {
    fn check(&self, request: CheckRequest) -> BoxFuture<'static, Result<Findings, CheckError>> {
        let Self { options, idle, held } = self.clone();
        Box::pin(async move {
            let mut idle = idle.lock().await;
            if held.load(Ordering::Relaxed) >= MOST_HELD {
                let reason =
                    format!("{MOST_HELD} checks ran out of memory for good; the host has to be restarted");
                return Err(CheckError::Unavailable(reason));
            }
            // Taken out: a check that is given up half-way, by its limit or with its future, takes its isolate along.
            let worker = match idle.take() {
                Some(worker) => worker,
                None => Worker::start(options.heap_bytes)
                    .map_err(|error| CheckError::Unavailable(error.to_string()))?,
            };
            let (reply, answer) = oneshot::channel();
            let job = Job { request, reply };
            if worker.jobs.send(job).is_err() {
                return Err(CheckError::Unavailable("its thread has ended".to_owned()));
            }
            let answer = tokio::select! {
                answer = answer => answer,
                () = worker.lost.cancelled() => {
                    held.fetch_add(1, Ordering::Relaxed);
                    return Err(CheckError::Heap { limit: options.heap_bytes });
                }
                () = options.clock.sleep(options.limit) => return Err(CheckError::TimedOut { limit: options.limit }),
            };
            match answer {
                Ok(Err(error @ CheckError::Heap { .. })) => Err(error),
                Ok(answered) => {
                    *idle = Some(worker);
                    answered
                }
                Err(_) => {
                    Err(CheckError::Unavailable("the snapshot of the compiler does not fit".to_owned()))
                }
            }
        })
    }
}

struct Job {
    request: CheckRequest,
    reply: oneshot::Sender<Result<Findings, CheckError>>,
}

/// A thread with the compiler. Dropping it ends both, even in the middle of a check.
struct Worker {
    jobs: SyncSender<Job>,
    isolate: Arc<OnceLock<v8::IsolateHandle>>,
    /// Cancelled when the thread is held for ever.
    lost: CancellationToken,
}

impl Worker {
    fn start(heap_bytes: usize) -> io::Result<Self> {
        let (jobs, queue) = sync_channel(1);
        let isolate = Arc::new(OnceLock::new());
        let lost = CancellationToken::new();
        let (handle, held) = (Arc::clone(&isolate), lost.clone());
        platform::spawn("isolane-check", move || {
            // Before the isolate, and until after it.
            let _running = lost::Running::check(held);
            serve(heap_bytes, &queue, &handle);
        })?;
        Ok(Self { jobs, isolate, lost })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(isolate) = self.isolate.get() {
            isolate.terminate_execution();
        }
    }
}

fn serve(heap_bytes: usize, jobs: &Receiver<Job>, handle: &OnceLock<v8::IsolateHandle>) {
    let mut compiler = match Compiler::new(heap_bytes) {
        Ok(compiler) => compiler,
        Err(error) => return tracing::error!(%error, "the type checker cannot start"),
    };
    let _ = handle.set(compiler.handle());
    while let Ok(Job { request, reply }) = jobs.recv() {
        // Whoever asked may be gone since the isolate was being made.
        if reply.is_closed() {
            return;
        }
        let answer = compiler.check(&request);
        let spoilt = matches!(answer, Err(CheckError::Heap { .. }));
        if reply.send(answer).is_err() || spoilt {
            return;
        }
    }
}
