// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serves a line: wakes or moves the waiters of a futex, first come, first served.
//!
//! A call serves only waiters that had arrived when it began. It serves each with one exchange on the waiter's word,
//! and the call that made the exchange counts it. So two simultaneous calls share the line between them; neither serves
//! a waiter twice, and neither passes one that came earlier.
//!
//! # Order
//! * O-wake: a woken thread stays in the line until its wake was sent, and any call that meets it there sends the wake
//!   again. So a waker stopped in between delays only the threads that it woke, at most until the next call for the
//!   same futex (`Rules::Late` in `tests/model`). In a process's own table these are up to a few ([`super::send`]).
//!   The same call, stopped before it woke them, would also have left them asleep; but a thread behind them that had
//!   not fallen asleep yet can run before them.

use std::ops::ControlFlow;

use ntux_platform::atomic::fence;
use ntux_platform::kernel_futex::{MATCH_ANY, Scope};

use super::key::Key;
use super::line::{Line, Queued};
use super::memory::Waiter;
use super::seat::Owner;
use super::send::Unsent;
use super::waiter::{WaitState, Word};
use super::walk::Serve;
use super::{RETRIES, Table};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// A waiter, as of one value of its word.
struct Candidate<'a> {
    slot: u32,
    queued: Queued,
    waiter: &'a Waiter,
    seen: Word,
}

/// The result of serving a candidate.
enum Served {
    Yes,
    /// The word changed meanwhile.
    LookAgain,
}

/// The operation on each candidate. It gets the number served before.
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

    fn flush(&mut self) {
        self.unsent.send();
    }
}

impl<'a, A: Act<'a>> Service<'a, A> {
    /// Serves one entry if it is queued there, and its bitset meets the mask.
    fn serve_one(&mut self, slot: u32, queued: Queued) -> Result<bool> {
        let memory = &self.table.memory;
        let Some(waiter) = memory.waiter(queued.waiter) else { return Ok(false) };
        for _ in 0..RETRIES {
            let is_dead = self.table.scope == Scope::Shared && Owner::of(waiter).is_dead();
            let seen = Word::of(waiter);
            if is_dead && !seen.is_over() {
                // O-dead: nobody returns from this wait.
                memory.empty(slot, queued);
                return Ok(false);
            }
            match seen.state() {
                // Perhaps nobody else removes the entry from the line.
                WaitState::Idle => {
                    memory.empty(slot, queued);
                    return Ok(false);
                }
                WaitState::Woken => {
                    // Perhaps by a thread that was stopped before it could send the wake (O-wake). The wait is over,
                    // and its remaining entries are not met again.
                    self.send_again(slot, queued, waiter);
                    return Ok(false);
                }
                WaitState::Arriving if planted(Bug::PassArriving) => return Ok(false),
                WaitState::Arriving => {
                    // O-arrive: makes it compare again.
                    if waiter.exchange(seen, seen.arriving(seen.sleep())) {
                        return Ok(false);
                    }
                }
                WaitState::Waiting => {
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
    /// Wakes at most `count` waiters of the futex whose bitset meets `mask`. Returns their number.
    ///
    /// Without a waiter it reads one word. Async-signal-safe.
    #[inline(always)]
    pub fn wake(&self, key: Key, count: u32, mask: u32) -> u32 {
        fence();
        let line = Line::of(self.memory.bucket(key.hash()));
        if line.present() == 0 { 0 } else { self.wake_present(key, line, count, mask) }
    }

    /// A separate function, so that it costs nothing when nobody waits.
    #[cold]
    #[inline(never)]
    fn wake_present(&self, key: Key, line: Line, count: u32, mask: u32) -> u32 {
        let wake = |candidate: &Candidate, _, unsent: &mut Unsent| Ok(self.wake_one(candidate, unsent));
        self.serve(key, line, count, mask, wake).unwrap_or(0)
    }

    /// If `compare` holds, wakes at most `wake` waiters of the futex `from`, and moves at most `moved` others to `to`.
    /// Returns the number of both together. Ignores bitsets; a moved waiter keeps its own. Async-signal-safe.
    ///
    /// Errors: `Differs`; `Exhausted` without room for the first waiter to be moved.
    pub fn requeue(&self, from: Key, to: Key, wake: u32, moved: u32, compare: impl Fn() -> bool) -> Result<u32> {
        fence();
        let line = Line::of(self.memory.bucket(from.hash()));
        if !compare() {
            return Err(Error::Differs);
        }
        if line.present() == 0 {
            return Ok(0);
        }
        // In one pass, so that no waiter is moved that was still arriving, and so passed over, when others were woken.
        let serve = |candidate: &Candidate, served, unsent: &mut Unsent| match served {
            _ if served < wake => Ok(self.wake_one(candidate, unsent)),
            _ if from == to => Ok(Served::Yes),
            _ => {
                // Woken threads do not wait for the moves.
                unsent.send();
                self.move_one(candidate, to)
            }
        };
        self.serve(from, line, wake.saturating_add(moved), MATCH_ANY, serve)
    }

    /// Serves at most `count` of the waiters that had arrived by `line`, in order. Returns their number. `act` gets the
    /// number served before. After an error it stops, and returns the error if nobody was served.
    fn serve<'a>(&'a self, key: Key, line: Line, count: u32, mask: u32, act: impl Act<'a>) -> Result<u32> {
        if count == 0 {
            return Ok(0);
        }
        let mut service =
            Service { table: self, count, mask, act, served: 0, failed: Ok(()), unsent: Unsent::new(self) };
        self.memory.walk(key, line, &mut service);
        if service.served == 0 { service.failed.map(|()| 0) } else { Ok(service.served) }
    }

    /// Returns whether the entry is queued in this slot, while the waiter's word is `seen` (I-waiter-1).
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
        let word = waiter.word.futex_address();
        let owed = head.owe(if planted(Bug::NoWill) { core::ptr::null() } else { word });
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
        let (number, moved) = self.memory.put(queued.waiter, queued.entry, to, |_| ())?;
        if !waiter.exchange(seen, seen.with_moved(queued.entry, number)) {
            self.memory.empty(number, moved);
            return Ok(Served::LookAgain);
        }
        self.memory.empty(slot, queued);
        Ok(Served::Yes)
    }
}
