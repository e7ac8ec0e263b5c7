// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors of objects that messages take to other processes. They are counted before they are sent, by this library or by the kernel
//! ([`ntux_sync::Arena::leaving`]).
//!
//! A process that never used the device has only copies that are counted already, so it pays for one load. Copies that
//! bypass the C library (raw system calls, io_uring) are not seen: such an object ends when every process that had the
//! creator's memory has ended.

use super::copies::leaves;
use super::identity::{NotMet, identify_met};
use super::messages::{for_each_message, for_each_right};
use super::numbers::{Known, What, look_up};
use super::receivers::Receiver;
use crate::c_library::copy::Fault;
use crate::instances::{self, seat};
use crate::thread::memory::{self, Memory};
use crate::thread::{self, Record};
use core::ffi::{c_int, c_uint};
use core::mem::size_of;
use ntux_platform::keeping_errno;
use std::os::fd::BorrowedFd;

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

/// The first `count` messages of this array are about to be sent through this socket.
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

/// The real function has returned this: how many of the messages were sent, or a negative number for none.
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
        && let Some(seated) = seat(record, tag)
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
            && let Some(seated) = seat(self.record, tag)
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
    match look_up(fd).0 {
        Some(known) => Ok(known),
        None => identify_met(record, fd),
    }
}
