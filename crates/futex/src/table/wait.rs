// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits until one of several futexes is woken.

use ntux_platform::atomic::fence;
use ntux_platform::clock::Deadline;
use ntux_platform::error as number;
use ntux_platform::kernel_futex::{self, Entry, MATCH_ANY};
use ntux_platform::waiting::yield_policy;

use super::key::Key;
use super::memory::Waiter;
use super::seat::Seat;
use super::waiter::{WaitState, Word};
use super::{RETRIES, SLEEP, Table};
use crate::futex::Expected;
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// How a thread sleeps on its own word.
pub trait Sleep {
    /// Sleeps while the word holds the expected value. Returns `None` if the word must be checked again, otherwise why
    /// the wait ends.
    fn sleep(&self, own: Entry, deadline: Deadline) -> Option<Result<Woken>>;
}

/// Sleeps on its own word only.
pub struct Alone;

impl Sleep for Alone {
    fn sleep(&self, own: Entry, deadline: Deadline) -> Option<Result<Woken>> {
        // Reading the clock costs a hundredth of what the kernel needs to find out.
        if deadline.passed() {
            return Some(Err(Error::TimedOut));
        }
        match kernel_futex::wait(own.address, own.expected, MATCH_ANY, own.scope, deadline) {
            Ok(()) | Err(number::EAGAIN) => None,
            Err(error) => Some(Err(Error::from_errno(error))),
        }
    }
}

/// What ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// A wake of this entry of the table.
    InTable(usize),
    /// A wake of this other entry, on which the thread slept in the kernel ([`Sleep`]).
    InKernel(usize),
}

/// One entry of a wait.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The futex.
    pub key: Key,
    /// The bitset.
    pub mask: u32,
    /// The value that the word must hold.
    pub expected: Expected<'a>,
}

impl Table {
    /// Waits until one of the futexes is woken, while all words hold their expected values. Returns which one. `sleep`
    /// puts the thread to sleep on its own word.
    pub fn wait_any<'a>(
        &self,
        entries: impl Iterator<Item = Line<'a>> + Clone,
        sleep: &impl Sleep,
        deadline: Deadline,
    ) -> Result<Woken> {
        self.before_waiting(entries.clone(), deadline)?;
        self.seated(|seat| self.wait_seated(seat, entries, sleep, deadline))
    }

    /// Returns an error if the wait is over before it begins.
    ///
    /// The thread yields before it takes a seat and queues, because a thread that will change a word may be runnable, and
    /// queueing, sleeping and being woken costs both sides ten times as much and more. If nobody else can run, the yield
    /// costs 0.1 us; where it proves expensive, it is left out ([`yield_policy`]).
    pub fn before_waiting<'a>(
        &self,
        entries: impl Iterator<Item = Line<'a>> + Clone,
        deadline: Deadline,
    ) -> Result<()> {
        let all_hold = || entries.clone().all(|entry| entry.expected.holds());
        if !all_hold() {
            return Err(Error::Differs);
        }
        if deadline == Deadline::NOW {
            return Err(Error::TimedOut);
        }
        if !deadline.passed() && yield_policy::let_others_run(|| !all_hold()) {
            return Err(Error::Differs);
        }
        Ok(())
    }

    /// Waits in a seat; as [`wait_any`](Table::wait_any), after [`before_waiting`](Table::before_waiting).
    pub fn wait_seated<'a>(
        &self,
        seat: &Seat,
        entries: impl Iterator<Item = Line<'a>> + Clone,
        sleep: &impl Sleep,
        deadline: Deadline,
    ) -> Result<Woken> {
        let waiter = self.waiter(seat);
        let before = Word::of(waiter);
        let begun = before.arriving(SLEEP);
        if !waiter.exchange(before, begun) {
            return Err(Error::Interrupted);
        }
        let queued = self.queue(seat, begun, entries.clone());
        let ended = queued.and_then(|()| self.check(waiter, entries.clone()));
        let ended = ended.and_then(|()| sleep_until_woken(self, waiter, sleep, deadline));
        self.leave(seat.index(), waiter, entries.count());
        ended
    }

    /// Puts the entries into their lines.
    fn queue<'a>(&self, seat: &Seat, begun: Word, entries: impl Iterator<Item = Line<'a>> + Clone) -> Result<()> {
        let mut places = self.memory.places(seat.index(), entries.clone().count());
        for (entry, (place, line)) in places.by_ref().zip(entries).enumerate() {
            place.mask.store(line.mask);
            let name = |slot| place.slot.store(begun.place(slot));
            match self.memory.put(seat.index(), entry, line.key, name) {
                Ok(_) => {}
                Err(error) => {
                    // Their values from an earlier wait must not count for this one.
                    [place].into_iter().chain(places).for_each(|place| place.slot.store(0));
                    return Err(error);
                }
            }
        }
        fence();
        Ok(())
    }

    /// Compares the words again, now that every waker meets this thread (O-arrive).
    fn check<'a>(&self, waiter: &Waiter, entries: impl Iterator<Item = Line<'a>> + Clone) -> Result<()> {
        for _ in 0..RETRIES {
            let seen = Word::of(waiter);
            if seen.state() != WaitState::Arriving {
                break;
            }
            let holds = planted(Bug::NoCompare) || entries.clone().all(|entry| entry.expected.holds());
            if !holds && waiter.exchange(seen, seen.idle()) {
                return Err(Error::Differs);
            }
            if holds && waiter.exchange(seen, seen.waiting()) {
                return Ok(());
            }
        }
        Err(Error::Interrupted)
    }

    /// Ends a wait, and removes its remaining entries from their lines.
    pub(super) fn leave(&self, number: u32, waiter: &Waiter, count: usize) {
        // Still arriving if there was no room for all entries.
        let last = finish(waiter, &[WaitState::Arriving, WaitState::Waiting]);
        for (entry, place) in self.memory.places(number, count).enumerate() {
            if let Some(slot) = place.slot() {
                self.memory.withdraw(slot, number, entry);
            }
        }
        if let Some((entry, slot)) = last.moved() {
            self.memory.withdraw(slot, number, entry);
        }
    }
}

/// Sleeps until the word says that the thread was woken. If the sleep ends otherwise, sets the word to say that the
/// wait is over.
fn sleep_until_woken(table: &Table, waiter: &Waiter, sleep: &impl Sleep, deadline: Deadline) -> Result<Woken> {
    for _ in 0..RETRIES {
        let seen = Word::of(waiter);
        match seen.state() {
            WaitState::Woken => return Ok(Woken::InTable(seen.winner())),
            WaitState::Waiting => {}
            // Wiped: this is a child of fork, which a signal handler on this thread has made.
            WaitState::Idle | WaitState::Arriving => return Err(Error::Interrupted),
        }
        let own =
            Entry { address: waiter.word.futex_address(), expected: seen.sleep(), scope: table.scope, numa: false };
        let Some(ended) = sleep.sleep(own, deadline) else { continue };
        // A wake that came first counts; a requeue that came first does not keep the thread waiting.
        if finish(waiter, &[WaitState::Waiting]).state() == WaitState::Waiting {
            return ended;
        }
    }
    Err(Error::Interrupted)
}

/// Ends the wait if it is in one of these states. Returns the value that this replaced, or the last one seen.
fn finish(waiter: &Waiter, states: &[WaitState]) -> Word {
    let mut seen = Word::of(waiter);
    for _ in 0..RETRIES {
        if !states.contains(&seen.state()) || waiter.exchange(seen, seen.idle()) {
            break;
        }
        seen = Word::of(waiter);
    }
    seen
}
