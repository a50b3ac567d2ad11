//! What a command's program runs in.
//!
//! Owns how the options for isolation become a runtime. It runs nothing.

use anyhow::bail;

use isolane::codemode::check::CheckMode;
use isolane::engine::{InProcessOptions, InProcessRuntime, ProcessOptions, ProcessRuntime};
use isolane::host::Host;
use isolane::limits::RunLimits;

use super::args::{Isolation, RuntimeArgs};
use super::deployment::Deployment;

/// A runtime that has been started.
pub(super) enum Runtime {
    Process(ProcessRuntime),
    InProcess(InProcessRuntime),
}

impl Runtime {
    /// Starts it; its isolate is made beside all that follows.
    pub(super) fn start(args: &RuntimeArgs, limits: &RunLimits) -> anyhow::Result<Self> {
        match args.isolation {
            Isolation::Process => {
                let mut options = ProcessOptions::for_limits(limits);
                // There is one program to run: no second child is made ready.
                options.max_children = 1;
                options.require_sandbox = args.require_sandbox;
                options.jitless = args.jitless;
                Ok(Self::Process(ProcessRuntime::new(options)?))
            }
            Isolation::InProcess if args.require_sandbox || args.jitless => bail!(
                "`--require-sandbox` and `--jitless` are for programs in processes of their own, not for \
                 `--isolation in-process`"
            ),
            Isolation::InProcess => {
                let options = InProcessOptions { limits: limits.clone(), ..Default::default() };
                Ok(Self::InProcess(InProcessRuntime::new(&options)))
            }
        }
    }

    /// A host that runs programs in it; `record` when their runs are to be run again.
    pub(super) fn host(
        self,
        deployment: Deployment,
        limits: RunLimits,
        check: CheckMode,
        record: bool,
    ) -> anyhow::Result<Host> {
        match self {
            Self::Process(runtime) => deployment.host_with(runtime, limits, check, record),
            Self::InProcess(runtime) => deployment.host_with(runtime, limits, check, record),
        }
    }
}
