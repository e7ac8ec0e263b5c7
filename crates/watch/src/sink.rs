// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a result goes: addresses of pages, runs, or a bitmap.

use ntux_platform::protection::page_size;

use crate::bits;

/// A run of neighbouring written pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(C)]
pub struct Run {
    /// Address of the first.
    pub start: usize,
    /// Bytes, a multiple of the page size.
    pub length: usize,
}

/// Takes runs in ascending order.
pub(crate) trait Sink {
    /// How many more pages it can take.
    fn pages_left(&self) -> usize {
        usize::MAX
    }
    /// How many more runs it can take.
    fn runs_left(&self) -> usize {
        usize::MAX
    }
    /// Takes one run. Called only while there is room.
    fn put(&mut self, start: usize, end: usize);
}

/// One address for each page.
pub(crate) struct Addresses<'a> {
    pub into: &'a mut [usize],
    pub count: usize,
    pub page: usize,
}

impl<'a> Addresses<'a> {
    pub fn new(into: &'a mut [usize]) -> Addresses<'a> {
        Addresses { into, count: 0, page: page_size() }
    }
}

impl Sink for Addresses<'_> {
    fn pages_left(&self) -> usize {
        self.into.len() - self.count
    }

    fn put(&mut self, start: usize, end: usize) {
        let pages = (end - start) / self.page;
        let places = &mut self.into[self.count..self.count + pages];
        for (index, place) in places.iter_mut().enumerate() {
            *place = start + index * self.page;
        }
        self.count += pages;
    }
}

/// Runs in a slice. Neighbours are joined.
pub(crate) struct Runs<'a> {
    pub into: &'a mut [Run],
    pub count: usize,
}

impl Sink for Runs<'_> {
    fn runs_left(&self) -> usize {
        self.into.len() - self.count
    }

    fn put(&mut self, start: usize, end: usize) {
        if let Some(last) = self.count.checked_sub(1).map(|last| &mut self.into[last])
            && last.start + last.length == start
        {
            last.length += end - start;
            return;
        }
        self.into[self.count] = Run { start, length: end - start };
        self.count += 1;
    }
}

/// All runs. Neighbours are joined.
impl Sink for Vec<Run> {
    fn put(&mut self, start: usize, end: usize) {
        match self.last_mut() {
            Some(last) if last.start + last.length == start => last.length += end - start,
            _ => self.push(Run { start, length: end - start }),
        }
    }
}

/// A bit for each page of the queried range, lowest bit first.
pub(crate) struct Bitmap<'a> {
    pub into: &'a mut [u64],
    pub base: usize,
    pub page: usize,
}

impl Sink for Bitmap<'_> {
    fn put(&mut self, start: usize, end: usize) {
        for (index, mask) in bits::masks((start - self.base) / self.page, (end - self.base) / self.page) {
            self.into[index] |= mask;
        }
    }
}
