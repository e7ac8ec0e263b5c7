// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watching changes no contents: what was stored is there, whatever is reset, protected or forked meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_platform::atomic::{Word32, Word64};
use ntux_watch::{Protection, Reset, Watcher, page_size};

use crate::fork::{in_forked_child, in_forked_child_while};
use crate::memory::Memory;
use crate::skips::skip;
use crate::stop::Stop;
use crate::watchers;

/// What is done to the memory while others write.
#[derive(Clone, Copy, PartialEq)]
enum Disturbance {
    Results,
    Forks,
    /// Planted: pages are taken away as well.
    Discards,
}

#[test]
fn no_store_is_lost_to_a_result() {
    for watcher in watchers() {
        for (writers, pages) in [(1, 20), (3, 200), (8, 5000)] {
            let lost = lost_stores(&watcher, writers, pages, Disturbance::Results, Duration::from_millis(250));
            assert_eq!(lost, 0, "{:?} with {writers} writers on {pages} pages", watcher.mechanism());
        }
    }
}

#[test]
fn no_store_is_lost_to_a_fork() {
    for watcher in watchers() {
        for _ in 0..5 {
            let lost = lost_stores(&watcher, 3, 500, Disturbance::Forks, Duration::from_millis(40));
            assert_eq!(lost, 0, "{:?}", watcher.mechanism());
        }
    }
}

#[test]
fn planted_pages_that_are_taken_away_lose_stores() {
    for watcher in watchers() {
        let deadline = Instant::now() + Duration::from_secs(60);
        while lost_stores(&watcher, 2, 30, Disturbance::Discards, Duration::from_millis(50)) == 0 {
            assert!(Instant::now() < deadline, "{:?}: nothing was lost", watcher.mechanism());
        }
    }
}

/// Each writer counts in words of its own; how many words do not have the count in the end.
fn lost_stores(watcher: &Watcher, writers: usize, pages: usize, disturbance: Disturbance, time: Duration) -> usize {
    let memory = Memory::committed(watcher, pages);
    let stop = Word32::new(0);
    thread::scope(|scope| {
        let stopping = Stop(&stop);
        let (memory, stop) = (&memory, &stop);
        let writers: Vec<_> =
            (0..writers).map(|writer| scope.spawn(move || count_until(memory, writer, stop))).collect();
        let mut random = Rng::with_seed(1);
        let end = Instant::now() + time;
        while Instant::now() < end {
            let first = random.usize(..pages);
            let end = random.usize(first + 1..=pages);
            memory.get_room(first, end, 1 + random.usize(..pages), Reset::Yes);
            match disturbance {
                Disturbance::Results => (),
                Disturbance::Forks => in_forked_child(|| ()),
                Disturbance::Discards => {
                    take_away(memory.address(first));
                }
            }
        }
        drop(stopping);
        writers.into_iter().map(|writer| writer.join().expect("a writer")).sum()
    })
}

/// Maps an empty page over a page of the test's memory.
fn take_away(page: usize) {
    let allowed = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    #[allow(clippy::disallowed_methods, reason = "what a program does behind our back")]
    // SAFETY: the test's own memory, whose loss is to be noticed.
    let over = unsafe { libc::mmap(page as *mut _, page_size(), allowed, flags, -1, 0) };
    assert_eq!(over as usize, page);
}

/// Adds to a word of random pages, and counts by itself how often; how many pages have another number in the end.
fn count_until(memory: &Memory, writer: usize, stop: &Word32) -> usize {
    let mut random = Rng::with_seed(writer as u64);
    let mut counts = vec![0; memory.pages];
    while stop.load() == 0 {
        let page = random.usize(..memory.pages);
        counts[page] += 1;
        let word = word_of(memory, page, writer);
        word.store(word.load() + 1);
    }
    (0..memory.pages).filter(|&page| word_of(memory, page, writer).load() != counts[page]).count()
}

fn word_of(memory: &Memory, page: usize, writer: usize) -> &Word64 {
    // SAFETY: an aligned word of a committed page, which lives as long as the region; every access to it is atomic.
    unsafe { &*((memory.address(page) + writer * 64) as *const Word64) }
}

#[test]
fn a_child_keeps_what_was_there_at_the_fork() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 50);
        let (go_on, mut said) = std::io::pipe().unwrap();
        let set_all = |value: u64| (0..50).for_each(|page| word_of(&memory, page, 0).store(value));
        let has_all = |value: u64| (0..50).all(|page| word_of(&memory, page, 0).load() == value);
        set_all(1);
        memory.get(Reset::Yes);
        word_of(&memory, 7, 0).store(1);
        in_forked_child_while(
            || {
                // The parent has changed and reset everything by now.
                let _ = std::io::Read::read(&mut &go_on, &mut [0]);
                assert!(has_all(1), "the child has its own memory");
                set_all(3);
                assert_eq!(memory.get(Reset::Yes).len(), 50);
                assert!(has_all(3));
                memory.decommit(4, 6);
                memory.commit(4, 6, true);
                assert_eq!((word_of(&memory, 3, 0).load(), word_of(&memory, 5, 0).load()), (3, 0));
                memory.get(Reset::Yes);
                memory.write(9);
                assert_eq!(memory.get(Reset::No), [9]);
            },
            || {
                assert_eq!(memory.get(Reset::Yes), [7], "{:?}", watcher.mechanism());
                for _ in 0..3 {
                    set_all(2);
                    assert_eq!(memory.get(Reset::Yes).len(), 50);
                }
                memory.decommit(20, 30);
                memory.commit(20, 30, true);
                assert_eq!(word_of(&memory, 25, 0).load(), 0);
                std::io::Write::write_all(&mut said, b"!").unwrap();
            },
        );
        assert_eq!((word_of(&memory, 9, 0).load(), word_of(&memory, 5, 0).load()), (2, 2));
        memory.get(Reset::Yes);
        memory.write(31);
        assert_eq!(memory.get(Reset::Yes), [31]);
    }
}

#[test]
fn programs_can_be_written_run_and_reset() {
    if !cfg!(target_arch = "x86_64") {
        return skip("x86-64", "the program is one of x86-64");
    }
    const RETURN: u8 = 0xc3;
    let allowed = Protection { read: true, write: true, execute: true };
    for watcher in watchers() {
        let memory = Memory::reserve(&watcher, 3);
        if let Err(error) = memory.region.commit(memory.range(0, 3), allowed) {
            skip("write-and-execute", format_args!("{:?}: such memory is refused: {error}", watcher.mechanism()));
            continue;
        }
        for _ in 0..2 {
            memory.write_byte(1, 0, RETURN);
            for _ in 0..2 {
                // SAFETY: the program there returns.
                unsafe { core::mem::transmute::<usize, extern "C" fn()>(memory.address(1))() };
                memory.get(Reset::Yes);
            }
            assert!(memory.get(Reset::No).is_empty());
        }
    }
}

#[test]
fn pages_that_cannot_be_read_or_written_keep_their_contents_when_they_are_reset() {
    for watcher in watchers() {
        let memory = Memory::committed(&watcher, 12);
        for page in 0..12 {
            word_of(&memory, page, 1).store(page as u64 + 100);
        }
        let protect = |first, end, protection| {
            // SAFETY: tests have no references into regions while they are protected.
            unsafe { memory.region.protect(memory.range(first, end), protection) }.unwrap();
        };
        let rest: Vec<usize> = (0..12).collect();
        protect(2, 6, Protection::NONE);
        protect(6, 9, Protection::READ);
        assert_eq!(memory.get(Reset::Yes), rest, "{:?}", watcher.mechanism());
        assert!(memory.get(Reset::Yes).is_empty());
        assert_eq!(word_of(&memory, 7, 1).load(), 107);
        protect(4, 5, Protection::READ);
        assert_eq!(word_of(&memory, 4, 1).load(), 104);
        protect(0, 12, Protection::READ_WRITE);
        assert!(memory.get(Reset::No).is_empty());
        (0..12).for_each(|page| assert_eq!(word_of(&memory, page, 1).load(), page as u64 + 100));
        memory.write_all(&[3, 7]);
        assert_eq!(memory.get(Reset::Yes), [3, 7]);
        protect(3, 4, Protection::NONE);
        memory.decommit(3, 4);
        memory.commit(3, 4, true);
        assert_eq!((word_of(&memory, 3, 1).load(), word_of(&memory, 7, 1).load()), (0, 107));
    }
}
