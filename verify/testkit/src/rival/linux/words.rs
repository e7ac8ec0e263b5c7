// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects as words in shared memory, for both futex designs.
//!
//! The low half of an object's word is its value (count, owner, or signaled), on which threads sleep; the high half
//! counts the sleepers, so that one step both signals and tells whether anybody must be woken.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use super::Reset;

/// Objects that fit; memory is taken only as they are used.
const CELL_COUNT_MAX: usize = 1 << 20;
const SLEEPER: u64 = 1 << 32;

/// What an object is: it decides what taking it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Mutex,
    Semaphore,
    Event(Reset),
}

/// An object: its place and what it is.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    index: u32,
    pub kind: Kind,
}

/// One object's word, alone in its cache line.
#[repr(C, align(64))]
pub struct Cell(AtomicU64);

/// A shared mapping full of cells.
pub struct Words {
    base: *mut Cell,
    used: AtomicU32,
}

// SAFETY: the mapping is only reached through atomics, and lives until the value is dropped.
unsafe impl Sync for Words {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Words {}

impl Words {
    pub fn map() -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), Self::LENGTH, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: base.cast(), used: AtomicU32::new(0) })
    }

    const LENGTH: usize = CELL_COUNT_MAX * size_of::<Cell>();

    pub fn create(&self, kind: Kind, value: u32) -> io::Result<Object> {
        let index = self.used.fetch_add(1, SeqCst);
        if index as usize >= CELL_COUNT_MAX {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let object = Object { index, kind };
        self.cell(object).0.store(u64::from(value), SeqCst);
        Ok(object)
    }

    #[inline(always)]
    pub fn cell(&self, object: Object) -> &Cell {
        // SAFETY: `create` hands out indices below the mapping's length only; zeroed memory is a valid cell.
        unsafe { &*self.base.add(object.index as usize) }
    }

    /// Takes the object for `owner` if it is signaled; otherwise the value that was found, for sleeping on it.
    #[inline(always)]
    pub fn take(&self, object: Object, owner: u32) -> Result<(), u32> {
        let word = &self.cell(object).0;
        let mut found = word.load(SeqCst);
        loop {
            let value = found as u32;
            let left = match object.kind {
                Kind::Mutex if value == 0 => owner,
                Kind::Semaphore if value > 0 => value - 1,
                Kind::Event(Reset::Auto) if value == 1 => 0,
                Kind::Event(Reset::Manual) if value == 1 => return Ok(()),
                _ => return Err(value),
            };
            match word.compare_exchange(found, with_value(found, left), SeqCst, SeqCst) {
                Ok(_) => return Ok(()),
                Err(other) => found = other,
            }
        }
    }

    /// Changes the value to `value`, or adds to it; how many sleep on it.
    #[inline(always)]
    pub fn give(&self, object: Object, change: impl Fn(u32) -> u32) -> u32 {
        let word = &self.cell(object).0;
        let mut found = word.load(SeqCst);
        loop {
            match word.compare_exchange(found, with_value(found, change(found as u32)), SeqCst, SeqCst) {
                Ok(_) => return (found >> 32) as u32,
                Err(other) => found = other,
            }
        }
    }

    /// The value now.
    pub fn value(&self, object: Object) -> u32 {
        self.cell(object).0.load(SeqCst) as u32
    }

    pub fn count_sleeper(&self, object: Object) {
        self.cell(object).0.fetch_add(SLEEPER, SeqCst);
    }

    pub fn discount_sleeper(&self, object: Object) {
        self.cell(object).0.fetch_add(SLEEPER.wrapping_neg(), SeqCst);
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length; no reference to a cell outlives the value.
        unsafe { libc::munmap(self.base.cast(), Self::LENGTH) };
    }
}

impl Cell {
    /// The address of the value, for the kernel.
    pub fn address(&self) -> *const u32 {
        let low = core::ptr::from_ref(&self.0).cast::<u32>();
        if cfg!(target_endian = "little") { low } else { low.wrapping_add(1) }
    }

    /// Sleeps while the value is `expected`.
    pub fn sleep(&self, expected: u32) {
        const MATCH_ANY: u32 = u32::MAX;
        let (wait, no_deadline) = (libc::FUTEX_WAIT_BITSET, core::ptr::null::<libc::timespec>());
        let no_address = core::ptr::null::<u32>();
        // SAFETY: the kernel only reads the word, which lives as long as the cell.
        unsafe { libc::syscall(libc::SYS_futex, self.address(), wait, expected, no_deadline, no_address, MATCH_ANY) };
    }

    /// Wakes at most `count` sleepers.
    #[inline(always)]
    pub fn wake(&self, count: u32) {
        // SAFETY: a wake reads no memory.
        unsafe { libc::syscall(libc::SYS_futex, self.address(), libc::FUTEX_WAKE, count) };
    }
}

fn with_value(word: u64, value: u32) -> u64 {
    word & !u64::from(u32::MAX) | u64::from(value)
}
