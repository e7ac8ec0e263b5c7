// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forks (rule R4 of [`crate::descriptors`]): a thread that forks has the child's family claim what the child will have.

use super::moment::{begin_fork, counts_forks, end_fork, forget_parents_forks};
use super::numbers::{COUNTED, Known, What, all, any_noted, entry, known, note_fork, unnote, unnote_all};
use crate::instances::{self, seat};
use crate::thread::{self, FORK_MARKS, Record};
use core::ffi::c_int;
use ntux_platform::atomic::Word128;
use ntux_platform::keeping_errno;
use ntux_sync::Gone;
use std::os::fd::BorrowedFd;

/// Arranges that forks are noticed. Called by the constructor.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn prepare() {
    // SAFETY: the handlers only change words.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
    thread::prepare(adopt);
}

#[unsafe(link_section = ".text.ntux_start")]
unsafe extern "C" fn before() {
    before_fork();
}

#[unsafe(link_section = ".text.ntux_start")]
unsafe extern "C" fn after() {
    after_fork();
}

#[unsafe(link_section = ".text.ntux_start")]
unsafe extern "C" fn in_child() {
    thread::forked();
    forked();
}

/// In a forked child, which has one thread: it is the families that its parent has founded for it.
#[unsafe(link_section = ".text.ntux_start")]
fn adopt(record: &Record) {
    record.fork_marks.hand_over(|tag, family, page| {
        if let Some(arena) = instances::of_one_thread(tag) {
            // SAFETY: the only thread of a forked child; the page was founded for it.
            unsafe { arena.take_family(family, page) };
        }
    });
}

/// This process is about to fork: its children will have copies. Async-signal-safe.
#[cold]
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn before_fork() {
    if !counts_forks() {
        return;
    }
    begin_fork();
    if !any_noted() {
        return;
    }
    let Some(record) = thread::enter() else { return unnote_all() };
    keeping_errno(|| {
        let gone: [Gone; FORK_MARKS] = Default::default();
        for fd in all() {
            bequeath(record, fd, &gone);
        }
    });
    let has_marked = record.fork_marks.any();
    // A handler may run here, and fork.
    let _ = thread::leave(record);
    if has_marked && !record.fork_marks.any() {
        unnote_all();
    }
}

/// Has the child's family claim what it will have by this descriptor; if it has none, nobody counts the descriptor any more.
fn bequeath(record: &Record, fd: c_int, gone: &[Gone; FORK_MARKS]) {
    let Some(seen) = entry(fd).map(Word128::load) else { return };
    let Some(Known { tag, what: What::Object(_, object) }) = known(seen) else { return };
    let Some(seated) = seat(record, tag) else { return };
    // SAFETY: the program's own descriptor; if it is closed meanwhile, another file is refused.
    let via = unsafe { BorrowedFd::borrow_raw(fd) };
    match record.fork_marks.get_or(tag, || seated.arena.found_for_child(via).ok()) {
        Some((place, child)) => {
            seated.arena.inherit(via, object, child, seen.low & COUNTED != 0, &gone[place]);
            note_fork(fd, seen);
        }
        None => {
            unnote(fd);
        }
    }
}

/// The fork is over, in the process that forked.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn after_fork() {
    let Some(was_counted) = end_fork() else { return };
    if !was_counted {
        unnote_all();
    }
    if let Some(record) = thread::current() {
        record.fork_marks.unmap();
    }
}

/// The fork is over, in the child, which has one thread.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn forked() {
    forget_parents_forks();
    thread::adopt();
}
