// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread.

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::arena::queues::Queue;
use crate::protocol::detached::{self, Delivered, Detached, Quiet, Registered, Registration};
use crate::protocol::waiter::Waiter;
use crate::{Result, Satisfied};

impl Arena {
    /// A new queue of this process, to which results of waits without a thread are delivered.
    ///
    /// Errors: `Exhausted`.
    pub fn queue_create(&self) -> Result<Queue> {
        detached::create(self)
    }

    /// Cancels all waits of a queue, drops what was delivered, and gives the queue back.
    ///
    /// Errors: `Invalid` if it is none of this process.
    pub fn queue_close(&self, waiter: &Waiter, queue: Queue) -> Result<()> {
        detached::close(self, waiter, queue)
    }

    /// Begins to wait for any of these objects, or for all of them in one step, and returns. The result is delivered to the queue, unless
    /// the wait is satisfied at once. It stands in the order of those who wait as the wait of a thread would. A forked child has no part in it.
    ///
    /// A timer fires when somebody looks at it, or collects.
    ///
    /// Errors: those of [`Arena::wait_any`] and [`Arena::wait_all`], but `TimedOut`; `Invalid` also if the queue is none of this process.
    pub fn wait_detached(&self, waiter: &Waiter, queue: Queue, wanted: Detached<'_>) -> Result<Registered> {
        detached::register(self, waiter, queue, wanted)
    }

    /// Posts a packet to the queue: whoever collects gets its key, first come first served among the packets.
    ///
    /// Errors: `Exhausted` if as many packets wait as the queue has room for ([`crate::PACKETS_MAX`]); `Invalid` if it is no queue of this process.
    pub fn post(&self, waiter: &Waiter, queue: Queue, key: u64) -> Result<()> {
        detached::post(self, waiter, queue, key)
    }

    /// Takes a result that was delivered to the queue, or a packet, or waits for one. Several threads can do so; each is taken once.
    ///
    /// Errors: `TimedOut`; `Invalid` if it is no queue of this process, or no longer.
    pub fn collect(&self, waiter: &Waiter, queue: Queue, deadline: Deadline) -> Result<Delivered> {
        detached::collect(self, waiter, queue, deadline)
    }

    /// For a descriptor that is to be readable when something may be in the queue ([`ntux_platform::wake_descriptor`]). Takes nothing.
    /// Returns where it sleeps from now on; none if something may be there now: then somebody must collect, and arm again when that has found
    /// nothing. Timers that are due fire first.
    ///
    /// Errors: `Invalid` if it is no queue of this process, or no longer.
    pub fn queue_arm(&self, waiter: &Waiter, queue: Queue) -> Result<Option<Quiet>> {
        detached::arm(self, waiter, queue)
    }

    /// Cancels a wait. Returns what it was given, if it was satisfied before and nobody has taken the result: either this, or a
    /// [`Arena::collect`], or nobody gets it.
    ///
    /// Errors: `NoSuchObject` if its result was taken, it was cancelled, or it is none of this process.
    pub fn cancel(&self, waiter: &Waiter, registration: Registration) -> Result<Option<Satisfied>> {
        detached::cancel(self, waiter, registration)
    }
}
