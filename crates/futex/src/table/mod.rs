// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wait table: futexes of every size, waited for and woken in user space.
//!
//! A futex has a *line* in one of the table's buckets ([`mod@line`]). The line is stored in rings of slots ([`ring`])
//! and walked from the front ([`walk`]). A thread has a *seat*, and its word holds the complete state of its wait
//! ([`waiter`]). [`wait`] queues and sleeps, [`serve`] wakes and moves, [`send`] calls the kernel for woken threads.
//! There is no lock: an operation of several steps takes effect in one of them, and the others can be left undone. So a
//! thread that is stopped or killed anywhere delays nobody, and a signal handler may call the operation that it
//! interrupted.
//!
//! The memory is zero at first and holds no pointer, so a table can be in shared memory.
//!
//! # Rubbish
//! Any process that shares the memory can write rubbish into it. So nothing read there is trusted: every index is
//! checked before use, and every loop has a bound that a sound table never reaches: [`RETRIES`] for attempts at one
//! word, the table's capacity for walks through slots, rings or seats. An operation that reaches the bound fails, or
//! has served fewer waiters than there are.

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

use memory::Memory;

/// Attempts at an exchange of one word. An attempt fails only if another thread's succeeded, so a sound table needs
/// few.
const RETRIES: u32 = 1 << 20;

/// The value on which a waiting thread sleeps. No thread has this number, so the kernel does not take the word for that
/// of a dying waker ([`serve`]).
const SLEEP: u32 = 0x3fff_ffff;

/// A wait table; see the module.
pub struct Table {
    memory: Memory,
    /// The scope of the waiters' words.
    scope: Scope,
}

impl Table {
    /// Creates the table of one process.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` zero bytes that stay for ever and that nobody uses
    /// in another way.
    pub const unsafe fn private(base: NonNull<u8>, capacity: Capacity) -> Table {
        // SAFETY: the caller's promise.
        Table { memory: unsafe { Memory::new(base, capacity, false) }, scope: Scope::Private }
    }

    /// Creates a table in the shared memory of a file.
    ///
    /// # Safety
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` bytes, zero or a table of this capacity, that stay
    /// as long as the table and that nobody uses in another way.
    pub const unsafe fn shared(base: NonNull<u8>, capacity: Capacity) -> Table {
        // SAFETY: the caller's promise.
        Table { memory: unsafe { Memory::new(base, capacity, true) }, scope: Scope::Shared }
    }

    /// Allocates the memory that everybody may touch from the start. Returns false if the system has none left.
    pub fn provide(&self) -> bool {
        self.memory.provide_buckets()
    }

    /// How many slots are in use. For a checker, while nobody uses the table.
    #[cfg(ntux_explore)]
    pub fn used_slots(&self) -> usize {
        let is_used = |number: &u32| self.memory.slot(*number).is_some_and(|word| line::waiter_in(word).is_some());
        (0..u32::MAX).take_while(|&number| self.memory.slot(number).is_some()).filter(is_used).count()
    }

    /// The calling thread's robust list, which tells the kernel what to do when the thread dies. Only for shared
    /// memory, where others survive the thread.
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
