//! Descriptors of objects that messages bring: from here on this process's family answers for them
//! ([`ntux_sync::Arena::arrived`]), and the first use need not ask what they are.
//!
//! One that an exec would keep stays counted by the kernel until the program says that an exec closes it, which is what most
//! do next. What is not seen stays counted: messages behind the C library's back, messages that were only looked at, and
//! those that came before this process met the device.

use crate::leaving::{for_each_message, for_each_right};
use crate::threads::{self, Record};
use crate::{copy, descriptors, instances, signals};
use copy::Fault;
use core::ffi::{c_int, c_uint};
use descriptors::{Known, What};
use ntux_platform::{keeping_errno, memory};
use ntux_sync::Object;
use std::os::fd::BorrowedFd;

/// The message at this address was received, with these flags.
#[inline(always)]
pub(crate) fn received(message: usize, flags: c_int) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record| for_each_right(message, |fd| meet(record, fd, flags)));
    }
}

/// As [`received`], for the first `count` messages of an array.
#[inline(always)]
pub(crate) fn received_many(messages: usize, count: c_uint, flags: c_int) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record| {
            for_each_message(messages, count, |message| for_each_right(message, |fd| meet(record, fd, flags)))
        });
    }
}

/// An exec closes this descriptor from now on.
#[inline(always)]
pub(crate) fn by_fcntl(fd: c_int, command: c_int, argument: usize) {
    if command == libc::F_SETFD
        && argument as c_int & libc::FD_CLOEXEC != 0
        && let Some(known) = descriptors::take_arrived(fd)
    {
        look(|record| {
            arrive(record, fd, known);
            Ok(())
        });
    }
}

#[cold]
fn look(work: impl FnOnce(&Record) -> Result<(), Fault>) {
    if threads::borrows_memory() {
        return;
    }
    let Some(record) = threads::enter() else { return };
    keeping_errno(|| {
        let _ = signals::with_faults(record, || work(record));
    });
    let _ = threads::leave(record);
}

/// The kernel has just given this number away, so what is known about it is about another descriptor.
fn meet(record: &Record, fd: c_int, flags: c_int) {
    let Some(known) = identify(record, fd) else { return };
    descriptors::forget(fd);
    let (_, seen) = descriptors::look_up(fd);
    if flags & libc::MSG_CMSG_CLOEXEC != 0 {
        descriptors::remember(fd, seen, known);
        arrive(record, fd, known);
    } else {
        descriptors::remember_arrived(fd, seen, known);
    }
}

/// Which object of an instance that this process has met.
fn identify(record: &Record, fd: c_int) -> Option<Known> {
    // SAFETY: the descriptor is only asked.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let tag = instances::tag_of(memory::regular_file(borrowed).ok()??)?;
    let offset = memory::offset(borrowed).ok().filter(|offset| *offset != 0)?;
    let kind = record.seats.take(tag)?.arena.kind(Object(offset)).ok()?;
    Some(Known { tag, what: What::Object(kind, Object(offset)) })
}

fn arrive(record: &Record, fd: c_int, known: Known) {
    if let (What::Object(_, object), Some(seated)) = (known.what, record.seats.take(known.tag)) {
        // SAFETY: the program's own descriptor, which it has just received or changed.
        seated.arena.arrived(unsafe { BorrowedFd::borrow_raw(fd) }, object);
    }
}
