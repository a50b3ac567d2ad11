//! The limits of the kernel on a child (E-4): core, files, descriptors, processes.
//!
//! Owns their values. It leaves processor time to the host, which sets it from outside, and memory too: a limit on
//! addresses does not fit V8. It calls nobody.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::layers::LayerState;

/// No core, and no file that grows.
const BEFORE_THREADS: [(Resource, &str, u64); 2] =
    [(Resource::Core, "the size of a core", 0), (Resource::Fsize, "the size of a file", 0)];

/// No descriptor beyond 0, 1 and 2, and no process. The kernel counts the threads of the user as processes, and leaves
/// root alone; those that are there stay.
const AFTER_START: [(Resource, &str, u64); 2] =
    [(Resource::Nofile, "descriptors", 3), (Resource::Nproc, "processes", 0)];

/// What needs nothing of the start of V8. What fails is told by [`lower`], which sets it again.
pub(super) fn lower_before_threads() {
    for (resource, _, most) in BEFORE_THREADS {
        // Said by `lower`.
        let _ = set(resource, most);
    }
}

/// Everything, once no thread is started and no file opened any more.
pub(super) fn lower() -> LayerState {
    let failed: Vec<String> = BEFORE_THREADS
        .into_iter()
        .chain(AFTER_START)
        .filter_map(|(resource, name, most)| {
            set(resource, most).err().map(|error| format!("{name}: {error}"))
        })
        .collect();
    if failed.is_empty() { LayerState::On } else { LayerState::Off(failed.join(", ")) }
}

fn set(resource: Resource, most: u64) -> rustix::io::Result<()> {
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}
