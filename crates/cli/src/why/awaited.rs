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

use crate::arenas::memory::{Memory, PAGE, half_in, is_private_data, word_in};
use crate::arenas::proc::Mapped;

/// Wine puts the blocks of threads below.
const BLOCKS_BELOW: u64 = 1 << 31;
/// At most so much memory is searched for blocks, and of a stack for an entry.
const SEARCHED: u64 = 64 << 20;
const STACK_SEARCHED: u64 = 8 << 20;
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

impl Block {
    /// Those of all Windows threads of a program.
    pub fn all(memory: &Memory) -> Vec<Block> {
        let mut left = SEARCHED;
        let mut blocks = Vec::new();
        let is_meant = |mapped: &&Mapped| mapped.end <= BLOCKS_BELOW && is_private_data(mapped);
        for mapped in memory.maps().iter().filter(is_meant) {
            let end = mapped.end.min(mapped.start.saturating_add(left));
            left -= end - mapped.start;
            memory.each_chunk(mapped.start, end, |at, bytes| {
                let pages = (at..).step_by(PAGE).zip(bytes.chunks_exact(PAGE));
                blocks.extend(pages.filter_map(|(at, page)| Block::parse(at, page)));
                false
            });
        }
        blocks.sort_unstable_by_key(|block| (block.thread, block.stack));
        blocks.dedup();
        blocks
    }

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

impl Awaited {
    /// What a thread waits for, whose entry is on its stack.
    pub fn by(memory: &Memory, block: &Block) -> Option<Awaited> {
        let (start, end) = block.stack;
        let mut address = None;
        memory.each_chunk(start, end.min(start.saturating_add(STACK_SEARCHED)), |at, bytes| {
            let entries = (at..).step_by(8).zip(bytes.windows(ENTRY).step_by(8));
            let mut found = entries.filter_map(|(at, bytes)| Some((at, Entry::parse(bytes, block.thread)?)));
            address = found.find(|(at, entry)| entry.is_linked(memory, *at)).map(|(_, entry)| entry.address);
            address.is_some()
        });
        Awaited::at(memory, address?)
    }

    fn at(memory: &Memory, address: u64) -> Option<Awaited> {
        let start = address.checked_sub(SECTION_VALUE)?;
        let section = memory.bytes::<SECTION>(start).and_then(|bytes| section(&bytes));
        if let (Some((owner, recursion)), true) = (section, start.is_multiple_of(8)) {
            return Some(Awaited::Section { address: start, owner, recursion });
        }
        if address % 4 == 2 {
            let lock = u32::from_le_bytes(memory.bytes(address - 2)?);
            return Some(Awaited::SrwLock { address: address - 2, owners: lock >> 16, alone: lock & 1 != 0 });
        }
        Some(Awaited::Value { address, value: memory.word(address & !7)? >> (8 * (address % 8)) })
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

    /// Its neighbours in the list point to it, so it is in the list now.
    fn is_linked(&self, memory: &Memory, at: u64) -> bool {
        let points_here = |place: u64| memory.word(place) == Some(at);
        points_here(self.previous) && self.next.checked_add(8).is_some_and(points_here)
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
#[path = "../../tests/unit/why/awaited.rs"]
mod tests;
