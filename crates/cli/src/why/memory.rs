// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread of Wine waits for inside its program: read from the program's memory, which stays as it is. (For native
//! programs [`super::native`] does so.)
//!
//! Windows' critical sections, SRW locks, condition variables and `WaitOnAddress` are values in the memory of a program. Wine's
//! `RtlWaitOnAddress` puts an entry on the thread's own stack, in a list of all that wait, and sleeps until another thread alerts it.
//! So the entry tells for what it sleeps:
//!
//! | where | layout, of 64-bit programs |
//! | --- | --- |
//! | a thread's block (TEB), at the start of a page below 2 GiB | 8: end of its stack, 16: its beginning, 48: its own address, 64 and 72: the numbers of process and thread, 96: the block of the process |
//! | the block of a process | 24: the loader's list, in which 16 is the first program or library; of each, 48: where it begins, 88: its name |
//! | an entry, on that stack | 0: next, 8: previous, 16: the address, 24: the number of the thread |
//! | a critical section | 8: waiters, 12: how often it is owned, 16: the thread that owns it, 24: the value that waiters wait for |
//! | an SRW lock | 0: threads that wait to have it alone, and a bit if one has it alone; 2: how many threads have it, for which the former wait |
//!
//! Any of it may be rubbish, or change meanwhile. So nothing is followed but what agrees with itself: an entry whose neighbours point back to it,
//! a section with an owner and a waiter. All loops are bounded.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::arenas::proc::Mapped;

/// Wine puts the blocks of threads below.
const BLOCKS_BELOW: u64 = 1 << 31;
const PAGE: usize = 4096;
/// At most so much memory is searched for blocks, and of a stack for an entry.
const SEARCHED: u64 = 64 << 20;
const STACK_SEARCHED: u64 = 8 << 20;
const CHUNK: usize = 256 << 10;
/// Bytes of a block, an entry and a critical section that are looked at.
const BLOCK: usize = 80;
const ENTRY: usize = 32;
const SECTION: usize = 40;
/// How far the value that waiters wait for lies behind the start of its section.
const SECTION_VALUE: u64 = 24;

/// A Windows thread, by its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub at: u64,
    pub thread: u32,
    stack: (u64, u64),
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    Section {
        address: u64,
        owner: u32,
        recursion: u32,
    },
    /// `owners` have it; alone if it is one, and `alone`.
    SrwLock {
        address: u64,
        owners: u32,
        alone: bool,
    },
    Value {
        address: u64,
        value: u64,
    },
}

/// The memory of a program.
pub struct Memory {
    memory: File,
    maps: Vec<Mapped>,
}

impl Memory {
    /// Returns None if the process is not there, or may not be traced.
    pub fn of(pid: u32) -> Option<Memory> {
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
        Some(Memory { memory, maps: String::from_utf8_lossy(&maps).lines().filter_map(Mapped::parse).collect() })
    }

    /// The blocks of all Windows threads.
    pub fn blocks(&self) -> Vec<Block> {
        let mut left = SEARCHED;
        let mut blocks = Vec::new();
        for mapped in self.maps.iter().filter(|mapped| mapped.end <= BLOCKS_BELOW && is_private_data(mapped)) {
            let end = mapped.end.min(mapped.start.saturating_add(left));
            left -= end - mapped.start;
            self.each_chunk(mapped.start, end, |at, bytes| {
                let pages = (at..).step_by(PAGE).zip(bytes.chunks_exact(PAGE));
                blocks.extend(pages.filter_map(|(at, page)| Block::parse(at, page)));
                false
            });
        }
        blocks.sort_unstable_by_key(|block| (block.thread, block.stack));
        blocks.dedup();
        blocks
    }

    /// What a thread waits for, whose entry is on its stack.
    pub fn awaited(&self, block: &Block) -> Option<Awaited> {
        let (start, end) = block.stack;
        let mut address = None;
        self.each_chunk(start, end.min(start.saturating_add(STACK_SEARCHED)), |at, bytes| {
            let entries = (at..).step_by(8).zip(bytes.windows(ENTRY).step_by(8));
            let mut found = entries.filter_map(|(at, bytes)| Some((at, Entry::parse(bytes, block.thread)?)));
            address = found.find(|(at, entry)| self.is_linked(*at, entry)).map(|(_, entry)| entry.address);
            address.is_some()
        });
        self.what_is_at(address?)
    }

    /// Returns true if so many bytes lie in one mapping that the program alone has, to read and write.
    pub fn is_own(&self, at: u64, length: u64) -> bool {
        let has_it =
            |mapped: &Mapped| mapped.start <= at && at.checked_add(length).is_some_and(|end| end <= mapped.end);
        self.maps.iter().find(|mapped| has_it(mapped)).is_some_and(is_private)
    }

    /// The file of which this address is, if it is one: a program or a library.
    pub fn module(&self, address: u64) -> Option<String> {
        let mapped = self.maps.iter().find(|mapped| (mapped.start..mapped.end).contains(&address))?;
        Some(path(mapped)?.rsplit('/').next()?.to_owned())
    }

    /// Its neighbours in the list point to it, so it is in the list now.
    fn is_linked(&self, at: u64, entry: &Entry) -> bool {
        let points_here = |place: u64| self.word(place) == Some(at);
        points_here(entry.previous) && entry.next.checked_add(8).is_some_and(points_here)
    }

    fn what_is_at(&self, address: u64) -> Option<Awaited> {
        let start = address.checked_sub(SECTION_VALUE)?;
        let section = self.bytes::<SECTION>(start).and_then(|bytes| section(&bytes));
        if let (Some((owner, recursion)), true) = (section, start.is_multiple_of(8)) {
            return Some(Awaited::Section { address: start, owner, recursion });
        }
        if address % 4 == 2 {
            let lock = u32::from_le_bytes(self.bytes(address - 2)?);
            return Some(Awaited::SrwLock { address: address - 2, owners: lock >> 16, alone: lock & 1 != 0 });
        }
        Some(Awaited::Value { address, value: self.word(address & !7)? >> (8 * (address % 8)) })
    }

    pub fn word(&self, at: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(at)?))
    }

    pub fn half(&self, at: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(at)?))
    }

    pub fn bytes<const LENGTH: usize>(&self, at: u64) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.memory.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// So many bytes.
    pub fn block(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        Some(self.what_is_there(at, length)).filter(|bytes| bytes.len() == length)
    }

    /// What can be read of so many bytes: up to the first page that cannot.
    pub fn what_is_there(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let mut read = 0;
        while let Ok(more @ 1..) = self.memory.read_at(&mut bytes[read..], at.saturating_add(read as u64)) {
            read += more;
        }
        bytes.truncate(read);
        bytes
    }

    /// Calls `look` with what can be read, in order, until it returns true. (An entry that lies across two chunks is in the second one, too.)
    fn each_chunk(&self, start: u64, end: u64, mut look: impl FnMut(u64, &[u8]) -> bool) {
        let mut bytes = vec![0; CHUNK + PAGE];
        let mut at = start;
        while at < end {
            let length = (end - at).min((CHUNK + PAGE) as u64) as usize;
            // A page that cannot be read, such as the guard of a stack, ends what is read at once.
            let read = self.memory.read_at(&mut bytes[..length], at).unwrap_or(0);
            if look(at, &bytes[..read]) {
                return;
            }
            at += if read < PAGE { PAGE as u64 } else { (read.min(CHUNK) / PAGE * PAGE) as u64 };
        }
    }
}

/// Returns true if it is memory of the program alone, which no file has.
fn is_private_data(mapped: &Mapped) -> bool {
    is_private(mapped) && path(mapped).is_none()
}

/// Returns true if it is memory that the program alone changes; a file may be what it begins with.
fn is_private(mapped: &Mapped) -> bool {
    mapped.access.starts_with("rw") && mapped.access.ends_with('p')
}

/// The file of a mapping.
fn path(mapped: &Mapped) -> Option<&str> {
    mapped.name.as_deref().filter(|name| name.starts_with('/'))
}

/// The number in the eight bytes at this place.
pub fn word_in(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

/// The number in the four bytes at this place.
pub fn half_in(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

impl Block {
    pub fn parse(at: u64, page: &[u8]) -> Option<Block> {
        let word = |place| word_in(page, place);
        let (stack, own) = ((word(16)?, word(8)?), word(48)?);
        let number = |place: usize| word(place).filter(|&number| number != 0 && number % 4 == 0);
        let (_, thread) = (u32::try_from(number(BLOCK - 16)?).ok()?, u32::try_from(number(BLOCK - 8)?).ok()?);
        (own == at && stack.0 != 0 && stack.0 < stack.1).then_some(Block { at, thread, stack })
    }

    pub fn has_on_stack(&self, address: u64) -> bool {
        (self.stack.0..self.stack.1).contains(&address)
    }

    pub fn end_of_stack(&self) -> u64 {
        self.stack.1
    }
}

/// An entry of the list of those who wait.
struct Entry {
    next: u64,
    previous: u64,
    address: u64,
}

impl Entry {
    fn parse(bytes: &[u8], thread: u32) -> Option<Entry> {
        let word = |place| word_in(bytes, place);
        let (next, previous, address) = (word(0)?, word(8)?, word(16)?);
        let is_entry = word(24)? as u32 == thread && address != 0;
        let is_listed = [next, previous].iter().all(|&place| place != 0 && place.is_multiple_of(8));
        (is_entry && is_listed).then_some(Entry { next, previous, address })
    }
}

/// The owner of a critical section for which a thread waits, and how often it has it; none if this is no such section.
fn section(bytes: &[u8; SECTION]) -> Option<(u32, u32)> {
    let half = |place| half_in(bytes, place);
    let (waiters, recursion) = (half(8)? as i32, half(12)?);
    let (owner, above, value, beside) = (half(16)?, half(20)?, half(24)?, half(28)?);
    let is_owned = waiters > 0 && (1..1 << 20).contains(&recursion) && owner != 0 && owner % 4 == 0;
    (is_owned && above == 0 && value <= 1 && beside == 0).then_some((owner, recursion))
}

#[cfg(test)]
#[path = "../../tests/unit/why/memory.rs"]
mod tests;
