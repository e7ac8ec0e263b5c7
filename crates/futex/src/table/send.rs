// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends wakes, to one thread or to several at once.
//!
//! A thread sleeps on its own word. A call for each woken thread costs more than the calls themselves, because after
//! each the waker can lose its processor to the thread that it woke. So in a process's own table a wake of several
//! decides about a few of them ([`FEW`]), then has the kernel move them from their own words to one word of the table,
//! the *gathering place*, and wakes everybody there with one call.
//!
//! # Transitions of where a woken thread sleeps
//! | from | to | by | how |
//! | --- | --- | --- | --- |
//! | its own word | the gathering place | a waker that has it among its few | `FUTEX_CMP_REQUEUE`, while its own word is 0 |
//! | its own word | nowhere: it runs | a waker that sends one wake | `FUTEX_WAKE` |
//! | the gathering place | nowhere | anybody | `FUTEX_WAKE` of all |
//! | either | nowhere | the kernel | deadline, signal: it finds that it was woken |
//!
//! # Invariants
//! * I-send-1: every thread that sleeps at the gathering place was woken, because the kernel compares when it moves the
//!   thread, and a thread's own word is not 0 while its wait continues. So waking everybody there is always right.
//!
//! # Order
//! * O-sent: a wake is sent in two steps. The first wakes or moves the sleeper on its own word. The second, unless the
//!   first woke it, wakes everybody at the gathering place. Within a wait no thread returns from there to its own word.
//!   So after both steps the thread runs, even if another thread that was sending it the same wake was stopped halfway.
//! * O-count: the word of the gathering place counts the wakers that are moving threads there. Each counts itself in
//!   before it moves the first thread (a fence between), and out after it woke them. So a waker that finds nobody on
//!   the own word, and then 0 there (a fence between), has nobody to wake.
//!
//! # Stopped threads
//! A waker stopped between its decision and the last call delays its few, at most until the next call for the same
//! futex meets them (O-wake in [`super::serve`]), or another waker wakes the gathering place.

use ntux_platform::atomic::fence;
use ntux_platform::error as number;
use ntux_platform::kernel_futex::{self, MATCH_ANY, Scope};

use super::Table;
use super::line::Queued;
use super::memory::Waiter;
use crate::planted::{Bug, planted};

/// The most threads that a waker decides about before it sends their wakes.
const FEW: usize = if cfg!(ntux_explore) { 2 } else { 32 };

/// Woken threads whose wakes are not sent yet, with their slots.
pub struct Unsent<'a> {
    table: &'a Table,
    entries: [Option<(u32, Queued)>; FEW],
    count: usize,
}

impl<'a> Unsent<'a> {
    pub fn new(table: &'a Table) -> Unsent<'a> {
        Unsent { table, entries: [None; FEW], count: 0 }
    }

    /// Adds one.
    pub fn push(&mut self, slot: u32, queued: Queued) {
        self.entries[self.count] = Some((slot, queued));
        self.count += 1;
        if self.count == FEW {
            self.send();
        }
    }

    /// Sends the wakes, then takes the entries out of their line (O-wake in `serve.rs`).
    pub fn send(&mut self) {
        let (table, count) = (self.table, std::mem::take(&mut self.count));
        let entries = &self.entries[..count];
        let waiters = || entries.iter().flatten().filter_map(|(_, queued)| table.memory.waiter(queued.waiter));
        match count {
            0 => return,
            1 => waiters().for_each(|waiter| table.send_wake(waiter)),
            _ => {
                let gathering = &table.memory.header().gathering;
                gathering.fetch_add(1);
                fence();
                waiters().for_each(|waiter| table.gather(waiter));
                table.wake_on(table.gathering_place(), u32::MAX);
                gathering.fetch_add(u32::MAX);
            }
        }
        for &(slot, queued) in entries.iter().flatten() {
            table.memory.empty(slot, queued);
        }
    }
}

impl Table {
    /// Sends one wake.
    pub fn send_wake(&self, waiter: &Waiter) {
        if planted(Bug::NoWake) {
            return;
        }
        let own = waiter.word.futex_address();
        if self.wake_on(own, 1) != 0 {
            return;
        }
        fence();
        if self.memory.header().gathering.load() != 0 {
            self.wake_on(if planted(Bug::PassGathered) { own } else { self.gathering_place() }, u32::MAX);
        }
    }

    fn wake_on(&self, word: *const u32, count: u32) -> u32 {
        // The word is mapped and aligned, so no error is possible.
        kernel_futex::wake(word, count, MATCH_ANY, self.scope).unwrap_or(0)
    }

    /// Returns whether wakes may be batched. In shared memory the kernel can send only one wake for a thread that dies,
    /// so each is sent at once there.
    pub fn gathers(&self) -> bool {
        self.scope == Scope::Private
    }

    /// Moves a woken thread to the gathering place, if it sleeps on its own word.
    fn gather(&self, waiter: &Waiter) {
        let (own, place) = (waiter.word.futex_address(), self.gathering_place());
        match kernel_futex::requeue(own, place, self.scope, 0, 1, 0) {
            // It waits again, so this wake has arrived.
            Ok(_) | Err(number::EAGAIN) => {}
            // The system cannot move sleepers.
            Err(_) => drop(self.wake_on(own, 1)),
        }
    }

    fn gathering_place(&self) -> *const u32 {
        core::ptr::from_ref(&self.memory.header().gathering).cast()
    }
}
