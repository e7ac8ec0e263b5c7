//! What threads write down for onlookers ([`crate::inspect`]), on paths that enter the kernel anyway.
//!
//! # Role
//! A thread that is about to sleep writes down since when, and until when at most. A thread that wakes another one writes down
//! into that one's slot who it is, when, and by which object. Nothing in the core reads any of it.
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
use crate::arena::Arena;
use crate::format::deadline;
use crate::format::holder::Holder;
use crate::format::layout::WaiterSlot;
use crate::format::waiter_word::WaiterWord;

/// The thread of this slot is about to sleep.
pub(super) fn falls_asleep(slot: &WaiterSlot, until: Deadline) {
    // The model checker has no clock, and each store would be a step more in every program. And `ntux bench` measures what this
    // costs.
    if cfg!(any(ntux_explore, ntux_unobserved)) {
        return;
    }
    slot.asleep_since.store(clock::last_tick_ns());
    slot.deadline.store(deadline::pack(until));
}

/// This thread has just decided the wait in this slot, and woken its thread.
pub(super) fn wakes(arena: &Arena, waiter: &Waiter, slot: &WaiterSlot, decided: WaiterWord) {
    if cfg!(any(ntux_explore, ntux_unobserved)) {
        return;
    }
    let object = decided.satisfied_by().and_then(|index| arena.object_slot(index).map(|slot| slot.resident(index)));
    let (peer, thread) = (arena.known_peer(), waiter.own_thread());
    slot.woken_for.store(object.map_or(0, |object| object.0));
    slot.woken_by.store(peer.map_or(0, |peer| Holder::new(peer, thread).0));
    slot.woken_at.store(clock::last_tick_ns());
}
