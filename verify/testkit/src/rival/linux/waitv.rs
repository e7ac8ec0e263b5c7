// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futex words, `futex_waitv` and a retry (the design of fsync).
//!
//! A wait tries every object, then sleeps on all the words at once, then tries again. A signal wakes everybody that
//! sleeps on the word, because a woken thread may take another object than the one for which it was woken. Nothing is
//! handed over: the first thread to run takes the object.

use std::io;

use super::words::{Kind, Object, Words};
use super::{Peer, Poll, Reset, unsupported};

const WAIT_COUNT_MAX: usize = 64;
const EVERYBODY: u32 = i32::MAX as u32;
const FUTEX2_SIZE_U32: u32 = 2;
/// The same number on every architecture.
const SYS_FUTEX_WAITV: libc::c_long = 449;

/// What the kernel reads for each word (`struct futex_waitv`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl Entry {
    const NONE: Self = Self { value: 0, address: 0, flags: FUTEX2_SIZE_U32, reserved: 0 };
}

/// With `COUNTED`, sleepers are counted in the word: a signal that nobody waits for needs no call, but a sleep over N
/// objects costs 2 N more atomic steps. Without it every signal calls the kernel, as fsync does.
pub struct WaitV<const COUNTED: bool>(Words);

impl<const COUNTED: bool> WaitV<COUNTED> {
    /// Without an object.
    pub fn open() -> io::Result<Self> {
        let peer = Self(Words::map()?);
        // An empty list is refused with EINVAL by a kernel that has the call.
        match wait_v(&[]).err().and_then(|error| error.raw_os_error()) {
            Some(libc::ENOSYS) => unsupported("no futex_waitv in this kernel"),
            Some(libc::EPERM) => unsupported("futex_waitv is refused here (seccomp)"),
            _ => Ok(peer),
        }
    }

    #[inline(always)]
    fn signal(&self, object: Object, change: impl Fn(u32) -> u32) -> io::Result<()> {
        if self.0.give(object, change) != 0 || !COUNTED {
            self.0.cell(object).wake(EVERYBODY);
        }
        Ok(())
    }

    #[cold]
    fn sleep(&self, objects: &[Object], values: &[u32]) -> io::Result<()> {
        if COUNTED {
            objects.iter().for_each(|&object| self.0.count_sleeper(object));
        }
        let mut list = [Entry::NONE; WAIT_COUNT_MAX];
        for ((entry, &object), &value) in list.iter_mut().zip(objects).zip(values) {
            entry.value = u64::from(value);
            entry.address = self.0.cell(object).address() as u64;
        }
        let result = wait_v(&list[..objects.len()]);
        if COUNTED {
            objects.iter().for_each(|&object| self.0.discount_sleeper(object));
        }
        result
    }

    /// Takes all, or puts back what it took and says which one was missing, with its value.
    fn take_all(&self, owner: u32, objects: &[Object]) -> Result<(), (usize, u32)> {
        for (index, &object) in objects.iter().enumerate() {
            if let Err(value) = self.0.take(object, owner) {
                objects[..index].iter().for_each(|&taken| self.put_back(taken));
                return Err((index, value));
            }
        }
        Ok(())
    }

    fn put_back(&self, object: Object) {
        let _: io::Result<()> = match object.kind {
            Kind::Mutex => self.signal(object, |_| 0),
            Kind::Semaphore => self.signal(object, |value| value.wrapping_add(1)),
            Kind::Event(_) => self.signal(object, |_| 1),
        };
    }
}

impl<const COUNTED: bool> Peer for WaitV<COUNTED> {
    type Thread = u32;
    type Object = Object;

    fn join(&self, owner: u32) -> io::Result<u32> {
        Ok(owner)
    }

    fn mutex(&self, _: &mut u32) -> io::Result<Object> {
        self.0.create(Kind::Mutex, 0)
    }

    fn semaphore(&self, _: &mut u32, count: u32, _max: u32) -> io::Result<Object> {
        self.0.create(Kind::Semaphore, count)
    }

    fn event(&self, _: &mut u32, reset: Reset) -> io::Result<Object> {
        self.0.create(Kind::Event(reset), 0)
    }

    #[inline(always)]
    fn wait_any(&self, owner: &mut u32, objects: &[Object]) -> io::Result<usize> {
        let mut values = [0; WAIT_COUNT_MAX];
        loop {
            for (index, &object) in objects.iter().enumerate() {
                match self.0.take(object, *owner) {
                    Ok(()) => return Ok(index),
                    Err(value) => values[index] = value,
                }
            }
            self.sleep(objects, &values[..objects.len()])?;
        }
    }

    fn wait_all(&self, owner: &mut u32, objects: &[Object]) -> io::Result<()> {
        while let Err((missing, value)) = self.take_all(*owner, objects) {
            self.sleep(&objects[missing..=missing], &[value])?;
        }
        Ok(())
    }

    #[inline(always)]
    fn unlock(&self, _: &mut u32, mutex: Object) -> io::Result<()> {
        self.signal(mutex, |_| 0)
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: Object, count: u32) -> io::Result<()> {
        self.signal(semaphore, |value| value.wrapping_add(count))
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: Object) -> io::Result<()> {
        self.signal(event, |_| 1)
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: Object) -> io::Result<()> {
        self.0.give(event, |_| 0);
        Ok(())
    }
}

impl<const COUNTED: bool> Poll for WaitV<COUNTED> {
    fn try_all(&self, owner: &mut u32, objects: &[Object]) -> io::Result<bool> {
        Ok(self.take_all(*owner, objects).is_ok())
    }

    fn is_signaled(&self, _: &mut u32, event: Object) -> io::Result<bool> {
        Ok(self.0.value(event) == 1)
    }
}

/// Sleeps until one of the words is woken or differs; shared, 32 bits each, no deadline.
fn wait_v(list: &[Entry]) -> io::Result<()> {
    let no_deadline = core::ptr::null::<libc::timespec>();
    // SAFETY: the kernel reads `list.len()` entries and the words that they name, which live in a mapping.
    let result = unsafe { libc::syscall(SYS_FUTEX_WAITV, list.as_ptr(), list.len(), 0, no_deadline, 0) };
    if result >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(()),
        error => Err(error),
    }
}
