// SPDX-License-Identifier: MIT OR Apache-2.0
//! Userfaultfd write protection: the kernel notes the first write to each page of a range.
//!
//! A descriptor acts on the address space that created it, while any copy of it is open: a child of fork that uses an
//! inherited one changes its parent. So descriptors are close-on-exec, and a child of fork opens a new one.
//!
//! The numbers are the kernel's own (`linux/userfaultfd.h` of Linux 6.7); headers of older systems lack half of them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::linux::deadly::Call;
use crate::watching::userfault::{Faults, Features, Message, Registered};
use crate::without::Feature as Left;

const USER_MODE_ONLY: libc::c_int = 1;
const API_VERSION: u64 = 0xaa;
const REGISTER_WRITE_PROTECTION: u64 = 2;
const PROTECT: u64 = 1;

const API: libc::c_ulong = 0xc018_aa3f;
const REGISTER: libc::c_ulong = 0xc020_aa00;
const UNREGISTER: libc::c_ulong = 0x8010_aa01;
const WAKE: libc::c_ulong = 0x8010_aa02;
const WRITE_PROTECT: libc::c_ulong = 0xc018_aa06;
const NEW_FROM_DEVICE: libc::c_ulong = 0xaa00;

/// Bits of the operations that a registered range supports.
const CAN_WRITE_PROTECT: u64 = 1 << 6;
const CAN_ZERO_PAGE: u64 = 1 << 4;

/// A userfaultfd descriptor.
pub struct Userfault {
    fd: OwnedFd,
}

#[repr(C)]
struct ApiArgument {
    version: u64,
    features: u64,
    operations: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    length: u64,
}

#[repr(C)]
struct RegisterArgument {
    range: Range,
    mode: u64,
    operations: u64,
}

#[repr(C)]
struct ProtectArgument {
    range: Range,
    mode: u64,
}

impl Userfault {
    /// A new descriptor with these features. Fails if the kernel lacks one of them (`EINVAL`), if a filter refuses the
    /// call (`EPERM`, `ENOSYS`) or would kill the program for it (`ENOSYS`), and without the privilege for
    /// [`Faults::OfKernelToo`] (`EPERM`).
    pub fn open(features: Features, faults: Faults) -> io::Result<Userfault> {
        if Left::Userfaultfd.is_left_out() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let flags = if faults == Faults::OfUserMode { USER_MODE_ONLY } else { 0 };
        // A filter that refuses the call may leave the device.
        let fd = new(flags).or_else(|refused| new_from_device().map_err(|_| refused))?;
        let userfault = Userfault { fd };
        let mut argument = ApiArgument { version: API_VERSION, features: features.0, operations: 0 };
        userfault.request(API, &mut argument)?;
        Ok(userfault)
    }

    /// Registers a range, so that this descriptor can protect it. Both ends are on page boundaries.
    ///
    /// Fails with `EBUSY` if another descriptor has registered part of it, `EINVAL` for memory that cannot be watched
    /// and for parts of huge pages, `EPERM` for a shared mapping of a file that is open for reading only.
    pub fn register(&self, start: usize, length: usize) -> io::Result<Registered> {
        let mut argument =
            RegisterArgument { range: Range::new(start, length), mode: REGISTER_WRITE_PROTECTION, operations: 0 };
        self.request(REGISTER, &mut argument)?;
        if argument.operations & CAN_WRITE_PROTECT == 0 {
            self.unregister(start, length)?;
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(Registered { has_huge_pages: argument.operations & CAN_ZERO_PAGE == 0 })
    }

    /// Unregisters the range, which lifts all protection. Does not wake threads that are blocked there.
    pub fn unregister(&self, start: usize, length: usize) -> io::Result<()> {
        self.request(UNREGISTER, &mut Range::new(start, length))
    }

    /// Wakes the threads that are blocked in the range, registered or not; they retry.
    pub fn wake(&self, start: usize, length: usize) -> io::Result<()> {
        self.request(WAKE, &mut Range::new(start, length))
    }

    /// Protects the pages of a registered range, populated or not.
    pub fn protect(&self, start: usize, length: usize) -> io::Result<()> {
        self.write_protect(start, length, PROTECT)
    }

    /// Lifts the protection and wakes the threads that are blocked there.
    pub fn lift(&self, start: usize, length: usize) -> io::Result<()> {
        self.write_protect(start, length, 0)
    }

    fn write_protect(&self, start: usize, length: usize, mode: u64) -> io::Result<()> {
        loop {
            match self.request(WRITE_PROTECT, &mut ProtectArgument { range: Range::new(start, length), mode }) {
                // The address space is changing (a fork, an unmapping): nothing was done yet.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => continue,
                other => return other,
            }
        }
    }

    /// Reads the kernel's messages, at most `messages.len()`; returns 0 if there are none. Does not sleep.
    pub fn read(&self, messages: &mut [Message]) -> io::Result<usize> {
        // SAFETY: the messages are plain integers, for which any bytes are values; the length is theirs.
        let read =
            unsafe { libc::read(self.fd.as_raw_fd(), messages.as_mut_ptr().cast(), core::mem::size_of_val(messages)) };
        match usize::try_from(read) {
            Ok(bytes) => Ok(bytes / size_of::<Message>()),
            Err(_) if matches!(crate::errno(), libc::EAGAIN | libc::EINTR) => Ok(0),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    fn request<T>(&self, request: libc::c_ulong, argument: &mut T) -> io::Result<()> {
        // SAFETY: every request of this file reads and writes exactly the structure that is passed with it, which lives
        // here; what it does to memory is a change of protection that loses no contents.
        match unsafe { libc::ioctl(self.fd.as_raw_fd(), request as _, core::ptr::from_mut(argument)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// From a descriptor that was opened here or in another process, on whose memory it acts.
impl From<OwnedFd> for Userfault {
    fn from(fd: OwnedFd) -> Userfault {
        Userfault { fd }
    }
}

impl From<Userfault> for OwnedFd {
    fn from(userfault: Userfault) -> OwnedFd {
        userfault.fd
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Range {
    fn new(start: usize, length: usize) -> Range {
        Range { start: start as u64, length: length as u64 }
    }
}

fn new(flags: libc::c_int) -> io::Result<OwnedFd> {
    static CALL: Call = Call::new(libc::SYS_userfaultfd, [(libc::O_CLOEXEC | USER_MODE_ONLY) as usize, 0]);
    if CALL.is_deadly() {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    // SAFETY: a call without pointers.
    owned(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK | flags) } as RawFd)
}

fn new_from_device() -> io::Result<OwnedFd> {
    // SAFETY: a terminated path.
    let device = owned(unsafe { libc::open(c"/dev/userfaultfd".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: this request takes the flags as its value.
    owned(unsafe { libc::ioctl(device.as_raw_fd(), NEW_FROM_DEVICE as _, flags) })
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
