//! Processes: new ones, others, and what the process may be.
//!
//! Owns what is tried of them, each as code that has taken the process over would. It calls `calls`.

use super::{Setup, Tried, done};
use crate::calls::{bits, call, call_for_process, place, text};

/// E-4
pub(super) fn forking(_: &mut Setup) -> Tried {
    done(call_for_process(libc::SYS_fork, 0, 0))
}

/// E-4
pub(super) fn forking_in_place(_: &mut Setup) -> Tried {
    done(call_for_process(libc::SYS_vfork, 0, 0))
}

/// E-4
pub(super) fn cloning_the_process(_: &mut Setup) -> Tried {
    done(call_for_process(libc::SYS_clone, bits(libc::SIGCHLD), 0))
}

/// E-4
pub(super) fn cloning_the_process_by_the_newer_call(_: &mut Setup) -> Tried {
    let mut how = [0_u64; 8];
    done(call_for_process(libc::SYS_clone3, place(&mut how), size_of_val(&how)))
}

/// E-4: the program says what a probe says that is done.
pub(super) fn starting_a_program(_: &mut Setup) -> Tried {
    let mut arguments = [text(c"/bin/echo"), text(c"done"), 0];
    done(call(libc::SYS_execve, &[text(c"/bin/echo"), place(&mut arguments), 0]))
}

/// E-4
pub(super) fn starting_a_program_from_a_descriptor(_: &mut Setup) -> Tried {
    let mut arguments = [text(c"/bin/echo"), text(c"done"), 0];
    let here = bits(libc::AT_FDCWD);
    done(call(libc::SYS_execveat, &[here, text(c"/bin/echo"), place(&mut arguments), 0, 0]))
}

/// E-4
pub(super) fn starting_a_thread(_: &mut Setup) -> Tried {
    let started = std::thread::Builder::new().spawn(|| ());
    started.map(drop).map_err(|error| error.raw_os_error().unwrap_or_default())
}

/// E-4
pub(super) fn tracing_itself(_: &mut Setup) -> Tried {
    done(call(libc::SYS_ptrace, &[0, 0, 0, 0]))
}

/// E-4
pub(super) fn tracing_its_host(setup: &mut Setup) -> Tried {
    const SEIZE: usize = 0x4206;
    done(call(libc::SYS_ptrace, &[SEIZE, setup.host, 0, 0]))
}

/// E-4: the host is the same program; what it has at the place of this text is text too.
pub(super) fn reading_the_memory_of_its_host(setup: &mut Setup) -> Tried {
    let mut taken = [0_u8; 1];
    let mut into = [place(&mut taken), 1];
    // An address where nothing is: it takes the right to read to be told that there is nothing.
    let mut from = [16_usize, 1];
    match call(libc::SYS_process_vm_readv, &[setup.host, place(&mut into), 1, place(&mut from), 1, 0]) {
        Err(libc::EFAULT) => Ok(()),
        answer => done(answer),
    }
}

/// E-4
pub(super) fn taking_hold_of_its_host(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_pidfd_open, &[setup.host, 0]))
}

/// E-4
pub(super) fn signalling_its_host(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_kill, &[setup.host, 0]))
}

/// E-4: by the call with which a process aborts.
pub(super) fn signalling_a_thread_of_its_host(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_tgkill, &[setup.host, setup.host, 0]))
}

/// E-4: other than to abort.
pub(super) fn signalling_itself(_: &mut Setup) -> Tried {
    let itself = call(libc::SYS_getpid, &[])?;
    done(call(libc::SYS_kill, &[itself, 0]))
}

/// E-4
pub(super) fn outliving_its_host(_: &mut Setup) -> Tried {
    done(call(libc::SYS_prctl, &[bits(libc::PR_SET_PDEATHSIG), 0]))
}

/// E-4
pub(super) fn becoming_dumpable(_: &mut Setup) -> Tried {
    done(call(libc::SYS_prctl, &[bits(libc::PR_SET_DUMPABLE), 1]))
}

/// The limit and the most that it may be raised to.
fn limit(resource: u32) -> Result<[u64; 2], i32> {
    let mut limit = [0_u64; 2];
    call(libc::SYS_prlimit64, &[0, usize::try_from(resource).unwrap(), 0, place(&mut limit)])?;
    Ok(limit)
}

/// E-4
pub(super) fn reading_the_limits_of_its_host(setup: &mut Setup) -> Tried {
    let mut limit = [0_u64; 2];
    done(call(libc::SYS_prlimit64, &[setup.host, 0, 0, place(&mut limit)]))
}

/// E-4: not even to what it is.
pub(super) fn setting_a_limit(_: &mut Setup) -> Tried {
    let mut same = limit(libc::RLIMIT_NOFILE)?;
    let resource = usize::try_from(libc::RLIMIT_NOFILE).unwrap();
    done(call(libc::SYS_prlimit64, &[0, resource, place(&mut same), 0]))
}

/// Whether a limit may be above a number.
fn above(resource: u32, number: u64, otherwise: i32) -> Tried {
    if limit(resource)?.into_iter().all(|limit| limit <= number) { Err(otherwise) } else { Ok(()) }
}

/// E-4
pub(super) fn having_a_limit_of_descriptors_above_three(_: &mut Setup) -> Tried {
    above(libc::RLIMIT_NOFILE, 3, libc::EMFILE)
}

/// E-4
pub(super) fn having_processes_left(_: &mut Setup) -> Tried {
    above(libc::RLIMIT_NPROC, 0, libc::EAGAIN)
}

/// E-4
pub(super) fn having_a_file_grow(_: &mut Setup) -> Tried {
    above(libc::RLIMIT_FSIZE, 0, libc::EFBIG)
}

/// E-4
pub(super) fn having_room_for_a_core(_: &mut Setup) -> Tried {
    above(libc::RLIMIT_CORE, 0, libc::EFBIG)
}
