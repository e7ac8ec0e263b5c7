//! A signal that was announced: how it is stored, what it does to its object, and what its requester is told.

use crate::arena::format::ObjectSlot;
use crate::signal::{Signal, Step};
use crate::waiter_word::WaiterWord;
use crate::word::{Claimant, ObjectWord, WA};
use crate::{Error, Object, Result, mutex};

/// How a request is stored in its waiter's slot.
pub(super) fn pack(signal: Signal) -> u64 {
    let (number, argument) = match signal {
        Signal::Set => (1u64, 0),
        Signal::Reset => (2, 0),
        Signal::Pulse => (3, 0),
        Signal::Release(count) => (4, count),
        Signal::Unlock(owner) => (5, owner),
        Signal::Kill(owner) => (6, owner),
    };
    number << 32 | u64::from(argument)
}

pub(crate) fn unpack(bits: u64) -> Option<Signal> {
    let argument = bits as u32;
    match bits >> 32 {
        1 => Some(Signal::Set),
        2 => Some(Signal::Reset),
        3 => Some(Signal::Pulse),
        4 => Some(Signal::Release(argument)),
        5 => Some(Signal::Unlock(argument)),
        6 => Some(Signal::Kill(argument)),
        _ => None,
    }
}

/// What the requester is told; stored in its word as a code and a value.
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

/// The result of a signal, read off the word that it left behind: the same for every helper.
pub(super) fn result(signal: Signal, object: Object, slot: &ObjectSlot, word: ObjectWord) -> Result<u32> {
    let offered = word.claimant() == Claimant::Origin;
    match signal {
        _ if !offered && slot.kind_if_live(object).is_none() => Err(Error::NoSuchObject),
        Signal::Set | Signal::Pulse => Ok(u32::from(!offered)),
        Signal::Reset => Ok(word.value()),
        Signal::Release(count) if offered => Ok(word.value().wrapping_sub(count)),
        Signal::Release(0) => Ok(word.value()),
        Signal::Release(_) => Err(Error::Overflow),
        Signal::Unlock(_) if word.value() == 0 && offered => Ok(1),
        Signal::Unlock(owner) if word.value() == owner => Ok(mutex::count(word, &slot.extra).wrapping_add(1)),
        Signal::Kill(_) if offered => Ok(0),
        Signal::Unlock(_) | Signal::Kill(_) => Err(Error::NotOwner),
    }
}

/// The word that claims an object as origin, with the effect of the signal; or with a carry that must come first.
pub(super) fn applied(signal: Signal, object: Object, slot: &ObjectSlot, seen: ObjectWord, tag: u32) -> ObjectWord {
    let idle = |word: ObjectWord| word.claimed_for(Claimant::OriginIdle, tag);
    let Some(kind) = slot.kind_if_live(object).filter(|&kind| signal.fits(kind)) else {
        return idle(seen);
    };
    // The flag may have been lowered since the signal was announced; a pulse must not mistake that for "nobody waits".
    match signal.step(seen.with(WA), kind, &slot.extra) {
        Step::Refused(_) | Step::Unchanged(_) => idle(seen),
        Step::Carry(claimant) => seen.claimed_for(claimant, 0),
        Step::Changed { next, offers: true, .. } => next.claimed_for(Claimant::Origin, tag),
        Step::Changed { next, offers: false, .. } => idle(next),
    }
}
