//! V8's start-up: a fact of the whole process.
//!
//! Owns the one initialisation and the thread that all isolate threads descend from. V8 protects its code pages
//! with memory protection keys, which a thread has from its parent: a thread that was there before V8 cannot run
//! an isolate. V8 starts with the first isolate; a process that runs no program never starts it. It calls nobody.
//!
//! # Safety
//! The default time zone is set by a function of ICU that V8's archive has and the `v8` crate gives no name to. The
//! declaration here is that of ICU's `unicode/ucal.h`, and its name holds ICU's version, so that another ICU does not
//! link. It is called once, before there is an isolate, with pointers that it does not keep.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::engine::manifest::V8_FLAGS;

type Job = (String, Box<dyn FnOnce() + Send>);

/// Threads that are asked for and not yet started; asking waits beyond that.
const PENDING_THREADS: usize = 64;

/// Stack of a thread that holds an isolate. V8 uses at most `--stack-size` of it; the rest is for Rust frames
/// below and above.
const STACK_BYTES: usize = 4 * 1024 * 1024;

static ROOT: OnceLock<Mutex<SyncSender<Job>>> = OnceLock::new();

/// Starts a thread on which an isolate may live. The first call starts V8.
pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let root = if let Some(root) = ROOT.get() {
        root
    } else {
        let started = Mutex::new(start()?);
        ROOT.get_or_init(|| started)
    };
    let root = root.lock().unwrap_or_else(PoisonError::into_inner);
    root.send((name.to_owned(), Box::new(body)))
        .map_err(|_| io::Error::other("the thread that starts isolates has ended"))
}

fn start() -> io::Result<SyncSender<Job>> {
    // Two callers at once: the second waits and finds V8 started.
    static STARTING: Mutex<Option<SyncSender<Job>>> = Mutex::new(None);
    let mut starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*starting {
        return Ok(sender.clone());
    }
    let (sender, jobs) = sync_channel::<Job>(PENDING_THREADS);
    thread::Builder::new().name("isolane-v8".to_owned()).spawn(move || {
        initialize();
        for (name, body) in jobs {
            let spawned = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(body);
            if let Err(error) = spawned {
                // The job is dropped, and with it the channel on which somebody waits for it.
                tracing::error!(%error, "an isolate's thread could not be started");
            }
        }
    })?;
    *starting = Some(sender.clone());
    Ok(sender)
}

/// Has V8 make no machine code of programs, at the cost of speed. To be called before V8 is started.
pub(super) fn without_machine_code() {
    JITLESS.store(true, Ordering::Release);
}

static JITLESS: AtomicBool = AtomicBool::new(false);

fn initialize() {
    v8::V8::set_flags_from_string(V8_FLAGS);
    if JITLESS.load(Ordering::Acquire) {
        v8::V8::set_flags_from_string("--jitless");
    }
    v8::V8::initialize_platform(v8::new_default_platform(1, false).make_shared());
    v8::V8::initialize();
    v8::icu::set_default_locale(LOCALE);
    if !set_time_zone(TIME_ZONE) {
        tracing::warn!("programs see the time zone of this machine: UTC could not be set");
    }
}

/// What programs get where they name no locale and no time zone. The host's own are not theirs to know, and the
/// same program gives the same text everywhere (L12).
const LOCALE: &str = "en-US";
const TIME_ZONE: &str = "Etc/UTC";

/// Sets the default of V8's own copy of ICU; the process's time zone stays as it is.
fn set_time_zone(name: &str) -> bool {
    // SAFETY: as ICU declares it: `UChar` is 16 bits wide, `UErrorCode` an `int` that is zero for no error.
    #[expect(unsafe_code, reason = "the v8 crate has no name for this function of ICU")]
    unsafe extern "C" {
        // Versioned like `udata_setCommonData_77`, which the crate itself links.
        fn ucal_setDefaultTimeZone_77(zone: *const u16, status: *mut i32);
    }
    let zone: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let mut status = 0;
    // SAFETY: the name ends with a zero, and both pointers are valid for the length of the call.
    #[expect(unsafe_code, reason = "the v8 crate has no name for this function of ICU")]
    unsafe {
        ucal_setDefaultTimeZone_77(zone.as_ptr(), &raw mut status);
    }
    status <= 0
}

/// The version of V8, for example `15.0.245.2`.
pub fn v8_version() -> &'static str {
    v8::V8::get_version()
}
