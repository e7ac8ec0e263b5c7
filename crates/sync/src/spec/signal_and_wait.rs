// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signal-and-wait, the one operation that is composed of two others.
//!
//! Windows' documentation says of `SignalObjectAndWait` that the two are not guaranteed to be one step: threads on other processors can
//! see the first object signaled before the thread waits for the second. The same holds here.

use super::{Id, Operation, State, Value, Wait};
use crate::{Error, Result};

/// The arguments of a signal-and-wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignalAndWait {
    /// Whose unit is released, or which is unlocked or set.
    pub signal: Id,
    /// What is waited for then.
    pub object: Id,
    /// Ends the wait, too.
    pub alert: Option<Id>,
    /// Unlocks and acquires mutexes.
    pub owner: u32,
    /// The deadline has passed before the call begins.
    pub poll: bool,
}

impl SignalAndWait {
    /// The two operations, in their order. The second begins if the first succeeded.
    ///
    /// Errors: nothing begins.
    pub fn parts(&self, state: &State) -> Result<[Operation; 2]> {
        let &SignalAndWait { signal, object, alert, owner, poll } = self;
        if owner == 0 {
            return Err(Error::Invalid);
        }
        let named = [Some(signal), Some(object), alert].into_iter().flatten();
        if named.into_iter().any(|named| !state.is_open(named)) {
            return Err(Error::NoSuchObject);
        }
        let first = match state.value(signal) {
            Value::Semaphore(_) => Operation::SemaphoreRelease { object: signal, units: 1 },
            Value::Mutex(_) => Operation::MutexUnlock { object: signal, owner },
            Value::Event(_) => Operation::EventSet { object: signal },
            Value::Timer(_) | Value::End(_) => return Err(Error::Invalid),
        };
        Ok([first, Operation::Wait(Wait { all: false, objects: vec![object], alert, owner, poll })])
    }
}
