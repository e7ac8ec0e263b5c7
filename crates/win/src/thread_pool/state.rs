// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that the thread pools of a process know, with one lock; and what who holds the lock owes to others.
//!
//! # Role
//! One lock, so that a wait, a timer, a pool and a group never disagree. Nobody calls the program, sleeps, starts a thread or touches the
//! arena while having it: what is to be done outside is noted as owed, and done by the guard when the lock is free.
//!
//! # Death
//! The threads of a process die together. A forked child has pools of its own: what its parent has made is refused there, and never called.

use core::ops::{Deref, DerefMut};

use ntux::MutexGuard;
use ntux_sync::Object;

use super::group::Group;
use super::item::Item;
use super::queue::Queue;
use super::schedule::{self, Clock};
use super::seat::Seat;
use super::slab::{Id, Slab};
use super::wait_threads::WaitThread;
use super::workers::{self, Pool};
use crate::arena::set;
use crate::locked::PerProcess;
use crate::record::Target;
use crate::start;

/// See the module.
pub struct State {
    pub items: Slab<Item>,
    pub pools: Slab<Pool>,
    pub groups: Slab<Group>,
    pub queues: Slab<Queue>,
    pub wait_threads: Slab<WaitThread>,
    pub clock: Clock,
    /// The pool of those that name none.
    pub default: Option<Id<Pool>>,
    pub owed: Owed,
}

/// What is done when the lock is free.
#[derive(Default)]
pub struct Owed {
    /// They were taken out of their lists.
    pub calls: Vec<Seat>,
    /// Threads for pools, which are counted already, with the sizes of their stacks.
    pub workers: Vec<(Id<Pool>, usize)>,
    /// The thread of the timers, which counts as there.
    pub clock: bool,
    /// Alerts of wait threads. One of a thread that has ended is closed.
    pub alerts: Vec<Object>,
    /// Records that were held.
    pub releases: Vec<Target>,
    /// Events to set, whose records were held.
    pub events: Vec<Target>,
}

static STATE: PerProcess<State> = PerProcess::new();

/// The state of this process, with the lock. (None never comes: it is this process that has made it.)
pub fn state() -> Option<Guard> {
    let new = || State {
        items: Slab::new(),
        pools: Slab::new(),
        groups: Slab::new(),
        queues: Slab::new(),
        wait_threads: Slab::new(),
        clock: Clock::new(),
        default: None,
        owed: Owed::default(),
    };
    STATE.get_or_make(new).lock().map(|guard| Guard(Some(guard)))
}

/// The lock.
pub struct Guard(Option<MutexGuard<'static, State>>);

impl Deref for Guard {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_deref().expect("it has the lock until it is dropped")
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_deref_mut().expect("it has the lock until it is dropped")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let owed = core::mem::take(&mut self.owed);
        self.0 = None;
        owed.pay();
    }
}

impl Owed {
    fn pay(self) {
        for (pool, stack) in self.workers {
            start::detached(workers::main, pool.pointer(), stack).unwrap_or_else(|_| workers::not_started(pool));
        }
        if self.clock {
            start::detached(schedule::main, core::ptr::null_mut(), 0).unwrap_or_else(|_| schedule::not_started());
        }
        self.calls.into_iter().for_each(Seat::call);
        self.alerts.into_iter().for_each(set);
        for target in self.events {
            if let Some(record) = target.record() {
                set(record.object());
            }
            target.release();
        }
        self.releases.into_iter().for_each(Target::release);
    }
}
