//! Pages in a forked child, and error numbers.

use std::time::Duration;

use super::super::System;
use super::stage::{Child, in_thread};
use super::{Outcome, ensure, failed};
use crate::atomic::Word32;
use crate::protection::page_size;

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

pub(super) fn error_numbers<S: System>(limit: Duration) -> Outcome {
    let set = |number: i32| {
        // SAFETY: this thread's own error number.
        unsafe { *S::errno_place() = number };
        crate::errno()
    };
    ensure!(set(libc::EBADF) == libc::EBADF, "an error number is not the one that was set");
    ensure!(in_thread(move || set(libc::EPERM)).result(limit)? == libc::EPERM, "not in another thread");
    ensure!(set(libc::EINTR) == libc::EINTR, "an error number is not the one that was set");
    ensure!(S::processors() > 0, "no processor");
    Ok(())
}
