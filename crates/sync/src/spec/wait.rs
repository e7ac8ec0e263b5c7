//! What waits are: queues, offers, and how a wait joins and leaves.

use super::{Answer, Id, Phase, State, ThreadId};
use crate::{Error, Result, Satisfied};

/// Most objects that one wait may name, the alert not counted.
pub const MAX_WAIT_OBJECTS: usize = 64;

/// The arguments of a wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Wait {
    /// All objects at once, instead of any one.
    pub all: bool,
    /// In the order in which they are tested.
    pub objects: Vec<Id>,
    /// Tested after the objects; ends the wait when acquired.
    pub alert: Option<Id>,
    /// Acquires mutexes.
    pub owner: u32,
    /// The deadline has passed before the wait begins: one attempt.
    pub poll: bool,
}

/// A place in the queue of an object: who, and which index is reported.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Queued {
    thread: ThreadId,
    index: u32,
}

impl Wait {
    /// How many steps it takes until the wait stands in every queue.
    pub(super) fn steps(&self) -> usize {
        let objects = if self.all { 1 } else { self.objects.len() };
        objects + usize::from(self.alert.is_some())
    }

    /// What the wait joins in its step `position`: object and reported index. None: all objects at once.
    fn joins(&self, position: usize) -> Option<(Id, u32)> {
        let alert = self.alert.map(|alert| (alert, self.objects.len() as u32));
        if self.all {
            return if position == 0 { None } else { alert };
        }
        self.objects.get(position).map(|&object| (object, position as u32)).or(alert)
    }
}

impl State {
    /// The checks before a wait, in the driver's order.
    pub(super) fn check_wait(&self, wait: &Wait) -> Result<()> {
        if wait.owner == 0 || wait.objects.len() > MAX_WAIT_OBJECTS {
            return Err(Error::Invalid);
        }
        let named: Vec<Id> = wait.objects.iter().copied().chain(wait.alert).collect();
        let closed = named.iter().any(|&object| self.check_open(object).is_err());
        let twice = |(position, object)| named[..position].contains(object);
        let duplicates = wait.all && named.iter().enumerate().any(twice);
        if closed || duplicates { Err(Error::Invalid) } else { Ok(()) }
    }

    /// The next step of a wait: it tests one object (wait-all: all of them as one) and takes it, or joins its queue.
    pub(super) fn join(&mut self, thread: ThreadId, position: usize, wait: &Wait) {
        match wait.joins(position) {
            None if self.take_all(thread) => return,
            None => wait.objects.iter().for_each(|&object| self.objects[object].all.push(thread)),
            Some((object, index)) => {
                let queued = Queued { thread, index };
                if self.take_one(object, queued) {
                    return;
                }
                self.objects[object].any.push(queued);
            }
        }
        if let Phase::Running(running) = &mut self.threads[thread].phase {
            running.position += 1;
        }
    }

    /// Offers an object to its queues: every wait-all that can be satisfied as a whole, then every wait-any, oldest first.
    pub(super) fn offer(&mut self, object: Id) {
        for thread in self.objects[object].all.clone() {
            self.take_all(thread);
        }
        for queued in self.objects[object].any.clone() {
            self.take_one(object, queued);
        }
    }

    /// Satisfies a wait with one object, if it still waits and may acquire it.
    fn take_one(&mut self, object: Id, queued: Queued) -> bool {
        let Some(owner) = self.waiting(queued.thread).map(|wait| wait.owner) else { return false };
        if !self.available(object, owner) {
            return false;
        }
        let abandoned = self.objects[object].value.acquire(owner);
        self.finish(queued.thread, Ok(Answer::Satisfied(Satisfied { index: queued.index, abandoned })));
        true
    }

    /// Satisfies a wait-all with all its objects, or with none.
    fn take_all(&mut self, thread: ThreadId) -> bool {
        let Some(Wait { objects, owner, .. }) = self.waiting(thread).cloned() else { return false };
        if !objects.iter().all(|&object| self.available(object, owner)) {
            return false;
        }
        let mut abandoned = false;
        for object in objects {
            abandoned |= self.objects[object].value.acquire(owner);
        }
        self.finish(thread, Ok(Answer::Satisfied(Satisfied { index: 0, abandoned })));
        true
    }

    fn waiting(&self, thread: ThreadId) -> Option<&Wait> {
        match &self.threads[thread].phase {
            Phase::Running(running) => running.operation.wait(),
            _ => None,
        }
    }

    /// Takes a thread out of every queue.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        for entry in &mut self.objects {
            entry.any.retain(|queued| queued.thread != thread);
            entry.all.retain(|&queued| queued != thread);
        }
    }
}
