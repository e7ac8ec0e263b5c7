//! Serving a line: waking or moving those who are queued for a futex, first come, first served.
//!
//! A call serves those only who had arrived when it began. Each is served by one exchange on the waiter's word, and
//! counted by whoever made that exchange. So two calls at the same time share the line between them; none serves a
//! waiter twice, and none reaches past somebody who came earlier.
//!
//! # Order
//! * O-wake: who was woken stays in the line until the wake was sent, and whoever meets it there sends it again. So a
//!   waker that is stopped between the two delays the thread it woke, at most until the next call for the same futex,
//!   and no other.

use std::ops::ControlFlow;

use ntux_platform::atomic::fence;
use ntux_platform::kernel_futex::{self, MATCH_ANY};

use super::key::Key;
use super::line::{Line, Queued};
use super::memory::Waiter;
use super::waiter::{State, Word};
use super::{RETRIES, Table};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// Somebody who waits, as of one value of the waiter's word.
struct Candidate<'a> {
    slot: u32,
    queued: Queued,
    waiter: &'a Waiter,
    seen: Word,
}

/// What became of a candidate.
enum Served {
    Yes,
    /// The word changed meanwhile.
    LookAgain,
}

impl Table {
    /// Wakes at most `count` of those who wait for the futex with a bitset that meets `mask`; how many.
    ///
    /// Without a waiter it reads one word. Async-signal-safe.
    #[inline(always)]
    pub fn wake(&self, key: Key, count: u32, mask: u32) -> u32 {
        fence();
        let line = Line::of(self.memory.bucket(key.hash()));
        if line.present() == 0 { 0 } else { self.wake_present(key, line, count, mask) }
    }

    /// Apart, so that nothing of it is in the way when nobody waits.
    #[cold]
    #[inline(never)]
    fn wake_present(&self, key: Key, line: Line, count: u32, mask: u32) -> u32 {
        let wake = |candidate: &Candidate, _| Ok(self.wake_one(candidate));
        self.serve(key, line, count, mask, wake).unwrap_or(0)
    }

    /// If `compare` holds, wakes at most `wake` of those who wait for the futex `from`, and queues at most `moved`
    /// others for `to` instead; how many both are together. Bitsets do not matter, and go with the waiters.
    /// Async-signal-safe.
    ///
    /// Errors: `Differs`; `Exhausted` without room for the first to be moved.
    pub fn requeue(&self, from: Key, to: Key, wake: u32, moved: u32, compare: impl Fn() -> bool) -> Result<u32> {
        fence();
        let line = Line::of(self.memory.bucket(from.hash()));
        if !compare() {
            return Err(Error::Differs);
        }
        if line.present() == 0 {
            return Ok(0);
        }
        // In one pass, so that nobody is moved who was passed over, still arriving, when others were woken.
        self.serve(from, line, wake.saturating_add(moved), MATCH_ANY, |candidate, served| match served {
            _ if served < wake => Ok(self.wake_one(candidate)),
            _ if from == to => Ok(Served::Yes),
            _ => self.move_one(candidate, to),
        })
    }

    /// Serves at most `count` of those who had arrived by `line`, in their order; how many. `act` is told how many were served
    /// before. After an error it stops, and reports it if nobody was served.
    fn serve<'a>(
        &'a self,
        key: Key,
        line: Line,
        count: u32,
        mask: u32,
        act: impl Fn(&Candidate<'a>, u32) -> Result<Served>,
    ) -> Result<u32> {
        let (mut served, mut failed) = (0, Ok(()));
        if count == 0 {
            return Ok(0);
        }
        self.memory.walk(key, line, |slot, queued| {
            match self.serve_one(slot, queued, mask, |candidate| act(candidate, served)) {
                Ok(true) => served += 1,
                Ok(false) => {}
                Err(error) => failed = Err(error),
            }
            if served == count || failed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if served == 0 { failed.map(|()| 0) } else { Ok(served) }
    }

    /// Serves one entry if it is queued there, and its bitset meets the mask.
    fn serve_one<'a>(
        &'a self,
        slot: u32,
        queued: Queued,
        mask: u32,
        act: impl Fn(&Candidate<'a>) -> Result<Served>,
    ) -> Result<bool> {
        let Some(waiter) = self.memory.waiter(queued.waiter) else { return Ok(false) };
        for _ in 0..RETRIES {
            let seen = Word::of(waiter);
            match seen.state() {
                // What is over, or who died: nobody else will take it out of the line.
                _ if seen.is_dead() || seen.state() == State::Idle => {
                    self.memory.empty(slot, queued);
                    return Ok(false);
                }
                State::Woken => {
                    // Perhaps by a thread that is stopped before it could send the wake (O-wake). Its wait is over, and
                    // what is left of it is not met again.
                    self.send_wake(waiter);
                    self.memory.empty(slot, queued);
                    return Ok(false);
                }
                State::Idle => return Ok(false),
                State::Arriving if planted(Bug::PassArriving) => return Ok(false),
                State::Arriving => {
                    // O-arrive: it compares again.
                    if waiter.exchange(seen, seen.arriving(seen.sleep())) {
                        return Ok(false);
                    }
                }
                State::Waiting => {
                    let place = self.memory.place(queued.waiter, queued.entry);
                    let meets = place.is_some_and(|place| place.mask.load() & mask != 0);
                    if !meets || !self.is_queued(slot, queued, seen) {
                        return Ok(false);
                    }
                    if let Served::Yes = act(&Candidate { slot, queued, waiter, seen })? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether the slot is where the entry is queued, as long as the waiter's word is `seen` (I-waiter-1).
    fn is_queued(&self, slot: u32, queued: Queued, seen: Word) -> bool {
        let there = self.memory.slot(slot).and_then(|word| Queued::from_pair(word.load()));
        self.memory.queued_at(queued.waiter, seen, queued.entry) == Some(slot) && there == Some(queued)
    }

    fn wake_one(&self, candidate: &Candidate) -> Served {
        let Candidate { slot, queued, waiter, seen } = *candidate;
        // If this thread is killed in between, the kernel sends the wake.
        let head = self.head();
        let owed = head.owe(Table::named(waiter, Bug::NoWill));
        let exchanged = waiter.exchange(seen, seen.woken(queued.entry));
        if exchanged {
            self.send_wake(waiter);
        }
        head.settle(owed);
        if !exchanged {
            return Served::LookAgain;
        }
        // O-wake. From here on the next call need not meet it, even before its thread ran.
        self.memory.empty(slot, queued);
        Served::Yes
    }

    fn send_wake(&self, waiter: &Waiter) {
        if !planted(Bug::NoWake) {
            // The word is there and aligned: nothing can be refused.
            let _ = kernel_futex::wake(waiter.word.futex_address(), 1, MATCH_ANY, self.scope);
        }
    }

    fn move_one(&self, candidate: &Candidate, to: Key) -> Result<Served> {
        let Candidate { slot, queued, waiter, seen } = *candidate;
        if !planted(Bug::NoFold) {
            self.memory.fold(queued.waiter, waiter, seen);
        }
        let (number, moved) = self.memory.put(queued.waiter, queued.entry, to)?;
        if !waiter.exchange(seen, seen.with_moved(queued.entry, number)) {
            self.memory.empty(number, moved);
            return Ok(Served::LookAgain);
        }
        self.memory.empty(slot, queued);
        Ok(Served::Yes)
    }
}
