//! seccomp: the system calls that are left to a child (E-4).
//!
//! Owns the lists. What is on neither of them is refused with `EPERM`, so that a call which V8 or the C library could do
//! without fails softly; what no run has ever a use for kills the process. The filters hold for every thread, and can
//! only be narrowed. It calls nobody.

use super::layers::LayerState;

/// Whether memory may be made executable from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// V8 compiles.
    Compiled,
    /// V8 interprets, and whatever makes memory executable is refused.
    Interpreted,
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn restrict(_code: Code) -> LayerState {
    LayerState::Unavailable("the filter is written for x86_64 alone".to_owned())
}

#[cfg(target_arch = "x86_64")]
pub(super) fn restrict(code: Code) -> LayerState {
    match filters::install(code) {
        Ok(()) => LayerState::On,
        Err(seccompiler::Error::Seccomp(error))
            if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
        {
            LayerState::Unavailable("the kernel was built without it".to_owned())
        }
        Err(error) => LayerState::Off(error.to_string()),
    }
}

#[cfg(target_arch = "x86_64")]
mod filters {
    //! The lists, and the filters made of them.

    use std::collections::BTreeMap;

    use libc::c_long;
    use seccompiler::SeccompCmpArgLen::{Dword, Qword};
    use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
    };

    use super::Code;

    /// Calls by number; each with the conditions of which one must hold, or with none.
    type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

    /// Allowed whatever their arguments are. The kernel remembers these, and runs no filter for them.
    const ALLOWED: &[c_long] = &[
        // What is open: the socket to the host, and nothing else that says or takes anything.
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_recvfrom,
        libc::SYS_poll,
        libc::SYS_ppoll,
        libc::SYS_shutdown,
        libc::SYS_close,
        // Memory.
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_pkey_alloc,
        libc::SYS_pkey_free,
        // Waiting, time and chance.
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_time,
        libc::SYS_getrandom,
        libc::SYS_restart_syscall,
        // A thread, about itself.
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_getrusage,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_getparam,
        libc::SYS_sched_getscheduler,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_membarrier,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        // The end.
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// What makes memory executable; the third argument is what the memory is for.
    const PROTECTING: &[c_long] = &[libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_pkey_mprotect];

    /// Nothing that V8, the C library or a program could be after: whoever asks has taken the process over.
    const DEADLY: &[c_long] = &[
        // Other programs and processes; a clone that is not a thread is below.
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_fork,
        libc::SYS_vfork,
        // Connections.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        // The memory and the descriptors of others.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_kcmp,
        // The parts of the kernel that most faults are in.
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_modify_ldt,
        libc::SYS_iopl,
        libc::SYS_ioperm,
        // Mounts, roots and namespaces.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        // The machine.
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_syslog,
    ];

    /// Puts the filters on for all threads. The list of what is allowed is the last: it allows no further filter.
    pub(super) fn install(code: Code) -> Result<(), Error> {
        let programs = [
            program(deadly()?, SeccompAction::Allow, SeccompAction::KillProcess)?,
            // The C library falls back on `clone` when it hears this, whose flags a filter can read.
            program(
                every(&[libc::SYS_clone3]),
                SeccompAction::Allow,
                SeccompAction::Errno(errno(libc::ENOSYS)),
            )?,
            program(allowed(code)?, SeccompAction::Errno(errno(libc::EPERM)), SeccompAction::Allow)?,
        ];
        programs.iter().try_for_each(|program| apply_filter_all_threads(program))
    }

    fn errno(error: i32) -> u32 {
        error.unsigned_abs()
    }

    fn program(rules: Rules, otherwise: SeccompAction, matched: SeccompAction) -> Result<BpfProgram, Error> {
        Ok(SeccompFilter::new(rules, otherwise, matched, TargetArch::x86_64)?.try_into()?)
    }

    fn every(calls: &[c_long]) -> Rules {
        calls.iter().map(|call| (*call, Vec::new())).collect()
    }

    fn deadly() -> Result<Rules, BackendError> {
        let mut rules = every(DEADLY);
        let thread = flag(libc::CLONE_THREAD);
        rules.insert(libc::SYS_clone, vec![when(&[(0, Qword, MaskedEq(thread), 0)])?]);
        Ok(rules)
    }

    fn allowed(code: Code) -> Result<Rules, BackendError> {
        let mut rules = every(ALLOWED);
        // Refused by a filter of its own, with another error.
        rules.insert(libc::SYS_clone3, Vec::new());
        for call in PROTECTING {
            let conditions = match code {
                Code::Compiled => Vec::new(),
                Code::Interpreted => vec![when(&[(2, Qword, MaskedEq(flag(libc::PROT_EXEC)), 0)])?],
            };
            rules.insert(*call, conditions);
        }
        // To the peer of the socket, and to no address.
        rules.insert(libc::SYS_sendto, vec![when(&[(4, Qword, Eq, 0)])?]);
        // The name of a thread, and of memory.
        let naming = [libc::PR_SET_NAME, libc::PR_SET_VMA];
        let naming = naming.map(|option| when(&[(0, Dword, Eq, flag(option))]));
        rules.insert(libc::SYS_prctl, naming.into_iter().collect::<Result<_, _>>()?);
        // Limits are read, and not set: the third argument is the new limit.
        rules.insert(libc::SYS_prlimit64, vec![when(&[(0, Dword, Eq, 0), (2, Qword, Eq, 0)])?]);
        // A signal to itself: how a process aborts.
        let itself = u64::from(std::process::id());
        rules.insert(libc::SYS_tgkill, vec![when(&[(0, Dword, Eq, itself)])?]);
        Ok(rules)
    }

    /// The bits of a flag of the C library; none of those here has the sign bit set.
    fn flag(flag: i32) -> u64 {
        u64::from(flag.unsigned_abs())
    }

    /// A rule that holds when all of its conditions do: argument, width, comparison, value.
    fn when(conditions: &[(u8, SeccompCmpArgLen, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
        let conditions = conditions.iter().map(|(argument, width, comparison, value)| {
            SeccompCondition::new(*argument, width.clone(), comparison.clone(), *value)
        });
        SeccompRule::new(conditions.collect::<Result<_, _>>()?)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// E-4: a filter that the kernel would refuse for its length is no filter, and no call is on both lists.
        #[test]
        fn the_lists_make_filters_and_have_no_call_in_common() {
            for code in [Code::Compiled, Code::Interpreted] {
                let rules = allowed(code).unwrap();
                assert!(DEADLY.iter().all(|call| !rules.contains_key(call)));
                assert!(
                    program(rules, SeccompAction::KillProcess, SeccompAction::Allow).unwrap().len() < 1000
                );
            }
            let program = program(deadly().unwrap(), SeccompAction::Allow, SeccompAction::KillProcess);
            assert!(program.unwrap().len() < 1000);
        }
    }
}
