//! Sockets, and the parts of the kernel that no run has a use for.
//!
//! Owns what is tried of them, each as code that has taken the process over would. It calls `calls`.

use super::{Setup, Tried, done};
use crate::calls::{bits, call, call_of_32_bits, place, text};

/// E-4
pub(super) fn making_a_socket(_: &mut Setup) -> Tried {
    done(call(libc::SYS_socket, &[bits(libc::AF_INET), bits(libc::SOCK_STREAM), 0]))
}

/// E-4
pub(super) fn making_a_local_socket(_: &mut Setup) -> Tried {
    done(call(libc::SYS_socket, &[bits(libc::AF_UNIX), bits(libc::SOCK_DGRAM), 0]))
}

/// E-4
pub(super) fn making_a_pair_of_sockets(_: &mut Setup) -> Tried {
    let mut pair = [0_i32; 2];
    done(call(libc::SYS_socketpair, &[bits(libc::AF_UNIX), bits(libc::SOCK_STREAM), 0, place(&mut pair)]))
}

/// E-4: the socket to the host has its peer, and the answer says so.
pub(super) fn connecting(_: &mut Setup) -> Tried {
    let mut address = *b"\x01\0/nowhere\0";
    match call(libc::SYS_connect, &[0, place(&mut address), address.len()]) {
        Err(libc::EISCONN | libc::ENOENT) => Ok(()),
        answer => done(answer),
    }
}

/// E-4: an abstract address, to which no file belongs.
pub(super) fn binding(_: &mut Setup) -> Tried {
    let mut family = *b"\x01\0";
    done(call(libc::SYS_bind, &[0, place(&mut family), family.len()]))
}

/// E-4
pub(super) fn making_a_ring_of_requests(_: &mut Setup) -> Tried {
    let mut how = [0_u32; 30];
    done(call(libc::SYS_io_uring_setup, &[1, place(&mut how)]))
}

/// E-4
pub(super) fn handling_page_faults(_: &mut Setup) -> Tried {
    const USER_MODE_ONLY: usize = 1;
    done(call(libc::SYS_userfaultfd, &[USER_MODE_ONLY]))
}

/// E-4: a map is made, which is the least that the call can do.
pub(super) fn loading_a_filter_program(_: &mut Setup) -> Tried {
    const CREATE_MAP: usize = 0;
    let mut array = [2_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    done(call(libc::SYS_bpf, &[CREATE_MAP, place(&mut array), size_of_val(&array)]))
}

/// E-4: the time that this thread takes.
pub(super) fn counting_events(_: &mut Setup) -> Tried {
    const SOFTWARE: u32 = 1;
    const TASK_CLOCK: u32 = 1;
    let mut what = [0_u32; 32];
    what[..3].copy_from_slice(&[SOFTWARE, 128, TASK_CLOCK]);
    done(call(libc::SYS_perf_event_open, &[place(&mut what), 0, bits(-1), bits(-1), 0]))
}

/// E-4
pub(super) fn reaching_keys(_: &mut Setup) -> Tried {
    const GET_KEYRING: usize = 0;
    const OF_PROCESS: i32 = -2;
    done(call(libc::SYS_keyctl, &[GET_KEYRING, bits(OF_PROCESS), 1]))
}

/// E-4
pub(super) fn leaving_its_namespaces(_: &mut Setup) -> Tried {
    done(call(libc::SYS_unshare, &[bits(libc::CLONE_NEWUSER)]))
}

/// E-4
pub(super) fn changing_its_root(_: &mut Setup) -> Tried {
    done(call(libc::SYS_chroot, &[text(c"/")]))
}

/// E-4
pub(super) fn naming_a_file_by_handle(setup: &mut Setup) -> Tried {
    let mut handle = [0_u32; 40];
    handle[0] = 128;
    let mut mount = 0_i32;
    let arguments = [bits(libc::AT_FDCWD), text(&setup.secret), place(&mut handle), place(&mut mount), 0];
    done(call(libc::SYS_name_to_handle_at, &arguments))
}

/// E-4
pub(super) fn making_a_pipe(_: &mut Setup) -> Tried {
    let mut ends = [0_i32; 2];
    done(call(libc::SYS_pipe2, &[place(&mut ends), 0]))
}

/// E-4
pub(super) fn making_a_counter(_: &mut Setup) -> Tried {
    done(call(libc::SYS_eventfd2, &[0, 0]))
}

/// E-4
pub(super) fn waiting_for_many(_: &mut Setup) -> Tried {
    done(call(libc::SYS_epoll_create1, &[0]))
}

/// E-4: the filters are written in the numbers of 64 bits.
pub(super) fn calling_in_the_way_of_32_bits(_: &mut Setup) -> Tried {
    const GETPID: u32 = 20;
    done(call_of_32_bits(GETPID))
}

/// E-4
pub(super) fn asking_what_machine_it_is(_: &mut Setup) -> Tried {
    let mut answer = [0_u8; 65 * 6];
    done(call(libc::SYS_uname, &[place(&mut answer)]))
}
