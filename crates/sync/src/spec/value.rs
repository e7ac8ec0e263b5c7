// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of an object of any kind at one instant.

use super::{Event, Mutex, Semaphore, Timer};
use crate::{EndState, Result};

/// The value of an object at one instant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Value {
    Semaphore(Semaphore),
    Mutex(Mutex),
    Event(Event),
    Timer(Timer),
    End(EndState),
}

impl Value {
    /// The same value, if a new object may have it.
    pub(super) fn at_start(&self) -> Result<Value> {
        match *self {
            Value::Semaphore(Semaphore { count, max }) => Semaphore::new(count, max).map(Value::Semaphore),
            Value::Mutex(Mutex { owner, count, .. }) => Mutex::new(owner, count).map(Value::Mutex),
            Value::Event(ref event) => Ok(Value::Event(event.clone())),
            Value::Timer(Timer { manual, .. }) => Ok(Value::Timer(Timer::unarmed(manual, false))),
            Value::End(EndState { owner, .. }) => Ok(Value::End(EndState { owner, ended: false, code: None })),
        }
    }

    /// Returns true if a wait by `owner` could acquire the object.
    pub fn available(&self, owner: u32) -> bool {
        match self {
            Value::Semaphore(semaphore) => semaphore.available(),
            Value::Mutex(mutex) => mutex.available(owner),
            Value::Event(event) => event.signaled,
            Value::Timer(timer) => timer.signaled,
            Value::End(end) => end.ended,
        }
    }

    /// A wait by `owner` acquires the object. Returns whether it was an abandoned mutex.
    pub(super) fn acquire(&mut self, owner: u32) -> bool {
        match self {
            Value::Semaphore(semaphore) => semaphore.acquire(),
            Value::Mutex(mutex) => return mutex.acquire(owner),
            Value::Event(event) => event.acquire(),
            Value::Timer(timer) => timer.acquire(),
            Value::End(_) => {}
        }
        false
    }
}
