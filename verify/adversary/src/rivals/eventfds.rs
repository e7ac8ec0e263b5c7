//! An eventfd for each object: signaling is a write, acquiring is a read that does not block, waiting is a poll.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::Design;

pub const NAME: &str = "an eventfd for each object";

struct EventFds([OwnedFd; 3]);

pub fn open() -> io::Result<Box<dyn Design>> {
    Ok(Box::new(EventFds([eventfd(0)?, eventfd(1)?, eventfd(1)?])))
}

fn eventfd(value: u32) -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    match unsafe { libc::eventfd(value, libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE) } {
        // SAFETY: the kernel has just given this descriptor to us.
        fd if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

impl EventFds {
    fn write(&self, which: usize) {
        let one = 1u64;
        // SAFETY: eight bytes that are alive.
        unsafe { libc::write(self.0[which].as_raw_fd(), (&raw const one).cast(), 8) };
    }

    fn read(&self, which: usize) -> bool {
        let mut value = 0u64;
        // SAFETY: room for eight bytes.
        unsafe { libc::read(self.0[which].as_raw_fd(), (&raw mut value).cast(), 8) == 8 }
    }

    fn poll(&self, which: usize, milliseconds: i32) -> bool {
        let mut entry = libc::pollfd { fd: self.0[which].as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry that is alive.
        unsafe { libc::poll(&mut entry, 1, milliseconds) == 1 }
    }
}

impl Design for EventFds {
    fn set(&self) {
        self.write(0);
    }

    fn wait(&self) {
        while !self.read(0) {
            self.poll(0, -1);
        }
    }

    fn is_signaled(&self) -> bool {
        self.poll(0, 0)
    }

    fn take_both(&self) -> bool {
        if !(self.poll(1, 0) && self.poll(2, 0) && self.read(1)) {
            return false;
        }
        let both = self.read(2);
        if !both {
            self.write(1);
        }
        both
    }

    fn take(&self, which: usize) -> bool {
        self.read(1 + which)
    }
}
