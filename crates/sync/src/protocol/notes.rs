//! What threads write down for onlookers ([`crate::inspect`]), on paths that enter the kernel anyway.
//!
//! # Role
//! A thread that joins the queue of an object writes down which version of the object's word it found there, and the mark in it
//! ([`crate::format::mark`]); and for its whole wait the time. So an onlooker can tell whether anybody has signaled the object since.
//! A thread that is about to sleep writes down until when at most. A thread that wakes another one *signs* before that in the other
//! one's slot ([`crate::format::signature`]), and writes down by which object, and when that was decided; and after the wake, which wait
//! that was. A thread that is back from its sleep takes down until when it sleeps: it is owed no wake any more, whatever its waker has
//! come to write, or writes too late.
//!
//! Nothing in the core decides by any of it. The signature alone is read there, by whoever settles the claim: it becomes the mark of the
//! object. That may be the woken thread, if it runs first, or any other: without a signature they would not know whose operation they
//! complete.
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
//! * O-signature: who has decided a wait (exchange) signs (release) before it sends the wake. Whoever settles the claim read the decision
//!   (acquire), or made it. If the wake, or a note after it, has told it of that, it also finds the signature.
//!
//!   It may find an older signature instead: before the decision was signed, or if a thread that was stopped after another decision has
//!   signed that one only now. Or a younger one, of a later wait: then the object is at rest by now, and the exchange that settles it
//!   fails. Each names its wait by the tag of the claim. One wait is decided once, so nobody else signs with its tag; and the tag
//!   comes back after 2^32 waits of the arena, which a thread would have to sleep through between two of its instructions. So a
//!   signature with the tag of the claim is that of the decision, and any other counts for nothing: nobody is known then.
//! * O-wake: the object of a wake is stored before its time. So an onlooker who reads the same object before and after the time has
//!   not read a later time than that object's. Which wait that was is stored last. Until then the performer of that wake counts as
//!   unknown, because its signature is for another wait than the one that is told.
//!
//! The notes about a wake are stored after the exchange that decides the wait: several threads may try that, and one does. Only which
//! wait that was is kept over the call that wakes, because all that is needed after a call must be saved and fetched. A late note can
//! meet a later wait of the thread, and overwrite what the waker of that one has noted; an onlooker takes it for what it says, a wake
//! that has happened. So that the note of a wake is missing does not prove that the wake is: the thread's own note counts, too.
//!
//! # Death
//! Of who is killed or stopped between the decision and its notes, or in the middle of them, the notes are missing, or are of two
//! wakes: they are hints. A thread that was woken and has not run since has not taken its own note down: the kernel knows that it does
//! not sleep, and [`crate::inspect::why`] is told.

use core::num::NonZeroU64;

use ntux_platform::clock::{self, Deadline};

use crate::Object;
use crate::format::holder::Holder;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::mark::Mark;
use crate::format::object_word::ObjectWord;
use crate::format::signature::Signature;
use crate::format::waiter_word::WaiterWord;
use crate::format::{deadline, found};

/// The model checker has no clock, and each access would be a step more in every program. And `ntux bench` measures what the notes
/// cost.
const NOTHING: bool = cfg!(any(ntux_explore, ntux_unobserved));

/// The thread of this slot has raised its flag at the first object of its wait, whose word was this one before. `since`: a time for
/// O-since, if there is one already.
#[inline(always)]
pub(super) fn joins(slot: &WaiterSlot, seen: ObjectWord, since: Option<NonZeroU64>) {
    if NOTHING {
        return;
    }
    finds_first(slot, seen);
    is_in_line(slot, since);
}

#[inline(always)]
fn finds_first(slot: &WaiterSlot, seen: ObjectWord) {
    slot.joined_at.store(seen.0.low);
    slot.joined_after.store(seen.0.high);
}

/// The thread of this slot has raised its flag at the object in this position of its wait for several, whose word was this one before.
pub(super) fn finds(slot: &WaiterSlot, position: usize, seen: ObjectWord) {
    if NOTHING {
        return;
    }
    match position.checked_sub(1).and_then(|other| slot.joined_others.get(other)) {
        Some(note) => note.store(found::pack(seen)),
        None => finds_first(slot, seen),
    }
}

/// It has raised all its flags. `since`: a time for O-since, if there is one already.
#[inline(always)]
pub(super) fn is_in_line(slot: &WaiterSlot, since: Option<NonZeroU64>) {
    if NOTHING {
        return;
    }
    let Some(since) = since else { return clock::leave_last_tick(&slot.asleep_since) };
    let [seconds, nanoseconds] = &slot.asleep_since;
    seconds.store(0);
    nanoseconds.store(since.get());
}

/// The thread of this slot is about to sleep.
pub(super) fn falls_asleep(slot: &WaiterSlot, until: Deadline) {
    if NOTHING {
        return;
    }
    slot.deadline.store(deadline::pack(until));
}

/// The thread of this slot has slept in a wait that is decided, and runs again.
#[inline(always)]
pub(super) fn is_back(slot: &WaiterSlot) {
    if NOTHING {
        return;
    }
    slot.deadline.store(deadline::AWAKE);
}

/// The object in this slot, for a note about a wake.
#[inline(always)]
pub(super) fn resident(slot: &ObjectSlot, index: u32) -> Option<Object> {
    (!NOTHING).then(|| slot.resident(index))
}

/// This performer, if somebody may want to know.
#[inline(always)]
pub(super) fn known(by: Mark) -> Mark {
    if NOTHING { Mark::default() } else { by }
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

/// Who performed the operation that decided the wait with this tag, as far as was signed.
#[inline(always)]
pub(super) fn who_signed(slot: &WaiterSlot, tag: u32) -> Mark {
    if NOTHING { Mark::default() } else { Signature(slot.signature.load()).mark_for(tag) }
}

/// The mark of the thread that has this slot.
pub(super) fn holder(slot: &WaiterSlot) -> Mark {
    if NOTHING {
        return Mark::default();
    }
    let holder = Holder(slot.holder.load());
    if holder.is_taken() { Mark::of(holder) } else { Mark::default() }
}

/// This thread has decided the wait in this slot, with this word, and woken its thread.
#[inline(always)]
pub(super) fn wakes(slot: &WaiterSlot, given: WaiterWord) {
    if NOTHING {
        return;
    }
    slot.woken.0.from.store(given.0.low);
}
