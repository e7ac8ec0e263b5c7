// SPDX-License-Identifier: MIT OR Apache-2.0
//! A region under test, with pages named by number.

use ntux_watch::{Protection, Range, Region, Reset, Watcher, page_size};

pub struct Memory {
    pub region: Region,
    pub pages: usize,
}

impl Memory {
    pub fn reserve(watcher: &Watcher, pages: usize) -> Memory {
        Memory { region: watcher.reserve(pages * page_size()).expect("reserve"), pages }
    }

    pub fn committed(watcher: &Watcher, pages: usize) -> Memory {
        let memory = Memory::reserve(watcher, pages);
        memory.commit(0, pages, true);
        memory
    }

    pub fn range(&self, first: usize, end: usize) -> Range {
        Range::new(self.address(first), (end - first) * page_size())
    }

    pub fn address(&self, page: usize) -> usize {
        self.region.range().start + page * page_size()
    }

    pub fn commit(&self, first: usize, end: usize, writable: bool) {
        self.region.commit(self.range(first, end), protection(writable)).expect("commit");
    }

    pub fn protect(&self, first: usize, end: usize, writable: bool) {
        // SAFETY: tests have no references into regions.
        unsafe { self.region.protect(self.range(first, end), protection(writable)) }.expect("protect");
    }

    pub fn decommit(&self, first: usize, end: usize) {
        // SAFETY: as above.
        unsafe { self.region.decommit(self.range(first, end)) }.expect("decommit");
    }

    /// Stores into a writable page.
    pub fn write(&self, page: usize) {
        self.write_byte(page, 0, 1);
    }

    pub fn write_all(&self, pages: &[usize]) {
        pages.iter().for_each(|&page| self.write(page));
    }

    pub fn write_byte(&self, page: usize, offset: usize, value: u8) {
        // SAFETY: a committed page of the region, which lives as long as `self`; volatile, because others may look.
        unsafe { ((self.address(page) + offset) as *mut u8).write_volatile(value) };
    }

    pub fn get_room(&self, first: usize, end: usize, room: usize, reset: Reset) -> Vec<usize> {
        let mut addresses = vec![0; room];
        let count = self.region.get(self.range(first, end), &mut addresses, reset).expect("get");
        addresses[..count].iter().map(|address| self.number(*address)).collect()
    }

    pub fn get(&self, reset: Reset) -> Vec<usize> {
        self.get_room(0, self.pages, self.pages, reset)
    }

    pub fn number(&self, address: usize) -> usize {
        assert_eq!(address % page_size(), 0, "a page's address is listed");
        (address - self.region.range().start) / page_size()
    }
}

pub fn protection(writable: bool) -> Protection {
    if writable { Protection::READ_WRITE } else { Protection::READ }
}
