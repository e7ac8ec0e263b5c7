// SPDX-License-Identifier: MIT OR Apache-2.0
//! The floor: one futex word for each object, and only waits for one object.
//!
//! No design that can block is cheaper. It cannot wait for several objects, does not know who owns what after a
//! kill, and lets a running thread take an object that a sleeping one was woken for.

use std::io;

use super::words::{Kind, Object, Words};
use super::{Peer, Reset, unsupported};

/// See the module.
pub struct Futex(Words);

impl Futex {
    /// Without an object.
    pub fn open() -> io::Result<Self> {
        Words::map().map(Self)
    }

    /// Takes the object if it is signaled.
    #[inline(always)]
    pub(super) fn try_take(&self, object: Object, owner: u32) -> bool {
        self.0.take(object, owner).is_ok()
    }

    /// Returns whether it would be worth trying to take the object.
    #[inline(always)]
    pub(super) fn is_signaled(&self, object: Object) -> bool {
        (self.0.value(object) == 0) == (object.kind == Kind::Mutex)
    }

    #[inline(always)]
    fn signal(&self, object: Object, count: u32, change: impl Fn(u32) -> u32) {
        if self.0.give(object, change) != 0 {
            self.0.cell(object).wake(count);
        }
    }

    #[cold]
    fn sleep(&self, object: Object, value: u32) {
        self.0.count_sleeper(object);
        self.0.cell(object).sleep(value);
        self.0.discount_sleeper(object);
    }
}

impl Peer for Futex {
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

    fn wait_any(&self, owner: &mut u32, objects: &[Object]) -> io::Result<usize> {
        match *objects {
            [object] => self.wait(owner, object).map(|()| 0),
            _ => unsupported("a futex wait has one object"),
        }
    }

    fn wait_all(&self, _: &mut u32, _: &[Object]) -> io::Result<()> {
        unsupported("a futex wait has one object")
    }

    #[inline(always)]
    fn wait(&self, owner: &mut u32, object: Object) -> io::Result<()> {
        while let Err(value) = self.0.take(object, *owner) {
            self.sleep(object, value);
        }
        Ok(())
    }

    #[inline(always)]
    fn unlock(&self, _: &mut u32, mutex: Object) -> io::Result<()> {
        self.signal(mutex, 1, |_| 0);
        Ok(())
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: Object, count: u32) -> io::Result<()> {
        self.signal(semaphore, count, |value| value.wrapping_add(count));
        Ok(())
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: Object) -> io::Result<()> {
        let count = if event.kind == Kind::Event(Reset::Manual) { i32::MAX as u32 } else { 1 };
        self.signal(event, count, |_| 1);
        Ok(())
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: Object) -> io::Result<()> {
        self.0.give(event, |_| 0);
        Ok(())
    }
}
