// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries every schedule of a program within bounds.

use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use super::machine::{Choice, Machine, Thread};
use super::programs::Program;
use crate::machine::fingerprint::Fingerprint;
use crate::machine::tree::{Tree, Visited};
use crate::random::Random;

/// What was explored.
#[derive(Debug, Default)]
pub struct Report {
    /// Executions, most of them cut off at a state that was explored already.
    pub executions: u64,
    /// Different states.
    pub states: usize,
    /// Nothing was left to explore.
    pub complete: bool,
    /// The first execution that went wrong.
    pub failure: Option<Failure>,
    /// How long it took.
    pub time: Duration,
}

/// An execution that went wrong. Within the process it can be repeated.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was wrong.
    pub what: String,
    /// The choices, one for each stop.
    pub schedule: Vec<Choice>,
    /// The memory at which threads stopped.
    pub public: Vec<usize>,
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let verdict = match &self.failure {
            Some(_) => "FAIL",
            None if self.complete => "ok",
            None => "part",
        };
        let (executions, states, seconds) = (self.executions, self.states, self.time.as_secs_f64());
        write!(f, "{verdict:<4} executions {executions:>9} states {states:>9} {seconds:>7.1}s")
    }
}

struct Search<'a> {
    machine: Machine<'a>,
    preemptions: u32,
    schedule: Vec<Choice>,
    /// The thread that ran last, and the preemptions that are left.
    last: Option<Thread>,
    left: u32,
    report: Report,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, preemptions: u32) -> Search<'a> {
        let (machine, report) = (Machine::new(program), Report::default());
        Search { machine, preemptions, schedule: Vec::new(), last: None, left: 0, report }
    }

    fn begin(&mut self) {
        self.machine.begin();
        self.schedule.clear();
        self.report.executions += 1;
        (self.last, self.left) = (None, self.preemptions);
    }

    /// One preemption if another thread could go on. What the memory does costs nothing.
    fn cost(&self, choice: Choice) -> u32 {
        let (Choice::Run(thread) | Choice::Deadline(thread)) = choice else { return 0 };
        u32::from(self.last.is_some_and(|last| last != thread && self.machine.is_ready(last)))
    }

    /// To go on with the same thread is the first.
    fn options(&self) -> Vec<Choice> {
        let mut options = self.machine.options();
        options.retain(|&choice| self.cost(choice) <= self.left);
        options.sort_by_key(|&choice| self.last.map(Choice::Run) != Some(choice));
        options
    }

    /// Makes a choice. False if it went wrong.
    fn apply(&mut self, choice: Choice) -> bool {
        self.left -= self.cost(choice);
        self.schedule.push(choice);
        if let Choice::Run(thread) | Choice::Deadline(thread) = choice {
            self.last = Some(thread);
        }
        let done = self.machine.apply(choice);
        self.judge(done)
    }

    fn judge(&mut self, done: Result<(), String>) -> bool {
        if let Err(what) = done {
            let (schedule, public) = (self.schedule.clone(), self.machine.public());
            self.report.failure = Some(Failure { what, schedule, public });
        }
        self.report.failure.is_none()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.machine.fingerprint().then(self.last.map_or(0, |last| 1 + last as u64))
    }

    /// Goes on until the end, or to a state that was visited with as many preemptions left.
    fn extend(&mut self, visited: &mut Visited, tree: &mut Tree<Choice>) {
        loop {
            let options = self.options();
            if options.is_empty() {
                let end = self.machine.end();
                self.judge(end);
                return;
            }
            if options.len() > 1 && !visited.is_new(self.fingerprint(), self.left) {
                return;
            }
            let Some(first) = tree.branch(options) else { return };
            if !self.apply(first) {
                return;
            }
        }
    }

    /// Every schedule. True if memory was misjudged, so that it must begin anew.
    fn exhaust(&mut self, executions: u64) -> bool {
        let (mut visited, mut tree) = (Visited::default(), Tree::default());
        loop {
            self.begin();
            let path: Vec<Choice> = tree.path().collect();
            if path.into_iter().all(|choice| self.apply(choice)) {
                self.extend(&mut visited, &mut tree);
            }
            self.report.states = visited.count();
            if self.report.failure.is_some() {
                return false;
            }
            if self.machine.misjudged() {
                return true;
            }
            self.report.complete = !tree.next_path();
            if self.report.complete || self.report.executions >= executions {
                return false;
            }
        }
    }

    fn random(&mut self, random: &mut Random) {
        self.begin();
        loop {
            let options = self.machine.options();
            if options.is_empty() {
                let end = self.machine.end();
                self.judge(end);
                return;
            }
            let same = self.last.map(Choice::Run).filter(|same| options.contains(same) && !random.one_in(4));
            if !self.apply_freely(same.unwrap_or(*random.pick(&options))) {
                return;
            }
        }
    }

    /// Makes a choice that costs nothing.
    fn apply_freely(&mut self, choice: Choice) -> bool {
        self.left = u32::MAX;
        self.apply(choice)
    }
}

/// Random executions before the others, at least; one for so many of the others otherwise. What only late schedules show is found by them.
const RANDOM: u64 = 1_000;
const OTHERS_PER_RANDOM: u64 = 30;

/// Explores every schedule with so many preemptions; gives up after so many executions.
pub fn exhaustive(program: &Program, preemptions: u32, executions: u64) -> Report {
    explore(Search::new(program, preemptions), executions)
}

/// The same over a memory that no store reaches late.
pub fn in_order(program: &Program, preemptions: u32, executions: u64) -> Report {
    let mut search = Search::new(program, preemptions);
    search.machine.keep_order();
    explore(search, executions)
}

fn explore(mut search: Search<'_>, executions: u64) -> Report {
    let begun = Instant::now();
    // These learn which memory is private, and find what lies at the beginning, where the other search comes last.
    let mut random = Random::new(0);
    for _ in 0..RANDOM.max(executions / OTHERS_PER_RANDOM) {
        search.random(&mut random);
        search.machine.misjudged();
        if search.report.failure.is_some() {
            break;
        }
    }
    while search.report.failure.is_none() && search.exhaust(executions) {}
    search.report.time = begun.elapsed();
    search.report
}

/// Repeats an execution. Returns what went wrong, and what happened.
pub fn replay(program: &Program, failure: &Failure) -> (Option<String>, String) {
    let mut machine = Machine::new(program);
    machine.set_public(&failure.public);
    machine.keep_trace();
    let ended = follow(&mut machine, &failure.schedule);
    (ended.err(), machine.trace())
}

fn follow(machine: &mut Machine<'_>, schedule: &[Choice]) -> Result<(), String> {
    machine.begin();
    for &choice in schedule {
        if !machine.options().contains(&choice) {
            return Err(format!("the schedule does not fit: {choice:?}"));
        }
        machine.apply(choice)?;
    }
    if machine.options().is_empty() { machine.end() } else { Ok(()) }
}
