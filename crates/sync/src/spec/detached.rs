// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of waits without a thread: each is a thread of the model that makes one wait.

use super::{Answer, Operation, Outcome, Phase, Running, State, Thread, ThreadId};
use crate::Error;

impl State {
    /// The same with room for so many waits without a thread, known by their labels, from 0 on, and so many packets.
    pub fn with_detached(mut self, count: usize, packets: usize) -> Self {
        self.packets_most = packets;
        let idle = Thread { phase: Phase::Idle, interrupted: false, dead: false, only_by: None };
        self.threads.extend(vec![idle; count]);
        self.queue_of.resize(self.threads.len(), 0);
        self.registered_by = vec![None; count];
        self.known = vec![false; count];
        self
    }

    /// The same, but the first queue is this thread's, and not thread 0's.
    pub fn with_queue_of(mut self, thread: ThreadId) -> Self {
        self.queue_opened_by = thread;
        self
    }

    /// If the call that has begun registers a wait, that begins.
    pub(super) fn begin_detached(&mut self, thread: ThreadId) {
        let Phase::Running(Running { operation: Operation::Detach { label, wait }, .. }) = &self.threads[thread].phase
        else {
            return;
        };
        let (label, operation) = (*label, Operation::Wait(wait.clone()));
        let began_open = operation.objects().iter().all(|&object| self.is_open(object));
        let it = self.first_detached + label;
        debug_assert_eq!(self.threads[it].phase, Phase::Idle, "a label means one wait at a time");
        self.threads[it].phase = Phase::Running(Running {
            operation,
            position: 0,
            deadline_passed: false,
            began_open,
            beside_burial: false,
        });
        self.registered_by[label] = Some(thread);
        self.known[label] = false;
        self.queue_of[it] = self.queue_of[thread];
    }

    /// Returns true if the queue is closed, or being closed, that this thread's call is about.
    fn is_closed_to(&self, thread: ThreadId) -> bool {
        self.queue_closed || self.is_of_earlier_queue(thread)
    }

    fn is_of_earlier_queue(&self, thread: ThreadId) -> bool {
        self.queue_of[thread] != self.queues_opened
    }

    /// A call of this thread is about the queue that there is when it begins, or none.
    pub(super) fn begin_with_queue(&mut self, thread: ThreadId) {
        const NONE: u32 = u32::MAX;
        let process = |thread: ThreadId| self.processes.contains(&thread).then_some(thread);
        let is_of_its_process = process(thread) == process(self.queue_opened_by);
        self.queue_of[thread] = if is_of_its_process { self.queues_opened } else { NONE };
    }

    /// Opens another queue in the place of one that was closed, or whose process is dead.
    pub(super) fn open_queue(&mut self, thread: ThreadId) -> Answer {
        self.packets.clear();
        self.queue_opened_by = thread;
        (self.queue_closed, self.queue_freed) = (false, false);
        self.queues_opened += 1;
        Answer::Done
    }

    /// What a call that registers a wait can return now.
    pub(super) fn detached_steps(&self, thread: ThreadId, label: usize) -> Vec<State> {
        let it = self.first_detached + label;
        let waits = || {
            let mut state = self.with_outcome(thread, Ok(Answer::Waits));
            state.known[label] = true;
            state
        };
        let taken = |outcome: &Outcome| self.with_outcome(thread, *outcome).without(label);
        if self.is_closed_to(thread) {
            let refused = self.with_outcome(thread, Err(Error::Invalid)).without(label);
            return match &self.threads[it].phase {
                Phase::Finished(outcome) => vec![taken(outcome), refused],
                _ => vec![refused],
            };
        }
        match &self.threads[it].phase {
            Phase::Running(_) if self.parked(it) => vec![waits()],
            Phase::Running(_) => vec![],
            Phase::Finished(outcome @ Ok(_)) => vec![taken(outcome), waits()],
            Phase::Finished(outcome) => vec![taken(outcome)],
            // Somebody was faster, and has its result.
            Phase::Idle => vec![waits()],
        }
    }

    /// What a call that collects can return now.
    pub(super) fn collected(&self, thread: ThreadId, deadline_passed: bool) -> Vec<State> {
        if self.is_of_earlier_queue(thread) {
            return vec![self.with_outcome(thread, Err(Error::Invalid))];
        }
        let delivered = |label: usize| match self.threads[self.first_detached + label].phase {
            _ if self.is_of_earlier_queue(self.first_detached + label) => None,
            Phase::Finished(Ok(Answer::Satisfied(satisfied))) => {
                Some(self.with_outcome(thread, Ok(Answer::Delivered(label, satisfied))).without(label))
            }
            _ => None,
        };
        let packet = self.packets.first().map(|&key| {
            let mut state = self.with_outcome(thread, Ok(Answer::Packet(key)));
            state.packets.remove(0);
            state
        });
        let results: Vec<State> = (0..self.registered_by.len()).filter_map(delivered).chain(packet).collect();
        if self.queue_closed {
            return results.into_iter().chain([self.with_outcome(thread, Err(Error::Invalid))]).collect();
        }
        match results.is_empty() && deadline_passed && !self.is_late_for(&[thread]) {
            true => vec![self.with_outcome(thread, Err(Error::TimedOut))],
            false => results,
        }
    }

    /// What a call that cancels can return now.
    pub(super) fn called_off(&self, thread: ThreadId, label: usize) -> Vec<State> {
        let it = self.first_detached + label;
        let nothing = || self.with_outcome(thread, Err(Error::NoSuchObject));
        if self.queue_closed && self.threads[it].phase != Phase::Idle {
            return vec![nothing(), self.called_off_open(thread, label)];
        }
        vec![self.called_off_open(thread, label)]
    }

    fn called_off_open(&self, thread: ThreadId, label: usize) -> State {
        let it = self.first_detached + label;
        let nothing = || self.with_outcome(thread, Err(Error::NoSuchObject));
        match &self.threads[it].phase {
            _ if !self.known[label] => nothing(),
            Phase::Running(_) => self.with_outcome(thread, Ok(Answer::Done)).without(label),
            Phase::Finished(outcome) => self.with_outcome(thread, *outcome).without(label),
            Phase::Idle => nothing(),
        }
    }

    /// What a call that closes the queue can do next: refuse others from now on, end one of the waits, or return.
    pub(super) fn closes_queue(&self, thread: ThreadId) -> Vec<State> {
        if self.is_of_earlier_queue(thread) {
            return vec![self.with_outcome(thread, Err(Error::Invalid))];
        }
        if !self.queue_closed {
            let mut state = self.clone();
            state.queue_closed = true;
            state.packets.clear();
            return vec![state];
        }
        let stands = |label: &usize| self.threads[self.first_detached + label].phase != Phase::Idle;
        let standing: Vec<usize> = (0..self.registered_by.len()).filter(stands).collect();
        let mut states: Vec<State> = standing.iter().map(|&label| self.clone().without(label)).collect();
        // A call that is registering one ends that itself.
        let is_registering =
            |&label: &usize| self.registered_by[label].is_some_and(|by| self.is_registering(by, label));
        if standing.iter().all(is_registering) {
            let mut state =
                self.with_outcome(thread, if self.queue_freed { Err(Error::Invalid) } else { Ok(Answer::Done) });
            state.queue_freed = true;
            states.push(state);
        }
        states
    }

    /// Posts a packet.
    pub(super) fn post(&mut self, thread: ThreadId, key: usize) -> Outcome {
        if self.is_closed_to(thread) {
            return Err(Error::Invalid);
        }
        if self.packets.len() == self.packets_most {
            return Err(Error::Exhausted);
        }
        self.packets.push(key);
        Ok(Answer::Done)
    }

    /// Returns true if one of these threads collects, and there is a result.
    pub fn owes_result_to(&self, threads: &[ThreadId]) -> bool {
        let collects = |thread: &ThreadId| {
            matches!(self.threads[*thread].phase, Phase::Running(Running { operation: Operation::Collect { .. }, .. }))
        };
        let has_result =
            |&it: &ThreadId| !self.is_of_earlier_queue(it) && matches!(self.threads[it].phase, Phase::Finished(Ok(_)));
        let is_owed = |thread: &ThreadId| {
            self.is_closed_to(*thread) || !self.packets.is_empty() || self.without_a_thread().any(|it| has_result(&it))
        };
        threads.iter().filter(|thread| collects(thread)).any(is_owed)
    }

    /// The threads of the model that stand for waits without a thread.
    pub fn without_a_thread(&self) -> std::ops::Range<ThreadId> {
        self.first_detached..self.threads.len()
    }

    /// How many waits without a thread have begun, and not ended: they were not called off, nobody has taken their results, and their
    /// processes live. And how many of these have a result.
    pub fn detached(&self) -> (usize, usize) {
        let is_gone = |by: &ThreadId| self.threads[*by].dead && self.processes.contains(by);
        let waits = self.threads[self.first_detached..].iter().zip(&self.registered_by);
        let living = waits.filter(|(it, by)| it.phase != Phase::Idle && !by.as_ref().is_some_and(is_gone));
        let results = living.clone().filter(|(it, _)| matches!(it.phase, Phase::Finished(_)));
        (living.count(), results.count())
    }

    /// Returns true if a thread collects.
    pub fn collects(&self, thread: ThreadId) -> bool {
        matches!(self.threads[thread].phase, Phase::Running(Running { operation: Operation::Collect { .. }, .. }))
    }

    /// A thread has died: what it was registering may stand, or not; what its process has registered does not, but operations that have
    /// begun may still satisfy it.
    pub(super) fn without_detached_of(self, thread: ThreadId) -> Vec<State> {
        let mut states = vec![self];
        for label in 0..states[0].registered_by.len() {
            states = states.into_iter().flat_map(|state| state.without_one_of(thread, label)).collect();
        }
        states
    }

    fn without_one_of(self, thread: ThreadId, label: usize) -> Vec<State> {
        let ends = self.processes.contains(&thread);
        if self.registered_by[label] != Some(thread) || !ends && !self.is_registering(thread, label) {
            return vec![self];
        }
        let it = self.first_detached + label;
        let mut states = self.without_wait_of(it);
        for state in states.iter_mut().filter(|state| state.outcome(it).is_some()) {
            state.threads[it].phase = Phase::Idle;
        }
        if !ends && (self.parked(it) || matches!(self.threads[it].phase, Phase::Finished(Ok(_)))) {
            states.push(self);
        }
        states
    }

    fn is_registering(&self, thread: ThreadId, label: usize) -> bool {
        let Phase::Running(Running { operation: Operation::Detach { label: of, .. }, .. }) =
            &self.threads[thread].phase
        else {
            return false;
        };
        *of == label
    }

    /// The thread has died: what it has not taken, or called off, it does not.
    pub(super) fn end_detached_call(&mut self, thread: ThreadId) {
        let Phase::Running(Running { operation, .. }) = &self.threads[thread].phase else { return };
        if matches!(
            operation,
            Operation::Detach { .. }
                | Operation::Collect { .. }
                | Operation::CallOff { .. }
                | Operation::CloseQueue
                | Operation::OpenQueue
        ) {
            self.threads[thread].phase = Phase::Idle;
        }
    }

    /// The wait with this label is over.
    fn without(mut self, label: usize) -> State {
        let it = self.first_detached + label;
        self.leave(it);
        self.threads[it].only_by = None;
        self.threads[it].phase = Phase::Idle;
        self.registered_by[label] = None;
        self
    }

    fn with_outcome(&self, thread: ThreadId, outcome: Outcome) -> State {
        let mut state = self.clone();
        state.finish(thread, outcome);
        state
    }
}
