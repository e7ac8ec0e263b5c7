// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of owners whose end is noticed.

use super::{Id, NOBODY, State, ThreadId, Value};

/// The owner id of thread 0; those after it are of the threads after it. They are what an arena gives out first. Other ids mean nothing.
pub const OWNERS: u32 = 0x8000_8000;

impl State {
    /// The states in which one of the mutexes whose owners have ended is abandoned, and offered.
    pub fn kills(&self) -> Vec<State> {
        (0..self.objects.len()).filter_map(|object| self.killed(object)).collect()
    }

    fn killed(&self, object: Id) -> Option<State> {
        let Value::Mutex(mutex) = &self.objects[object].value else { return None };
        let owner = mutex.owner;
        if !self.is_open(object) || !self.has_ended(owner) {
            return None;
        }
        let mut state = self.clone();
        if let Value::Mutex(mutex) = &mut state.objects[object].value {
            mutex.kill(owner).ok()?;
        }
        state.offer(object, NOBODY);
        state.doom();
        Some(state)
    }

    fn has_ended(&self, owner: u32) -> bool {
        owner.checked_sub(OWNERS).is_some_and(|thread| self.threads.get(thread as ThreadId).is_some_and(|it| it.dead))
    }
}
