//! Copies of an object's descriptor that another program or process is about to get: sent in a message, or not closed
//! by an exec. The kernel must count them ([`ntux_sync::Arena::leaving`]) before they are made.
//!
//! A process that never used the device has only copies that are counted already, so it pays for one load. Copies that
//! bypass the C library (raw system calls, io_uring) are not seen: such an object ends when every process that had the
//! creator's memory has ended.

use crate::c_library::copy::Fault;
use crate::descriptors::receivers::Receiver;
use crate::descriptors::{self, starting};
use crate::instances;
use crate::thread::memory::{self, Memory};
use crate::thread::{self, Record};
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

/// A copy of this descriptor will be passed to a program that is started by file actions.
#[inline(always)]
pub(crate) fn by_actions(fd: c_int) {
    if instances::any() && fd >= 0 && leaves(fd) {
        starting::by_actions();
    }
}

/// Whether the descriptor is one of ours. The kernel counts its copies from now on, if they are an object's.
#[cold]
pub(crate) fn leaves(fd: c_int) -> bool {
    descriptors::copied(fd);
    keeping_errno(|| {
        // SAFETY: the descriptor is only asked and locked; one that is not open is refused by the kernel.
        let is_ours = Arena::leaving(unsafe { BorrowedFd::borrow_raw(fd) });
        // A `vfork` child's parent says so when it closes its own.
        if is_ours && !thread::borrows_memory() {
            descriptors::say_counted(fd);
        }
        is_ours
    })
}

/// What was counted of a call's messages before they are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announced {
    /// None of them has a descriptor of an object, or is counted.
    Nothing,
    /// Each descriptor of an object.
    All,
    /// Some; which ones is not known any more.
    Some,
}

impl Announced {
    fn and(self, counted: bool, is_first: bool) -> Announced {
        match (self, counted) {
            (Announced::Nothing, true) if is_first => Announced::All,
            (Announced::All, true) => Announced::All,
            (Announced::Nothing, false) => Announced::Nothing,
            _ => Announced::Some,
        }
    }
}

/// The message at this address is about to be sent through this socket.
#[inline(always)]
pub(crate) fn sent(socket: c_int, message: usize) -> Announced {
    if !instances::any() {
        return Announced::Nothing;
    }
    look(|tally, memory| for_each_right(memory, message, |fd| tally.goes(fd, socket)))
}

/// As [`sent`], for the first `count` messages of an array.
#[inline(always)]
pub(crate) fn sent_many(socket: c_int, messages: usize, count: c_uint) -> Announced {
    if !instances::any() {
        return Announced::Nothing;
    }
    look(|tally, memory| {
        for_each_message(messages, count, |message| for_each_right(memory, message, |fd| tally.goes(fd, socket)))
    })
}

/// The real function has returned this: if a negative number, the message was not sent.
#[inline(always)]
pub(crate) fn refused(announced: Announced, message: usize, result: isize) {
    if result < 0 && announced == Announced::All {
        take_back(|record, memory| for_each_right(memory, message, |fd| stays(record, fd)));
    }
}

/// As [`refused`]: all messages from this one on were not sent.
#[inline(always)]
pub(crate) fn refused_many(announced: Announced, messages: usize, count: c_uint, result: c_int) {
    let sent = result.max(0) as c_uint;
    if sent < count && announced == Announced::All {
        let rest = messages.wrapping_add(sent as usize * size_of::<libc::mmsghdr>());
        take_back(|record, memory| {
            for_each_message(rest, count - sent, |message| for_each_right(memory, message, |fd| stays(record, fd)))
        });
    }
}

#[cold]
fn take_back(work: impl FnOnce(&Record, Memory<'_>) -> Result<(), Fault>) {
    let Some(record) = thread::enter() else { return };
    keeping_errno(|| {
        let _ = memory::with(record, |memory| work(record, memory));
    });
    let _ = thread::leave(record);
}

fn stays(record: &Record, fd: c_int) {
    if let Ok(Known { tag, what: What::Object(_, object) }) = meant_by(record, fd)
        && let Some(seated) = record.seats.take(tag)
    {
        // SAFETY: the program's own descriptor; if it is not open any more, nothing happens.
        seated.arena.unsent(unsafe { BorrowedFd::borrow_raw(fd) }, object);
    }
}

/// Looks at memory of the caller's. Where it cannot be read the kernel refuses to send.
#[cold]
fn look(work: impl FnOnce(&mut Tally<'_>, Memory<'_>) -> Result<(), Fault>) -> Announced {
    let Some(record) = thread::enter() else { return Announced::Nothing };
    let mut tally = Tally { record, receiver: Receiver::default(), announced: Announced::Nothing, seen: false };
    let _ = memory::with(record, |memory| work(&mut tally, memory));
    let announced = tally.announced;
    let _ = thread::leave(record);
    announced
}

/// The descriptors that one call sends.
struct Tally<'a> {
    record: &'a Record,
    receiver: Receiver,
    announced: Announced,
    /// There was an object's before.
    seen: bool,
}

impl Tally<'_> {
    /// A copy of this descriptor is about to be sent. The receiver is asked about only if it is ours.
    fn goes(&mut self, fd: c_int, socket: c_int) {
        if fd < 0 {
            return;
        }
        let known = keeping_errno(|| meant_by(self.record, fd));
        if known == Err(NotMet::Foreign) {
            return;
        }
        let mut counted = false;
        if let Ok(Known { tag, what: What::Object(_, object) }) = known
            && !self.receiver.is_stranger(socket)
            && let Some(seated) = self.record.seats.take(tag)
        {
            // SAFETY: the program's own descriptor, which it is about to send; if it is not open, the kernel refuses that.
            counted = keeping_errno(|| seated.arena.sending(unsafe { BorrowedFd::borrow_raw(fd) }, object));
        } else if leaves(fd) {
            self.receiver.is_stranger(socket);
        }
        self.announced = self.announced.and(counted, !self.seen);
        self.seen = true;
    }
}

fn meant_by(record: &Record, fd: c_int) -> Result<Known, NotMet> {
    match descriptors::look_up(fd).0 {
        Some(known) => Ok(known),
        None => descriptors::identify_met(record, fd),
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
