// SPDX-License-Identifier: MIT OR Apache-2.0
//! An announced signal: its effect on the object, and its result for the requester.

use crate::format::layout::ObjectSlot;
use crate::format::object_word::{Claimant, ObjectWord, WA};
use crate::format::waiter_word::WaiterWord;
use crate::kind::{Signal, Step};
use crate::{Error, Object, Result};

/// The requester's result, stored in its word as a code and a value.
pub(super) fn encode(result: Result<u32>) -> (u8, u32) {
    match result {
        Ok(previous) => (0, previous),
        Err(Error::Overflow) => (1, 0),
        Err(Error::NotOwner) => (2, 0),
        Err(_) => (3, 0),
    }
}

pub(super) fn decode(word: WaiterWord) -> Result<u32> {
    match word.code() {
        0 => Ok(word.argument()),
        1 => Err(Error::Overflow),
        2 => Err(Error::NotOwner),
        _ => Err(Error::NoSuchObject),
    }
}

/// The result of a signal, derived from the word that it left, so it is the same for every helper.
pub(super) fn result(signal: Signal, object: Object, slot: &ObjectSlot, word: ObjectWord) -> Result<u32> {
    let offered = word.claimant() == Claimant::Origin;
    if !offered && slot.kind_if_live(object).is_none() {
        return Err(Error::NoSuchObject);
    }
    signal.result(word, &slot.extra, offered)
}

/// The word that claims an object as origin, with the effect of the signal, or with a carry that must come first.
pub(super) fn applied(signal: Signal, object: Object, slot: &ObjectSlot, seen: ObjectWord, tag: u32) -> ObjectWord {
    let idle = |word: ObjectWord| word.claimed_for(Claimant::OriginIdle, tag);
    let Some(kind) = slot.kind_if_live(object).filter(|&kind| signal.fits(kind)) else {
        return idle(seen);
    };
    // The flag may have been cleared since the signal was announced; a pulse must not mistake that for "nobody waits".
    match signal.step(seen.with(WA), kind, &slot.extra) {
        Step::Refused(_) | Step::Unchanged(_) => idle(seen),
        Step::Carry(claimant) => seen.claimed_for(claimant, 0),
        Step::Changed { next, offers: true, .. } => next.claimed_for(Claimant::Origin, tag),
        Step::Changed { next, offers: false, .. } => idle(next),
    }
}
