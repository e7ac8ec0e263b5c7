// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to choose schedules: all of them, all with few preemptions, or random ones.

use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use ntux_sync::spec::ThreadId;

use crate::machine::Choice;
use crate::machine::fingerprint::Fingerprint;
use crate::machine::token::{Step, Token};
use crate::machine::tree::{Tree, Visited};
use crate::program::Program;
use crate::random::Random;
use crate::stage::Stage;
use crate::tally::Tally;
use crate::weak::{Choices, Memory};

/// What to explore.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often a thread that could go on may be interrupted by another; none: without limit.
    pub preemptions: Option<u32>,
    /// How many threads may stop for ever.
    pub frozen: usize,
    /// Give up after so many executions.
    pub executions: u64,
    /// Give up after so long.
    pub time: Duration,
}

/// What was explored.
#[derive(Debug, Default)]
pub struct Report {
    /// Executions, most of them cut off where they met a state that was explored already.
    pub executions: u64,
    /// Choices made.
    pub choices: u64,
    /// Different states.
    pub states: usize,
    /// Different sets of explanations that the monitor met.
    pub histories: usize,
    /// Nothing was left to explore.
    pub complete: bool,
    /// The first execution that went wrong.
    pub failure: Option<Failure>,
    /// What happened in the executions.
    pub tally: Tally,
    /// How long it took.
    pub time: Duration,
}

/// An execution that went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was wrong.
    pub what: String,
    /// Replays it.
    pub token: Token,
    /// The old values that a weak memory let it read.
    pub reads: Choices,
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let verdict = match &self.failure {
            Some(_) => "FAIL",
            None if self.complete => "ok",
            None => "part",
        };
        let (executions, choices, states, histories) = (self.executions, self.choices, self.states, self.histories);
        write!(f, "{verdict:<4} executions {executions:>9} choices {choices:>10} states {states:>9} ")?;
        write!(f, "histories {histories:>6} {:>7.1}s", self.time.as_secs_f64())
    }
}

/// Explores a program within bounds.
struct Search<'a> {
    stage: Stage,
    program: &'a Program,
    bounds: Bounds,
    begun: Instant,
    schedule: Vec<Step>,
    report: Report,
    /// The thread that ran last, and the preemptions that are left.
    last: Option<ThreadId>,
    left: u32,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program, bounds: Bounds) -> Self {
        let stage = Stage::new(program, (program.subject)(program));
        let (report, schedule) = (Report::default(), Vec::new());
        Self { stage, program, bounds, begun: Instant::now(), schedule, report, last: None, left: 0 }
    }

    fn begin(&mut self) {
        self.stage.begin();
        self.schedule.clear();
        self.report.executions += 1;
        (self.last, self.left) = (None, self.bounds.preemptions.unwrap_or(u32::MAX - 1));
    }

    /// Makes a choice; false when it went wrong.
    fn apply(&mut self, choice: Choice) -> bool {
        self.left -= self.cost(choice).min(self.left);
        if let Choice::Run(thread) | Choice::Deadline(thread) | Choice::Interrupt(thread) = choice {
            self.last = Some(thread);
        }
        self.report.choices += 1;
        let result = self.stage.apply(choice);
        self.schedule.push((choice, if choice == Choice::End { 1 } else { self.stage.passed() }));
        if let Err(what) = result {
            let token = Token { program: self.program.name.clone(), schedule: self.schedule.clone() };
            self.report.failure = Some(Failure { what, token, reads: self.stage.old_reads() });
        }
        self.report.failure.is_none()
    }

    /// How many preemptions the choice is.
    fn cost(&self, choice: Choice) -> u32 {
        let (Choice::Run(thread) | Choice::Deadline(thread) | Choice::Interrupt(thread)) = choice else { return 0 };
        let preempts = self.last.is_some_and(|last| last != thread && self.stage.runnable(last));
        u32::from(preempts && self.bounds.preemptions.is_some())
    }

    /// The options that the bounds allow; to go on with the same thread is the first.
    fn options(&self) -> Vec<Choice> {
        let mut options = self.stage.options(self.bounds.frozen);
        options.retain(|&choice| self.cost(choice) <= self.left);
        options.sort_by_key(|&choice| self.last.map(Choice::Run) != Some(choice));
        options
    }

    fn fingerprint(&self) -> Fingerprint {
        let print = self.stage.fingerprint();
        match (self.bounds.preemptions, self.last) {
            (Some(_), Some(last)) => print.then(1 + last as u64),
            _ => print,
        }
    }

    fn exhausted(&self) -> bool {
        self.report.executions >= self.bounds.executions || self.begun.elapsed() > self.bounds.time
    }

    fn finish(mut self) -> Report {
        self.report.time = self.begun.elapsed();
        self.report.histories = self.stage.histories();
        self.report.tally = self.stage.tally();
        self.report
    }

    /// Every schedule within the bounds; true when a chunk of memory was misjudged, so that it must begin anew.
    fn exhaust(&mut self) -> bool {
        let (mut visited, mut tree) = (Visited::default(), Tree::default());
        loop {
            self.begin();
            let repeated = tree.path().all(|choice| self.apply(choice));
            if repeated {
                self.extend(&mut visited, &mut tree);
            }
            self.report.states = visited.count();
            if self.report.failure.is_some() {
                return false;
            }
            if self.stage.misjudged() {
                return true;
            }
            self.report.complete = !tree.next_path();
            if self.report.complete || self.exhausted() {
                return false;
            }
        }
    }

    /// Goes on until the end, or to a state that was visited with as many preemptions left.
    fn extend(&mut self, visited: &mut Visited, tree: &mut Tree<Choice>) {
        while self.schedule.last().is_none_or(|&(choice, _)| choice != Choice::End) {
            if !visited.is_new(self.fingerprint(), self.left) {
                return;
            }
            let Some(first) = tree.branch(self.options()) else { return };
            if !self.apply(first) {
                return;
            }
        }
    }

    /// One random schedule.
    fn random(&mut self, random: &mut Random) {
        self.begin();
        let threads = self.program.threads.len();
        let mut policy = Policy::new(random, threads);
        let mut stopped = (self.bounds.frozen > 0 && random.one_in(2)).then(|| random.below(threads));
        let begins = random.below(60);
        let mortal = random.below(150);
        while self.report.failure.is_none() {
            let mut options = self.stage.options(self.bounds.frozen);
            let lives = |choice: &Choice| !matches!(choice, Choice::Die(_));
            if self.schedule.len() < mortal && options.iter().any(lives) {
                options.retain(lives);
            }
            if self.schedule.len() >= begins {
                stopped = stopped.filter(|&thread| without(&mut options, thread));
            }
            let choice = policy.choose(random, &options, self.last);
            if !self.apply(choice) || choice == Choice::End {
                return;
            }
        }
    }
}

/// Leaves the choices of others than `thread`; false, and all choices, when there are none.
fn without(options: &mut Vec<Choice>, thread: ThreadId) -> bool {
    let others = |choice: &Choice| !matches!(*choice, Choice::Run(one) | Choice::Interrupt(one) if one == thread);
    let any = options.iter().any(others);
    options.retain(|choice| !any || others(choice));
    any
}

/// How one random schedule chooses.
enum Policy {
    /// Switches now and then.
    Walk { switch: usize },
    /// Runs the thread of highest priority, which falls to the lowest at a few random moments (PCT).
    Priorities { order: Vec<ThreadId>, change: usize },
}

impl Policy {
    fn new(random: &mut Random, threads: usize) -> Self {
        if random.one_in(2) {
            return Self::Walk { switch: *random.pick(&[2, 4, 8, 16]) };
        }
        let mut order: Vec<ThreadId> = (0..threads).collect();
        (1..threads).for_each(|last| order.swap(last, random.below(last + 1)));
        Self::Priorities { order, change: *random.pick(&[10, 20, 40]) }
    }

    fn choose(&mut self, random: &mut Random, options: &[Choice], last: Option<ThreadId>) -> Choice {
        let (runs, others): (Vec<Choice>, Vec<Choice>) =
            options.iter().partition(|choice| matches!(choice, Choice::Run(_)));
        if runs.is_empty() || (!others.is_empty() && random.one_in(16)) {
            return *random.pick(&others);
        }
        match self {
            Self::Walk { switch } => {
                let same = last.map(Choice::Run).filter(|same| runs.contains(same));
                same.filter(|_| !random.one_in(*switch)).unwrap_or(*random.pick(&runs))
            }
            Self::Priorities { order, change } => {
                let first = order.iter().position(|&thread| runs.contains(&Choice::Run(thread)));
                let first = first.expect("somebody can run");
                let thread = order[first];
                if random.one_in(*change) {
                    order.remove(first);
                    order.push(thread);
                }
                Choice::Run(thread)
            }
        }
    }
}

/// Explores every schedule of a program within the bounds.
pub fn exhaustive(program: &Program, bounds: Bounds) -> Report {
    let mut search = Search::new(program, bounds);
    let mut random = Random::new(0);
    for _ in 0..32 {
        search.random(&mut random);
        search.stage.misjudged();
        if search.report.failure.is_some() {
            return search.finish();
        }
    }
    while search.exhaust() {}
    search.finish()
}

/// Tries `executions` random schedules of a program.
pub fn random(program: &Program, bounds: Bounds, seed: u64) -> Report {
    try_random(Search::new(program, Bounds { preemptions: None, ..bounds }), seed).finish()
}

/// Does what [`random`] does, with a weak memory, which comes back.
pub fn random_weak(program: &Program, bounds: Bounds, seed: u64, memory: Memory) -> (Report, Memory) {
    let mut search = Search::new(program, Bounds { preemptions: None, ..bounds });
    search.stage.set_weak(Some(memory));
    let mut search = try_random(search, seed);
    let memory = search.stage.set_weak(None).expect("it was set");
    (search.finish(), memory)
}

fn try_random(mut search: Search<'_>, seed: u64) -> Search<'_> {
    let mut random = Random::new(seed);
    while !search.exhausted() && search.report.failure.is_none() {
        search.random(&mut random);
        search.stage.misjudged();
    }
    search
}

/// A choice that passes one stop, and the call that the thread was in.
pub type Stop = (Choice, usize);

/// The stops of a schedule of a program, one by one.
pub fn stops(program: &Program, schedule: &[Step]) -> Vec<Stop> {
    let mut stage = Stage::new(program, (program.subject)(program));
    stage.stop_everywhere();
    stage.begin();
    let mut stops = Vec::new();
    for choice in schedule.iter().flat_map(|&step| choices(step)) {
        let call = choice.thread().map_or(0, |thread| stage.next_call(thread));
        stops.push((choice, call));
        if !stage.options(usize::MAX).contains(&choice) || stage.apply(choice).is_err() {
            break;
        }
    }
    stops
}

/// Makes the choices that are possible, one stop each, and lets everybody run to the end then; what went wrong.
pub fn follow(program: &Program, choices: &[Choice]) -> Option<Failure> {
    let bounds = Bounds { preemptions: None, frozen: 1, executions: 1, time: Duration::MAX };
    let mut search = Search::new(program, bounds);
    search.stage.stop_everywhere();
    search.begin();
    for &choice in choices {
        if search.stage.options(usize::MAX).contains(&choice) && !search.apply(choice) {
            return search.report.failure;
        }
    }
    loop {
        let options = search.stage.options(usize::MAX);
        let runs = options.iter().find(|choice| matches!(choice, Choice::Run(_)));
        let &choice = runs.or(options.iter().find(|&&choice| choice == Choice::End))?;
        if !search.apply(choice) || choice == Choice::End {
            return search.report.failure;
        }
    }
}

/// One choice for each stop that the step passes.
fn choices((choice, stops): Step) -> impl Iterator<Item = Choice> {
    let rest = match choice {
        Choice::Deadline(thread) | Choice::Interrupt(thread) => Choice::Run(thread),
        other => other,
    };
    std::iter::once(choice).chain(std::iter::repeat_n(rest, stops as usize - 1))
}

/// Repeats an execution; what went wrong, and what happened.
pub fn replay(program: &Program, schedule: &[Step]) -> (Option<String>, String) {
    replay_weak(program, schedule, None)
}

/// Does what [`replay`] does, with a weak memory.
pub fn replay_weak(program: &Program, schedule: &[Step], memory: Option<Memory>) -> (Option<String>, String) {
    let mut stage = Stage::new(program, (program.subject)(program));
    stage.set_weak(memory);
    stage.stop_everywhere();
    stage.keep_trace();
    stage.begin();
    for choice in schedule.iter().flat_map(|&step| choices(step)) {
        if !stage.options(usize::MAX).contains(&choice) {
            return (Some(format!("the schedule does not fit: {choice:?}")), stage.trace());
        }
        if let Err(what) = stage.apply(choice) {
            return (Some(what), stage.trace());
        }
    }
    (None, stage.trace())
}
