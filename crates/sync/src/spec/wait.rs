// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of waits: queues, offers, and how a wait joins and leaves.

use super::{Answer, Id, Phase, State, ThreadId};
use crate::{Satisfied, WAIT_MAX};

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

/// A place in the queue of an object: the thread, and the index to report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Queued {
    pub(super) thread: ThreadId,
    index: u32,
}

impl Wait {
    /// Every object that it names, the alert last.
    pub(super) fn names(&self) -> Vec<Id> {
        self.objects.iter().copied().chain(self.alert).collect()
    }

    /// Invalid arguments: no owner, too many objects, or an object twice in a wait-all.
    pub(super) fn is_malformed(&self) -> bool {
        let names = self.names();
        let twice = |(position, object)| names[..position].contains(object);
        self.owner == 0 || self.objects.len() > WAIT_MAX || self.all && names.iter().enumerate().any(twice)
    }

    /// The objects that its step `position` tests.
    pub(super) fn tests(&self, position: usize) -> impl Iterator<Item = Id> {
        let (all, one) = match self.joins(position) {
            None => (&self.objects[..], None),
            Some((object, _)) => (&[][..], Some(object)),
        };
        all.iter().copied().chain(one)
    }

    /// How many steps it takes until the wait is in every queue.
    pub(super) fn steps(&self) -> usize {
        let objects = if self.all { 1 } else { self.objects.len() };
        objects + usize::from(self.alert.is_some())
    }

    /// The object, and index to report, of the wait's step `position`; none for all objects at once.
    fn joins(&self, position: usize) -> Option<(Id, u32)> {
        let alert = self.alert.map(|alert| (alert, self.objects.len() as u32));
        if self.all {
            return if position == 0 { None } else { alert };
        }
        self.objects.get(position).map(|&object| (object, position as u32)).or(alert)
    }
}

impl State {
    /// The next step of a wait: it tests one object (wait-all: all of them as one) and takes it, or joins its queue.
    /// Without `test` it finds the object closed.
    pub(super) fn join(&mut self, thread: ThreadId, position: usize, wait: &Wait, test: bool) {
        match wait.joins(position) {
            None if test && self.take_all(thread, thread) => return,
            None => wait.objects.iter().for_each(|&object| self.objects[object].all.push(thread)),
            Some((object, index)) => {
                let queued = Queued { thread, index };
                if test && self.take_one(object, queued, thread) {
                    return;
                }
                self.objects[object].any.push(queued);
            }
        }
        if let Phase::Running(running) = &mut self.threads[thread].phase {
            running.position += 1;
        }
    }

    /// Offers an object: to every wait-all that can be satisfied completely, then to every wait-any, oldest first.
    pub(super) fn offer(&mut self, object: Id, by: ThreadId) {
        for thread in self.objects[object].all.clone() {
            self.take_all(thread, by);
        }
        for queued in self.objects[object].any.clone() {
            self.take_one(object, queued, by);
        }
    }

    /// Satisfies a wait with one object, if it still waits and may acquire it. `by`: the thread whose step this is.
    fn take_one(&mut self, object: Id, queued: Queued, by: ThreadId) -> bool {
        let Some(owner) = self.waiting_for(queued.thread, by).map(|wait| wait.owner) else { return false };
        if !self.objects[object].value.available(owner) {
            return false;
        }
        let abandoned = self.objects[object].value.acquire(owner);
        self.finish(queued.thread, Ok(Answer::Satisfied(Satisfied { index: queued.index, abandoned })));
        true
    }

    /// Satisfies a wait-all with all its objects, or with none.
    fn take_all(&mut self, thread: ThreadId, by: ThreadId) -> bool {
        let Some(Wait { objects, owner, .. }) = self.waiting_for(thread, by).cloned() else { return false };
        let available = |&object: &Id| !self.objects[object].gone && self.objects[object].value.available(owner);
        if !objects.iter().all(available) {
            return false;
        }
        let mut abandoned = false;
        for object in objects {
            abandoned |= self.objects[object].value.acquire(owner);
        }
        self.finish(thread, Ok(Answer::Satisfied(Satisfied { index: 0, abandoned })));
        true
    }

    /// The wait of `thread`, if a step of `by` may satisfy it.
    fn waiting_for(&self, thread: ThreadId, by: ThreadId) -> Option<&Wait> {
        let only_by = &self.threads[thread].only_by;
        self.waiting(thread).filter(|_| only_by.as_ref().is_none_or(|signalers| signalers.contains(&by)))
    }

    pub(super) fn waiting(&self, thread: ThreadId) -> Option<&Wait> {
        match &self.threads[thread].phase {
            Phase::Running(running) => running.operation.wait(),
            _ => None,
        }
    }

    /// Takes a thread out of every queue.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        for object in &mut self.objects {
            object.any.retain(|queued| queued.thread != thread);
            object.all.retain(|&queued| queued != thread);
        }
    }
}
