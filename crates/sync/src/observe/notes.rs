// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads write down for onlookers ([`crate::inspect`]) in waiter slots, on paths that enter the kernel anyway.
//!
//! # Role
//! | a thread that | writes down |
//! | --- | --- |
//! | joins the queue of an object | the version of the object's word that it found, and the mark in it ([`crate::format::mark`]); once for the wait, the time. So an onlooker can tell whether the object was signaled since |
//! | is about to sleep | until when at most |
//! | wakes another thread | before the wake, in the slot of the woken thread: its signature ([`crate::format::signature`]), the object, the time of the decision; after the wake, which wait that was |
//! | is back from its sleep | that it is awake: no wake is owed any more, whatever its waker writes, or writes too late |
//!
//! Nothing in the core decides by any of it. Only the signature is read there, by the thread that settles the claim: it becomes the mark of
//! the object. That thread may be the woken one, if it runs first, or any other, which could not know otherwise whose operation it
//! completes.
//!
//! # Order
//! * O-notes: what was found, since and until are stored (release) before the exchange that says that the thread sleeps. So an
//!   onlooker who sees the wait asleep, and its word unchanged afterwards, has read the notes of this wait.
//! * O-back: until when a thread sleeps is stored before its wait can be decided while it sleeps, and taken down after the decision was
//!   read, before the next wait begins. So an onlooker who reads it beside a word that is the same before and after has read what this
//!   wait left.
//! * O-since: each word that was found is of an earlier time than the note says. Its flag was raised before the clock is read;
//!   or adaptive spin has read the clock when the wait began, which was after the word was read, and the exchange that raised the flag
//!   has confirmed that the word was the same. A wait for several reads the clock once it is in all its queues, unless all were the same.
//! * O-signature: a thread that has decided a wait (exchange) signs (release) before it sends the wake. The thread that settles the claim
//!   has read the decision (acquire), or made it. If the wake, or a note after it, has told it of that, it also finds the signature.
//!
//!   It may find an older signature instead: before the decision was signed, or if a thread that was stopped after another decision
//!   signs that decision only now. Or a younger one, of a later wait: then the object is at rest by now, and the exchange that settles it
//!   fails. Each signature names its wait by the tag of the claim. One wait is decided once, so nobody else signs with its tag; and the tag
//!   comes back after 2^32 waits of the arena, which a thread would have to sleep through between two of its instructions. So a
//!   signature with the tag of the claim is that of the decision, and any other counts for nothing: nobody is known then.
//! * O-wake: the object of a wake is stored before its time. So an onlooker who reads the same object before and after the time has
//!   not read a later time than that object's. Which wait that was is stored last. Until then the performer of that wake counts as
//!   unknown, because its signature is for another wait than the one that is told.
//!
//! The notes about a wake are stored after the exchange that decides the wait: several threads may try that, and one does. Only which
//! wait that was is kept over the call that wakes, because all that is needed after a call must be saved and fetched. A late note can
//! meet a later wait of the thread, and overwrite what the waker of that wait has noted; an onlooker takes it for what it says, a wake
//! that has happened. So a missing note of a wake does not prove that the wake is missing: the thread's own note counts, too.
//!
//! # Death
//! If a thread is killed or stopped between the decision and its notes, or in the middle of them, the notes are missing, or are of two
//! wakes: they are hints. A thread that was woken and has not run since has not taken its own note down: the kernel knows that it does
//! not sleep, and [`crate::inspect::why`] is told.

use core::num::NonZeroU64;

use ntux_platform::clock::{self, Deadline};

use super::NOTHING;
use crate::Object;
use crate::format::layout::WaiterSlot;
use crate::format::mark::Mark;
use crate::format::object_word::ObjectWord;
use crate::format::signature::Signature;
use crate::format::waiter_word::WaiterWord;
use crate::format::{deadline, found};

/// The thread of this slot has raised its flag at the object in this position of its wait, whose word was this one before.
#[inline(always)]
pub(crate) fn joined(slot: &WaiterSlot, position: usize, seen: ObjectWord) {
    if NOTHING {
        return;
    }
    match position.checked_sub(1).and_then(|other| slot.joined_others.get(other)) {
        Some(note) => note.store(found::pack(seen)),
        None => {
            slot.joined_at.store(seen.0.low);
            slot.joined_after.store(seen.0.high);
        }
    }
}

/// It has raised all its flags. `since`: a time for O-since, if there is one already.
#[inline(always)]
pub(crate) fn in_line(slot: &WaiterSlot, since: Option<NonZeroU64>) {
    if NOTHING {
        return;
    }
    let Some(since) = since else { return clock::leave_last_tick(&slot.asleep_since) };
    let [seconds, nanoseconds] = &slot.asleep_since;
    seconds.store(0);
    nanoseconds.store(since.get());
}

/// The thread of this slot is about to say that it sleeps (O-notes).
pub(crate) fn falls_asleep(slot: &WaiterSlot, until: Deadline) {
    if !NOTHING {
        slot.deadline.store(deadline::pack(until));
    }
}

/// The thread of this slot has slept in a wait that is decided, and runs again.
#[inline(always)]
pub(super) fn is_back(slot: &WaiterSlot) {
    if !NOTHING {
        slot.deadline.store(deadline::AWAKE);
    }
}

/// This thread has decided the wait in this slot, whose word was this one, for an operation of this performer, and is about to wake its
/// thread: at this time, by this object if it was one.
#[inline(always)]
pub(super) fn signs(slot: &WaiterSlot, seen: WaiterWord, by: Mark, object: Option<Object>, now_ns: u64) {
    if NOTHING {
        return;
    }
    slot.signature.store(Signature::new(seen.ticket().tag(), by).0);
    slot.woken.0.object.store(object.map_or(0, |object| object.0));
    slot.woken.0.at.store(now_ns);
}

/// This thread has decided the wait in this slot, with this word, and woken its thread.
#[inline(always)]
pub(crate) fn woken(slot: &WaiterSlot, given: WaiterWord) {
    if !NOTHING {
        slot.woken.0.from.store(given.0.low);
    }
}
