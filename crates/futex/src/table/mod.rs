//! A wait table: futexes of every size, waited for and woken in user space.
//!
//! A futex has a *line* in one of the table's buckets ([`line`]); a thread has a *seat*, and its word says everything about its
//! wait ([`waiter`]). [`wait`] queues and sleeps, [`serve`] wakes and moves. There is no lock: what an operation has to do
//! in several steps takes effect in one of them, and the others can be left undone. So a thread that is stopped or killed
//! anywhere delays nobody, and a signal handler may call whatever it interrupted.
//!
//! The memory is zero at first and holds no pointer, so a table can lie in shared memory as well.

mod key;
mod line;
mod memory;
mod seat;
mod serve;
mod wait;
mod waiter;

pub use key::Key;
pub use memory::Capacity;
pub use seat::Seat;
pub use wait::{Alone, Line, Sleep, Woken};

use std::ptr::NonNull;

use ntux_platform::kernel_futex::Scope;

use memory::Memory;

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
    /// `base` is aligned to 64 bytes and leads to `capacity.bytes()` zero bytes that stay for ever and that nobody uses in
    /// another way.
    pub const unsafe fn private(base: NonNull<u8>, capacity: Capacity) -> Table {
        // SAFETY: says the caller.
        Table { memory: unsafe { Memory::new(base, capacity) }, scope: Scope::Private }
    }

    /// What a thread that waits sleeps on, as long as it does.
    fn sleep_value(&self) -> u32 {
        1
    }
}
