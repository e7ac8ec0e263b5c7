//! What threads write down for onlookers ([`crate::inspect`]), on paths that enter the kernel anyway.
//!
//! # Role
//! A thread that is about to sleep writes down since when, and until when at most. A thread that wakes another one writes down
//! into that one's slot who it is, when, and by which object, and last, which wait that was: else its wake seems to be owed still.
//! Nothing in the core reads any of it.
//!
//! # Order
//! * O-notes: since and until are stored (release) before the exchange that says that the thread sleeps. So an onlooker who
//!   sees the wait asleep, and its word unchanged afterwards, has read the notes of this wait.
//!
//! The notes about a wake are stored after the exchange that decides the wait: several threads may try that, and one does. A
//! late note can meet the next wait of the thread; an onlooker takes it for what it says, a wake that has happened.
//!
//! # Death
//! Of who is killed or stopped between the decision and its notes, or in the middle of them, the notes are missing, or are of two
//! wakes: they are hints.

use ntux_platform::clock::{self, Deadline};

use super::waiter::Waiter;
use crate::Object;
use crate::arena::Arena;
use crate::format::deadline;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::waiter_word::WaiterWord;

/// The model checker has no clock, and each access would be a step more in every program. And `ntux bench` measures what the notes
/// cost.
const NOTHING: bool = cfg!(any(ntux_explore, ntux_unobserved));

/// The thread of this slot is about to sleep.
pub(super) fn falls_asleep(slot: &WaiterSlot, until: Deadline) {
    if NOTHING {
        return;
    }
    slot.asleep_since.store(clock::last_tick_ns());
    slot.deadline.store(deadline::pack(until));
}

/// The object in this slot, for a note about a wake.
#[inline(always)]
pub(super) fn resident(slot: &ObjectSlot, index: u32) -> Option<Object> {
    (!NOTHING).then(|| slot.resident(index))
}

/// This thread has decided the wait in this slot, with this word, and woken its thread: at this time, by this object if it was one.
#[inline(always)]
pub(super) fn wakes(
    arena: &Arena,
    waiter: &Waiter,
    slot: &WaiterSlot,
    given: WaiterWord,
    object: Option<Object>,
    now_ns: u64,
) {
    if NOTHING {
        return;
    }
    slot.woken_for.store(object.map_or(0, |object| object.0));
    slot.woken_by.store(waiter.own_name(arena).0);
    slot.woken_at.store(now_ns);
    slot.woken_from.store(given.0.low);
}
