// SPDX-License-Identifier: MIT OR Apache-2.0
//! The holds of an object, and when it ends.

use super::{Answer, Id, State, ThreadId, Value};
use crate::{Error, Result};

/// A process: a thread that is one of its own, or none for that of all others.
type Process = Option<ThreadId>;

/// The holds of an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Holds {
    /// Each process that holds it, and how often.
    by: Vec<(Process, u32)>,
    /// The process that released it last, if nobody who lives holds it, and left it to an owner.
    last: Option<Process>,
    /// Another process than the creator has held it, or its creator twice: or nobody has.
    shared: bool,
    /// It lives although nobody holds it.
    permanent: bool,
    /// It may be closed at any time.
    doomed: bool,
}

impl Holds {
    /// Those of a new object of this process.
    pub(super) fn of(process: Process) -> Holds {
        Holds { by: vec![(process, 1)], last: None, shared: false, permanent: false, doomed: false }
    }

    fn add(&mut self, process: Process) {
        match self.by.iter_mut().find(|(holder, _)| *holder == process) {
            Some((_, count)) => *count += 1,
            None => self.by.push((process, 1)),
        }
        self.by.sort_unstable();
        (self.last, self.shared, self.doomed) = (None, true, false);
    }
}

impl State {
    pub(super) fn process_of(&self, thread: ThreadId) -> Process {
        self.processes.contains(&thread).then_some(thread)
    }

    pub(super) fn hold(&mut self, thread: ThreadId, object: Id) -> Answer {
        let process = self.process_of(thread);
        self.objects[object].holds.add(process);
        Answer::Done
    }

    pub(super) fn holds(&self, thread: ThreadId, object: Id) -> Answer {
        let process = self.process_of(thread);
        let held = self.objects[object].holds.by.iter().find(|(holder, _)| *holder == process);
        Answer::Count(held.map_or(0, |(_, count)| *count))
    }

    /// `owner_keeps`: if it is the last, an owner keeps the object.
    pub(super) fn release(&mut self, thread: ThreadId, object: Id, owner_keeps: bool) -> Result<Answer> {
        let process = self.process_of(thread);
        let lives = |process: &Process| process.is_none_or(|thread| !self.threads[thread].dead);
        let is_last = self.objects[object].holds.by.iter().all(|(holder, _)| *holder == process || !lives(holder));
        let holds = &mut self.objects[object].holds;
        let held = holds.by.iter_mut().find(|(holder, _)| *holder == process).ok_or(Error::NotHeld)?;
        held.1 -= 1;
        let holds_no_more = held.1 == 0;
        holds.by.retain(|(_, count)| *count > 0);
        holds.last = (is_last && holds_no_more && owner_keeps).then_some(process);
        holds.shared |= holds.by.is_empty();
        Ok(Answer::Done)
    }

    /// A thread that makes it temporary lets go of it, like a process that releases it last.
    pub(super) fn set_permanent(&mut self, thread: ThreadId, object: Id, permanent: bool) -> Answer {
        let process = self.process_of(thread);
        let lives = |process: &Process| process.is_none_or(|thread| !self.threads[thread].dead);
        let is_held = self.objects[object].holds.by.iter().any(|(holder, _)| lives(holder));
        let holds = &mut self.objects[object].holds;
        if holds.permanent && !permanent && !is_held {
            holds.last = Some(process);
        }
        (holds.permanent, holds.doomed) = (permanent, holds.doomed && !permanent);
        holds.shared |= permanent;
        Answer::Done
    }

    pub(super) fn adopt(&mut self, thread: ThreadId, object: Id) -> Answer {
        let process = self.process_of(thread);
        let holds = &mut self.objects[object].holds;
        let is_held = holds.by.iter().any(|(holder, _)| *holder == process);
        match (holds.shared, is_held) {
            (false, _) => *holds = Holds::of(process),
            (true, true) => {}
            (true, false) => holds.add(process),
        }
        Answer::Done
    }

    /// Dooms what nobody holds, and nobody uses.
    pub(super) fn doom(&mut self) {
        for object in 0..self.objects.len() {
            let doomed = self.may_end(object);
            self.objects[object].holds.doomed |= doomed;
        }
    }

    pub(super) fn may_end(&self, object: Id) -> bool {
        let object = &self.objects[object];
        let lives = |process: &Process| process.is_none_or(|thread| !self.threads[thread].dead);
        let is_held = object.holds.by.iter().any(|(holder, _)| lives(holder));
        // A thread that was taken out of the queues stands there only for operations that had begun before.
        let waits = |thread: ThreadId| self.threads[thread].only_by.is_none();
        let mut queued = object.any.iter().map(|queued| queued.thread).chain(object.all.iter().copied());
        let is_waited_for = queued.any(waits);
        let is_owned = matches!(&object.value, Value::Mutex(mutex) if mutex.owner != 0);
        let is_kept = is_owned && object.holds.last.is_some_and(|last| lives(&last));
        !(object.closed || object.holds.permanent || is_held || is_waited_for || is_kept)
    }

    /// What may happen at any time: a doomed object is closed.
    pub(super) fn ends(&self) -> impl Iterator<Item = State> {
        let is_doomed = |object: &Id| !self.objects[*object].closed && self.objects[*object].holds.doomed;
        (0..self.objects.len()).filter(is_doomed).map(|object| {
            let mut state = self.clone();
            state.objects[object].closed = true;
            state
        })
    }
}
