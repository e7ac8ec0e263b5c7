//! Threads as coroutines that stop before every shared access, over a kernel that is played here.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ntux_futex::spec::{Outcome, Request, Thread};
use ntux_futex::table::{Alone, Capacity, Key, Line, Seat, Table, Woken};
use ntux_futex::{Deadline, Error, Expected, Futex, Result, Scope, native};
use ntux_platform::error::{EAGAIN, ETIMEDOUT};
use ntux_platform::explore::{self, Access, Kernel, Scheduler};
use ntux_platform::kernel_futex::Entry;

use super::{Over, Program};

/// A table so small that everything meets.
const CAPACITY: Capacity = Capacity { buckets: 1, chunks: 7, waiters: 4 };
/// Bytes of all words together.
const WORDS: usize = 32;
/// Stops of one execution before it counts as endless.
const STOPS: u32 = 3_000;

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Its next request is still to come.
    Between,
    /// It stopped before an access.
    Midway,
    /// It sleeps in the kernel.
    Asleep {
        /// Whether a deadline can end that.
        timed: bool,
    },
    /// It has made all its requests.
    Finished,
}

/// What was observed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A thread makes its request of this number.
    Invoke(Thread, usize),
    /// It was answered.
    Return(Thread, Outcome),
}

/// A thread in one of the kernel's queues.
struct Sleeper {
    thread: Thread,
    address: usize,
    mask: u32,
    index: usize,
}

#[derive(Default)]
struct Run {
    running: Option<Thread>,
    statuses: Vec<Status>,
    yielders: Vec<*const Yielder<bool, ()>>,
    events: Vec<Event>,
    sleepers: Vec<Sleeper>,
    woken: Vec<Option<usize>>,
    /// How often each thread fell asleep.
    slept: Vec<u64>,
    stops: u32,
    panicked: bool,
}

/// Where the accesses arrive. There is one for each thread of the operating system.
struct Seam(RefCell<Run>);

thread_local! {
    static SEAM: &'static Seam = Box::leak(Box::new(Seam(RefCell::default())));
    static FREE_STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

impl Seam {
    fn with<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(&mut self.0.borrow_mut())
    }

    /// Gives the processor back until the thread is chosen again; true if its deadline has passed.
    fn stop(&self, status: Status) -> bool {
        let Some(yielder) = self.with(|run| {
            let thread = run.running?;
            run.statuses[thread] = status;
            run.stops += 1;
            Some(run.yielders[thread])
        }) else {
            return false;
        };
        // SAFETY: the yielder lives at the bottom of the running coroutine's stack, and every thread suspends itself
        // only.
        unsafe { (*yielder).suspend(()) }
    }
}

impl Scheduler for Seam {
    fn step(&self, _access: Access) {
        self.stop(Status::Midway);
    }

    fn sleep(&self, _address: usize, _expected: u32, _has_deadline: bool) -> bool {
        unreachable!("the futex layer calls the kernel's futexes")
    }

    fn wake(&self, _address: usize, _count: u32) -> u32 {
        unreachable!("as above")
    }

    fn kernel(&self) -> Option<&dyn Kernel> {
        Some(self)
    }
}

impl Kernel for Seam {
    fn wait_any(&self, entries: &[(Entry, u32)], has_deadline: bool) -> core::result::Result<usize, i32> {
        let mut ended = Err(ETIMEDOUT);
        for (index, &(entry, mask)) in entries.iter().enumerate() {
            self.stop(Status::Midway);
            // SAFETY: a word of the program or of the table, both of which the machine keeps.
            if unsafe { entry.address.read_volatile() } != entry.expected {
                ended = Err(EAGAIN);
                break;
            }
            self.with(|run| {
                let thread = run.running.expect("a thread waits");
                run.sleepers.push(Sleeper { thread, address: entry.address as usize, mask, index });
            });
        }
        let woken = |run: &mut Run| run.woken[run.running.expect("a thread waits")];
        while ended == Err(ETIMEDOUT) && self.with(woken).is_none() {
            self.with(|run| run.slept[run.running.expect("a thread waits")] += 1);
            if self.stop(Status::Asleep { timed: has_deadline }) {
                break;
            }
        }
        self.with(|run| {
            let thread = run.running.expect("a thread waits");
            run.sleepers.retain(|sleeper| sleeper.thread != thread);
            run.woken[thread].take().map_or(ended, Ok)
        })
    }

    fn times_asleep(&self) -> u64 {
        self.with(|run| run.slept[run.running.expect("a thread asks")])
    }

    fn wake(&self, address: usize, count: u32, mask: u32) -> u32 {
        self.stop(Status::Midway);
        self.with(|run| {
            let Run { sleepers, woken, statuses, .. } = run;
            let mut served = 0;
            sleepers.retain(|sleeper| {
                let takes = served < count && sleeper.address == address && sleeper.mask & mask != 0;
                if takes {
                    served += 1;
                    woken[sleeper.thread] = woken[sleeper.thread].max(Some(sleeper.index));
                    if let Status::Asleep { .. } = statuses[sleeper.thread] {
                        statuses[sleeper.thread] = Status::Midway;
                    }
                }
                !takes
            });
            served
        })
    }
}

/// The table and the words of a program; zeroed before each execution.
struct Subject {
    memory: NonNull<u8>,
    table: Table,
    words: NonNull<u64>,
    seats: Vec<Seat>,
}

impl Subject {
    fn new() -> Subject {
        let zeroed = |bytes| {
            let layout = Layout::from_size_align(bytes, 64).expect("a small layout");
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory")
        };
        let memory = zeroed(CAPACITY.bytes());
        // SAFETY: fresh zero bytes, aligned, never freed; `begin` zeroes them while nobody uses the table.
        let table = unsafe { Table::private(memory, CAPACITY) };
        let words = zeroed(WORDS);
        words.as_ptr().expose_provenance();
        Subject { memory, table, words: words.cast(), seats: Vec::new() }
    }

    fn begin(&mut self, program: &Program) {
        // SAFETY: both are as long as that, and no thread of the last execution goes on.
        unsafe {
            self.memory.write_bytes(0, CAPACITY.bytes());
            self.words.write_bytes(0, WORDS / size_of::<u64>());
        }
        for (futex, &value) in program.words.iter().enumerate() {
            self.store(program, futex, value);
        }
        self.seats = program.threads.iter().map(|_| self.table.take_seat().expect("a seat")).collect();
    }

    fn futex(&self, program: &Program, futex: usize) -> Futex<'static> {
        let address = self.words.as_ptr() as usize + futex * program.size.bytes();
        assert!(futex * program.size.bytes() < WORDS);
        let scope = if program.over == Over::Table { Scope::Private } else { Scope::Shared };
        // SAFETY: within the words, which are never freed; one thread of the operating system does everything.
        unsafe { Futex::at(address, program.size, scope) }.expect("aligned")
    }

    fn expect(&self, program: &Program, (futex, value): (usize, u64)) -> Expected<'static> {
        Expected::new(self.futex(program, futex), value).expect("it fits")
    }

    fn store(&self, program: &Program, futex: usize, value: u64) {
        let bytes = value.to_ne_bytes();
        let to = self.futex(program, futex).address() as *mut u8;
        let size = program.size.bytes();
        let from = if cfg!(target_endian = "little") { &bytes[..size] } else { &bytes[8 - size..] };
        // SAFETY: within the words; one thread of the operating system does everything.
        unsafe { to.copy_from(from.as_ptr(), size) };
    }

    fn perform(&self, program: &Program, thread: Thread, request: &Request) -> Outcome {
        let key = |futex: usize| Key::private(self.futex(program, futex).address(), program.size);
        match (program.over, request) {
            (_, &Request::Store(futex, value)) => {
                SEAM.with(|seam| seam.stop(Status::Midway));
                self.store(program, futex, value);
                Outcome::Stored
            }
            (Over::Table, Request::Wait { entries, mask, timed }) => {
                let lines = entries.iter().map(|&(futex, value)| {
                    let expected = self.expect(program, (futex, value));
                    Line { key: key(futex), mask: *mask, expected }
                });
                let ended = self.table.wait_any(&self.seats[thread], lines, &Alone, deadline(*timed));
                ended_wait(ended.map(|woken| match woken {
                    Woken::Entry(index) | Woken::Beside(index) => index,
                }))
            }
            (Over::Kernel, Request::Wait { entries, mask, timed }) => match entries[..] {
                [entry] => {
                    let ended = native::wait(self.expect(program, entry), *mask, deadline(*timed));
                    ended_wait(ended.map(|()| 0))
                }
                _ => panic!("no program waits for several futexes in the kernel"),
            },
            (Over::Table, &Request::Wake(futex, count, mask)) => {
                Outcome::Served(self.table.wake(key(futex), count, mask))
            }
            (Over::Kernel, &Request::Wake(futex, count, mask)) => {
                served(native::wake(self.futex(program, futex), count, mask))
            }
            (Over::Table, &Request::Requeue { from, to, expected, wake, moved }) => {
                let compare = || self.holds(program, from, expected);
                served(self.table.requeue(key(from), key(to), wake, moved, compare))
            }
            (Over::Kernel, Request::Requeue { .. }) => panic!("the kernel that is played here has no requeue"),
        }
    }

    fn holds(&self, program: &Program, futex: usize, value: u64) -> bool {
        SEAM.with(|seam| seam.stop(Status::Midway));
        let mut bytes = [0u8; 8];
        let size = program.size.bytes();
        let to = if cfg!(target_endian = "little") { &mut bytes[..size] } else { &mut bytes[8 - size..] };
        let from = self.futex(program, futex).address() as *const u8;
        // SAFETY: within the words; one thread of the operating system does everything.
        unsafe { to.as_mut_ptr().copy_from(from, size) };
        u64::from_ne_bytes(bytes) == value
    }
}

fn deadline(timed: bool) -> Deadline {
    // A deadline that no clock reaches while we watch: the machine decides when it passes.
    if timed { Deadline::Monotonic(1 << 62) } else { Deadline::Never }
}

fn ended_wait(ended: Result<usize>) -> Outcome {
    match ended {
        Ok(index) => Outcome::Woken(index),
        Err(Error::Differs) => Outcome::Differs,
        Err(Error::TimedOut) => Outcome::TimedOut,
        Err(error) => panic!("{error:?}"),
    }
}

fn served(result: Result<u32>) -> Outcome {
    match result {
        Ok(count) => Outcome::Served(count),
        Err(Error::Differs) => Outcome::Differs,
        Err(error) => panic!("{error:?}"),
    }
}

/// Runs one program, again and again. There can be one at a time on a thread of the operating system.
pub struct Machine<'a> {
    seam: &'static Seam,
    subject: Subject,
    program: &'a Program,
    coroutines: Vec<Coroutine<bool, (), ()>>,
}

impl<'a> Machine<'a> {
    /// A machine for a program.
    pub fn new(program: &'a Program) -> Machine<'a> {
        let seam = SEAM.with(|seam| *seam);
        explore::install(Some(seam));
        Machine { seam, subject: Subject::new(), program, coroutines: Vec::new() }
    }

    /// Begins an execution: every thread stops before its first request.
    pub fn begin(&mut self) {
        self.discard();
        let threads = self.program.threads.len();
        *self.seam.0.borrow_mut() = Run {
            statuses: vec![Status::Between; threads],
            yielders: vec![std::ptr::null(); threads],
            woken: vec![None; threads],
            slept: vec![0; threads],
            ..Run::default()
        };
        self.subject.begin(self.program);
        for thread in 0..threads {
            self.spawn(thread);
        }
    }

    fn spawn(&mut self, thread: Thread) {
        let mut stacks = FREE_STACKS.take();
        let stack = stacks.pop().unwrap_or_default();
        FREE_STACKS.set(stacks);
        let (seam, subject, program) = (self.seam, &raw const self.subject, &raw const *self.program);
        self.coroutines.push(Coroutine::with_stack(stack, move |yielder, _| {
            seam.with(|run| run.yielders[thread] = yielder);
            // SAFETY: the machine drops its coroutines before its subject, and its program outlives it.
            let (subject, program) = unsafe { (&*subject, &*program) };
            for (number, request) in program.threads[thread].iter().enumerate() {
                seam.stop(Status::Between);
                seam.with(|run| run.events.push(Event::Invoke(thread, number)));
                match catch_unwind(AssertUnwindSafe(|| subject.perform(program, thread, request))) {
                    Ok(outcome) => seam.with(|run| run.events.push(Event::Return(thread, outcome))),
                    Err(_) => seam.with(|run| run.panicked = true),
                }
            }
        }));
        self.resume(thread, false);
    }

    /// Lets a thread go on to its next stop; its deadline has passed, or not.
    pub fn resume(&mut self, thread: Thread, deadline_passed: bool) {
        self.seam.with(|run| run.running = Some(thread));
        let result = self.coroutines[thread].resume(deadline_passed);
        self.seam.with(|run| {
            run.running = None;
            if let CoroutineResult::Return(()) = result {
                run.statuses[thread] = Status::Finished;
            }
        });
    }

    /// What every thread is doing.
    pub fn statuses(&self) -> Vec<Status> {
        self.seam.with(|run| run.statuses.clone())
    }

    /// What was observed so far.
    pub fn events(&self) -> Vec<Event> {
        self.seam.with(|run| run.events.clone())
    }

    /// Why the execution cannot go on, if so.
    pub fn trouble(&self) -> Option<String> {
        self.seam.with(|run| match run {
            Run { panicked: true, .. } => Some("a thread panicked".to_owned()),
            Run { stops: STOPS.., .. } => Some("a thread spins, or the run is endless".to_owned()),
            _ => None,
        })
    }

    /// Abandons the execution in progress.
    fn discard(&mut self) {
        let mut stacks = FREE_STACKS.take();
        for mut coroutine in self.coroutines.drain(..) {
            if !coroutine.done() {
                // SAFETY: what lives on the stack is leaked, not reused; the futex layer keeps nothing there that
                // others point to.
                unsafe { coroutine.force_reset() };
            }
            stacks.push(coroutine.into_stack());
        }
        FREE_STACKS.set(stacks);
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        self.discard();
        explore::install(None);
    }
}
