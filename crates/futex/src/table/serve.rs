//! Serving a line: waking or moving those who are queued for a futex, first come, first served.
//!
//! A call serves those only who had arrived when it began. Each is served by one exchange on the waiter's word, and
//! counted by whoever made that exchange. So two calls at the same time share the line between them; none serves a
//! waiter twice, and none reaches past somebody who came earlier.
//!
//! # Order
//! * O-wake: who was woken stays in the line until the wake was sent, and whoever meets it there sends it again. So a
//!   waker that is stopped between the two delays those that it woke, at most until the next call for the same futex,
//!   and no others (`Rules::Late` in [`crate::spec`]). In a process's own table these are up to a few ([`super::send`]),
//!   all of them threads that the same call, stopped before it woke them, would have left asleep just so; but one behind
//!   them that had not fallen asleep yet can go on before them.

use std::ops::ControlFlow;

use ntux_platform::atomic::fence;
use ntux_platform::kernel_futex::MATCH_ANY;

use super::key::Key;
use super::line::{Line, Queued};
use super::memory::Waiter;
use super::send::Unsent;
use super::waiter::{State, Word};
use super::walk::Serve;
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

/// What is done with each candidate; it is told how many were served before.
trait Act<'a>: Fn(&Candidate<'a>, u32, &mut Unsent<'a>) -> Result<Served> {}

impl<'a, F: Fn(&Candidate<'a>, u32, &mut Unsent<'a>) -> Result<Served>> Act<'a> for F {}

/// One call that serves a line.
struct Service<'a, A> {
    table: &'a Table,
    count: u32,
    mask: u32,
    act: A,
    served: u32,
    failed: Result<()>,
    unsent: Unsent<'a>,
}

impl<'a, A: Act<'a>> Serve for Service<'a, A> {
    fn meet(&mut self, slot: u32, queued: Queued) -> ControlFlow<()> {
        match self.serve_one(slot, queued) {
            Ok(true) => self.served += 1,
            Ok(false) => {}
            Err(error) => self.failed = Err(error),
        }
        if self.served == self.count || self.failed.is_err() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn settle(&mut self) {
        self.unsent.send();
    }
}

impl<'a, A: Act<'a>> Service<'a, A> {
    /// Serves one entry if it is queued there, and its bitset meets the mask.
    fn serve_one(&mut self, slot: u32, queued: Queued) -> Result<bool> {
        let memory = &self.table.memory;
        let Some(waiter) = memory.waiter(queued.waiter) else { return Ok(false) };
        for _ in 0..RETRIES {
            let seen = Word::of(waiter);
            match seen.state() {
                // What is over, or who died: nobody else will take it out of the line.
                _ if seen.is_dead() || seen.state() == State::Idle => {
                    memory.empty(slot, queued);
                    return Ok(false);
                }
                State::Woken => {
                    // Perhaps by a thread that is stopped before it could send the wake (O-wake). Its wait is over, and
                    // what is left of it is not met again.
                    self.send_again(slot, queued, waiter);
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
                    let place = memory.place(queued.waiter, queued.entry);
                    let meets = place.is_some_and(|place| place.mask.load() & self.mask != 0);
                    if !meets || !self.table.is_queued(slot, queued, seen) {
                        return Ok(false);
                    }
                    let candidate = Candidate { slot, queued, waiter, seen };
                    if let Served::Yes = (self.act)(&candidate, self.served, &mut self.unsent)? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    fn send_again(&mut self, slot: u32, queued: Queued, waiter: &Waiter) {
        if self.table.gathers() {
            return self.unsent.push(slot, queued);
        }
        self.table.send_wake(waiter);
        self.table.memory.empty(slot, queued);
    }
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
        let wake = |candidate: &Candidate, _, unsent: &mut Unsent| Ok(self.wake_one(candidate, unsent));
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
        let serve = |candidate: &Candidate, served, unsent: &mut Unsent| match served {
            _ if served < wake => Ok(self.wake_one(candidate, unsent)),
            _ if from == to => Ok(Served::Yes),
            _ => {
                // Who was woken does not wait for who is moved.
                unsent.send();
                self.move_one(candidate, to)
            }
        };
        self.serve(from, line, wake.saturating_add(moved), MATCH_ANY, serve)
    }

    /// Serves at most `count` of those who had arrived by `line`, in their order; how many. `act` is told how many were served
    /// before. After an error it stops, and reports it if nobody was served.
    fn serve<'a>(&'a self, key: Key, line: Line, count: u32, mask: u32, act: impl Act<'a>) -> Result<u32> {
        if count == 0 {
            return Ok(0);
        }
        let mut service =
            Service { table: self, count, mask, act, served: 0, failed: Ok(()), unsent: Unsent::new(self) };
        self.memory.walk(key, line, &mut service);
        if service.served == 0 { service.failed.map(|()| 0) } else { Ok(service.served) }
    }

    /// Whether the slot is where the entry is queued, as long as the waiter's word is `seen` (I-waiter-1).
    fn is_queued(&self, slot: u32, queued: Queued, seen: Word) -> bool {
        let there = self.memory.slot(slot).and_then(|word| Queued::from_pair(word.load()));
        self.memory.queued_at(queued.waiter, seen, queued.entry) == Some(slot) && there == Some(queued)
    }

    fn wake_one(&self, candidate: &Candidate, unsent: &mut Unsent) -> Served {
        let Candidate { slot, queued, waiter, seen } = *candidate;
        let woken = seen.woken(queued.entry);
        if self.gathers() {
            return if waiter.exchange(seen, woken) {
                unsent.push(slot, queued);
                Served::Yes
            } else {
                Served::LookAgain
            };
        }
        // If this thread is killed in between, the kernel sends the wake.
        let head = self.head();
        let owed = head.owe(Table::named(waiter, Bug::NoWill));
        let exchanged = waiter.exchange(seen, woken);
        if exchanged {
            self.send_wake(waiter);
        }
        head.forget(owed);
        if !exchanged {
            return Served::LookAgain;
        }
        // O-wake. From here on the next call need not meet it, even before its thread ran.
        self.memory.empty(slot, queued);
        Served::Yes
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
