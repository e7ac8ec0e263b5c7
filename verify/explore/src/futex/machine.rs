//! Threads as coroutines that stop before every shared access, over a kernel that is played ([`super::kernel`]).

use std::alloc::{Layout, alloc_zeroed};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use ntux_futex::spec::{Outcome, Request, Thread};
use ntux_futex::table::{Alone, Capacity, Key, Line, Seat, Table, Woken};
use ntux_futex::{Deadline, Error, Expected, Futex, Result, Scope, native};
use ntux_platform::atomic::load_foreign;
use ntux_platform::explore;

use super::kernel::{Event, Run, SEAM, Seam, Sleeper, Status};
use super::state::State;
use super::{Over, Program};
use crate::fingerprint::Fingerprint;

/// A table so small that everything meets.
const CAPACITY: Capacity = Capacity { buckets: 1, chunks: 7, waiters: 4 };
/// Bytes of all words together.
const WORDS: usize = 32;
/// Stops of one execution before it counts as endless.
const STOPS: u32 = 3_000;

thread_local! {
    /// The memory of the table and of the words: every machine has the same, so that equal states have equal hashes.
    static MEMORY: [NonNull<u8>; 2] = [zeroed(CAPACITY.bytes()), zeroed(WORDS)];
    static FREE_STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

/// So many bytes that are never freed.
fn zeroed(bytes: usize) -> NonNull<u8> {
    let layout = Layout::from_size_align(bytes, 64).expect("a small layout");
    // SAFETY: the size is not zero.
    let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory");
    memory.as_ptr().expose_provenance();
    memory
}

/// The table and the words of a program; zeroed before each execution.
struct Subject {
    memory: NonNull<u8>,
    table: Table,
    words: NonNull<u64>,
    seats: Vec<Seat>,
}

impl Subject {
    fn new(over: Over) -> Subject {
        let [memory, words] = MEMORY.with(|memory| *memory);
        // SAFETY: so many aligned bytes, never freed; there is one machine at a time, and its `begin` zeroes them while
        // nobody uses the table.
        let table = unsafe {
            match over {
                Over::Domain => Table::shared(memory, CAPACITY),
                Over::Table | Over::Kernel => Table::private(memory, CAPACITY),
            }
        };
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
        let seat = |thread| {
            SEAM.with(|seam| seam.with(|run| run.served = Some(thread)));
            self.table.take_seat().expect("a seat")
        };
        self.seats = (0..program.threads.len()).map(seat).collect();
    }

    fn futex(&self, program: &Program, futex: usize) -> Futex<'static> {
        let address = self.words.as_ptr() as usize + futex * program.size.bytes();
        assert!(futex * program.size.bytes() < WORDS);
        let scope = if program.over == Over::Kernel { Scope::Shared } else { Scope::Private };
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
        SEAM.with(|seam| seam.with(|run| run.state.before(to as usize)));
        // SAFETY: within the words; one thread of the operating system does everything.
        unsafe { to.copy_from(from.as_ptr(), size) };
        SEAM.with(|seam| seam.with(|run| run.state.changed()));
    }

    fn perform(&self, program: &Program, thread: Thread, request: &Request) -> Outcome {
        let key = |futex: usize| Key::private(self.futex(program, futex).address(), program.size);
        match (program.over, request) {
            (_, &Request::Store(futex, value)) => {
                SEAM.with(|seam| seam.before_access());
                self.store(program, futex, value);
                Outcome::Stored
            }
            (Over::Table | Over::Domain, Request::Wait { entries, mask, timed }) => {
                let lines = entries.iter().map(|&(futex, value)| {
                    let expected = self.expect(program, (futex, value));
                    Line { key: key(futex), mask: *mask, expected }
                });
                let ended = self.table.wait_any(&self.seats[thread], lines, &Alone, deadline(*timed));
                ended_wait(ended.map(|woken| match woken {
                    Woken::InTable(index) | Woken::InKernel(index) => index,
                }))
            }
            (Over::Kernel, Request::Wait { entries, mask, timed }) => match entries[..] {
                [entry] => {
                    let ended = native::wait(self.expect(program, entry), *mask, deadline(*timed));
                    ended_wait(ended.map(|()| 0))
                }
                _ => panic!("no program waits for several futexes in the kernel"),
            },
            (Over::Table | Over::Domain, &Request::Wake(futex, count, mask)) => {
                Outcome::Served(self.table.wake(key(futex), count, mask))
            }
            (Over::Kernel, &Request::Wake(futex, count, mask)) => {
                served(native::wake(self.futex(program, futex), count, mask))
            }
            (Over::Table | Over::Domain, &Request::Requeue { from, to, expected, wake, moved }) => {
                let (address, bytes) = (self.futex(program, from).address(), program.size.bytes());
                // SAFETY: within the words, which are never freed; one thread of the operating system does everything.
                let compare = || unsafe { load_foreign(address, bytes) } == expected;
                served(self.table.requeue(key(from), key(to), wake, moved, compare))
            }
            (Over::Kernel, Request::Requeue { .. }) => panic!("the kernel that is played here has no requeue"),
        }
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
        Machine { seam, subject: Subject::new(program.over), program, coroutines: Vec::new() }
    }

    /// Begins an execution: every thread stops before its first request.
    pub fn begin(&mut self) {
        self.discard();
        let threads = self.program.threads.len();
        let fresh = Run {
            statuses: vec![Status::Between; threads],
            outcomes: vec![Vec::new(); threads],
            yielders: vec![std::ptr::null(); threads],
            woken: vec![None; threads],
            slept: vec![0; threads],
            wills: vec![0; threads],
            state: State::new(threads),
            ..Run::default()
        };
        self.seam.with(|run| *run = fresh);
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
                seam.with(|run| {
                    run.events.push(Event::Invoke(thread, number));
                    run.begins = true;
                });
                match catch_unwind(AssertUnwindSafe(|| subject.perform(program, thread, request))) {
                    Ok(outcome) => seam.with(|run| run.returned(thread, outcome)),
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

    /// Kills a thread where it is.
    pub fn kill(&mut self, thread: Thread) {
        // SAFETY: what lives on the stack is leaked, not reused, as in `discard`.
        unsafe { self.coroutines[thread].force_reset() };
        self.seam.with(|run| run.kill(thread));
    }

    /// What every thread is doing.
    pub fn statuses(&self) -> Vec<Status> {
        self.seam.with(|run| run.statuses.clone())
    }

    /// Whether a thread sleeps on a word that has changed.
    pub fn oversleeps(&self) -> bool {
        // SAFETY: a word of the program or of the table, both of which the machine keeps.
        let has_changed = |sleeper: &Sleeper| unsafe { *(sleeper.address as *const u32) } != sleeper.expected;
        self.seam.with(|run| run.sleepers.iter().any(has_changed))
    }

    /// What was observed so far.
    pub fn events(&self) -> Vec<Event> {
        self.seam.with(|run| run.events.clone())
    }

    /// One of these.
    pub fn event(&self, number: usize) -> Option<Event> {
        self.seam.with(|run| run.events.get(number).copied())
    }

    /// The state of threads, memory and kernel ([`State`]).
    pub fn fingerprint(&self) -> Fingerprint {
        self.seam.with(|run| run.fingerprint())
    }

    /// What can be seen at the end: what every thread was answered, how it is left, what the memory holds and who sleeps
    /// in the kernel. Hashed from all that, not from the account that [`State`] keeps.
    pub fn end(&self) -> Fingerprint {
        let held = |base: NonNull<u8>, bytes: usize| {
            // SAFETY: so many bytes, aligned; nobody runs.
            unsafe { std::slice::from_raw_parts(base.cast::<u64>().as_ptr(), bytes / size_of::<u64>()) }
        };
        let [table, words] = MEMORY.with(|memory| *memory);
        let memory = (held(table, CAPACITY.bytes()), held(words, WORDS));
        self.seam.with(|run| Fingerprint::of(&(memory, &run.outcomes, &run.statuses, &run.sleepers)))
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
