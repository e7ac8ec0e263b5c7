// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages in a forked child, and error numbers.

use std::time::Duration;

use super::stage::{Child, in_thread};
use super::{Outcome, ensure, failed};
use ntux_platform::atomic::Word32;
use ntux_platform::contract::System;
use ntux_platform::protection::{self, Protection, page_size};

pub(super) fn wiped<S: System>(limit: Duration) -> Outcome {
    let (length, access) = (page_size(), libc::PROT_READ | libc::PROT_WRITE);
    // It stays: a room may remember it.
    let page = S::map(length, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).map_err(failed("map"))?;
    // SAFETY: mapped for good, aligned, and any bytes are a value.
    let word = unsafe { page.cast::<Word32>().as_ref() };
    // An old system may not be able to: then it says so.
    let is_promised = S::wipe_on_fork(page.as_ptr() as usize, length);
    for round in 1..3 {
        word.store(round);
        let child = Child::start(|| word.load() as i32)?;
        let found = child.end(limit)?;
        ensure!(word.load() == round, "the parent's own page was wiped");
        ensure!(!is_promised || found == 0, "a child finds {found} in a page that was to be wiped");
    }
    Ok(())
}

/// Three pages, of which nobody may write the middle one.
pub(super) fn writable<S: System>(_limit: Duration) -> Outcome {
    let page = page_size();
    let base = protection::allocate(3 * page, Protection::READ_WRITE).map_err(failed("map"))?;
    // SAFETY: mapped just now, and nobody refers to it.
    unsafe { protection::protect(base + page, page, Protection::READ) }.map_err(failed("protect"))?;
    let can_tell = S::populate_for_writing(base, page);
    for (first, count, expected) in [(0, 1, true), (1, 1, false), (2, 1, true), (0, 3, false), (0, 2, false)] {
        let said = S::populate_for_writing(base + first * page, count * page);
        ensure!(said == (expected && can_tell), "of {count} pages from {first} on it says {said}");
    }
    // SAFETY: as above.
    unsafe { protection::free(base + page, page) }.map_err(failed("unmap"))?;
    ensure!(!S::populate_for_writing(base, 3 * page), "there is a hole");
    // SAFETY: as above.
    unsafe { protection::free(base, page).and_then(|()| protection::free(base + 2 * page, page)) }
        .map_err(failed("unmap"))
}

pub(super) fn freed<S: System>(_limit: Duration) -> Outcome {
    let page = page_size();
    let base = protection::allocate(2 * page, Protection::READ_WRITE).map_err(failed("map"))?;
    // SAFETY: mapped for good, aligned, and any bytes are a value.
    let word = |number: usize| unsafe { &*((base + number * page) as *const Word32) };
    [0, 1].into_iter().for_each(|number| word(number).store(7));
    // SAFETY: nobody relies on the contents.
    unsafe { S::empty(base, page) }.map_err(failed("free"))?;
    // SAFETY: as above.
    unsafe { protection::protect(base, page, Protection::READ_WRITE) }.map_err(failed("protect"))?;
    ensure!(word(0).load() == 0, "memory that was freed keeps its contents");
    ensure!(word(1).load() == 7, "its neighbour was freed, too");
    Ok(())
}

pub(super) fn error_numbers<S: System>(limit: Duration) -> Outcome {
    let set = |number: i32| {
        // SAFETY: this thread's own error number.
        unsafe { *S::errno_place() = number };
        ntux_platform::errno()
    };
    ensure!(set(libc::EBADF) == libc::EBADF, "an error number is not the one that was set");
    ensure!(in_thread(move || set(libc::EPERM)).result(limit)? == libc::EPERM, "not in another thread");
    ensure!(set(libc::EINTR) == libc::EINTR, "an error number is not the one that was set");
    ensure!(S::processors() > 0, "no processor");
    Ok(())
}
