// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the system has or has not: huge pages, swap.
#![cfg(target_os = "linux")]

use ntux_watch::{Mechanism, Reset, page_size};

use crate::mapped::Mapped;
use crate::memory::Memory;
use crate::skips::skip;
use crate::watchers;

/// Huge pages that the test takes from the system, if it may, and gives back.
struct HugePages {
    before: Option<String>,
}

const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";

impl HugePages {
    fn take(count: usize) -> HugePages {
        let before = std::fs::read_to_string(HUGE_PAGES).ok();
        let have = before.as_ref().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let wanted: usize = have + count;
        HugePages { before: before.filter(|_| std::fs::write(HUGE_PAGES, wanted.to_string()).is_ok()) }
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = std::fs::write(HUGE_PAGES, before);
        }
    }
}

/// Pages of hugetlbfs.
fn huge(pages: usize) -> std::io::Result<Mapped> {
    let allowed = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    #[allow(clippy::disallowed_methods, reason = "what a program does by itself")]
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), pages * page_size(), allowed, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(Mapped { base: base as usize, pages })
    }
}

#[test]
fn pages_of_hugetlbfs_are_refused_or_counted_together() {
    const HUGE: usize = 2 << 20;
    let _pages = HugePages::take(4);
    let pages = 2 * HUGE / page_size();
    for watcher in watchers() {
        let Ok(mapped) = huge(pages) else {
            return skip("huge-pages", format_args!("there are none, and only root can reserve some ({HUGE_PAGES})"));
        };
        let mechanism = watcher.mechanism().unwrap();
        // SAFETY: nobody else changes its protection.
        let region = match unsafe { watcher.watch(mapped.all()) } {
            Ok(region) => region,
            Err(error) => {
                assert!([Mechanism::Async, Mechanism::Sync].contains(&mechanism), "{mechanism:?}: {error}");
                assert_eq!(error, ntux_watch::Error::Unsupported);
                continue;
            }
        };
        assert!(mapped.get(&region, Reset::Yes).is_empty());
        for page in [5, pages - 1, 5] {
            mapped.write(page);
            let listed = mapped.get(&region, Reset::Yes);
            assert!(listed.contains(&page), "{mechanism:?}: {page} in {listed:?}");
            assert!(mapped.get(&region, Reset::No).is_empty(), "{mechanism:?}: it cannot be reset");
        }
        mapped.write(3);
        let mut few = [0; 7];
        assert_eq!(region.get(region.range(), &mut few, Reset::Yes), Ok(7));
        mapped.write(700);
        assert!(mapped.get(&region, Reset::Yes).contains(&700), "{mechanism:?}");
    }
}

/// It needs a swap device, such as `zramctl --find --size 64M`, `mkswap`, `swapon`.
#[test]
fn pages_that_are_swapped_out_are_what_they_were() {
    const PAGES: usize = 256;
    for watcher in watchers() {
        let (reserved, mapped) = (Memory::committed(&watcher, PAGES), Mapped::anonymous(PAGES));
        let region = mapped.watch(&watcher, mapped.all());
        for (region, base) in [(&reserved.region, reserved.address(0)), (&region, mapped.base)] {
            let get = |reset| {
                let mut addresses = [0; PAGES];
                let count = region.get(region.range(), &mut addresses, reset).unwrap();
                addresses[..count].iter().map(|address| (address - base) / page_size()).collect::<Vec<_>>()
            };
            let place = |page: usize| (base + page * page_size() + 8) as *mut usize;
            // SAFETY: a page of the test's own memory.
            let write = |page| unsafe { place(page).write_volatile(page + 1) };
            (0..PAGES).for_each(write);
            get(Reset::Yes);
            [3, 7].into_iter().for_each(write);
            let swapped = page_out(base, PAGES);
            if swapped == 0 {
                return skip("swap", "the kernel has no place to swap pages out to (see /proc/swaps)");
            }
            let what = format!("{:?}, {swapped} pages swapped out", watcher.mechanism());
            assert_eq!(get(Reset::No), [3, 7], "{what}");
            assert_eq!(get(Reset::Yes), [3, 7], "{what}");
            page_out(base, PAGES);
            assert!(get(Reset::Yes).is_empty(), "{what}");
            write(9);
            assert_eq!(get(Reset::No), [9], "{what}");
            page_out(base, PAGES);
            // SAFETY: as above.
            assert!((0..PAGES).all(|page| unsafe { place(page).read_volatile() } == page + 1), "{what}: contents");
            assert_eq!(get(Reset::Yes), [9], "{what}, and back");
        }
    }
}

/// How many pages the kernel has swapped out when it was asked to.
fn page_out(base: usize, pages: usize) -> usize {
    use std::os::unix::fs::FileExt;
    const PAGEOUT: i32 = 21;
    const SWAPPED: u64 = 1 << 62;
    // SAFETY: changes no contents.
    let _ = unsafe { libc::madvise(base as *mut _, pages * page_size(), PAGEOUT) };
    let mut entries = vec![0; pages * 8];
    let pagemap = std::fs::File::open("/proc/self/pagemap").unwrap();
    pagemap.read_exact_at(&mut entries, (base / page_size() * 8) as u64).unwrap();
    entries.chunks_exact(8).filter(|entry| u64::from_ne_bytes((*entry).try_into().unwrap()) & SWAPPED != 0).count()
}
