// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wake that the kernel sends if this thread dies.
//!
//! Linux walks a dying thread's *robust list*, and one field of its head names an operation in flight
//! (`list_op_pending`). If the futex word of that operation is zero at death, the kernel wakes one sleeper on it. So a
//! thread that is about to satisfy and wake a waiter names the waiter's word first; if it is killed in between, the
//! kernel sends the wake. The C library owns the head; if a signal handler finds a pending operation of the C library
//! there, it is restored afterwards.
//!
//! The registration is in the thread's own memory and names a word whose index was checked. So a process that writes to
//! the shared memory controls at most the value of that one word.
//!
//! Without a robust list (macOS; Android's filter) the calls do nothing: a killed waker then delays that one wake until
//! somebody touches the object.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::Here;
use crate::without::Feature;

/// The head of one thread's robust list. Valid on that thread only.
#[derive(Clone, Copy)]
pub struct Head {
    head: *mut Fields,
    thread: PhantomData<*mut ()>,
}

/// What a system may provide.
pub trait WakesAtDeath {
    /// The head of the calling thread's list, which is valid as long as the thread lives; null if there is none.
    fn head() -> *mut Fields;
}

/// A head, in the kernel's layout.
#[repr(C)]
pub struct Fields {
    pub(super) list: usize,
    pub(super) futex_offset: isize,
    pending: usize,
}

/// A wake registered by [`Head::owe`]; withdraw it with [`Head::forget`].
#[must_use]
#[derive(Debug)]
pub struct Owed(usize);

impl Head {
    /// The calling thread's head. One system call; not for a hot path.
    pub fn of_this_thread() -> Head {
        #[cfg(ntux_explore)]
        if crate::explore::current().is_some() {
            return Head::absent();
        }
        let head = if Feature::RobustList.is_left_out() { core::ptr::null_mut() } else { Here::head() };
        Head { head, thread: PhantomData }
    }

    /// A head that does nothing.
    pub const fn absent() -> Head {
        Head { head: core::ptr::null_mut(), thread: PhantomData }
    }

    /// Returns whether wakes survive this thread's death.
    pub fn is_present(self) -> bool {
        !self.head.is_null()
    }

    pub(crate) fn fields(self) -> Option<NonNull<Fields>> {
        NonNull::new(self.head)
    }

    /// Registers a wake: if the thread dies and the word at `address` is zero then, the kernel wakes one sleeper on it.
    pub fn owe(self, address: *const u32) -> Owed {
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            return Owed(scheduler.will(address as usize));
        }
        if self.head.is_null() {
            return Owed(0);
        }
        // SAFETY: the head is this thread's own (the type is not Send), registered with the kernel for the thread's
        // whole life; only this thread and, at its death, the kernel use it. Volatile, because the kernel reads it.
        unsafe {
            let fields = self.head;
            let before = (&raw const (*fields).pending).read_volatile();
            let offset = (&raw const (*fields).futex_offset).read();
            (&raw mut (*fields).pending).write_volatile((address as usize).wrapping_add_signed(-offset));
            Owed(before)
        }
    }

    /// Withdraws the registration: the wake has been sent, or is not owed.
    pub fn forget(self, owed: Owed) {
        #[cfg(ntux_explore)]
        if let Some(scheduler) = crate::explore::current() {
            scheduler.will(owed.0);
            return;
        }
        if self.head.is_null() {
            return;
        }
        // SAFETY: as in `owe`.
        unsafe { (&raw mut (*self.head).pending).write_volatile(owed.0) };
    }
}
