//! System calls, made as code that has taken a process over would make them.
//!
//! Owns every `unsafe` of these tests. It judges nothing and calls nobody.
//!
//! # Safety
//! A call is made with numbers, and with pointers to memory that the caller keeps alive and that is as large as the
//! call takes it to be; a test that gives others is wrong. A new process ends at its first instruction: it shares the
//! stack of the one that made it. Memory is read only where the C library once said that a text is, and that memory is
//! never given back.

use std::arch::asm;
use std::ffi::{CStr, c_long};

/// What a call gave: a number, or an error of the C library.
pub(crate) type Answer = Result<usize, i32>;

/// Makes a call.
pub(crate) fn call(number: c_long, arguments: &[usize]) -> Answer {
    let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
    // SAFETY: see the head.
    #[expect(unsafe_code, reason = "a call by its number")]
    let answer = unsafe {
        libc::syscall(number, argument(0), argument(1), argument(2), argument(3), argument(4), argument(5))
    };
    usize::try_from(answer).map_err(|_| std::io::Error::last_os_error().raw_os_error().unwrap_or_default())
}

/// Makes a call after which there are two processes, of which the new one ends at once.
pub(crate) fn call_for_process(number: c_long, first: usize, second: usize) -> Answer {
    let answer: isize;
    // SAFETY: the new process, in which the answer is zero, runs none of the code of Rust and touches no stack.
    #[expect(unsafe_code, reason = "a process that shares the stack must not return")]
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "2:",
            exit = const libc::SYS_exit_group,
            inlateout("rax") number => answer,
            in("rdi") first,
            in("rsi") second,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    usize::try_from(answer).map_err(|_| i32::try_from(-answer).unwrap_or_default())
}

/// Makes a call without arguments in the way of 32 bits, in which the numbers mean other calls.
pub(crate) fn call_of_32_bits(number: u32) -> Answer {
    let answer: i32;
    // SAFETY: the call takes no arguments, and the registers that it may change are named.
    #[expect(unsafe_code, reason = "the C library has no name for it")]
    unsafe {
        asm!(
            "int 0x80",
            inlateout("eax") number => answer,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
        );
    }
    usize::try_from(answer).map_err(|_| -answer)
}

/// The bits of a number of the C library, as a call takes them.
pub(crate) fn bits(number: i32) -> usize {
    isize::try_from(number).unwrap_or_default().cast_unsigned()
}

/// Where a text is.
pub(crate) fn text(text: &CStr) -> usize {
    text.as_ptr().expose_provenance()
}

/// Where a value is.
pub(crate) fn place<T: ?Sized>(value: &mut T) -> usize {
    std::ptr::from_mut(value).cast::<u8>().expose_provenance()
}

/// Where the kernel put the text of an environment variable, if there is one.
pub(crate) fn place_of_variable(name: &CStr) -> Option<usize> {
    // SAFETY: no other thread runs yet that could change the environment.
    #[expect(unsafe_code, reason = "the environment belongs to the C library")]
    let value = unsafe { libc::getenv(name.as_ptr()) };
    (!value.is_null()).then(|| value.expose_provenance())
}

/// What is in memory at a place from [`place_of_variable`].
pub(crate) fn memory(place: usize, length: usize) -> Vec<u8> {
    // SAFETY: the place was that of a text of at least so many bytes, in memory that the kernel gave for good.
    #[expect(unsafe_code, reason = "memory that nobody owns any more")]
    unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(place), length).to_vec()
    }
}
