// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tries every schedule of a program with a bounded number of preemptions.
//!
//! # What is skipped
//! * **Known states.** An execution ends at a state that was met before with at least as many preemptions left.
//!   Everything that can happen from there was tried then, or will be tried by the execution that met it, because the
//!   options, their costs, results and verdicts depend only on the state ([`super::state`], the explanations of the
//!   results so far, and whom a switch would interrupt). With more preemptions left the execution continues, because
//!   more can happen. A thread that continues learns something, so no state occurs twice in one execution, and this
//!   does not hide a spinning thread.
//! * **A stop between the beginning of a request and its first access.** It makes no difference to the others; the
//!   model would only learn of the request earlier, which allows it more. It does not save preemptions either, because
//!   a thread interrupted there could have been interrupted before.
//! * Points with one option are not stored; the next point is.
//!
//! `a_search_that_remembers_states_misses_no_end` compares the search with one that remembers nothing.

use std::collections::HashSet;

use super::model::Thread;

use super::explained::{Explained, Explanations};
use super::kernel::{Event, Status};
use super::stage::Stage;
use super::{Over, Program};
use crate::machine::Choice;
use crate::machine::fingerprint::Fingerprint;
use crate::machine::token::{Step, Token};
use crate::machine::tree::{Tree, Visited};
use crate::random::Random;

/// What was explored.
#[derive(Debug, Default)]
pub struct Report {
    /// Schedules that were run, most of them to a state only that was met before.
    pub executions: u64,
    /// Different sets of explanations that the model had for what was observed.
    pub histories: usize,
    /// The different ends of the runs: what was answered, and what is left.
    pub ends: HashSet<Fingerprint>,
    /// Nothing was left to explore.
    pub complete: bool,
    /// What went wrong, and what replays it.
    pub failure: Option<(String, Token)>,
}

/// What a search remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// The states that it has met: it does not go on from one again.
    States,
    /// Nothing: it runs every schedule, to its end.
    Nothing,
    /// The states, but not how many preemptions were left: a planted fault, by which ends are missed.
    Careless,
}

/// Explores a program: at most `preemptions` switches away from a thread that could go on, at most one thread stopped
/// for ever, at most `executions`.
pub fn exhaustive(program: &Program, preemptions: u32, executions: u64, memory: Memory) -> Report {
    let mut search = Search::new(program, preemptions);
    let mut report = Report::default();
    let (mut visited, mut tree) = (Visited::default(), Tree::default());
    while report.executions < executions && !report.complete {
        report.executions += 1;
        if let Err(what) = search.execute(&mut tree, &mut visited, memory) {
            report.failure = Some((what, search.token()));
            break;
        }
        report.complete = !tree.next_path();
    }
    (report.histories, report.ends) = (search.explanations.count(), search.ends);
    report
}

/// Tries so many random schedules of a program, with any number of preemptions.
pub fn random(program: &Program, executions: u64, seed: u64) -> Report {
    let mut search = Search::new(program, UNBOUNDED);
    let mut random = Random::new(seed);
    let mut report = Report::default();
    while report.executions < executions && report.failure.is_none() {
        report.executions += 1;
        let ended = search.follow(|options| if random.one_in(4) { random.below(options.len()) } else { 0 });
        report.failure = ended.err().map(|what| (what, search.token()));
    }
    (report.histories, report.ends) = (search.explanations.count(), search.ends);
    report
}

/// Repeats an execution; what goes wrong, and what happened.
pub fn replay(program: &Program, schedule: &[Step]) -> (Option<String>, String) {
    let mut search = Search::new(program, UNBOUNDED);
    search.stage.keep_trace();
    let mut choices = schedule.iter().flat_map(|&(choice, stops)| std::iter::repeat_n(choice, stops as usize));
    // Where a program without the bug goes on in another way, it goes straight on.
    let ended = search.follow(|options| {
        let choice = choices.next();
        options.iter().position(|&(option, _)| Some(option) == choice).unwrap_or(0)
    });
    (ended.err(), search.stage.trace())
}

/// As many preemptions as there may be choices.
pub const UNBOUNDED: u32 = u32::MAX;

/// A choice, and how many preemptions it is.
type Weighed = (Choice, u32);

struct Search<'a> {
    stage: Stage<'a>,
    program: &'a Program,
    preemptions: u32,
    explanations: Explanations<'a>,
    ends: HashSet<Fingerprint>,
    schedule: Vec<Step>,
    /// What explains the first events, and how many these are.
    explained: (Explained, usize),
    /// The thread that ran last, and the preemptions that are left.
    last: Option<Thread>,
    left: u32,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, preemptions: u32) -> Search<'a> {
        Search {
            stage: Stage::new(program),
            program,
            preemptions,
            explanations: Explanations::new(program),
            ends: HashSet::new(),
            schedule: Vec::new(),
            explained: (Explained::START, 0),
            last: None,
            left: 0,
        }
    }

    fn begin(&mut self) {
        self.stage.begin();
        self.schedule.clear();
        self.explained = (Explained::START, 0);
        (self.last, self.left) = (None, self.preemptions);
    }

    /// What replays the execution.
    fn token(&self) -> Token {
        Token { program: self.program.name.to_owned(), schedule: self.schedule.clone() }
    }

    /// Takes the path of the tree, then the first option each time, until the end or to a state that was visited.
    fn execute(&mut self, tree: &mut Tree<Weighed>, visited: &mut Visited, memory: Memory) -> Result<(), String> {
        self.begin();
        let mut goes_on = true;
        for weighed in tree.path() {
            goes_on = self.apply(weighed)?;
        }
        while goes_on {
            let options = self.options();
            // With one option the state that it leads to is enough to remember.
            if options.len() > 1 && !self.is_new(visited, memory) {
                return Ok(());
            }
            let Some(first) = tree.branch(options) else { break };
            goes_on = self.apply(first)?;
        }
        self.end()
    }

    fn is_new(&self, visited: &mut Visited, memory: Memory) -> bool {
        match memory {
            Memory::States => visited.is_new(self.fingerprint(), self.left),
            Memory::Nothing => true,
            Memory::Careless => visited.is_new(self.fingerprint(), 0),
        }
    }

    /// Runs the program; `choose` is given the options.
    fn follow(&mut self, mut choose: impl FnMut(&[Weighed]) -> usize) -> Result<(), String> {
        self.begin();
        loop {
            let options = self.options();
            if options.is_empty() || !self.apply(options[choose(&options)])? {
                break;
            }
        }
        self.end()
    }

    /// Makes a choice; false if it is the end.
    fn apply(&mut self, (choice, cost): Weighed) -> Result<bool, String> {
        self.left -= cost;
        self.schedule.push((choice, 1));
        match choice {
            Choice::Run(thread) => self.stage.resume(thread, false),
            Choice::Deadline(thread) => self.stage.resume(thread, true),
            Choice::Die(thread) => self.stage.kill(thread),
            Choice::Interrupt(_) => unreachable!("nobody interrupts a futex wait"),
            Choice::End => return Ok(false),
        }
        self.last = if let Choice::Run(thread) | Choice::Deadline(thread) = choice { Some(thread) } else { None };
        if let Some(what) = self.stage.trouble() {
            return Err(format!("{what}: {:?}", self.stage.events()));
        }
        self.explain()?;
        Ok(true)
    }

    /// Fails if the model does not explain what is new.
    fn explain(&mut self) -> Result<(), String> {
        while let Some(event) = self.stage.event(self.explained.1) {
            let after = self.explanations.after(self.explained.0, event);
            let unexplained = || format!("no order of steps explains {event:?} in {:?}", self.stage.events());
            self.explained = (after.ok_or_else(unexplained)?, self.explained.1 + 1);
        }
        Ok(())
    }

    /// Fails if a thread sleeps now that must not.
    fn end(&mut self) -> Result<(), String> {
        let statuses = self.stage.statuses();
        // In the table a thread's own word is the thread's own: it changes when the wait ends, and then a wake is due.
        let is_at_rest = !statuses.contains(&Status::Midway);
        if self.program.over != Over::Kernel && is_at_rest && self.stage.oversleeps() {
            return Err(format!("a thread was woken and sleeps on: {:?}", self.stage.events()));
        }
        let is_asleep = |thread: &Thread| matches!(statuses[*thread], Status::Asleep { .. });
        let asleep: Vec<Thread> = (0..statuses.len()).filter(is_asleep).collect();
        self.ends.insert(self.stage.end());
        if self.stage.leaks() {
            return Err(format!("a dead thread's entries stay in their lines: {:?}", self.stage.events()));
        }
        if self.explanations.may_sleep(self.explained.0, &asleep) {
            return Ok(());
        }
        Err(format!("lost wake: threads {asleep:?} sleep after {:?}", self.stage.events()))
    }

    /// The thread that ran last, if it could go on.
    fn interruptible(&self, statuses: &[Status]) -> Option<Thread> {
        self.last.filter(|&last| matches!(statuses[last], Status::Between | Status::Midway))
    }

    /// The state, and what the search may do there apart from the preemptions that are left.
    fn fingerprint(&self) -> Fingerprint {
        let interruptible = self.interruptible(&self.stage.statuses());
        let mine = Fingerprint::of(&(self.explained.0, interruptible));
        self.stage.fingerprint().followed_by(mine)
    }

    /// What may happen, and how many preemptions each is; to go on with the same thread comes first.
    fn options(&self) -> Vec<Weighed> {
        let statuses = self.stage.statuses();
        let interruptible = self.interruptible(&statuses);
        let mut options: Vec<Weighed> = Vec::new();
        for (thread, status) in statuses.iter().enumerate() {
            let cost = u32::from(interruptible.is_some_and(|last| last != thread));
            match status {
                Status::Between | Status::Midway if interruptible == Some(thread) => {
                    options.insert(0, (Choice::Run(thread), 0))
                }
                Status::Between | Status::Midway => options.push((Choice::Run(thread), cost)),
                Status::Asleep { timed: true } => options.push((Choice::Deadline(thread), cost)),
                Status::Asleep { timed: false } | Status::Finished => {}
            }
        }
        // As dear as a preemption, so that not every schedule is multiplied by every death.
        let nobody_died = !self.stage.events().iter().any(|event| matches!(event, Event::Kill(_)));
        if self.program.over == Over::Domain && nobody_died {
            let alive = statuses
                .iter()
                .enumerate()
                .filter(|&(_, status)| matches!(status, Status::Midway | Status::Asleep { .. }));
            options.extend(alive.map(|(thread, _)| (Choice::Die(thread), 1)));
        }
        let runnable = statuses.iter().filter(|status| matches!(status, Status::Between | Status::Midway)).count();
        if runnable == 1 {
            options.push((Choice::End, 0));
        }
        options.retain(|&(_, cost)| cost <= self.left);
        options
    }
}
