// SPDX-License-Identifier: MIT OR Apache-2.0
//! One experiment: survivors sleep, a victim is brought to a point of its operation and killed or stopped there,
//! perhaps followed by a second one, and then the survivors use the same objects. The judge checks every result.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use ntux_platform::clock;
use ntux_sync::spec::{Answer, Outcome};
use ntux_sync::{Arena, Error, New};

use ntux_testkit::child::Child;
use ntux_testkit::task::{FutexWait, Task};

use super::board::{Board, LABELS};
use super::findings::Found;
use super::judge::Judge;
use super::operation::{Operation, Performer, Until, Wait};
use super::path::{Path, Point};
use super::planted::{Bug, plant};
use super::scenario::{Delivery, Place, SLEEPER_OWNER, Scenario, WORKER_OWNER};
use super::stage::{SIBLINGS, SLEEPERS, Stage, TAKERS, VICTIMS, WORKERS};
use super::tracee::{Event, Tracee, end_thread, let_trace, stop_here};
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
    /// It is dead, or has done its operation.
    pub(super) is_over: bool,
}

impl Victim {
    /// Returns true if its operation registers a wait without a thread.
    pub(super) fn registers(&self) -> bool {
        matches!(self.operation, Operation::Detach(..))
    }
}

/// What a victim does.
#[derive(Clone, Copy)]
struct Part {
    board: &'static Board,
    number: usize,
    operation: Operation,
    is_cold: bool,
    /// It makes the queue, with these waits.
    waits: Option<&'static [Wait]>,
    bug: Option<Bug>,
}

impl Part {
    /// Gets ready, and performs the operation under the tracer's eyes.
    fn perform(self, arena: &Arena, before_it_stops: impl FnOnce()) {
        plant(self.bug);
        // Looking at a taken mutex again and again is the same point many times.
        arena.set_spins(2);
        let performer = Performer::new(arena, self.board);
        if !self.is_cold {
            performer.perform(Operation::Enroll).expect("there is a place for a victim");
        }
        if let Some(waits) = self.waits {
            performer.perform(Operation::QueueCreate).expect("there is room for a queue");
            for (label, &wait) in (0..).zip(waits) {
                assert_eq!(performer.perform(Operation::Detach(label, wait)), Ok(Answer::Waits));
            }
        }
        before_it_stops();
        stop_here();
        let outcome = performer.perform(self.operation);
        self.board.mailbox(self.number).answer(outcome);
    }
}

/// An experiment in progress.
pub struct Play<'a> {
    pub(super) stage: &'a Stage,
    pub(super) scenario: &'a Scenario,
    pub(super) judge: Judge,
    /// Survivors whose waits have not ended.
    pub(super) asleep: Vec<usize>,
    pub(super) victims: Vec<Victim>,
    /// The process of a victim that is one thread of several.
    siblings: Option<Child>,
    /// The family's descriptor of object 0.
    founders: Option<OwnedFd>,
    relieved: bool,
    /// The last label is that of a wait that has not ended.
    last_waits: bool,
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
        let judge = match scenario.delivery {
            None => Judge::new(&objects),
            Some(delivery) => Judge::with_detached(&objects, (delivery.place == Place::Victim).then_some(VICTIMS[0])),
        };
        let mut play = Play {
            stage,
            scenario,
            judge,
            asleep: Vec::new(),
            victims: Vec::new(),
            siblings: None,
            founders: scenario.founder.map(|_| stage.founders_descriptor()).transpose()?,
            relieved: false,
            last_waits: false,
            calls: 0,
            touched: Vec::new(),
            killed_ns: None,
            wakes: Wakes::default(),
            looks: 0,
            found: Found::default(),
        };
        play.fall_asleep()?;
        if let Some(delivery) = scenario.delivery.filter(|delivery| delivery.place == Place::Survivors) {
            play.deliver(delivery)?;
        }
        Ok(play)
    }

    /// The process that has the queue of the scenario, if it is not the victim.
    fn owner(&self) -> Option<usize> {
        match self.scenario.delivery?.place {
            Place::Survivors => Some(WORKERS[0]),
            Place::Siblings => Some(SIBLINGS[0]),
            Place::Victim => None,
        }
    }

    /// The processes that sleep for results.
    pub(super) fn takers(&self) -> &'static [usize] {
        match self.scenario.delivery {
            Some(Delivery { place: Place::Survivors, takers, .. }) => &TAKERS[..takers],
            Some(Delivery { place: Place::Siblings, takers, .. }) => &SIBLINGS[1..][..takers],
            _ => &[],
        }
    }

    /// The waits without a thread begin, and those who take the results.
    fn deliver(&mut self, delivery: Delivery) -> Result<()> {
        if delivery.place == Place::Siblings {
            let begins = SIBLINGS.map(|actor| (actor, Operation::Enroll));
            for (actor, operation) in begins.into_iter().chain([(SIBLINGS[0], Operation::QueueCreate)]) {
                if let Err(error) = self.order(actor, operation)? {
                    return wrong(format!("{operation:?} beside a victim fails: {error:?}"));
                }
            }
        }
        for (label, &wait) in (0..).zip(delivery.waits) {
            let operation = Operation::Detach(label, wait);
            match self.owner() {
                Some(owner) => self.call_by(owner, operation).map(drop)?,
                // It did so before it stood still.
                None if self.judge.call(VICTIMS[0], operation, Ok(Answer::Waits)) => {}
                None => return wrong(format!("{operation:?} of a victim waits, which the model does not allow")),
            }
        }
        if !delivery.takers_come_last {
            self.takers_fall_asleep()?;
        }
        delivery.first.iter().try_for_each(|&operation| self.call(operation))
    }

    fn takers_fall_asleep(&mut self) -> Result<()> {
        let operation = Operation::Collect(Until::Never);
        for &actor in self.takers() {
            self.stage.board.mailbox(actor).order(operation);
            self.judge.begin(actor, operation);
            self.asleep.push(actor);
            self.observe()?;
        }
        Ok(())
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
        mailbox.open(1, 0);
        mailbox.order(operation);
        let stage = self.stage;
        // The child keeps its page.
        let held = self.founders.as_ref().zip(self.scenario.founder);
        let _page = held.map(|(held, founder)| stage.found_for_child(held, founder)).transpose()?;
        let delivery = self.scenario.delivery.filter(|_| self.victims.is_empty());
        let waits = delivery.filter(|delivery| delivery.place == Place::Victim).map(|delivery| delivery.waits);
        let part = Part { board: stage.board, number, operation, is_cold: self.scenario.cold, waits, bug: stage.bug };
        let tracee = match delivery {
            Some(Delivery { place: Place::Siblings, .. }) => {
                let siblings = stage.siblings(|arena| {
                    part.perform(arena, || let_trace(&part.board.traced));
                    end_thread()
                })?;
                let id = siblings.id();
                self.siblings = Some(siblings);
                Tracee::thread_of(id, &stage.board.traced)?
            }
            _ => Tracee::fork(|| part.perform(&stage.arena, || ()))?,
        };
        self.victims.push(Victim { id: tracee.id(), tracee: Some(tracee), operation, fate: None, is_over: false });
        if let Some(delivery) = delivery.filter(|delivery| delivery.place != Place::Survivors) {
            self.deliver(delivery)?;
        }
        self.judge.begin(number, operation);
        Ok(())
    }

    /// The model learns that a victim is dead.
    fn died(&mut self, number: usize, its_wait_ends: bool) {
        let victim = &mut self.victims[number - VICTIMS[0]];
        victim.is_over = true;
        match self.scenario.delivery {
            None => self.judge.kill(number, its_wait_ends),
            Some(_) => {
                let goes_on = victim.registers() && !its_wait_ends;
                self.judge.dies(number, goes_on);
            }
        }
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
            self.died(number, WAKES_AT_DEATH || fate == Fate::Buried);
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
        self.end_delivery()?;
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

    /// A process that can takes what is there, and the queue is closed.
    fn end_delivery(&mut self) -> Result<()> {
        let Some(owner) = self.owner() else { return Ok(()) };
        let closes = self.victims.iter().any(|victim| victim.operation == Operation::QueueClose);
        for operation in [Operation::Collect(Until::Now); LABELS + 1].into_iter().chain([Operation::QueueClose]) {
            let outcome = self.order(owner, operation)?;
            // The victim may have closed it.
            if !(closes && outcome == Err(Error::Invalid)) {
                self.judged(owner, operation, outcome)?;
            }
        }
        self.siblings = None;
        Ok(())
    }

    /// There is one more wait without a thread, for somebody who sleeps for a result.
    fn one_more_waits(&mut self) -> Result<()> {
        const LAST: u8 = LABELS as u8 - 1;
        let Some(owner) = self.owner().filter(|_| !self.last_waits) else { return Ok(()) };
        // It may be satisfied at once, and the next one with another owner not.
        for owner_id in [SLEEPER_OWNER, WORKER_OWNER].into_iter().cycle().take(2 * SLEEPERS.len()) {
            if matches!(self.scenario.objects.first(), Some(New::Event { .. })) {
                self.call(Operation::Reset(0))?;
            }
            let operation = Operation::Detach(LAST, Wait::any(&[0], owner_id, Until::Never));
            self.last_waits = self.call_by(owner, operation)? == Ok(Answer::Waits);
            if self.last_waits {
                return Ok(());
            }
        }
        wrong("a wait without a thread is satisfied at once, again and again".to_owned())
    }

    fn release_sleepers(&mut self) -> Result<()> {
        for _ in 0..2 * SLEEPERS.len() {
            if self.asleep.is_empty() {
                return Ok(());
            }
            if self.asleep.iter().any(|&actor| self.takes(actor)) {
                self.one_more_waits()?;
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
                self.died(number, WAKES_AT_DEATH);
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
                Event::Running => self.release_victim(number)?,
                Event::Stopped => tracee.go_on()?,
                other => return wrong(format!("a delayed victim did not come to its end: {other:?}")),
            }
        }
        wrong("a delayed victim hangs".to_owned())
    }

    /// Lets a victim go on that sleeps.
    fn release_victim(&mut self, number: usize) -> Result<()> {
        if matches!(self.victims[number - VICTIMS[0]].operation, Operation::Collect(_)) {
            self.one_more_waits()?;
        }
        self.scenario.release_all().into_iter().try_for_each(|operation| self.call(operation))
    }

    /// A victim has done its operation.
    fn returned(&mut self, number: usize) -> Result<()> {
        let outcome = self.stage.board.mailbox(number).outcome();
        let victim = &mut self.victims[number - VICTIMS[0]];
        victim.is_over = true;
        let operation = victim.operation;
        let is_right = match outcome {
            Some(outcome) if self.is_modeled(number) => self.judge.returned(number, outcome),
            Some(Ok(_)) if operation == Operation::QueueClose => self.judge.closed(),
            Some(outcome) => outcome.is_ok(),
            None => false,
        };
        outcome.into_iter().for_each(|outcome| self.took(outcome));
        if self.scenario.delivery.is_some_and(|delivery| delivery.place == Place::Victim) && number == VICTIMS[0] {
            // Its process ends with it.
            self.judge.dies(number, false);
        }
        match is_right {
            true => Ok(()),
            false => {
                wrong(format!("a victim that was not killed ended with {outcome:?}, which the model does not allow"))
            }
        }
    }

    fn is_modeled(&self, number: usize) -> bool {
        self.victims[number - VICTIMS[0]].operation.in_model().is_some()
    }

    fn sweep(&mut self) -> Result<()> {
        if self.scenario.operation == Operation::NameAndHandOver {
            let harness = Performer::new(&self.stage.arena, self.stage.board);
            let done = harness.perform(Operation::LetGoOfNamed);
            if done != Ok(Answer::Done) {
                return wrong(format!("the harness releases what it was handed: {done:?}"));
            }
        }
        let count = self.scenario.objects.len();
        // Nobody has the founder's object any more, whether it was counted or not.
        let is_open = |number: &usize| {
            (*number > 0 || self.scenario.founder.is_none())
                && self.stage.arena.kind(self.stage.board.object(*number as u8)).is_ok()
        };
        let (objects, places) = self.stage.all_but((0..count).filter(is_open).count() as u32);
        // The places are not looked for by the sweeps of objects.
        let expected = match self.scenario.sweep {
            Operation::SweepOwners => Answer::Semaphore(0, self.stage.owners()),
            sweep if sweep.is_of_objects() => Answer::Semaphore(objects, 0),
            _ => Answer::Semaphore(objects, places),
        };
        let worker = WORKERS[self.calls % WORKERS.len()];
        match self.order(worker, self.scenario.sweep)? {
            Ok(found) if found == expected => Ok(()),
            other => {
                // What was lost is lost the second time, too; what somebody still had may be there.
                let again = self.order(worker, self.scenario.sweep)?;
                wrong(format!("a sweep finds {other:?}, not {expected:?}; the next one finds {again:?}"))
            }
        }
    }

    /// A worker performs an operation: it must return, and what the model allows.
    fn call(&mut self, operation: Operation) -> Result<()> {
        let worker = WORKERS[self.calls % WORKERS.len()];
        self.calls += 1;
        let actor = self.owner().filter(|_| matches!(operation, Operation::Post(_))).unwrap_or(worker);
        self.call_by(actor, operation).map(drop)
    }

    /// The same of a certain thread.
    fn call_by(&mut self, actor: usize, operation: Operation) -> Result<Outcome> {
        let outcome = self.order(actor, operation)?;
        self.judged(actor, operation, outcome)?;
        Ok(outcome)
    }

    /// A thread has performed an operation, which came to what the model allows.
    fn judged(&mut self, actor: usize, operation: Operation, outcome: Outcome) -> Result<()> {
        if !self.judge.call(actor, operation, outcome) {
            return wrong(format!("{operation:?} returned {outcome:?}, which the model does not allow"));
        }
        // Nobody can use a closed object: signals and queries fail with the first error, waits with the second.
        if !matches!(outcome, Err(Error::NoSuchObject | Error::Invalid)) {
            self.touched.extend((0..self.scenario.objects.len() as u8).filter(|&object| operation.names(object)));
        }
        self.took(outcome);
        self.observe()
    }

    /// Somebody has come back with this.
    pub(super) fn took(&mut self, outcome: Outcome) {
        if matches!(outcome, Ok(Answer::Delivered(label, _)) if label == LABELS - 1) {
            self.last_waits = false;
        }
    }

    fn order(&self, actor: usize, operation: Operation) -> Result<Outcome> {
        let mailbox = self.stage.board.mailbox(actor);
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
        let mut start = Instant::now();
        loop {
            let patience = self.stage.patience.saturating_sub(start.elapsed());
            let event = tracee.wait_or(patience, || Task::new(id).futex_wait() != FutexWait::No)?;
            if event != Event::Running {
                return Ok(event);
            }
            if self.relieved {
                match self.relieve_again()? {
                    true => start = Instant::now(),
                    false if start.elapsed() > self.stage.patience => {
                        return wrong("the victim sleeps on, although it was granted its wait".to_owned());
                    }
                    false => {}
                }
                continue;
            }
            if Task::new(id).futex_wait() != FutexWait::Sound {
                continue;
            }
            self.relieved = true;
            if let Some(path) = path.as_deref_mut() {
                path.sleeps();
            }
            if self.scenario.delivery.is_some_and(|delivery| delivery.takers_come_last) {
                self.takers_fall_asleep()?;
            }
            for &operation in self.scenario.relief {
                self.call(operation)?;
            }
        }
    }

    /// Somebody else may have taken the result for which the victim was woken: then it gets another one. Returns whether it did so.
    fn relieve_again(&mut self) -> Result<bool> {
        let number = VICTIMS[self.victims.len() - 1];
        if !matches!(self.victims[number - VICTIMS[0]].operation, Operation::Collect(_)) {
            return Ok(false);
        }
        self.observe()?;
        let sleeps = self.judge.may_sleep(number);
        if sleeps {
            self.release_victim(number)?;
        }
        Ok(sleeps)
    }

    fn may_sleep(&self) -> bool {
        self.victims.last().is_some_and(|victim| victim.operation.may_sleep())
    }
}
