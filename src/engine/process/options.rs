//! How the process runtime works, and why it does not.
//!
//! Owns the options and the errors. It calls nobody.

use std::path::PathBuf;

use crate::engine::child::Layer;
use crate::limits::RunLimits;
use crate::outcome::{RunFailure, RunFailureKind};

/// Which program a child runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChildProgram {
    /// This one. Its `main` begins with [`run_if_child`](crate::engine::child::run_if_child).
    #[default]
    Own,
    /// The `isolane` program, or another whose `main` begins with that line; of the same version as this crate.
    At(PathBuf),
}

/// How the process runtime works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// Which program a child runs. Default: this one.
    pub program: ChildProgram,
    /// Children that are ready before they are needed, of no session yet. Default 1.
    pub warm: usize,
    /// Most children at the same time, and so most runs: others wait. A program that runs another by a tool takes two.
    /// Default 64.
    pub max_children: usize,
    /// Most children that have served a session and wait for its next program; the longest unused goes first. Default 4.
    pub max_idle: usize,
    /// Programs that a child may run, one after the other, before it is replaced (E-2). Default 100.
    pub runs_per_child: u32,
    /// What a child may have in memory, whatever for, in bytes (E-6). One that has more is killed. Default 512 MiB.
    pub resident_bytes: usize,
    /// The limits that the isolate of a warm child is made with; a run with other heap limits has to wait for one.
    pub limits: RunLimits,
    /// Whether a child without a layer of its sandbox is refused (E-4); absent layers are reported either way. Default:
    /// false.
    pub require_sandbox: bool,
    /// Whether V8 makes no machine code of programs: slower by far, and safer. Default: false.
    pub jitless: bool,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            program: ChildProgram::Own,
            warm: 1,
            max_children: 64,
            max_idle: 4,
            runs_per_child: 100,
            resident_bytes: 512 * 1024 * 1024,
            limits: RunLimits::default(),
            require_sandbox: false,
            jitless: false,
        }
    }
}

impl ProcessOptions {
    /// The defaults, for runs with these limits: a larger heap makes a larger child.
    pub fn for_limits(limits: &RunLimits) -> Self {
        let mut options = Self::default();
        let larger = limits.heap_bytes.saturating_sub(options.limits.heap_bytes);
        options.resident_bytes = options.resident_bytes.saturating_add(larger.saturating_mul(2));
        options.limits = limits.clone();
        options
    }
}

impl ProcessError {
    /// What the run that it costs is told: no paths of the host, and whose it is to mend.
    pub(super) fn for_program(&self) -> RunFailure {
        let what = match self {
            Self::NotAChild | Self::Closed => "the host has no processes to run programs in".to_owned(),
            Self::Start { reason, .. } => format!("no process could be started to run the program: {reason}"),
            Self::NoAnswer { what, .. } => {
                format!("the process that was started to run the program {what}")
            }
            Self::Sandbox { lacks } => format!(
                "the sandbox of the process that was started to run the program lacks {}, and the host requires it whole",
                lacks.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
            ),
        };
        RunFailure::new(
            RunFailureKind::EngineExit,
            format!("{what}; this is for whoever runs the host to mend"),
        )
    }
}

/// Why there is no child.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// This program cannot be its own child.
    #[error(
        "programs run in child processes of this executable, whose `main` does not begin with the line \
         `isolane::child::run_if_child();`; add it, or name the `isolane` program with `ChildProgram::At`"
    )]
    NotAChild,
    /// The program could not be started.
    #[error("the child program `{program}` could not be started: {reason}")]
    Start {
        /// Its path.
        program: String,
        /// The system's reason.
        reason: String,
    },
    /// It was started, and did not become a child.
    #[error(
        "`{program}` was started as a child and {what}; it has to be the `isolane` program, or one whose `main` begins \
         with `isolane::child::run_if_child();`, of version {}",
        env!("CARGO_PKG_VERSION")
    )]
    NoAnswer {
        /// Its path.
        program: String,
        /// What it did instead.
        what: String,
    },
    /// Its sandbox is not whole, and the host requires that it is.
    #[error(
        "the sandbox of a child lacks {}, and this host requires it whole (`require_sandbox`); `isolane doctor` shows why",
        .lacks.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
    )]
    Sandbox {
        /// The layers that are not on.
        lacks: Vec<Layer>,
    },
    /// The runtime is gone.
    #[error("the process runtime has been dropped")]
    Closed,
}
