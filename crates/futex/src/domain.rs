//! A domain: a wait table in memory that processes share. What the kernel cannot do exactly between processes, it can.
//!
//! All who share a futex must be in the same domain, and name its word by the same place ([`crate::Futex::in_domain`]):
//! so the choice is part of what they agreed on, and not of each process's luck with its kernel. It needs no call but
//! the oldest futex.
//!
//! It is built on the platform's robust list alone, like the waiters of the synchronization core, and not on that core:
//! the layers stay downward, and the table is the one that private futexes use.
//!
//! # Death
//! A thread that is killed while it waits is marked by the kernel at that moment: wakes pass over it, and whoever meets
//! it takes it out of the line. A thread that is killed between choosing whom to wake and waking it: the kernel wakes.
//! A thread that is killed while it moves somebody can leave a slot of 16 bytes taken, which counts for nothing.
//! Without a robust list (`ntux doctor`) a killed waiter can be given a wake.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use ntux_platform::atomic::{self, Word32, Word64};
use ntux_platform::memory::{self, Mapping};

use crate::table::{Capacity, Table};

/// What a domain's file begins with.
#[repr(C, align(64))]
struct Header {
    magic: Word64,
    buckets: Word32,
    chunks: Word32,
    waiters: Word32,
}

/// "ntuxftx" and the version of the format; a change of the table's layout is another version.
const MAGIC: u64 = u64::from_be_bytes(*b"ntuxftx\x02");

impl Capacity {
    /// Room for so many threads, and for 32 entries of each on average.
    pub fn for_waiters(waiters: u32) -> Capacity {
        let buckets = (waiters / 4).clamp(16, 4096).next_power_of_two();
        Capacity { buckets, chunks: 4 * buckets + 2 * waiters, waiters }
    }
}

/// A wait table that processes share.
pub struct Domain {
    table: Table,
    file: OwnedFd,
    /// Keeps the table's memory.
    _mapping: Mapping,
}

impl Domain {
    /// A new domain. Its memory is used as it is needed: 2 KiB for each thread that waits, 16 bytes for each entry, and 16 bytes
    /// for each thread that there is room for.
    ///
    /// Errors: `InvalidInput` if the number of buckets is not a power of two, or there are too many of something;
    /// `Unsupported` without a 128-bit exchange; others from the system, among them `EFBIG` when the process may not make a
    /// file so long (`RLIMIT_FSIZE`).
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

    /// The domain behind a descriptor that came from [`Domain::descriptor`], perhaps in another process.
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

    /// To be passed to another process, or inherited by it; close-on-exec.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}

/// Two views of one domain in one process are two domains to it.
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

/// A waiter's number has 20 bits; the slots of all buckets and chunks are numbered with 32.
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
