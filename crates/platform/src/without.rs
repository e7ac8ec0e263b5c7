// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disables features of the system, so that tests, and users in doubt, can try the fallbacks.
//!
//! `NTUX_WITHOUT` is a list of names, separated by commas: `robust_list`, `wipe_on_fork`, `memfd_noexec_seal`,
//! `userfaultfd`, `pagemap_scan`, `mapping_query`, `futex_waitv`, `futex_numa`, `fsgsbase`, `thread_self`, `io_uring`; on macOS `os_sync`.
//! Unknown names are ignored.

use crate::environment::{WITHOUT, value};

/// A feature that ntux uses if the system has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// The kernel sends a dying thread's wake; without it, a wake that a killed thread owed comes late.
    RobustList,
    /// A page that is empty in a forked child; without it, the process number is queried each time.
    WipeOnFork,
    /// Shared memory that can never be executed; without it, ordinary shared memory.
    NoExecSeal,
    /// Page faults reported to the program; without it, write watches use page protection.
    Userfaultfd,
    /// The kernel lists which pages were written (Linux 6.7); without it a thread of the program keeps the list.
    PagemapScan,
    /// Queries for one mapping (Linux 6.11); without it, the text of `/proc/PID/maps` is read.
    MappingQuery,
    /// Sleeping on several words; without it, operations that need it are refused.
    FutexWaitv,
    /// Programs can read their thread pointer (`rdfsbase`); without it, a signal handler trusts `%fs` if its selector
    /// is 0.
    ReadThreadPointer,
    /// A thread finds its own entry of /proc by one name; without it, by its number.
    ThreadSelf,
    /// Futexes with a memory node (Linux 6.16); without it, they are refused.
    FutexNuma,
    /// Rings that sleep on words (Linux 6.7); without them, a thread sleeps for each descriptor of a queue.
    IoUring,
    /// The functions of macOS 14.4 that wrap sleeps on words; without them, the system calls are made.
    OsSync,
}

impl Feature {
    /// Its name in `NTUX_WITHOUT` and in `ntux doctor`.
    pub fn name(self) -> &'static str {
        match self {
            Feature::RobustList => "robust_list",
            Feature::WipeOnFork => "wipe_on_fork",
            Feature::NoExecSeal => "memfd_noexec_seal",
            Feature::Userfaultfd => "userfaultfd",
            Feature::PagemapScan => "pagemap_scan",
            Feature::MappingQuery => "mapping_query",
            Feature::FutexWaitv => "futex_waitv",
            Feature::ReadThreadPointer => "fsgsbase",
            Feature::ThreadSelf => "thread_self",
            Feature::FutexNuma => "futex_numa",
            Feature::IoUring => "io_uring",
            Feature::OsSync => "os_sync",
        }
    }

    /// Returns whether the user has disabled it. Reads the environment; not for a hot path.
    pub fn is_left_out(self) -> bool {
        let Some(list) = value(WITHOUT) else { return false };
        list.to_bytes().split(|&byte| byte == b',').any(|name| name == self.name().as_bytes())
    }
}
