//! Budgets as data.
//!
//! Owns the numbers of E-6 and their defaults. It never enforces one: the engine, the lane and the pipeline
//! do. It calls nobody.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const MIB: usize = 1024 * 1024;

/// What one run of a program may use (E-6). Every limit is on by default.
///
/// No program can catch the end of its run. Two limits end no run: what is too large as the arguments of a call
/// (T-17) or for `state` is refused with an ordinary error, and nothing of it has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RunLimits {
    /// Time spent executing JavaScript, paused while the program waits for tools or timers. Default 10 s.
    pub busy: Duration,
    /// Time from start to end, waiting included. Default 300 s. It does not limit what a tool does after it
    /// was told to stop: a body is always waited for (P-14).
    pub wall: Duration,
    /// V8 heap, in bytes. Default 128 MiB; below 8 MiB V8 cannot work, and it counts as that. Array buffers are
    /// counted apart.
    pub heap_bytes: usize,
    /// Backing stores of array buffers and typed arrays, in bytes. Default 64 MiB.
    pub array_buffer_bytes: usize,
    /// Logs and result together, in bytes. Default 1 MiB.
    pub output_bytes: usize,
    /// What a model is shown of logs and result, in bytes as text. More is fitted, and what is left out is said (CM-28).
    /// Default 64 KiB. A host that runs programs by itself has all of both.
    pub shown_bytes: usize,
    /// The program's text, in bytes. Default 1 MiB.
    pub program_bytes: usize,
    /// Sub-calls of one run. Default 10,000.
    pub sub_calls: u64,
    /// Timers waiting at the same time. Default 1,000.
    pub pending_timers: usize,
    /// Arguments of one sub-call as JSON text, in bytes. Default 1 MiB. [`CallLimits::argument_bytes`] holds as
    /// well: the smaller of the two counts.
    pub argument_bytes: usize,
    /// Arguments of all sub-calls that wait for their turn, in bytes, about as JSON text (V11). Default 64 MiB.
    pub queued_argument_bytes: usize,
    /// What programs of one session may keep in `state`, in bytes (CM-11). Default 1 MiB.
    pub state_bytes: usize,
    /// Sub-calls whose bodies run at the same time (CM-18). Default 10; 1 is strictly serial (CM-20).
    pub max_parallel_sub_calls: usize,
    /// Blocks of tools' results that are not text and go to the model with the run's result, in submission order
    /// (CM-12). A note counts the rest. It does not limit the size of a block. Default 8.
    pub forwarded_blocks: usize,
}

impl RunLimits {
    /// What one call may give a program, in bytes as JSON text: a part of the heap, since the program needs room to read
    /// it.
    pub fn value_bytes(&self) -> usize {
        self.heap_bytes / 4
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(10),
            wall: Duration::from_secs(300),
            heap_bytes: 128 * MIB,
            array_buffer_bytes: 64 * MIB,
            output_bytes: MIB,
            shown_bytes: 64 * 1024,
            program_bytes: MIB,
            sub_calls: 10_000,
            pending_timers: 1_000,
            argument_bytes: MIB,
            queued_argument_bytes: 64 * MIB,
            state_bytes: MIB,
            max_parallel_sub_calls: 10,
            forwarded_blocks: 8,
        }
    }
}

/// What one call through the pipeline may carry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CallLimits {
    /// Arguments above this many bytes are refused before validation (T-17). Default 1 MiB.
    pub argument_bytes: usize,
    /// Containers nested deeper than this are refused. Default 128.
    pub depth: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { argument_bytes: MIB, depth: 128 }
    }
}

/// A limit of time as messages say it: whole seconds, or milliseconds.
pub(crate) fn spell_duration(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E-6, T-17: what holds where nobody said anything.
    #[test]
    fn every_limit_is_on_by_default() {
        let limits = serde_json::to_string(&RunLimits::default()).unwrap();
        insta::assert_snapshot!(limits, @r#"{"busy":{"secs":10,"nanos":0},"wall":{"secs":300,"nanos":0},"heap_bytes":134217728,"array_buffer_bytes":67108864,"output_bytes":1048576,"shown_bytes":65536,"program_bytes":1048576,"sub_calls":10000,"pending_timers":1000,"argument_bytes":1048576,"queued_argument_bytes":67108864,"state_bytes":1048576,"max_parallel_sub_calls":10,"forwarded_blocks":8}"#);
        assert_eq!(CallLimits::default().argument_bytes, 1 << 20);
    }
}
