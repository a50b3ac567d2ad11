//! Files, descriptors and the environment.
//!
//! Owns what is tried of them, each as code that has taken the process over would. It calls `calls`.

use std::ffi::CString;

use super::{Setup, Tried, VALUE, done};
use crate::calls::{bits, call, memory, place, text};

const HERE: i32 = libc::AT_FDCWD;

/// E-4
pub(super) fn opening_a_file(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_open, &[text(&setup.secret), bits(libc::O_RDONLY)]))
}

/// E-4
pub(super) fn opening_a_file_below_a_folder(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_openat, &[bits(HERE), text(&setup.secret), bits(libc::O_RDONLY)]))
}

/// E-4
pub(super) fn opening_a_file_with_openat2(setup: &mut Setup) -> Tried {
    let mut how = [0_u64; 3];
    done(call(libc::SYS_openat2, &[bits(HERE), text(&setup.secret), place(&mut how), size_of_val(&how)]))
}

/// E-4
pub(super) fn opening_a_file_for_writing(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_openat, &[bits(HERE), text(&setup.secret), bits(libc::O_RDWR)]))
}

/// E-4
pub(super) fn creating_a_file(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_creat, &[text(&setup.folder), 0o600]))
}

/// E-4
pub(super) fn asking_for_a_file(setup: &mut Setup) -> Tried {
    let mut answer = [0_u64; 32];
    done(call(libc::SYS_stat, &[text(&setup.secret), place(&mut answer)]))
}

/// E-4
pub(super) fn asking_for_a_file_below_a_folder(setup: &mut Setup) -> Tried {
    let mut answer = [0_u64; 32];
    done(call(libc::SYS_newfstatat, &[bits(HERE), text(&setup.secret), place(&mut answer), 0]))
}

/// E-4
pub(super) fn reading_a_link(_: &mut Setup) -> Tried {
    let mut answer = [0_u8; 256];
    done(call(libc::SYS_readlink, &[text(c"/proc/self/exe"), place(&mut answer), answer.len()]))
}

/// E-4
pub(super) fn listing_the_root(_: &mut Setup) -> Tried {
    let folder = call(libc::SYS_open, &[text(c"/"), bits(libc::O_RDONLY | libc::O_DIRECTORY)])?;
    let mut answer = [0_u64; 128];
    done(call(libc::SYS_getdents64, &[folder, place(&mut answer), size_of_val(&answer)]))
}

/// E-4
pub(super) fn making_a_folder(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_mkdir, &[text(&setup.folder), 0o700]))
}

/// E-4
pub(super) fn cutting_a_file(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_truncate, &[text(&setup.secret), 3]))
}

/// E-4
pub(super) fn removing_a_file(setup: &mut Setup) -> Tried {
    done(call(libc::SYS_unlink, &[text(&setup.secret)]))
}

/// E-4
pub(super) fn opening_the_null_device(_: &mut Setup) -> Tried {
    done(call(libc::SYS_open, &[text(c"/dev/null"), bits(libc::O_RDONLY)]))
}

/// E-4
pub(super) fn opening_its_own_environment(_: &mut Setup) -> Tried {
    done(call(libc::SYS_open, &[text(c"/proc/self/environ"), bits(libc::O_RDONLY)]))
}

/// E-4
pub(super) fn opening_the_memory_of_its_host(setup: &mut Setup) -> Tried {
    let path = CString::new(format!("/proc/{}/mem", setup.host)).unwrap();
    done(call(libc::SYS_open, &[text(&path), bits(libc::O_RDONLY)]))
}

/// E-4
pub(super) fn making_a_file_in_memory(_: &mut Setup) -> Tried {
    done(call(libc::SYS_memfd_create, &[text(c"x"), 0]))
}

/// E-4: a descriptor that a careless host left open.
pub(super) fn using_an_inherited_descriptor(setup: &mut Setup) -> Tried {
    let mut answer = [0_u8; 8];
    done(call(libc::SYS_read, &[setup.inherited, place(&mut answer), answer.len()]))
}

/// E-4
pub(super) fn doubling_a_descriptor(_: &mut Setup) -> Tried {
    done(call(libc::SYS_dup, &[0]))
}

/// E-4: the socket to the host carries bytes and no descriptors.
pub(super) fn passing_a_message_with_descriptors(_: &mut Setup) -> Tried {
    let mut bytes = *b"x";
    let mut part = [place(&mut bytes), bytes.len()];
    // No address, one part, no descriptors: what is refused is the call that could carry some.
    let mut message = [0, 0, place(&mut part), 1, 0, 0, 0];
    done(call(libc::SYS_sendmsg, &[0, place(&mut message), 0]))
}

/// E-4
pub(super) fn reading_the_environment(_: &mut Setup) -> Tried {
    std::env::vars_os().next().map(drop).ok_or(libc::ENOENT)
}

/// E-4: the text of a variable that was cleared, where the kernel had put it.
pub(super) fn finding_the_environment_in_memory(setup: &mut Setup) -> Tried {
    let found = memory(setup.variable.ok_or(libc::EINVAL)?, VALUE.len());
    if found == VALUE.as_bytes() { Ok(()) } else { Err(libc::ENOENT) }
}
