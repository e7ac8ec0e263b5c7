// SPDX-License-Identifier: MIT OR Apache-2.0
//! SLIST_HEADER: a list of the program's entries in its own memory. What was pushed last is popped first.
//!
//! # Role
//! Windows changes first entry, depth and a count of changes in one instruction of 16 bytes. There a pop reads the successor of an entry that
//! another thread may have popped and freed meanwhile, and an exception handler of ntdll begins anew if that memory is gone. Here is no such
//! handler, so a thread locks the header while it looks into an entry: nobody else can have popped it then. It has the lock for a few
//! instructions, and calls nothing meanwhile; who comes then sleeps, and whoever comes first takes it, as with an SRWLOCK.
//!
//! # Picture
//! ```text
//!         63                                    2        1        0
//!        +---------------------------------------+----------+----------+
//! first  |  address of the first entry, or 0     |   wait   |  locked  |    wait: threads sleep until it is not locked
//!        +---------------------------------------+----------+----------+
//! depth  how many entries were pushed and not popped, modulo 2^16, if callers say the truth of the lists that they push
//! ```
//! # Transitions of `first`
//! | from | to | by |
//! | --- | --- | --- |
//! | not locked | locked, the rest as it was; with *wait* if it has slept | a thread that changes the list |
//! | locked | the same and *wait* | a thread that is about to sleep |
//! | locked | another first entry, or the same, without either bit; then one sleeper is woken, as the bit said | the thread that has locked it |
//!
//! A pop or a flush of a list that is not locked and has no entries changes nothing, unless the thread has slept: nobody would wake the next.
//!
//! # Invariants
//! * I-slist-1: an entry goes into the list, and out of it, with the lock only; so does its successor change, and `depth`. A look at the
//!   depth alone needs no lock.
//! * I-slist-2: while a thread sleeps, *wait* is there, or a thread that was woken has not locked the header yet: it does with the bit.
//!
//! # Order
//! O-slist: comparing the word and falling asleep is one step for every wake (the promise of `ntux_futex`). A thread that pops an entry sees
//! what was written to it before it was pushed: both have exchanged `first`.
//!
//! # Death
//! The threads of a process die together. A forked child has the header as it was: locked for ever, if a thread was changing it just then.

use core::ptr;

use ntux::Deadline;
use ntux_platform::atomic::{Word32, Word64};

use crate::boundary::call;
use crate::planted::{Bug, planted};
use crate::word;

/// SLIST_HEADER of the header. Zeros are an empty list.
#[repr(C)]
pub struct Header {
    first: Word64,
    depth: Word32,
    unused: u32,
}

/// SLIST_ENTRY of the header.
#[repr(C)]
pub struct Entry {
    next: *mut Entry,
}

const LOCKED: u64 = 1;
const WAIT: u64 = 2;

fn address(entry: *mut Entry) -> u64 {
    entry.expose_provenance() as u64
}

fn entry(first: u64) -> *mut Entry {
    ptr::with_exposed_provenance_mut((first & !(LOCKED | WAIT)) as usize)
}

/// What becomes of a locked list.
struct Next {
    first: *mut Entry,
    depth: u32,
}

impl Header {
    /// Locks the header. Returns the first entry.
    fn lock(&self) -> *mut Entry {
        let mut bits = LOCKED;
        loop {
            let seen = self.first.load();
            if seen & LOCKED == 0 {
                if self.first.compare_exchange(seen, seen | bits).is_ok() {
                    return entry(seen);
                }
            } else if seen & WAIT != 0 || self.first.compare_exchange(seen, seen | WAIT).is_ok() {
                word::wait_long(&self.first, seen | WAIT, Deadline::Never);
                if !planted(Bug::ListForgetsOthers) {
                    bits = LOCKED | WAIT;
                }
            }
        }
    }

    /// Ends the lock, with this entry first.
    fn unlock(&self, first: *mut Entry) {
        let mut seen = self.first.load();
        while let Err(now) = self.first.compare_exchange(seen, address(first)) {
            seen = now;
        }
        if seen & WAIT != 0 {
            word::wake_one_long(&self.first);
        }
    }

    /// Changes the list. Returns what was the first entry, or NULL.
    fn change(&self, change: impl FnOnce(*mut Entry, u32) -> Next) -> *mut Entry {
        call(ptr::null_mut(), || {
            let first = self.lock();
            let next = change(first, self.depth.load());
            self.depth.store(next.depth & u32::from(u16::MAX));
            self.unlock(next.first);
            Ok(first)
        })
    }

    fn is_empty(&self) -> bool {
        self.first.load() == 0
    }
}

/// # Safety
/// `header` points to memory for one that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeSListHead(header: *mut Header) {
    // SAFETY: the same contract.
    unsafe { header.write(Header { first: Word64::new(0), depth: Word32::new(0), unused: 0 }) }
}

/// Returns what was first.
///
/// # Safety
/// `header` points to a list, `pushed` to an entry of no list, at an address that is a multiple of 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InterlockedPushEntrySList(header: *mut Header, pushed: *mut Entry) -> *mut Entry {
    // SAFETY: the same contract: a list of one.
    unsafe { ntw_InterlockedPushListSListEx(header, pushed, pushed, 1) }
}

/// Pushes a list, of which the depth grows by `count`. Returns what was first.
///
/// # Safety
/// `header` points to a list, `first` to an entry whose successors lead to `last`, all of no list, at multiples of 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InterlockedPushListSListEx(
    header: *mut Header,
    first: *mut Entry,
    last: *mut Entry,
    count: u32,
) -> *mut Entry {
    // SAFETY: the same contract.
    let header = unsafe { &*header };
    header.change(|before, depth| {
        // SAFETY: the same contract: the caller's until it is pushed, which is at the end of the lock.
        unsafe { (*last).next = before };
        Next { first, depth: depth.wrapping_add(count) }
    })
}

/// # Safety
/// `header` points to a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InterlockedPopEntrySList(header: *mut Header) -> *mut Entry {
    // SAFETY: the same contract.
    let header = unsafe { &*header };
    if header.is_empty() {
        return ptr::null_mut();
    }
    header.change(|first, depth| match first.is_null() {
        true => Next { first, depth },
        // SAFETY: I-slist-1: it is in the list, which others cannot take it out of now; who has pushed it has left it there.
        false => Next { first: unsafe { (*first).next }, depth: depth.wrapping_sub(1) },
    })
}

/// Empties the list. Returns the first entry, from which successors lead to the others.
///
/// # Safety
/// `header` points to a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InterlockedFlushSList(header: *mut Header) -> *mut Entry {
    // SAFETY: the same contract.
    let header = unsafe { &*header };
    if header.is_empty() {
        return ptr::null_mut();
    }
    header.change(|first, depth| match first.is_null() {
        true => Next { first, depth },
        false => Next { first: ptr::null_mut(), depth: 0 },
    })
}

/// # Safety
/// `header` points to a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_QueryDepthSList(header: *mut Header) -> u16 {
    // SAFETY: the same contract.
    unsafe { &*header }.depth.load() as u16
}
