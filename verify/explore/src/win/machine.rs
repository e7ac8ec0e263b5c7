// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual threads that stop before every shared access, with a buffer of stores each; sleeping and waking.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::atomic::Word64;
use ntux_platform::explore::{self, Access, Effect, Identity, Scheduler, Touch};
use ntux_win::explored;

use super::programs::{GHOSTS, Program};
use crate::machine::chunk::{Chunk, Content, around, cell, content, put_back};
use crate::machine::fingerprint::Fingerprint;
use crate::machine::threads::{Stop, Threads};
use crate::machine::trace::Trace;

/// A thread of a program, by its place.
pub type Thread = usize;

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The thread goes on to its next stop.
    Run(Thread),
    /// The oldest store in the thread's buffer reaches the memory.
    Store(Thread),
    /// The deadline of the sleeping thread passes.
    Deadline(Thread),
}

/// Accesses of one execution before it counts as endless.
const ACCESSES: u32 = 20_000;
/// Numbers that no thread of the system has.
const THREAD_BASE: u32 = 1 << 29;

/// The time for timers of the core, in a chunk of its own: with each deadline that passes it gets later than any due time
/// that a program sets. Tens of thousands of deadlines fit into the word.
#[repr(align(16))]
struct Time(Word64);

static TIME: Time = Time(Word64::new(0));
const LATER: u64 = 1 << 48;

/// A store that has not reached the memory yet.
#[derive(Clone, Copy, Hash)]
struct Stored {
    address: usize,
    bytes: usize,
    value: u64,
}

/// A thread that sleeps on a word, in order of arrival. The core's sleepers have no classes.
#[derive(Hash)]
struct Sleeper {
    thread: Thread,
    address: usize,
    bytes: usize,
    classes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Status {
    Ready,
    Asleep { has_deadline: bool },
    Finished,
}

struct One {
    status: Status,
    /// Everything that it has read.
    seen: Fingerprint,
    buffer: VecDeque<Stored>,
    stop: Option<Stop<bool>>,
}

/// An update that was announced, and may turn out to be a store.
struct Pending {
    address: usize,
    before: Content,
    /// What the thread's buffer held: an exchange comes after all of it, a store does not.
    drained: VecDeque<Stored>,
    /// The chunks of those, as they were.
    undo: Vec<(Chunk, Content)>,
}

/// The threads that touch a chunk of memory. A thread that shares it with no other need not stop there.
#[derive(Default)]
struct Judgement {
    touched_by: u32,
    changed: bool,
    public: bool,
}

#[derive(Default)]
struct Run {
    running: Option<Thread>,
    /// For whom something is made ready.
    served: Thread,
    threads: Vec<One>,
    sleepers: Vec<Sleeper>,
    pending: Option<Pending>,
    judgements: HashMap<Chunk, Judgement>,
    misjudged: bool,
    /// The chunks that were changed since the machine was made, as they were.
    original: BTreeMap<Chunk, Content>,
    freed: Vec<(usize, usize)>,
    /// Stores reach the memory at once.
    in_order: bool,
    /// A deadline has passed: from now on every one has, for who looks at the clock.
    is_late: bool,
    /// Nothing happens any more, and nothing is said of the end.
    is_cut_off: bool,
    ghosts: [u64; GHOSTS],
    accesses: u32,
    failure: Option<String>,
    trace: Option<Trace>,
}

/// Where the accesses arrive. There is one for each thread of the system.
struct Seam(RefCell<Run>);

thread_local! {
    static SEAM: &'static Seam = Box::leak(Box::new(Seam(RefCell::default())));
}

/// The library's tables and its arena are those of the process: there is one machine at a time.
static ONE: Mutex<()> = Mutex::new(());

/// What the bodies of a program remember beside the library, the same number in every thread.
pub fn ghost(number: usize) -> u64 {
    SEAM.with(|seam| {
        seam.with(|run| {
            run.learn(run.ghosts[number]);
            run.ghosts[number]
        })
    })
}

/// See [`ghost`].
pub fn set_ghost(number: usize, value: u64) {
    SEAM.with(|seam| seam.with(|run| run.ghosts[number] = value));
}

/// The execution has gone wrong unless this holds.
#[track_caller]
pub fn check(holds: bool, what: &str) {
    let place = std::panic::Location::caller();
    if !holds {
        SEAM.with(|seam| seam.with(|run| run.fail(format!("{what} (programs.rs:{})", place.line()))));
    }
}

/// From now on nobody may touch this memory.
pub fn free(address: usize, bytes: usize) {
    SEAM.with(|seam| seam.with(|run| run.freed.push((address, bytes))));
}

/// Makes something ready on behalf of a thread.
pub fn on_behalf_of<R>(thread: Thread, what: impl FnOnce() -> R) -> R {
    SEAM.with(|seam| seam.with(|run| run.served = thread));
    what()
}

/// The bytes of a word.
fn held(address: usize, bytes: usize) -> u64 {
    let ones = if bytes < 8 { (1 << (bytes * 8)) - 1 } else { u64::MAX };
    content(around(address))[address % 16 / 8] >> (address % 8 * 8) & ones
}

/// A chunk with another value in one of its words.
fn with_value(mut chunk: Content, Stored { address, bytes, value }: Stored) -> Content {
    let ones = if bytes < 8 { (1 << (bytes * 8)) - 1 } else { u64::MAX };
    let (half, shift) = (address % 16 / 8, address % 8 * 8);
    chunk[half] = chunk[half] & !(ones << shift) | value << shift;
    chunk
}

impl Run {
    fn fail(&mut self, what: String) {
        if let Some(trace) = &mut self.trace {
            trace.line(&what);
        }
        self.failure.get_or_insert(what);
    }

    /// Returns true if others could tell when the access happens.
    fn is_public(&mut self, thread: Thread, address: usize) -> bool {
        let judgement = self.judgements.entry(around(address)).or_default();
        judgement.touched_by |= 1 << thread;
        self.misjudged |= !judgement.public && judgement.changed && judgement.touched_by.count_ones() > 1;
        judgement.public
    }

    /// A chunk was changed by the running thread.
    fn changed(&mut self, chunk: Chunk, old: Content) {
        self.original.entry(chunk).or_insert(old);
        if self.running.is_none() || content(chunk) == old {
            return;
        }
        let judgement = self.judgements.entry(chunk).or_default();
        judgement.changed = true;
        self.misjudged |= !judgement.public && judgement.touched_by.count_ones() > 1;
    }

    /// A deadline has passed.
    fn is_late_now(&mut self) {
        self.is_late = true;
        let address = std::ptr::from_ref(&TIME).addr();
        self.reach(Stored { address, bytes: 8, value: held(address, 8) + LATER });
    }

    /// The last update was an exchange, or its memory is private: it has happened, and everything before it.
    fn settle(&mut self) {
        if let Some(Pending { address, before, .. }) = self.pending.take() {
            self.changed(around(address), before);
        }
    }

    fn learn(&mut self, what: u64) {
        if let Some(thread) = self.running {
            let seen = &mut self.threads[thread].seen;
            *seen = seen.then(what);
        }
    }

    /// The access happens now.
    fn observe(&mut self, access: Access) {
        let (Access::Load(address) | Access::Update(address) | Access::Wake(address)) = access else { return };
        self.accesses += 1;
        if self.accesses > ACCESSES {
            self.fail("a thread spins, or the run is endless".to_owned());
        }
        if self.freed.iter().any(|&(from, bytes)| (from..from + bytes).contains(&address))
            && !matches!(access, Access::Wake(_))
        {
            self.fail(format!("thread {:?} touches memory that was freed", self.running));
        }
        let now = content(around(address));
        if let Some(thread) = self.running {
            let seen = &mut self.threads[thread].seen;
            *seen = seen.followed_by(cell(address, now));
        }
        if let Some(trace) = &mut self.trace {
            trace.access(self.running, access);
        }
    }

    /// The running thread's stores reach the memory. Returns what was there.
    fn drain(&mut self, thread: Thread) -> (VecDeque<Stored>, Vec<(Chunk, Content)>) {
        let drained = std::mem::take(&mut self.threads[thread].buffer);
        let mut undo = Vec::new();
        for &stored in &drained {
            undo.push((around(stored.address), self.reach(stored)));
        }
        (drained, undo)
    }

    /// A store reaches the memory. Returns the chunk before.
    fn reach(&mut self, stored: Stored) -> Content {
        let chunk = around(stored.address);
        let old = content(chunk);
        put_back(chunk, with_value(old, stored));
        self.changed(chunk, old);
        old
    }

    /// The running thread enters the kernel, before which its stores reach the memory.
    fn enter_kernel(&mut self) -> Option<Thread> {
        let thread = self.running?;
        self.drain(thread);
        Some(thread)
    }

    fn wake(&mut self, address: usize, bytes: usize, count: u32, classes: u32) -> u32 {
        let Run { sleepers, threads, .. } = self;
        let mut woken = 0;
        sleepers.retain(|sleeper| {
            let takes =
                woken < count && (sleeper.address, sleeper.bytes) == (address, bytes) && sleeper.classes & classes != 0;
            if takes {
                woken += 1;
                threads[sleeper.thread].status = Status::Ready;
            }
            !takes
        });
        woken
    }

    /// The memory is put back to what it was when the machine was made.
    fn put_back(&mut self) {
        self.settle();
        for (chunk, old) in std::mem::take(&mut self.original) {
            put_back(chunk, old);
        }
    }
}

impl Seam {
    fn with<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(&mut self.0.borrow_mut())
    }

    /// Gives the processor back until the thread is chosen again. True if its deadline has passed.
    fn stop(&self, thread: Thread, status: Status) -> bool {
        let place = self.with(|run| {
            run.threads[thread].status = status;
            run.threads[thread].stop.expect("the thread runs")
        });
        // SAFETY: every thread stops itself only.
        let has_passed = unsafe { place.here() };
        self.with(|run| run.learn(has_passed.into()));
        has_passed
    }

    /// The stop before an access, if it needs one, and the account of it.
    fn before(&self, access: Access) {
        if matches!(access, Access::Half(_) | Access::Clock | Access::Will) {
            return;
        }
        let stops = self.with(|run| {
            run.settle();
            let thread = run.running?;
            let is_public = match access {
                Access::Load(address) | Access::Update(address) => run.is_public(thread, address),
                _ => true,
            };
            is_public.then_some(thread)
        });
        if let Some(thread) = stops {
            self.stop(thread, Status::Ready);
        }
        self.with(|run| {
            run.observe(access);
            if let Access::Update(address) = access {
                let (drained, undo) = run.running.map(|thread| run.drain(thread)).unwrap_or_default();
                run.pending = Some(Pending { address, before: content(around(address)), drained, undo });
            }
        });
    }

    /// Sleeps while the word holds `expected`. False if the deadline has passed.
    fn sleep_on(&self, sleeper: Sleeper, expected: u64, has_deadline: bool) -> bool {
        let (address, bytes) = (sleeper.address, sleeper.bytes);
        self.before(Access::Wake(address));
        let Some(thread) = self.with(Run::enter_kernel) else { return true };
        if held(address, if bytes == 0 { 4 } else { bytes }) != expected {
            return true;
        }
        self.with(|run| run.sleepers.push(Sleeper { thread, ..sleeper }));
        let timed_out = self.stop(thread, Status::Asleep { has_deadline });
        self.with(|run| run.sleepers.retain(|sleeper| sleeper.thread != thread));
        !timed_out
    }

    fn wake_on(&self, address: usize, bytes: usize, count: u32, classes: u32) -> u32 {
        self.before(Access::Wake(address));
        self.with(|run| {
            run.enter_kernel();
            let woken = run.wake(address, bytes, count, classes);
            run.learn(woken.into());
            woken
        })
    }

    fn served(&self) -> Thread {
        self.with(|run| run.running.unwrap_or(run.served))
    }
}

impl Scheduler for Seam {
    fn step(&self, access: Access) {
        self.before(access);
    }

    /// A thread sees its own stores.
    fn read(&self, touch: Touch) -> Option<u64> {
        self.with(|run| {
            let buffer = &run.threads[run.running?].buffer;
            let is_here = |stored: &&Stored| (stored.address, stored.bytes) == (touch.address, touch.bytes);
            let found = buffer.iter().rev().find(is_here).map(|stored| stored.value)?;
            run.learn(found);
            Some(found)
        })
    }

    fn updated(&self, touch: Touch, effect: Effect) {
        self.with(|run| {
            let (Effect::Stored, Some(thread)) = (effect, run.running) else { return run.settle() };
            let Some(Pending { before, drained, undo, .. }) = run.pending.take() else { return };
            let stored = Stored { address: touch.address, bytes: touch.bytes, value: held(touch.address, touch.bytes) };
            let chunk = around(touch.address);
            let is_public = run.judgements.get(&chunk).is_some_and(|judgement| judgement.public);
            let is_late = is_public && !run.in_order;
            if is_late {
                put_back(chunk, before);
            }
            for (chunk, old) in undo.into_iter().rev() {
                put_back(chunk, old);
            }
            run.threads[thread].buffer = drained;
            match is_late {
                true => run.threads[thread].buffer.push_back(stored),
                false => run.changed(chunk, before),
            }
        });
    }

    fn sleep(&self, address: usize, expected: u32, has_deadline: bool) -> bool {
        self.sleep_on(Sleeper { thread: 0, address, bytes: 0, classes: u32::MAX }, expected.into(), has_deadline)
    }

    /// A timer is due when a deadline has passed, whoever's.
    fn sleep_until(&self, address: usize, expected: u32, has_deadline: bool, due_ns: u64) -> bool {
        self.sleep(address, expected, has_deadline || due_ns != u64::MAX)
    }

    fn wake(&self, address: usize, count: u32) -> u32 {
        self.wake_on(address, 0, count, u32::MAX)
    }

    fn deadline_passed(&self) -> bool {
        self.with(|run| {
            run.learn(run.is_late.into());
            run.is_late
        })
    }

    fn identity(&self) -> Option<Identity> {
        let thread = THREAD_BASE + self.served() as u32;
        Some(Identity { process: None, generation: 0, namespace: None, thread })
    }
}

impl explored::Machine for Seam {
    fn thread(&self) -> usize {
        self.served()
    }

    fn wait(&self, address: usize, bytes: usize, seen: u64, classes: u32, has_deadline: bool) -> bool {
        !self.sleep_on(Sleeper { thread: 0, address, bytes, classes }, seen, has_deadline)
    }

    fn wake(&self, address: usize, bytes: usize, count: u32, classes: u32) -> u32 {
        self.wake_on(address, bytes, count, classes)
    }

    fn kept(&self, address: usize) {
        self.with(|run| run.learn(address as u64));
    }

    fn freed(&self, address: usize, bytes: usize) {
        free(address, bytes);
    }

    fn cut_off(&self) {
        let running = self.with(|run| {
            run.is_cut_off = true;
            run.running
        });
        if let Some(thread) = running {
            self.stop(thread, Status::Asleep { has_deadline: false });
        }
    }
}

/// Runs one program, again and again.
pub struct Machine<'a> {
    seam: &'static Seam,
    program: &'a Program,
    threads: Threads<bool>,
    keeps_trace: bool,
    _one: MutexGuard<'static, ()>,
}

impl<'a> Machine<'a> {
    /// A machine for a program. Another one has to wait for its end.
    pub fn new(program: &'a Program) -> Machine<'a> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let seam = SEAM.with(|seam| *seam);
        explored::prepare();
        explore::install(Some(seam));
        explore::set_clock(Some(&TIME.0));
        explored::install(Some(seam));
        seam.with(|run| *run = Run::default());
        Machine { seam, program, threads: Threads::default(), keeps_trace: false, _one: one }
    }

    /// From the next execution on stores reach the memory at once.
    pub fn keep_order(&mut self) {
        self.seam.with(|run| run.in_order = true);
    }

    /// From the next execution on a trace is kept.
    pub fn keep_trace(&mut self) {
        self.keeps_trace = true;
    }

    /// The trace of the last execution.
    pub fn trace(&self) -> String {
        self.seam.with(|run| run.trace.as_ref().map(Trace::to_string).unwrap_or_default())
    }

    /// Begins an execution: everything is as it was, and every thread stops before its first access.
    pub fn begin(&mut self) {
        self.threads.clear();
        let program = self.program;
        let bodies = program.bodies.len();
        self.seam.with(|run| {
            run.put_back();
            let (judgements, misjudged, in_order) = (std::mem::take(&mut run.judgements), run.misjudged, run.in_order);
            *run = Run { judgements, misjudged, in_order, ..Run::default() };
        });
        explored::begin(bodies, |thread| on_behalf_of(thread, || {}));
        on_behalf_of(0, program.begin);
        self.seam.with(|run| {
            run.settle();
            run.trace = self.keeps_trace.then(Trace::default);
            let fresh = || One { status: Status::Ready, seen: Fingerprint::ZERO, buffer: VecDeque::new(), stop: None };
            run.threads = (0..bodies).map(|_| fresh()).collect();
        });
        for (thread, &body) in program.bodies.iter().enumerate() {
            let seam = self.seam;
            self.threads.spawn(move |stop| {
                seam.with(|run| run.threads[thread].stop = Some(stop));
                seam.stop(thread, Status::Ready);
                if catch_unwind(AssertUnwindSafe(body)).is_err() {
                    seam.with(|run| run.fail(format!("thread {thread} panicked")));
                }
            });
            self.resume(thread, false);
        }
    }

    fn resume(&mut self, thread: Thread, deadline_passed: bool) {
        self.seam.with(|run| run.running = Some(thread));
        let finished = self.threads.resume(thread, deadline_passed);
        self.seam.with(|run| {
            run.settle();
            run.running = None;
            if finished {
                (run.threads[thread].status, run.threads[thread].seen) = (Status::Finished, Fingerprint::ZERO);
            }
        });
    }

    /// What may happen now. Nothing: it is the end.
    pub fn options(&self) -> Vec<Choice> {
        self.seam.with(|run| {
            let mut options = Vec::new();
            if run.is_cut_off {
                return options;
            }
            for (number, thread) in run.threads.iter().enumerate() {
                match thread.status {
                    Status::Ready => options.push(Choice::Run(number)),
                    Status::Asleep { has_deadline: true } => options.push(Choice::Deadline(number)),
                    Status::Asleep { has_deadline: false } | Status::Finished => {}
                }
                if !thread.buffer.is_empty() {
                    options.push(Choice::Store(number));
                }
            }
            options
        })
    }

    /// Returns true if the thread could run on.
    pub fn is_ready(&self, thread: Thread) -> bool {
        self.seam.with(|run| run.threads[thread].status == Status::Ready)
    }

    /// Does it, or says what went wrong.
    pub fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Run(thread) => self.resume(thread, false),
            Choice::Deadline(thread) => {
                self.seam.with(Run::is_late_now);
                self.resume(thread, true);
            }
            Choice::Store(thread) => self.seam.with(|run| {
                let stored = run.threads[thread].buffer.pop_front().expect("there is one");
                run.running = Some(thread);
                run.reach(stored);
                run.running = None;
                if let Some(trace) = &mut run.trace {
                    trace.line(&format!("T{thread} its store of {:x} reaches the memory", stored.value));
                }
            }),
        }
        self.seam.with(|run| run.failure.take().map_or(Ok(()), Err))
    }

    /// Nothing can happen any more: says what is wrong with the end.
    pub fn end(&mut self) -> Result<(), String> {
        if self.seam.with(|run| run.is_cut_off) {
            return Ok(());
        }
        let asleep: Vec<Thread> = self.seam.with(|run| {
            let is_lost = |sleeper: &&Sleeper| !explored::is_spare(sleeper.address);
            run.sleepers.iter().filter(is_lost).map(|sleeper| sleeper.thread).collect()
        });
        if !asleep.is_empty() {
            return Err(format!("lost wake: threads {asleep:?} sleep, and nobody will wake them"));
        }
        on_behalf_of(0, || (self.program.end)());
        self.seam.with(|run| run.failure.take().map_or(Ok(()), Err))
    }

    /// Returns true if memory that was taken for private turned out not to be. From now on it is public.
    pub fn misjudged(&mut self) -> bool {
        self.seam.with(|run| {
            for judgement in run.judgements.values_mut() {
                judgement.public |= judgement.changed && judgement.touched_by.count_ones() > 1;
            }
            std::mem::take(&mut run.misjudged)
        })
    }

    /// The memory at which threads stop.
    pub fn public(&self) -> Vec<Chunk> {
        self.seam.with(|run| {
            run.judgements.iter().filter(|(_, judgement)| judgement.public).map(|(&chunk, _)| chunk).collect()
        })
    }

    /// From now on they stop there.
    pub fn set_public(&mut self, chunks: &[Chunk]) {
        self.seam.with(|run| chunks.iter().for_each(|&chunk| run.judgements.entry(chunk).or_default().public = true));
    }

    /// The state of memory, threads, buffers and sleepers.
    pub fn fingerprint(&self) -> Fingerprint {
        self.seam.with(|run| {
            let mut memory = Fingerprint::ZERO;
            for (&chunk, &old) in &run.original {
                let now = content(chunk);
                if now != old {
                    memory = memory.toggle(cell(chunk, now));
                }
            }
            let threads = run.threads.iter().fold(memory, |print, thread| {
                print.followed_by(thread.seen).followed_by(Fingerprint::of(&(thread.status, &thread.buffer)))
            });
            threads.followed_by(Fingerprint::of(&(
                &run.sleepers,
                run.ghosts,
                run.is_late,
                explored::room(),
                explored::started(),
            )))
        })
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        self.threads.clear();
        self.seam.with(Run::put_back);
        explored::install(None);
        explore::set_clock(None);
        explore::install(None);
    }
}
