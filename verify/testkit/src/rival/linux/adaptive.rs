// SPDX-License-Identifier: MIT OR Apache-2.0
//! One futex word for each object; a wait spins before it sleeps.
//!
//! At most twice as long as such spins took on the average, and a hundred looks: the known rule for adaptive mutexes. What
//! the average is, each thread finds out for itself.

use std::hint::spin_loop;
use std::io;

use super::futex::Futex;
use super::words::Object;
use super::{Peer, Reset};

const LOOKS_MOST: i32 = 100;
const LOOKS_LEAST: i32 = 10;
/// The average moves by one part in so many.
const MEMORY: i32 = 8;

/// See the module.
pub struct AdaptiveFutex(Futex);

/// A thread.
pub struct Seat {
    owner: u32,
    /// Looks of a spin, on the average.
    looks: i32,
}

impl AdaptiveFutex {
    /// Without an object.
    pub fn open() -> io::Result<Self> {
        Futex::open().map(Self)
    }

    #[cold]
    fn spin(&self, seat: &mut Seat, object: Object) -> io::Result<()> {
        let most = LOOKS_MOST.min(2 * seat.looks + LOOKS_LEAST);
        let mut looks = 0;
        let taken = loop {
            if looks == most {
                break false;
            }
            looks += 1;
            spin_loop();
            if self.0.is_signaled(object) && self.0.try_take(object, seat.owner) {
                break true;
            }
        };
        seat.looks += (looks - seat.looks) / MEMORY;
        if taken { Ok(()) } else { self.0.wait(&mut seat.owner, object) }
    }
}

impl Peer for AdaptiveFutex {
    type Thread = Seat;
    type Object = Object;

    fn join(&self, owner: u32) -> io::Result<Seat> {
        Ok(Seat { owner, looks: 0 })
    }

    fn mutex(&self, seat: &mut Seat) -> io::Result<Object> {
        self.0.mutex(&mut seat.owner)
    }

    fn semaphore(&self, seat: &mut Seat, count: u32, max: u32) -> io::Result<Object> {
        self.0.semaphore(&mut seat.owner, count, max)
    }

    fn event(&self, seat: &mut Seat, reset: Reset) -> io::Result<Object> {
        self.0.event(&mut seat.owner, reset)
    }

    fn wait_any(&self, seat: &mut Seat, objects: &[Object]) -> io::Result<usize> {
        match *objects {
            [object] => self.wait(seat, object).map(|()| 0),
            _ => self.0.wait_any(&mut seat.owner, objects),
        }
    }

    fn wait_all(&self, seat: &mut Seat, objects: &[Object]) -> io::Result<()> {
        self.0.wait_all(&mut seat.owner, objects)
    }

    #[inline(always)]
    fn wait(&self, seat: &mut Seat, object: Object) -> io::Result<()> {
        if self.0.try_take(object, seat.owner) { Ok(()) } else { self.spin(seat, object) }
    }

    #[inline(always)]
    fn unlock(&self, seat: &mut Seat, mutex: Object) -> io::Result<()> {
        self.0.unlock(&mut seat.owner, mutex)
    }

    #[inline(always)]
    fn release(&self, seat: &mut Seat, semaphore: Object, count: u32) -> io::Result<()> {
        self.0.release(&mut seat.owner, semaphore, count)
    }

    #[inline(always)]
    fn set(&self, seat: &mut Seat, event: Object) -> io::Result<()> {
        self.0.set(&mut seat.owner, event)
    }

    #[inline(always)]
    fn reset(&self, seat: &mut Seat, event: Object) -> io::Result<()> {
        self.0.reset(&mut seat.owner, event)
    }
}
