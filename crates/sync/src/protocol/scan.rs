// SPDX-License-Identifier: MIT OR Apache-2.0
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
use super::detached::is_nobodys;
use super::epoch::withdraw;
use super::waiter::Waiter;
use crate::Object;
use crate::arena::Arena;
use crate::arena::wait_set::Place;
use crate::format::entry::Entry;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::object_word::{Claimant, ObjectWord, W};
use crate::format::waiter_word::{WaiterState, WaiterWord};
use crate::kind::Kind;
use crate::planted::{Bug, planted};

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
    /// So many of them are valid.
    entries: [Option<(Place<'a>, Entry)>; AHEAD],
    count: usize,
    next: usize,
}

impl<'a> Ahead<'a> {
    fn forget(&mut self) {
        (self.count, self.next) = (0, 0);
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
        let entry = (*self.entries[..self.count].get(self.next)?)?;
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
            // Most queues are of one.
            if count == 0 {
                (self.entries[0], count) = (Some((place, entry)), 1);
                continue;
            }
            // Most entries are younger than the oldest few, so one comparison suffices.
            if count == AHEAD && !is_older(&self.entries[AHEAD - 1]) {
                continue;
            }
            let position = self.entries[..count].iter().position(is_older).unwrap_or(count);
            count = (count + 1).min(AHEAD);
            self.entries[position..count].rotate_right(1);
            self.entries[position] = Some((place, entry));
        }
        self.count = count;
        count > 0
    }
}

/// A waiter that a scan has found: its entry, and its word at that time.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub slot: &'a WaiterSlot,
    pub word: WaiterWord,
    pub entry: Entry,
}

/// The result of a scan.
struct Scan<'a> {
    /// The oldest eligible waiter.
    candidate: Option<Candidate<'a>>,
    /// Somebody waits, eligible or not.
    anyone: bool,
}

/// The result of an offer: a word for the object, and for whom it is claimed there.
#[must_use]
pub(crate) struct Offered<'a> {
    pub word: ObjectWord,
    pub candidate: Option<Candidate<'a>>,
}

impl Offered<'_> {
    /// A word that is claimed for no waiter.
    pub(crate) fn to_nobody(word: ObjectWord) -> Self {
        Offered { word, candidate: None }
    }
}

/// Offers what an unclaimed word has available. Returns the word with a claim for the oldest eligible waiter, or at
/// rest. The caller must confirm it by an exchange from the word that was current at the call
/// ([`super::claim::put`]).
pub(crate) fn offer<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    slot: &'a ObjectSlot,
    word: ObjectWord,
    ahead: &mut Ahead<'a>,
) -> Offered<'a> {
    let kind = slot.kind();
    let found = scan(arena, waiter, index, slot, kind, word, ahead);
    let Some(candidate) = found.candidate else {
        let rest = kind.rested(word);
        return Offered::to_nobody(if found.anyone { rest } else { rest.without(W) });
    };
    if kind.carries_first(word) {
        return Offered::to_nobody(word.claimed_for(Claimant::CarryUp, 0));
    }
    let entry = candidate.entry;
    let word = word.claimed_for(Claimant::Waiter(entry.waiter()), entry.ticket().tag());
    Offered { word, candidate: Some(candidate) }
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
) -> Scan<'a> {
    if !kind.admits_anybody(word) {
        return scan_each(arena, waiter, index, slot, kind, word);
    }
    for _ in 0..STALE_TOLERATED {
        while let Some((place, entry)) = ahead.next() {
            if let Some(candidate) = stands(arena, waiter, index, slot, place, entry) {
                return Scan { candidate: Some(candidate), anyone: true };
            }
        }
        if !ahead.gather(arena.places(&waiter.budget, slot), kind.is_broadcast(word)) {
            return Scan { candidate: None, anyone: false };
        }
    }
    scan_each(arena, waiter, index, slot, kind, word)
}

/// The waiter of an entry that stands for a wait; empties the place of one that does not.
fn stands<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    object: &ObjectSlot,
    place: Place<'_>,
    entry: Entry,
) -> Option<Candidate<'a>> {
    let Some(slot) = arena.waiter_slot(entry.waiter()) else {
        place.empty(entry);
        return None;
    };
    let word = slot.met(entry);
    if !slot.backs(word, entry, object.resident(index)) {
        clear(arena, waiter, index, place, entry, word);
        return None;
    }
    if is_nobodys(arena, slot, word) {
        let ticket = if planted(Bug::WithdrawsHeir) { slot.load().ticket() } else { entry.ticket() };
        withdraw(slot, ticket);
        clear(arena, waiter, index, place, entry, slot.load());
        return None;
    }
    Some(Candidate { slot, word, entry })
}

fn scan_each<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    slot: &ObjectSlot,
    kind: Kind,
    word: ObjectWord,
) -> Scan<'a> {
    let mut scan: Scan<'a> = Scan { candidate: None, anyone: false };
    for place in arena.places(&waiter.budget, slot) {
        let Some(entry) = place.entry().filter(|entry| !entry.is_all()) else { continue };
        let is_later = |first: Candidate<'_>| first.entry.ticket().is_before(entry.ticket());
        if scan.candidate.is_some_and(is_later) {
            continue;
        }
        let Some(candidate) = stands(arena, waiter, index, slot, place, entry) else { continue };
        scan.anyone = true;
        if kind.admits(word, &slot.extra, candidate.slot.owner()) {
            scan.candidate = Some(candidate);
        }
    }
    scan
}

/// Empties a place whose waiter no longer waits for this object, after finishing the operation that satisfied it. An entry of
/// another wait set stays (I-set-3).
pub(crate) fn clear(arena: &Arena, waiter: &Waiter, index: u32, place: Place<'_>, entry: Entry, seen: WaiterWord) {
    let same_epoch = seen.ticket() == entry.ticket();
    if same_epoch && is_of_another(arena, index, entry, seen) && !planted(Bug::ClearAll) {
        return;
    }
    if same_epoch && seen.state() == WaiterState::Satisfied {
        finish_elsewhere(arena, waiter, index, seen);
    }
    place.empty(entry);
}

/// Returns true if this is the entry of a wait that may not be over, for another object: one whose wait set has the chunk by now, or an
/// earlier one of this slot.
fn is_of_another(arena: &Arena, index: u32, entry: Entry, seen: WaiterWord) -> bool {
    let may_stand = matches!(seen.state(), WaiterState::Waiting | WaiterState::Queueing | WaiterState::Satisfied);
    let here = arena.object_slot(index).map(|slot| slot.resident(index));
    let listed = arena.waiter_slot(entry.waiter()).and_then(|slot| slot.list.get(entry.position()));
    may_stand && listed.map(|object| Object(object.load())) != here
}
