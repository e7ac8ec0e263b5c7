// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors of objects that messages bring. On arrival this process's family claims them
//! ([`ntux_sync::Arena::arrived`]), so the first use need not ask what they are.
//!
//! A descriptor whose arrival this library does not see stays counted by the kernel: messages received by raw system calls,
//! messages that the program only peeked at, and those that came before this process met the device.

use super::copies::remember_new;
use super::identity::{object_arrived, take};
use super::messages::{for_each_message, for_each_right};
use super::moment::Moment;
use super::numbers::What;
use crate::c_library::copy::Fault;
use crate::c_library::next;
use crate::instances::{self, seat};
use crate::thread::memory::{self, Memory};
use crate::thread::{self, OwnMemory, Record};
use core::cell::OnceCell;
use core::ffi::{c_int, c_uint};
use ntux_platform::keeping_errno;
use std::os::fd::BorrowedFd;

/// Claims what the message at this address brought. It was received with these flags, after that moment.
#[inline(always)]
pub(crate) fn received(message: usize, flags: c_int, after: Moment) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record, memory, own| for_each_right(memory, message, |fd| meet(record, own, fd, after)));
    }
}

/// Claims what the first `count` messages of this array brought.
#[inline(always)]
pub(crate) fn received_many(messages: usize, count: c_uint, flags: c_int, after: Moment) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record, memory, own| {
            for_each_message(messages, count, |message| {
                for_each_right(memory, message, |fd| meet(record, own, fd, after))
            })
        });
    }
}

/// Counts a descriptor of ours that `pidfd_getfd` took from another process. If its object has ended, closes it and returns false:
/// the call fails with `EBADF`, as if the other process had closed its own before.
pub(crate) fn taken(fd: c_int) -> bool {
    let Some(record) = thread::enter() else { return true };
    let lives = keeping_errno(|| take(record, fd));
    if !lives {
        // SAFETY: the program does not know it yet.
        unsafe { next::close(fd) };
    }
    let _ = thread::leave(record);
    lives
}

/// The answer whether the memory is this process's own, which is asked when it first matters, and once.
#[derive(Default)]
struct Ownership(OnceCell<Option<OwnMemory>>);

impl Ownership {
    fn get(&self) -> Option<OwnMemory> {
        *self.0.get_or_init(thread::own_memory)
    }
}

#[cold]
fn look(work: impl FnOnce(&Record, Memory<'_>, &Ownership) -> Result<(), Fault>) {
    let Some(record) = thread::enter() else { return };
    keeping_errno(|| {
        let own = Ownership::default();
        let _ = memory::with(record, |memory| work(record, memory, &own));
    });
    let _ = thread::leave(record);
}

/// The kernel has just given this number away, so what is known about it is about another descriptor.
fn meet(record: &Record, own: &Ownership, fd: c_int, after: Moment) {
    let Some(known) = object_arrived(record, fd) else { return };
    let Some(own) = own.get() else { return };
    let (What::Object(_, object), Some(seated)) = (known.what, seat(record, known.tag)) else { return };
    // SAFETY: the program's own descriptor, which it has just received.
    let via = unsafe { BorrowedFd::borrow_raw(fd) };
    seated.arena.found_family(via);
    let counted = seated.arena.arrived(via, object);
    remember_new(seated.arena, fd, known, counted, after, Some(own));
}
