// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the ledger of an address without a lock, for a signal handler.
//!
//! The directory is a tree like the processor's page tables, with four levels of 512 entries. An entry names a ledger
//! (for all addresses that it covers), a node of the next level, or nothing. Nodes are never freed, so readers need not
//! protect them.

use std::sync::Mutex;

use ntux_platform::atomic::Word64;

use crate::ledger::Ledger;
use crate::span::Span;
use crate::zeroed::zeroed;

const LEVELS: u32 = 4;
const BITS: u32 = 9;
const ENTRIES: usize = 1 << BITS;
/// Bytes that one entry of the lowest level covers, as a power of two: the smallest page size.
const UNIT_BITS: u32 = 12;
/// Set in an entry that names a ledger. (Ledgers and nodes are aligned, so the lowest bit is free.)
const LEDGER: u64 = 1;

/// Ledgers by address.
pub(crate) struct Directory {
    root: Word64,
    changing: Mutex<()>,
    changes: Word64,
}

impl Directory {
    pub const fn new() -> Directory {
        Directory { root: Word64::new(0), changing: Mutex::new(()), changes: Word64::new(0) }
    }

    /// Returns the ledger for this address. Async-signal-safe. The caller may use it only inside
    /// [`Grace::read`](crate::grace::Grace::read).
    pub fn find(&self, address: usize) -> Option<*const Ledger> {
        if address >> (UNIT_BITS + LEVELS * BITS) != 0 {
            return None;
        }
        let mut entry = self.root.load();
        for level in (0..LEVELS).rev() {
            if entry == 0 || entry & LEDGER != 0 {
                break;
            }
            let index = address >> shift(level) & (ENTRIES - 1);
            // SAFETY: an entry that is neither 0 nor a ledger is a node, which stays for ever and has this many entries.
            entry = unsafe { (*(entry as *const Word64).add(index)).load() };
        }
        (entry & LEDGER != 0).then_some((entry & !LEDGER) as *const Ledger)
    }

    /// Maps the span's addresses to this ledger.
    pub fn insert(&self, span: Span, ledger: *const Ledger) {
        self.change(span, ledger as u64 | LEDGER);
    }

    /// Unmaps the span's addresses. Earlier readers may still use the ledger.
    pub fn remove(&self, span: Span) {
        self.change(span, 0);
    }

    fn change(&self, span: Span, value: u64) {
        let _alone = self.changing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        fill(node_of(&self.root), LEVELS - 1, 0, span, value);
        self.changes.fetch_add(1);
    }

    /// Counts changes. If the count is the same before and after a search, its result was valid all the time.
    pub fn changes(&self) -> u64 {
        self.changes.load()
    }
}

/// Bytes that an entry of this level covers, as a power of two. Level 0 is the lowest.
fn shift(level: u32) -> u32 {
    UNIT_BITS + level * BITS
}

/// Sets a node's entries for a span. `base` is the first address that the node covers.
fn fill(node: *const Word64, level: u32, base: usize, span: Span, value: u64) {
    let covered = 1usize << shift(level);
    let first = span.start.saturating_sub(base) / covered;
    let end = (span.end - base).div_ceil(covered).min(ENTRIES);
    for index in first..end {
        // SAFETY: nodes have this many entries and stay for ever.
        let entry = unsafe { &*node.add(index) };
        let start = base + index * covered;
        let is_whole = span.start <= start && start + covered <= span.end;
        let is_node = |entry: u64| entry != 0 && entry & LEDGER == 0;
        if is_whole && !is_node(entry.load()) {
            entry.store(value);
        } else {
            fill(node_of(entry), level - 1, start, span, value);
        }
    }
}

/// Returns the node that an entry names, or creates one.
fn node_of(entry: &Word64) -> *const Word64 {
    if entry.load() == 0 {
        let node: &'static mut [Word64] = Box::leak(zeroed(ENTRIES));
        entry.store(node.as_ptr() as u64);
    }
    entry.load() as *const Word64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_their_ledger_and_to_no_other() {
        let directory = Directory::new();
        let (small, large) = (0x1000 as *const Ledger, 0x2000 as *const Ledger);
        let page = Span { start: 0x7f00_0000_3000, end: 0x7f00_0000_4000 };
        let huge = Span { start: 0x7e00_0000_1000, end: 0x7e40_0030_2000 };
        assert_eq!(directory.find(page.start), None);
        directory.insert(page, small);
        directory.insert(huge, large);
        for (address, expected) in [
            (page.start - 1, None),
            (page.start, Some(small)),
            (page.end - 1, Some(small)),
            (page.end, None),
            (huge.start - 1, None),
            (huge.start, Some(large)),
            (0x7e20_1234_5678, Some(large)),
            (huge.end - 1, Some(large)),
            (huge.end, None),
            (usize::MAX, None),
            (0, None),
        ] {
            assert_eq!(directory.find(address), expected, "{address:#x}");
        }
        directory.remove(huge);
        assert_eq!(directory.find(0x7e20_1234_5678), None);
        assert_eq!(directory.find(page.start), Some(small));
        directory.insert(Span { start: 0x7e20_0000_0000, end: 0x7e20_0000_1000 }, small);
        assert_eq!(directory.find(0x7e20_0000_0fff), Some(small));
        assert_eq!(directory.find(0x7e20_0000_1000), None);
    }
}
