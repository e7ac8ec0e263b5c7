// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many ranges in one call.

use fastrand::Rng;
use ntux_watch::{Error, Mechanism, Range, Region, Reset, Run, Watcher, page_size};

use crate::mapped::Mapped;
use crate::memory::Memory;
use crate::{watcher_of, watchers};

#[test]
fn many_ranges_in_one_call_with_other_memory_between() {
    for watcher in watchers() {
        let mapped = Mapped::anonymous(100);
        let others = Watcher::with(watcher.mechanism().unwrap()).unwrap();
        let first = mapped.watch(&watcher, mapped.range(10, 20));
        let foreign = mapped.watch(&others, mapped.range(30, 40));
        let second = mapped.watch(&watcher, mapped.range(50, 60));
        let third = mapped.watch(&watcher, mapped.range(60, 70));
        (0..100).for_each(|page| mapped.write(page));
        let ranges = [first.range(), second.range(), mapped.range(60, 65), mapped.range(66, 70)];
        let mut runs = Vec::new();
        watcher.get_batch(&ranges, Reset::Yes, &mut runs).unwrap();
        let expected: Vec<usize> = (10..20).chain(50..65).chain(66..70).collect();
        assert_eq!(mapped.numbers(&runs), expected);
        assert_eq!(mapped.get(&third, Reset::Yes), [65]);
        assert_eq!(mapped.get(&foreign, Reset::No), (30..40).collect::<Vec<_>>(), "somebody else's is left alone");
        runs.clear();
        mapped.write(55);
        watcher.get_batch(&ranges, Reset::No, &mut runs).unwrap();
        assert_eq!(mapped.numbers(&runs), [55]);
        let twice = [second.range(), first.range()];
        assert_eq!(watcher.get_batch(&twice, Reset::No, &mut runs), Err(Error::Invalid));
        assert_eq!(watcher.get_batch(&[mapped.range(55, 75)], Reset::No, &mut runs), Err(Error::NotWatched));
    }
}

#[test]
fn reserved_regions_in_one_call() {
    for watcher in watchers() {
        let mut regions: Vec<Memory> = (0..50).map(|_| Memory::committed(&watcher, 8)).collect();
        regions.sort_by_key(|memory| memory.address(0));
        regions[7].write(3);
        regions[8].write(0);
        regions[40].protect(0, 8, true);
        regions[40].write(7);
        let ranges: Vec<Range> = regions.iter().map(|memory| memory.region.range()).collect();
        let starts = |runs: &[Run]| runs.iter().map(|run| run.start).collect::<Vec<_>>();
        let expected = [regions[7].address(3), regions[8].address(0), regions[40].address(7)];
        let mut runs = Vec::new();
        watcher.get_batch(&ranges, Reset::No, &mut runs).unwrap();
        assert_eq!(starts(&runs), expected);
        regions[40].protect(0, 8, false);
        runs.clear();
        watcher.get_batch(&ranges, Reset::Yes, &mut runs).unwrap();
        assert_eq!(starts(&runs), expected, "latched pages too");
        runs.clear();
        watcher.get_batch(&ranges, Reset::Yes, &mut runs).unwrap();
        assert!(runs.is_empty());
    }
}

/// The first of neighbouring regions has latched a page once: that says nothing about the others.
#[test]
fn a_page_of_the_first_region_that_was_latched_once() {
    const PAGES: usize = 64;
    for watcher in watchers() {
        let mut regions: Vec<Memory> = (0..20).map(|_| Memory::committed(&watcher, PAGES)).collect();
        regions.sort_by_key(|memory| memory.address(0));
        for memory in &regions {
            memory.write(1);
            memory.protect(0, PAGES, false);
            memory.protect(0, PAGES, true);
            assert_eq!(memory.get(Reset::Yes), [1], "{:?}", watcher.mechanism());
        }
        regions[19].write(PAGES - 1);
        // With a gap, so that they are not joined to one.
        drop(regions.remove(10));
        let ranges: Vec<Range> = regions.iter().map(|memory| memory.region.range()).collect();
        let mut runs = Vec::new();
        watcher.get_batch(&ranges, Reset::Yes, &mut runs).unwrap();
        assert_eq!(runs, [Run { start: regions[18].address(PAGES - 1), length: page_size() }]);
    }
}

/// Random regions, gaps, and pages: a call with room for few runs lists the lowest, and leaves the others for the next.
#[test]
fn one_call_lists_what_a_thousand_would() {
    for watcher in watchers() {
        for seed in 0..20 {
            let mut random = Rng::with_seed(seed);
            let mapped = Mapped::anonymous(600);
            let mut regions: Vec<Region> = Vec::new();
            let mut page = 0;
            while page < 560 {
                let end = page + random.usize(1..30);
                regions.push(mapped.watch(&watcher, mapped.range(page, end)));
                page = end + if random.bool() { 0 } else { random.usize(1..10) };
            }
            let ranges: Vec<Range> = regions.iter().map(Region::range).collect();
            for _ in 0..10 {
                for _ in 0..random.usize(..200) {
                    mapped.write(random.usize(..600));
                }
                let expected: Vec<usize> = regions.iter().flat_map(|region| mapped.get(region, Reset::No)).collect();
                let mut listed = Vec::new();
                let mut runs = [Run::default(); 16];
                loop {
                    let count = watcher.get_batch_into(&ranges, Reset::Yes, &mut runs).unwrap();
                    listed.extend(mapped.numbers(&runs[..count]));
                    if count < runs.len() {
                        break;
                    }
                }
                assert_eq!(listed, expected, "{:?}, seed {seed}", watcher.mechanism());
            }
        }
    }
}

#[test]
fn regions_that_were_mapped_over_count_as_written_in_one_call_too() {
    let Some(watcher) = watcher_of(Mechanism::Async) else { return };
    // Long enough for page tables that nobody else needs, so that they go with what was mapped.
    const LONG: usize = 4096;
    let mapped = Mapped::anonymous(2 * LONG);
    let regions: Vec<Region> = [(10, 20), (30, 40), (LONG, 2 * LONG)]
        .into_iter()
        .map(|(first, end)| mapped.watch(&watcher, mapped.range(first, end)))
        .collect();
    let ranges: Vec<Range> = regions.iter().map(Region::range).collect();
    // As runs: first page, first page behind.
    let get = |reset| {
        let mut runs = Vec::new();
        watcher.get_batch(&ranges, reset, &mut runs).unwrap();
        let page = |address: usize| (address - mapped.base) / page_size();
        runs.iter().map(|run| (page(run.start), page(run.start + run.length))).collect::<Vec<_>>()
    };
    assert_eq!(get(Reset::Yes), []);
    let lost = [(33, 35), (LONG + 100, 2 * LONG - 100)];
    lost.iter().for_each(|&(first, end)| mapped.map_over(first, end));
    mapped.write(12);
    mapped.write(37);
    let expected = [(12, 13), lost[0], (37, 38), lost[1]];
    assert_eq!(get(Reset::No), expected, "nobody has touched what was mapped, but it is not what it was");
    assert_eq!(get(Reset::Yes), expected);
    assert_eq!(get(Reset::Yes), lost, "it is not watched");
    drop(regions);
    let _regions: Vec<Region> = ranges.iter().map(|range| mapped.watch(&watcher, *range)).collect();
    assert_eq!(get(Reset::Yes), [], "watched anew");
    mapped.write(34);
    assert_eq!(get(Reset::Yes), [(34, 35)]);
}
