// SPDX-License-Identifier: MIT OR Apache-2.0
//! A child process, for its supervisor: its end, and signals to pass on to it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::atomic::Word32;

/// A descriptor of a child process, which is readable once the child has ended.
pub struct Child {
    fd: OwnedFd,
    process: u32,
}

impl Child {
    /// Opens the child with this number, for which nobody has waited yet. Linux 5.3.
    pub fn open(process: u32) -> io::Result<Child> {
        // SAFETY: a call without pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor to us.
        Ok(Child { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, process })
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];
/// Signals to pass on, one bit each.
static CAUGHT: Word32 = Word32::new(0);
/// The descriptor that announces them, plus one.
static TOLD: Word32 = Word32::new(0);

/// Signals kept for the child; the descriptor is readable if there are any, so a signal that arrives just before a
/// sleep also ends the sleep. The descriptor is never closed, because a handler may write to it at any time.
pub struct Signals {
    fd: BorrowedFd<'static>,
}

extern "C" fn note(signal: libc::c_int, information: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO the signal's information.
    if unsafe { (*information).si_code } == libc::SI_KERNEL {
        return;
    }
    CAUGHT.fetch_or(1 << signal);
    let one = 1u64;
    // SAFETY: reads eight bytes. The descriptor does not block, and a count that is at its limit tells just as well.
    crate::keeping_errno(|| unsafe { libc::write(TOLD.load() as i32 - 1, (&raw const one).cast(), size_of_val(&one)) });
}

impl Signals {
    /// From here on SIGINT, SIGQUIT, SIGTERM and SIGHUP do not end this process, but are kept to be passed on. Signals
    /// from the terminal are not, because the child gets them itself. Call this once.
    pub fn catch() -> io::Result<Signals> {
        // SAFETY: a call without pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        TOLD.store(fd as u32 + 1);
        SIGNALS.into_iter().for_each(catch);
        // SAFETY: the kernel has just given this descriptor to us, and nobody closes it.
        Ok(Signals { fd: unsafe { BorrowedFd::borrow_raw(fd) } })
    }

    /// Sends the child the signals since the last call.
    pub fn pass_on(&self, child: &Child) {
        let mut count = 0u64;
        // SAFETY: a place for eight bytes. Emptied before the signals are checked: one that comes in between tells
        // again.
        unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), size_of_val(&count)) };
        let caught = CAUGHT.fetch_and(0);
        for signal in SIGNALS.into_iter().filter(|signal| caught & 1 << signal != 0) {
            // SAFETY: a child that nobody has waited for: the number is still its own.
            unsafe { libc::kill(child.process as i32, signal) };
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

fn catch(signal: i32) {
    // SAFETY: all bytes zero is a value: no flags, nothing blocked.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = note as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler only exchanges a word and writes to a descriptor. A signal that is ignored (as under nohup)
    // stays so.
    unsafe {
        let mut before = core::mem::MaybeUninit::<libc::sigaction>::zeroed();
        libc::sigaction(signal, core::ptr::null(), before.as_mut_ptr());
        if before.assume_init().sa_sigaction != libc::SIG_IGN {
            libc::sigaction(signal, &action, core::ptr::null_mut());
        }
    }
}

/// Ends this process by the signal that ended a child, without a core dump. Returns if the signal does not end
/// processes.
pub fn end_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads the limit; the default action has no handler that could do harm.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
