// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the seccomp filters of launchers refuse, as programs for the kernel.
//!
//! A launcher lists what it permits. This file lists the rest: which of the calls that it knows it refuses, the highest
//! call that it knows, and what it does with calls above that. The sources: the default profiles of Moby (November 2026)
//! and of Podman (August 2025), `systemd-analyze syscall-filter @system-service` of systemd 252, and Flatpak's list. Calls of other
//! word sizes are let through: no program here makes any.

use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS};

const PERM: u32 = SECCOMP_RET_ERRNO | libc::EPERM as u32;
const NOSYS: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// A seccomp filter.
#[derive(Clone, Copy)]
pub struct Profile {
    /// By their numbers, and what the filter does with them.
    refused: &'static [(&'static [i64], u32)],
    /// Calls that are refused for some values of an argument.
    by_argument: &'static [Argument],
    /// The highest call that the launcher knows, and what the filter does with those above.
    above: Option<(i64, u32)>,
}

/// A call that is refused if the low half of an argument, masked, has a value, or has not.
#[derive(Clone, Copy)]
struct Argument {
    call: i64,
    index: u32,
    mask: u32,
    value: u32,
    refused_if_equal: bool,
    action: u32,
}

impl Argument {
    const fn of(call: i64, index: u32) -> Argument {
        Argument { call, index, mask: u32::MAX, value: 0, refused_if_equal: true, action: PERM }
    }

    const fn is(self, value: u32) -> Argument {
        Argument { value, mask: u32::MAX, ..self }
    }

    /// Refused if all of these bits are set.
    const fn has(self, bits: u32) -> Argument {
        Argument { mask: bits, value: bits, ..self }
    }

    /// Refused if any of these bits is set.
    const fn has_any(self, bits: u32) -> Argument {
        Argument { mask: bits, value: 0, refused_if_equal: false, ..self }
    }
}

/// Calls for which the crate libc has no name.
mod number {
    pub const CREATE_MODULE: i64 = 174;
    pub const GET_KERNEL_SYMS: i64 = 177;
    pub const QUERY_MODULE: i64 = 178;
    pub const IO_PGETEVENTS: i64 = 333;
    pub const URETPROBE: i64 = 335;
    pub const CACHESTAT: i64 = 451;
    pub const MAP_SHADOW_STACK: i64 = 453;
    pub const FUTEX_WAKE: i64 = 454;
    pub const FUTEX_WAIT: i64 = 455;
    pub const FUTEX_REQUEUE: i64 = 456;
    pub const LSM_GET_SELF_ATTR: i64 = 459;
    pub const LSM_SET_SELF_ATTR: i64 = 460;
    pub const LSM_LIST_MODULES: i64 = 461;
    pub const REMOVEXATTRAT: i64 = 466;
}

/// Every flag of `clone` that makes a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// Calls that only the administrator of a machine needs. All profiles here refuse them.
const ADMINISTRATION: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    number::QUERY_MODULE,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_sysfs,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_vhangup,
    libc::SYS_chroot,
];

/// Calls that no kernel serves any more.
const FORGOTTEN: &[i64] = &[
    libc::SYS__sysctl,
    number::CREATE_MODULE,
    number::GET_KERNEL_SYMS,
    libc::SYS_getpmsg,
    libc::SYS_putpmsg,
    libc::SYS_afs_syscall,
    libc::SYS_tuxcall,
    libc::SYS_security,
    libc::SYS_vserver,
];

const MOUNTS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
];

const KEYS: &[i64] = &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl];

const URING: &[i64] = &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Refused by Docker besides.
const BY_DOCKER: &[i64] = &[
    libc::SYS_fanotify_init,
    libc::SYS_get_mempolicy,
    libc::SYS_kcmp,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_reboot,
    libc::SYS_set_mempolicy,
    libc::SYS_setns,
    libc::SYS_syslog,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    number::LSM_GET_SELF_ATTR,
    number::LSM_LIST_MODULES,
    number::LSM_SET_SELF_ATTR,
    libc::SYS_set_mempolicy_home_node,
];

const SOCKET_FAMILY: Argument = Argument::of(libc::SYS_socket, 0);

/// Docker's default profile, without capabilities. (runc answers calls above the highest that the profile names with ENOSYS.)
pub const DOCKER: Profile = Profile {
    refused: &[
        (ADMINISTRATION, PERM),
        (FORGOTTEN, PERM),
        (MOUNTS, PERM),
        (KEYS, PERM),
        (URING, PERM),
        (BY_DOCKER, PERM),
        (&[libc::SYS_clone3], NOSYS),
    ],
    by_argument: &[
        Argument::of(libc::SYS_clone, 0).has_any(NAMESPACES),
        SOCKET_FAMILY.is(libc::AF_ALG as u32),
        SOCKET_FAMILY.is(libc::AF_VSOCK as u32),
        PERSONALITY_ASKED,
        PERSONALITY,
    ],
    above: Some((number::REMOVEXATTRAT, NOSYS)),
};

/// Asking which it is changes nothing.
const PERSONALITY_ASKED: Argument =
    Argument { action: SECCOMP_RET_ALLOW, ..Argument::of(libc::SYS_personality, 0).is(u32::MAX) };

/// Linux of 32 or 64 bits, and the odd release number of one program of 2012.
const PERSONALITY: Argument = Argument::of(libc::SYS_personality, 0).has_any(!0x2_0008);

/// Refused by Podman besides, as something that the kernel forbids.
const BY_PODMAN: &[i64] = &[
    libc::SYS_futex_waitv,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_process_madvise,
    libc::SYS_setns,
    libc::SYS_userfaultfd,
    libc::SYS_vmsplice,
    number::IO_PGETEVENTS,
    number::CACHESTAT,
    number::FUTEX_REQUEUE,
    number::FUTEX_WAIT,
    number::FUTEX_WAKE,
    number::MAP_SHADOW_STACK,
];

/// Podman's default profile, without capabilities. What it does not name does not exist.
pub const PODMAN: Profile = Profile {
    refused: &[
        (ADMINISTRATION, PERM),
        (BY_PODMAN, PERM),
        (FORGOTTEN, NOSYS),
        (URING, NOSYS),
        (&[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_set_mempolicy_home_node, number::URETPROBE], NOSYS),
    ],
    by_argument: &[PERSONALITY_ASKED, PERSONALITY],
    above: Some((libc::SYS_fchmodat2, NOSYS)),
};

/// Refused by `SystemCallFilter=@system-service` besides.
const BY_SYSTEMD: &[i64] = &[
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_memfd_secret,
    libc::SYS_mincore,
    libc::SYS_modify_ldt,
    libc::SYS_pidfd_getfd,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_process_mrelease,
    libc::SYS_ptrace,
    libc::SYS_reboot,
    libc::SYS_seccomp,
    libc::SYS_syslog,
    number::CACHESTAT,
];

const EXECUTABLE: u32 = libc::PROT_EXEC as u32;
const SHM_EXEC: u32 = 0o100000;

/// A systemd unit with `SystemCallFilter=@system-service`, `MemoryDenyWriteExecute=yes`, `RestrictNamespaces=yes` and
/// `LockPersonality=yes`: what is refused by the list ends the process.
pub const SYSTEMD: Profile = Profile {
    refused: &[
        (ADMINISTRATION, SECCOMP_RET_KILL_PROCESS),
        (FORGOTTEN, SECCOMP_RET_KILL_PROCESS),
        (MOUNTS, SECCOMP_RET_KILL_PROCESS),
        (BY_SYSTEMD, SECCOMP_RET_KILL_PROCESS),
        (&[libc::SYS_clone3], NOSYS),
        (&[libc::SYS_setns], PERM),
    ],
    by_argument: &[
        Argument::of(libc::SYS_mmap, 2).has((libc::PROT_WRITE | libc::PROT_EXEC) as u32),
        Argument::of(libc::SYS_mprotect, 2).has(EXECUTABLE),
        Argument::of(libc::SYS_shmat, 2).has(SHM_EXEC),
        Argument::of(libc::SYS_clone, 0).has_any(NAMESPACES),
        Argument::of(libc::SYS_unshare, 0).has_any(NAMESPACES),
        PERSONALITY_ASKED,
        Argument::of(libc::SYS_personality, 0).has_any(u32::MAX),
    ],
    above: Some((libc::SYS_fchmodat2, SECCOMP_RET_KILL_PROCESS)),
};

/// Refused by Flatpak, from programs that are not built for development.
const BY_FLATPAK: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_chroot,
    libc::SYS_get_mempolicy,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_move_pages,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_set_mempolicy,
    libc::SYS_setns,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_uselib,
];

const MOUNTS_OF_DESCRIPTORS: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
];

/// Flatpak.
pub const FLATPAK: Profile = Profile {
    refused: &[(KEYS, PERM), (BY_FLATPAK, PERM), (MOUNTS_OF_DESCRIPTORS, NOSYS)],
    by_argument: &[
        Argument::of(libc::SYS_clone, 0).has(libc::CLONE_NEWUSER as u32),
        Argument::of(libc::SYS_ioctl, 1).is(libc::TIOCSTI as u32),
        Argument::of(libc::SYS_ioctl, 1).is(libc::TIOCLINUX as u32),
    ],
    above: None,
};

/// The faults that the tests must notice: filters as no launcher has them.
pub const WITHOUT_MEMORY: Profile = Profile { refused: &[(&[libc::SYS_memfd_create], PERM)], ..NOTHING };
pub const WITHOUT_FUTEX: Profile = Profile {
    refused: &[],
    // A wait with a deadline, which the C library's threads do without.
    by_argument: &[Argument::of(libc::SYS_futex, 1).has(9)],
    above: None,
};
pub const WITHOUT_LOCKS: Profile =
    Profile { by_argument: &[Argument::of(libc::SYS_fcntl, 1).is(libc::F_OFD_SETLK as u32)], ..NOTHING };

const NOTHING: Profile = Profile { refused: &[], by_argument: &[], above: None };

/// Where `struct seccomp_data` has the call and the processor.
const CALL: u32 = 0;
const ARCHITECTURE: u32 = 4;
const OWN_ARCHITECTURE: u32 = 0xc000_003e;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const JUMP_IF_ABOVE: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const MASK: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Where `struct seccomp_data` has the low half of an argument.
fn argument_at(index: u32) -> u32 {
    16 + 8 * index
}

impl Profile {
    /// The filter as a program.
    fn program(&self) -> Vec<libc::sock_filter> {
        let mut program = vec![
            step(LOAD, 0, 0, ARCHITECTURE),
            step(JUMP_IF_EQUAL, 1, 0, OWN_ARCHITECTURE),
            step(RETURN, 0, 0, SECCOMP_RET_ALLOW),
            step(LOAD, 0, 0, CALL),
        ];
        for &(calls, action) in self.refused {
            for &call in calls {
                program.extend([step(JUMP_IF_EQUAL, 0, 1, call as u32), step(RETURN, 0, 0, action)]);
            }
        }
        for rule in self.by_argument {
            let (equal, other) = if rule.refused_if_equal { (0, 1) } else { (1, 0) };
            program.extend([
                step(JUMP_IF_EQUAL, 0, 5, rule.call as u32),
                step(LOAD, 0, 0, argument_at(rule.index)),
                step(MASK, 0, 0, rule.mask),
                step(JUMP_IF_EQUAL, equal, other, rule.value),
                step(RETURN, 0, 0, rule.action),
                step(LOAD, 0, 0, CALL),
            ]);
        }
        if let Some((highest, action)) = self.above {
            program.extend([step(JUMP_IF_ABOVE, 0, 1, highest as u32), step(RETURN, 0, 0, action)]);
        }
        program.push(step(RETURN, 0, 0, SECCOMP_RET_ALLOW));
        program
    }

    /// A file from which bubblewrap reads the filter.
    pub fn file(&self) -> OwnedFd {
        let mut file = tempfile::tempfile().expect("a temporary file");
        for step in self.program() {
            file.write_all(&step.code.to_ne_bytes()).expect("room for a filter");
            file.write_all(&[step.jt, step.jf]).expect("room for a filter");
            file.write_all(&step.k.to_ne_bytes()).expect("room for a filter");
        }
        file.rewind().expect("a file has a beginning");
        file.into()
    }
}
