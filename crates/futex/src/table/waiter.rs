//! The waiter's word: the whole truth about one thread's wait. Every operation takes effect as one exchange here.
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
//! | Arriving, Waiting | the same, dead | the kernel | in shared memory `sleep` is the thread's number, and its robust list names the word |
//! | dead | Idle | whoever needs a seat | |
//!
//! # Invariants
//! * I-waiter-1: entry `e` of a waiting thread is queued at exactly one slot: at `slot` if `moved` is `e`, otherwise
//!   where its place says. A slot that names the entry but is not this one is a remainder and counts for nothing.
//! * I-waiter-2: within one version, `moved` may be folded into its place, once; nothing else about the wait changes.
//!
//! # Order
//! * O-arrive: a thread puts its entries into their lines, then reads the words (a fence between). A waker changes the
//!   word, then reads the line (a fence between). So either the waker meets the entry, or the thread sees the change.
//!   Meeting it while it still arrives, the waker makes the thread compare again: its reading may be older than the
//!   change.

use ntux_platform::atomic::Pair;

use super::memory::{Memory, Place, Waiter};

/// Where a thread is in its wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Idle,
    Arriving,
    Waiting,
    Woken,
}

const STATES: [State; 4] = [State::Idle, State::Arriving, State::Waiting, State::Woken];
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

    pub fn state(self) -> State {
        STATES[(self.0.high & 3) as usize]
    }

    /// What the thread sleeps on: the low half of the word's low half.
    pub fn sleep(self) -> u32 {
        self.0.low as u32
    }

    /// Whether the thread died while it arrived or waited: the kernel has put a mark where it slept (its will).
    pub fn is_dead(self) -> bool {
        /// The bits that the kernel leaves clear in a word that a dying thread owned.
        const THREAD: u32 = 0x3fff_ffff;
        matches!(self.state(), State::Arriving | State::Waiting) && self.sleep() & THREAD == 0
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
        self.next(0, self.0.high & !3 | State::Idle as u64)
    }

    /// Also what a waker makes of an arriving thread.
    pub fn arriving(self, sleep: u32) -> Word {
        self.next(sleep, State::Arriving as u64)
    }

    pub fn waiting(self) -> Word {
        self.next(self.sleep(), State::Waiting as u64)
    }

    pub fn woken(self, winner: usize) -> Word {
        self.next(0, self.0.high & !3 | State::Woken as u64 | (winner as u64) << WINNER_SHIFT)
    }

    pub fn with_moved(self, entry: usize, slot: u32) -> Word {
        let moved = (entry as u64 + 1) << MOVED_SHIFT | u64::from(slot) << SLOT_SHIFT;
        self.next(self.sleep(), State::Waiting as u64 | moved)
    }

    /// What a place holds whose entry went into this slot, in the wait that began with this word.
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
    /// The slot that it says.
    pub fn slot(&self) -> Option<u32> {
        (self.slot.load() as u32).checked_sub(1)
    }
}

impl Memory {
    /// The slot that entry `entry` of a waiting thread is queued at (I-waiter-1), as long as the word is `seen`.
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
        // Unfolded still, and the same version: so what was read there is what the requeuer left behind.
        if place.load() != before || Word::of(waiter) != seen {
            return;
        }
        if let Some(queued) = remainder.filter(|queued| queued.waiter == number && queued.entry == entry) {
            self.empty(old, queued);
        }
        let _ = place.compare_exchange(before, before >> 32 << 32 | u64::from(slot.wrapping_add(1)));
    }
}
