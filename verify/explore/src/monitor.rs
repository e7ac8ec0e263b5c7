// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks a history against the sequential model, event by event.
//!
//! The monitor keeps the set of all states of [`ntux_sync::spec`] that explain the history so far. If no state explains
//! an event, the set becomes empty, and the history is not linearizable. Sets are numbered, and the effect of an event
//! on a set is cached, so that millions of histories of one program cost little more than the distinct ones.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ntux_sync::spec::{Operation, Outcome, State, ThreadId};

use crate::machine::fingerprint::Fingerprint;

/// What an onlooker sees of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "every event names its thread")]
pub enum Event {
    /// It calls operation number `call` of the monitor.
    Invoke { thread: ThreadId, call: usize },
    /// It fell asleep: its wait stands in every queue and is not interrupted, or it is satisfied and about to be woken.
    Asleep { thread: ThreadId },
    /// It leaves the queues in which it slept, to complete what another thread has begun, and begins its wait again.
    StepsAside { thread: ThreadId },
    /// The deadline of its wait has passed.
    Deadline { thread: ThreadId },
    /// An interrupt begins on it.
    Interrupt { thread: ThreadId },
    /// The interrupt has done its work: the wait in progress (if any) stands in no queue.
    Interrupted { thread: ThreadId },
    /// The interrupt is no longer in force.
    Resume { thread: ThreadId },
    /// It is dead.
    Die { thread: ThreadId },
    /// Its call returned.
    Return { thread: ThreadId, outcome: Outcome },
}

impl Event {
    /// Whose event it is.
    pub fn thread(self) -> ThreadId {
        match self {
            Event::Invoke { thread, .. }
            | Event::Asleep { thread }
            | Event::StepsAside { thread }
            | Event::Deadline { thread }
            | Event::Interrupt { thread }
            | Event::Interrupted { thread }
            | Event::Resume { thread }
            | Event::Die { thread }
            | Event::Return { thread, .. } => thread,
        }
    }
}

/// A numbered set of states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Explained(u32);

impl Explained {
    /// Its number.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }
}

/// The sets of states met so far, and what events make of them.
pub struct Monitor {
    calls: Vec<Operation>,
    sets: Vec<Rc<BTreeSet<State>>>,
    numbers: HashMap<Fingerprint, Explained>,
    after: HashMap<(Explained, Event), Explained>,
    closures: HashMap<Explained, Explained>,
}

impl Monitor {
    /// A monitor for histories that begin in `start` and make some of these calls.
    pub fn new(start: State, calls: Vec<Operation>) -> Self {
        let mut monitor =
            Self { calls, sets: vec![], numbers: HashMap::new(), after: HashMap::new(), closures: HashMap::new() };
        monitor.number(BTreeSet::from([start]));
        monitor
    }

    /// Where every history begins.
    pub fn start(&self) -> Explained {
        Explained(0)
    }

    /// The calls, by number.
    pub fn calls(&self) -> &[Operation] {
        &self.calls
    }

    /// How many different sets of states were met.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// What explains the history so far and `event`; none: nothing does.
    pub fn event(&mut self, before: Explained, event: Event) -> Option<Explained> {
        if let Some(&after) = self.after.get(&(before, event)) {
            return self.occupied(after);
        }
        let states = match event {
            Event::Asleep { .. }
            | Event::StepsAside { .. }
            | Event::Interrupted { .. }
            | Event::Die { .. }
            | Event::Return { .. } => self.closure(before),
            _ => before,
        };
        let set = self.states(states).iter().flat_map(|state| self.apply(state.clone(), event)).collect();
        let after = self.number(set);
        self.after.insert((before, event), after);
        self.occupied(after)
    }

    /// Returns whether some explanation leaves every one of `sleepers` unsatisfied; `finally`, also when all timers that are due fire.
    pub fn may_sleep(&mut self, explained: Explained, sleepers: &[ThreadId], finally: bool) -> bool {
        let closure = self.closure(explained);
        let unsatisfied = |state: &State| {
            sleepers.iter().all(|&thread| state.outcome(thread).is_none())
                && !state.owes_result_to(sleepers)
                && !(finally && state.is_late_for(sleepers))
        };
        self.states(closure).iter().any(unsatisfied)
    }

    /// The states, for a report.
    pub fn states(&self, explained: Explained) -> Rc<BTreeSet<State>> {
        Rc::clone(&self.sets[explained.0 as usize])
    }

    fn occupied(&self, explained: Explained) -> Option<Explained> {
        (!self.sets[explained.0 as usize].is_empty()).then_some(explained)
    }

    fn apply(&self, mut state: State, event: Event) -> Vec<State> {
        match event {
            Event::Invoke { thread, call } => state.invoke(thread, self.calls[call].clone()),
            Event::Asleep { thread } if !may_sleep(&state, thread) => return vec![],
            Event::Asleep { .. } => {}
            Event::StepsAside { thread } => return state.begin_again(thread).into_iter().collect(),
            Event::Deadline { thread } => state.deadline(thread),
            Event::Interrupt { thread } => state.interrupt(thread),
            Event::Interrupted { thread } => return state.leave_queues(thread),
            Event::Resume { thread } => state.resume(thread),
            Event::Die { thread } => return state.die(thread),
            Event::Return { thread, outcome } if !state.may_report(thread, &outcome) => return vec![],
            Event::Return { thread, .. } => state.retire(thread),
        }
        vec![state]
    }

    /// The set after any number of steps of any threads.
    fn closure(&mut self, explained: Explained) -> Explained {
        if let Some(&closure) = self.closures.get(&explained) {
            return closure;
        }
        let mut seen = (*self.states(explained)).clone();
        let mut work: Vec<State> = seen.iter().cloned().collect();
        while let Some(state) = work.pop() {
            let steps = (0..state.threads()).flat_map(|thread| state.steps(thread)).chain(state.fires());
            for next in steps {
                if seen.insert(next.clone()) {
                    work.push(next);
                }
            }
        }
        let closure = self.number(seen);
        self.closures.insert(explained, closure);
        closure
    }

    fn number(&mut self, set: BTreeSet<State>) -> Explained {
        let print = Fingerprint::of(&set);
        if let Some(&number) = self.numbers.get(&print) {
            return number;
        }
        let number = Explained(u32::try_from(self.sets.len()).expect("fewer sets than that fit in memory"));
        self.sets.push(Rc::new(set));
        self.numbers.insert(print, number);
        number
    }
}

fn may_sleep(state: &State, thread: ThreadId) -> bool {
    match state.outcome(thread) {
        Some(outcome) => outcome.is_ok(),
        None => (state.parked(thread) || state.collects(thread)) && !state.is_interrupted(thread),
    }
}
