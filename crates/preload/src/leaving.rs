//! Copies of an object's descriptor that another program or process is about to get: sent in a message, or not closed
//! by an exec. The kernel must count them ([`ntux_sync::Arena::leaving`]) before they are made.
//!
//! A process that never used the device has only copies that are counted already, so it pays for one load. Copies that
//! bypass the C library (raw system calls, io_uring) are not seen: such an object ends when every process that had the
//! creator's memory has ended.

use crate::{copy, instances, receivers, signals, starting, threads};
use copy::Fault;
use core::ffi::{c_int, c_uint};
use core::mem::{MaybeUninit, offset_of, size_of};
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

/// `dup3`, unless its copy closes at an exec.
#[inline(always)]
pub(crate) fn by_dup3(old: c_int, flags: c_int) {
    if flags & libc::O_CLOEXEC == 0 {
        kept(old);
    }
}

/// `fcntl`, where it makes a copy or keeps one.
#[inline(always)]
pub(crate) fn by_fcntl(fd: c_int, command: c_int, argument: usize) {
    let keeps = command == libc::F_SETFD && argument as c_int & libc::FD_CLOEXEC == 0;
    if keeps || command == libc::F_DUPFD {
        kept(fd);
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

/// Whether the descriptor is one of ours.
#[cold]
fn leaves(fd: c_int) -> bool {
    // SAFETY: the descriptor is only queried and locked; the kernel refuses one that is not open.
    keeping_errno(|| Arena::leaving(unsafe { BorrowedFd::borrow_raw(fd) }))
}

/// The message at this address is about to be sent through this socket.
#[inline(always)]
pub(crate) fn sent(socket: c_int, message: usize) {
    if instances::any() {
        look(socket, || look_at_message(message));
    }
}

/// As [`sent`], for the first `count` messages of an array.
#[inline(always)]
pub(crate) fn sent_many(socket: c_int, messages: usize, count: c_uint) {
    if !instances::any() {
        return;
    }
    look(socket, || {
        (0..count.min(MESSAGES_MAX) as usize).try_fold(false, |ours, index| {
            Ok(look_at_message(messages.wrapping_add(index * size_of::<libc::mmsghdr>()))? || ours)
        })
    });
}

/// Examines the caller's message, and the receiver if it carries a descriptor of ours. If the memory cannot be read,
/// the kernel refuses to send.
#[cold]
fn look(socket: c_int, work: impl FnOnce() -> Result<bool, Fault>) {
    let Some(record) = threads::enter() else { return };
    let ours = signals::with_faults(record, work);
    let _ = threads::leave(record);
    if matches!(ours, Ok(true)) {
        receivers::check(socket);
    }
}

/// Whether the message carries a descriptor of ours.
fn look_at_message(message: usize) -> Result<bool, Fault> {
    let field = |offset: usize| message.wrapping_add(offset);
    let [control, length] = copy::read_pair(field(offset_of!(libc::msghdr, msg_control)))?.map(|word| word as usize);
    if !(HEADER..=CONTROL_MAX).contains(&length) {
        return Ok(false);
    }
    let (mut at, mut ours) = (0, false);
    while at + HEADER <= length {
        let [size, kind] = copy::read_pair(control.wrapping_add(at))?;
        let size = usize::try_from(size).unwrap_or(0);
        if size < HEADER || size > length - at {
            return Ok(ours);
        }
        if (kind as c_int, (kind >> 32) as c_int) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            ours |= look_at_rights(control.wrapping_add(at + HEADER), (size - HEADER) / size_of::<c_int>())?;
        }
        at += size.next_multiple_of(size_of::<usize>());
    }
    Ok(ours)
}

fn look_at_rights(first: usize, count: usize) -> Result<bool, Fault> {
    let mut ours = false;
    for index in 0..count {
        let mut room = [MaybeUninit::<c_int>::uninit()];
        let fd = copy::read_slice(first.wrapping_add(index * size_of::<c_int>()), &mut room)?[0];
        ours |= fd >= 0 && leaves(fd);
    }
    Ok(ours)
}
