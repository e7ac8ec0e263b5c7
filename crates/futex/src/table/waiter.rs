// SPDX-License-Identifier: MIT OR Apache-2.0
//! The waiter's word: the complete state of one thread's wait. Every operation takes effect with one exchange of it.
//!
//! # Picture
//! ```text
//! low     63              32 31               0
//!        +------------------+------------------+
//!        |     version      |      sleep       |     sleep: the thread sleeps on this; 0 unless it arrives or waits
//!        +------------------+------------------+
//! high    63     49 48      17 16      9 8      2 1   0
//!        +---------+----------+---------+--------+-----+
//!        |    0    |   slot   | moved+1 | winner |state|
//!        +---------+----------+---------+--------+-----+
//! place   63              32 31               0
//!        +------------------+------------------+
//!        | version at begin |      slot+1      |     of one entry
//!        +------------------+------------------+
//! ```
//! `moved` is the entry that the last requeue moved, and `slot` where to. Every change of the word counts up the
//! version.
//!
//! # Transitions
//! | from | to | by | meaning |
//! | --- | --- | --- | --- |
//! | Idle, Woken | Arriving | the thread | its entries go into their lines next |
//! | Arriving | Arriving | a waker or requeuer that meets an entry | the words must be compared again (O-arrive) |
//! | Arriving | Waiting | the thread, its words hold what it expects | its check took effect |
//! | Arriving | Idle | the thread | a word differs |
//! | Waiting | Woken(winner) | a waker | one wake is consumed, counted by this waker alone |
//! | Waiting | Waiting(moved) | a requeuer | one entry was moved, counted by this requeuer alone |
//! | Waiting | Idle | the thread | deadline, signal |
//! | Arriving, Waiting | Idle | an heir | the thread is dead (`seat.rs`) |
//!
//! # Invariants
//! * I-waiter-1: entry `e` of a waiting thread is queued at exactly one slot: at `slot` if `moved` is `e`, otherwise
//!   where its place says. Any other slot that names the entry is a remainder without effect.
//! * I-waiter-3: a place names a slot before the entry goes into it. So whenever a thread dies, its places name all slots
//!   that hold its entries, except for one that a requeuer has put somewhere and not yet recorded.
//! * I-waiter-2: within one version, `moved` may be folded into its place, once; nothing else about the wait changes.
//!
//! # Order
//! * O-arrive: a thread puts its entries into their lines, then reads the words (a fence between). A waker changes the
//!   word, then reads the line (a fence between). So either the waker meets the entry, or the thread sees the change.
//!   If the waker meets the entry while it still arrives, it makes the thread compare again, because its reading may be
//!   older than the change.

use ntux_platform::atomic::Pair;

use super::memory::{Memory, Place, Waiter};

/// The state of a thread's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WaitState {
    Idle,
    Arriving,
    Waiting,
    Woken,
}

const STATES: [WaitState; 4] = [WaitState::Idle, WaitState::Arriving, WaitState::Waiting, WaitState::Woken];
const WINNER_SHIFT: u32 = 2;
const MOVED_SHIFT: u32 = 9;
const SLOT_SHIFT: u32 = 17;

/// A value of a waiter's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(Pair);

impl Word {
    pub fn of(waiter: &Waiter) -> Word {
        Word(waiter.word.load())
    }

    pub fn state(self) -> WaitState {
        STATES[(self.0.high & 3) as usize]
    }

    /// Returns whether no wait is in progress.
    pub fn is_over(self) -> bool {
        matches!(self.state(), WaitState::Idle | WaitState::Woken)
    }

    /// The value on which the thread sleeps: the lower 32 bits of the word's low half.
    pub fn sleep(self) -> u32 {
        self.0.low as u32
    }

    fn version(self) -> u32 {
        (self.0.low >> 32) as u32
    }

    /// The entry that was woken.
    pub fn winner(self) -> usize {
        (self.0.high >> WINNER_SHIFT & 0x7f) as usize
    }

    /// The entry that the last requeue moved, and the slot that it is in.
    pub fn moved(self) -> Option<(usize, u32)> {
        let entry = (self.0.high >> MOVED_SHIFT & 0xff).checked_sub(1)?;
        Some((entry as usize, (self.0.high >> SLOT_SHIFT) as u32))
    }

    fn next(self, sleep: u32, high: u64) -> Word {
        Word(Pair { low: u64::from(self.version().wrapping_add(1)) << 32 | u64::from(sleep), high })
    }

    pub fn idle(self) -> Word {
        self.next(0, self.0.high & !3 | WaitState::Idle as u64)
    }

    /// A waker also sets this for an arriving thread.
    pub fn arriving(self, sleep: u32) -> Word {
        self.next(sleep, WaitState::Arriving as u64)
    }

    pub fn waiting(self) -> Word {
        self.next(self.sleep(), WaitState::Waiting as u64)
    }

    pub fn woken(self, winner: usize) -> Word {
        self.next(0, self.0.high & !3 | WaitState::Woken as u64 | (winner as u64) << WINNER_SHIFT)
    }

    pub fn with_moved(self, entry: usize, slot: u32) -> Word {
        let moved = (entry as u64 + 1) << MOVED_SHIFT | u64::from(slot) << SLOT_SHIFT;
        self.next(self.sleep(), WaitState::Waiting as u64 | moved)
    }

    /// The value of a place whose entry went into this slot, in the wait that began with this word.
    pub fn place(self, slot: u32) -> u64 {
        u64::from(self.version()) << 32 | u64::from(slot + 1)
    }
}

impl Waiter {
    /// Replaces a value of the word, unless it has changed.
    pub fn exchange(&self, seen: Word, next: Word) -> bool {
        self.word.compare_exchange(seen.0, next.0).is_ok()
    }
}

impl Place {
    /// The slot in the place.
    pub fn slot(&self) -> Option<u32> {
        (self.slot.load() as u32).checked_sub(1)
    }
}

impl Memory {
    /// The slot in which entry `entry` of a waiting thread is queued (I-waiter-1), while the word is `seen`.
    pub fn queued_at(&self, waiter: u32, seen: Word, entry: usize) -> Option<u32> {
        match seen.moved() {
            Some((moved, slot)) if moved == entry => Some(slot),
            _ => self.place(waiter, entry)?.slot(),
        }
    }

    /// Writes where the last requeue moved an entry into its place, so that another one can be moved (I-waiter-2).
    pub fn fold(&self, number: u32, waiter: &Waiter, seen: Word) {
        let Some((entry, slot)) = seen.moved() else { return };
        let Some(Place { slot: place, .. }) = self.place(number, entry) else { return };
        let before = place.load();
        let Some(old) = (before as u32).checked_sub(1).filter(|&old| old != slot) else { return };
        let remainder = self.slot(old).and_then(|word| super::line::Queued::from_pair(word.load()));
        // The move is not folded yet, and the version is the same, so the value read is the requeuer's.
        if place.load() != before || Word::of(waiter) != seen {
            return;
        }
        if let Some(queued) = remainder.filter(|queued| queued.waiter == number && queued.entry == entry) {
            self.empty(old, queued);
        }
        let _ = place.compare_exchange(before, before >> 32 << 32 | u64::from(slot.wrapping_add(1)));
    }
}
