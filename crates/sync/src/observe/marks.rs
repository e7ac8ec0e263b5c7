// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads leave in the words of the objects that they signal or take: their *mark* ([`crate::format::mark`]).
//!
//! # Role
//! The mark of an object at rest says who signaled it last, or, of a mutex, who acquired it last. A claim takes the place of the mark.
//! The thread that settles the claim puts the mark back: of the performer of the operation, as far as it is known to a thread that may have met
//! the claim by chance ([`who_signed`]).

use std::cell::Cell;

use ntux_platform::atomic::Word64;
use ntux_platform::liveness;

use super::NOTHING;
use crate::arena::Arena;
use crate::format::holder::Holder;
use crate::format::layout::WaiterSlot;
use crate::format::mark::Mark;
use crate::format::object_word::ObjectWord;
use crate::format::signature::Signature;
use crate::kind::{Kind, Signal};

/// The mark of the calling thread. It counts only in the process in which it was made: a forked child has a copy, and could otherwise name
/// its parent.
pub(crate) struct OwnMark {
    mark: Cell<Mark>,
    made_in: Cell<u64>,
    /// Says which process this is (its lineage), or 0 in a new child.
    process: &'static Word64,
}

/// The model checker knows no forks, and remembers states: with different marks there would be more of them. So there all threads
/// leave the same one.
const CHECKED: bool = cfg!(ntux_explore);

impl Default for OwnMark {
    fn default() -> OwnMark {
        // Equal to no lineage.
        static UNKNOWN: Word64 = Word64::new(0);
        let process = if CHECKED { None } else { liveness::lineage_word() };
        let process = process.unwrap_or(&UNKNOWN);
        OwnMark { mark: Cell::default(), made_in: Cell::new(u64::MAX), process }
    }
}

impl OwnMark {
    #[inline(always)]
    pub(crate) fn get(&self) -> Mark {
        let counts = CHECKED || self.process.load() == self.made_in.get();
        if counts { self.mark.get() } else { Mark::default() }
    }

    #[cold]
    pub(crate) fn make(&self, mark: impl FnOnce() -> Mark) {
        if CHECKED {
            return self.mark.set(Mark::of_thread(1));
        }
        self.made_in.set(liveness::lineage());
        self.mark.set(mark());
    }

    /// Returns true if the system has told that the calling process is the one with this lineage.
    #[inline(always)]
    pub(crate) fn is_told_of(&self, lineage: u64) -> bool {
        !CHECKED && self.process.load() == lineage
    }

    /// The word that this thread leaves when it takes its share itself. Onlookers want to know who has a mutex, but who signaled
    /// anything else.
    #[inline(always)]
    pub(crate) fn taking(&self, kind: Kind, next: ObjectWord) -> ObjectWord {
        if kind == Kind::Mutex { next.marked(self.get()) } else { next }
    }

    /// The word that this thread leaves when it performs an operation.
    #[inline(always)]
    pub(crate) fn performing(&self, signal: Signal, next: ObjectWord) -> ObjectWord {
        if leaves_a_mark(signal) { next.marked(self.get()) } else { next }
    }
}

#[inline(always)]
fn leaves_a_mark(signal: Signal) -> bool {
    match signal {
        Signal::Set | Signal::Pulse | Signal::Release(_) | Signal::Fire(_) | Signal::GiveBack => true,
        Signal::Finish => true,
        Signal::Reset | Signal::Unlock(_) | Signal::Kill(_) | Signal::Report(_) => false,
    }
}

/// The word that an operation of this performer leaves.
#[inline(always)]
pub(crate) fn performed(by: Mark, signal: Signal, next: ObjectWord) -> ObjectWord {
    if leaves_a_mark(signal) { next.marked(by) } else { next }
}

/// The word after somebody was given a share by an operation of this performer.
#[inline(always)]
pub(crate) fn offered(by: Mark, kind: Kind, next: ObjectWord) -> ObjectWord {
    if kind == Kind::Mutex { next } else { next.marked(by) }
}

/// This performer, if somebody may want to know.
#[inline(always)]
pub(crate) fn known(by: Mark) -> Mark {
    if NOTHING { Mark::default() } else { by }
}

/// Returns the performer of the operation that decided the wait with this tag, as far as it was signed.
#[inline(always)]
pub(crate) fn who_signed(slot: &WaiterSlot, tag: u32) -> Mark {
    if NOTHING { Mark::default() } else { Signature(slot.signature.load()).mark_for(tag) }
}

/// The mark of the thread that has this slot.
pub(crate) fn of_holder(arena: &Arena, waiter: u32) -> Mark {
    let slot = if NOTHING { None } else { arena.waiter_slot(waiter) };
    let holder = slot.map(|slot| Holder(slot.holder.load())).filter(|holder| holder.is_taken());
    holder.map_or(Mark::default(), Mark::of)
}
