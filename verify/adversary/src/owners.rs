// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many deaths of processes that own something: whatever they leave behind is had again, and the arena takes no page more.
//!
//! Each victim takes some of what a process can have in an arena (mutexes, objects and holds, a name, armed timers, queues with waits
//! that stand, with results and packets that nobody has taken), and is killed: by itself when it has them, or by the harness at some
//! instant. Nobody says that it is dead. Now and then all are, and the harness takes every slot of the arena. None may be missing, nothing
//! may be given to the dead, and the file of the arena has the pages that it had at the first time. (But for four tables that fill up once,
//! ever more slowly: that of processes, where who comes looks at a few of the dead before it takes a new place; that of chunks, where a
//! wait set that grows takes new ones as long as there are some; that of texts, where a name goes behind those of creators that have died,
//! until their objects are swept; and that of lives, where an owner has the page of its place.)

#![allow(clippy::disallowed_types, reason = "the victims count in memory of their own, beside the core")]

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_platform::clock;
use ntux_sync::fields::tables;
use ntux_sync::{Arena, Capacity, Clock, Deadline, Detached, Due, Error, Name, New, Object, Queue, Result, Waiter};

use ntux_testkit::child::{Child, shared};

const WORKERS: usize = 4;
/// What the harness and the workers have at a time fits twice: a worker has at most 4 things, of 2 objects and 2 waiters each.
const CAPACITY: Capacity = Capacity { objects: 80, waiters: 40 };
const MUTEXES: usize = 2;
/// Tables of which an arena uses more in the course of time, up to all.
const FILL_ONCE: [&str; 4] = ["peers", "chunks", "texts", "lives"];
/// Bytes that an arena's memory is counted in.
const PAGE: u64 = 4096;
/// Kills between two balances.
const BETWEEN: u64 = 1_000;
/// Most things that a victim takes.
const THINGS: u32 = 4;
/// One of so many is killed by the harness, at some instant.
const BY_OTHERS: u32 = 16;
/// After at most so long.
const LIFE_NS: u64 = 200_000;

/// Command line of `owners`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// How many victims
    #[arg(long, default_value_t = 1_000_000)]
    kills: u64,
    /// Where the choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Now and then one stays alive with what it has: must fail
    #[arg(long)]
    planted: bool,
}

/// What the victims share besides the arena.
struct Board {
    /// Things that victims have taken.
    taken: AtomicU32,
    /// Mutexes that were had because their owners were dead.
    abandoned: AtomicU32,
    /// Calls for which there was no room.
    refused: AtomicU32,
    /// Calls that failed otherwise.
    failed: AtomicU32,
}

/// The objects that all share.
#[derive(Clone, Copy)]
struct Objects {
    mutexes: [Object; MUTEXES],
    /// An auto-reset event, which is set now and then.
    given: Object,
    /// An event that nobody sets.
    never: Object,
}

impl Arguments {
    /// Runs it and prints the result.
    pub fn run(&self) -> ExitCode {
        let start = Instant::now();
        let mut harness = match Harness::new(self) {
            Ok(harness) => harness,
            Err(error) => {
                eprintln!("owners: {error}");
                return ExitCode::FAILURE;
            }
        };
        let result = harness.run(self.kills);
        println!("kills                          {}", harness.kills);
        println!("things that the dead had       {}", harness.board.taken.load(SeqCst));
        println!("mutexes of the dead            {}", harness.board.abandoned.load(SeqCst));
        println!("balances                       {}", harness.balances);
        println!("pages of the arena             {}", harness.pages.len());
        println!("failures                       {}", u32::from(result.is_err()));
        println!("time                           {:.1} s", start.elapsed().as_secs_f64());
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                println!("FAILED with --seed {}: {text}", self.seed);
                ExitCode::FAILURE
            }
        }
    }
}

struct Harness {
    arena: Arena,
    waiter: Waiter,
    objects: Objects,
    board: &'static Board,
    random: Rng,
    planted: bool,
    /// Those that stay alive if that is planted.
    kept: Vec<Child>,
    kills: u64,
    /// The owner id of the harness.
    owner: u32,
    balances: u64,
    /// The pages of the arena's file that had memory at the last balance; none before the first.
    pages: BTreeSet<u64>,
}

type Checked = std::result::Result<(), String>;

impl Harness {
    fn new(arguments: &Arguments) -> io::Result<Harness> {
        let arena = Arena::create(CAPACITY).map_err(io::Error::other)?;
        let waiter = arena.waiter();
        let owner = arena.owner_of_this_thread(&waiter).map_err(io::Error::other)?;
        let make = |new| arena.create_new(&waiter, new).map_err(io::Error::other);
        let mutex = || make(New::Mutex { owner: 0, count: 0 });
        let event = || make(New::Event { manual: false, signaled: false });
        let objects = Objects { mutexes: [mutex()?, mutex()?], given: event()?, never: event()? };
        // SAFETY: it is made of atomic integers.
        let board = unsafe { shared() }?;
        Ok(Harness {
            arena,
            waiter,
            objects,
            board,
            random: Rng::with_seed(arguments.seed),
            planted: arguments.planted,
            kept: Vec::new(),
            kills: 0,
            owner,
            balances: 0,
            pages: BTreeSet::new(),
        })
    }

    fn run(&mut self, kills: u64) -> Checked {
        while self.kills < kills {
            let mut workers = (0..WORKERS).map(|_| self.start()).collect::<io::Result<Vec<_>>>();
            let workers = workers.as_mut().map_err(|error| format!("fork: {error}"))?;
            for kill in 0..BETWEEN {
                let number = kill as usize % WORKERS;
                self.end(&workers[number])?;
                workers[number] = self.start().map_err(|error| format!("fork: {error}"))?;
            }
            for worker in workers {
                self.end(worker)?;
            }
            if self.planted {
                self.keep_one().map_err(|error| format!("fork: {error}"))?;
            }
            self.balance()?;
        }
        Ok(())
    }

    fn start(&mut self) -> io::Result<Worker> {
        let by_others = self.random.u32(..BY_OTHERS) == 0;
        let mut random = self.random.fork();
        let child = Child::fork(|| self.victim().live(&mut random, by_others))?;
        Ok(Worker { child, by_others })
    }

    fn victim(&self) -> Victim<'_> {
        Victim { arena: &self.arena, objects: self.objects, board: self.board }
    }

    /// Returns when this worker is dead.
    fn end(&mut self, worker: &Worker) -> Checked {
        if worker.by_others {
            std::thread::sleep(Duration::from_nanos(self.random.u64(..LIFE_NS)));
            worker.child.kill();
        }
        let status = worker.child.wait().map_err(|error| format!("waitpid: {error}"))?;
        if libc::WTERMSIG(status) != libc::SIGKILL {
            return Err(format!("a worker ended by itself, with status {status}"));
        }
        self.kills += 1;
        match (self.board.refused.load(SeqCst), self.board.failed.load(SeqCst)) {
            (0, 0) => Ok(()),
            (refused, failed) => Err(format!("{refused} calls found no room, {failed} failed otherwise")),
        }
    }

    /// Starts one that lives on with a queue, and a wait that stands.
    fn keep_one(&mut self) -> io::Result<()> {
        let child = Child::fork(|| {
            let waiter = self.arena.waiter();
            let _ = self.victim().queue(&waiter);
            self.victim().sleep(&waiter);
        })?;
        ntux_testkit::task::until_asleep(&[child.task()], Duration::from_millis(1));
        self.kept.push(child);
        Ok(())
    }

    /// Nobody else is alive: everything can be had.
    fn balance(&mut self) -> Checked {
        self.balances += 1;
        for mutex in self.objects.mutexes {
            self.poll(mutex, "a mutex of the dead")?;
            self.arena.mutex_unlock(&self.waiter, mutex, self.owner).map_err(|error| error.to_string())?;
        }
        self.arena.event_set(&self.waiter, self.objects.given).map_err(|error| error.to_string())?;
        self.poll(self.objects.given, "an event that was set")?;
        let (named, existed) = named(&self.arena, &self.waiter).map_err(|error| format!("a name: {error}"))?;
        if existed {
            return Err("a name of the dead is there".to_owned());
        }
        self.arena.release(named).map_err(|error| error.to_string())?;
        self.balance_queues()?;
        self.balance_waiters()?;
        self.balance_owners()?;
        self.balance_objects()?;
        self.balance_pages()
    }

    fn poll(&self, object: Object, what: &str) -> Checked {
        let polled = self.arena.wait_any(&self.waiter, &[object], None, self.owner, Deadline::Monotonic(0));
        if polled.as_ref().is_ok_and(|satisfied| satisfied.abandoned) {
            self.board.abandoned.fetch_add(1, SeqCst);
        }
        polled.map(drop).map_err(|error| format!("{what} cannot be had: {error}"))
    }

    fn balance_queues(&self) -> Checked {
        let queues = all(|| self.arena.queue_create())?;
        for queue in &queues {
            self.arena.queue_close(&self.waiter, *queue).map_err(|error| error.to_string())?;
        }
        // An arena of this size has as many as waiters.
        expect(queues.len(), CAPACITY.waiters as usize, "queues")
    }

    fn balance_waiters(&self) -> Checked {
        let queue = self.arena.queue_create().map_err(|error| error.to_string())?;
        let wanted = Detached { objects: &[self.objects.never], all: false, owner: self.owner, key: 0 };
        let waits = all(|| self.arena.wait_detached(&self.waiter, queue, wanted))?;
        self.arena.queue_close(&self.waiter, queue).map_err(|error| error.to_string())?;
        // One is this thread's.
        expect(waits.len(), CAPACITY.waiters as usize - 1, "waiters")
    }

    fn balance_owners(&self) -> Checked {
        let owners = all(|| self.arena.owner_create(&self.waiter))?;
        for owner in &owners {
            self.arena.owner_end(&self.waiter, *owner).map_err(|error| error.to_string())?;
        }
        // One is this thread's; there are as many as waiters.
        expect(owners.len(), CAPACITY.waiters as usize - 1, "owners")
    }

    fn balance_objects(&self) -> Checked {
        let objects = all(|| self.arena.create_new(&self.waiter, New::Event { manual: false, signaled: false }))?;
        for object in &objects {
            self.arena.close(*object).map_err(|error| error.to_string())?;
        }
        expect(objects.len(), CAPACITY.objects as usize - MUTEXES - 2, "objects")
    }

    fn balance_pages(&mut self) -> Checked {
        let pages = self.pages_now().map_err(|error| error.to_string())?;
        let before = std::mem::replace(&mut self.pages, pages);
        let more = self.pages.difference(&before).filter(|_| !before.is_empty());
        let tables = tables(CAPACITY).ok_or("a legal capacity")?;
        let of =
            |page: &u64| tables.iter().rfind(|table| table.start < (page + 1) * PAGE).map_or("", |table| table.name);
        match more.map(of).find(|table| !FILL_ONCE.contains(table)) {
            Some(table) => Err(format!("the arena has a page more, of its {table}")),
            None => Ok(()),
        }
    }

    fn pages_now(&self) -> io::Result<BTreeSet<u64>> {
        let fd = self.arena.fd().ok_or(io::ErrorKind::NotFound)?.as_raw_fd();
        // SAFETY: asks where data or a hole begins; the descriptor is the arena's, whose offset nobody uses.
        let next = |from: u64, what| unsafe { libc::lseek(fd, from as libc::off_t, what) };
        let (mut pages, mut end) = (BTreeSet::new(), 0);
        while let Ok(start) = u64::try_from(next(end, libc::SEEK_DATA)) {
            end = u64::try_from(next(start, libc::SEEK_HOLE)).map_err(|_| io::Error::last_os_error())?;
            pages.extend(start / PAGE..end.div_ceil(PAGE));
        }
        Ok(pages)
    }
}

/// As many as there are.
fn all<T>(mut one: impl FnMut() -> Result<T>) -> std::result::Result<Vec<T>, String> {
    let mut had = Vec::new();
    loop {
        match one() {
            Ok(one) => had.push(one),
            Err(Error::Exhausted) => return Ok(had),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn expect(had: usize, expected: usize, what: &str) -> Checked {
    if had == expected { Ok(()) } else { Err(format!("{had} {what} can be had, not {expected}")) }
}

fn named(arena: &Arena, waiter: &Waiter) -> Result<(Object, bool)> {
    let name = Name::new("owners")?;
    arena.create_named(waiter, name, New::Event { manual: false, signaled: false })
}

/// A victim as the harness sees it.
struct Worker {
    child: Child,
    /// It does not kill itself.
    by_others: bool,
}

/// A victim as it sees itself.
struct Victim<'a> {
    arena: &'a Arena,
    objects: Objects,
    board: &'a Board,
}

impl Victim<'_> {
    fn live(&self, random: &mut Rng, by_others: bool) {
        let waiter = self.arena.waiter();
        for _ in 0..random.u32(1..=THINGS) {
            match self.take(&waiter, random) {
                Ok(()) => self.board.taken.fetch_add(1, SeqCst),
                Err(Error::TimedOut) => 0,
                Err(Error::Exhausted) => self.board.refused.fetch_add(1, SeqCst),
                Err(_) => self.board.failed.fetch_add(1, SeqCst),
            };
        }
        if by_others {
            self.sleep(&waiter);
        }
        // SAFETY: concerns this process only.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }

    fn sleep(&self, waiter: &Waiter) {
        let _ = self.arena.wait_any(waiter, &[self.objects.never], None, 1, Deadline::Never);
    }

    fn take(&self, waiter: &Waiter, random: &mut Rng) -> Result<()> {
        match random.u32(..9) {
            0 => self.mutex(waiter, self.objects.mutexes[random.usize(..MUTEXES)]),
            1 => self.arena.hold(self.objects.never),
            2 => self.semaphore(waiter).map(drop),
            3 => named(self.arena, waiter).map(drop),
            4 => self.queue(waiter).map(drop),
            5 => self.result(waiter),
            6 => self.packets(waiter),
            7 => self.timer(waiter),
            _ => self.arena.event_set(waiter, self.objects.given).map(drop),
        }
    }

    fn mutex(&self, waiter: &Waiter, mutex: Object) -> Result<()> {
        let soon = Deadline::Monotonic(clock::monotonic_ns() + 100_000);
        let owner = self.arena.owner_of_this_thread(waiter)?;
        let satisfied = self.arena.wait_any(waiter, &[mutex], None, owner, soon)?;
        self.board.abandoned.fetch_add(u32::from(satisfied.abandoned), SeqCst);
        Ok(())
    }

    fn semaphore(&self, waiter: &Waiter) -> Result<Object> {
        self.arena.create_new(waiter, New::Semaphore { count: 0, max: 1 })
    }

    fn wait(&self, waiter: &Waiter, queue: Queue, object: Object) -> Result<()> {
        let wanted = Detached { objects: &[object], all: false, owner: 1, key: 1 };
        self.arena.wait_detached(waiter, queue, wanted).map(drop)
    }

    /// A queue, and a wait that stands.
    fn queue(&self, waiter: &Waiter) -> Result<Queue> {
        let queue = self.arena.queue_create()?;
        self.wait(waiter, queue, self.objects.given)?;
        Ok(queue)
    }

    /// A result that nobody takes.
    fn result(&self, waiter: &Waiter) -> Result<()> {
        let (queue, semaphore) = (self.arena.queue_create()?, self.semaphore(waiter)?);
        self.wait(waiter, queue, semaphore)?;
        self.arena.semaphore_release(waiter, semaphore, 1).map(drop)
    }

    fn packets(&self, waiter: &Waiter) -> Result<()> {
        let queue = self.queue(waiter)?;
        (0..3).try_for_each(|key| self.arena.post(waiter, queue, key))
    }

    /// A timer that goes on, and a wait for it.
    fn timer(&self, waiter: &Waiter) -> Result<()> {
        let timer = self.arena.create_new(waiter, New::Timer { manual: false })?;
        self.arena.timer_set(waiter, timer, Due::after_ns(Clock::Monotonic, 50_000), 1_000_000)?;
        let queue = self.arena.queue_create()?;
        self.wait(waiter, queue, timer)
    }
}
