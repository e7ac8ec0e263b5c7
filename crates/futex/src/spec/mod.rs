//! What the operations mean, one step at a time, without atomics. Every mechanism is tested against it.
//!
//! A futex has a word and a *line* of those who wait for it, in the order of their arrival. An operation is a few
//! steps; steps of different operations may come between them:
//!
//! * A **wait** *arrives* with each of its entries, which takes a place in each line, and *checks* each: if a word
//!   differs the wait leaves all lines. From its check on an entry can be taken.
//! * A **wake** *begins*, which notes who is in the line, and then *takes* the first of those, again and again. A wait
//!   that is taken leaves all lines. The wake ends when it has taken as many as it may, or none of those is left.
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
    /// Whose wakes and requeues began when it was there already: one bit for each thread.
    seen_by: u16,
    /// Who of these could have taken it at once: they tell it, if they come that far and it was taken before.
    told_by: u16,
}

/// What has become of a thread's wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Fate {
    Waits,
    Taken(usize),
}

/// A thread was taken, and still has to be told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Owed {
    by: Thread,
    futex: Id,
    /// Whose wakes and requeues will do so, if they come that far: one bit for each thread.
    told_by: u16,
}

/// The words, the lines, and who waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Model {
    words: Vec<u64>,
    lines: Vec<Vec<Place>>,
    fates: Vec<Option<Fate>>,
    owed: Vec<Option<Owed>>,
    rules: Rules,
}

/// In which ways a mechanism may differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rules {
    /// In none. A wait that is taken leaves all lines in the same step.
    Exact,
    /// As `Exact`, and who is taken may be told late: before the call that took it returns, or the next one that goes
    /// through the whole line.
    Late,
    /// As the kernel's vectors: the other entries can be taken as well until the wait returns, and are lost then; the
    /// highest taken is what it returns.
    Kernel,
    /// As `Kernel`, and as 64 bits in two words: an entry can be taken before its check. A wait that was taken may pass
    /// that on to the first who waits for the same futex, and must if it was not checked.
    Halves,
}

impl Model {
    /// Futexes whose words hold these values, and so many threads.
    pub fn new(words: &[u64], threads: usize, rules: Rules) -> Model {
        let lines = words.iter().map(|_| Vec::new()).collect();
        Model { words: words.to_vec(), lines, fates: vec![None; threads], owed: vec![None; threads], rules }
    }

    /// Stores into a word.
    pub fn store(&mut self, futex: Id, value: u64) {
        self.words[futex] = value;
    }

    /// Takes a place at the end of a line.
    pub fn arrive(&mut self, thread: Thread, entry: usize, futex: Id, mask: u32) {
        self.fates[thread].get_or_insert(Fate::Waits);
        self.lines[futex].push(Place { thread, entry, mask, checked: false, seen_by: 0, told_by: 0 });
    }

    /// Compares the word of an entry that has arrived; false, and the wait is over, if it differs.
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

    /// Whether the thread may sleep on: its wait goes on, or it has not been told yet that it was taken.
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

    /// Has told whom it took; and whom others took, if it went through the whole line.
    fn tell(&mut self, thread: Thread, whole: bool) {
        for owed in &mut self.owed {
            owed.take_if(|owed| owed.by == thread || whole && owed.told_by >> thread & 1 == 1);
        }
    }

    /// Ends it: whom it saw tells nothing any more.
    fn end(&mut self, thread: Thread) {
        for place in self.lines.iter_mut().flatten() {
            place.seen_by &= !(1 << thread);
            place.told_by &= !(1 << thread);
        }
        self.owed.iter_mut().flatten().for_each(|owed| owed.told_by &= !(1 << thread));
    }

    /// Whether a word holds what is expected.
    pub fn holds(&self, futex: Id, expected: u64) -> bool {
        self.words[futex] == expected
    }

    /// Places that the thread's operation could serve now, the first one first.
    fn places(&self, thread: Thread, futex: Id, mask: u32) -> impl Iterator<Item = usize> {
        let early = self.rules == Rules::Halves;
        let can_take =
            move |place: &Place| (place.checked || early) && place.seen_by >> thread & 1 == 1 && place.mask & mask != 0;
        self.lines[futex].iter().enumerate().filter(move |(_, place)| can_take(place)).map(|(position, _)| position)
    }

    /// How many the thread's operation could still serve.
    pub fn left(&self, thread: Thread, futex: Id, mask: u32) -> usize {
        self.places(thread, futex, mask).count()
    }

    /// Takes the first of those who were in the line when the thread's operation began; false if none is left.
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

    /// Moves the first of those to the end of another line; false if none is left.
    pub fn shift(&mut self, thread: Thread, from: Id, to: Id) -> bool {
        let Some(position) = self.places(thread, from, u32::MAX).next() else { return false };
        let place = self.lines[from].remove(position);
        self.lines[to].push(Place { seen_by: 0, told_by: 0, ..place });
        true
    }
}

#[cfg(test)]
mod tests;
