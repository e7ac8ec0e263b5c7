//! Chooses the waiter to which an object is offered: the search through its wait set.
//!
//! # Role
//! A scan finds the oldest eligible wait-any waiter, and makes the claim for it ([`super::claim`] decides and settles
//! it). On the way it empties entries whose epoch is over, and finishes the operations that satisfied the waiters it
//! passes over (C4), which can lead to any other operation.
//!
//! A scan changes no other word. The caller confirms its result by an exchange of the object's word (O-set in
//! [`super::claim`]), so a scan that was overtaken has no effect.

use super::claim::finish_elsewhere;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::arena::wait_set::Place;
use crate::format::entry::Entry;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::object_word::{Claimant, ObjectWord, W};
use crate::format::ticket::Ticket;
use crate::format::waiter_word::{WaiterState, WaiterWord};
use crate::kind::Kind;

/// Passes over a wait set in which a scan considers only the oldest entries, before it considers all of them in one.
const STALE_TOLERATED: u32 = 32;
/// How many of the oldest entries one pass remembers.
const AHEAD: usize = 16;

/// The oldest wait-any entries of a wait set, as one pass found them: the next waiters of a broadcast or a release of
/// many units.
///
/// Valid while nobody can have joined the queue since then: until the object has rested, or always in a broadcast,
/// which serves everybody. Others may have served some of them meanwhile, so each is checked again before it is offered
/// anything.
#[derive(Default)]
pub(crate) struct Ahead<'a> {
    entries: [Option<(Place<'a>, Entry)>; AHEAD],
    next: usize,
}

impl<'a> Ahead<'a> {
    fn forget(&mut self) {
        self.entries = Default::default();
        self.next = 0;
    }

    /// Called when another thread has changed the object's word, from `seen` to `now`, before the last one was offered
    /// anything.
    ///
    /// If each of several helpers had to gather again whenever another one is faster, they would scan the wait set once
    /// for each waiter, and not once for sixteen.
    pub(crate) fn other_was_faster(&mut self, kind: Kind, seen: ObjectWord, now: ObjectWord) {
        if kind.has_served_only(seen, now) {
            self.next = self.next.saturating_sub(1);
        } else {
            self.forget();
        }
    }

    fn next(&mut self) -> Option<(Place<'a>, Entry)> {
        let entry = (*self.entries.get(self.next)?)?;
        self.next += 1;
        Some(entry)
    }

    /// Returns false if there are none. In a broadcast the order does not matter, because all are served before any of
    /// them returns (C2), so the pass may end early.
    fn gather(&mut self, places: impl Iterator<Item = Place<'a>>, broadcast: bool) -> bool {
        self.forget();
        let mut count = 0;
        for place in places {
            if broadcast && count == AHEAD {
                break;
            }
            let Some(entry) = place.entry().filter(|entry| !entry.is_all()) else { continue };
            let is_older = |other: &Option<(Place<'a>, Entry)>| {
                other.is_some_and(|(_, other)| entry.ticket().is_before(other.ticket()))
            };
            // Most entries are younger than the oldest few, so one comparison suffices.
            if count == AHEAD && !is_older(&self.entries[AHEAD - 1]) {
                continue;
            }
            let position = self.entries[..count].iter().position(is_older).unwrap_or(count);
            count = (count + 1).min(AHEAD);
            self.entries[position..count].rotate_right(1);
            self.entries[position] = Some((place, entry));
        }
        count > 0
    }
}

/// The result of a scan.
pub(crate) struct Scan {
    /// The oldest eligible waiter.
    candidate: Option<(u32, Ticket)>,
    /// Somebody waits, eligible or not.
    anyone: bool,
}

/// Offers what an unclaimed word has available. Returns the word with a claim for the oldest eligible waiter, or at
/// rest. The caller must confirm it by an exchange from the word that was current at the call.
pub(crate) fn offer<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    slot: &'a ObjectSlot,
    word: ObjectWord,
    ahead: &mut Ahead<'a>,
) -> ObjectWord {
    let kind = slot.kind();
    let found = scan(arena, waiter, index, slot, kind, word, ahead);
    let Some((candidate, ticket)) = found.candidate else {
        let rest = kind.rested(word);
        return if found.anyone { rest } else { rest.without(W) };
    };
    if kind.carries_first(word) {
        return word.claimed_for(Claimant::CarryUp, 0);
    }
    word.claimed_for(Claimant::Waiter(candidate), ticket.tag())
}

/// Searches for the oldest eligible wait-any waiter. On the way it finishes the operations that satisfied the waiters
/// it passes over (C4), and empties the places of those whose epoch is over.
fn scan<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    slot: &'a ObjectSlot,
    kind: Kind,
    word: ObjectWord,
    ahead: &mut Ahead<'a>,
) -> Scan {
    if !kind.admits_anybody(word) {
        return scan_each(arena, waiter, index, slot, kind, word);
    }
    for _ in 0..STALE_TOLERATED {
        while let Some((place, entry)) = ahead.next() {
            if stands(arena, waiter, index, slot, place, entry) {
                return Scan { candidate: Some((entry.waiter(), entry.ticket())), anyone: true };
            }
        }
        if !ahead.gather(arena.places(&waiter.budget, slot), kind.is_broadcast(word)) {
            return Scan { candidate: None, anyone: false };
        }
    }
    scan_each(arena, waiter, index, slot, kind, word)
}

/// Whether an entry stands for a wait; empties its place if not.
fn stands(arena: &Arena, waiter: &Waiter, index: u32, slot: &ObjectSlot, place: Place<'_>, entry: Entry) -> bool {
    let Some(other) = arena.waiter_slot(entry.waiter()) else {
        place.empty(entry);
        return false;
    };
    let seen = other.met(entry);
    let stands = other.backs(seen, entry, slot.resident(index));
    if !stands {
        clear(arena, waiter, index, place, entry, seen);
    }
    stands
}

fn scan_each(arena: &Arena, waiter: &Waiter, index: u32, slot: &ObjectSlot, kind: Kind, word: ObjectWord) -> Scan {
    let mut scan = Scan { candidate: None, anyone: false };
    for place in arena.places(&waiter.budget, slot) {
        let Some(entry) = place.entry().filter(|entry| !entry.is_all()) else { continue };
        let is_later = |(_, first): (u32, Ticket)| first.is_before(entry.ticket());
        if scan.candidate.is_some_and(is_later) || !stands(arena, waiter, index, slot, place, entry) {
            continue;
        }
        scan.anyone = true;
        let owner = arena.waiter_slot(entry.waiter()).map_or(0, WaiterSlot::owner);
        if kind.admits(word, &slot.extra, owner) {
            scan.candidate = Some((entry.waiter(), entry.ticket()));
        }
    }
    scan
}

/// Empties a place whose waiter no longer waits for this object, after finishing the operation that satisfied it.
pub(crate) fn clear(arena: &Arena, waiter: &Waiter, index: u32, place: Place<'_>, entry: Entry, seen: WaiterWord) {
    let same_epoch = seen.ticket() == entry.ticket();
    if same_epoch && seen.state() == WaiterState::Satisfied {
        finish_elsewhere(arena, waiter, index, seen);
    }
    // A waiter that is still `Waiting` with this ticket made the entry for an earlier object of this slot.
    place.empty(entry);
}
