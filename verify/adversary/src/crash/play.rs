// SPDX-License-Identifier: MIT OR Apache-2.0
//! One experiment: survivors sleep, a victim is brought to a point of its operation and killed or stopped there,
//! perhaps followed by a second one, and then the survivors use the same objects. The judge checks every result.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use ntux_platform::clock;
use ntux_sync::Error;
use ntux_sync::spec::{Answer, Outcome};

use ntux_testkit::task::{FutexWait, Task};

use super::findings::Found;
use super::judge::Judge;
use super::operation::{Operation, Performer, Until};
use super::path::{Path, Point};
use super::scenario::Scenario;
use super::stage::{SLEEPERS, Stage, THREADS, VICTIMS, WORKERS};
use super::tracee::{Event, Tracee, stop_here};
use super::wakes::Wakes;
use crate::WAKES_AT_DEATH;

/// What becomes of a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Killed at once.
    Killed,
    /// Killed at once, and its supervisor says so.
    Buried,
    /// Stopped until the survivors are done, then killed.
    Stopped,
    /// Stopped until the survivors are done; then it goes on.
    Delayed,
    /// Stopped; then it goes on, and the survivors begin.
    Resumed,
}

/// How a victim is brought to its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// At full speed to the address, as often as its path went through it before.
    ToTheAddress,
    /// One instruction after the other: slow, and right also if it takes another way this time.
    StepByStep,
}

/// Why an experiment failed.
#[derive(Debug)]
pub enum Failure {
    /// The harness could not go on.
    System(io::Error),
    /// What the survivors saw must not be.
    Wrong(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::System(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::System(error) => write!(formatter, "the harness failed: {error}"),
            Failure::Wrong(text) => formatter.write_str(text),
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

pub(super) fn wrong<T>(text: String) -> Result<T> {
    Err(Failure::Wrong(text))
}

pub(super) struct Victim {
    pub(super) tracee: Option<Tracee>,
    pub(super) id: u32,
    pub(super) operation: Operation,
    fate: Option<Fate>,
}

/// An experiment in progress.
pub struct Play<'a> {
    pub(super) stage: &'a Stage,
    pub(super) scenario: &'a Scenario,
    pub(super) judge: Judge,
    /// Survivors whose waits have not ended.
    pub(super) asleep: Vec<usize>,
    pub(super) victims: Vec<Victim>,
    /// The family's descriptor of object 0.
    founders: Option<OwnedFd>,
    relieved: bool,
    calls: usize,
    /// Objects that a survivor has used since the last victim stood still.
    pub(super) touched: Vec<u8>,
    pub(super) killed_ns: Option<u64>,
    pub wakes: Wakes,
    /// How often an observer inspected what a victim had left.
    pub looks: u64,
    /// What the analysis made of that.
    pub found: Found,
}

impl<'a> Play<'a> {
    /// Puts the arena into the state of `bytes` and the survivors to sleep.
    pub fn start(stage: &'a Stage, scenario: &'a Scenario, bytes: &[u8]) -> Result<Play<'a>> {
        stage.restore(bytes);
        stage.board.lock.store(0);
        let objects: Vec<_> = scenario.objects.iter().chain(scenario.orphans).copied().collect();
        let mut play = Play {
            stage,
            scenario,
            judge: Judge::new(&objects, THREADS),
            asleep: Vec::new(),
            victims: Vec::new(),
            founders: scenario.founder.map(|_| stage.founders_descriptor()).transpose()?,
            relieved: false,
            calls: 0,
            touched: Vec::new(),
            killed_ns: None,
            wakes: Wakes::default(),
            looks: 0,
            found: Found::default(),
        };
        play.fall_asleep()?;
        Ok(play)
    }

    fn fall_asleep(&mut self) -> Result<()> {
        for (actor, &wait) in SLEEPERS.zip(self.scenario.sleepers) {
            let operation = Operation::Wait(wait);
            self.stage.board.mailbox(actor).order(operation);
            self.judge.begin(actor, operation);
            self.asleep.push(actor);
            self.observe()?;
        }
        Ok(())
    }

    /// The survivors, all of whose waits are over, wait once more, and are satisfied by others than the victims.
    fn sleep_again(&mut self) -> Result<()> {
        self.fall_asleep()?;
        self.release_sleepers()
    }

    /// Starts the next victim; it stands before its operation.
    pub fn raise(&mut self, operation: Operation) -> Result<()> {
        let number = VICTIMS[self.victims.len()];
        let mailbox = self.stage.board.mailbox(number);
        let cold = self.scenario.cold;
        mailbox.open(1, 0);
        mailbox.order(operation);
        let stage = self.stage;
        // The child keeps its page.
        let held = self.founders.as_ref().zip(self.scenario.founder);
        let _page = held.map(|(held, founder)| stage.found_for_child(held, founder)).transpose()?;
        let tracee = Tracee::fork(|| {
            // Looking at a taken mutex again and again is the same point many times.
            stage.arena.set_spins(2);
            let performer = Performer::new(&stage.arena, stage.board);
            if !cold {
                performer.perform(Operation::Enroll).expect("there is a place for a victim");
            }
            stop_here();
            let outcome = performer.perform(operation);
            stage.board.mailbox(number).answer(outcome);
        })?;
        self.judge.begin(number, operation);
        self.victims.push(Victim { id: tracee.id(), tracee: Some(tracee), operation, fate: None });
        Ok(())
    }

    /// Follows the victim that was started last through its whole operation.
    pub fn trace(&mut self) -> Result<Path> {
        let mailbox = self.stage.board.mailbox(VICTIMS[self.victims.len() - 1]);
        let mut path = Path::new(self.stage);
        while mailbox.outcome().is_none() {
            let stage = self.stage;
            let tracee = self.tracee();
            path.at(stage, tracee)?;
            tracee.step()?;
            if let Event::Ended(status) = self.stopped(Some(&mut path))? {
                return wrong(format!("the victim ended by itself, status {status:#x}"));
            }
        }
        Ok(path)
    }

    /// Brings the victim that was started last to a point of its path. False if it ended before.
    pub fn drive(&mut self, path: &Path, point: Point, way: Way) -> Result<bool> {
        let mut tracee = self.take_tracee();
        let mut failure = None;
        let wait = |tracee: &mut Tracee| match self.wait_for(tracee, None) {
            Ok(event) => Ok(event),
            Err(Failure::System(error)) => Err(error),
            Err(wrong) => {
                failure = Some(wrong);
                Ok(Event::Running)
            }
        };
        let there = match way {
            Way::ToTheAddress => {
                let (address, visit) = path.visit(point.instruction);
                tracee.run_to(address, visit, wait)
            }
            Way::StepByStep => tracee.run(point.instruction, wait),
        };
        let mut there = there?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if there && point.asleep {
            tracee.step()?;
            let id = tracee.id();
            there = tracee.wait_or(self.stage.patience, || Task::new(id).futex_wait() == FutexWait::Sound)?
                == Event::Running;
        }
        self.give_back(tracee);
        Ok(there)
    }

    /// Lets the survivors see the most recently started victim die, or stop.
    pub fn strike(&mut self, fate: Fate) -> Result<()> {
        let number = VICTIMS[self.victims.len() - 1];
        let victim = self.victims.last_mut().expect("a victim was started");
        victim.fate = Some(fate);
        if victim.tracee.as_ref().is_some_and(Tracee::has_ended) {
            victim.tracee = None;
            self.returned(number)?;
        } else if matches!(fate, Fate::Killed | Fate::Buried) {
            self.killed_ns = Some(clock::monotonic_ns());
            victim.tracee.take().expect("it lives").kill();
            self.judge.kill(number, WAKES_AT_DEATH || fate == Fate::Buried);
            if fate == Fate::Buried {
                self.bury()?;
            }
        }
        self.touched.clear();
        self.observe()?;
        self.look()
    }

    /// The supervisor of the most recently started victim says that it is dead. That closes what belongs to it.
    fn bury(&mut self) -> Result<()> {
        let (number, victim) = (VICTIMS[self.victims.len() - 1], self.victims.last().expect("a victim was started"));
        self.stage.arena.bury_process(victim.id).map_err(io::Error::other)?;
        if let Operation::Adopt(object) = victim.operation {
            self.judge.begin(number, Operation::Close(object));
        }
        Ok(())
    }

    /// The survivors use the objects; then everybody must be able to finish, and nothing may be missing.
    pub fn conclude(&mut self) -> Result<()> {
        self.end_victims(false)?;
        self.close_the_founders()?;
        for operation in self.scenario.aftermath() {
            self.call(operation)?;
        }
        self.release_sleepers()?;
        if self.scenario.again {
            self.sleep_again()?;
        }
        self.end_victims(true)?;
        self.release_sleepers()?;
        self.find_nothing_left()?;
        self.sweep()?;
        self.find_nothing_at_all()
    }

    fn close_the_founders(&mut self) -> Result<()> {
        let Some(held) = self.founders.take() else { return Ok(()) };
        let ends = self.stage.close_the_founders(held);
        let are_gone = self.victims.iter().all(|victim| victim.tracee.is_none());
        match (ends, are_gone) {
            (true, false) => wrong("the founder's close ends an object of which a child has a copy".to_owned()),
            (false, true) => wrong("the founder closes the last copy of an object, which does not end".to_owned()),
            (true, true) if !self.judge.call(WORKERS[0], Operation::Close(0), Ok(Answer::Done)) => {
                wrong("the model does not let the founder close its object".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn release_sleepers(&mut self) -> Result<()> {
        for _ in 0..2 * SLEEPERS.len() {
            if self.asleep.is_empty() {
                return Ok(());
            }
            for operation in self.scenario.release_all() {
                self.call(operation)?;
            }
        }
        wrong(format!("survivors {:?} sleep for ever", self.asleep))
    }

    /// Lets the victims go on whose time has come, and ends the others if `all`.
    fn end_victims(&mut self, all: bool) -> Result<()> {
        for (place, number) in VICTIMS.into_iter().enumerate().take(self.victims.len()) {
            let fate = self.victims[place].fate;
            if !all && fate != Some(Fate::Resumed) {
                continue;
            }
            let Some(mut tracee) = self.victims[place].tracee.take() else { continue };
            if fate == Some(Fate::Stopped) {
                self.killed_ns = Some(clock::monotonic_ns());
                tracee.kill();
                self.judge.kill(number, WAKES_AT_DEATH);
            } else {
                self.finish(&mut tracee, number)?;
            }
        }
        self.observe()
    }

    /// A delayed victim must come to its end, perhaps with some help.
    fn finish(&mut self, tracee: &mut Tracee, number: usize) -> Result<()> {
        let id = tracee.id();
        // A sleeping victim stops only when it is woken.
        if tracee.is_still() {
            tracee.go_on()?;
        }
        for _ in 0..2 * SLEEPERS.len() {
            match tracee.wait_or(self.stage.patience, || Task::new(id).futex_wait() == FutexWait::Sound)? {
                Event::Ended(0) => return self.returned(number),
                Event::Running => {
                    for operation in self.scenario.release_all() {
                        self.call(operation)?;
                    }
                }
                Event::Stopped => tracee.go_on()?,
                other => return wrong(format!("a delayed victim did not come to its end: {other:?}")),
            }
        }
        wrong("a delayed victim hangs".to_owned())
    }

    /// A victim has done its operation.
    fn returned(&mut self, number: usize) -> Result<()> {
        let outcome = self.stage.board.mailbox(number).outcome();
        match outcome {
            Some(outcome) if !self.is_modeled(number) && outcome.is_ok() => Ok(()),
            Some(outcome) if self.is_modeled(number) && self.judge.returned(number, outcome) => Ok(()),
            _ => wrong(format!("a victim that was not killed ended with {outcome:?}, which the model does not allow")),
        }
    }

    fn is_modeled(&self, number: usize) -> bool {
        self.victims[number - VICTIMS[0]].operation.in_model().is_some()
    }

    fn sweep(&mut self) -> Result<()> {
        let count = self.scenario.objects.len();
        // Nobody has the founder's object any more, whether it was counted or not.
        let is_open = |number: &usize| {
            (*number > 0 || self.scenario.founder.is_none())
                && self.stage.arena.kind(self.stage.board.object(*number as u8)).is_ok()
        };
        let (objects, places) = self.stage.all_but((0..count).filter(is_open).count() as u32);
        // The places are not looked for by the sweeps of objects.
        let sweeps_objects = self.scenario.sweep.is_of_objects();
        let places = if sweeps_objects { 0 } else { places };
        let expected = Answer::Semaphore(objects, places);
        match self.order(self.scenario.sweep)? {
            Ok(found) if found == expected => Ok(()),
            other => wrong(format!("a sweep finds {other:?}, not {expected:?}")),
        }
    }

    /// A worker performs an operation: it must return, and what the model allows.
    fn call(&mut self, operation: Operation) -> Result<()> {
        let worker = WORKERS[self.calls % WORKERS.len()];
        let outcome = self.order(operation)?;
        if !self.judge.call(worker, operation, outcome) {
            return wrong(format!("{operation:?} returned {outcome:?}, which the model does not allow"));
        }
        // Nobody can use a closed object: signals and queries fail with the first error, waits with the second.
        if !matches!(outcome, Err(Error::NoSuchObject | Error::Invalid)) {
            self.touched.extend((0..self.scenario.objects.len() as u8).filter(|&object| operation.names(object)));
        }
        self.observe()
    }

    fn order(&mut self, operation: Operation) -> Result<Outcome> {
        let worker = WORKERS[self.calls % WORKERS.len()];
        self.calls += 1;
        let mailbox = self.stage.board.mailbox(worker);
        mailbox.order(operation);
        match mailbox.wait(self.stage.patience) {
            Some(outcome) => Ok(outcome),
            None => wrong(format!("{operation:?} of a survivor does not return")),
        }
    }

    fn tracee(&mut self) -> &mut Tracee {
        self.victims.last_mut().and_then(|victim| victim.tracee.as_mut()).expect("a victim was started")
    }

    fn take_tracee(&mut self) -> Tracee {
        self.victims.last_mut().and_then(|victim| victim.tracee.take()).expect("a victim was started")
    }

    fn give_back(&mut self, tracee: Tracee) {
        self.victims.last_mut().expect("a victim was started").tracee = Some(tracee);
    }

    fn stopped(&mut self, path: Option<&mut Path>) -> Result<Event> {
        let mut tracee = self.take_tracee();
        let event = self.wait_for(&mut tracee, path);
        self.give_back(tracee);
        event
    }

    /// Waits until the victim is stopped; wakes it when it sleeps, as the scenario says.
    fn wait_for(&mut self, tracee: &mut Tracee, mut path: Option<&mut Path>) -> Result<Event> {
        let cannot_sleep = path.as_ref().is_some_and(|path| !path.calls());
        if cannot_sleep || !self.may_sleep() {
            return Ok(tracee.wait()?);
        }
        let id = tracee.id();
        loop {
            let relieved = self.relieved;
            let event =
                tracee.wait_or(self.stage.patience, || !relieved && Task::new(id).futex_wait() == FutexWait::Sound)?;
            if event != Event::Running {
                return Ok(event);
            }
            if relieved {
                return wrong("the victim sleeps on, although it was granted its wait".to_owned());
            }
            self.relieved = true;
            if let Some(path) = path.as_deref_mut() {
                path.sleeps();
            }
            for &operation in self.scenario.relief {
                self.call(operation)?;
            }
        }
    }

    fn may_sleep(&self) -> bool {
        self.victims.last().and_then(|victim| victim.operation.wait()).is_some_and(|wait| wait.until != Until::Now)
    }
}
