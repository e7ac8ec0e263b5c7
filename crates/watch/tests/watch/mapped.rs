// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a test maps itself, with pages named by number.

use std::fs::File;
use std::os::fd::AsRawFd;

use ntux_platform::atomic::Word32;
use ntux_watch::{Range, Region, Reset, Run, Watcher, page_size};

use crate::memory::protection;

/// A file without a name. (Shared memory cannot be read and is only mapped as a whole on macOS.)
pub fn plain_file(bytes: usize) -> File {
    static NUMBER: Word32 = Word32::new(0);
    let name = format!("ntux-watch-{}-{}", std::process::id(), NUMBER.fetch_add(1));
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
    std::fs::remove_file(path).expect("its name");
    file.set_len(bytes as u64).expect("its length");
    file
}

pub struct Mapped {
    pub base: usize,
    pub pages: usize,
}

impl Mapped {
    pub fn anonymous(pages: usize) -> Mapped {
        let base = ntux_platform::protection::allocate(pages * page_size(), protection(true)).unwrap();
        Mapped { base, pages }
    }

    pub fn of_file(file: &File, pages: usize, flags: i32) -> Mapped {
        let length = pages * page_size();
        let allowed = libc::PROT_READ | libc::PROT_WRITE;
        #[allow(clippy::disallowed_methods, reason = "what a program does by itself")]
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), length, allowed, flags, file.as_raw_fd(), 0) };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapped { base: base as usize, pages }
    }

    pub fn range(&self, first: usize, end: usize) -> Range {
        Range::new(self.base + first * page_size(), (end - first) * page_size())
    }

    pub fn all(&self) -> Range {
        self.range(0, self.pages)
    }

    pub fn write(&self, page: usize) {
        // SAFETY: a page of the mapping.
        unsafe { ((self.base + page * page_size()) as *mut u8).write_volatile(1) };
    }

    pub fn watch(&self, watcher: &Watcher, range: Range) -> Region {
        // SAFETY: nobody else changes its protection.
        unsafe { watcher.watch(range) }.expect("watch")
    }

    pub fn numbers(&self, runs: &[Run]) -> Vec<usize> {
        let pages = runs.iter().flat_map(|run| (run.start..run.start + run.length).step_by(page_size()));
        pages.map(|address| (address - self.base) / page_size()).collect()
    }

    pub fn get(&self, region: &Region, reset: Reset) -> Vec<usize> {
        let mut runs = vec![Run::default(); self.pages];
        let count = region.get_runs(region.range(), &mut runs, reset).unwrap();
        self.numbers(&runs[..count])
    }

    pub fn advise(&self, first: usize, end: usize, advice: i32) {
        self.try_to_advise(first, end, advice).expect("advice");
    }

    pub fn try_to_advise(&self, first: usize, end: usize, advice: i32) -> std::io::Result<()> {
        let range = self.range(first, end);
        // SAFETY: the test's own memory, whose contents do not matter.
        let result = unsafe { libc::madvise(range.start as *mut _, range.length, advice) };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// Maps fresh memory over pages, which nobody is told.
    pub fn map_over(&self, first: usize, end: usize) {
        let part = self.range(first, end);
        let allowed = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        #[allow(clippy::disallowed_methods, reason = "what a program does behind our back")]
        // SAFETY: replaces pages of the test's own mapping.
        let over = unsafe { libc::mmap(part.start as *mut _, part.length, allowed, flags, -1, 0) };
        assert_eq!(over as usize, part.start);
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the test's own mapping.
        let _ = unsafe { ntux_platform::protection::free(self.base, self.pages * page_size()) };
    }
}
