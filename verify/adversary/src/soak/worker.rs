// SPDX-License-Identifier: MIT OR Apache-2.0
//! A worker: makes random operations until it is killed, and records each before and after.

use std::time::Duration;

use fastrand::Rng;
use ntux_platform::clock;
use ntux_sync::{Arena, Deadline, Error, New, Object, Result, Satisfied, Waiter};

use super::ledger::{Hold, Ledger, Objects, Page};
use ntux_testkit::task::Task;

/// What must not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Wrong {
    /// A living thread is inside a mutex that was acquired.
    TwoInside = 1,
    /// A mutex that this thread owns cannot be unlocked.
    NotOwner,
    /// A unit cannot be given back: there are too many.
    TooMany,
    /// An operation failed for no reason.
    Failed,
}

impl Wrong {
    pub fn of(number: u32) -> Option<Wrong> {
        [Wrong::TwoInside, Wrong::NotOwner, Wrong::TooMany, Wrong::Failed]
            .into_iter()
            .find(|&wrong| wrong as u32 == number)
    }
}

/// One worker process.
pub struct Worker<'a> {
    pub arena: &'a Arena,
    pub objects: Objects,
    pub ledger: &'static Ledger,
    /// Which page of the ledger is its own; the owner id is one more.
    pub number: usize,
    pub random: Rng,
    /// Planted: now and then it does not give a unit back.
    pub keeps: bool,
}

impl Worker<'_> {
    /// Works until the process is killed.
    pub fn run(mut self) -> ! {
        let mut waiter = self.arena.waiter();
        self.page().thread.store(Task::current().number());
        loop {
            while self.ledger.pause.load() != 0 {
                self.page().paused.store(1);
                std::thread::sleep(Duration::from_micros(200));
            }
            self.page().paused.store(0);
            self.step(&mut waiter);
            self.page().progress.fetch_add(1);
        }
    }

    fn page(&self) -> &'static Page {
        &self.ledger.pages[self.number]
    }

    fn owner(&self) -> u32 {
        self.number as u32 + 1
    }

    fn step(&mut self, waiter: &mut Waiter) {
        let (mutex, semaphore) = (self.random.usize(..2), self.random.usize(..2));
        let event = self.objects.events[self.random.usize(..self.objects.events.len())];
        match self.random.u32(..16) {
            0..5 => self.under_the_mutex(waiter, mutex),
            5..8 => self.with_a_unit(waiter, semaphore),
            8..10 => self.with_both(waiter, mutex, semaphore),
            10 => self.checked(self.arena.event_set(waiter, event).map(|_| ())),
            11 => self.checked(self.arena.event_pulse(waiter, event).map(|_| ())),
            12 => self.checked(self.arena.event_reset(waiter, event).map(|_| ())),
            13 => self.for_an_event(waiter, event),
            14 => self.make_one(waiter),
            _ => {
                self.arena.retire(waiter);
                *waiter = self.arena.waiter();
            }
        }
    }

    fn soon(&mut self) -> Deadline {
        Deadline::Monotonic(clock::monotonic_ns() + u64::from(self.random.u32(..3_000_000)))
    }

    fn wrong(&self, wrong: Wrong) {
        self.page().wrong.store(wrong as u32);
    }

    fn checked(&self, result: Result<()>) {
        if result.is_err() {
            self.wrong(Wrong::Failed);
        }
    }

    fn under_the_mutex(&mut self, waiter: &Waiter, mutex: usize) {
        let hold = &self.page().mutexes[mutex];
        hold.set(Hold::Taking);
        let wait = self.arena.wait_any(waiter, &[self.objects.mutexes[mutex]], None, self.owner(), Deadline::Never);
        match wait {
            Ok(Satisfied { abandoned, .. }) => self.inside(waiter, mutex, abandoned),
            Err(_) => self.wrong(Wrong::Failed),
        }
    }

    fn inside(&mut self, waiter: &Waiter, mutex: usize, abandoned: bool) {
        let page = self.page();
        if abandoned {
            self.ledger.abandoned[mutex].fetch_add(1);
        }
        page.mutexes[mutex].set(Hold::Yes);
        let inside = &self.ledger.inside[mutex];
        if !abandoned && inside.load() != 0 {
            self.wrong(Wrong::TwoInside);
        }
        inside.store(self.owner());
        for _ in 0..self.random.u32(..200) {
            std::hint::spin_loop();
        }
        if inside.load() != self.owner() {
            self.wrong(Wrong::TwoInside);
        }
        inside.store(0);
        page.mutexes[mutex].set(Hold::Giving);
        if self.arena.mutex_unlock(waiter, self.objects.mutexes[mutex], self.owner()) != Ok(1) {
            self.wrong(Wrong::NotOwner);
        }
        page.mutexes[mutex].set(Hold::No);
    }

    fn with_a_unit(&mut self, waiter: &Waiter, semaphore: usize) {
        let deadline = self.soon();
        let page = self.page();
        page.semaphores[semaphore].set(Hold::Taking);
        match self.arena.wait_any(waiter, &[self.objects.semaphores[semaphore]], None, self.owner(), deadline) {
            Ok(_) => {
                page.semaphores[semaphore].set(Hold::Yes);
                self.give_back(waiter, semaphore);
            }
            Err(Error::TimedOut) => page.semaphores[semaphore].set(Hold::No),
            Err(_) => self.wrong(Wrong::Failed),
        }
    }

    fn give_back(&mut self, waiter: &Waiter, semaphore: usize) {
        let hold = &self.page().semaphores[semaphore];
        hold.set(Hold::Giving);
        let keeps = self.keeps && self.random.u32(..1000) == 0;
        if !keeps && self.arena.semaphore_release(waiter, self.objects.semaphores[semaphore], 1).is_err() {
            self.wrong(Wrong::TooMany);
        }
        hold.set(Hold::No);
    }

    fn with_both(&mut self, waiter: &Waiter, mutex: usize, semaphore: usize) {
        let deadline = self.soon();
        let page = self.page();
        page.mutexes[mutex].set(Hold::Taking);
        page.semaphores[semaphore].set(Hold::Taking);
        let objects = [self.objects.mutexes[mutex], self.objects.semaphores[semaphore]];
        match self.arena.wait_all(waiter, &objects, None, self.owner(), deadline) {
            Ok(Satisfied { abandoned, .. }) => {
                page.semaphores[semaphore].set(Hold::Yes);
                self.inside(waiter, mutex, abandoned);
                self.give_back(waiter, semaphore);
            }
            Err(Error::TimedOut) => {
                page.mutexes[mutex].set(Hold::No);
                page.semaphores[semaphore].set(Hold::No);
            }
            Err(_) => self.wrong(Wrong::Failed),
        }
    }

    fn for_an_event(&mut self, waiter: &Waiter, event: Object) {
        let deadline = self.soon();
        let alert = self.objects.events[0];
        let alert = (alert != event).then_some(alert);
        match self.arena.wait_any(waiter, &[event], alert, self.owner(), deadline) {
            Ok(_) | Err(Error::TimedOut) => {}
            Err(_) => self.wrong(Wrong::Failed),
        }
    }

    fn make_one(&mut self, waiter: &Waiter) {
        let made = self.arena.create_new(waiter, New::Semaphore { count: 1, max: 1 });
        self.checked(made.and_then(|object| self.arena.close(object)));
    }
}
