// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options and messages of page faults that are reported to the program. `linux/watching` and `absent/watching`
//! have the calls.

pub use crate::watching_room::Userfault;

/// The kernel's message about a page fault.
const EVENT_PAGE_FAULT: u8 = 0x12;

/// The features of a new descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(pub(crate) u64);

impl Features {
    /// The kernel records a write by itself, without blocking it or notifying anybody (Linux 6.7).
    pub const ASYNCHRONOUS: Features = Features(1 << 15 | 1 << 13);
    /// The writing thread blocks until somebody lifts the protection, also for pages that have no memory yet (Linux
    /// 6.4), and for shared memory (Linux 5.19).
    pub const SYNCHRONOUS: Features = Features(1 << 13 | 1 << 12);
}

/// Which kinds of faults a descriptor may block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faults {
    /// Only the program's own: a system call that writes to a protected page fails with `EFAULT`. Needs no privilege.
    OfUserMode,
    /// Also those of system calls. Needs `CAP_SYS_PTRACE`, or `vm.unprivileged_userfaultfd=1`, or `/dev/userfaultfd`.
    OfKernelToo,
}

/// The kernel's answer to the registration of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registered {
    /// It contains pages of hugetlbfs, which are watched as wholes.
    pub has_huge_pages: bool,
}

/// One message of the kernel, 32 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

impl Message {
    /// The address to which a blocked thread wants to write, rounded down to its page.
    pub fn fault(&self) -> Option<usize> {
        (self.event == EVENT_PAGE_FAULT).then_some(self.address as usize)
    }
}
