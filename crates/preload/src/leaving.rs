//! Copies of an object's descriptor that another program or process is about to get: sent in a message, or not closed
//! by an exec. The kernel must count them ([`ntux_sync::Arena::leaving`]) before they are made.
//!
//! A process that never used the device has only copies that are counted already, so it pays for one load. Copies that
//! bypass the C library (raw system calls, io_uring) are not seen: such an object ends when every process that had the
//! creator's memory has ended.

use crate::copy::Fault;
use crate::memory::{self, Memory};
use crate::receivers::Receiver;
use crate::threads::{self, Record};
use crate::{descriptors, instances, starting};
use core::ffi::{c_int, c_uint};
use core::mem::{MaybeUninit, offset_of, size_of};
use descriptors::{Known, NotMet, What};
use ntux_platform::keeping_errno;
use ntux_sync::Arena;
use std::os::fd::BorrowedFd;

/// The most control bytes that are examined; the kernel takes far fewer.
const CONTROL_MAX: usize = 1 << 20;
/// Most messages of one call (the kernel's `UIO_MAXIOV`).
const MESSAGES_MAX: u32 = 1024;
/// A control message's header: length (8 bytes), level, type.
const HEADER: usize = size_of::<libc::cmsghdr>();
const _: () = assert!(HEADER == 16 && size_of::<libc::msghdr>() == 56);

/// A copy of this descriptor will be kept across an exec, or passed to a program that is started.
#[inline(always)]
pub(crate) fn kept(fd: c_int) {
    if instances::any() && fd >= 0 {
        leaves(fd);
    }
}

/// A copy of this descriptor will be made, which an exec closes.
#[inline(always)]
pub(crate) fn copied(fd: c_int) {
    if instances::any() {
        descriptors::copied(fd);
    }
}

/// `dup3`.
#[inline(always)]
pub(crate) fn by_dup3(old: c_int, flags: c_int) {
    if flags & libc::O_CLOEXEC == 0 {
        kept(old);
    } else {
        copied(old);
    }
}

/// `fcntl`, where it makes a copy or keeps one.
#[inline(always)]
pub(crate) fn by_fcntl(fd: c_int, command: c_int, argument: usize) {
    let keeps = command == libc::F_SETFD && argument as c_int & libc::FD_CLOEXEC == 0;
    if keeps || command == libc::F_DUPFD {
        kept(fd);
    } else if command == libc::F_DUPFD_CLOEXEC {
        copied(fd);
    }
}

/// `ioctl`, where it keeps a copy.
#[inline(always)]
pub(crate) fn by_ioctl(fd: c_int, request: u32) {
    if request == libc::FIONCLEX as u32 {
        kept(fd);
    }
}

/// As [`kept`], for the file actions of a program to be started.
#[inline(always)]
pub(crate) fn by_actions(fd: c_int) {
    if instances::any() && fd >= 0 && leaves(fd) {
        starting::by_actions();
    }
}

/// Whether the descriptor is one of ours. Its copies are counted from now on, if they are an object's.
#[cold]
pub(crate) fn leaves(fd: c_int) -> bool {
    descriptors::copied(fd);
    // SAFETY: the descriptor is only asked and locked; one that is not open is refused by the kernel.
    keeping_errno(|| Arena::leaving(unsafe { BorrowedFd::borrow_raw(fd) }))
}

/// The message at this address is about to be sent through this socket.
#[inline(always)]
pub(crate) fn sent(socket: c_int, message: usize) {
    if instances::any() {
        look(|record, memory, receiver| {
            for_each_right(memory, message, |fd| goes(record, fd, || receiver.is_stranger(socket)))
        });
    }
}

/// As [`sent`], for the first `count` messages of an array.
#[inline(always)]
pub(crate) fn sent_many(socket: c_int, messages: usize, count: c_uint) {
    if instances::any() {
        look(|record, memory, receiver| {
            for_each_message(messages, count, |message| {
                for_each_right(memory, message, |fd| goes(record, fd, || receiver.is_stranger(socket)))
            })
        });
    }
}

/// Looks at memory of the caller's. Where it cannot be read the kernel refuses to send.
#[cold]
fn look(work: impl FnOnce(&Record, Memory<'_>, &Receiver) -> Result<(), Fault>) {
    let Some(record) = threads::enter() else { return };
    let _ = memory::with(record, |memory| work(record, memory, &Receiver::default()));
    let _ = threads::leave(record);
}

/// A copy of this descriptor is about to be sent. The receiver is asked about only if it is ours.
fn goes(record: &Record, fd: c_int, to_stranger: impl Fn() -> bool) {
    if fd < 0 {
        return;
    }
    let known = descriptors::look_up(fd).0.ok_or(());
    let known = known.or_else(|()| keeping_errno(|| descriptors::identify_met(record, fd)));
    if known == Err(NotMet::Foreign) {
        return;
    }
    if let Ok(Known { tag, what: What::Object(_, object) }) = known
        && !to_stranger()
        && let Some(seated) = record.seats.take(tag)
    {
        // SAFETY: the program's own descriptor, which it is about to send; if it is not open, the kernel refuses that.
        keeping_errno(|| seated.arena.sending(unsafe { BorrowedFd::borrow_raw(fd) }, object));
    } else if leaves(fd) {
        to_stranger();
    }
}

/// Calls `visit` with the address of each of the first `count` messages of an array.
pub(crate) fn for_each_message(
    messages: usize,
    count: c_uint,
    mut visit: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut addresses = (0..count.min(MESSAGES_MAX) as usize).map(|index| index * size_of::<libc::mmsghdr>());
    addresses.try_for_each(|offset| visit(messages.wrapping_add(offset)))
}

/// Calls `visit` with each descriptor in the message at this address.
pub(crate) fn for_each_right(memory: Memory<'_>, message: usize, mut visit: impl FnMut(c_int)) -> Result<(), Fault> {
    let field = |offset: usize| message.wrapping_add(offset);
    let [control, length] = memory.read_pair(field(offset_of!(libc::msghdr, msg_control)))?.map(|word| word as usize);
    if !(HEADER..=CONTROL_MAX).contains(&length) {
        return Ok(());
    }
    let mut at = 0;
    while at + HEADER <= length {
        let [size, kind] = memory.read_pair(control.wrapping_add(at))?;
        let size = usize::try_from(size).unwrap_or(0);
        if size < HEADER || size > length - at {
            return Ok(());
        }
        if (kind as c_int, (kind >> 32) as c_int) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            let count = (size - HEADER) / size_of::<c_int>();
            for index in 0..count {
                let mut room = [MaybeUninit::<c_int>::uninit()];
                let place = control.wrapping_add(at + HEADER + index * size_of::<c_int>());
                visit(memory.read_slice(place, &mut room)?[0]);
            }
        }
        at += size.next_multiple_of(size_of::<usize>());
    }
    Ok(())
}
