//! What is tried, and what must become of it.
//!
//! Owns the table of probes. Each is tried twice, by a process that has confined itself and by one that has not: what
//! the second cannot do either shows nothing. The functions are in the files beside this one; it calls nobody else.

mod files;
mod kept;
mod processes;
mod system;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use isolane::engine::{LayerReport, confine, confine_without_compiler};

use crate::calls::{Answer, place_of_variable};

/// A variable that a careless host leaves in the environment, and its value.
pub(crate) const VARIABLE: &std::ffi::CStr = c"ISOLANE_TEST_SECRET";
pub(crate) const VALUE: &str = "a secret of the host";

/// Whether it could be done, or with which error of the C library it could not.
pub(crate) type Tried = Result<(), i32>;

/// What a probe has at hand.
#[derive(Debug)]
pub(crate) struct Setup {
    /// A file that can be read by whoever can read files.
    pub(crate) secret: CString,
    /// A folder in which there is nothing yet.
    pub(crate) folder: CString,
    /// The secret, opened by the host and inherited.
    pub(crate) inherited: usize,
    /// The process that started this one.
    pub(crate) host: usize,
    /// Where [`VALUE`] was when the process started.
    pub(crate) variable: Option<usize>,
    /// Whether the process is to confine itself.
    pub(crate) confined: bool,
    /// What was said of the layers; nothing by a process that is free.
    pub(crate) reports: Vec<LayerReport>,
}

impl Setup {
    /// For a process that was just started.
    pub(crate) fn new(confined: bool, secret: &Path, inherited: usize, host: usize) -> Self {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
        Self {
            secret: text(secret),
            folder: text(&secret.with_file_name("made")),
            inherited,
            host,
            variable: place_of_variable(VARIABLE),
            confined,
            reports: Vec::new(),
        }
    }

    /// Confines the process, if it is to be.
    pub(crate) fn confine(&mut self) {
        self.confine_by(confine);
    }

    /// As [`Self::confine`], in the mode in which nothing is compiled.
    pub(crate) fn confine_without_compiler(&mut self) {
        self.confine_by(confine_without_compiler);
    }

    fn confine_by(&mut self, confine: fn() -> Vec<LayerReport>) {
        if self.confined {
            self.reports = confine();
        }
    }
}

/// What must become of a probe in a process that has confined itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// One of these errors; done by a process that is free.
    Refused(&'static [i32]),
    /// As `Refused`, in a process that gave up the right to executable memory.
    RefusedWithoutCompiler,
    /// The kernel kills the process; done by a process that is free.
    Killed,
    /// Done, by a process that is free too.
    Works,
    /// As `Works`, and the probe itself says when it confines itself.
    WorksOnce,
    /// The process aborts, one that is free too.
    Aborts,
    /// The process is started by another, and ends with it; one that is free goes on.
    Orphaned,
    /// Done; there is nothing like it in a process that is free.
    Gained,
}

/// One thing that is tried.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Setup) -> Tried,
    pub(crate) expected: Expected,
    /// The machine may be one on which no process can do it; then it is skipped.
    pub(crate) may_be_refused: bool,
}

/// Runs a call for its success alone.
fn done(answer: Answer) -> Tried {
    answer.map(drop)
}

/// The table: `module::function => what is expected`, with a `?` behind what a machine may refuse to everyone.
macro_rules! table {
    (@luck) => { false };
    (@luck ?) => { true };
    ($($module:ident :: $name:ident => $expected:expr $(; $luck:tt)?),* $(,)?) => {
        &[$(Probe {
            name: stringify!($name),
            run: $module::$name,
            expected: $expected,
            may_be_refused: table!(@luck $($luck)?),
        }),*]
    };
}

/// Refused by seccomp, or by Landlock before it.
const REFUSED: Expected = Expected::Refused(&[libc::EPERM, libc::EACCES]);

pub(crate) const PROBES: &[Probe] = table![
    files::opening_a_file => REFUSED,
    files::opening_a_file_below_a_folder => REFUSED,
    files::opening_a_file_with_openat2 => REFUSED,
    files::opening_a_file_for_writing => REFUSED,
    files::creating_a_file => REFUSED,
    files::asking_for_a_file => REFUSED,
    files::asking_for_a_file_below_a_folder => REFUSED,
    files::reading_a_link => REFUSED,
    files::listing_the_root => REFUSED,
    files::making_a_folder => REFUSED,
    files::cutting_a_file => REFUSED,
    files::removing_a_file => REFUSED,
    files::opening_the_null_device => REFUSED,
    files::opening_its_own_environment => REFUSED,
    files::opening_the_memory_of_its_host => REFUSED; ?,
    files::making_a_file_in_memory => REFUSED,
    files::using_an_inherited_descriptor => Expected::Refused(&[libc::EBADF]),
    files::doubling_a_descriptor => REFUSED,
    files::passing_a_message_with_descriptors => REFUSED,
    files::reading_the_environment => Expected::Refused(&[libc::ENOENT]),
    files::finding_the_environment_in_memory => Expected::Refused(&[libc::ENOENT]),
    processes::forking => Expected::Killed,
    processes::forking_in_place => Expected::Killed,
    processes::cloning_the_process => Expected::Killed,
    processes::cloning_the_process_by_the_newer_call => Expected::Refused(&[libc::ENOSYS]),
    processes::starting_a_program => Expected::Killed,
    processes::starting_a_program_from_a_descriptor => Expected::Killed,
    processes::starting_a_thread => Expected::Refused(&[libc::EPERM]),
    processes::tracing_itself => Expected::Killed; ?,
    processes::tracing_its_host => Expected::Killed; ?,
    processes::reading_the_memory_of_its_host => Expected::Killed; ?,
    processes::taking_hold_of_its_host => Expected::Killed; ?,
    processes::signalling_its_host => REFUSED,
    processes::signalling_a_thread_of_its_host => REFUSED,
    processes::signalling_itself => REFUSED,
    processes::outliving_its_host => REFUSED,
    processes::becoming_dumpable => REFUSED,
    processes::reading_the_limits_of_its_host => REFUSED,
    processes::setting_a_limit => REFUSED,
    processes::having_a_limit_of_descriptors_above_three => Expected::Refused(&[libc::EMFILE]),
    processes::having_processes_left => Expected::Refused(&[libc::EAGAIN]),
    processes::having_a_file_grow => Expected::Refused(&[libc::EFBIG]),
    processes::having_room_for_a_core => Expected::Refused(&[libc::EFBIG]); ?,
    system::making_a_socket => Expected::Killed,
    system::making_a_local_socket => Expected::Killed,
    system::making_a_pair_of_sockets => Expected::Killed,
    system::connecting => Expected::Killed,
    system::binding => Expected::Killed,
    system::making_a_ring_of_requests => Expected::Killed; ?,
    system::handling_page_faults => Expected::Killed; ?,
    system::loading_a_filter_program => Expected::Killed; ?,
    system::counting_events => Expected::Killed; ?,
    system::reaching_keys => Expected::Killed; ?,
    system::leaving_its_namespaces => Expected::Killed; ?,
    system::changing_its_root => Expected::Killed; ?,
    system::naming_a_file_by_handle => Expected::Killed; ?,
    system::making_a_pipe => REFUSED,
    system::making_a_counter => REFUSED,
    system::waiting_for_many => REFUSED,
    system::asking_what_machine_it_is => REFUSED,
    system::calling_in_the_way_of_32_bits => Expected::Killed; ?,
    kept::every_layer_holds_or_is_said_to_be_missing => Expected::Gained,
    kept::talking_with_the_host => Expected::Works,
    kept::making_memory_executable => Expected::Works,
    kept::making_memory_executable_without_a_compiler => Expected::RefusedWithoutCompiler,
    kept::reading_clock_and_chance => Expected::Works,
    kept::aborting => Expected::Aborts,
    kept::running_programs => Expected::WorksOnce,
    kept::dying_with_the_host => Expected::Orphaned,
];
