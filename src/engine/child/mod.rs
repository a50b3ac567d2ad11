//! The child: a process that runs programs for a host and has no powers of its own (E-4).
//!
//! Owns how a process finds out that it is a child, and the order of its life: told how it is to be, confined, V8 and the
//! first isolate made, closed in for good, and then one program after the other. Nothing of a program is looked at
//! before the sandbox is whole. It calls the sandbox and the execution.
//!
//! A child has three threads beside those of V8's own: the main one waits for the end of the host, one is the watchdog,
//! and one has the isolates.

mod far;
mod link;
mod serve;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::engine::exit;
use crate::engine::isolate::IsolateLimits;

pub use crate::engine::sandbox::{Layer, LayerReport, LayerState};

use link::Link;

/// The argument by which a process knows that it is a child.
pub(super) const MARK: &str = "--isolane-child";

/// Exit code of a child that could not begin; its host has been told why if it could be.
const FAILED: i32 = 2;

/// This process looks at its arguments, so that it can be started as a child.
static CAN_BE_CHILD: AtomicBool = AtomicBool::new(false);

/// Runs programs for a host if this process was started for that, and never returns then.
///
/// To be called first in `main` by every program that uses
/// [`ProcessRuntime`](crate::engine::ProcessRuntime) with its own executable, before there are threads:
///
/// ```no_run
/// isolane::child::run_if_child();
/// // the program itself
/// ```
pub fn run_if_child() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == MARK) {
        if let Err(reason) = serve::serve() {
            // There is nobody else to tell: the host sees the exit code, and whoever started this by hand sees the text.
            let mut link = Link::open();
            link.fail(&reason);
        }
        exit::end(FAILED);
    }
    CAN_BE_CHILD.store(true, Ordering::Release);
}

/// Whether [`run_if_child`] stands first in this program's `main`.
pub(super) fn can_be_child() -> bool {
    CAN_BE_CHILD.load(Ordering::Acquire)
}

/// How a host wants its child to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The host's process.
    pub(super) host: u32,
    /// What the first isolate is made with; a run with other limits gets one of its own.
    pub(super) isolate: IsolateLimits,
    /// V8 is to make no machine code of programs.
    pub(super) jitless: bool,
}

/// A child that can take a program, or cannot be one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    /// [`PROTOCOL`](crate::codemode::wire::PROTOCOL) of the child.
    pub(super) protocol: u32,
    /// Version of the crate: that of the host, or they do not speak.
    pub(super) version: String,
    /// The layers of its sandbox; the same each time.
    pub(super) layers: Vec<LayerReport>,
    /// Why there is no child after all.
    pub(super) failure: Option<String>,
}

impl Ready {
    fn new(layers: Vec<LayerReport>, failure: Option<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: crate::codemode::wire::PROTOCOL, version, layers, failure }
    }
}
