//! Descriptors of objects that messages bring. On arrival this process's family claims them
//! ([`ntux_sync::Arena::arrived`]), so the first use need not ask what they are.
//!
//! A descriptor that an exec would keep stays counted by the kernel until the program makes it close-on-exec, which is what most
//! programs do next. So does a descriptor whose arrival this library does not see: messages received by raw system calls,
//! messages that the program only peeked at, and those that came before this process met the device.

use crate::copy::Fault;
use crate::leaving::{for_each_message, for_each_right};
use crate::memory::{self, Memory};
use crate::threads::{self, OwnMemory, Record};
use crate::{descriptors, device, instances, next};
use core::cell::OnceCell;
use core::ffi::{c_int, c_uint};
use descriptors::{Known, Moment, What};
use ntux_platform::keeping_errno;
use std::os::fd::BorrowedFd;

/// Claims what the message at this address brought. It was received with these flags, after that moment.
#[inline(always)]
pub(crate) fn received(message: usize, flags: c_int, after: Moment) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record, memory, own| for_each_right(memory, message, |fd| meet(record, own, fd, flags, after)));
    }
}

/// As [`received`], for the first `count` messages of an array.
#[inline(always)]
pub(crate) fn received_many(messages: usize, count: c_uint, flags: c_int, after: Moment) {
    if instances::any() && flags & libc::MSG_PEEK == 0 {
        look(|record, memory, own| {
            for_each_message(messages, count, |message| {
                for_each_right(memory, message, |fd| meet(record, own, fd, flags, after))
            })
        });
    }
}

/// Claims a descriptor that an exec closes from now on.
#[inline(always)]
pub(crate) fn by_fcntl(fd: c_int, command: c_int, argument: usize) {
    if command != libc::F_SETFD || argument as c_int & libc::FD_CLOEXEC == 0 {
        return;
    }
    let now = Moment::now();
    if let Some((known, seen)) = descriptors::take_arrived(fd) {
        look(|record, _, own| {
            if own.get().is_some() && arrive(record, fd, known) {
                descriptors::note_sole(fd, seen, now);
            }
            Ok(())
        });
    }
}

/// Counts a descriptor that `pidfd_getfd` took from another process. If its object has ended, closes it and returns false:
/// the call fails with `EBADF`, as if the other process had closed its own before.
pub(crate) fn taken(fd: c_int) -> bool {
    descriptors::forget(fd);
    if !device::uses(fd) {
        return true;
    }
    let Some(record) = threads::enter() else { return true };
    let lives = keeping_errno(|| descriptors::take(record, fd));
    if !lives {
        // SAFETY: the program does not know it yet.
        unsafe { next::close(fd) };
    }
    let _ = threads::leave(record);
    lives
}

/// Whether the memory is this process's own: asked when that first matters, and once.
#[derive(Default)]
struct Ownership(OnceCell<Option<OwnMemory>>);

impl Ownership {
    fn get(&self) -> Option<OwnMemory> {
        *self.0.get_or_init(threads::own_memory)
    }
}

#[cold]
fn look(work: impl FnOnce(&Record, Memory<'_>, &Ownership) -> Result<(), Fault>) {
    let Some(record) = threads::enter() else { return };
    keeping_errno(|| {
        let own = Ownership::default();
        let _ = memory::with(record, |memory| work(record, memory, &own));
    });
    let _ = threads::leave(record);
}

/// The kernel has just given this number away, so what is known about it is about another descriptor.
fn meet(record: &Record, own: &Ownership, fd: c_int, flags: c_int, after: Moment) {
    let Some(known) = descriptors::object_arrived(record, fd) else { return };
    let Some(own) = own.get() else { return };
    if flags & libc::MSG_CMSG_CLOEXEC != 0 {
        let sole = arrive(record, fd, known);
        descriptors::remember_new(fd, known, sole, after, Some(own));
    } else {
        descriptors::remember_arrived(fd, known, after, own);
    }
}

/// Whether it is the first of its family.
fn arrive(record: &Record, fd: c_int, known: Known) -> bool {
    let (What::Object(_, object), Some(seated)) = (known.what, record.seats.take(known.tag)) else { return false };
    // SAFETY: the program's own descriptor, which it has just received or changed.
    seated.arena.arrived(unsafe { BorrowedFd::borrow_raw(fd) }, object)
}
