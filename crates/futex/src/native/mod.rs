// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's futexes, and how they serve other sizes.
//!
//! | size | wait | wake |
//! | --- | --- | --- |
//! | 8, 16 | on the 32-bit word around it, with one bit of the bitset for each place in the word ([`lane`]) | with that bit |
//! | 32 | the kernel's own | the kernel's own |
//! | 32, with a node | the kernel's own, in the newer calls | the kernel's own |
//! | 64 | on both halves with `futex_waitv` ([`halves`]) | the half at the lower address |
//!
//! All of this works together with other users of the kernel's calls, also in other processes. Overlapping futexes of
//! different sizes are one futex to the kernel and can take each other's wakes; in the wait table and in a domain they
//! never do.
//!
//! A kernel whose calls are not exact ([`kernel_futex::is_exact`]: macOS) wakes every sleeper of the word instead of those
//! of a place or a bitset, and its answers are no numbers. It moves nobody, so those who would be moved are woken. It has words
//! of 64 bits of its own, and refuses a wait while somebody sleeps at the same address in another size.

pub mod halves;
pub mod lane;

use ntux_platform::clock::Deadline;
use ntux_platform::kernel_futex::{self, Entry, MATCH_ANY, numa};

use crate::{Error, Expected, Futex, Result, Size, VECTOR_MAX};
use lane::Lane;

/// Waits for one futex.
pub fn wait(expected: Expected, mask: u32, deadline: Deadline) -> Result<()> {
    let futex = expected.futex();
    match futex.size() {
        Size::Bits32 if futex.has_node() => {
            known(futex)?;
            let value = expected.value() as u32;
            numa::wait(address(futex), value, mask, futex.scope(), deadline).map_err(Error::from_errno)
        }
        Size::Bits32 => {
            let value = expected.value() as u32;
            let ended = kernel_futex::wait(address(futex), value, mask, futex.scope(), deadline);
            ended.map_err(Error::from_errno)
        }
        _ if mask != MATCH_ANY => Err(Error::Refused),
        Size::Bits8 | Size::Bits16 => lane::wait(expected, deadline),
        Size::Bits64 if kernel_futex::has_long_words() => {
            let ended = kernel_futex::wait_long(long_address(futex), expected.value(), futex.scope(), deadline);
            ended.map_err(Error::from_errno)
        }
        Size::Bits64 => halves::wait(expected, deadline),
    }
}

/// Wakes at most `count` waiters of one futex.
pub fn wake(futex: Futex, count: u32, mask: u32) -> Result<u32> {
    let (address, mask) = match futex.size() {
        Size::Bits32 if futex.has_node() => {
            known(futex)?;
            return numa::wake(address(futex), count, mask, futex.scope()).map_err(Error::from_errno);
        }
        Size::Bits32 => (address(futex), mask),
        _ if mask != MATCH_ANY => return Err(Error::Refused),
        Size::Bits8 | Size::Bits16 => {
            let lane = Lane::of(futex);
            (lane.word(), lane.bit())
        }
        Size::Bits64 if kernel_futex::has_long_words() => {
            return kernel_futex::wake_long(long_address(futex), count, futex.scope()).map_err(Error::from_errno);
        }
        Size::Bits64 => (address(futex), MATCH_ANY),
    };
    kernel_futex::wake(address, count, mask, futex.scope()).map_err(Error::from_errno)
}

/// Errors: `Refused` if the futex has a node and the kernel does not support nodes.
fn known(futex: Futex) -> Result<()> {
    if futex.has_node() && !numa::is_known() { Err(Error::Refused) } else { Ok(()) }
}

/// The kernel's vector for some futexes, with the futex of each of its entries.
pub struct Vector {
    entries: [Entry; VECTOR_MAX],
    origin: [u8; VECTOR_MAX],
    length: usize,
    has_halves: bool,
}

impl Default for Vector {
    /// No entries.
    fn default() -> Vector {
        Vector { entries: [Entry::NOWHERE; VECTOR_MAX], origin: [0; VECTOR_MAX], length: 0, has_halves: false }
    }
}

impl Vector {
    /// Adds the futex at `index` of the caller's list.
    ///
    /// Errors: `Refused` for bitsets, which the kernel's vectors lack, and so for 8 and 16 bits, because a sleeper
    /// would take the wakes of its neighbours; also for more entries than the kernel takes. 64 bits need two entries.
    pub fn add(&mut self, index: usize, expected: Expected, mask: u32) -> Result<()> {
        let futex = expected.futex();
        known(futex)?;
        match futex.size() {
            _ if mask != MATCH_ANY => Err(Error::Refused),
            Size::Bits8 | Size::Bits16 => Err(Error::Refused),
            Size::Bits32 => {
                let (expected, scope, numa) = (expected.value() as u32, futex.scope(), futex.has_node());
                self.push(index, Entry { address: address(futex), expected, scope, numa })
            }
            // The kernel would find that the word differs, but might give the waiter a wake meanwhile.
            Size::Bits64 if !expected.holds() => Err(Error::Differs),
            Size::Bits64 => {
                self.has_halves = true;
                halves::entries(expected).into_iter().try_for_each(|half| self.push(index, half))
            }
        }
    }

    /// Adds a word that the caller itself sleeps on.
    pub fn push(&mut self, index: usize, entry: Entry) -> Result<()> {
        let place = self.entries.get_mut(self.length).ok_or(Error::Refused)?;
        *place = entry;
        self.origin[self.length] = index as u8;
        self.length += 1;
        Ok(())
    }

    /// A copy with another first entry.
    pub fn with_first(&self, entry: Entry) -> Vector {
        let mut vector = Vector { ..*self };
        vector.entries[0] = entry;
        vector
    }

    /// Returns whether the kernel has vectors.
    pub fn is_possible() -> bool {
        kernel_futex::has_wait_any()
    }

    /// Sleeps until one is woken. Returns its index in the caller's list.
    pub fn wait(&self, deadline: Deadline) -> core::result::Result<usize, i32> {
        if !Vector::is_possible() {
            return Err(ntux_platform::error::ENOSYS);
        }
        let before = if self.has_halves { kernel_futex::times_asleep() } else { 0 };
        let woken = kernel_futex::wait_any(&self.entries[..self.length], deadline)?;
        // The second half has the same origin.
        let is_half = self.origin.get(woken + 1) == Some(&self.origin[woken]) && woken + 1 < self.length;
        if is_half && before == kernel_futex::times_asleep() {
            halves::pass_on(&self.entries[woken]);
        }
        Ok(self.origin[woken].into())
    }
}

/// Waits for one of several futexes, each with its bitset. Returns its index.
pub fn wait_any<'a>(entries: impl Iterator<Item = (Expected<'a>, u32)>, deadline: Deadline) -> Result<usize> {
    let mut vector = Vector::default();
    entries.enumerate().try_for_each(|(index, (expected, mask))| vector.add(index, expected, mask))?;
    vector.wait(deadline).map_err(Error::from_errno)
}

/// Returns whether [`requeue`] can move waiters instead of waking them.
pub fn can_move(from: Futex, to: Futex) -> bool {
    kernel_futex::can_requeue()
        && (from.scope(), from.has_node()) == (to.scope(), to.has_node())
        && [from, to].iter().all(|futex| futex.size() >= Size::Bits32)
}

/// Wakes and moves waiters of one futex, if its word holds the expected value.
///
/// The kernel moves waiters only between words of 32 bits of one scope, both with nodes or both without, and compares
/// only 32 bits. If it cannot move waiters, they are woken instead; if it cannot compare all bits, the others are
/// compared just before.
pub fn requeue(from: Expected, to: Futex, wake: u32, moved: u32) -> Result<u32> {
    let futex = from.futex();
    known(futex)?;
    if !can_move(futex, to) {
        return if from.holds() {
            self::wake(futex, wake.saturating_add(moved), MATCH_ANY)
        } else {
            Err(Error::Differs)
        };
    }
    let expected = match futex.size() {
        Size::Bits64 if !from.holds() => return Err(Error::Differs),
        Size::Bits64 => halves::entries(from)[0].expected,
        _ => from.value() as u32,
    };
    let requeue = if futex.has_node() { numa::requeue } else { kernel_futex::requeue };
    let served = requeue(address(futex), address(to), futex.scope(), wake, moved, expected);
    served.map_err(Error::from_errno)
}

fn address(futex: Futex) -> *const u32 {
    core::ptr::with_exposed_provenance(futex.address())
}

fn long_address(futex: Futex) -> *const u64 {
    core::ptr::with_exposed_provenance(futex.address())
}
