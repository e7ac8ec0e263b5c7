// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of the operations, one step at a time, without atomics. Every mechanism is tested against it.
//!
//! A futex has a word and a *line* of waiters, in order of arrival. An operation is a few steps, which may interleave
//! with those of others:
//!
//! * A **wait** *arrives* with each of its entries, which takes a place in each line, and *checks* each: if a word
//!   differs the wait leaves all lines. From its check on an entry can be taken.
//! * A **wake** *begins*, which notes who is in the line, and then repeatedly *takes* the first of those. A wait that
//!   is taken leaves all lines. The wake ends when it has taken as many as it may, or none of those is left.
//! * A **requeue** begins, *compares* the word, takes, and then *moves*, one by one, to the end of the other line.
//!
//! The kernel does all steps of a wake or a requeue at once, and arrives and checks in one; that is a special case.

mod monitor;

pub use monitor::{Monitor, Outcome, Request};

/// A thread, numbered from 0; below 16.
pub type Thread = usize;
/// A futex, numbered from 0.
pub type Id = usize;

/// One entry of a wait, in a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Place {
    thread: Thread,
    entry: usize,
    mask: u32,
    checked: bool,
    /// The threads whose wakes and requeues began when it was already there, one bit each.
    seen_by: u16,
    /// The threads among these that could have taken it at once. They tell it, if they come that far and it was taken
    /// before.
    told_by: u16,
}

/// The state of a thread's wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Fate {
    Waits,
    Taken(usize),
}

/// A thread that was taken and has not been told yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Owed {
    by: Thread,
    futex: Id,
    /// The threads whose wakes and requeues will tell it, if they come that far, one bit each.
    told_by: u16,
}

/// The words, the lines, and the waiters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Model {
    words: Vec<u64>,
    lines: Vec<Vec<Place>>,
    fates: Vec<Option<Fate>>,
    owed: Vec<Option<Owed>>,
    rules: Rules,
}

/// How a mechanism may differ from exact semantics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rules {
    /// Not at all. A wait that is taken leaves all lines in the same step.
    Exact,
    /// As `Exact`, but a taken wait may be told late: before the call that took it returns, or the next call that goes
    /// through the whole line.
    Late,
    /// As the kernel's vectors: until the wait returns, its other entries can be taken, too, and those wakes are lost.
    /// The wait returns the highest entry taken.
    Kernel,
    /// As `Kernel`, and as 64 bits in two words: an entry can be taken before its check. A taken wait may pass the wake
    /// on to the first waiter of the same futex, and must if the entry was not checked.
    Halves,
}

impl Model {
    /// A model with futexes whose words hold these values, and this many threads.
    pub fn new(words: &[u64], threads: usize, rules: Rules) -> Model {
        let lines = words.iter().map(|_| Vec::new()).collect();
        Model { words: words.to_vec(), lines, fates: vec![None; threads], owed: vec![None; threads], rules }
    }

    /// Stores into a word.
    pub fn store(&mut self, futex: Id, value: u64) {
        self.words[futex] = value;
    }

    /// Arrives: takes a place at the end of a line.
    pub fn arrive(&mut self, thread: Thread, entry: usize, futex: Id, mask: u32) {
        self.fates[thread].get_or_insert(Fate::Waits);
        self.lines[futex].push(Place { thread, entry, mask, checked: false, seen_by: 0, told_by: 0 });
    }

    /// Compares the word of an entry that has arrived. If it differs, ends the wait and returns false.
    pub fn check(&mut self, thread: Thread, entry: usize, futex: Id, expected: u64) -> bool {
        let holds = self.words[futex] == expected;
        for place in self.lines[futex].iter_mut().filter(|place| (place.thread, place.entry) == (thread, entry)) {
            place.checked = holds;
        }
        holds
    }

    /// Leaves all lines.
    pub fn leave(&mut self, thread: Thread) {
        self.lines.iter_mut().for_each(|line| line.retain(|place| place.thread != thread));
        (self.fates[thread], self.owed[thread]) = (None, None);
    }

    /// Which entry of the thread's wait was taken, if one was.
    pub fn taken(&self, thread: Thread) -> Option<usize> {
        match self.fates[thread] {
            Some(Fate::Taken(entry)) => Some(entry),
            _ => None,
        }
    }

    /// Returns whether the thread may sleep on: its wait continues, or it has not been told yet that it was taken.
    fn may_sleep(&self, thread: Thread) -> bool {
        self.taken(thread).is_none() || self.owed[thread].is_some()
    }

    /// Begins a wake or a requeue by `thread`: notes who is in the line.
    pub fn begin(&mut self, thread: Thread, futex: Id, mask: u32) {
        for place in &mut self.lines[futex] {
            place.seen_by |= 1 << thread;
            if self.rules == Rules::Late && place.checked && place.mask & mask != 0 {
                place.told_by |= 1 << thread;
            }
        }
        self.owed.iter_mut().flatten().filter(|owed| owed.futex == futex).for_each(|owed| owed.told_by |= 1 << thread);
    }

    /// Tells the waits that it took, and, if it went through the whole line, those that others took.
    fn tell(&mut self, thread: Thread, whole: bool) {
        for owed in &mut self.owed {
            owed.take_if(|owed| owed.by == thread || whole && owed.told_by >> thread & 1 == 1);
        }
    }

    /// Ends a wake or requeue, and removes its notes.
    fn end(&mut self, thread: Thread) {
        for place in self.lines.iter_mut().flatten() {
            place.seen_by &= !(1 << thread);
            place.told_by &= !(1 << thread);
        }
        self.owed.iter_mut().flatten().for_each(|owed| owed.told_by &= !(1 << thread));
    }

    /// Returns whether a word holds the expected value.
    pub fn holds(&self, futex: Id, expected: u64) -> bool {
        self.words[futex] == expected
    }

    /// The places that the thread's operation could serve now, oldest first.
    fn places(&self, thread: Thread, futex: Id, mask: u32) -> impl Iterator<Item = usize> {
        let early = self.rules == Rules::Halves;
        let can_take =
            move |place: &Place| (place.checked || early) && place.seen_by >> thread & 1 == 1 && place.mask & mask != 0;
        self.lines[futex].iter().enumerate().filter(move |(_, place)| can_take(place)).map(|(position, _)| position)
    }

    /// The number of waits that the thread's operation could still serve.
    pub fn left(&self, thread: Thread, futex: Id, mask: u32) -> usize {
        self.places(thread, futex, mask).count()
    }

    /// Takes the first of the waits that were in the line when the thread's operation began. Returns false if none is
    /// left.
    pub fn take(&mut self, thread: Thread, futex: Id, mask: u32) -> bool {
        let Some(position) = self.places(thread, futex, mask).next() else { return false };
        let place = self.lines[futex].remove(position);
        let before = self.taken(place.thread);
        self.fates[place.thread] = Some(Fate::Taken(before.map_or(place.entry, |entry| entry.max(place.entry))));
        if self.rules == Rules::Late {
            self.owed[place.thread] = Some(Owed { by: thread, futex, told_by: place.told_by });
        }
        if let Rules::Exact | Rules::Late = self.rules {
            self.lines.iter_mut().for_each(|line| line.retain(|other| other.thread != place.thread));
        }
        true
    }

    /// Moves the first of those to the end of another line. Returns false if none is left.
    pub fn shift(&mut self, thread: Thread, from: Id, to: Id) -> bool {
        let Some(position) = self.places(thread, from, u32::MAX).next() else { return false };
        let place = self.lines[from].remove(position);
        self.lines[to].push(Place { seen_by: 0, told_by: 0, ..place });
        true
    }
}

#[cfg(test)]
mod tests;
