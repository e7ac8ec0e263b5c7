// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word of a waiter: the state of its wait, in 128 bits that change in one step.
//!
//! # Picture
//! ```text
//!  127       96 95 87 86  85   78 77  76  75   74  72 71     64 63          32 31            0
//! +------------+-----+---+-------+---+---+----+-------+--------+--------------+---------------+
//! |  argument  |  -  |det| code  | owed|ab |open| state | ticket (high 8, low 32)| futex word   |
//! +------------+-----+---+-------+---+---+----+-------+--------+--------------+---------------+
//! ```
//! * futex word: zero unless the state is `Waiting` or `Queueing`; then the number of the waiting thread, with `PARKED`
//!   if it may be asleep; or [`NOBODY`], parked, if no thread waits ([`crate::protocol::detached`]). When a thread dies whose robust list names this word (`ntux_platform::robust`), the kernel
//!   sends the wake of a killed waker if the word is zero, and writes `DIED` if it is the number of the dying thread.
//!   So a killed thread leaves all queues at once, at no cost while it lives.
//! * ticket: one counter for the whole arena; names the *epoch* of the waiter (one wait) and orders waiters by arrival.
//! * owed: satisfied while parked, and the wake may not have been sent yet. A thread that settles the claim at once does not take it back, nor
//!   does the thread when it is back: what onlookers know of that is noted beside the word ([`crate::observe`]).
//! * det: the wait is no thread's: who decides it delivers it to its queue.
//! * ab: the mutex that it was given had been abandoned.
//! * open, argument while `Waiting`: the number of the wait-all attempt on this waiter, and whether it is undecided.
//!   (code says whether there was an attempt at all.)
//! * argument when `Satisfied`: the index of the object, [`EVERYTHING`], or [`ALL_PROBED`]. When `Done`: the result;
//!   code: which result.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | any but `Waiting` | `Queueing`, `Waiting`, `Probing`, `Requesting` (a new ticket) | the waiter's thread |
//! | `Queueing` | `Waiting` | the waiter's thread, once it has registered everywhere ([`crate::protocol::queueing`]) |
//! | `Queueing` | `Satisfied` | as from `Waiting`, by a claim that the waiter has made for itself |
//! | `Queueing` | `Withdrawn` | the waiter's thread; anyone that would have served it if it had been `Waiting` |
//! | `Waiting` | `Satisfied` | anyone that sees an object claimed for this epoch; the thread itself for a manual-reset event |
//! | `Waiting` | `Withdrawn` | the waiter's thread (deadline, interrupt) |
//! | `Waiting`, parked | the same, stirred | anyone that arms a timer for which it waits |
//! | `Waiting`, stirred | the same, parked | the waiter's thread, before it looks at its timers |
//! | `Waiting`, parked or stirred | the same, not parked | the waiter's thread, before it looks at the owners of its mutexes |
//! | `Waiting` | the same, nobody's | the thread that has registered it ([`crate::protocol::detached`]) |
//! | `Satisfied`, detached before | `Withdrawn` | who takes the result from its queue |
//! | `Waiting`, `Queueing` | `Died` | the kernel, when the thread dies |
//! | `Probing` | `Satisfied` | the waiter's thread |
//! | `Probing` | `Withdrawn` | anyone that meets the probe's claim |
//! | `Requesting` | `Done` | anyone that performs the request |
//!
//! Within one ticket the state never goes back, and a ticket is never used twice by a waiter: that is condition L1 of
//! `ntux_platform::atomic` (the low half holds the futex word and the low part of the ticket). Only the mark *stirred* comes and
//! goes. A load between whose halves it does both can return a high half beside which it stood; no step but the sleep of the waiter
//! itself, which compares the whole word, depends on that mark.

use ntux_platform::atomic::Pair;

use super::entry::Entry;
use super::fields::{WAITER_WORD, part};
use super::layout::WaiterSlot;
use super::limits::RETRIES;
use super::ticket::Ticket;
use crate::Object;
use crate::planted::{Bug, planted};

/// The part of the futex word that names the waiting thread.
const THREAD_MASK: u32 = part(WAITER_WORD, "thread").mask() as u32;
/// Written by the kernel when the waiting thread dies.
const DIED: u32 = part(WAITER_WORD, "died").flag() as u32;
/// The same bit beside the number of the thread, which the kernel leaves there only while the thread lives: it may be asleep, and is to
/// look at its timers again ([`crate::protocol::timer`]).
const STIRRED: u32 = DIED;
/// No thread has this number: the wait is detached.
const NOBODY: u32 = THREAD_MASK;
/// Set while the thread may be asleep.
const PARKED: u32 = part(WAITER_WORD, "parked").flag() as u32;
/// The argument of a waiter that was given all its objects.
pub const EVERYTHING: u32 = u32::MAX;
/// The same, if it has taken them itself ([`crate::protocol::probe`]): each is claimed for it until it is settled.
pub const ALL_PROBED: u32 = u32::MAX - 1;

/// The part of the ticket in the upper half of the word; the other 32 bits are the upper half of the lower.
const TICKET_HIGH_MASK: u64 = part(WAITER_WORD, "ticket").mask() >> 32;
const STATE_SHIFT: u32 = part(WAITER_WORD, "state").shift();
const STATE_MASK: u64 = part(WAITER_WORD, "state").mask();
const OPEN: u64 = part(WAITER_WORD, "open").flag();
const ABANDONED: u64 = part(WAITER_WORD, "abandoned").flag();
const OWED: u64 = part(WAITER_WORD, "owed").flag();
const DETACHED: u64 = part(WAITER_WORD, "detached").flag();
const CODE_SHIFT: u32 = part(WAITER_WORD, "code").shift();
const CODE_MASK: u64 = part(WAITER_WORD, "code").mask();

/// Code of a waiting word whose argument is an attempt. A fresh word has had none.
const LOOKED_AT: u8 = 1;

/// The state of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaiterState {
    /// Never used.
    Idle,
    /// Undecided, and not in all its queues yet.
    Queueing,
    /// Undecided.
    Waiting,
    /// Undecided, and its thread is dead.
    Died,
    /// Given the object or objects that the argument names.
    Satisfied,
    /// Ended without an object.
    Withdrawn,
    /// Requests a signal.
    Requesting,
    /// The signal was performed.
    Done,
    /// Tries to take objects if nobody meets its claims and the others do not change.
    Probing,
}

/// A copy of a waiter's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaiterWord(pub Pair);

impl WaiterWord {
    /// A new epoch of a thread with this number.
    #[inline(always)]
    pub fn new(state: WaiterState, ticket: Ticket, thread: u32) -> WaiterWord {
        // A number of 0 would read as decided. Only systems without robust lists could have one.
        let queues = matches!(state, WaiterState::Queueing | WaiterState::Waiting);
        let futex = if queues { (thread & THREAD_MASK).max(1) } else { 0 };
        let low = u64::from(ticket.tag()) << 32 | u64::from(futex);
        WaiterWord(Pair { low, high: ticket.number() >> 32 }).with_state(state)
    }

    /// The epoch.
    #[inline(always)]
    pub fn ticket(self) -> Ticket {
        Ticket::new((self.0.high & TICKET_HIGH_MASK) << 32 | self.0.low >> 32)
    }

    /// The tag of its claims, from the low half of the word.
    pub(crate) fn tag_in(low: u64) -> u32 {
        (low >> 32) as u32
    }

    /// The state of the wait.
    #[inline(always)]
    pub fn state(self) -> WaiterState {
        match self.0.high >> STATE_SHIFT & STATE_MASK {
            0 => WaiterState::Idle,
            1 | 7 if self.is_marked_dead() => WaiterState::Died,
            1 => WaiterState::Waiting,
            2 => WaiterState::Satisfied,
            3 => WaiterState::Withdrawn,
            4 => WaiterState::Requesting,
            5 => WaiterState::Done,
            6 => WaiterState::Probing,
            _ => WaiterState::Queueing,
        }
    }

    #[inline(always)]
    fn with_state(self, state: WaiterState) -> WaiterWord {
        let number: u64 = match state {
            WaiterState::Idle => 0,
            WaiterState::Waiting | WaiterState::Died => 1,
            WaiterState::Satisfied => 2,
            WaiterState::Withdrawn => 3,
            WaiterState::Requesting => 4,
            WaiterState::Done => 5,
            WaiterState::Probing => 6,
            WaiterState::Queueing => 7,
        };
        WaiterWord(Pair { high: self.0.high & !(STATE_MASK << STATE_SHIFT) | number << STATE_SHIFT, ..self.0 })
    }

    /// The futex word.
    #[inline(always)]
    pub fn futex(self) -> u32 {
        self.0.low as u32
    }

    /// The number of the thread, while it waits: as much of it as the futex word holds.
    #[inline(always)]
    pub(crate) fn thread(self) -> u32 {
        self.futex() & THREAD_MASK
    }

    #[inline(always)]
    fn with_futex(self, futex: u32) -> WaiterWord {
        WaiterWord(Pair { low: self.0.low & !0xffff_ffff | u64::from(futex), ..self.0 })
    }

    /// Returns true if it is undecided.
    #[inline(always)]
    pub fn is_open(self) -> bool {
        // The states 1 and 7; without the rest of the decoding, because it is asked for often.
        matches!(self.0.high >> STATE_SHIFT & STATE_MASK, 1 | 7) && !self.is_marked_dead()
    }

    /// Returns true if the kernel has marked an undecided wait of a dead thread.
    #[inline(always)]
    fn is_marked_dead(self) -> bool {
        self.futex() & (DIED | THREAD_MASK) == DIED
    }

    /// Returns true if it is undecided, in all its queues, in the epoch that began with this ticket.
    #[inline(always)]
    pub fn waits_since(self, ticket: Ticket) -> bool {
        const WAITING: u64 = 1 << STATE_SHIFT;
        let high = self.0.high & (TICKET_HIGH_MASK | STATE_MASK << STATE_SHIFT);
        high == ticket.number() >> 32 | WAITING && (self.0.low >> 32) as u32 == ticket.tag() && !self.is_marked_dead()
    }

    /// Returns true if the thread may be asleep.
    #[inline(always)]
    pub fn is_parked(self) -> bool {
        self.futex() & PARKED != 0
    }

    /// About to sleep.
    #[inline(always)]
    pub fn parked(self) -> WaiterWord {
        self.with_futex(self.futex() | PARKED)
    }

    /// About to sleep, and about to look at its timers: it was not stirred since.
    pub(crate) fn parked_unstirred(self) -> WaiterWord {
        self.with_futex(self.thread() | PARKED)
    }

    /// Awake.
    pub(crate) fn unparked(self) -> WaiterWord {
        self.with_futex(self.thread())
    }

    /// To look at its timers again. Only of an undecided wait that may be asleep.
    pub(crate) fn stirred(self) -> WaiterWord {
        self.with_futex(self.futex() | STIRRED)
    }

    /// Nobody's, from now on: who decides it delivers it to its queue.
    pub(crate) fn detached(self) -> WaiterWord {
        let word = self.with_futex(NOBODY | PARKED);
        WaiterWord(Pair { high: word.0.high | DETACHED, ..word.0 })
    }

    /// Returns true if it is no thread's, also when it is decided.
    #[inline(always)]
    pub(crate) fn is_detached(self) -> bool {
        self.0.high & DETACHED != 0
    }

    /// Object index, attempt or result.
    #[inline(always)]
    pub fn argument(self) -> u32 {
        (self.0.high >> 32) as u32
    }

    #[inline(always)]
    fn with_argument(self, argument: u32) -> WaiterWord {
        WaiterWord(Pair { high: self.0.high & 0xffff_ffff | u64::from(argument) << 32, ..self.0 })
    }

    /// Given the object with this index, or [`EVERYTHING`].
    #[inline(always)]
    pub fn satisfied(self, object: u32, abandoned: bool) -> WaiterWord {
        let owed = if self.is_parked() { OWED } else { 0 };
        let abandoned = if abandoned { ABANDONED } else { 0 };
        let word = self.with_state(WaiterState::Satisfied).with_futex(0).with_argument(object);
        WaiterWord(Pair { high: word.0.high & !OPEN | owed | abandoned, ..word.0 })
    }

    /// The object that satisfied it; none if nothing or everything did.
    #[inline(always)]
    pub fn satisfied_by(self) -> Option<u32> {
        (self.state() == WaiterState::Satisfied && self.argument() < ALL_PROBED).then(|| self.argument())
    }

    /// Returns true if it has taken all its objects itself.
    pub fn has_probed_all(self) -> bool {
        self.state() == WaiterState::Satisfied && self.argument() == ALL_PROBED
    }

    /// In all its queues.
    pub fn queued(self) -> WaiterWord {
        self.with_state(WaiterState::Waiting)
    }

    /// The number that stands for a thread in the word. None has that of [`NOBODY`], or 0.
    pub(crate) fn number_of(thread: u64) -> u32 {
        (thread as u32 & THREAD_MASK).clamp(1, NOBODY - 1)
    }

    /// Ended without an object.
    #[inline(always)]
    pub fn withdrawn(self) -> WaiterWord {
        self.with_state(WaiterState::Withdrawn).with_futex(0)
    }

    /// Returns true if a wake is owed.
    #[inline(always)]
    pub fn is_owed(self) -> bool {
        self.0.high & OWED != 0
    }

    /// The wake was sent.
    #[inline(always)]
    pub fn paid(self) -> WaiterWord {
        WaiterWord(Pair { high: self.0.high & !OWED, ..self.0 })
    }

    /// Returns true if an acquired mutex had been abandoned.
    #[inline(always)]
    pub fn is_abandoned(self) -> bool {
        self.0.high & ABANDONED != 0
    }

    /// Returns true if attempt `attempt` is open on this waiter.
    pub fn attempt(self, attempt: u32) -> Attempt {
        let looked_at = self.code() == LOOKED_AT && self.argument() == attempt;
        match (looked_at, self.0.high & OPEN != 0) {
            (false, _) => Attempt::Other,
            (true, true) => Attempt::Open,
            (true, false) => Attempt::Failed,
        }
    }

    /// The word with `attempt` open.
    pub fn opened(self, attempt: u32) -> WaiterWord {
        let word = self.with_code(LOOKED_AT).with_argument(attempt);
        WaiterWord(Pair { high: word.0.high | OPEN, ..word.0 })
    }

    /// The attempt failed.
    pub fn closed(self) -> WaiterWord {
        WaiterWord(Pair { high: self.0.high & !OPEN, ..self.0 })
    }

    /// The request was performed, with this result.
    pub fn done(self, code: u8, argument: u32) -> WaiterWord {
        self.with_state(WaiterState::Done).with_code(code).with_argument(argument)
    }

    fn with_code(self, code: u8) -> WaiterWord {
        let high = self.0.high & !(CODE_MASK << CODE_SHIFT) | u64::from(code) << CODE_SHIFT;
        WaiterWord(Pair { high, ..self.0 })
    }

    /// Which result.
    pub fn code(self) -> u8 {
        (self.0.high >> CODE_SHIFT & CODE_MASK) as u8
    }
}

impl WaiterSlot {
    /// The waiter's word.
    #[inline(always)]
    pub(crate) fn load(&self) -> WaiterWord {
        WaiterWord(self.word.load())
    }

    #[inline(always)]
    pub(crate) fn exchange(&self, seen: WaiterWord, next: WaiterWord) -> bool {
        self.word.compare_exchange(seen.0, next.0).is_ok()
    }

    /// Marks the wait of an entry, if it stands for a wait on `object` that may be asleep: it is to look at its timers again. Not of a detached
    /// one. Returns whether it needs a wake for that; also if it was marked already, because who did it may have died before.
    pub(crate) fn stir(&self, entry: Entry, object: Object) -> bool {
        for _ in 0..RETRIES {
            let seen = self.load();
            if !self.backs(seen, entry, object) || !seen.is_parked() || seen.is_detached() {
                return false;
            }
            if seen == seen.stirred() {
                return !planted(Bug::StirredUnwoken);
            }
            if self.exchange(seen, seen.stirred()) {
                return true;
            }
        }
        false
    }

    /// The waiter's word, for a scan that meets one of its entries. A wait that is not in all its queues yet is
    /// withdrawn ([`crate::protocol::queueing`]).
    pub(crate) fn met(&self, entry: Entry) -> WaiterWord {
        for _ in 0..RETRIES {
            let seen = self.load();
            let queues = seen.state() == WaiterState::Queueing && seen.ticket() == entry.ticket();
            if !queues || planted(Bug::QueueUnseen) {
                return seen;
            }
            self.exchange(seen, seen.withdrawn());
        }
        WaiterWord::default()
    }

    /// Returns true if an entry in the wait set of `object` stands for a wait on it (I-set-1), given the waiter's word.
    pub(crate) fn backs(&self, seen: WaiterWord, entry: Entry, object: Object) -> bool {
        seen.waits_since(entry.ticket()) && self.lists(entry, object)
    }

    /// Returns true if the wait names this object where the entry says.
    #[inline(always)]
    pub(crate) fn lists(&self, entry: Entry, object: Object) -> bool {
        self.list.get(entry.position()).is_some_and(|word| word.load() == object.0)
    }

    /// Writes down what the wait is for: `count` objects, and the alert.
    pub(crate) fn wants(&self, count: usize, objects: impl Iterator<Item = Object>, owner: u32) {
        self.wait.store(u64::from(owner) << 32 | count as u64);
        for (word, object) in self.list.iter().zip(objects) {
            word.store(object.0);
        }
    }

    /// [`WaiterSlot::wants`] for one object.
    #[inline(always)]
    pub(crate) fn wants_one(&self, object: Object, owner: u32) {
        self.wait.store(u64::from(owner) << 32 | 1);
        self.list[0].store(object.0);
    }

    /// Owner id of the wait.
    pub(crate) fn owner(&self) -> u32 {
        (self.wait.load() >> 32) as u32
    }

    /// Number of objects of the wait, without the alert.
    pub(crate) fn count(&self) -> usize {
        self.wait.load() as u32 as usize
    }
}

/// The state of a wait-all attempt on a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// It has not begun on this waiter.
    Other,
    /// It is collecting the objects.
    Open,
    /// It found an object that cannot be taken.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_futex_word_is_zero_unless_waiting() {
        let word = WaiterWord::new(WaiterState::Waiting, Ticket::new(0xab_cdef_0123), 77).parked();
        assert_eq!(word.futex(), 77 | PARKED);
        assert_eq!(word.ticket().number(), 0xab_cdef_0123);
        for ended in [word.satisfied(9, true), word.withdrawn()] {
            assert_eq!(ended.futex(), 0);
            assert_eq!(ended.ticket(), word.ticket());
        }
        assert!(word.satisfied(9, true).is_owed() && word.satisfied(9, true).is_abandoned());
        assert!(!word.satisfied(9, true).paid().is_owed());
        assert_eq!(word.satisfied(9, false).argument(), 9);
    }

    #[test]
    fn what_the_kernel_writes_at_death_reads_as_died() {
        for state in [WaiterState::Waiting, WaiterState::Queueing] {
            let word = WaiterWord::new(state, Ticket::new(5), 77).parked();
            let marked = WaiterWord(Pair { low: word.0.low & !0x3fff_ffff | u64::from(DIED), ..word.0 });
            assert_eq!((marked.state(), marked.ticket()), (WaiterState::Died, word.ticket()));
            assert_eq!(marked.withdrawn().state(), WaiterState::Withdrawn);
        }
    }

    #[test]
    fn who_stands_in_its_queues_is_the_same_epoch() {
        let queueing = WaiterWord::new(WaiterState::Queueing, Ticket::new(5), 77);
        assert!(queueing.is_open() && queueing.queued().is_open());
        assert_eq!(queueing.queued(), WaiterWord::new(WaiterState::Waiting, Ticket::new(5), 77));
    }

    #[test]
    fn an_attempt_is_other_then_open_then_failed() {
        let word = WaiterWord::new(WaiterState::Waiting, Ticket::new(1), 7);
        assert_eq!(word.attempt(5), Attempt::Other);
        assert_eq!(word.opened(5).attempt(5), Attempt::Open);
        assert_eq!(word.opened(5).closed().attempt(5), Attempt::Failed);
        assert_eq!(word.opened(5).attempt(6), Attempt::Other);
    }

    #[test]
    fn a_result_comes_back_whole() {
        let word = WaiterWord::new(WaiterState::Requesting, Ticket::new(3), 7).done(2, u32::MAX);
        assert_eq!((word.state(), word.code(), word.argument()), (WaiterState::Done, 2, u32::MAX));
    }
}
