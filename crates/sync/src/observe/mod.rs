// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one seam for onlookers: the protocol says here what has happened, and this module says it to all who may want to know.
//!
//! | what has happened | said by | note in the waiter's slot ([`notes`]) | event in the ring, static tracepoint ([`trace`]) |
//! | --- | --- | --- | --- |
//! | a wait has raised its flag at an object | [`joined`] | the word that it found | |
//! | a wait has raised all its flags | [`in_line`] | when | |
//! | a thread is about to say that it sleeps | [`falls_asleep`] | until when at most | |
//! | it has said so | [`sleeps`] | | `Sleeps`, `Stirs` |
//! | it is back, and its wait is over | [`woke`] | that it is awake | `Acquires`, `AcquiresAll`, `GivesUp` |
//! | a thread has decided a wait | [`decided`] | if it sleeps: by whom, by which object, when | `Grants`, `GrantsAll` |
//! | it has woken the thread | [`woken`] | which wait | |
//! | it has sent a wake again | [`wakes_again`] | | `Wakes` |
//! | it has changed an object for which somebody waits | [`signaled`] | | `Signals` |
//! | it has changed or taken an object | [`marks`] | the *mark* in the object's word | |
//!
//! The text log of the device is of calls, not of what happens in here: the device writes it.
//!
//! Nothing in the core decides by what is said here. The model checker has no clock, no tracer and no onlookers, and each access would be a
//! step more in every program: there nothing is written but the marks, which are part of the words that it checks.

pub(crate) mod marks;
mod notes;
pub mod trace;

pub(crate) use notes::{falls_asleep, in_line, joined, woken};

use crate::Object;
use crate::arena::Arena;
use crate::format::holder::Holder;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::mark::Mark;
use crate::format::waiter_word::WaiterWord;
use crate::kind::Signal;
use trace::{Operation, What};

/// Nobody looks on.
const NOTHING: bool = cfg!(ntux_explore);

/// The thread of this slot, whose word says so, is about to enter the kernel to sleep. `again`: it has slept in this wait before.
#[inline(always)]
pub(crate) fn sleeps(arena: &Arena, slot: &WaiterSlot, again: bool) {
    arena.trace(|| {
        let object = || Object(slot.list[0].load()).index();
        if again { What::Stirs } else { What::Sleeps { object: object(), count: slot.count() as u32 } }
    });
}

/// The thread of this slot has slept in a wait that is decided, and runs again.
#[inline(always)]
pub(crate) fn woke(arena: &Arena, slot: &WaiterSlot, with: What) {
    notes::is_back(slot);
    arena.trace(|| with);
}

/// The object in this slot, to be named to onlookers.
#[inline(always)]
pub(crate) fn resident(slot: &ObjectSlot, index: u32) -> Option<Object> {
    (!NOTHING).then(|| slot.resident(index))
}

/// This thread has decided the wait in this slot, whose word was `seen`, for an operation of this performer: the wait was given this
/// object, or everything. If its thread sleeps, it is about to wake it, at this time. (To be said before the wake: the woken thread
/// would report first that it runs.)
#[inline(always)]
pub(crate) fn decided(
    arena: &Arena,
    slot: &WaiterSlot,
    seen: WaiterWord,
    object: Option<Object>,
    by: Mark,
    wakes_at_ns: Option<u64>,
) {
    // From the word: by now the thread can have given its place back.
    let thread = seen.thread();
    arena.trace(|| match object {
        Some(object) => What::Grants { object: object.index(), thread },
        None => What::GrantsAll { thread },
    });
    if let Some(now_ns) = wakes_at_ns {
        notes::signs(slot, seen, by, object, now_ns);
    }
}

/// This thread has sent a wake that was owed to the thread of this slot.
#[inline(always)]
pub(crate) fn wakes_again(arena: &Arena, slot: &WaiterSlot) {
    arena.trace(|| What::Wakes { thread: Holder(slot.holder.load()).thread() as u32 });
}

/// This thread has performed an operation on an object for which somebody waits. To be said once what it offered is decided: nothing that
/// can wait is done before.
#[inline(always)]
pub(crate) fn signaled(arena: &Arena, object: Object, signal: Signal) {
    let operation = match signal {
        Signal::Set => Operation::Set,
        Signal::Reset => Operation::Reset,
        Signal::Pulse => Operation::Pulse,
        Signal::Release(_) => Operation::Release,
        Signal::Unlock(_) => Operation::Unlock,
        Signal::Kill(_) => Operation::Kill,
        Signal::Fire(_) | Signal::GiveBack => Operation::Fire,
        Signal::Finish => Operation::Finish,
        Signal::Report(_) => Operation::Report,
    };
    arena.trace(|| What::Signals { object: object.index(), operation });
}
