// SPDX-License-Identifier: MIT OR Apache-2.0
//! Walks along a line: meets the entries of a futex in order of arrival.
//!
//! In each ring the walk follows the tickets from `head` on from slot to slot. If there are more tickets than slots,
//! because an entry stays while others come and go, one slot stands for several, and the walk sweeps the whole ring for
//! the oldest entries.
//!
//! A walk moves `head` forward past finished entries (I-line-3), so the next one begins there.

use std::ops::ControlFlow;

use ntux_platform::atomic::Word128;

use super::key::Key;
use super::line::{Line, Queued, Ticket, pass, stamp_in_use, waiter_in};
use super::memory::Memory;
use super::ring::{Ring, Slot};
use crate::planted::{Bug, planted};

/// How many of the oldest entries one sweep remembers.
const AHEAD: usize = if cfg!(ntux_explore) { 2 } else { 16 };

/// An entry and its slot.
#[derive(Clone, Copy)]
struct Found {
    ticket: Ticket,
    slot: u32,
    queued: Queued,
}

/// The oldest entries of a ring, in order, as one sweep found them.
#[derive(Default)]
struct Ahead {
    found: [Option<Found>; AHEAD],
    count: usize,
}

impl Ahead {
    fn insert(&mut self, one: Found) {
        let is_later = |other: &Option<Found>| other.is_some_and(|other| one.ticket.is_before(other.ticket));
        if self.count == AHEAD && !is_later(&self.found[AHEAD - 1]) {
            return;
        }
        let position = self.found[..self.count].iter().position(is_later).unwrap_or(self.count);
        self.count = (self.count + 1).min(AHEAD);
        self.found[position..self.count].rotate_right(1);
        self.found[position] = Some(one);
    }
}

/// The purpose of a walk.
pub trait Serve {
    /// Called with each entry and its slot, oldest first, until it breaks.
    fn meet(&mut self, slot: u32, queued: Queued) -> ControlFlow<()>;
    /// Completes deferred work, before the walk checks which entries are still there.
    fn flush(&mut self);
}

/// A walk along one line.
struct Walk<'a, S> {
    memory: &'a Memory,
    key: Key,
    serve: &'a mut S,
    /// Everything before is finished, so finished entries here let `head` move on.
    moves_on: bool,
}

impl Memory {
    /// Shows `serve` the entries of a futex that had arrived by `line`.
    pub fn walk(&self, key: Key, line: Line, serve: &mut impl Serve) {
        let bucket = self.bucket(key.hash());
        let head = Ticket::from_number(bucket.head.load());
        let mut walk = Walk { memory: self, key, serve, moves_on: true };
        let mut front = line.next();
        let mut rings = self.rings(key.hash(), line.ring()).peekable();
        while let Some(ring) = rings.next() {
            let (begin, end) = ring.span(head, line);
            if !begin.is_before(end) || planted(Bug::NewRingOnly) && !ring.is_named_by(line) {
                continue;
            }
            let (flow, over) = match begin.until(end) <= ring.slots() as u64 {
                true => walk.follow(&ring, begin, end),
                false => walk.sweep(&ring, begin, end),
            };
            if walk.moves_on && (over != end || flow.is_break()) {
                // The tickets up to there are finished in this ring; some of them can be queued in the next one
                // (I-ring-2).
                let next = rings.peek().and_then(Ring::begin).filter(|_| !planted(Bug::PassNextRing));
                front = next.filter(|next| next.is_before(over)).unwrap_or(over);
                walk.moves_on = false;
            }
            if flow.is_break() {
                break;
            }
        }
        if head.is_before(front) {
            // A faster thread knows as much.
            let _ = bucket.head.compare_exchange(head.number(), front.number());
        }
    }
}

impl<S: Serve> Walk<'_, S> {
    fn show(&mut self, slot: u32, queued: Queued) -> ControlFlow<()> {
        if queued.key == self.key { self.serve.meet(slot, queued) } else { ControlFlow::Continue(()) }
    }

    /// Prefetches the word of the next waiter, which this call or another one serves next.
    fn expect(&self, word: &Word128) {
        if let Some(waiter) = waiter_in(word).and_then(|waiter| self.memory.waiter(waiter)) {
            waiter.word.expect_exchange();
        }
    }

    /// Follows the tickets, each to its own slot. Returns the ticket before which all of this ring are finished.
    fn follow(&mut self, ring: &Ring<'_>, begin: Ticket, end: Ticket) -> (ControlFlow<()>, Ticket) {
        let (mut flow, mut ticket) = (ControlFlow::Continue(()), begin);
        while ticket != end && flow.is_continue() {
            let turn = ticket;
            let Slot { number, word } = ring.slot(turn);
            ticket = ticket.plus(1);
            if ticket != end {
                self.expect(ring.slot(ticket).word);
            }
            if let Some(stamp) = stamp_in_use(word)
                && stamp == turn.stamp()
                && let Some(queued) = Queued::from_pair(word.load()).filter(|queued| queued.stamp == stamp)
            {
                flow = self.show(number, queued);
            }
        }
        self.serve.flush();
        let mut over = begin;
        while self.moves_on && over != ticket && pass(ring.slot(over).word, over.plus(1)) {
            over = over.plus(1);
        }
        (flow, over)
    }

    /// Sweeps the whole ring repeatedly for the next entries. Returns the same.
    fn sweep(&mut self, ring: &Ring<'_>, begin: Ticket, end: Ticket) -> (ControlFlow<()>, Ticket) {
        let mut after = None;
        for _ in 0..=ring.slots() / AHEAD {
            let ahead = self.ahead(ring, begin, end, after);
            for &Found { slot, queued, .. } in ahead.found.iter().flatten() {
                let flow = self.show(slot, queued);
                if flow.is_break() {
                    self.serve.flush();
                    return (flow, self.clear(ring, begin, end));
                }
            }
            match ahead.found[AHEAD - 1] {
                Some(last) => after = Some(last.ticket),
                None => break,
            }
        }
        self.serve.flush();
        (ControlFlow::Continue(()), self.clear(ring, begin, end))
    }

    /// The oldest entries in a ring after that ticket.
    fn ahead(&self, ring: &Ring<'_>, begin: Ticket, end: Ticket, after: Option<Ticket>) -> Ahead {
        let mut ahead = Ahead::default();
        for Slot { number, word } in ring.each_slot() {
            let Some(stamp) = stamp_in_use(word) else { continue };
            let Some(queued) = Queued::from_pair(word.load()).filter(|queued| queued.stamp == stamp) else { continue };
            let ticket = begin.with_stamp(stamp);
            if queued.key == self.key && ticket.is_before(end) && after.is_none_or(|after| after.is_before(ticket)) {
                ahead.insert(Found { ticket, slot: number, queued });
            }
        }
        ahead
    }

    /// Returns the ticket before which all of a ring are finished, and ensures that they stay so.
    fn clear(&self, ring: &Ring<'_>, begin: Ticket, end: Ticket) -> Ticket {
        if !self.moves_on {
            return begin;
        }
        let tickets = ring.each_slot().filter_map(|slot| stamp_in_use(slot.word)).map(|stamp| begin.with_stamp(stamp));
        let front = tickets.fold(end, |front, ticket| if ticket.is_before(front) { ticket } else { front });
        if front != begin && ring.each_slot().all(|slot| pass(slot.word, front)) { front } else { begin }
    }
}
