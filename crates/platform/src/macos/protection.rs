// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages at a fork.
//!
//! A child gets a copy of a range, or nothing, but XNU cannot wipe a range there. But every fork of a process runs the
//! C library's handlers (there is no bare `clone`): one of ours maps new pages over the ranges to wipe, before anything
//! else runs in the child.

use std::io;

use super::planted::{Bug, planted};
use super::{MacOs, calls, watching};
use crate::atomic::{Word32, Word64};
use crate::protection::{Pages, Protection, done, protect, renew};

/// Ranges that are wiped in a child: a page of each library's process number, and a table of futexes.
const WIPED: usize = 8;
static STARTS: [Word64; WIPED] = [const { Word64::new(0) }; WIPED];
static LENGTHS: [Word64; WIPED] = [const { Word64::new(0) }; WIPED];

impl Pages for MacOs {
    fn inherit(start: usize, length: usize, is_inherited: bool) -> io::Result<()> {
        calls::minherit_copied(start, length, is_inherited)
    }

    /// XNU has no advice that does it, but tells whether stores are allowed.
    fn populate_for_writing(start: usize, length: usize) -> bool {
        watching::are_writable(start, length)
    }

    /// Advice frees nothing here, so new memory takes its place.
    unsafe fn empty(start: usize, length: usize) -> io::Result<()> {
        if planted(Bug::AdviceFrees) {
            // SAFETY: advice, which changes nothing.
            return done(unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) });
        }
        // SAFETY: the caller's promise.
        unsafe { renew(start, length) }
    }

    fn wipe_on_fork(start: usize, length: usize) -> bool {
        static HAS_HANDLER: Word32 = Word32::new(0);
        // Lock-free: two threads that arrive at the same time install two handlers, and the second one wipes again.
        if HAS_HANDLER.load() == 0 {
            // SAFETY: a function that takes no lock and no memory, as a child of a process with threads needs.
            if unsafe { libc::pthread_atfork(None, None, Some(wipe)) } != 0 {
                return false;
            }
            HAS_HANDLER.store(1);
        }
        let Some(place) = STARTS.iter().position(|place| place.compare_exchange(0, start as u64).is_ok()) else {
            return false;
        };
        LENGTHS[place].store(length as u64);
        true
    }
}

/// In the child, before the program's own code runs.
unsafe extern "C" fn wipe() {
    if planted(Bug::NoHandlerInChildren) {
        return;
    }
    for (start, length) in STARTS.iter().zip(&LENGTHS) {
        let (start, length) = (start.load() as usize, length.load() as usize);
        if start != 0 && length != 0 {
            // SAFETY: the range is memory of this crate, which expects to find zeros there.
            let renewed = unsafe { renew(start, length).and_then(|()| protect(start, length, Protection::READ_WRITE)) };
            // Continuing with the parent's contents would harm the parent.
            if renewed.is_err() {
                std::process::abort();
            }
        }
    }
}
