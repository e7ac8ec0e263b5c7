// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judge: the states of the sequential model that explain all observations so far.
//!
//! A victim's operation is pending from the moment it begins. It may take effect at any later moment, or never; the
//! others' observations must match one of these cases. A killed thread that waits is in no queue, unless the system does not end
//! the waits of the dead and nobody has buried it; any thread that meets the claim of a killed signaler may still complete the signal.

use std::collections::BTreeSet;

use ntux_sync::New;
use ntux_sync::spec::{self, Event, Mutex, Outcome, Semaphore, State, Timer, Value};

use super::board::LABELS;
use super::operation::{LONG_AGO, Operation, Until};
use super::stage::THREADS;

/// The states that explain what was seen.
pub struct Judge {
    states: BTreeSet<State>,
    pending: Vec<Pending>,
}

/// An operation that may take effect at any moment.
struct Pending {
    thread: usize,
    is_wait: bool,
    is_signal: bool,
    has_deadline: bool,
}

impl Judge {
    /// These objects, and idle threads.
    pub fn new(objects: &[New]) -> Judge {
        Judge::of(State::new(THREADS), objects)
    }

    /// The same with waits without a thread. `process`: the thread that is a process of its own, if its waits end with it.
    pub fn with_detached(objects: &[New], process: Option<usize>) -> Judge {
        let state = State::new(THREADS + LABELS).with_detached(LABELS, LABELS);
        Judge::of(process.into_iter().fold(state, |state, own| state.with_process(own).with_queue_of(own)), objects)
    }

    fn of(mut state: State, objects: &[New]) -> Judge {
        for object in objects {
            state.add(match *object {
                New::Semaphore { count, max } => Value::Semaphore(Semaphore { count, max }),
                New::Mutex { owner, count } => Value::Mutex(Mutex { owner, count, abandoned: false }),
                New::Event { manual, signaled } => Value::Event(Event { manual, signaled }),
                New::Timer { manual } => Value::Timer(Timer::unarmed(manual, false)),
                New::End { owner } => Value::End(ntux_sync::EndState { owner, ended: false, code: None }),
            });
        }
        state.run(0, spec::Operation::EndOwner { owner: spec::OWNERS });
        // The clock is past what is due at once.
        state.run(0, spec::Operation::Pass { time: LONG_AGO.at_ns });
        Judge { states: BTreeSet::from([state]), pending: Vec::new() }
    }

    /// A thread begins an operation that may stop half-way.
    pub fn begin(&mut self, thread: usize, operation: Operation) {
        if operation == Operation::QueueClose {
            return self.begin_to_close();
        }
        let Some(model) = operation.in_model() else { return };
        let wait = operation.wait();
        let has_deadline = wait.is_some_and(|wait| matches!(wait.until, Until::Milliseconds(_)));
        self.each(|state| state.invoke(thread, model.clone()));
        let is_signal = operation.is_signal();
        self.pending.push(Pending { thread, is_wait: wait.is_some(), is_signal, has_deadline });
    }

    /// A queue is about to be closed: each wait is called off at some time, and its result dropped.
    fn begin_to_close(&mut self) {
        for label in 0..LABELS {
            let thread = THREADS + label;
            self.each(|state| state.invoke(thread, spec::Operation::CallOff { label }));
            self.pending.push(Pending { thread, is_wait: false, is_signal: false, has_deadline: false });
        }
    }

    /// The queue is closed. False if the model does not allow that.
    pub fn closed(&mut self) -> bool {
        self.drift();
        self.states.retain(|state| (0..LABELS).all(|label| state.outcome(THREADS + label).is_some()));
        self.stop_to_close();
        !self.states.is_empty()
    }

    fn stop_to_close(&mut self) {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.thread < THREADS);
        if self.pending.len() < before {
            self.each(|state| (0..LABELS).for_each(|label| state.retire(THREADS + label)));
        }
    }

    /// A thread is gone, where waits without a thread are: one that it was registering may stand, or not. If it was a process of its own,
    /// its waits are gone with it. `goes_on`: unless it was registering one, which is a wait of this thread until it stands, and the system
    /// does not end such waits.
    pub fn dies(&mut self, thread: usize, goes_on: bool) {
        self.drift();
        let unseen = |state: &State| goes_on.then(|| state.clone().with_deaths_unseen().die(thread));
        let states = std::mem::take(&mut self.states);
        let after = |state: State| state.die(thread).into_iter().chain(unseen(&state).into_iter().flatten());
        self.states = states.into_iter().flat_map(after).collect();
        self.pending.retain(|pending| pending.thread != thread || pending.is_signal);
        self.stop_to_close();
    }

    /// A thread is gone. Its unfinished operation does not happen any more if it is a wait, and if such waits end.
    pub fn kill(&mut self, thread: usize, its_wait_ends: bool) {
        self.drift();
        if !its_wait_ends {
            return;
        }
        self.each(|state| {
            if state.outcome(thread).is_none() && state.is_queued(thread) {
                state.interrupt(thread);
            }
        });
        let leave = |state: State| match state.is_interrupted(thread) && state.outcome(thread).is_none() {
            true => state.steps(thread).into_iter().rfind(|next| next.outcome(thread).is_some()),
            false => Some(state),
        };
        self.states = std::mem::take(&mut self.states).into_iter().filter_map(leave).collect();
        self.pending.retain(|pending| pending.thread != thread || !pending.is_wait);
    }

    /// A thread has performed an operation from beginning to end. False if the model does not allow what it answered.
    pub fn call(&mut self, thread: usize, operation: Operation, outcome: Outcome) -> bool {
        if operation == Operation::QueueClose && outcome.is_ok() {
            self.begin_to_close();
            return self.closed();
        }
        let Some(model) = operation.in_model() else { return outcome.is_ok() };
        self.each(|state| state.invoke(thread, model.clone()));
        self.pending.push(Pending { thread, is_wait: false, is_signal: true, has_deadline: false });
        self.returned(thread, outcome)
    }

    /// A pending operation has returned.
    pub fn returned(&mut self, thread: usize, outcome: Outcome) -> bool {
        self.drift();
        self.states.retain(|state| state.outcome(thread) == Some(&outcome));
        self.each(|state| state.retire(thread));
        self.pending.retain(|pending| pending.thread != thread);
        !self.states.is_empty()
    }

    /// A thread was seen asleep: its operation has not ended.
    pub fn sleeps(&mut self, thread: usize) -> bool {
        self.drift();
        self.states.retain(|state| sleeps(state, thread));
        !self.states.is_empty()
    }

    /// Returns true if a thread may be asleep.
    pub fn may_sleep(&mut self, thread: usize) -> bool {
        self.any_state(|state| sleeps(state, thread))
    }

    /// Returns true if a thread may be owed a result that it sleeps for.
    pub fn may_be_owed(&mut self, thread: usize) -> bool {
        self.any_state(|state| state.owes_result_to(&[thread]))
    }

    /// So many waits without a thread were seen that have not ended, and results of at least so many of them. False if the model does not
    /// allow that.
    pub fn are_detached(&mut self, count: usize, results: usize) -> bool {
        self.drift();
        self.states.retain(|state| {
            let (detached, satisfied) = state.detached();
            detached == count && satisfied >= results
        });
        !self.states.is_empty()
    }

    /// Returns whether this holds for one of the states that explain what was seen.
    pub fn any_state(&mut self, holds: impl FnMut(&State) -> bool) -> bool {
        self.drift();
        self.states.iter().any(holds)
    }

    fn each(&mut self, change: impl Fn(&mut State)) {
        let changed = std::mem::take(&mut self.states).into_iter().map(|mut state| {
            change(&mut state);
            state
        });
        self.states = changed.collect();
    }

    /// Adds every state that the pending operations can lead to.
    fn drift(&mut self) {
        let mut open: Vec<State> = self.states.iter().cloned().collect();
        while let Some(state) = open.pop() {
            for &Pending { thread, has_deadline, .. } in &self.pending {
                let mut next = state.steps(thread);
                if has_deadline && state.outcome(thread).is_none() {
                    let mut late = state.clone();
                    late.deadline(thread);
                    next.push(late);
                }
                open.extend(next.into_iter().filter(|state| self.states.insert(state.clone())));
            }
            for thread in state.without_a_thread() {
                open.extend(state.steps(thread).into_iter().filter(|state| self.states.insert(state.clone())));
            }
            open.extend(state.fires().into_iter().filter(|state| self.states.insert(state.clone())));
        }
    }
}

/// Returns true if this thread has nothing to do but sleep.
fn sleeps(state: &State, thread: usize) -> bool {
    let takes = state.collects(thread) && !state.owes_result_to(&[thread]);
    state.outcome(thread).is_none() && (state.parked(thread) || takes)
}
