//! Every schedule of a program with at most so many preemptions.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use ntux_futex::spec::{Model, Monitor, Thread};

use super::kernel::{Event, Status};
use super::machine::Machine;
use super::{Over, Program};
use crate::random::Random;

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Run(Thread),
    Deadline(Thread),
    Kill(Thread),
    /// Who could run now is stopped for ever.
    End,
}

/// What was explored.
#[derive(Debug, Default)]
pub struct Report {
    /// Schedules that were run.
    pub executions: u64,
    /// Different observations that the model had to explain.
    pub histories: usize,
    /// Nothing was left to explore.
    pub complete: bool,
    /// What went wrong, with the choices that lead there: [`replay`] takes them.
    pub failure: Option<(String, Vec<usize>)>,
}

/// Explores a program: at most `preemptions` switches away from a thread that could go on, at most one thread stopped
/// for ever, at most `executions`.
pub fn exhaustive(program: &Program, preemptions: u32, executions: u64) -> Report {
    let mut search = Search::new(program, preemptions);
    let mut report = Report::default();
    let mut path: Vec<(usize, usize)> = Vec::new();
    while report.executions < executions && !report.complete {
        report.executions += 1;
        let ended = search.execute(|depth, options| {
            if path.len() == depth {
                path.push((0, options));
            }
            path[depth].0
        });
        if let Err(what) = ended {
            report.failure = Some((what, path.iter().map(|&(taken, _)| taken).collect()));
            break;
        }
        while path.last().is_some_and(|&(taken, options)| taken + 1 == options) {
            path.pop();
        }
        match path.last_mut() {
            Some((taken, _)) => *taken += 1,
            None => report.complete = true,
        }
    }
    report.histories = search.explained.len();
    report
}

/// Tries so many random schedules of a program, with any number of preemptions.
pub fn random(program: &Program, executions: u64, seed: u64) -> Report {
    let mut search = Search::new(program, UNBOUNDED);
    let mut random = Random::new(seed);
    let mut report = Report::default();
    while report.executions < executions && report.failure.is_none() {
        report.executions += 1;
        let mut path = Vec::new();
        let ended = search.execute(|_, options| {
            let choice = if random.one_in(4) { random.below(options) } else { 0 };
            path.push(choice);
            choice
        });
        report.failure = ended.err().map(|what| (what, path));
    }
    report.histories = search.explained.len();
    report
}

/// Repeats an execution; what goes wrong.
pub fn replay(program: &Program, preemptions: u32, choices: &[usize]) -> Option<String> {
    // Where a program without the bug goes on longer, it goes straight on.
    Search::new(program, preemptions).execute(|depth, _| choices.get(depth).copied().unwrap_or(0)).err()
}

/// As many preemptions as there may be choices.
pub const UNBOUNDED: u32 = u32::MAX;

struct Search<'a> {
    machine: Machine<'a>,
    program: &'a Program,
    preemptions: u32,
    /// Hashes of the observations that the model explains.
    explained: HashSet<u64>,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, preemptions: u32) -> Search<'a> {
        Search { machine: Machine::new(program), program, preemptions, explained: HashSet::new() }
    }

    /// Runs the program; `choose` is given the depth and the number of options.
    fn execute(&mut self, mut choose: impl FnMut(usize, usize) -> usize) -> Result<(), String> {
        self.machine.begin();
        let (mut last, mut left) = (None, self.preemptions);
        for depth in 0.. {
            let options = self.options(last, left);
            if options.is_empty() {
                break;
            }
            let chosen = choose(depth, options.len());
            let (choice, cost) = *options.get(chosen).ok_or("the choices do not fit the program")?;
            left -= cost;
            match choice {
                Choice::Run(thread) => self.machine.resume(thread, false),
                Choice::Deadline(thread) => self.machine.resume(thread, true),
                Choice::Kill(thread) => self.machine.kill(thread),
                Choice::End => break,
            }
            last = if let Choice::Run(thread) | Choice::Deadline(thread) = choice { Some(thread) } else { None };
            if let Some(what) = self.machine.trouble() {
                return Err(format!("{what}: {:?}", self.machine.events()));
            }
        }
        // In the table a thread's own word is the thread's own: it changes when the wait ends, and then a wake is due.
        let is_at_rest = !self.machine.statuses().contains(&Status::Midway);
        if self.program.over != Over::Kernel && is_at_rest && self.machine.oversleeps() {
            return Err(format!("a thread was woken and sleeps on: {:?}", self.machine.events()));
        }
        self.explain()
    }

    /// What may happen, and how many preemptions each is; to go on with the same thread comes first.
    fn options(&self, last: Option<Thread>, left: u32) -> Vec<(Choice, u32)> {
        let statuses = self.machine.statuses();
        let runnable = |status: &Status| matches!(status, Status::Between | Status::Midway);
        let goes_on = last.is_some_and(|last| runnable(&statuses[last]));
        let mut options: Vec<(Choice, u32)> = Vec::new();
        for (thread, status) in statuses.iter().enumerate() {
            let cost = u32::from(goes_on && last != Some(thread));
            match status {
                Status::Between | Status::Midway if last == Some(thread) => options.insert(0, (Choice::Run(thread), 0)),
                Status::Between | Status::Midway => options.push((Choice::Run(thread), cost)),
                Status::Asleep { timed: true } => options.push((Choice::Deadline(thread), cost)),
                Status::Asleep { timed: false } | Status::Finished => {}
            }
        }
        let midway = statuses.iter().filter(|&&status| status == Status::Midway).count();
        // As dear as a preemption, so that not every schedule is multiplied by every death.
        let nobody_died = !self.machine.events().iter().any(|event| matches!(event, Event::Kill(_)));
        if self.program.over == Over::Domain && nobody_died {
            let alive = statuses
                .iter()
                .enumerate()
                .filter(|&(_, status)| matches!(status, Status::Midway | Status::Asleep { .. }));
            options.extend(alive.map(|(thread, _)| (Choice::Kill(thread), 1)));
        }
        if midway == 1 && !statuses.contains(&Status::Between) {
            options.push((Choice::End, 0));
        }
        options.retain(|&(_, cost)| cost <= left);
        options
    }

    /// Whether the model explains what was observed, and who sleeps now.
    fn explain(&mut self) -> Result<(), String> {
        let (events, statuses) = (self.machine.events(), self.machine.statuses());
        let is_asleep = |thread: &Thread| matches!(statuses[*thread], Status::Asleep { .. });
        let asleep: Vec<Thread> = (0..statuses.len()).filter(is_asleep).collect();
        let mut hasher = DefaultHasher::new();
        (&events, &asleep).hash(&mut hasher);
        if !self.explained.insert(hasher.finish()) {
            return Ok(());
        }
        let threads = self.program.threads.len();
        let mut monitor = Monitor::new(Model::new(&self.program.words, threads, self.program.rules()));
        for &event in &events {
            match event {
                Event::Invoke(thread, call) => monitor.invoke(thread, self.program.threads[thread][call].clone()),
                Event::Return(thread, outcome) if monitor.returns(thread, outcome) => {}
                Event::Kill(thread) => monitor.kill(thread),
                Event::Return(..) => return Err(format!("no order of steps explains {event:?} in {events:?}")),
            }
        }
        if monitor.may_sleep(&asleep) {
            return Ok(());
        }
        Err(format!("lost wake: threads {asleep:?} sleep after {events:?}"))
    }
}
