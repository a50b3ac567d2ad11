//! What a run needs of the program around it.
//!
//! Owns the look at the host's tokio runtime before anything is started in it. It calls nobody.

use std::panic::catch_unwind;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::clock::{Clock, SystemClock};
use crate::outcome::{RunFailure, RunFailureKind};

/// The host's runtime, or what it lacks.
pub(super) fn host_runtime() -> Result<Handle, RunFailure> {
    let host = Handle::try_current()
        .map_err(|_| unusable("programs need a tokio runtime around them, and there is none"))?;
    // There is no way to ask, and a wait without timers panics: better here than in the middle of a run.
    let waits = || drop(SystemClock::new().sleep(Duration::ZERO));
    catch_unwind(waits).map_err(|_| {
        unusable("the host's tokio runtime has no timers; build it with `enable_time()` or `enable_all()`")
    })?;
    Ok(host)
}

fn unusable(what: &str) -> RunFailure {
    RunFailure::new(RunFailureKind::EngineExit, what)
}
