// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations on one object that do not wait.

use crate::arena::Arena;
use crate::kind::{Kind, Signal};
use crate::protocol::owner::concluded_if_ended;
use crate::protocol::signal::{at_once, read, signal};
use crate::protocol::timer;
use crate::protocol::waiter::Waiter;
use crate::spec::{Event, Mutex, Semaphore, Value};
use crate::{Due, Error, MutexState, Object, Result, TimerState};

impl Arena {
    /// Performs an operation if it takes one exchange, and nothing else: the object is at rest, changes, and nobody waits for it.
    /// Returns the previous value; `None` if nothing has happened, whatever the reason.
    #[inline(always)]
    pub fn signal_at_once(&self, waiter: &Waiter, object: Object, signal: Signal) -> Option<u32> {
        at_once(self, waiter, object, signal)
    }

    /// Adds `count` to a semaphore; returns the previous count. Adding 0 is allowed.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind), `Overflow` (beyond the maximum).
    #[inline]
    pub fn semaphore_release(&self, waiter: &Waiter, object: Object, count: u32) -> Result<u32> {
        signal(self, waiter, object, Signal::Release, count)
    }

    /// Returns count and maximum of a semaphore.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn semaphore_read(&self, waiter: &Waiter, object: Object) -> Result<(u32, u32)> {
        match read(self, waiter, object, |kind| kind == Kind::Semaphore)? {
            Value::Semaphore(Semaphore { count, max }) => Ok((count, max)),
            _ => Err(Error::Invalid),
        }
    }

    /// Decrements the recursion count of a mutex; returns the previous count.
    ///
    /// Errors: `Invalid` (owner 0, another kind), `NoSuchObject`, `NotOwner`.
    #[inline]
    pub fn mutex_unlock(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<u32> {
        signal(self, waiter, object, Signal::Unlock, owner)
    }

    /// Declares the owner of a mutex dead: the mutex becomes unowned, and the next acquisition reports it.
    ///
    /// Errors: `Invalid` (owner 0, another kind), `NoSuchObject`, `NotOwner`.
    pub fn mutex_kill(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<()> {
        signal(self, waiter, object, Signal::Kill, owner).map(|_| ())
    }

    /// Returns owner, count and abandoned mark of a mutex. That of an owner which the arena knows to have ended is abandoned first.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn mutex_read(&self, waiter: &Waiter, object: Object) -> Result<MutexState> {
        let state = self.mutex_state(waiter, object)?;
        let is_other = concluded_if_ended(self, waiter, object, state.owner)?;
        if is_other { self.mutex_state(waiter, object) } else { Ok(state) }
    }

    fn mutex_state(&self, waiter: &Waiter, object: Object) -> Result<MutexState> {
        match read(self, waiter, object, |kind| kind == Kind::Mutex)? {
            Value::Mutex(Mutex { owner, count, abandoned }) => Ok(MutexState { owner, count, abandoned }),
            _ => Err(Error::Invalid),
        }
    }

    /// Signals an event; returns whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    #[inline]
    pub fn event_set(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        signal(self, waiter, object, |_| Signal::Set, 0).map(|previous| previous != 0)
    }

    /// Makes an event unsignaled; returns whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    #[inline]
    pub fn event_reset(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        signal(self, waiter, object, |_| Signal::Reset, 0).map(|previous| previous != 0)
    }

    /// Satisfies the current waits for an event (one, or all for a manual-reset event), and leaves it unsignaled;
    /// returns whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn event_pulse(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        signal(self, waiter, object, |_| Signal::Pulse, 0).map(|previous| previous != 0)
    }

    /// Returns whether an event is manual-reset, and whether it is signaled.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn event_read(&self, waiter: &Waiter, object: Object) -> Result<(bool, bool)> {
        match read(self, waiter, object, Kind::is_event)? {
            Value::Event(Event { manual, signaled }) => Ok((manual, signaled)),
            _ => Err(Error::Invalid),
        }
    }

    /// Arms a timer: it is not signaled until this time, and fires then. With a period, it fires again every `period_ns` nanoseconds,
    /// rounded up to microseconds; times that were missed are one firing. Those who wait for it wait for the new time.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind, a period above 25 days).
    pub fn timer_set(&self, waiter: &Waiter, object: Object, due: Due, period_ns: u64) -> Result<()> {
        timer::set(self, waiter, object, due, period_ns)
    }

    /// Ends the arming of a timer. Whether it is signaled stays as it is.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn timer_cancel(&self, waiter: &Waiter, object: Object) -> Result<()> {
        timer::cancel(self, waiter, object)
    }

    /// Returns whether a timer is signaled, and when it fires next.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn timer_read(&self, waiter: &Waiter, object: Object) -> Result<TimerState> {
        timer::read(self, waiter, object)
    }
}
