// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of detached waits: who has one, and what was delivered there.
//!
//! # Picture
//! ```text
//!  bell      | rings | 0: rung       1: silent. Somebody who has looked at everything since the last ring sleeps, or is about to
//!  posted    a count for each group of waiter slots: deliveries
//!  seen      the count at which somebody has looked at every slot of the group
//!  serial    counts the owners of the slot
//!  timed     there was a wait for a timer
//! ```
//! [`crate::protocol::detached`] says who changes them, in which order, and why nothing is lost. [`super::packets`] has the packets.

use ntux_platform::atomic::Word32;
use ntux_platform::futex;

use super::Arena;
use super::peers::{Burial, LivenessCache};
use super::pool::Pool;
use crate::format::delivery::{Bell, SERIAL_BITS};
use crate::format::holder::Holder;
use crate::format::layout::QueueSlot;
use crate::format::limits::{PACKETS_MAX, QUEUE_GROUPS_USED, QUEUES_MAX, RETRIES};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// A queue, for its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    pub(crate) index: u32,
    /// Which of the owners of its slot has it.
    pub(crate) serial: u32,
}

impl Queue {
    /// The number that stands for it, for faces that know only numbers. Never 0.
    pub fn to_bits(self) -> u64 {
        u64::from(self.serial) << 32 | u64::from(self.index + 1)
    }

    /// The queue for which a number stands. None if it cannot be one.
    pub fn from_bits(bits: u64) -> Option<Queue> {
        let index = (bits as u32).checked_sub(1).filter(|&index| index < QUEUES_MAX)?;
        Some(Queue { index, serial: (bits >> 32) as u32 })
    }
}

impl QueueSlot {
    /// Says that something of the group of this waiter slot is about to be delivered, and that who sleeps is to be woken.
    pub(crate) fn announce(&self, waiter: u32) {
        // O-deliver
        if let Some(posted) = self.posted.0.get(group_of(waiter)) {
            posted.fetch_add(1);
        }
        if !planted(Bug::Unrung) {
            self.ring();
        }
    }

    pub(crate) fn bell(&self) -> Bell {
        Bell(self.bell.0.load())
    }

    /// Nobody falls asleep here any more who has not looked since.
    pub(crate) fn ring(&self) {
        self.ring_as(Bell::rung);
    }

    /// The same, and the queue is being closed from now on. Returns false if it is not the caller's any more (I-detach-9).
    pub(crate) fn ring_closed(&self, is_ours: impl Fn() -> bool) -> bool {
        self.ring_while(is_ours, Bell::closed)
    }

    fn ring_as(&self, next: impl Fn(Bell) -> Bell) {
        self.ring_while(|| true, next);
    }

    fn ring_while(&self, is_allowed: impl Fn() -> bool, next: impl Fn(Bell) -> Bell) -> bool {
        for _ in 0..RETRIES {
            let seen = self.bell();
            if !is_allowed() {
                return false;
            }
            if self.bell.0.compare_exchange(seen.0, next(seen).0).is_ok() {
                return true;
            }
        }
        false
    }

    /// Wakes all who sleep here.
    pub(crate) fn wake_all(&self) {
        // The kernel takes a larger count for a negative one.
        futex::wake(self.bell.0.futex_address(), i32::MAX as u32);
    }

    /// Says that a thread has looked at everything since it had read `seen`, and found nothing. Returns false if it was rung again.
    pub(crate) fn silence(&self, seen: Bell) -> bool {
        self.bell.0.compare_exchange(seen.0, seen.silenced().0).is_ok()
    }

    /// The groups of which something was delivered that nobody has looked at, from a changing one on, with their counts.
    pub(crate) fn posted(&self) -> impl Iterator<Item = (u32, u32)> {
        let first = self.rotor.load();
        (0..QUEUE_GROUPS_USED).map(move |step| first.wrapping_add(step) % QUEUE_GROUPS_USED).filter_map(|group| {
            let posted = self.posted.0.get(group as usize)?.load();
            (self.seen.0.get(group as usize)?.load() != posted).then_some((group, posted))
        })
    }

    /// All slots of the group were looked at since it had this count.
    pub(crate) fn saw(&self, group: u32, posted: u32) {
        if let Some(seen) = self.seen.0.get(group as usize) {
            seen.store(posted);
        }
    }

    /// Returns true if a packet was taken last.
    pub(crate) fn is_turn_of_results(&self) -> bool {
        self.turn.load() != 0
    }

    /// A packet was taken, or a result.
    pub(crate) fn took(&self, packet: bool) {
        self.turn.store(packet.into());
    }

    /// How often all groups had their turn: so often, who looks at a group begins with the next slot of it.
    pub(crate) fn turns(&self) -> u32 {
        self.rotor.load() / QUEUE_GROUPS_USED
    }

    /// A result of the group was taken: the next group has its turn. So no result waits for ever, however fast others are delivered: of
    /// those that are taken after it was delivered, at most as many come before it as there are waiter slots. (If several threads take at
    /// the same time, one may undo the step of another.)
    pub(crate) fn took_from(&self, group: u32) {
        let rotor = self.rotor.load();
        let before = (group + QUEUE_GROUPS_USED - rotor % QUEUE_GROUPS_USED) % QUEUE_GROUPS_USED;
        self.rotor.store(rotor.wrapping_add(before + 1));
    }
}

/// The part of a serial that counts.
const SERIAL_MASK: u32 = (1 << SERIAL_BITS) - 1;

/// What the slot of a queue says of the process that has it: each that has it says something else.
fn holder_of(peer: u32, serial: u32) -> Holder {
    Holder::new(peer, serial.into())
}

fn take_slot(slot: &QueueSlot, peer: u32) -> bool {
    if slot.holder.load() != 0 {
        return false;
    }
    let serial = slot.serial.fetch_add(1).wrapping_add(1) & SERIAL_MASK;
    slot.holder.compare_exchange(0, holder_of(peer, serial).0).is_ok()
}

/// The group of a waiter slot.
fn group_of(waiter: u32) -> usize {
    (waiter % QUEUE_GROUPS_USED) as usize
}

impl Arena {
    /// Takes a free queue for the process with this index.
    ///
    /// Errors: `Exhausted`; `Corrupt` if the packets make no sense.
    pub(crate) fn take_queue(&self, peer: u32) -> Result<Queue> {
        let take = |index| self.queue_slot(index).is_some_and(|slot| take_slot(slot, peer));
        let pool = self.queue_pool();
        let index = pool.find(take, |_| false).or_else(|| pool.search(take)).ok_or(Error::Exhausted)?;
        let slot = self.queue_slot(index).ok_or(Error::Corrupt)?;
        let queue = Queue { index, serial: Holder(slot.holder.load()).thread() as u32 };
        slot.timed.store(0);
        slot.ring_as(Bell::opened);
        let emptied = if self.provide_packets(index) { self.empty_packets(queue, peer) } else { Err(Error::Exhausted) };
        if emptied.is_err() {
            self.free_queue(queue, peer);
        }
        emptied.map(|()| queue)
    }

    /// Drops the packets of earlier owners (I-packet-2).
    fn empty_packets(&self, queue: Queue, peer: u32) -> Result<()> {
        let packets = self.packets(queue.index).ok_or(Error::Corrupt)?;
        let is_ours = || self.queue_of(queue, peer).is_some();
        // One of ours would be that of an owner whose serial was the same.
        for _ in 0..=PACKETS_MAX {
            if packets.take(queue.serial, is_ours)?.is_none() {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// The index of the process that has this queue; none if it was closed.
    pub(crate) fn owner_of(&self, queue: Queue) -> Option<u32> {
        let holder = Holder(self.queue_slot(queue.index)?.holder.load());
        (holder == holder_of(holder.peer(), queue.serial)).then(|| holder.peer())
    }

    /// The queue, if it is one of the process with this index.
    pub(crate) fn queue_of(&self, queue: Queue, peer: u32) -> Option<&QueueSlot> {
        self.queue_slot(queue.index).filter(|slot| slot.holder.load() == holder_of(peer, queue.serial).0)
    }

    /// Gives back a queue of the process with this index. Returns false if somebody was faster.
    pub(crate) fn free_queue(&self, queue: Queue, peer: u32) -> bool {
        let mine = holder_of(peer, queue.serial);
        let freed = self.queue_slot(queue.index).is_some_and(|slot| slot.holder.compare_exchange(mine.0, 0).is_ok());
        if freed {
            self.queue_pool().hint(queue.index);
        }
        freed
    }

    /// Gives back all queues of a dead process, as long as `is_dead` says that it has its place still.
    pub(crate) fn bury_queues(&self, peer: u32, is_dead: impl Fn() -> bool) {
        for index in 0..self.queue_pool().used() {
            let Some(slot) = self.queue_slot(index) else { continue };
            let holder = Holder(slot.holder.load());
            let queue = Queue { index, serial: holder.thread() as u32 };
            let is_theirs = || self.queue_of(queue, peer).is_some() && is_dead();
            if holder.is_taken() && holder.peer() == peer && slot.ring_closed(is_theirs) {
                // A descriptor of the dead may sleep there still, if another process has it: it would take wakes of the next owner.
                slot.wake_all();
                self.free_queue(queue, peer);
            }
        }
    }

    /// Returns everything that dead processes owned which have queues. `bury`: as in [`Arena::peer`].
    pub(crate) fn bury_owners_of_queues(&self, bury: Burial) {
        let cache = LivenessCache::new(self);
        for index in 0..self.queue_pool().used() {
            let holder = self.queue_slot(index).map(|slot| Holder(slot.holder.load()));
            let dead = holder.filter(|holder| holder.is_taken() && cache.is_peer_dead(holder.peer()));
            if let Some(process) = dead.and_then(|holder| self.process(holder.peer())) {
                // It refuses if another process has the number by now, and leaves the queue to whoever takes the dead one's place.
                let _ = self.bury_dead(process.pid, bury);
            }
        }
    }

    fn queue_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>, impl Fn(u32) -> bool> {
        Pool {
            words: &self.header().queue_pool.0,
            capacity: self.queue_count(),
            link: |index| self.queue_slot(index).map(|slot| &slot.next_hint),
            provide: |index| self.provide_queue(index),
        }
    }
}
