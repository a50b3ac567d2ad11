//! The sandbox that a child puts on itself (E-4).
//!
//! Owns the two steps in which a process gives up its powers, and the order of the layers in them. A layer that cannot
//! be put on is a report and no more: the process goes on, and its host decides. Nothing here can be taken back, and
//! nothing here is for the host itself. Each layer is in a file of its own; it calls nobody else.

mod layers;

mod inherited;
mod landlock;
mod process;
mod rlimits;
mod seccomp;

pub use layers::{Layer, LayerReport, LayerState};

/// Gives up, for good, every power that a child of isolane gives up (E-4), for the process that calls it, and says
/// layer by layer what holds. For whoever wants to see what code can still do then.
///
/// There is no way back. Every descriptor from 3 on is closed, whoever owns it. The environment is cleared, as long as
/// no other thread runs that may read it. No file is opened, no thread and no process is started, no connection is made
/// from then on; the process dies with the thread that started it. Reading and writing of what is open, memory, time
/// and the end of the process are left. Not everything holds for threads that run already: call this before there are
/// any.
pub fn confine() -> Vec<LayerReport> {
    both_steps(after_start)
}

/// As [`confine`], and from then on no memory can be made executable either: what is left to a V8 that interprets and
/// compiles nothing.
pub fn confine_without_compiler() -> Vec<LayerReport> {
    both_steps(after_start_without_compiler)
}

fn both_steps(last: fn() -> Vec<LayerReport>) -> Vec<LayerReport> {
    let mut reports = before_threads(parent());
    reports.extend(last());
    reports.sort_by_key(|report| report.layer);
    reports
}

/// The first step: before the process has a second thread, since Landlock holds for a thread and those that it starts,
/// and the environment may not be cleared under another. From then on no file can be opened.
///
/// `host` is the process that this one was started by; when it is gone already, the process ends here.
pub(crate) fn before_threads(host: u32) -> Vec<LayerReport> {
    rlimits::lower_before_threads();
    // Asked while /proc can be read.
    let alone = inherited::threads() == Some(1);
    let mut reports = vec![
        LayerReport::new(Layer::NoNewPrivileges, process::no_new_privileges()),
        LayerReport::new(Layer::NotDumpable, process::not_dumpable()),
        LayerReport::new(Layer::DiesWithHost, process::dies_with(host)),
        // Landlock takes the files of /proc away, from which these two may read.
        LayerReport::new(Layer::Descriptors, inherited::close_descriptors()),
        LayerReport::new(Layer::Environment, inherited::clear_environment()),
    ];
    reports.push(landlock::restrict(alone));
    reports
}

/// The second step: once every thread is there and V8 has its first isolate. From then on only the system calls of a
/// run are left, which may make memory executable.
pub(crate) fn after_start() -> Vec<LayerReport> {
    last_step(seccomp::Code::Compiled)
}

/// As [`after_start`], and no memory can be made executable any more: for V8 under `--jitless`.
pub(crate) fn after_start_without_compiler() -> Vec<LayerReport> {
    last_step(seccomp::Code::Interpreted)
}

fn last_step(code: seccomp::Code) -> Vec<LayerReport> {
    vec![
        LayerReport::new(Layer::Limits, rlimits::lower()),
        // Last: it takes away the calls that the others are made with.
        LayerReport::new(Layer::Seccomp, seccomp::restrict(code)),
    ]
}

/// The process that started this one; 0 when it is not to be seen from here.
fn parent() -> u32 {
    process::parent()
}
