// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate `parking_lot`: what a program uses whose threads share nothing with other processes.
//!
//! A mutex is its raw mutex; the others are a value under a mutex, with a condition variable. It cannot wait for several.

use std::io;

use parking_lot::lock_api::RawMutex as _;
use parking_lot::{Condvar, Mutex, RawMutex};

use super::{Peer, Reset, unsupported};

pub(crate) struct Parking;

/// Lives as long as the process: objects are named by copies.
pub(crate) enum Thing {
    Mutex(RawMutex),
    /// Units, and whether a wait takes one.
    Units(Mutex<u32>, Condvar, Reset),
}

impl Parking {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self)
    }
}

fn created(thing: Thing) -> io::Result<&'static Thing> {
    Ok(Box::leak(Box::new(thing)))
}

fn units(count: u32, reset: Reset) -> io::Result<&'static Thing> {
    created(Thing::Units(Mutex::new(count), Condvar::new(), reset))
}

fn refused<T>() -> io::Result<T> {
    unsupported("another kind of object")
}

impl Peer for Parking {
    type Thread = ();
    type Object = &'static Thing;

    fn is_shared(&self) -> bool {
        false
    }

    fn join(&self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn mutex(&self, (): &mut ()) -> io::Result<&'static Thing> {
        created(Thing::Mutex(RawMutex::INIT))
    }

    fn semaphore(&self, (): &mut (), count: u32, _max: u32) -> io::Result<&'static Thing> {
        units(count, Reset::Auto)
    }

    fn event(&self, (): &mut (), reset: Reset) -> io::Result<&'static Thing> {
        units(0, reset)
    }

    fn wait_any(&self, thread: &mut (), objects: &[&'static Thing]) -> io::Result<usize> {
        match *objects {
            [object] => self.wait(thread, object).map(|()| 0),
            _ => unsupported("a condition variable for each object"),
        }
    }

    fn wait_all(&self, (): &mut (), _: &[&'static Thing]) -> io::Result<()> {
        unsupported("a condition variable for each object")
    }

    #[inline(always)]
    fn wait(&self, (): &mut (), object: &'static Thing) -> io::Result<()> {
        match object {
            Thing::Mutex(mutex) => mutex.lock(),
            Thing::Units(value, condition, reset) => {
                let mut value = value.lock();
                while *value == 0 {
                    condition.wait(&mut value);
                }
                *value -= u32::from(*reset == Reset::Auto);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn unlock(&self, (): &mut (), mutex: &'static Thing) -> io::Result<()> {
        let Thing::Mutex(mutex) = mutex else { return refused() };
        // SAFETY: every scenario unlocks what the same thread has locked.
        unsafe { mutex.unlock() };
        Ok(())
    }

    #[inline(always)]
    fn release(&self, (): &mut (), semaphore: &'static Thing, count: u32) -> io::Result<()> {
        let Thing::Units(value, condition, _) = semaphore else { return refused() };
        *value.lock() += count;
        (0..count).for_each(|_| {
            condition.notify_one();
        });
        Ok(())
    }

    #[inline(always)]
    fn set(&self, (): &mut (), event: &'static Thing) -> io::Result<()> {
        let Thing::Units(value, condition, reset) = event else { return refused() };
        *value.lock() = 1;
        match reset {
            Reset::Auto => _ = condition.notify_one(),
            Reset::Manual => _ = condition.notify_all(),
        }
        Ok(())
    }

    #[inline(always)]
    fn reset(&self, (): &mut (), event: &'static Thing) -> io::Result<()> {
        let Thing::Units(value, ..) = event else { return refused() };
        *value.lock() = 0;
        Ok(())
    }
}
