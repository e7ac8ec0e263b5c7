// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests with particular rubbish in a table's words. (`tests/futex/rubbish.rs` writes random rubbish.)

use std::alloc::{Layout, alloc_zeroed};
use std::ptr::NonNull;

use ntux_platform::atomic::{Pair, Word32};
use ntux_platform::clock::Deadline;

use super::line::Queued;
use super::{Alone, Capacity, Key, Line, Table};
use crate::{Expected, Futex, MATCH_ANY, Scope, Size};

const CAPACITY: Capacity = Capacity { buckets: 4, chunks: 8, waiters: 8 };

/// A table in memory that others might have written to.
fn table() -> Table {
    let layout = Layout::from_size_align(CAPACITY.bytes(), 64).expect("a small layout");
    // SAFETY: the size is not zero.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory");
    // SAFETY: fresh zero bytes, aligned, never freed, used by the table alone.
    unsafe { Table::shared(base, CAPACITY) }
}

fn key(place: u64) -> Key {
    Key::shared(place, Size::Bits32)
}

/// A wait that does not sleep.
fn try_wait(table: &Table) -> crate::Result<super::Woken> {
    static WORD: Word32 = Word32::new(0);
    // SAFETY: readable for ever.
    let futex = unsafe { Futex::at((&raw const WORD).expose_provenance(), Size::Bits32, Scope::Shared) };
    let expected = Expected::new(futex.expect("aligned"), 0).expect("it fits");
    let line = Line { key: key(8), mask: MATCH_ANY, expected };
    table.wait_any(std::iter::once(line), &Alone, Deadline::Monotonic(1))
}

#[test]
fn a_free_list_that_was_bent_into_a_ring_ends() {
    let table = table();
    // The last seat that was returned is its own successor, and taken.
    let waiter = table.memory.waiter(0).expect("there are eight");
    waiter.owner.store(77);
    waiter.next_free.store(1);
    table.memory.header().free.store(1);
    assert_eq!(try_wait(&table), Err(crate::Error::TimedOut), "there are other seats");
}

#[test]
fn rings_that_were_bent_or_lead_nowhere_end() {
    for (link, line) in [1, CAPACITY.chunks, CAPACITY.chunks + 1, u32::MAX].into_iter().flat_map(|link| {
        // The line names the last possible ring, or the first further one, and counts the maximum as present.
        [u64::MAX, 1 << 22 | 1 << 18 | 0xffff].map(|line| (link, line))
    }) {
        for number in [0, 1 << 20, 1 << 41, u64::MAX] {
            let table = table();
            let buckets = (0..CAPACITY.buckets).map(|hash| table.memory.bucket(hash));
            buckets.for_each(|bucket| {
                bucket.line.store(line);
                bucket.next.store(link);
                bucket.head.store(number);
            });
            let runs = (0..CAPACITY.chunks).filter_map(|chunk| table.memory.run(chunk, 1));
            runs.for_each(|(run, _)| {
                run.next.store(link);
                run.begin.store(number);
                run.end.store(number.wrapping_mul(3));
            });
            let _ = try_wait(&table);
            assert_eq!(table.wake(key(8), 9, MATCH_ANY), 0);
            assert_eq!(table.requeue(key(8), key(16), 1, 1, || true), Ok(0));
        }
    }
}

#[test]
fn a_waiter_that_was_moved_by_an_entry_that_there_is_not_is_moved_on() {
    /// Waiting; the 255th entry was moved, to the last slot of all numbers.
    const HIGH: u64 = 2 | 0xff << 9 | (u32::MAX as u64) << 17;
    const ENTRY: usize = 5;
    let table = table();
    let bucket = table.memory.bucket(key(8).hash());
    let queued = Queued { stamp: super::line::Line::of(bucket).next().stamp(), waiter: 0, entry: ENTRY, key: key(8) };
    bucket.line.store(1 << 22 | 1);
    assert!(bucket.slots[0].compare_exchange(Pair::default(), queued.to_pair()).is_ok());
    let waiter = table.memory.waiter(0).expect("there are eight");
    assert!(waiter.word.compare_exchange(Pair::default(), Pair { low: 77, high: HIGH }).is_ok());
    let place = table.memory.place(0, ENTRY).expect("an entry of 128");
    place.slot.store(u64::from(table.memory.first_in_bucket(key(8).hash())) + 1);
    place.mask.store(MATCH_ANY);
    assert_eq!(table.requeue(key(8), key(16), 0, 1, || true), Ok(1));
    assert_eq!(table.wake(key(16), 9, MATCH_ANY), 1);
}
