// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of owners whose end is noticed: what becomes of their mutexes, and the objects that are signaled then.

use super::{Answer, Id, NOBODY, Outcome, Phase, State, ThreadId, Value, Wait};
use crate::{EndState, Error, Result};

/// The owner id of thread 0; those after it are of the threads after it. They are what an arena gives out first. Other ids mean nothing.
pub const OWNERS: u32 = 0x8000_8000;

impl State {
    /// The states in which one of the mutexes whose owners have ended is abandoned, or one of their ends is signaled, and offered.
    pub fn kills(&self) -> Vec<State> {
        (0..self.objects.len()).filter_map(|object| self.killed(object)).collect()
    }

    fn killed(&self, object: Id) -> Option<State> {
        let owner = match &self.objects[object].value {
            Value::Mutex(mutex) => mutex.owner,
            Value::End(end) if !end.ended => end.owner,
            _ => return None,
        };
        if !self.is_open(object) || !self.has_ended(owner) {
            return None;
        }
        let mut state = self.clone();
        match &mut state.objects[object].value {
            Value::Mutex(mutex) => mutex.kill(owner).ok()?,
            Value::End(end) => end.ended = true,
            _ => {}
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

    /// An owner will end with this code. Whether that was in time.
    pub(super) fn report(&mut self, object: Id, code: u32) -> Outcome {
        let end = self.end(object)?;
        if end.ended {
            return Ok(Answer::Signaled(true));
        }
        end.code = Some(code);
        Ok(Answer::Signaled(false))
    }

    pub(super) fn end(&mut self, object: Id) -> Result<&mut EndState> {
        if let Value::End(end) = &mut self.objects[object].value { Ok(end) } else { Err(Error::Invalid) }
    }

    /// Returns true if this thread waits with an id of the arena, or for an end, and an owner has ended: it kills, or completes what others
    /// kill.
    pub(super) fn may_kill(&self, thread: ThreadId) -> bool {
        let Phase::Running(running) = &self.threads[thread].phase else { return false };
        let waits_by_id = running.operation.wait().is_some_and(|wait| thread_of(wait.owner).is_some());
        (waits_by_id || self.waits_for_end(thread))
            && (!self.owners_ended.is_empty() || self.threads.iter().any(|thread| thread.dead))
    }

    fn waits_for_end(&self, thread: ThreadId) -> bool {
        let Phase::Running(running) = &self.threads[thread].phase else { return false };
        let objects = running.operation.wait().map_or(Vec::new(), Wait::names);
        objects.iter().any(|&object| matches!(self.objects[object].value, Value::End(_)))
    }

    fn has_ended(&self, owner: u32) -> bool {
        let is_dead = |thread: ThreadId| self.threads.get(thread).is_some_and(|it| it.dead);
        thread_of(owner).is_some_and(is_dead) || self.owners_ended.binary_search(&owner).is_ok()
    }
}

/// Returns true if an arena gives out such ids.
pub(super) fn may_be_given_out(owner: u32) -> bool {
    thread_of(owner).is_some()
}

/// The thread whose id this is.
fn thread_of(owner: u32) -> Option<ThreadId> {
    owner.checked_sub(OWNERS).map(|thread| thread as ThreadId)
}
