// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches the model's explanations of the events of a run: runs with the same explanations share them.

use std::collections::HashMap;

use super::model::{Model, Monitor, Thread};

use super::Program;
use super::kernel::Event;
use crate::machine::fingerprint::Fingerprint;

/// The number of a set of explanations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Explained(usize);

impl Explained {
    /// Nothing was observed yet.
    pub const START: Explained = Explained(0);
}

/// See the module.
pub struct Explanations<'a> {
    program: &'a Program,
    monitors: Vec<Monitor>,
    numbers: HashMap<Fingerprint, Explained>,
    after: HashMap<(Explained, Event), Option<Explained>>,
}

impl<'a> Explanations<'a> {
    pub fn new(program: &'a Program) -> Explanations<'a> {
        let model = Model::new(&program.words, program.threads.len(), program.rules());
        let mut all = Explanations { program, monitors: vec![], numbers: HashMap::new(), after: HashMap::new() };
        all.number(Monitor::new(model));
        all
    }

    /// How many different sets of explanations were met.
    pub fn count(&self) -> usize {
        self.monitors.len()
    }

    /// What explains an event as well; none: nothing does.
    pub fn after(&mut self, before: Explained, event: Event) -> Option<Explained> {
        if let Some(&after) = self.after.get(&(before, event)) {
            return after;
        }
        let mut monitor = self.monitors[before.0].clone();
        let is_explained = match event {
            Event::Invoke(thread, call) => {
                monitor.invoke(thread, self.program.threads[thread][call].clone());
                true
            }
            Event::Return(thread, outcome) => monitor.returns(thread, outcome),
            Event::Kill(thread) => {
                monitor.kill(thread);
                true
            }
        };
        let after = is_explained.then(|| self.number(monitor));
        self.after.insert((before, event), after);
        after
    }

    /// Returns whether these threads may sleep for ever.
    pub fn may_sleep(&self, explained: Explained, threads: &[Thread]) -> bool {
        self.monitors[explained.0].may_sleep(threads)
    }

    fn number(&mut self, monitor: Monitor) -> Explained {
        let next = Explained(self.monitors.len());
        let number = *self.numbers.entry(Fingerprint::of(&monitor)).or_insert(next);
        if number == next {
            self.monitors.push(monitor);
        }
        number
    }
}
