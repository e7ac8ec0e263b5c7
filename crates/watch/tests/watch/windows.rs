// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Wine's tests assert of Windows, group by group (`test_write_watch`; the letters are those of docs/watches/guide.md).

use ntux_watch::{Error, Protection, Range, Reset, Run, page_size};

use crate::memory::Memory;
use crate::watchers;

#[test]
fn c_fresh_memory_is_clean() {
    for watcher in watchers() {
        assert!(Memory::committed(&watcher, 16).get(Reset::No).is_empty());
    }
}

#[test]
fn d_asking_changes_nothing_until_it_resets() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.write(1);
        assert_eq!(memory.get(Reset::No), [1]);
        assert_eq!(memory.get(Reset::Yes), [1]);
        assert!(memory.get(Reset::No).is_empty());
        memory.write(1);
        assert_eq!(memory.get(Reset::No), [1]);
    }
}

#[test]
fn e_pages_ascend_and_a_part_can_be_asked_and_reset() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.write(4);
        memory.write(2);
        assert_eq!(memory.get(Reset::No), [2, 4]);
        assert_eq!(memory.get_room(3, 5, 16, Reset::No), [4]);
        memory.region.reset(memory.range(0, 3)).unwrap();
        assert_eq!(memory.get(Reset::No), [4]);
    }
}

#[test]
fn f_a_store_across_a_boundary_writes_both_pages() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        // SAFETY: both pages are committed.
        unsafe { ((memory.address(2) - 2) as *mut u32).write_unaligned(7) };
        assert_eq!(memory.get(Reset::No), [1, 2]);
    }
}

#[test]
fn g_a_limited_reset_concerns_the_listed_pages_only() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.write_all(&[1, 2, 4]);
        assert_eq!(memory.get_room(0, 16, 1, Reset::Yes), [1]);
        assert_eq!(memory.get(Reset::No), [2, 4]);
        memory.write(1);
        assert_eq!(memory.get_room(0, 16, 2, Reset::Yes), [1, 2]);
        assert_eq!(memory.get(Reset::Yes), [4]);
    }
}

#[test]
fn h_protection_keeps_what_was_written() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.write_all(&[2, 4]);
        memory.protect(0, 3, false);
        assert_eq!(memory.get(Reset::No), [2, 4]);
        memory.protect(0, 3, true);
        assert_eq!(memory.get(Reset::Yes), [2, 4]);
        assert!(memory.get(Reset::No).is_empty());
        memory.write(2);
        assert_eq!(memory.get(Reset::No), [2]);
    }
}

#[test]
fn m_errors_come_in_the_order_of_windows() {
    for watcher in watchers() {
        let (first, page) = (Memory::committed(&watcher, 16), page_size());
        let all = first.region.range();
        let get = |range, room: usize| watcher.get(range, &mut vec![0; room], Reset::No);
        assert_eq!(get(all, 0), Err(Error::Invalid));
        assert_eq!(
            get(Range::new(0, 0), 4),
            Err(Error::Invalid),
            "an empty range comes before one that is not watched"
        );
        assert_eq!(get(Range::new(0, page), 4), Err(Error::NotWatched));
        let image = m_errors_come_in_the_order_of_windows as fn() as usize;
        assert_eq!(get(Range::new(image, 1), 4), Err(Error::NotWatched));
        assert_eq!(get(Range::new(all.start, 2 * all.length), 4), Err(Error::NotWatched));
        assert_eq!(get(Range::new(all.start + all.length - page, page + 1), 4), Err(Error::NotWatched));
        assert_eq!(get(Range::new(usize::MAX - 10, 20), 4), Err(Error::Invalid));
        assert_eq!(watcher.reset(Range::new(all.start, 0)), Err(Error::Invalid));
        assert_eq!(watcher.reset(Range::new(all.start, 2 * all.length)), Err(Error::NotWatched));
        assert_eq!(first.region.get_runs(all, &mut [], Reset::No), Err(Error::Invalid));
        assert_eq!(first.region.get_bitmap(all, &mut [], Reset::No), Err(Error::Invalid));
        // SAFETY: refused before anything is touched.
        let refused = unsafe { watcher.watch(Range::new(all.start + 1, page)) };
        assert_eq!(refused.err(), Some(Error::Invalid));
        // SAFETY: as above.
        assert_eq!(unsafe { watcher.watch(all) }.err(), Some(Error::Busy));
        assert_eq!(watcher.reserve(0).err(), Some(Error::Invalid));
    }
}

#[test]
fn m_a_range_is_rounded_outwards() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 4);
        memory.write(3);
        let mut found = [0; 4];
        assert_eq!(watcher.get(Range::new(memory.address(3) + 100, 1), &mut found, Reset::No), Ok(1));
        assert_eq!(found[0], memory.address(3));
        assert_eq!(watcher.get(Range::new(memory.address(3) - 1, 1), &mut found, Reset::No), Ok(0));
        assert_eq!(watcher.get(Range::new(memory.address(3) - 1, 2), &mut found, Reset::No), Ok(1));
    }
}

#[test]
fn n_o_reserved_and_forbidden_memory_can_be_asked() {
    for watcher in watchers() {
        let memory = Memory::reserve(&watcher, 16);
        assert!(memory.get(Reset::Yes).is_empty());
        memory.region.reset(memory.region.range()).unwrap();
        memory.region.commit(memory.region.range(), Protection::NONE).unwrap();
        assert!(memory.get(Reset::No).is_empty());
        memory.protect(0, 16, true);
        memory.write(5);
        // SAFETY: nothing refers to the memory.
        unsafe { memory.region.protect(memory.region.range(), Protection::NONE) }.unwrap();
        assert_eq!(memory.get(Reset::Yes), [5]);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn p_an_empty_result_leaves_the_array_alone() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        let mut addresses = [0xdead; 16];
        assert_eq!(memory.region.get(memory.region.range(), &mut addresses, Reset::Yes), Ok(0));
        assert_eq!(addresses, [0xdead; 16]);
    }
}

#[test]
fn q_r_decommitted_pages_are_clean() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.decommit(1, 2);
        memory.protect(4, 5, false);
        assert!(memory.get(Reset::No).is_empty());
        memory.write(2);
        assert_eq!(memory.get(Reset::Yes), [2]);
        memory.commit(0, 16, true);
        memory.protect(0, 16, true);
        memory.write_all(&[3, 5]);
        memory.decommit(0, 16);
        assert!(memory.get(Reset::No).is_empty());
        memory.commit(0, 16, true);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn s_protection_latches_what_was_written_before() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 16);
        memory.write(3);
        memory.protect(0, 6, true);
        memory.write(5);
        assert_eq!(memory.get(Reset::No), [3, 5]);
        memory.decommit(0, 16);
        assert_eq!(memory.get(Reset::No), [3]);
        memory.commit(0, 16, true);
        assert_eq!(memory.get(Reset::No), [3]);
        memory.write_all(&[2, 4, 6]);
        assert_eq!(memory.get_room(0, 16, 2, Reset::Yes), [2, 3]);
        assert_eq!(memory.get(Reset::Yes), [4, 6]);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn s_the_protection_of_reserved_pages_cannot_be_set() {
    for watcher in watchers() {
        let memory = Memory::reserve(&watcher, 16);
        memory.commit(0, 8, true);
        // SAFETY: nothing refers to the memory.
        let refused = unsafe { memory.region.protect(memory.range(7, 9), Protection::READ) };
        assert_eq!(refused, Err(Error::NotCommitted));
        memory.write(7);
        assert_eq!(memory.get(Reset::No), [7]);
    }
}

#[test]
fn t_more_pages_than_a_mechanism_lists_at_once() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 2048);
        (0..2048).step_by(2).for_each(|page| memory.write(page));
        memory.protect(0, 1024, false);
        let every_other: Vec<usize> = (0..2048).step_by(2).collect();
        assert_eq!(memory.get(Reset::No), every_other);
        assert_eq!(memory.get_room(0, 2048, 1024, Reset::Yes), every_other);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn every_form_of_a_result_says_the_same() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 1500);
        let written: Vec<usize> = (0..1500).filter(|page| page % 3 != 1 || *page > 1200).collect();
        written.iter().for_each(|&page| memory.write(page));
        let (all, page) = (memory.region.range(), page_size());
        let mut bitmap = [u64::MAX; 24];
        memory.region.get_bitmap(all, &mut bitmap, Reset::No).unwrap();
        let raised = (0..24 * 64).filter(|bit| bitmap[bit / 64] >> (bit % 64) & 1 != 0);
        assert_eq!(raised.collect::<Vec<_>>(), written);
        let mut runs = [Run::default(); 1500];
        let count = memory.region.get_runs(all, &mut runs, Reset::No).unwrap();
        let pages_of = |run: &Run| (run.start..run.start + run.length).step_by(page);
        assert_eq!(runs[..count].iter().flat_map(pages_of).map(|at| memory.number(at)).collect::<Vec<_>>(), written);
        assert!(
            runs[..count].windows(2).all(|pair| pair[0].start + pair[0].length < pair[1].start),
            "neighbours are joined"
        );
        assert_eq!(memory.region.get_runs(all, &mut runs[..3], Reset::Yes), Ok(3));
        let skipped: usize = runs[..3].iter().map(|run| run.length / page).sum();
        let rest = memory.region.iter(all, Reset::Yes).unwrap().map(|at| memory.number(at));
        assert_eq!(rest.collect::<Vec<_>>(), written[skipped..]);
        assert!(memory.get(Reset::No).is_empty());
    }
}

#[test]
fn what_an_iterator_did_not_yield_stays_written() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 64);
        memory.write_all(&[1, 2, 3, 9, 20]);
        let yielded: Vec<_> = memory.region.iter(memory.region.range(), Reset::Yes).unwrap().take(2).collect();
        assert_eq!(yielded, [memory.address(1), memory.address(2)]);
        assert_eq!(memory.get(Reset::Yes), [3, 9, 20]);
        assert!(memory.get(Reset::No).is_empty());
    }
}
