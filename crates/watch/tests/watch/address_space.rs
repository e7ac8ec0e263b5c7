// SPDX-License-Identifier: MIT OR Apache-2.0
//! All private memory of a process. Each test has a process of its own: it takes the memory of the whole one.
#![cfg(target_os = "linux")]

use std::ops::Range;

use ntux_platform::atomic::Word32;
use ntux_platform::watching::pagemap::Pagemap;
use ntux_platform::watching::userfault::Userfault;
use ntux_watch::address_space::{self, AddressSpace, each_fresh, each_written};
use ntux_watch::{Run, page_size};

use crate::child::{child, is_child};
use crate::skips::skip;
use crate::stop::Stop;

/// A huge page of the kernel's has so many bytes, where pages have 4 KiB.
const HUGE: usize = 2 << 20;

/// Runs the test in a process of its own, if the machine can do it.
fn alone(test: &str, run: impl FnOnce()) {
    if is_child() {
        return run();
    }
    match address_space::watcher() {
        Ok(_) => child(&format!("address_space::{test}")).must_pass(),
        Err(error) => skip("mechanism-async", error),
    }
}

fn map(pages: usize, flags: i32, at: usize) -> usize {
    let (allowed, fixed) = (libc::PROT_READ | libc::PROT_WRITE, if at == 0 { 0 } else { libc::MAP_FIXED });
    let flags = flags | libc::MAP_ANONYMOUS | fixed;
    #[allow(clippy::disallowed_methods, reason = "what a program does by itself")]
    // SAFETY: a place of the kernel's choice, or one that the caller has mapped and nobody refers to.
    let base = unsafe { libc::mmap(at as *mut libc::c_void, pages * page_size(), allowed, flags, -1, 0) };
    assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    base as usize
}

/// The kernel may not know of huge pages.
fn advise(base: usize, pages: usize, advice: i32) {
    // SAFETY: memory of the test, whose contents stay.
    unsafe { libc::madvise(base as *mut libc::c_void, pages * page_size(), advice) };
}

fn write(base: usize, page: usize) {
    // SAFETY: mapped by the test, for as long as it runs.
    unsafe { ((base + page * page_size()) as *mut u8).write_volatile(1) };
}

/// Numbers of the pages of `base` that are in the runs.
fn numbers(base: usize, runs: &[Run]) -> Vec<usize> {
    let pages = |run: &Run| -> Range<usize> {
        let first = run.start.saturating_sub(base) / page_size();
        first..(run.start + run.length).saturating_sub(base) / page_size()
    };
    runs.iter().flat_map(pages).collect()
}

fn within(base: usize, pages: usize, list: impl FnOnce(usize, usize, &mut Vec<Run>)) -> Vec<usize> {
    let mut runs = Vec::with_capacity(1000);
    list(base, base + pages * page_size(), &mut runs);
    numbers(base, &runs)
}

fn taken(space: &AddressSpace<&Userfault>, base: usize, pages: usize) -> Vec<usize> {
    within(base, pages, |start, end, runs| {
        let inside = |run: &Run| run.start < end && run.start + run.length > start;
        let clip = |run: Run| {
            let first = run.start.max(start);
            Run { start: first, length: (run.start + run.length).min(end) - first }
        };
        space
            .take(|run| {
                if inside(&run) {
                    runs.push(clip(run))
                }
            })
            .unwrap();
    })
}

fn fresh(pagemap: &Pagemap, base: usize, pages: usize) -> Vec<usize> {
    within(base, pages, |start, end, runs| each_fresh(pagemap, start, end, |run| runs.push(run)).unwrap())
}

fn written(pagemap: &Pagemap, base: usize, pages: usize) -> Vec<usize> {
    within(base, pages, |start, end, runs| each_written(pagemap, start, end, |run| runs.push(run)).unwrap())
}

#[test]
fn each_write_is_taken_once() {
    alone("each_write_is_taken_once", || {
        let (watcher, pagemap) = (address_space::watcher().unwrap(), Pagemap::open().unwrap());
        let space = AddressSpace::own(&watcher).unwrap();
        // More runs than are listed at once.
        let pages = 1000;
        let base = map(pages, libc::MAP_PRIVATE, 0);
        advise(base, pages, libc::MADV_NOHUGEPAGE);
        let odd: Vec<usize> = (0..pages).filter(|page| page % 2 == 1).collect();
        odd.iter().for_each(|&page| write(base, page));
        assert_eq!(fresh(&pagemap, base, pages), (0..pages).collect::<Vec<_>>());
        assert_eq!(written(&pagemap, base, pages), [0; 0], "nobody knows what was written in fresh memory");
        assert_eq!(taken(&space, base, pages), odd, "but once it is registered all of it is listed");
        assert_eq!(taken(&space, base, pages), [0; 0]);
        assert_eq!(fresh(&pagemap, base, pages), [0; 0]);
        write(base, 0);
        write(base, 3);
        assert_eq!(written(&pagemap, base, pages), [0, 3]);
        assert_eq!(taken(&space, base, pages), [0, 3]);
        drop(space);
        drop(watcher);
        assert_eq!(fresh(&pagemap, base, pages).len(), pages, "without the watcher there are no marks");
    });
}

/// The kernel makes a huge page at the first store, if it has one to spare, and all of its pages are own ones then.
#[test]
fn a_huge_page_is_listed_whole_at_first() {
    alone("a_huge_page_is_listed_whole_at_first", || {
        let (watcher, pagemap) = (address_space::watcher().unwrap(), Pagemap::open().unwrap());
        let space = AddressSpace::own(&watcher).unwrap();
        let pages = HUGE / page_size();
        let base = map(2 * pages, libc::MAP_PRIVATE, 0).next_multiple_of(HUGE);
        advise(base, pages, libc::MADV_HUGEPAGE);
        write(base, 3);
        let first = taken(&space, base, pages);
        assert!(first == [3] || first == (0..pages).collect::<Vec<_>>(), "{first:?}");
        assert_eq!(taken(&space, base, pages), [0; 0]);
        write(base, 5);
        assert_eq!(written(&pagemap, base, pages), [5]);
        assert_eq!(taken(&space, base, pages), [5], "from then on, page by page");
    });
}

/// Shared memory must never be registered, though it can be mapped between two steps: it would count as clean.
#[test]
fn shared_memory_that_appears_meanwhile_stays_fresh() {
    alone("shared_memory_that_appears_meanwhile_stays_fresh", || {
        let (watcher, pagemap) = (address_space::watcher().unwrap(), Pagemap::open().unwrap());
        let space = AddressSpace::own(&watcher).unwrap();
        let (base, rounds) = (map(1, libc::MAP_PRIVATE, 0), 300);
        let (stop, takes) = (Word32::new(0), Word32::new(0));
        std::thread::scope(|scope| {
            let _stop = Stop(&stop);
            scope.spawn(|| {
                while stop.load() == 0 {
                    space.take(|_| ()).unwrap();
                    takes.fetch_add(1);
                }
            });
            let lost = (0..rounds).find(|round| {
                map(1, libc::MAP_PRIVATE, base);
                // At every step of the other thread, sooner or later.
                (0..round % 500 * 50).for_each(|_| std::hint::spin_loop());
                map(1, libc::MAP_SHARED, base);
                write(base, 0);
                // Once the taking that it raced with is over.
                let seen = takes.load();
                while takes.load().wrapping_sub(seen) < 2 {
                    std::thread::yield_now();
                }
                fresh(&pagemap, base, 1) != [0]
            });
            assert_eq!(lost, None);
        });
    });
}

#[test]
fn a_child_needs_a_watcher_of_its_own_and_the_parents_memory_is_the_parents() {
    alone("a_child_needs_a_watcher_of_its_own_and_the_parents_memory_is_the_parents", || {
        let (watcher, parents) = (address_space::watcher().unwrap(), Pagemap::open().unwrap());
        let space = AddressSpace::own(&watcher).unwrap();
        let base = map(2, libc::MAP_PRIVATE, 0);
        space.take(|_| ()).unwrap();
        write(base, 1);
        // SAFETY: the child makes system calls and asserts, and leaves by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let (own, pagemap) = (address_space::watcher().unwrap(), Pagemap::open().unwrap());
            assert_eq!((fresh(&pagemap, base, 2), written(&parents, base, 2)), (vec![0, 1], vec![1]));
            AddressSpace::own(&own).unwrap().take(|_| ()).unwrap();
            write(base, 0);
            assert_eq!((written(&pagemap, base, 2), written(&parents, base, 2)), (vec![0], vec![1]));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: a place for the answer.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(taken(&space, base, 2), [1]);
    });
}
