// SPDX-License-Identifier: MIT OR Apache-2.0
//! Designs with a planted bug, which the scenarios must catch.

use std::io;

use ntux_testkit::rival::Futex;

use super::{Peer, Reset};

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A mutex lets everybody in.
    OpenMutex,
    /// A wait for an event does not wait.
    EagerEvent,
    /// A wait for several reports the one after.
    WrongIndex,
}

/// The futex peer with a bug. Several objects are one: the last of them.
pub(crate) struct Planted {
    pub(crate) bug: Bug,
    pub(crate) inner: Futex,
}

/// An object of the futex peer, or the open mutex.
type Object = Option<<Futex as Peer>::Object>;

impl Peer for Planted {
    type Thread = u32;
    type Object = Object;

    fn join(&self, owner: u32) -> io::Result<u32> {
        self.inner.join(owner)
    }

    fn mutex(&self, thread: &mut u32) -> io::Result<Object> {
        if self.bug == Bug::OpenMutex { Ok(None) } else { self.inner.mutex(thread).map(Some) }
    }

    fn semaphore(&self, thread: &mut u32, count: u32, max: u32) -> io::Result<Object> {
        self.inner.semaphore(thread, count, max).map(Some)
    }

    fn event(&self, thread: &mut u32, reset: Reset) -> io::Result<Object> {
        if self.bug == Bug::EagerEvent { Ok(None) } else { self.inner.event(thread, reset).map(Some) }
    }

    fn wait_any(&self, thread: &mut u32, objects: &[Object]) -> io::Result<usize> {
        let last = objects.len() - 1;
        if let Some(object) = objects[last] {
            self.inner.wait(thread, object)?;
        }
        Ok(if self.bug == Bug::WrongIndex { last + 1 } else { last })
    }

    fn wait_all(&self, thread: &mut u32, objects: &[Object]) -> io::Result<()> {
        self.wait_any(thread, objects).map(|_| ())
    }

    fn unlock(&self, thread: &mut u32, mutex: Object) -> io::Result<()> {
        mutex.map_or(Ok(()), |mutex| self.inner.unlock(thread, mutex))
    }

    fn release(&self, thread: &mut u32, semaphore: Object, count: u32) -> io::Result<()> {
        semaphore.map_or(Ok(()), |semaphore| self.inner.release(thread, semaphore, count))
    }

    fn set(&self, thread: &mut u32, event: Object) -> io::Result<()> {
        event.map_or(Ok(()), |event| self.inner.set(thread, event))
    }

    fn reset(&self, thread: &mut u32, event: Object) -> io::Result<()> {
        event.map_or(Ok(()), |event| self.inner.reset(thread, event))
    }
}
