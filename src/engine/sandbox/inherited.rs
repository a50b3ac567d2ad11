//! What a process has from the one that started it: descriptors and environment (E-4).
//!
//! Owns their end: of descriptors 0, 1 and 2 are left, of the environment nothing. It opens nothing that stays. It calls
//! nobody.
//!
//! # Safety
//! Descriptors are closed by number, whoever owns them: nothing in this process may use one from 3 on afterwards. The
//! first lines of a child's `main` own none, and `confine` says so to its callers. The environment is written over only
//! while the process has one thread, so that nobody reads it meanwhile, and no reference into it is alive here. Its
//! place in memory is the one that the kernel tells of, which is part of the process's own stack and can be written.

use std::ffi::c_int;
use std::fs;

use super::layers::LayerState;
use super::process::state;

/// The first descriptor that is closed.
const FIRST: u32 = 3;

/// More than a system gives; what is beyond is taken for a misreading.
const MOST_ENVIRONMENT_BYTES: usize = 16 << 20;

pub(super) fn close_descriptors() -> LayerState {
    // SAFETY: the call reads no memory of ours; see the head on whose descriptors these are.
    #[expect(unsafe_code, reason = "rustix has no `close_range`")]
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, 0_u32) };
    if closed == 0 { LayerState::On } else { close_one_by_one() }
}

/// For a kernel without `close_range`.
fn close_one_by_one() -> LayerState {
    let entries = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries,
        Err(error) => return LayerState::Off(format!("/proc/self/fd cannot be read: {error}")),
    };
    let open: Vec<c_int> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| u32::try_from(*descriptor).is_ok_and(|descriptor| descriptor >= FIRST))
        .collect();
    for descriptor in open {
        // SAFETY: see the head; the one that read the folder is closed already, and closing it again changes nothing.
        #[expect(unsafe_code, reason = "a descriptor that nobody here owns")]
        unsafe {
            rustix::io::close(descriptor);
        }
    }
    LayerState::On
}

/// Clears what is left of the environment. The host gives a child none; this is for a host that did.
pub(super) fn clear_environment() -> LayerState {
    if is_empty() {
        return LayerState::On;
    }
    if threads() != Some(1) {
        return LayerState::Off("other threads run already and may read it".to_owned());
    }
    let Some((start, length)) = place() else {
        return LayerState::Off("where it is in memory cannot be told".to_owned());
    };
    // SAFETY: there is one thread, and nothing here holds a reference into the environment.
    #[expect(unsafe_code, reason = "the environment belongs to the C library")]
    let cleared = unsafe { libc::clearenv() };
    // SAFETY: the kernel put the environment there when the process started, on its stack, which stays writable.
    #[expect(unsafe_code, reason = "text that the kernel put there, and nothing of Rust")]
    unsafe {
        std::ptr::write_bytes(std::ptr::with_exposed_provenance_mut::<u8>(start), 0, length);
    }
    if cleared == 0 && is_empty() { LayerState::On } else { state(Err(rustix::io::Errno::NOMEM)) }
}

fn is_empty() -> bool {
    // SAFETY: the pointer is read while nobody writes it, and is either null or an array that ends with a null.
    #[expect(unsafe_code, reason = "the environment belongs to the C library")]
    unsafe {
        libc::environ.is_null() || (*libc::environ).is_null()
    }
}

/// How many this process has; nothing where the kernel does not tell.
pub(super) fn threads() -> Option<usize> {
    fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// Where the kernel put the environment, and how long it is.
fn place() -> Option<(usize, usize)> {
    extent(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// `env_start` and `env_end` of a `stat` file, fields 50 and 51; the name in field 2 may hold anything.
fn extent(stat: &str) -> Option<(usize, usize)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(47);
    let (start, end): (usize, usize) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let length = end.checked_sub(start)?;
    (start != 0 && length <= MOST_ENVIRONMENT_BYTES).then_some((start, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, start: &str, end: &str) -> String {
        let between = (3..50).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        format!("7 ({name}) {between} {start} {end} 0\n")
    }

    /// E-4: the bounds are the kernel's or there are none.
    #[test]
    fn the_place_of_the_environment_is_read_whatever_the_process_is_called() {
        assert_eq!(extent(&stat("isolane", "1000", "1250")), Some((1000, 250)));
        assert_eq!(extent(&stat("a) 1 2 (b", "1000", "1000")), Some((1000, 0)));
        assert_eq!(extent(&stat("isolane", "0", "0")), None);
        assert_eq!(extent(&stat("isolane", "1000", "999")), None);
        assert_eq!(extent(&stat("isolane", "1", "999999999999")), None);
        assert_eq!(extent("7 (isolane) S 1"), None);
    }

    /// E-4: what the kernel says of this very process is where its environment is.
    #[test]
    fn the_kernel_tells_where_the_environment_is() {
        let length = fs::read("/proc/self/environ").unwrap().len();
        assert_eq!(place().map(|(_, length)| length), Some(length));
    }
}
