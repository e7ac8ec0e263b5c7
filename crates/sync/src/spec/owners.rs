// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of owners whose end is noticed.

use super::{Answer, Id, NOBODY, Outcome, Phase, State, ThreadId, Value};
use crate::Error;

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

    /// A thread ends its own id.
    pub(super) fn end_owner(&mut self, thread: ThreadId, owner: u32) -> Outcome {
        if thread_of(owner) != Some(thread) {
            return Err(Error::Invalid);
        }
        match self.owners_ended.binary_search(&owner) {
            Ok(_) => Err(Error::Invalid),
            Err(place) => {
                self.owners_ended.insert(place, owner);
                Ok(Answer::Done)
            }
        }
    }

    /// Returns true if this thread waits with an id of the arena, and an owner has ended: it kills, or completes what others kill.
    pub(super) fn may_kill(&self, thread: ThreadId) -> bool {
        let Phase::Running(running) = &self.threads[thread].phase else { return false };
        let waits_by_id = running.operation.wait().is_some_and(|wait| thread_of(wait.owner).is_some());
        waits_by_id && (!self.owners_ended.is_empty() || self.threads.iter().any(|thread| thread.dead))
    }

    fn has_ended(&self, owner: u32) -> bool {
        let is_dead = |thread: ThreadId| self.threads.get(thread).is_some_and(|it| it.dead);
        thread_of(owner).is_some_and(is_dead) || self.owners_ended.binary_search(&owner).is_ok()
    }
}

/// The thread whose id this is.
fn thread_of(owner: u32) -> Option<ThreadId> {
    owner.checked_sub(OWNERS).map(|thread| thread as ThreadId)
}
