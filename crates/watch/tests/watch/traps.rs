// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is easily got wrong with the kernel's own interface, and with memory that the program changes behind our back.
#![cfg(target_os = "linux")]

use std::fs::File;

use ntux_platform::atomic::Word32;
use ntux_watch::{Error, Mechanism, Reset, Watcher, page_size};

use crate::mapped::{Mapped, plain_file};
use crate::memory::Memory;
use crate::skips::skip;
use crate::stop::Stop;
use crate::{watcher_of, watchers};

fn memory_file(pages: usize) -> File {
    File::from(ntux_platform::memory::create(c"ntux-watch-test", (pages * page_size()) as u64).unwrap())
}

#[test]
fn the_neighbours_of_a_region_are_not_its_business() {
    for watcher in watchers() {
        let mapped = Mapped::anonymous(30);
        let region = mapped.watch(&watcher, mapped.range(10, 20));
        (0..30).for_each(|page| mapped.write(page));
        assert_eq!(mapped.get(&region, Reset::Yes), (10..20).collect::<Vec<_>>());
        (0..30).filter(|page| !(10..20).contains(page)).for_each(|page| mapped.write(page));
        assert!(mapped.get(&region, Reset::No).is_empty());
    }
}

#[test]
fn a_result_may_lie_in_the_memory_that_it_is_about() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 64);
        memory.write_all(&[40, 50, 60]);
        // SAFETY: a committed page, used as this array only, aligned as every page is.
        let inside = unsafe { core::slice::from_raw_parts_mut(memory.address(5) as *mut usize, 64) };
        assert_eq!(memory.region.get(memory.region.range(), inside, Reset::Yes), Ok(3));
        assert_eq!(inside[..3], [memory.address(40), memory.address(50), memory.address(60)]);
        assert_eq!(memory.get(Reset::Yes), [5], "the page of the result was written after it was looked at");
    }
}

#[test]
fn somebody_elses_memory_is_refused() {
    let works = Mechanism::Async.probe().is_ok() && Mechanism::Sync.probe().is_ok();
    if !works {
        skip("mechanism-sync", "it takes two mechanisms with userfaultfd");
        return;
    }
    let mapped = Mapped::anonymous(10);
    let (one, other) = (Watcher::with(Mechanism::Async).unwrap(), Watcher::with(Mechanism::Sync).unwrap());
    let region = mapped.watch(&one, mapped.all());
    // SAFETY: refused.
    assert_eq!(unsafe { other.watch(mapped.range(3, 5)) }.err(), Some(Error::Busy));
    mapped.write(3);
    assert_eq!(mapped.get(&region, Reset::No), [3]);
    drop(region);
    drop(mapped.watch(&other, mapped.range(3, 5)));
}

#[test]
fn huge_pages_are_watched_page_by_page() {
    const HUGE: usize = 512;
    for watcher in watchers() {
        let mapped = Mapped::anonymous(4 * HUGE);
        if let Err(error) = mapped.try_to_advise(0, 4 * HUGE, libc::MADV_HUGEPAGE) {
            skip("huge-pages", format_args!("this kernel has no such advice: {error}"));
        }
        (0..4 * HUGE).for_each(|page| mapped.write(page));
        let region = mapped.watch(&watcher, mapped.all());
        assert!(mapped.get(&region, Reset::No).is_empty());
        mapped.write(700);
        mapped.write(1500);
        assert_eq!(mapped.get(&region, Reset::No), [700, 1500], "{:?}", watcher.mechanism());
        (HUGE..2 * HUGE).for_each(|page| mapped.write(page));
        let mut found = vec![0; 100];
        assert_eq!(region.get(region.range(), &mut found, Reset::Yes), Ok(100));
        let rest = mapped.get(&region, Reset::Yes);
        assert_eq!(rest, (HUGE + 100..2 * HUGE).chain([1500]).collect::<Vec<_>>());
    }
}

#[test]
fn memory_without_page_tables_is_clean_and_its_first_write_is_seen() {
    for watcher in watchers() {
        let mapped = Mapped::anonymous(4096);
        let region = mapped.watch(&watcher, mapped.all());
        assert!(mapped.get(&region, Reset::Yes).is_empty());
        mapped.write(2000);
        assert_eq!(mapped.get(&region, Reset::Yes), [2000]);
        // Takes whole page tables away; what was clean may count as written once, as its contents changed.
        mapped.advise(0, 4096, libc::MADV_DONTNEED);
        mapped.get(&region, Reset::Yes);
        mapped.write(100);
        mapped.write(3000);
        let seen = mapped.get(&region, Reset::Yes);
        assert!(seen.contains(&100) && seen.contains(&3000), "{:?}: {seen:?}", watcher.mechanism());
        mapped.write(101);
        assert!(mapped.get(&region, Reset::Yes).contains(&101));
    }
}

#[test]
fn advice_never_hides_a_later_write() {
    for watcher in watchers() {
        for advice in
            [libc::MADV_DONTNEED, libc::MADV_FREE, libc::MADV_POPULATE_READ, 21 /* PAGEOUT */, 20 /* COLD */]
        {
            let mapped = Mapped::anonymous(64);
            let region = mapped.watch(&watcher, mapped.all());
            mapped.write(1);
            assert_eq!(mapped.get(&region, Reset::Yes), [1]);
            if let Err(error) = mapped.try_to_advise(0, 64, advice) {
                skip("advice", format_args!("this kernel has no advice {advice}: {error}"));
                continue;
            }
            mapped.write(1);
            mapped.write(2);
            let seen = mapped.get(&region, Reset::Yes);
            assert!(seen.contains(&1) && seen.contains(&2), "{:?}, advice {advice}: {seen:?}", watcher.mechanism());
        }
    }
}

#[test]
fn memory_that_was_mapped_over_counts_as_written() {
    // The others notice a page by its first write only, and cannot notice that it became another page.
    let Some(watcher) = watcher_of(Mechanism::Async) else { return };
    let mapped = Mapped::anonymous(20);
    let region = mapped.watch(&watcher, mapped.all());
    mapped.map_over(5, 8);
    mapped.write(6);
    mapped.write(15);
    for _ in 0..2 {
        let seen = mapped.get(&region, Reset::Yes);
        assert!(seen.contains(&6), "written out of sight: {seen:?}");
    }
    assert!(!mapped.get(&region, Reset::Yes).contains(&15), "the rest is watched as before");
    mapped.write(6);
    assert!(mapped.get(&region, Reset::Yes).contains(&6));
}

#[test]
fn memory_that_was_moved_can_be_watched_where_it_is_now() {
    let Some(watcher) = watcher_of(Mechanism::Async) else { return };
    let (from, to) = (Mapped::anonymous(20), Mapped::anonymous(20));
    let region = from.watch(&watcher, from.all());
    let length = 20 * page_size();
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: moves the test's own memory over the test's own memory.
    let moved = unsafe { libc::mremap(from.base as *mut _, length, length, flags, to.base as *mut libc::c_void) };
    assert_eq!(moved as usize, to.base);
    to.write(3);
    assert!(from.get(&region, Reset::Yes).is_empty(), "there is nothing any more");
    let again = to.watch(&watcher, to.all());
    to.write(4);
    assert_eq!(to.get(&again, Reset::Yes), [4]);
}

#[test]
fn shared_memory_and_files_are_watched_through_this_mapping() {
    use std::os::unix::fs::FileExt;
    for watcher in watchers() {
        for flags in [libc::MAP_SHARED, libc::MAP_PRIVATE] {
            // macOS maps shared memory in this one way only; the mechanism `sync` takes no plain file.
            let is_plain = cfg!(ntux_simulated_macos) && flags == libc::MAP_PRIVATE;
            let file = if is_plain { plain_file(16 * page_size()) } else { memory_file(16) };
            let (mapped, other) = (Mapped::of_file(&file, 16, flags), Mapped::of_file(&file, 16, libc::MAP_SHARED));
            let region = mapped.watch(&watcher, mapped.all());
            mapped.write(3);
            assert_eq!(mapped.get(&region, Reset::Yes), [3], "{:?}", watcher.mechanism());
            other.write(5);
            file.write_at(b"x", 7 * page_size() as u64).unwrap();
            assert!(mapped.get(&region, Reset::No).is_empty(), "known: other ways into the file are not seen");
            mapped.write(5);
            assert_eq!(mapped.get(&region, Reset::Yes), [5]);
        }
    }
}

#[test]
fn a_regular_file_is_watched_or_refused() {
    let path = std::env::temp_dir().join(format!("ntux-watch-{}", std::process::id()));
    for watcher in watchers() {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(16 * page_size() as u64).unwrap();
        let mapped = Mapped::of_file(&file, 16, libc::MAP_SHARED);
        // SAFETY: nobody else changes its protection.
        match unsafe { watcher.watch(mapped.all()) } {
            Ok(region) => {
                mapped.write(3);
                file.sync_all().unwrap();
                assert_eq!(mapped.get(&region, Reset::Yes), [3], "{:?}", watcher.mechanism());
                mapped.write(3);
                assert_eq!(mapped.get(&region, Reset::Yes), [3]);
            }
            Err(error) => println!("{:?} refuses regular files: {error}", watcher.mechanism()),
        }
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn stopping_to_watch_while_others_write() {
    for watcher in watchers() {
        let mapped = Mapped::anonymous(64);
        let stop = Word32::new(0);
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            for writer in 0..3 {
                let (mapped, stop) = (&mapped, &stop);
                scope.spawn(move || {
                    while stop.load() == 0 {
                        (0..64).for_each(|page| mapped.write((page * 7 + writer) % 64));
                    }
                });
            }
            for _ in 0..50 {
                let region = mapped.watch(&watcher, mapped.all());
                mapped.get(&region, Reset::Yes);
            }
        });
        mapped.write(1);
    }
}

#[test]
fn pages_are_committed_and_taken_back_while_others_are_written() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 128);
        let stop = Word32::new(0);
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            scope.spawn(|| {
                while stop.load() == 0 {
                    (0..64).for_each(|page| memory.write(page));
                }
            });
            for round in 0..40 {
                let page = 64 + round % 60;
                memory.write_all(&[page, page + 2]);
                memory.decommit(page, page + 2);
                let upper = memory.get_room(64, 128, 64, Reset::Yes);
                assert_eq!(upper, [page + 2], "{:?}, round {round}", watcher.mechanism());
                memory.commit(page, page + 2, true);
            }
        });
    }
}
