// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seam for model checkers (the configuration `ntux_explore`): every shared access calls a scheduler first.
//!
//! A checker installs a [`Scheduler`] for the threads that it drives; a thread that has none runs unhindered. The
//! scheduler is called *before* each access and may switch to another thread of execution; the access itself then
//! happens at once, so one call is one step of an interleaving.
//!
//! A checker of weak memory also chooses what each load returns, and is told *after* each change what was changed, with
//! the order in the code and the place in the source ([`Touch`]).

use std::cell::Cell;
use std::panic::Location;

use crate::atomic::{Ordering, Word64};

use crate::kernel_futex::Entry;

/// What the calling thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read a word at this address.
    Load(usize),
    /// Write a word, or read, compare and write it, at this address.
    Update(usize),
    /// Wake sleepers on the word at this address.
    Wake(usize),
    /// Read the other half, or the first half again, of the word at this address. Unless the scheduler intervenes, both
    /// halves are read at once.
    Half(usize),
    /// Ask whether the deadline of the call has passed. No shared memory is touched.
    Clock,
    /// Change what the kernel does if the thread dies. No shared memory is touched.
    Will,
}

/// A thread's identity, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Process number; none: that of the checker's own process.
    pub process: Option<u32>,
    /// Tells the process from others that have its number.
    pub generation: u32,
    /// The namespace of its numbers; none: that of the checker's own process.
    pub namespace: Option<u64>,
    /// Thread number.
    pub thread: u32,
}

impl Identity {
    /// See [`crate::liveness::lineage`]; none: that of the checker's own process.
    pub fn lineage(&self) -> Option<u64> {
        self.process.map(|process| u64::from(self.generation) << 32 | u64::from(process))
    }
}

/// Which of the processor's accesses within one access of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The only one.
    Whole,
    /// The low half, first.
    Low,
    /// The high half.
    High,
    /// The low half, to see that it is still the same.
    LowAgain,
}

/// One access of the processor.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Where.
    pub address: usize,
    /// 4, 8 or 16 bytes; of a word of the program also 1 or 2.
    pub bytes: usize,
    /// Which part of an access to 16 bytes.
    pub part: Part,
    /// The order that the code asks for, when a compare-exchange succeeds.
    pub order: Ordering,
    /// The source line.
    pub site: &'static Location<'static>,
}

/// What an update has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Stored, whatever was there.
    Stored,
    /// Read and replaced in one step.
    Exchanged,
    /// Read a value that was not the expected one.
    Refused,
}

/// Decides which thread runs next, and what loads return.
pub trait Scheduler {
    /// Called before each access.
    fn step(&self, access: Access);
    /// What a load returns, of at most 8 bytes; none: what the memory holds.
    fn read(&self, touch: Touch) -> Option<u64> {
        let _ = touch;
        None
    }
    /// Called after each update.
    fn updated(&self, touch: Touch, effect: Effect) {
        let _ = (touch, effect);
    }
    /// Sleeps while the 32-bit word at `address` holds `expected`. Returns false if the deadline passed. Comparing and
    /// falling asleep are one step.
    fn sleep(&self, address: usize, expected: u32, has_deadline: bool) -> bool;
    /// The same; false also when the checker's clock ([`set_clock`]) has this time.
    fn sleep_until(&self, address: usize, expected: u32, has_deadline: bool, due_ns: u64) -> bool {
        let _ = due_ns;
        self.sleep(address, expected, has_deadline)
    }
    /// The same, but also while the other words hold what is expected of them; it wakes when one of them is woken. The first word is the
    /// thread's own.
    fn sleep_beside(&self, words: &[(usize, u32)], has_deadline: bool, due_ns: u64) -> bool {
        let (address, expected) = words[0];
        self.sleep_until(address, expected, has_deadline, due_ns)
    }
    /// Wakes at most `count` sleepers on `address`. Returns their number.
    fn wake(&self, address: usize, count: u32) -> u32;
    /// The calling thread's identity; none for the checker's own setup.
    fn identity(&self) -> Option<Identity> {
        None
    }
    /// Returns whether every thread of the process is dead.
    fn is_process_dead(&self, process: u32) -> bool {
        let _ = process;
        false
    }
    /// Returns whether the thread is dead.
    fn is_thread_dead(&self, thread: u32) -> bool {
        let _ = thread;
        false
    }
    /// Sets the word that the kernel checks when the calling thread dies, 0 for none. Returns the previous one.
    fn will(&self, address: usize) -> usize {
        let _ = address;
        0
    }
    /// From now on the kernel marks this word when the calling thread dies, if it has the thread's number; or it does not any more.
    fn live(&self, address: usize, is_in_list: bool) {
        let _ = (address, is_in_list);
    }
    /// The calling thread has made a claim, and decides it next.
    fn decides_next(&self) {}
    /// The calling thread has left the queues of its wait, and will begin the wait again.
    fn steps_aside(&self) {}
    /// Returns whether the deadline of the calling thread's call has passed.
    fn deadline_passed(&self) -> bool {
        false
    }

    /// The calls of [`crate::kernel_futex`], for a checker that simulates the kernel's futexes; others return none.
    fn kernel(&self) -> Option<&dyn Kernel> {
        None
    }
}

/// The kernel's futexes, simulated by a checker. Each comparison, with the queueing that follows it, is one step; error
/// numbers are the kernel's.
pub trait Kernel {
    /// See [`crate::kernel_futex::wait_any`]; each entry has a bitset.
    fn wait_any(&self, entries: &[(Entry, u32)], has_deadline: bool) -> Result<usize, i32>;
    /// See [`crate::kernel_futex::wake`].
    fn wake(&self, address: usize, count: u32, mask: u32) -> u32;
    /// See [`crate::kernel_futex::requeue`]; nobody is woken by it.
    fn requeue(&self, from: usize, to: usize, moved: u32, expected: u32) -> Result<u32, i32>;
    /// See [`crate::kernel_futex::times_asleep`].
    fn times_asleep(&self) -> u64;
}

thread_local! {
    static SCHEDULER: Cell<Option<&'static dyn Scheduler>> = const { Cell::new(None) };
    static HASTY: Cell<bool> = const { Cell::new(false) };
    static CLOCK: Cell<Option<&'static Word64>> = const { Cell::new(None) };
}

/// Plants a bug in this thread from now on, or removes it: a load of 128 bits does not re-read its halves.
pub fn plant_hasty_loads(planted: bool) {
    HASTY.with(|cell| cell.set(planted));
}

pub(crate) fn is_load_hasty() -> bool {
    HASTY.with(Cell::get)
}

/// Installs `scheduler` for the calling thread, or removes it.
pub fn install(scheduler: Option<&'static dyn Scheduler>) {
    SCHEDULER.with(|cell| cell.set(scheduler));
}

/// From now on, this thread reads the time of all clocks by which something can be due from this word.
pub fn set_clock(word: Option<&'static Word64>) {
    CLOCK.with(|cell| cell.set(word));
}

/// So much time passes on the clock of [`set_clock`]. A step.
pub fn pass(time: u64) {
    if let Some(word) = CLOCK.with(Cell::get) {
        word.fetch_add(time);
    }
}

/// The time, if a checker says what it is. A step, like every access.
pub(crate) fn now() -> Option<u64> {
    Some(CLOCK.with(Cell::get)?.load())
}

/// The scheduler of the calling thread.
pub(crate) fn current() -> Option<&'static dyn Scheduler> {
    SCHEDULER.with(Cell::get)
}

/// The calling thread's identity, if a scheduler drives it.
pub(crate) fn identity() -> Option<Identity> {
    current()?.identity()
}

/// Announces an access.
pub(crate) fn step(access: Access) {
    if let Some(scheduler) = current() {
        scheduler.step(access);
    }
}

/// Announces that the calling thread has made a claim, and decides it next.
pub fn decides_next() {
    if let Some(scheduler) = current() {
        scheduler.decides_next();
    }
}

/// Announces that the calling thread has left the queues of its wait, and will begin the wait again.
pub fn steps_aside() {
    if let Some(scheduler) = current() {
        scheduler.steps_aside();
    }
}

/// The value that a load of `word` returns.
#[track_caller]
pub(crate) fn read<W>(word: &W, part: Part, order: Ordering) -> Option<u64> {
    current()?.read(touch(word, part, order))
}

/// The value that a load of a word of the program returns.
#[track_caller]
pub(crate) fn read_foreign(address: usize, bytes: usize) -> Option<u64> {
    let touch = Touch { address, bytes, part: Part::Whole, order: Ordering::SeqCst, site: Location::caller() };
    current()?.read(touch)
}

/// Announces what an update of `word` has done.
#[track_caller]
pub(crate) fn updated<W>(word: &W, order: Ordering, effect: Effect) {
    if let Some(scheduler) = current() {
        scheduler.updated(touch(word, Part::Whole, order), effect);
    }
}

#[track_caller]
fn touch<W>(word: &W, part: Part, order: Ordering) -> Touch {
    Touch { address: core::ptr::from_ref(word) as usize, bytes: size_of::<W>(), part, order, site: Location::caller() }
}
