//! What is asked of page faults that are told to the program, and what is told. The calls: `linux/watching`, `absent/watching`.

pub use crate::watching_room::Userfault;

/// What the kernel says of a page fault.
const EVENT_PAGE_FAULT: u8 = 0x12;

/// What is asked of the kernel when a descriptor is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(pub(crate) u64);

impl Features {
    /// The kernel notes a write by itself and lets it go on; nobody is told (Linux 6.7).
    pub const ASYNCHRONOUS: Features = Features(1 << 15 | 1 << 13);
    /// The writing thread stops until somebody lifts the protection; also for pages that have no memory yet (Linux 6.4),
    /// and for shared memory (Linux 5.19).
    pub const SYNCHRONOUS: Features = Features(1 << 13 | 1 << 12);
}

/// Which kind of faults a descriptor may stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faults {
    /// The program's own only: a system call that writes to a stopped page fails with `EFAULT`. Needs no privilege.
    OfUserMode,
    /// Those of system calls too. Needs `CAP_SYS_PTRACE`, or `vm.unprivileged_userfaultfd=1`, or `/dev/userfaultfd`.
    OfKernelToo,
}

/// What the kernel said about a range when it was registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registered {
    /// It holds pages of hugetlbfs, which are watched as wholes.
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
    /// The address that a stopped thread wants to write, rounded down to its page.
    pub fn fault(&self) -> Option<usize> {
        (self.event == EVENT_PAGE_FAULT).then_some(self.address as usize)
    }
}
