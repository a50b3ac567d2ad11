//! The host that commands ask.
//!
//! Owns which tools there are and what a run may use. It never starts an engine by itself: listing tools or calling
//! one needs none.

use std::path::Path;

use isolane::builtin::files::{FileToolOptions, Root, file_tools};
use isolane::codemode::CodeRuntime;
use isolane::codemode::check::CheckMode;
use isolane::engine::TypeScriptChecker;
use isolane::host::{Host, HostBuilder};
use isolane::limits::RunLimits;

use super::args::{DeploymentArgs, LimitArgs};

/// The file tools over their root, without an engine.
pub(super) struct Deployment {
    root: Root,
    allow_write: bool,
}

impl Deployment {
    /// Opens the root.
    pub(super) fn open(args: &DeploymentArgs) -> anyhow::Result<Self> {
        let root = Root::open(&args.root)?;
        Ok(Self { root, allow_write: args.allow_write })
    }

    /// The folder that programs may write to; nothing when they may not write.
    pub(super) fn writable_root(&self) -> Option<&Path> {
        self.allow_write.then(|| self.root.path())
    }

    /// A host that can run programs, and checks them before by this mode; `record` when their runs are to be run again.
    pub(super) fn host_with(
        self,
        runtime: impl CodeRuntime + 'static,
        limits: RunLimits,
        check: CheckMode,
        record: bool,
    ) -> anyhow::Result<Host> {
        let builder = self.builder()?.runtime(runtime).limits(limits).record_values(record);
        Ok(builder.type_check(TypeScriptChecker::default(), check).build()?)
    }

    /// A host that can check programs, not run them.
    pub(super) fn host_to_check(self) -> anyhow::Result<Host> {
        Ok(self.builder()?.type_check(TypeScriptChecker::default(), CheckMode::Off).build()?)
    }

    /// A host that can call tools, not run programs.
    pub(super) fn host(self) -> anyhow::Result<Host> {
        Ok(self.builder()?.build()?)
    }

    fn builder(self) -> anyhow::Result<HostBuilder> {
        let path = self.root.path().to_owned();
        let options = FileToolOptions { allow_write: self.allow_write, ..FileToolOptions::default() };
        Ok(Host::builder().tools(file_tools(self.root, options)?).working_root(path))
    }
}

/// The tools that are there only with `--allow-write`.
pub(super) const WRITING: [&str; 2] = ["edit", "write"];

/// What to know of tools that are there only with `--allow-write`, if it was such a one that was not found.
pub(super) fn hint(args: &DeploymentArgs, is_missing: impl Fn(&str) -> bool) -> Option<String> {
    let missing = WRITING.into_iter().find(|tool| is_missing(tool))?;
    (!args.allow_write).then(|| format!("the tool `{missing}` is there with --allow-write"))
}

/// The defaults, changed by what was asked for.
pub(super) fn limits(args: &LimitArgs) -> RunLimits {
    let mut limits = RunLimits::default();
    let LimitArgs { timeout, busy_timeout, max_parallel, max_calls, max_output, heap_mib } = args;
    limits.wall = timeout.unwrap_or(limits.wall);
    limits.busy = busy_timeout.unwrap_or(limits.busy);
    limits.max_parallel_sub_calls = max_parallel.map_or(limits.max_parallel_sub_calls, Into::into);
    limits.sub_calls = max_calls.unwrap_or(limits.sub_calls);
    limits.output_bytes = max_output.unwrap_or(limits.output_bytes);
    limits.heap_bytes = heap_mib.map_or(limits.heap_bytes, |mib| mib.saturating_mul(1024 * 1024));
    limits
}
