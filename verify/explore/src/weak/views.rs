// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread may still read: the oldest message of each location, and how early its next load may be performed.

use super::sites::Reading;

/// What is kept twice: with the orders that are in force, and with those that the code names.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Both<T> {
    pub(super) weak: T,
    pub(super) named: T,
}

impl<T> Both<T> {
    pub(super) fn each(&mut self, change: impl Fn(&mut T)) {
        change(&mut self.weak);
        change(&mut self.named);
    }
}

/// For each location, by number, a message.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(super) struct View(Vec<u32>);

impl View {
    pub(super) fn at(&self, location: usize) -> u32 {
        self.0.get(location).copied().unwrap_or(0)
    }

    pub(super) fn advance(&mut self, location: usize, message: u32) {
        if self.0.len() <= location {
            self.0.resize(location + 1, 0);
        }
        self.0[location] = self.0[location].max(message);
    }

    pub(super) fn join(&mut self, other: &View) {
        for (location, &message) in other.0.iter().enumerate() {
            self.advance(location, message);
        }
    }
}

pub(super) type Views = Both<View>;

impl Views {
    pub(super) fn advance(&mut self, location: usize, message: u32) {
        self.each(|view| view.advance(location, message));
    }

    pub(super) fn join(&mut self, other: &Views) {
        self.weak.join(&other.weak);
        self.named.join(&other.named);
    }
}

/// How early the next sequentially consistent load of a thread may be performed. An instant is the number of messages
/// that were made before it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reach {
    /// Not before this.
    floor: u64,
    /// It may overtake a load that acquires nothing. If not, it is performed in its turn.
    overtakes: bool,
}

impl Reach {
    /// The earliest instant at which the next load may be performed.
    pub(super) fn instant(self, now: u64) -> u64 {
        if self.overtakes { self.floor } else { now }
    }

    /// A message that was made at `made` is read `now`.
    pub(super) fn read(&mut self, reading: Reading, now: u64, made: u64) {
        match reading {
            Reading::Relaxed => self.overtakes = true,
            Reading::Total if !self.overtakes => self.floor = now,
            Reading::Acquire | Reading::Total => self.floor = self.floor.max(made),
        }
    }

    /// A word is exchanged `now`, after it was read.
    pub(super) fn exchange(&mut self, reading: Reading, now: u64) {
        if reading == Reading::Total {
            self.barrier(now);
        }
    }

    /// All that precedes comes before all that follows.
    pub(super) fn barrier(&mut self, now: u64) {
        *self = Self { floor: now, overtakes: false };
    }
}
