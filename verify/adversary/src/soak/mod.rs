// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kills and stops among processes that share objects, for a given time.
//!
//! The workers record what they are about to do (`ledger`). So the harness knows what each victim certainly held, which
//! it returns, and what it may have held. Now and then all workers pause, and the accounts must balance: no new unit
//! exists, none is missing except those that a victim may have held, no dead process owns a mutex, and no slot has
//! leaked. In between nobody may sleep on a word that has changed, and every worker must make progress.
//!
//! A seed repeats the choices, not the interleaving.

mod ledger;
mod worker;

use std::collections::VecDeque;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_sync::{Arena, Capacity, Error, New, Waiter};

use crate::WAKES_AT_DEATH;
use ledger::{EVENTS, Hold, Ledger, MUTEXES, Objects, SEMAPHORES, WORKERS};
use ntux_testkit::child::Child;
use ntux_testkit::task::{FutexWait, Task};
use worker::{Worker, Wrong};

const CAPACITY: Capacity = Capacity { objects: 32, waiters: 32 };
/// Units of each semaphore.
const UNITS: u32 = 3;
/// Kills and stops between two balances.
const BLOWS: u32 = 200;
/// No progress for so long is a hang.
const PATIENCE: Duration = Duration::from_secs(20);
/// A wake that is owed for so long is lost.
const LATE: Duration = Duration::from_millis(500);
/// Last actions that a failure prints.
const REMEMBERED: usize = 12;

/// Command line of `soak`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Workers now and then keep a unit: must fail
    #[arg(long)]
    planted: bool,
}

impl Arguments {
    /// Runs it and prints the result.
    pub fn run(&self) -> ExitCode {
        let start = Instant::now();
        let mut soak = match Soak::new(self.seed, self.planted) {
            Ok(soak) => soak,
            Err(error) => {
                eprintln!("soak: {error}");
                return ExitCode::FAILURE;
            }
        };
        let result = soak.run(Duration::from_secs(self.seconds));
        let totals = soak.totals;
        println!("processes                      {WORKERS}");
        println!("operations                     {}", totals.operations);
        println!("kills                          {}", totals.kills);
        println!("stops                          {}", totals.stops);
        println!("units given back for the dead  {}", totals.returned);
        println!("mutexes of the dead            {}", totals.mutexes);
        println!("balances                       {}", totals.balances);
        println!("units lost in a call           {}", totals.lost);
        println!("failures                       {}", u32::from(result.is_err()));
        println!("time                           {:.1} s", start.elapsed().as_secs_f64());
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                println!("FAILED with --seed {}: {text}", self.seed);
                for action in &soak.actions {
                    println!("       {action}");
                }
                ExitCode::FAILURE
            }
        }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Totals {
    operations: u64,
    kills: u32,
    stops: u32,
    returned: u32,
    mutexes: u32,
    balances: u32,
    lost: u32,
}

/// A worker as the harness sees it.
struct Process {
    child: Child,
    /// When its count of operations last moved, and to what.
    moved: (Instant, u32),
    /// Since when it is owed a wake.
    owed_since: Option<Instant>,
}

struct Soak {
    arena: Arena,
    waiter: Waiter,
    objects: Objects,
    ledger: &'static Ledger,
    processes: Vec<Process>,
    random: Rng,
    planted: bool,
    /// Units that a victim may have taken along, by semaphore.
    doubtful: [u32; SEMAPHORES],
    /// Mutexes that were taken from the dead, and those of them whose next owner may have died before it could say so.
    killed: [u32; MUTEXES],
    unsaid: [u32; MUTEXES],
    actions: VecDeque<String>,
    totals: Totals,
}

type Checked = Result<(), String>;

impl Soak {
    fn new(seed: u64, planted: bool) -> io::Result<Soak> {
        let arena = Arena::create(CAPACITY).map_err(io::Error::other)?;
        let waiter = arena.waiter();
        let make = |new| arena.create_new(&waiter, new).map_err(io::Error::other);
        let mutex = || make(New::Mutex { owner: 0, count: 0 });
        let semaphore = || make(New::Semaphore { count: UNITS, max: UNITS });
        let event = |manual| make(New::Event { manual, signaled: false });
        let objects = Objects {
            mutexes: [mutex()?, mutex()?],
            semaphores: [semaphore()?, semaphore()?],
            events: [event(false)?, event(false)?, event(true)?],
        };
        let mut soak = Soak {
            arena,
            waiter,
            objects,
            ledger: Ledger::map()?,
            processes: Vec::new(),
            random: Rng::with_seed(seed),
            planted,
            doubtful: [0; SEMAPHORES],
            killed: [0; MUTEXES],
            unsaid: [0; MUTEXES],
            actions: VecDeque::new(),
            totals: Totals::default(),
        };
        for number in 0..WORKERS {
            let process = soak.start(number)?;
            soak.processes.push(process);
        }
        Ok(soak)
    }

    fn run(&mut self, time: Duration) -> Checked {
        let start = Instant::now();
        while start.elapsed() < time {
            for _ in 0..BLOWS {
                std::thread::sleep(Duration::from_micros(self.random.u64(..2_000)));
                let number = self.random.usize(..WORKERS);
                match self.random.u32(..4) {
                    0 => self.stop(number)?,
                    _ => self.kill(number)?,
                }
                self.look()?;
            }
            self.balance()?;
        }
        Ok(())
    }

    fn start(&mut self, number: usize) -> io::Result<Process> {
        let random = Rng::with_seed(self.random.u64(..));
        let child = Child::fork(|| {
            let (objects, ledger, keeps) = (self.objects, self.ledger, self.planted);
            Worker { arena: &self.arena, objects, ledger, number, random, keeps }.run()
        })?;
        Ok(Process { child, moved: (Instant::now(), 0), owed_since: None })
    }

    fn note(&mut self, action: String) {
        if self.actions.len() == REMEMBERED {
            self.actions.pop_front();
        }
        self.actions.push_back(action);
    }

    /// Stops a worker for some milliseconds, in which the others go on.
    fn stop(&mut self, number: usize) -> Checked {
        self.totals.stops += 1;
        self.note(format!("worker {number} is stopped"));
        self.processes[number].child.signal(libc::SIGSTOP);
        std::thread::sleep(Duration::from_micros(self.random.u64(..5_000)));
        self.processes[number].child.signal(libc::SIGCONT);
        Ok(())
    }

    /// Kills a worker, gives back what it held, and starts another one in its place.
    fn kill(&mut self, number: usize) -> Checked {
        self.totals.kills += 1;
        let child = &mut self.processes[number].child;
        child.signal(libc::SIGKILL);
        let process = child.id();
        child.wait().map_err(|error| format!("waitpid: {error}"))?;
        if !WAKES_AT_DEATH {
            self.arena.bury_process(process).map_err(|error| format!("worker {number} cannot be buried: {error}"))?;
        }
        let page = &self.ledger.pages[number];
        self.totals.operations += u64::from(page.progress.load());
        let (mutexes, semaphores) =
            (page.mutexes.each_ref().map(|hold| hold.get()), page.semaphores.each_ref().map(|hold| hold.get()));
        self.note(format!("worker {number} is killed: mutexes {mutexes:?}, units {semaphores:?}"));
        for (mutex, hold) in mutexes.into_iter().enumerate() {
            self.inherit_mutex(number, mutex, hold)?;
        }
        for (semaphore, hold) in semaphores.into_iter().enumerate() {
            match hold {
                Hold::No => {}
                Hold::Taking | Hold::Giving => self.doubtful[semaphore] += 1,
                Hold::Yes => {
                    self.totals.returned += 1;
                    self.give_back(semaphore, 1)?;
                }
            }
        }
        self.wrong(number)?;
        for hold in page.mutexes.iter().chain(&page.semaphores) {
            hold.set(Hold::No);
        }
        page.progress.store(0);
        page.thread.store(0);
        page.paused.store(0);
        self.processes[number] = self.start(number).map_err(|error| format!("fork: {error}"))?;
        Ok(())
    }

    fn inherit_mutex(&mut self, number: usize, mutex: usize, hold: Hold) -> Checked {
        let owner = number as u32 + 1;
        match (self.arena.mutex_kill(&self.waiter, self.objects.mutexes[mutex], owner), hold) {
            (Ok(()), Hold::No) => Err(format!("mutex {mutex} is owned by worker {number}, who had given it back")),
            (Ok(()), hold) => {
                self.totals.mutexes += 1;
                self.killed[mutex] += 1;
                // It may have been told of the death before its own, and had no time to say so.
                self.unsaid[mutex] += u32::from(hold == Hold::Taking);
                Ok(())
            }
            (Err(Error::NotOwner), Hold::Yes) => Err(format!("mutex {mutex} of worker {number} has another owner")),
            (Err(Error::NotOwner), _) => Ok(()),
            (Err(error), _) => Err(format!("mutex {mutex} of dead worker {number} cannot be taken away: {error}")),
        }
    }

    fn give_back(&self, semaphore: usize, units: u32) -> Checked {
        let given = self.arena.semaphore_release(&self.waiter, self.objects.semaphores[semaphore], units);
        given.map(|_| ()).map_err(|error| format!("a unit of semaphore {semaphore} appeared from nowhere: {error}"))
    }

    fn wrong(&self, number: usize) -> Checked {
        match Wrong::of(self.ledger.pages[number].wrong.load()) {
            None => Ok(()),
            Some(wrong) => Err(format!("worker {number} says: {wrong:?}")),
        }
    }

    /// Nobody may be owed a wake for long, everybody must get on.
    fn look(&mut self) -> Checked {
        for number in 0..WORKERS {
            self.wrong(number)?;
            let page = &self.ledger.pages[number];
            let process = &mut self.processes[number];
            let progress = page.progress.load();
            let owed =
                Task::new(page.thread.load()).futex_wait() == FutexWait::Owed && page.progress.load() == progress;
            if progress != process.moved.1 {
                process.moved = (Instant::now(), progress);
            }
            process.owed_since = owed.then(|| process.owed_since.unwrap_or_else(Instant::now));
            if process.owed_since.is_some_and(|since| since.elapsed() > LATE) && process.moved.0.elapsed() > LATE {
                return Err(format!("worker {number} is owed a wake for {LATE:?}"));
            }
            if process.moved.0.elapsed() > PATIENCE {
                return Err(format!("worker {number} hangs"));
            }
        }
        Ok(())
    }

    /// Everybody pauses, and the books must balance.
    fn balance(&mut self) -> Checked {
        self.totals.balances += 1;
        self.ledger.pause.store(1);
        let start = Instant::now();
        while self.ledger.pages.iter().any(|page| page.paused.load() == 0) {
            if start.elapsed() > PATIENCE {
                return Err("somebody does not come to the balance".to_owned());
            }
            self.look()?;
            std::thread::sleep(Duration::from_micros(200));
        }
        for semaphore in 0..SEMAPHORES {
            self.balance_semaphore(semaphore)?;
        }
        for mutex in 0..MUTEXES {
            self.balance_mutex(mutex)?;
        }
        self.balance_slots()?;
        self.ledger.pause.store(0);
        for process in &mut self.processes {
            process.moved.0 = Instant::now();
        }
        Ok(())
    }

    fn balance_semaphore(&mut self, semaphore: usize) -> Checked {
        let object = self.objects.semaphores[semaphore];
        let (count, _) = self.arena.semaphore_read(&self.waiter, object).map_err(|error| error.to_string())?;
        let missing = UNITS - count;
        let doubtful = std::mem::take(&mut self.doubtful[semaphore]);
        if missing > doubtful {
            return Err(format!("semaphore {semaphore}: {missing} units are missing, at most {doubtful} may be"));
        }
        self.totals.lost += missing;
        if missing > 0 { self.give_back(semaphore, missing) } else { Ok(()) }
    }

    fn balance_mutex(&mut self, mutex: usize) -> Checked {
        let object = self.objects.mutexes[mutex];
        let state = self.arena.mutex_read(&self.waiter, object).map_err(|error| error.to_string())?;
        if state.owner != 0 {
            return Err(format!("mutex {mutex} is owned by {} while nobody has it", state.owner));
        }
        let told = self.ledger.abandoned[mutex].load();
        let killed = self.killed[mutex] - u32::from(state.abandoned);
        if told > killed || told + self.unsaid[mutex] < killed {
            let unsaid = self.unsaid[mutex];
            return Err(format!("mutex {mutex}: abandoned {killed} times, told {told} times, {unsaid} may be unsaid"));
        }
        Ok(())
    }

    /// The dead have left no slot behind.
    fn balance_slots(&self) -> Checked {
        let mut objects = Vec::new();
        while let Ok(object) = self.arena.create_new(&self.waiter, New::Event { manual: false, signaled: false }) {
            objects.push(object);
        }
        let expected = CAPACITY.objects as usize - MUTEXES - SEMAPHORES - EVENTS;
        if objects.len() != expected {
            return Err(format!("{} object slots are free, not {expected}", objects.len()));
        }
        objects.into_iter().try_for_each(|object| self.arena.close(object)).map_err(|error| error.to_string())
    }
}
