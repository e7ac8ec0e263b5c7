// SPDX-License-Identifier: MIT OR Apache-2.0
//! All experiments of a run, and their results.

use std::io;
use std::time::{Duration, Instant};

use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use super::findings::Found;
use super::look::Eyes;
use super::operation::Operation;
use super::path::{Choice, Path, Point};
use super::planted::Bug;
use super::play::{Failure, Fate, Play, Way};
use super::scenario::{PLANTED, SCENARIOS, Scenario};
use super::stage::Stage;
use super::wakes::Wakes;
use crate::WAKES_AT_DEATH;
use crate::skips::skip;

/// Failures printed for one scenario; all are counted.
const PRINTED: u32 = 3;

/// Where the system does not end the waits of the dead their supervisor does, or nobody.
const FATES: &[Fate] = match WAKES_AT_DEATH {
    true => &[Fate::Killed, Fate::Stopped, Fate::Delayed, Fate::Resumed],
    false => &[Fate::Killed, Fate::Buried, Fate::Stopped, Fate::Delayed, Fate::Resumed],
};
/// What becomes of a first victim before the second one meets it.
const FATES_OF_A_PAIR: [Fate; 3] = [Fate::Killed, Fate::Stopped, Fate::Delayed];

/// Random points of one pair of operations, whose paths are recorded once.
const POINTS_OF_A_PAIR: u32 = 20;

/// How often a wake must be late.
const TRIES: u32 = 3;

const BAR: &str = "{pos}/{len} {elapsed} {msg} experiments";

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub choice: Choice,
    /// Those that take long, too.
    pub long: bool,
    /// Only scenarios whose name contains this.
    pub only: Option<String>,
    /// The planted ones instead.
    pub planted: bool,
    /// How onlookers look.
    pub eyes: Eyes,
    /// What is planted in the core of victims.
    pub bug: Option<Bug>,
    /// Second victims too, at these points.
    pub pairs: Option<Choice>,
    /// Instead: two victims at so many random points, from this seed.
    pub random: Option<(u64, u64)>,
    /// What does not happen within this time is said to hang.
    pub patience: Duration,
    /// A wake that comes later than this after a kill is a failure; none: only if it never comes.
    pub wake_limit: Option<Duration>,
}

impl Plan {
    fn stage(&self) -> io::Result<Stage> {
        Ok(Stage::new(self.patience, self.eyes)?.with_bug(self.bug))
    }
}

/// What came of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Totals {
    pub operations: u32,
    pub kills: u64,
    pub stops: u64,
    pub pairs: u64,
    pub looks: u64,
    pub found: Found,
    pub missed: u64,
    pub failures: u64,
    pub woken_after_a_kill: u64,
    pub latest_wake: Duration,
    pub held_back: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.operations += other.operations;
        self.kills += other.kills;
        self.stops += other.stops;
        self.pairs += other.pairs;
        self.looks += other.looks;
        self.found.add(&other.found);
        self.missed += other.missed;
        self.failures += other.failures;
        self.woken_after_a_kill += other.woken_after_a_kill;
        self.latest_wake = self.latest_wake.max(other.latest_wake);
        self.held_back += other.held_back;
    }
}

/// Runs everything; prints failures as they come. `next` says which scenario comes next, by its number in the list; all of them that are
/// below the list's length come once, in this process or another one.
///
/// Errors: those of the system; `PermissionDenied` when ptrace is refused.
pub fn run(plan: &Plan, next: &dyn Fn() -> usize) -> io::Result<Totals> {
    let wanted = |scenario: &&Scenario| plan.only.as_ref().is_none_or(|only| scenario.name.contains(only.as_str()));
    let scenarios = if plan.planted { PLANTED } else { SCENARIOS };
    let scenarios: Vec<_> = scenarios.iter().filter(wanted).collect();
    let (scenarios, absent): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(|scenario| scenario.is_possible());
    if !absent.is_empty() {
        let why = "no descriptors stand for objects on macOS, and it says nothing of a thread's death";
        println!("{} operations are left out: {why}", absent.len());
    }
    // Drawn by this thread alone: a process with a second one could not fork victims.
    let bar = ProgressBar::new(plan.random.map_or(scenarios.len() as u64, |(count, _)| count));
    bar.set_style(ProgressStyle::with_template(BAR).expect("it is well formed"));
    let mut run = Run { plan, stage: plan.stage()?, totals: Totals::default(), printed: 0, bar };
    match plan.random {
        Some((count, seed)) => run.at_random(&scenarios, count, Rng::with_seed(seed))?,
        None => run.one_by_one(&scenarios, next)?,
    }
    run.bar.finish_and_clear();
    Ok(run.totals)
}

struct Run<'a> {
    plan: &'a Plan,
    stage: Stage,
    totals: Totals,
    /// Failures of the scenario under way that were printed.
    printed: u32,
    bar: ProgressBar,
}

/// A victim's part in an experiment.
#[derive(Clone, Copy)]
struct Blow<'a> {
    operation: Operation,
    path: &'a Path,
    point: Point,
    fate: Fate,
}

type Outcome<T> = Result<T, Failure>;

impl Run<'_> {
    fn one_by_one(&mut self, scenarios: &[&Scenario], next: &dyn Fn() -> usize) -> io::Result<()> {
        while let Some(scenario) = scenarios.get(next()) {
            if scenario.is_long && !self.plan.long {
                skip("crash-slice", format_args!("{}: it takes too long; make test-crash runs it", scenario.name));
            } else {
                self.scenario(scenario)?;
            }
            self.bar.inc(1);
        }
        Ok(())
    }

    /// A thread that falls asleep behind the victim takes a tenth of a second, and such an operation has thousands of instructions. So its victims
    /// are struck at every instruction only if that is asked for by name.
    fn choice(&self, scenario: &Scenario) -> Choice {
        match self.plan.choice {
            Choice::Every if scenario.has_takers_behind() && self.plan.only.is_none() => Choice::Changes,
            choice => choice,
        }
    }

    fn scenario(&mut self, scenario: &Scenario) -> io::Result<()> {
        let start = Instant::now();
        let before = self.totals;
        self.printed = 0;
        self.totals.operations += 1;
        let mut bytes = self.stage.prepare(scenario)?;
        let path = match trace(&self.stage, scenario, &bytes, &[], scenario.operation) {
            Ok(path) => path,
            Err(failure) => return self.failed(scenario, &mut bytes, &[], failure),
        };
        for point in path.points(self.choice(scenario)) {
            for &fate in FATES {
                let blow = Blow { operation: scenario.operation, path: &path, point, fate };
                self.experiment(scenario, &mut bytes, &[blow])?;
            }
        }
        if let Some(choice) = self.plan.pairs {
            self.pairs(scenario, &mut bytes, &path, choice)?;
        }
        let points = self.totals.kills + self.totals.stops + self.totals.pairs;
        let line = format!(
            "{:28} {:6} instructions {:7} experiments {:4} failures {:6.1} s",
            scenario.name,
            path.length(),
            points - before.kills - before.stops - before.pairs,
            self.totals.failures - before.failures,
            start.elapsed().as_secs_f64(),
        );
        self.bar.suspend(|| println!("{line}"));
        Ok(())
    }

    /// Once more, for every point at which the first victim had changed something, with a second victim that meets what
    /// it left.
    fn pairs(&mut self, scenario: &Scenario, bytes: &mut Vec<u8>, path: &Path, choice: Choice) -> io::Result<()> {
        for point in path.points(Choice::Arena) {
            for fate in FATES_OF_A_PAIR {
                let first = Blow { operation: scenario.operation, path, point, fate };
                for operation in scenario.helpers() {
                    let second = match trace(&self.stage, scenario, bytes, &[first], operation) {
                        Ok(path) => path,
                        Err(failure) => {
                            self.failed(scenario, bytes, &[first], failure)?;
                            continue;
                        }
                    };
                    for point in second.points(choice) {
                        let second = Blow { operation, path: &second, point, fate };
                        self.experiment(scenario, bytes, &[first, second])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Two victims at random points, some of each pair of operations.
    fn at_random(&mut self, scenarios: &[&Scenario], count: u64, mut random: Rng) -> io::Result<()> {
        let scenarios: Vec<_> =
            scenarios.iter().filter(|scenario| !scenario.is_long && !scenario.helpers().is_empty()).collect();
        while self.totals.pairs < count {
            let (Some(scenario), fate) = (random.choice(&scenarios), random_fate(&mut random)) else { return Ok(()) };
            self.bar.set_position(self.totals.pairs);
            let Some(operation) = random.choice(scenario.helpers()) else { continue };
            let mut bytes = self.stage.prepare(scenario)?;
            self.printed = 0;
            let path = match trace(&self.stage, scenario, &bytes, &[], scenario.operation) {
                Ok(path) => path,
                Err(failure) => {
                    self.failed(scenario, &mut bytes, &[], failure)?;
                    continue;
                }
            };
            let point = random.choice(path.points(Choice::Every)).expect("a path has a beginning");
            let first = Blow { operation: scenario.operation, path: &path, point, fate };
            let second = match trace(&self.stage, scenario, &bytes, &[first], operation) {
                Ok(path) => path,
                Err(failure) => {
                    self.failed(scenario, &mut bytes, &[first], failure)?;
                    continue;
                }
            };
            let points = second.points(Choice::Every);
            for _ in 0..POINTS_OF_A_PAIR {
                let point = points[random.usize(..points.len())];
                let second = Blow { operation, path: &second, point, fate: random_fate(&mut random) };
                self.experiment(scenario, &mut bytes, &[first, second])?;
            }
        }
        Ok(())
    }

    fn experiment(&mut self, scenario: &Scenario, bytes: &mut Vec<u8>, blows: &[Blow<'_>]) -> io::Result<()> {
        let count = match blows {
            [blow] if matches!(blow.fate, Fate::Killed | Fate::Buried) => &mut self.totals.kills,
            [_] => &mut self.totals.stops,
            _ => &mut self.totals.pairs,
        };
        *count += 1;
        self.bar.set_message(format!(
            "{} {}",
            scenario.name,
            self.totals.kills + self.totals.stops + self.totals.pairs
        ));
        match self.play(scenario, bytes, blows) {
            Ok(played) => {
                self.totals.missed += u64::from(!played.reached);
                self.totals.looks += played.looks;
                self.totals.found.add(&played.found);
                self.totals.woken_after_a_kill += u64::from(played.wakes.after_a_kill);
                self.totals.held_back += u64::from(played.wakes.held_back);
                self.totals.latest_wake = self.totals.latest_wake.max(played.wakes.latest);
                Ok(())
            }
            Err(failure) => self.failed(scenario, bytes, blows, failure),
        }
    }

    /// One experiment. Repeated step by step when a victim took another way than before, and repeated when a wake came
    /// late, as it may on a machine that has other work: a wake that is late each time is a failure.
    fn play(&self, scenario: &Scenario, bytes: &[u8], blows: &[Blow<'_>]) -> Outcome<Played> {
        let mut late = Duration::ZERO;
        for _ in 0..TRIES {
            let mut played = play(&self.stage, scenario, bytes, blows, Way::ToTheAddress)?;
            if !played.reached {
                played = play(&self.stage, scenario, bytes, blows, Way::StepByStep)?;
            }
            late = played.wakes.latest;
            if self.plan.wake_limit.is_none_or(|limit| late <= limit) {
                return Ok(played);
            }
        }
        Err(Failure::Wrong(format!("a wake came {late:?} after the kill, and too late {TRIES} times")))
    }

    /// Notes a failure, and goes on with fresh survivors: the old ones may hang.
    fn failed(
        &mut self,
        scenario: &Scenario,
        bytes: &mut Vec<u8>,
        blows: &[Blow<'_>],
        failure: Failure,
    ) -> io::Result<()> {
        let text = match failure {
            Failure::System(error) => return Err(error),
            Failure::Wrong(text) => text,
        };
        self.totals.failures += 1;
        self.printed += 1;
        if self.printed <= PRINTED {
            self.bar.suspend(|| println!("FAILED {}: {text}", scenario.name));
            for Blow { operation, point, fate, path } in blows {
                let asleep = if point.asleep { ", asleep" } else { "" };
                let at = format!("after {} of {} instructions{asleep}", point.instruction, path.length());
                self.bar.suspend(|| println!("       {fate:?} {at} of {operation:?}"));
            }
        }
        self.stage = self.plan.stage()?;
        *bytes = self.stage.prepare(scenario)?;
        Ok(())
    }
}

fn random_fate(random: &mut Rng) -> Fate {
    FATES[random.usize(..FATES.len())]
}

/// What an experiment that went well tells.
struct Played {
    wakes: Wakes,
    /// How often an observer inspected what a victim had left.
    looks: u64,
    found: Found,
    /// Every victim came to its point.
    reached: bool,
}

fn play(stage: &Stage, scenario: &Scenario, bytes: &[u8], blows: &[Blow<'_>], way: Way) -> Outcome<Played> {
    let mut play = Play::start(stage, scenario, bytes)?;
    let mut reached = true;
    for blow in blows {
        play.raise(blow.operation)?;
        reached &= play.drive(blow.path, blow.point, way)?;
        play.strike(blow.fate)?;
    }
    play.conclude()?;
    Ok(Played { wakes: play.wakes, looks: play.looks, found: play.found, reached })
}

/// The path of an operation that nobody disturbs, after others were struck.
fn trace(stage: &Stage, scenario: &Scenario, bytes: &[u8], before: &[Blow<'_>], operation: Operation) -> Outcome<Path> {
    let mut play = Play::start(stage, scenario, bytes)?;
    for blow in before {
        play.raise(blow.operation)?;
        play.drive(blow.path, blow.point, Way::ToTheAddress)?;
        play.strike(blow.fate)?;
    }
    play.raise(operation)?;
    let path = play.trace()?;
    play.strike(Fate::Delayed)?;
    play.conclude()?;
    Ok(path)
}
