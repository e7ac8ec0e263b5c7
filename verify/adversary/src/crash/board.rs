// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the harness shares with all its processes, besides the arena: mailboxes, and the table of objects.

use std::cell::UnsafeCell;
use std::io;
use std::time::Duration;

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::{self, Deadline};
use ntux_platform::futex;
use ntux_sync::spec::Outcome;
use ntux_sync::{Object, Queue, Registration};

use super::operation::Operation;
use ntux_testkit::child::shared;

/// Objects that a scenario can name.
pub const OBJECTS: usize = 16;
/// Threads that take orders, victims included.
pub const MAILBOXES: usize = 16;
/// Waits without a thread that a scenario can name.
pub const LABELS: usize = 3;

/// The shared memory. Zero bytes are a valid one.
#[repr(C)]
pub struct Board {
    /// What the numbers in an [`Operation`] mean.
    objects: [Word64; OBJECTS],
    mailboxes: [Mailbox; MAILBOXES],
    /// The queue of the scenario, and its waits without a thread.
    queue: UnsafeCell<Option<Queue>>,
    registrations: [UnsafeCell<Option<Registration>>; LABELS],
    /// A thread that is traced, once it is ready; the largest number if it may not be traced.
    pub traced: Word32,
    /// For the planted lock: held or not.
    pub lock: Word32,
    /// What the planted lock guards.
    pub counter: Word32,
    /// The process of the harness.
    pub harness: Word32,
    /// The process that died last before a scenario began; its only thread has the same number.
    pub dead: Word32,
}

/// Where one thread finds its orders and leaves its answers.
#[repr(C)]
pub struct Mailbox {
    /// How many operations were ordered, and how many are done.
    ordered: Word32,
    done: Word32,
    thread: Word32,
    number: Word64,
    finished_ns: Word64,
    operation: UnsafeCell<Option<Operation>>,
    outcome: UnsafeCell<Option<Outcome>>,
}

// SAFETY: the cells are handed over by `ordered` and `done`, which are sequentially consistent: the harness writes the
// operation before it raises `ordered` and reads the outcome after it has seen `done`; the thread does the reverse.
unsafe impl Sync for Mailbox {}

// SAFETY: the cells of the queue and its waits are written by one thread while it does what it was ordered, and read by threads that
// are ordered something later.
unsafe impl Sync for Board {}

impl Board {
    /// Maps a fresh one, for this process and those that it forks. Never unmapped.
    pub fn map() -> io::Result<&'static Board> {
        // SAFETY: words, for which zero is a value, and cells that nobody looks into before `None` is written there.
        let board: &'static Board = unsafe { shared()? };
        for mailbox in &board.mailboxes {
            // SAFETY: nobody else knows the board yet.
            unsafe {
                mailbox.operation.get().write(None);
                mailbox.outcome.get().write(None);
            }
        }
        board.forget_queue();
        Ok(board)
    }

    /// The object that a scenario calls `number`.
    pub fn object(&self, number: u8) -> Object {
        Object(self.objects[usize::from(number)].load())
    }

    /// Says what `number` means from now on.
    pub fn name(&self, number: usize, object: Object) {
        self.objects[number].store(object.0);
    }

    /// The queue of the scenario.
    pub fn queue(&self) -> Option<Queue> {
        // SAFETY: it was written before this thread got its order.
        unsafe { self.queue.get().read() }
    }

    /// Says which queue it is.
    pub fn name_queue(&self, queue: Queue) {
        // SAFETY: nobody else does anything with it meanwhile.
        unsafe { self.queue.get().write(Some(queue)) };
    }

    /// The wait without a thread that a scenario calls `label`.
    pub fn registration(&self, label: u8) -> Option<Registration> {
        // SAFETY: as with the queue.
        unsafe { self.registrations[usize::from(label)].get().read() }
    }

    /// Says which one `label` means from now on.
    pub fn name_registration(&self, label: u8, registration: Option<Registration>) {
        // SAFETY: as with the queue.
        unsafe { self.registrations[usize::from(label)].get().write(registration) };
    }

    /// There is no queue, and nobody may be using one.
    pub fn forget_queue(&self) {
        // SAFETY: the caller says that nobody uses it.
        unsafe { self.queue.get().write(None) };
        (0..LABELS as u8).for_each(|label| self.name_registration(label, None));
    }

    /// The mailbox of a thread.
    pub fn mailbox(&self, actor: usize) -> &Mailbox {
        &self.mailboxes[actor]
    }
}

fn address(word: &Word32) -> *const u32 {
    std::ptr::from_ref(word).cast()
}

impl Mailbox {
    /// Takes the mailbox for a thread, empty: its number in /proc, and the one that the core knows it by.
    pub fn open(&self, thread: u32, number: u64) {
        self.number.store(number);
        self.ordered.store(0);
        self.done.store(0);
        self.thread.store(thread);
    }

    /// The thread that reads it, by its number in /proc.
    pub fn thread(&self) -> u32 {
        self.thread.load()
    }

    /// As the core knows that thread.
    pub fn number(&self) -> u64 {
        self.number.load()
    }

    /// Returns true if a thread that sleeps on this address waits for its next order.
    pub fn is_at(&self, address_of_futex: u64) -> bool {
        address(&self.ordered) as u64 == address_of_futex
    }

    /// Orders an operation. The one before must be done.
    pub fn order(&self, operation: Operation) {
        // SAFETY: the thread is not reading: it has done all that was ordered.
        unsafe { self.operation.get().write(Some(operation)) };
        self.ordered.fetch_add(1);
        futex::wake(address(&self.ordered), 1);
    }

    /// Waits for the next order.
    pub fn receive(&self) -> Operation {
        loop {
            let ordered = self.ordered.load();
            if ordered != self.done.load() {
                // SAFETY: the operation was written before `ordered` was raised, and stays until `done` is.
                if let Some(operation) = unsafe { self.operation.get().read() } {
                    return operation;
                }
            }
            futex::wait(address(&self.ordered), ordered, Deadline::Never);
        }
    }

    /// Leaves the answer.
    pub fn answer(&self, outcome: Outcome) {
        self.finished_ns.store(clock::monotonic_ns());
        // SAFETY: the harness reads only after `done` is raised.
        unsafe { self.outcome.get().write(Some(outcome)) };
        self.done.fetch_add(1);
        futex::wake(address(&self.done), 1);
    }

    /// The answer, if everything ordered is done.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.done.load() != self.ordered.load() {
            return None;
        }
        // SAFETY: `done` was raised after the outcome was written, and no new order is out.
        unsafe { self.outcome.get().read() }
    }

    /// When the last answer was left, on the monotonic clock.
    pub fn finished_ns(&self) -> u64 {
        self.finished_ns.load()
    }

    /// Waits for the answer, no longer than `patience`.
    pub fn wait(&self, patience: Duration) -> Option<Outcome> {
        let deadline = clock::monotonic_ns() + patience.as_nanos() as u64;
        loop {
            let done = self.done.load();
            if let Some(outcome) = self.outcome() {
                return Some(outcome);
            }
            if clock::monotonic_ns() >= deadline {
                return None;
            }
            futex::wait(address(&self.done), done, Deadline::Monotonic(deadline));
        }
    }
}
