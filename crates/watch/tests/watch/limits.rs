// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many regions, and the limits of the system.

use std::collections::BTreeSet;

use ntux_platform::watching::mappings;
use ntux_watch::{Mechanism, Range, Region, Reset, Run, Watcher, page_size};

use crate::child::{child, is_child};
use crate::memory::{Memory, protection};
use crate::skips::skip;
use crate::watchers;

#[test]
fn a_hundred_thousand_regions() {
    const COUNT: usize = 100_000;
    let page = page_size();
    for watcher in watchers() {
        let base = ntux_platform::protection::allocate(COUNT * page, protection(true)).unwrap();
        let range = |index: usize| Range::new(base + index * page, page);
        // SAFETY: mapped just above, and not touched but by stores of this test.
        let regions: Vec<Region> = (0..COUNT).map(|index| unsafe { watcher.watch(range(index)) }.unwrap()).collect();
        let written: Vec<usize> = (0..COUNT).step_by(997).collect();
        for &index in &written {
            // SAFETY: a page of the mapping above.
            unsafe { ((base + index * page) as *mut u8).write_volatile(1) };
        }
        let all: Vec<Range> = (0..COUNT).map(range).collect();
        let mut runs = Vec::new();
        watcher.get_batch(&all, Reset::Yes, &mut runs).unwrap();
        let expected: Vec<Run> =
            written.iter().map(|&index| Run { start: base + index * page, length: page }).collect();
        assert_eq!(runs, expected, "{:?}", watcher.mechanism());
        let mut found = [0; 1];
        assert_eq!(regions[997].get(range(997), &mut found, Reset::No), Ok(0));
        drop(regions);
        // SAFETY: mapped above, and nobody watches it any more.
        unsafe { ntux_platform::protection::free(base, COUNT * page) }.unwrap();
    }
}

#[test]
fn a_terabyte_costs_nothing_until_it_is_used() {
    for watcher in watchers() {
        let pages = (1 << 40) / page_size();
        let memory = Memory::reserve(&watcher, pages);
        memory.commit(pages / 2, pages / 2 + 1000, true);
        memory.write(pages / 2 + 500);
        assert_eq!(memory.get_room(0, pages, 4, Reset::Yes), [pages / 2 + 500]);
        assert!(memory.get_room(0, pages, 4, Reset::Yes).is_empty());
    }
}

/// Each region that the kernel copies has mappings of its own.
#[test]
fn many_reservations_leave_mappings_to_others() {
    if is_child() {
        let watcher = Watcher::with(Mechanism::Cow).unwrap();
        let (limit, _) = mappings::limit_and_count().unwrap();
        let memories: Vec<Memory> = (0..limit / 4 + 100).map(|_| Memory::committed(&watcher, 1)).collect();
        let count = mappings::limit_and_count().unwrap().1;
        assert!(count < limit / 2 + 5000, "{count} mappings of {limit}");
        for memory in [&memories[0], &memories[memories.len() - 1]] {
            memory.write(0);
            assert_eq!(memory.get(Reset::Yes), [0]);
            assert!(memory.get(Reset::No).is_empty());
        }
        drop(memories);
        assert!(mappings::limit_and_count().unwrap().1 < 1000, "all are given back");
        return;
    }
    match Mechanism::Cow.probe() {
        Ok(()) => child("limits::many_reservations_leave_mappings_to_others").must_pass(),
        Err(error) => skip("mechanism-cow", error),
    }
}

/// Every second page of 262,144: more runs than there may be mappings.
#[test]
fn page_protection_never_runs_out_of_mappings() {
    const PAGES: usize = 262_144;
    if is_child() {
        let watcher = Watcher::with(Mechanism::Mprotect).unwrap();
        let memory = Memory::committed(&watcher, PAGES);
        for round in 0..2 {
            (0..PAGES).step_by(2).for_each(|page| memory.write(page));
            let (limit, count) = mappings::limit_and_count().unwrap();
            assert!(count < limit / 2 + 5000, "{count} mappings of {limit}");
            let listed: BTreeSet<usize> = memory.get(Reset::Yes).into_iter().collect();
            assert!(
                (0..PAGES).step_by(2).all(|page| listed.contains(&page)),
                "round {round}: a written page is missing"
            );
            assert!(memory.get(Reset::No).is_empty());
        }
        memory.write(5);
        assert_eq!(memory.get(Reset::Yes), [5], "exact again");
        assert!(mappings::limit_and_count().unwrap().1 < 1000, "mappings are joined again");
        return;
    }
    child("limits::page_protection_never_runs_out_of_mappings").must_pass();
}

/// Somebody else has used up the mappings: stores still succeed, and are listed.
#[test]
fn page_protection_opens_more_when_others_have_used_up_the_mappings() {
    if is_child() {
        let watcher = Watcher::with(Mechanism::Mprotect).unwrap();
        let memory = Memory::committed(&watcher, 1000);
        let (limit, count) = mappings::limit_and_count().unwrap();
        let length = 2 * limit * page_size();
        let others = ntux_platform::protection::allocate(length, protection(true)).unwrap();
        let splits = (0..(limit - count) / 2 + 10).map_while(|index| {
            let page = others + (2 * index + 1) * page_size();
            // SAFETY: the mapping above, which nobody uses.
            unsafe { ntux_platform::protection::protect(page, page_size(), protection(false)) }.ok()
        });
        assert!(splits.count() < (limit - count) / 2 + 10, "the mappings are used up");
        memory.write_all(&[500, 700, 900]);
        let listed = memory.get(Reset::Yes);
        assert!([500, 700, 900].iter().all(|page| listed.contains(page)), "{listed:?}");
        memory.write(3);
        assert!(memory.get(Reset::No).contains(&3));
        return;
    }
    child("limits::page_protection_opens_more_when_others_have_used_up_the_mappings").must_pass();
}
