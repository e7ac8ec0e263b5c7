// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writers and a reader that keeps a copy: whatever is listed is copied, and in the end the copy is the memory.
//!
//! A write that is lost between two results leaves a stale page in the copy.

use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_platform::atomic::{Word32, Word64};
use ntux_watch::{Reset, Run, Watcher, page_size};

use crate::memory::Memory;
use crate::stop::Stop;
use crate::watchers;

const WORDS_IN_PAGE: usize = 8;

/// How the reader asks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Asking {
    /// List and reset in one step.
    AtOnce,
    /// Planted: two calls, so that writes in between are lost.
    ListThenReset,
}

/// How long each combination runs: a quarter of a second, or what `make test-watch` says.
fn time() -> Duration {
    let milliseconds = std::env::var("NTUX_TEST_SHADOW_MS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(milliseconds.unwrap_or(250))
}

#[test]
fn no_write_is_lost_with_one_to_eight_writers() {
    for watcher in watchers() {
        for (writers, pages) in [(1, 40), (2, 300), (4, 1000), (8, 130)] {
            let stale = stale_pages(&watcher, writers, pages, Asking::AtOnce, time());
            assert_eq!(stale, 0, "{:?} with {writers} writers on {pages} pages", watcher.mechanism());
        }
    }
}

#[test]
fn planted_listing_and_resetting_apart_loses_writes() {
    for watcher in watchers() {
        let deadline = Instant::now() + Duration::from_secs(60);
        while stale_pages(&watcher, 3, 64, Asking::ListThenReset, Duration::from_millis(100)) == 0 {
            assert!(Instant::now() < deadline, "{:?}: the copy never went stale", watcher.mechanism());
        }
    }
}

/// Lets writers run while the copy is kept; how many pages differ in the end.
fn stale_pages(watcher: &Watcher, writers: usize, pages: usize, asking: Asking, time: Duration) -> usize {
    let memory = Memory::committed(watcher, pages);
    let mut copy = Copy_ { memory: &memory, words: vec![[0; WORDS_IN_PAGE]; pages], random: Rng::with_seed(7) };
    let stop = Word32::new(0);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for writer in 0..writers {
            let (memory, stop) = (&memory, &stop);
            scope.spawn(move || write_until(memory, writer as u64, stop));
        }
        let end = Instant::now() + time;
        while Instant::now() < end {
            copy.follow(asking);
        }
    });
    copy.list(0, pages, pages, Reset::Yes);
    (0..pages)
        .filter(|&page| (0..WORDS_IN_PAGE).any(|word| copy.words[page][word] != load(&memory, page, word)))
        .count()
}

fn write_until(memory: &Memory, writer: u64, stop: &Word32) {
    let mut random = Rng::with_seed(writer);
    let mut count = 0u64;
    while stop.load() == 0 {
        count += 1;
        let (page, word) = (random.usize(..memory.pages), random.usize(..WORDS_IN_PAGE));
        word_at(memory, page, word).store(writer << 56 | count);
    }
}

fn word_at(memory: &Memory, page: usize, word: usize) -> &Word64 {
    let address = memory.address(page) + word * (page_size() / WORDS_IN_PAGE);
    // SAFETY: aligned words of committed pages, which live as long as the region; every access to them is atomic.
    unsafe { &*(address as *const Word64) }
}

fn load(memory: &Memory, page: usize, word: usize) -> u64 {
    word_at(memory, page, word).load()
}

struct Copy_<'a> {
    memory: &'a Memory,
    words: Vec<[u64; WORDS_IN_PAGE]>,
    random: Rng,
}

impl Copy_<'_> {
    /// Asks once, for a random part, with little room or much, in one of the forms; now and then changes the protection.
    fn follow(&mut self, asking: Asking) {
        let pages = self.memory.pages;
        let first = self.random.usize(..pages);
        let end = self.random.usize(first + 1..=pages);
        if asking == Asking::ListThenReset {
            self.list(first, end, pages, Reset::No);
            self.memory.region.reset(self.memory.range(first, end)).unwrap();
            return;
        }
        match self.random.u8(..8) {
            0 => self.list(first, end, 1, Reset::Yes),
            1 => self.list(first, end, 1 + self.random.clone().usize(..5), Reset::Yes),
            2 => self.list_runs(first, end),
            3 => {
                let found: Vec<usize> =
                    self.memory.region.iter(self.memory.range(first, end), Reset::Yes).unwrap().take(20).collect();
                found.into_iter().for_each(|address| self.take(self.memory.number(address)));
            }
            4 => self.memory.protect(first, end, true),
            _ => self.list(0, pages, pages, Reset::Yes),
        }
    }

    fn list(&mut self, first: usize, end: usize, room: usize, reset: Reset) {
        for page in self.memory.get_room(first, end, room, reset) {
            self.take(page);
        }
    }

    fn list_runs(&mut self, first: usize, end: usize) {
        let mut runs = [Run::default(); 3];
        let count = self.memory.region.get_runs(self.memory.range(first, end), &mut runs, Reset::Yes).unwrap();
        for run in &runs[..count] {
            let first = self.memory.number(run.start);
            (first..first + run.length / page_size()).for_each(|page| self.take(page));
        }
    }

    fn take(&mut self, page: usize) {
        for word in 0..WORDS_IN_PAGE {
            self.words[page][word] = load(self.memory, page, word);
        }
    }
}
