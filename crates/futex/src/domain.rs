// SPDX-License-Identifier: MIT OR Apache-2.0
//! A domain: a wait table in shared memory, for operations that the kernel cannot do exactly between processes.
//!
//! All users of a futex must attach the same domain, and name the word by the same place ([`crate::Futex::in_domain`]).
//! So the mechanism is part of their agreement, and does not depend on each process's kernel. It needs only the
//! original futex call.
//!
//! It uses the platform's robust list directly, as the synchronization core does, and not that core. The table is the
//! one that private futexes use.
//!
//! # Death
//! If a thread is killed in a wait, the kernel marks its seat at that moment: wakes pass over it, any thread that meets
//! its entries removes them, and the seat is inherited when no other is free (`table/seat.rs`). If a thread is killed
//! between choosing a waiter and waking it, the kernel sends the wake. What a killed thread leaves in a line is bounded
//! and has no effect (`table/line.rs`). Without a robust list (`ntux doctor`) a killed waiter can be given a wake, and
//! keeps its seat.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use ntux_platform::atomic::{self, Word32, Word64};
use ntux_platform::memory::{self, Mapping};

use crate::table::{Capacity, Table};

/// The header of a domain's file.
#[repr(C, align(64))]
struct Header {
    magic: Word64,
    buckets: Word32,
    chunks: Word32,
    waiters: Word32,
}

/// "ntuxftx" and the version of the format. Any change of the table's layout needs a new version.
const MAGIC: u64 = u64::from_be_bytes(*b"ntuxftx\x03");

impl Capacity {
    /// A capacity for this many threads, with 32 entries each on average.
    pub fn for_waiters(waiters: u32) -> Capacity {
        let buckets = (waiters / 4).clamp(16, 4096).next_power_of_two();
        Capacity { buckets, chunks: 4 * buckets + 2 * waiters, waiters }
    }
}

/// A wait table in shared memory.
pub struct Domain {
    table: Table,
    file: OwnedFd,
    /// Keeps the table's memory.
    _mapping: Mapping,
}

impl Domain {
    /// Creates a domain. It takes memory as needed: 2 KiB for each waiting thread, 16 bytes for each entry, and 16
    /// bytes for each thread of the capacity.
    ///
    /// Errors: `InvalidInput` if the number of buckets is not a power of two, or a number is too large; `Unsupported`
    /// without a 128-bit exchange; others from the system, such as `EFBIG` if the process may not create a file of this
    /// length (`RLIMIT_FSIZE`).
    pub fn create(capacity: Capacity) -> io::Result<Domain> {
        check(capacity)?;
        let file = memory::create(c"ntux-futex", length(capacity))?;
        let mapping = Mapping::new(file.as_fd(), length(capacity) as usize)?;
        mapping.provide(0, size_of::<Header>())?;
        let header = header(&mapping);
        header.buckets.store(capacity.buckets);
        header.chunks.store(capacity.chunks);
        header.waiters.store(capacity.waiters);
        header.magic.store(MAGIC);
        let domain = Domain::over(file, mapping, capacity);
        if !domain.table.provide() {
            return Err(io::Error::from_raw_os_error(ntux_platform::error::ENOMEM));
        }
        Ok(domain)
    }

    /// Attaches the domain behind a descriptor that came from [`Domain::descriptor`], perhaps in another process.
    ///
    /// Errors: `InvalidData` if it is not a domain of this version, or could be truncated; others from the system.
    pub fn attach(file: OwnedFd) -> io::Result<Domain> {
        let no_domain = || io::Error::new(io::ErrorKind::InvalidData, "not a futex domain of this version of ntux");
        if !memory::cannot_shrink(file.as_fd()) {
            return Err(no_domain());
        }
        let capacity = {
            let mapping = Mapping::new(file.as_fd(), size_of::<Header>()).map_err(|_| no_domain())?;
            let header = header(&mapping);
            if header.magic.load() != MAGIC {
                return Err(no_domain());
            }
            Capacity { buckets: header.buckets.load(), chunks: header.chunks.load(), waiters: header.waiters.load() }
        };
        check(capacity).map_err(|_| no_domain())?;
        let mapping = Mapping::new(file.as_fd(), length(capacity) as usize).map_err(|_| no_domain())?;
        Ok(Domain::over(file, mapping, capacity))
    }

    fn over(file: OwnedFd, mapping: Mapping, capacity: Capacity) -> Domain {
        let base: NonNull<u8> = mapping.base();
        // SAFETY: the mapping has room for the header and a table of this capacity, and cannot shrink; it is
        // page-aligned and the header's size a multiple of 64; the domain keeps it as long as the table, which is
        // reached through it only.
        let table = unsafe { Table::shared(base.add(size_of::<Header>()), capacity) };
        Domain { table, file, _mapping: mapping }
    }

    /// The descriptor, to pass to another process or to inherit; close-on-exec.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}

/// Compares by identity: two attachments of one domain in one process are different.
impl PartialEq for Domain {
    fn eq(&self, other: &Domain) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Domain {}

impl core::fmt::Debug for Domain {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Domain").field("file", &self.file).finish_non_exhaustive()
    }
}

fn header(mapping: &Mapping) -> &Header {
    // SAFETY: a mapping is page-aligned and not empty, and any bytes are a header, which is made of atomic words.
    unsafe { mapping.base().cast::<Header>().as_ref() }
}

/// A waiter's number has 20 bits; the number of a slot, over all buckets and chunks, has 32.
fn check(capacity: Capacity) -> io::Result<()> {
    let sensible = capacity.buckets.is_power_of_two()
        && capacity.buckets <= 1 << 24
        && capacity.chunks <= 1 << 24
        && (1..1 << 20).contains(&capacity.waiters);
    match (sensible, atomic::supported()) {
        (false, _) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "buckets: a power of two; or too many of something"))
        }
        (_, false) => Err(io::Error::new(io::ErrorKind::Unsupported, "no compare-exchange of 16 bytes")),
        _ => Ok(()),
    }
}

fn length(capacity: Capacity) -> u64 {
    (size_of::<Header>() + capacity.bytes()) as u64
}
