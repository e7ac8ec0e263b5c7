// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads as coroutines that stop before every shared access, over a simulated kernel ([`super::kernel`]).

use std::alloc::{Layout, alloc_zeroed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::model::{Outcome, Request, Thread};
use ntux_futex::table::{Alone, Capacity, Key, Line, Seat, Table, Woken};
use ntux_futex::{Deadline, Error, Expected, Futex, Result, Scope, native};
use ntux_platform::atomic::load_foreign;
use ntux_platform::explore;

use super::kernel::{Event, Run, SEAM, Seam, Sleeper, Status};
use super::state::State;
use super::{Over, Program};
use crate::machine::fingerprint::Fingerprint;
use crate::machine::threads::Threads;
use crate::machine::trace::Trace;

/// A table so small that everything meets.
const CAPACITY: Capacity = Capacity { buckets: 1, chunks: 7, waiters: 4 };
/// Seats of a domain whose threads never find it full.
pub const SEATS: u32 = CAPACITY.waiters;
/// Bytes of all words together.
const WORDS: usize = 32;
/// Stops of one execution before it counts as endless.
const STOPS: u32 = 3_000;

thread_local! {
    /// The memory of the table and of the words: every stage has the same, so that equal states have equal hashes.
    static MEMORY: [NonNull<u8>; 2] = [zeroed(CAPACITY.bytes()), zeroed(WORDS)];
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
    fn new(program: &Program) -> Subject {
        let [memory, words] = MEMORY.with(|memory| *memory);
        assert!(program.seats <= SEATS);
        // SAFETY: so many aligned bytes, never freed; there is one stage at a time, and its `begin` zeroes them while
        // nobody uses the table.
        let table = unsafe {
            match program.over {
                Over::Domain => Table::shared(memory, Capacity { waiters: program.seats, ..CAPACITY }),
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
        // In a process's own table each thread keeps its seat; in a domain each wait takes one.
        let keepers = if program.over == Over::Table { program.threads.len() } else { 0 };
        self.seats = (0..keepers).map(seat).collect();
    }

    /// What is left over when the dead are inherited: nobody lives.
    fn leftovers(&self) -> usize {
        let heirs: Vec<Seat> = std::iter::from_fn(|| self.table.take_seat().ok()).collect();
        heirs.into_iter().for_each(|seat| self.table.give_back(seat));
        self.table.used_slots()
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
                let deadline = deadline(*timed);
                let ended = match program.over {
                    Over::Domain => self.table.wait_any(lines, &Alone, deadline),
                    _ => (self.table.before_waiting(lines.clone(), deadline))
                        .and_then(|()| self.table.wait_seated(&self.seats[thread], lines, &Alone, deadline)),
                };
                if ended == Err(Error::Exhausted) {
                    SEAM.with(|seam| seam.with(|run| run.found_full(thread, program.seats)));
                    // As far as the model goes: there is no such outcome.
                    return Outcome::TimedOut;
                }
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
    // A deadline that no clock reaches while we watch: the search decides when it passes.
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
pub struct Stage<'a> {
    seam: &'static Seam,
    subject: Subject,
    program: &'a Program,
    /// Each is told whether its deadline has passed.
    threads: Threads<bool>,
    keeps_trace: bool,
}

impl<'a> Stage<'a> {
    /// A stage for a program.
    pub fn new(program: &'a Program) -> Stage<'a> {
        let seam = SEAM.with(|seam| *seam);
        explore::install(Some(seam));
        Stage { seam, subject: Subject::new(program), program, threads: Threads::default(), keeps_trace: false }
    }

    /// From the next execution on a trace is kept.
    pub fn keep_trace(&mut self) {
        self.keeps_trace = true;
    }

    /// The trace of the last execution.
    pub fn trace(&self) -> String {
        self.seam.with(|run| run.trace.as_ref().map(Trace::to_string).unwrap_or_default())
    }

    /// Begins an execution: every thread stops before its first request.
    pub fn begin(&mut self) {
        self.threads.clear();
        let threads = self.program.threads.len();
        let fresh = Run {
            statuses: vec![Status::Between; threads],
            outcomes: vec![Vec::new(); threads],
            places: vec![None; threads],
            woken: vec![None; threads],
            slept: vec![0; threads],
            wills: vec![0; threads],
            state: State::new(threads),
            trace: self.keeps_trace.then(Trace::default),
            ..Run::default()
        };
        self.seam.with(|run| *run = fresh);
        self.subject.begin(self.program);
        for thread in 0..threads {
            self.spawn(thread);
        }
    }

    fn spawn(&mut self, thread: Thread) {
        let (seam, subject, program) = (self.seam, &raw const self.subject, &raw const *self.program);
        self.threads.spawn(move |place| {
            seam.with(|run| run.places[thread] = Some(place));
            // SAFETY: the stage abandons its threads before its subject, and its program outlives it.
            let (subject, program) = unsafe { (&*subject, &*program) };
            for (number, request) in program.threads[thread].iter().enumerate() {
                seam.stop(Status::Between);
                seam.with(|run| {
                    run.event(Event::Invoke(thread, number));
                    run.begins = true;
                });
                match catch_unwind(AssertUnwindSafe(|| subject.perform(program, thread, request))) {
                    Ok(outcome) => seam.with(|run| run.returned(thread, outcome)),
                    Err(_) => seam.with(|run| run.panicked = true),
                }
            }
        });
        self.resume(thread, false);
    }

    /// Lets a thread go on to its next stop; its deadline has passed, or not.
    pub fn resume(&mut self, thread: Thread, deadline_passed: bool) {
        self.seam.with(|run| run.running = Some(thread));
        let finished = self.threads.resume(thread, deadline_passed);
        self.seam.with(|run| {
            run.running = None;
            if finished {
                run.statuses[thread] = Status::Finished;
            }
        });
    }

    /// Kills a thread where it is.
    pub fn kill(&mut self, thread: Thread) {
        self.threads.abandon(thread);
        self.seam.with(|run| run.kill(thread));
    }

    /// What every thread is doing.
    pub fn statuses(&self) -> Vec<Status> {
        self.seam.with(|run| run.statuses.clone())
    }

    /// Returns whether a thread sleeps on a word that has changed.
    pub fn oversleeps(&self) -> bool {
        // SAFETY: a word of the program or of the table, both of which the stage keeps.
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

    /// What can be seen at the end: what every thread was answered, how it is left, what the memory holds and who
    /// sleeps in the kernel. Hashed from all that, not from the account that [`State`] keeps.
    pub fn end(&self) -> Fingerprint {
        let held = |base: NonNull<u8>, bytes: usize| {
            // SAFETY: so many bytes, aligned; nobody runs.
            unsafe { std::slice::from_raw_parts(base.cast::<u64>().as_ptr(), bytes / size_of::<u64>()) }
        };
        let [table, words] = MEMORY.with(|memory| *memory);
        let memory = (held(table, CAPACITY.bytes()), held(words, WORDS));
        self.seam.with(|run| Fingerprint::of(&(memory, &run.outcomes, &run.statuses, &run.sleepers)))
    }

    /// What is left over in the lines at the end if no thread lives, beyond what a killed requeuer may leave.
    pub fn leaks(&self) -> bool {
        let all_ended = self.statuses().iter().all(|status| *status == Status::Finished);
        let moves = |requests: &Vec<Request>| requests.iter().any(|request| matches!(request, Request::Requeue { .. }));
        let killed = |event: &Event| matches!(event, Event::Kill(thread) if moves(&self.program.threads[*thread]));
        let may_be_left = usize::from(self.events().iter().any(killed));
        self.seam.with(|run| run.served = Some(0));
        self.program.over == Over::Domain && all_ended && self.subject.leftovers() > may_be_left
    }

    /// Why the execution cannot go on, if so.
    pub fn trouble(&self) -> Option<String> {
        self.seam.with(|run| match run {
            Run { panicked: true, .. } => Some("a thread panicked".to_owned()),
            Run { is_full_of_dead: true, .. } => Some("a dead thread keeps its seat".to_owned()),
            Run { stops: STOPS.., .. } => Some("a thread spins, or the run is endless".to_owned()),
            _ => None,
        })
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.threads.clear();
        explore::install(None);
    }
}
