// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages at a fork, and before they are written.

use std::io;

use super::Linux;
use crate::protection::{Pages, done};

impl Pages for Linux {
    fn inherit(start: usize, length: usize, is_inherited: bool) -> io::Result<()> {
        let advice = if is_inherited { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        // SAFETY: the advice changes nothing in this process.
        done(unsafe { libc::madvise(start as *mut libc::c_void, length, advice) })
    }

    fn populate_for_writing(start: usize, length: usize) -> bool {
        const POPULATE_WRITE: libc::c_int = 23;
        // SAFETY: the advice does to the pages what stores would do, short of changing their contents.
        unsafe { libc::madvise(start as *mut libc::c_void, length, POPULATE_WRITE) == 0 }
    }

    unsafe fn empty(start: usize, length: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        done(unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) })
    }

    fn wipe_on_fork(start: usize, length: usize) -> bool {
        // SAFETY: advice about a mapping of our own.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_WIPEONFORK) == 0 }
    }
}
