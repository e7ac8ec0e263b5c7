// SPDX-License-Identifier: MIT OR Apache-2.0
//! One eventfd for each object; a wait is poll, then read (the design of esync).
//!
//! The read may not find what the poll saw, so both repeat. Wait-all polls the objects one after the other, then reads
//! each, and writes back what it took if one of them was gone.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use super::{Peer, Poll, Reset, descriptors_max};

const WAIT_COUNT_MAX: usize = 64;
/// Milliseconds of a poll.
const FOR_EVER: i32 = -1;
const AT_ONCE: i32 = 0;

/// A descriptor, and whether a wait reads it.
#[derive(Clone, Copy)]
pub struct Object {
    fd: RawFd,
    taken_by_read: bool,
}

/// Keeps the descriptors open; the objects are their numbers.
#[derive(Default)]
pub struct EventFd(Mutex<Vec<OwnedFd>>);

impl EventFd {
    fn create(&self, count: u32, flags: i32, taken_by_read: bool) -> io::Result<Object> {
        // SAFETY: creates a descriptor, touches no memory.
        let fd = unsafe { libc::eventfd(count, flags | libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above made it and nobody else has it.
        let owned = unsafe { OwnedFd::from_raw_fd(fd) };
        let object = Object { fd: owned.as_raw_fd(), taken_by_read };
        self.0.lock().expect("no thread panics while it holds the list").push(owned);
        Ok(object)
    }
}

impl Peer for EventFd {
    type Thread = ();
    type Object = Object;

    fn objects_max(&self) -> usize {
        descriptors_max()
    }

    fn join(&self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn mutex(&self, _: &mut ()) -> io::Result<Object> {
        self.create(1, libc::EFD_SEMAPHORE, true)
    }

    fn semaphore(&self, _: &mut (), count: u32, _max: u32) -> io::Result<Object> {
        self.create(count, libc::EFD_SEMAPHORE, true)
    }

    fn event(&self, _: &mut (), reset: Reset) -> io::Result<Object> {
        self.create(0, 0, reset == Reset::Auto)
    }

    fn wait_any(&self, _: &mut (), objects: &[Object]) -> io::Result<usize> {
        loop {
            let mut list = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; WAIT_COUNT_MAX];
            list.iter_mut().zip(objects).for_each(|(entry, object)| entry.fd = object.fd);
            poll(&mut list[..objects.len()], FOR_EVER)?;
            for (index, object) in objects.iter().enumerate() {
                if list[index].revents != 0 && take(*object)? {
                    return Ok(index);
                }
            }
        }
    }

    fn wait_all(&self, _: &mut (), objects: &[Object]) -> io::Result<()> {
        loop {
            for object in objects {
                poll(&mut [entry(*object)], FOR_EVER)?;
            }
            if take_all(objects)? {
                return Ok(());
            }
        }
    }

    fn unlock(&self, _: &mut (), mutex: Object) -> io::Result<()> {
        add(mutex, 1)
    }

    fn release(&self, _: &mut (), semaphore: Object, count: u32) -> io::Result<()> {
        add(semaphore, count)
    }

    fn set(&self, _: &mut (), event: Object) -> io::Result<()> {
        add(event, 1)
    }

    fn reset(&self, _: &mut (), event: Object) -> io::Result<()> {
        read(event).map(|_| ())
    }
}

impl Poll for EventFd {
    fn try_all(&self, _: &mut (), objects: &[Object]) -> io::Result<bool> {
        for object in objects {
            if !poll(&mut [entry(*object)], AT_ONCE)? {
                return Ok(false);
            }
        }
        take_all(objects)
    }

    fn is_signaled(&self, _: &mut (), event: Object) -> io::Result<bool> {
        poll(&mut [entry(event)], AT_ONCE)
    }
}

fn entry(object: Object) -> libc::pollfd {
    libc::pollfd { fd: object.fd, events: libc::POLLIN, revents: 0 }
}

/// Returns whether one of them can be read.
fn poll(list: &mut [libc::pollfd], milliseconds: i32) -> io::Result<bool> {
    // SAFETY: the kernel reads and writes `list.len()` entries.
    match unsafe { libc::poll(list.as_mut_ptr(), list.len() as libc::nfds_t, milliseconds) } {
        result if result < 0 => Err(io::Error::last_os_error()),
        ready => Ok(ready != 0),
    }
}

/// Takes one after the other; returns false, and puts back what it took, when one is not signaled any more.
fn take_all(objects: &[Object]) -> io::Result<bool> {
    let mut taken = 0;
    while taken < objects.len() && take(objects[taken])? {
        taken += 1;
    }
    if taken == objects.len() {
        return Ok(true);
    }
    for object in objects[..taken].iter().filter(|object| object.taken_by_read) {
        add(*object, 1)?;
    }
    Ok(false)
}

/// Takes the object; false when it is not signaled any more.
fn take(object: Object) -> io::Result<bool> {
    if object.taken_by_read { read(object) } else { Ok(true) }
}

fn read(object: Object) -> io::Result<bool> {
    let mut value = 0u64;
    // SAFETY: the kernel writes 8 bytes into `value`.
    if unsafe { libc::read(object.fd, (&raw mut value).cast(), 8) } == 8 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}

fn add(object: Object, count: u32) -> io::Result<()> {
    let value = u64::from(count);
    // SAFETY: the kernel reads 8 bytes from `value`.
    if unsafe { libc::write(object.fd, (&raw const value).cast(), 8) } == 8 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
