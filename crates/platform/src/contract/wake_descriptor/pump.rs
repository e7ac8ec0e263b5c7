// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that sleeps on a word, and then raises a flag that is polled: for systems without rings.
//!
//! # Role
//! One thread for each descriptor, from its first arming until it is dropped. All signals are blocked in it.
//!
//! # Picture
//! ```text
//!            arm            the thread takes it           a wake, or due
//!  idle  -----------> asked ------------------> asleep --------------------> idle, the flag is raised
//!                       ^                         |
//!                       +-------------------------+   arm for another time: it is woken first
//! ```
//! # Invariants
//! * I-pump-1: the flag is lowered by who arms, before the word is compared; it is raised by the thread after each sleep. Both are done under
//!   the lock.
//! * I-pump-2: a thread that is asleep for another value of the same word is a sleeper like any other: who arms need only see that the word has
//!   the value then. A change after that wakes the thread, or another sleeper, as it would if the thread had compared the value itself.
//! * I-pump-3: the thread may be about to fall asleep when it is woken for another order, and miss that wake. So it is woken until it has
//!   answered. Others on the word may be woken with it, for nothing.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Awaited, Flag, Flags};
use crate::Here;
use crate::clock::Deadline;
use crate::futex;
use crate::watching::segv::Blocked;

/// A flag, and the thread that raises it.
pub(super) struct Pump {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    flag: <Here as Flags>::Flag,
    state: Mutex<State>,
    /// There is something to sleep for, or no more.
    asked: Condvar,
}

#[derive(Default)]
struct State {
    asked: Option<Awaited>,
    asleep: Option<Awaited>,
    /// The word on which the thread slept last, or is about to.
    last: Option<Awaited>,
    is_over: bool,
}

impl Pump {
    pub(super) fn new() -> io::Result<Pump> {
        let shared = Shared { flag: Here::flag()?, state: Mutex::default(), asked: Condvar::new() };
        Ok(Pump { shared: Arc::new(shared), thread: Mutex::default() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.shared.flag.fd()
    }

    /// # Safety
    /// That of [`super::WakeDescriptor::arm`].
    pub(super) unsafe fn arm(&self, awaited: Awaited) -> io::Result<()> {
        self.start()?;
        let state = self.shared.lock();
        // I-pump-2
        if state.asleep.is_some_and(|asleep| (asleep.word, asleep.due) == (awaited.word, awaited.due)) {
            self.shared.flag.lower();
            // SAFETY: mapped and aligned by the contract.
            if !unsafe { awaited.holds() } {
                self.shared.flag.raise();
            }
            return Ok(());
        }
        let mut state = self.shared.awake(state);
        self.shared.flag.lower();
        (state.asked, state.last) = (Some(awaited), Some(awaited));
        self.shared.asked.notify_one();
        Ok(())
    }

    pub(super) fn raise(&self) {
        let _state = self.shared.lock();
        self.shared.flag.raise();
    }

    fn start(&self) -> io::Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            // The thread that it starts will take no signals either.
            let _quiet = Blocked::all();
            *thread = Some(thread::Builder::new().name("ntux-wake".to_owned()).spawn(move || shared.serve())?);
        }
        Ok(())
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let last = state.last;
        state.is_over = true;
        drop(self.shared.awake(state));
        self.shared.asked.notify_one();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
        // I-wakefd-3
        if let Some(last) = last {
            futex::wake(last.word, 1);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread until it is not asleep (I-pump-3).
    fn awake<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.asked = None;
        while let Some(asleep) = state.asleep {
            drop(state);
            // The kernel takes a larger count for a negative one.
            futex::wake(asleep.word, i32::MAX as u32);
            thread::sleep(Duration::from_micros(20));
            state = self.lock();
        }
        state
    }

    /// The thread.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.is_over {
            let Some(awaited) = state.asked.take() else {
                state = self.asked.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.asleep = Some(awaited);
            drop(state);
            futex::wait_until_due(awaited.word, awaited.expected, Deadline::Never, awaited.due);
            state = self.lock();
            state.asleep = None;
            self.flag.raise();
        }
    }
}
