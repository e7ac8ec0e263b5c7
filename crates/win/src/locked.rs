// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data with a lock, for threads that were not forked away from it.

use core::marker::PhantomData;

use ntux::{Mutex, MutexGuard};
use ntux_platform::atomic::Word64;
use ntux_platform::liveness;

use crate::kept;

/// See the module.
pub struct Locked<T> {
    data: Mutex<T>,
    /// The process that has made it.
    maker: u32,
    /// How often the lock was taken: a checker knows a state by what its threads have read.
    #[cfg(ntux_explore)]
    taken: Word64,
}

impl<T> Locked<T> {
    pub fn new(data: T) -> Locked<T> {
        Locked {
            data: Mutex::new(data),
            maker: liveness::generation(),
            #[cfg(ntux_explore)]
            taken: Word64::new(0),
        }
    }

    /// Returns true if this process has made it. In a forked child its lock may be held for ever.
    pub fn is_made_here(&self) -> bool {
        self.maker == liveness::generation()
    }

    /// None in a forked child.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if !self.is_made_here() {
            return None;
        }
        let guard = self.data.lock().unwrap_or_else(|error| error.into_guard().expect("there is no deadline"));
        #[cfg(ntux_explore)]
        self.taken.fetch_add(1);
        Some(guard)
    }
}

/// One value of each process: a forked child makes its own, and leaves its parent's alone.
pub struct PerProcess<T> {
    /// 0, or the address of the latest.
    latest: Word64,
    value: PhantomData<fn() -> T>,
}

impl<T: Send + 'static> PerProcess<T> {
    pub const fn new() -> PerProcess<T> {
        PerProcess { latest: Word64::new(0), value: PhantomData }
    }

    /// The value of this process, if it was made.
    pub fn get(&self) -> Option<&'static Locked<T>> {
        // SAFETY: null, or what `get_or_make` has kept, for ever.
        let latest = unsafe { core::ptr::with_exposed_provenance::<Locked<T>>(self.latest.load() as usize).as_ref() };
        latest.filter(|latest| latest.is_made_here())
    }

    /// The same, made if it was not.
    pub fn get_or_make(&self, make: impl Fn() -> T) -> &'static Locked<T> {
        loop {
            let seen = self.latest.load();
            if let Some(made) = self.get() {
                return made;
            }
            let made = kept::keep(Box::new(Locked::new(make())));
            if self.latest.compare_exchange(seen, made.expose_provenance() as u64).is_err() {
                // SAFETY: kept just now, and nobody has seen it.
                drop(unsafe { kept::take_back(made) });
            }
        }
    }
}
