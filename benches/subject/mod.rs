//! What is measured: a host with two tools, in either isolation.
//!
//! Owns the tools, the limits and the runtimes of the benchmarks that run programs, and knows their processes. It measures nothing.

use isolane::engine::{InProcessOptions, InProcessRuntime, ProcessOptions, ProcessRuntime};
use isolane::host::{Host, HostBuilder};
use isolane::limits::{CallLimits, RunLimits};
use isolane::tool::{Concurrency, Tool, ToolContext, ToolError};
use serde_json::{Value, json};

/// Where programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Each session in a process of its own.
    Boxed,
    /// Isolates in this process.
    InProcess,
}

impl Isolation {
    /// A host with `ready` isolates or children at hand, the two tools, and so many more.
    pub(crate) fn host(self, ready: usize, more_tools: usize) -> Host {
        let limits = generous();
        let builder = Host::builder();
        let builder = match self {
            Self::Boxed => {
                let mut options = ProcessOptions::for_limits(&limits);
                options.warm = ready;
                options.max_children = options.max_children.max(ready);
                // None is replaced in the middle of a figure.
                options.runs_per_child = u32::MAX;
                builder.runtime(ProcessRuntime::new(options).unwrap())
            }
            Self::InProcess => {
                let options = InProcessOptions { ready, limits: limits.clone() };
                builder.runtime(InProcessRuntime::new(&options))
            }
        };
        with_tools(builder, limits, more_tools)
    }
}

/// The processes that this one has started.
pub(crate) fn children() -> Vec<u32> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    let lists = threads.map(|thread| of(thread.unwrap()));
    lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

fn with_tools(builder: HostBuilder, limits: RunLimits, more_tools: usize) -> Host {
    let mut call_limits = CallLimits::default();
    call_limits.argument_bytes = limits.argument_bytes;
    let more = (0..more_tools).map(|index| {
        let tool = Tool::builder(format!("tool_{index}"))
            .output(json!({"type": "null"}))
            .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) });
        tool.unwrap()
    });
    // Without a ledger this is for nothing, and costs nothing.
    let builder = builder.record_values(true);
    builder.tools([noop(), echo()]).tools(more).limits(limits).call_limits(call_limits).build().unwrap()
}

/// Gives back its number.
fn noop() -> Tool {
    Tool::builder("noop")
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .output(json!({"type": "integer"}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, _context: ToolContext| async move { Ok::<_, ToolError>(args["n"].clone()) })
        .unwrap()
}

/// Gives back its text.
fn echo() -> Tool {
    Tool::builder("echo")
        .parameters(json!({"type": "object", "properties": {"text": {"type": "string"}}}))
        .output(json!({"type": "string"}))
        .concurrency(Concurrency::Parallel)
        .handler(|args: Value, _context: ToolContext| async move { Ok::<_, ToolError>(args["text"].clone()) })
        .unwrap()
}

fn generous() -> RunLimits {
    let mut limits = RunLimits::default();
    limits.sub_calls = 1_000_000;
    limits.argument_bytes = 4 << 20;
    limits.output_bytes = 16 << 20;
    limits
}
