// SPDX-License-Identifier: MIT OR Apache-2.0
//! K counters, and consumers that take from any that is not zero: one implementation for each way to wait for several
//! things, each written as a program without alternatives would be.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use ntux_futex::Deadline;

use super::contender::{Calls, Cell, Contender};
use crate::peer::Peer;
use crate::peer::arena::{RustArena, Seat};

/// What a producer or a consumer has of its own.
#[derive(Default)]
pub(crate) struct Member {
    /// Where it looks first.
    start: usize,
    /// Waits that returned with nothing to take.
    pub(crate) in_vain: u64,
    epoll: Option<OwnedFd>,
    seat: Option<Seat>,
}

impl Member {
    pub(crate) fn starting_at(start: usize) -> Member {
        Member { start, ..Member::default() }
    }
}

/// K counters.
pub(crate) trait Pool: Sync {
    /// Descriptors in use, beside those of consumers.
    fn descriptors(&self) -> usize {
        0
    }

    /// Prepares a consumer.
    fn join(&self, consumer: &mut Member) -> io::Result<()> {
        let _ = consumer;
        Ok(())
    }

    /// Adds one to a counter.
    fn post(&self, producer: &mut Member, index: usize);

    /// Takes one from any counter, and waits for that; false: the end.
    fn take(&self, consumer: &mut Member, end: &AtomicBool) -> bool;

    /// Wakes everybody, after `end` was raised.
    fn end(&self);
}

/// Counters in words, and who waits for any of them sleeps on all.
pub(crate) struct Words<C> {
    cells: Vec<Cell>,
    one: Contender,
    calls: C,
}

impl<C: Calls> Words<C> {
    pub(crate) fn new(count: usize, one: Contender, calls: C) -> Self {
        Self { cells: (0..count).map(|_| Cell::new(0)).collect(), one, calls }
    }

    fn try_take(&self, consumer: &mut Member) -> bool {
        let count = self.cells.len();
        for index in (0..count).map(|step| (consumer.start + step) % count) {
            let less = |value: u64| value.checked_sub(1);
            if self.cells[index].fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                consumer.start = index + 1;
                return true;
            }
        }
        false
    }
}

impl<C: Calls> Pool for Words<C> {
    fn post(&self, _: &mut Member, index: usize) {
        self.cells[index].fetch_add(1, Ordering::SeqCst);
        self.calls.wake(self.one.futex(&self.cells[index]), 1);
    }

    fn take(&self, consumer: &mut Member, end: &AtomicBool) -> bool {
        let empty = self.one.vector(&self.cells, 0);
        let mut waited = false;
        loop {
            if self.try_take(consumer) {
                return true;
            }
            if end.load(Ordering::SeqCst) {
                return false;
            }
            consumer.in_vain += u64::from(waited);
            waited = self.calls.wait_any(&empty, Deadline::Never);
        }
    }

    fn end(&self) {
        for cell in &self.cells {
            self.calls.wake(self.one.futex(cell), u32::MAX);
        }
    }
}

/// One mutex for all counters, and a condition that somebody might find something.
pub(crate) struct Condition {
    counters: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Condition {
    pub(crate) fn new(count: usize) -> Self {
        Self { counters: Mutex::new(vec![0; count]), changed: Condvar::new() }
    }
}

impl Pool for Condition {
    fn post(&self, _: &mut Member, index: usize) {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)[index] += 1;
        // The woken thread might wait for another counter.
        self.changed.notify_all();
    }

    fn take(&self, consumer: &mut Member, end: &AtomicBool) -> bool {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = false;
        loop {
            if let Some(counter) = counters.iter_mut().find(|counter| **counter > 0) {
                *counter -= 1;
                return true;
            }
            if end.load(Ordering::SeqCst) {
                return false;
            }
            consumer.in_vain += u64::from(waited);
            counters = self.changed.wait(counters).unwrap_or_else(PoisonError::into_inner);
            waited = true;
        }
    }

    fn end(&self) {
        drop(self.counters.lock());
        self.changed.notify_all();
    }
}

/// An eventfd for each counter; a consumer polls all of them, or has them in an epoll of its own.
pub(crate) struct EventFds {
    descriptors: Vec<OwnedFd>,
    epoll: bool,
}

fn owned(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call before made it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

impl EventFds {
    pub(crate) fn new(count: usize, epoll: bool) -> io::Result<Self> {
        let flags = libc::EFD_SEMAPHORE | libc::EFD_NONBLOCK | libc::EFD_CLOEXEC;
        // SAFETY: creates a descriptor, touches no memory.
        let descriptors = (0..count).map(|_| owned(unsafe { libc::eventfd(0, flags) })).collect::<io::Result<_>>()?;
        Ok(Self { descriptors, epoll })
    }

    fn try_take(&self, index: usize) -> bool {
        let mut value = 0u64;
        // SAFETY: eight bytes to be written.
        unsafe { libc::read(self.descriptors[index].as_raw_fd(), (&raw mut value).cast(), 8) == 8 }
    }

    /// Sleeps until something can be read; takes it, if nobody else was faster.
    fn poll(&self) -> bool {
        let entry = |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut list: Vec<_> = self.descriptors.iter().map(entry).collect();
        // SAFETY: a list of that length.
        unsafe { libc::poll(list.as_mut_ptr(), list.len() as libc::nfds_t, -1) };
        (0..list.len()).any(|index| list[index].revents != 0 && self.try_take(index))
    }

    fn wait_epoll(&self, epoll: &OwnedFd) -> bool {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: room for eight.
        let ready = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), 8, -1) };
        events[..usize::try_from(ready).unwrap_or(0)].iter().any(|event| self.try_take(event.u64 as usize))
    }
}

impl Pool for EventFds {
    fn descriptors(&self) -> usize {
        self.descriptors.len()
    }

    fn join(&self, consumer: &mut Member) -> io::Result<()> {
        if self.epoll {
            // SAFETY: creates a descriptor, touches no memory.
            let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
            for (index, fd) in self.descriptors.iter().enumerate() {
                let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
                // SAFETY: reads the event; both descriptors are open.
                unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) };
            }
            consumer.epoll = Some(epoll);
        }
        Ok(())
    }

    fn post(&self, _: &mut Member, index: usize) {
        let one = 1u64;
        // SAFETY: eight bytes to be read.
        unsafe { libc::write(self.descriptors[index].as_raw_fd(), (&raw const one).cast(), 8) };
    }

    fn take(&self, consumer: &mut Member, end: &AtomicBool) -> bool {
        loop {
            let took = match &consumer.epoll {
                None => self.poll(),
                Some(epoll) => self.wait_epoll(epoll),
            };
            // What is written at the end is no token.
            if end.load(Ordering::SeqCst) {
                return false;
            }
            if took {
                return true;
            }
            consumer.in_vain += 1;
        }
    }

    fn end(&self) {
        self.post(&mut Member::default(), 0);
    }
}

/// A semaphore of the synchronization core for each counter.
pub(crate) struct Semaphores {
    arena: RustArena,
    objects: Vec<ntux_sync::Object>,
}

impl Semaphores {
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let arena = RustArena::open()?;
        let mut seat = arena.join(1)?;
        let objects = (0..count).map(|_| arena.semaphore(&mut seat, 0, u32::MAX)).collect::<io::Result<_>>()?;
        Ok(Self { arena, objects })
    }

    fn seat<'a>(&self, member: &'a mut Member) -> &'a mut Seat {
        member.seat.get_or_insert_with(|| self.arena.join(1).expect("a seat takes nothing from the arena"))
    }
}

impl Pool for Semaphores {
    fn post(&self, producer: &mut Member, index: usize) {
        let (seat, semaphore) = (self.seat(producer), self.objects[index]);
        self.arena.release(seat, semaphore, 1).expect("a semaphore has room for every token");
    }

    fn take(&self, consumer: &mut Member, end: &AtomicBool) -> bool {
        self.arena.wait_any(self.seat(consumer), &self.objects).expect("so many semaphores can be waited for");
        // What is released at the end is no token.
        !end.load(Ordering::SeqCst)
    }

    fn end(&self) {
        self.post(&mut Member::default(), 0);
    }
}

/// Tokens that were posted and not yet taken; a producer waits when there are too many.
#[derive(Default)]
pub(crate) struct InFlight(AtomicU64);

impl InFlight {
    /// Counts one in, if there are fewer than `limit`.
    pub(crate) fn enter(&self, limit: u64) -> bool {
        let more = |count: u64| (count < limit).then_some(count + 1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
