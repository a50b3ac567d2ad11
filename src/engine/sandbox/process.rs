//! What a process says of itself to the kernel: no new privileges, not dumpable, dead with its host (E-4).
//!
//! Owns these three settings and how the kernel's answer becomes the state of a layer. It touches nothing that the
//! process has. It calls nobody.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Signal, getppid};
use rustix::{process, thread};

use super::layers::LayerState;

/// What the kernel's answer says of a layer.
pub(super) fn state(answer: rustix::io::Result<()>) -> LayerState {
    match answer {
        Ok(()) => LayerState::On,
        Err(Errno::NOSYS | Errno::INVAL) => LayerState::Unavailable("the kernel does not have it".to_owned()),
        Err(error) => LayerState::Off(format!("the kernel says: {error}")),
    }
}

pub(super) fn no_new_privileges() -> LayerState {
    state(thread::set_no_new_privs(true))
}

pub(super) fn not_dumpable() -> LayerState {
    state(process::set_dumpable_behavior(DumpableBehavior::NotDumpable))
}

/// The process that started this one; 0 when it is in a namespace that is not seen from here.
pub(super) fn parent() -> u32 {
    getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs())
}

/// The kernel sends the signal when the *thread* that started this process ends. When that was before the signal was
/// asked for, the process has another parent now.
pub(super) fn dies_with(host: u32) -> LayerState {
    let set = process::set_parent_process_death_signal(Some(Signal::KILL));
    if parent() != host {
        #[expect(clippy::exit, reason = "nobody is left to say it to")]
        std::process::exit(1);
    }
    state(set)
}
