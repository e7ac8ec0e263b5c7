//! A wait table: futexes of every size, waited for and woken in user space.
//!
//! A futex has a *line* in one of the table's buckets ([`mod@line`]), which lies in rings of slots ([`ring`]) and is walked
//! along from the front ([`walk`]); a thread has a *seat*, and its word says everything about its wait ([`waiter`]).
//! [`wait`] queues and sleeps, [`serve`] wakes and moves, [`send`] calls the kernel for those who were woken. There is
//! no lock: what an operation has to do in several steps takes effect in one of them, and the others can be left
//! undone. So a thread that is stopped or killed anywhere delays nobody, and a signal handler may call whatever it
//! interrupted.
//!
//! The memory is zero at first and holds no pointer, so a table can lie in shared memory as well.
//!
//! # Rubbish
//! Whoever shares the memory can write rubbish into it. So what is read there is a claim: an index is checked before it
//! is used, and every loop has a bound that a sound table never reaches: [`RETRIES`] for attempts at one word, the
//! table's capacity for what walks through slots, rings or seats. An operation that meets the bound ends with an error,
//! or has served fewer than there are.

mod key;
mod line;
mod memory;
mod ring;
#[cfg(all(test, not(ntux_explore)))]
mod rubbish;
mod seat;
mod send;
mod serve;
mod wait;
mod waiter;
mod walk;

pub use key::Key;
pub use memory::Capacity;
pub use seat::Seat;
pub use wait::{Alone, Line, Sleep, Woken};

use std::cell::Cell;
use std::ptr::NonNull;

use ntux_platform::kernel_futex::Scope;
use ntux_platform::robust::Head;

use crate::planted::{Bug, planted};
use memory::{Memory, Waiter};

/// Attempts at an exchange of one word. Each that fails is somebody else's that succeeded, so a sound table needs a few.
const RETRIES: u32 = 1 << 20;

/// See the module.
pub struct Table {
    memory: Memory,
    /// Who may sleep on the waiters' words.
    scope: Scope,
}

impl Table {
    /// The table of one process.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` zero bytes that stay for ever and that nobody uses
    /// in another way.
    pub const unsafe fn private(base: NonNull<u8>, capacity: Capacity) -> Table {
        // SAFETY: says the caller.
        Table { memory: unsafe { Memory::new(base, capacity, false) }, scope: Scope::Private }
    }

    /// A table in memory that several processes share: that of a file.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` bytes, zero or a table of this capacity, that stay
    /// as long as the table and that nobody uses in another way.
    pub const unsafe fn shared(base: NonNull<u8>, capacity: Capacity) -> Table {
        // SAFETY: says the caller.
        Table { memory: unsafe { Memory::new(base, capacity, true) }, scope: Scope::Shared }
    }

    /// Gives memory to what everybody may touch from the start. False: the system has none left.
    pub fn provide(&self) -> bool {
        self.memory.provide_buckets()
    }

    /// What a thread that waits sleeps on, as long as it does. In shared memory it is what the kernel knows the thread
    /// by.
    fn sleep_value(&self, seat: &Seat) -> u32 {
        if self.scope == Scope::Private { 1 } else { seat.thread() }
    }

    /// The word that the calling thread names to the kernel for its death, unless a checker planted this bug.
    #[inline(always)]
    fn named(waiter: &Waiter, bug: Bug) -> *const u32 {
        if planted(bug) { core::ptr::null() } else { waiter.word.futex_address() }
    }

    /// Where the calling thread says what the kernel is to do when it dies: in shared memory others survive it.
    #[inline]
    fn head(&self) -> Head {
        thread_local! {
            static HEAD: Cell<Option<Head>> = const { Cell::new(None) };
        }
        if self.scope == Scope::Private {
            return Head::absent();
        }
        HEAD.get().unwrap_or_else(|| {
            let head = Head::of_this_thread();
            HEAD.set(Some(head));
            head
        })
    }
}
