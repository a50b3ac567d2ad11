//! Child processes, seen from outside: killed, forged, counted, and many of them (E-2 to E-4, E-6).
//!
//! Owns a program under a path of its own, by which a test knows its children among those of all others. It observes
//! other processes, so its waits are loops with an end; no test depends on how fast the machine is.

mod ends;
mod forged;
mod kills;
mod liar;
mod limits;
mod pool;
mod soak;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isolane::clock::SystemClock;
use isolane::engine::{ChildProgram, ProcessOptions, ProcessRuntime};
use isolane::limits::RunLimits;
use rustix::event::Timespec;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{Host, tools};

/// A program whose path nobody else uses.
struct Program {
    folder: TempDir,
    path: PathBuf,
}

impl Program {
    /// The one that is built beside the tests.
    fn isolane() -> Self {
        Self::linked("isolane", Path::new(env!("CARGO_BIN_EXE_isolane")))
    }

    fn linked(name: &str, to: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        symlink(to, &path).unwrap();
        Self { folder, path }
    }

    fn options(&self, limits: &RunLimits) -> ProcessOptions {
        let mut options = ProcessOptions::default();
        options.program = ChildProgram::At(self.path.clone());
        options.limits = limits.clone();
        options
    }

    fn runtime(&self, limits: &RunLimits) -> ProcessRuntime {
        ProcessRuntime::new(self.options(limits)).unwrap()
    }

    /// The children of this process that run it.
    fn children(&self) -> Vec<Pid> {
        children(std::process::id())
            .into_iter()
            .filter(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.starts_with(self.folder.path().as_os_str().as_encoded_bytes())
            })
            .map(|pid| Pid::from_raw(i32::try_from(pid).unwrap()).unwrap())
            .collect()
    }

    /// Waits for them to be as wanted, and gives them.
    fn wait(&self, wanted: impl Fn(&[Pid]) -> bool) -> Vec<Pid> {
        let mut found = Vec::new();
        let as_wanted = wait_until(|| {
            found = self.children();
            wanted(&found)
        });
        assert!(as_wanted, "the children are {found:?}");
        found
    }

    /// Kills children as a system does that is out of memory. Their host has noticed then.
    fn kill(pids: &[Pid]) {
        for pid in pids {
            // It may have ended by itself.
            let _ = kill_process(*pid, Signal::KILL);
        }
        wait_for_host(pids);
    }
}

/// Waits until children that were killed have been waited for by their host.
fn wait_for_host(pids: &[Pid]) {
    let all = || children(std::process::id());
    let are_gone = wait_until(|| {
        let left = all();
        pids.iter().all(|pid| !left.contains(&pid.as_raw_nonzero().get().unsigned_abs()))
    });
    assert!(are_gone, "{pids:?} are not waited for");
}

/// A host whose programs run there.
fn host_on(runtime: &ProcessRuntime, limits: &RunLimits) -> Host {
    Host::on(Arc::new(runtime.clone()), limits.clone(), tools(), SystemClock::shared())
}

/// The children of a process, whichever of its threads started them.
fn children(of: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|pids| pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

/// Looks again and again, for half a minute at most, whether another process has done what it was to do.
fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    (0..3_000).any(|_| {
        let seen = done();
        if !seen {
            let _ = rustix::event::poll(&mut [], Timespec::try_from(Duration::from_millis(10)).ok().as_ref());
        }
        seen
    })
}

/// Bytes that this process has in memory.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB")).unwrap();
    kib.trim().parse::<usize>().unwrap() * 1024
}
