// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of detached waits: who has one, and what was delivered there.
//!
//! # Picture
//! ```text
//!  bell      0: rung          1: somebody sleeps, or is about to, and has found nothing
//!  posted    a count for each group of waiter slots: deliveries
//!  seen      the count at which somebody has looked at every slot of the group
//! ```
//! [`crate::protocol::detached`] says who changes them, in which order, and why nothing is lost.

use ntux_platform::atomic::Word32;

use super::Arena;
use super::pool::Pool;
use crate::format::holder::Holder;
use crate::format::layout::QueueSlot;
use crate::format::limits::{QUEUE_GROUPS_USED, QUEUES_MAX, RETRIES};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// A queue, for its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue(pub(crate) u32);

/// Nobody has rung since a thread that found nothing has stored the other value.
const RUNG: u64 = 0;
/// A thread sleeps, or is about to.
pub(crate) const ASLEEP: u32 = 1;

impl QueueSlot {
    /// Says that something of the group of this waiter slot is about to be delivered, and that who sleeps is to be woken.
    pub(crate) fn announce(&self, waiter: u32) {
        // O-deliver
        if let Some(posted) = self.posted.0.get(group_of(waiter)) {
            posted.fetch_add(1);
        }
        if !planted(Bug::Unrung) {
            self.bell.0.store(RUNG);
        }
    }

    /// Says that a thread is about to sleep if it finds nothing.
    pub(crate) fn falls_asleep(&self) {
        // O-deliver
        for _ in 0..RETRIES {
            let seen = self.bell.0.load();
            if self.bell.0.compare_exchange(seen, u64::from(ASLEEP)).is_ok() {
                return;
            }
        }
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
        self.rotor.store(group + 1);
    }
}

/// The group of a waiter slot.
fn group_of(waiter: u32) -> usize {
    (waiter % QUEUE_GROUPS_USED) as usize
}

impl Arena {
    /// Takes a free queue for the process with this index.
    ///
    /// Errors: `Exhausted`.
    pub(crate) fn take_queue(&self, peer: u32) -> Result<Queue> {
        let mine = Holder::new(peer, 0);
        let take = |index| self.queue_slot(index).is_some_and(|slot| slot.holder.compare_exchange(0, mine.0).is_ok());
        let pool = self.queue_pool();
        let index = pool.find(take, |_| false).or_else(|| pool.search(take)).ok_or(Error::Exhausted)?;
        Ok(Queue(index))
    }

    /// The queue, if it is one of the process with this index.
    pub(crate) fn queue_of(&self, queue: Queue, peer: u32) -> Option<&QueueSlot> {
        self.queue_slot(queue.0).filter(|slot| slot.holder.load() == Holder::new(peer, 0).0)
    }

    /// Gives back a queue of the process with this index.
    pub(crate) fn free_queue(&self, queue: Queue, peer: u32) -> bool {
        let freed = self
            .queue_slot(queue.0)
            .is_some_and(|slot| slot.holder.compare_exchange(Holder::new(peer, 0).0, 0).is_ok());
        if freed {
            self.queue_pool().hint(queue.0);
        }
        freed
    }

    /// Gives back all queues of a dead process.
    pub(crate) fn bury_queues(&self, peer: u32) {
        for index in 0..self.queue_pool().used() {
            self.free_queue(Queue(index), peer);
        }
    }

    fn queue_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>, impl Fn(u32) -> bool> {
        Pool {
            words: &self.header().queue_pool.0,
            capacity: QUEUES_MAX,
            link: |index| self.queue_slot(index).map(|slot| &slot.next_hint),
            provide: |index| self.provide_queue(index),
        }
    }
}
