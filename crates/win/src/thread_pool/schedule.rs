// SPDX-License-Identifier: MIT OR Apache-2.0
//! When timers are due, and the thread that finds them so.
//!
//! # Role
//! One thread of the process sleeps until the first timer is due, and submits what is. It begins with the first timer that is set, and ends
//! when none was for [`IDLE_NS`]. A timer that may be late (its window) waits for others that become due until then.
//!
//! # Picture
//! ```text
//! timer     due |---------------- window ----------------| latest
//! the thread wakes at the last time that is due and not later than the first `latest`: so nothing is early, nothing is later than it may
//! be, and as much as possible comes together
//! ```
//! # Transitions, each with the lock of [`State`]
//! | what | by |
//! | --- | --- |
//! | a timer is due at another time, or not any more; the thread is called if it sleeps too long for that | [`State::set_timer`], [`State::unset`] |
//! | what is due is submitted; a periodic timer is due again | the thread |
//! | the thread sleeps, with its seat as `sleeper` | itself |
//!
//! # Invariants
//! * I-clock: while a timer is due at some time, there is a thread, and it does not sleep longer than until then, or it was called.

use core::ffi::c_void;
use std::collections::{BTreeSet, VecDeque};

use ntux::Deadline;

use super::callback::Next;
use super::item::{Cause, Item};
use super::seat::Seat;
use super::slab::Id;
use super::state::{State, state};
use crate::boundary::call;
use crate::thread::IDLE_NS;

/// What a timer is set to.
#[derive(Default)]
pub struct Timer {
    /// None: not set, or it was due, and will not be again.
    pub due: Option<Deadline>,
    window_ns: u64,
    period_ns: u64,
    /// The program has set it, and not unset it since.
    pub is_set: bool,
    /// Its calls are made by the thread of the timers.
    pub in_timer_thread: bool,
}

impl Timer {
    pub fn new(in_timer_thread: bool) -> Timer {
        Timer { in_timer_thread, ..Timer::default() }
    }

    fn latest(&self) -> Option<Deadline> {
        self.due.map(|due| match due {
            Deadline::Never => Deadline::Never,
            Deadline::Monotonic(ns) => Deadline::Monotonic(ns.saturating_add(self.window_ns)),
            Deadline::Realtime(ns) => Deadline::Realtime(ns.saturating_add(self.window_ns)),
        })
    }
}

/// The times of timers on one clock.
#[derive(Default)]
struct Times {
    due: BTreeSet<(u64, Id<Item>)>,
    latest: BTreeSet<(u64, Id<Item>)>,
}

impl Times {
    /// When the thread is to wake.
    fn next(&self) -> Option<u64> {
        let (latest, _) = *self.latest.first()?;
        self.due.iter().map(|(due, _)| *due).take_while(|due| *due <= latest).last()
    }
}

/// When the thread is to wake, by each clock.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Wakes {
    monotonic: Option<u64>,
    realtime: Option<u64>,
}

impl Wakes {
    fn first(self) -> Option<Deadline> {
        let (monotonic, realtime) = (self.monotonic.map(Deadline::Monotonic), self.realtime.map(Deadline::Realtime));
        match (monotonic, realtime) {
            (Some(first), Some(second)) => Some(first.earlier(second)),
            (first, second) => first.or(second),
        }
    }

    /// Returns true if a thread that sleeps until `others` would be late. Each clock is compared with itself: two of them differ each time
    /// that they are asked.
    fn are_before(self, others: Wakes) -> bool {
        let is_before =
            |wake: Option<u64>, other: Option<u64>| wake.is_some_and(|wake| other.is_none_or(|other| wake < other));
        is_before(self.monotonic, others.monotonic) || is_before(self.realtime, others.realtime)
    }
}

/// See the module.
pub struct Clock {
    monotonic: Times,
    realtime: Times,
    has_thread: bool,
    sleeper: Option<Seat>,
    /// Until when it sleeps.
    until: Wakes,
    /// Timers whose calls are made by the thread itself.
    own: VecDeque<Id<Item>>,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            monotonic: Times::default(),
            realtime: Times::default(),
            has_thread: false,
            sleeper: None,
            until: Wakes::default(),
            own: VecDeque::new(),
        }
    }

    /// Where a time belongs.
    fn times(&mut self, deadline: Deadline) -> Option<(&mut Times, u64)> {
        match deadline {
            Deadline::Never => None,
            Deadline::Monotonic(ns) => Some((&mut self.monotonic, ns)),
            Deadline::Realtime(ns) => Some((&mut self.realtime, ns)),
        }
    }

    fn next(&self) -> Wakes {
        Wakes { monotonic: self.monotonic.next(), realtime: self.realtime.next() }
    }

    fn insert(&mut self, id: Id<Item>, timer: &Timer) {
        let (Some(due), Some(latest)) = (timer.due, timer.latest()) else { return };
        if let Some((times, due)) = self.times(due) {
            times.due.insert((due, id));
        }
        if let Some((times, latest)) = self.times(latest) {
            times.latest.insert((latest, id));
        }
    }

    fn remove(&mut self, id: Id<Item>, timer: &Timer) {
        let (Some(due), Some(latest)) = (timer.due, timer.latest()) else { return };
        if let Some((times, due)) = self.times(due) {
            times.due.remove(&(due, id));
        }
        if let Some((times, latest)) = self.times(latest) {
            times.latest.remove(&(latest, id));
        }
    }

    /// The first timer that is due now, if the thread is to wake for one. Nothing is due before its wake.
    fn first_due(&self) -> Option<Id<Item>> {
        let of = |times: &Times, deadline: fn(u64) -> Deadline| {
            times.next().filter(|&wake| deadline(wake).passed())?;
            times.due.first().map(|(_, id)| *id)
        };
        of(&self.monotonic, Deadline::Monotonic).or_else(|| of(&self.realtime, Deadline::Realtime))
    }
}

/// How a timer is set.
pub struct Setting {
    pub due: Deadline,
    pub period_ns: u64,
    pub window_ns: u64,
}

impl State {
    /// Sets a timer, which was set to nothing. If it is due already, its call is pending at once.
    pub fn set_timer(&mut self, id: Id<Item>, setting: &Setting) {
        let State { items, clock, .. } = self;
        let Some(Item { cause: Cause::Timer(timer), .. }) = items.get_mut(id) else { return };
        timer.is_set = true;
        (timer.period_ns, timer.window_ns) = (setting.period_ns, setting.window_ns);
        let is_due = setting.due.passed();
        // Its periods begin now.
        let due = if is_due { Deadline::after_ns(0) } else { setting.due };
        timer.due = Some(due);
        clock.insert(id, timer);
        if is_due {
            self.fire_timer(id);
        }
        self.wake_clock();
    }

    /// Sets a timer to nothing: no calls come but those that are pending. Returns true if it was due at some time.
    pub fn unset_timer(&mut self, id: Id<Item>) -> bool {
        let State { items, clock, .. } = self;
        let Some(Item { cause: Cause::Timer(timer), .. }) = items.get_mut(id) else { return false };
        clock.remove(id, timer);
        timer.is_set = false;
        timer.due.take().is_some()
    }

    /// A timer is due.
    fn fire_timer(&mut self, id: Id<Item>) {
        let State { items, clock, .. } = self;
        let Some(item) = items.get_mut(id) else { return };
        let Cause::Timer(timer) = &mut item.cause else { return };
        clock.remove(id, timer);
        let late = timer.due.map_or(0, |due| match due {
            Deadline::Monotonic(ns) => ntux_platform::clock::monotonic_ns().saturating_sub(ns),
            Deadline::Realtime(ns) => ntux_platform::clock::realtime_ns().saturating_sub(ns),
            Deadline::Never => 0,
        });
        timer.due = match timer.period_ns {
            0 => None,
            period => Some(Deadline::after_ns(period - late % period)),
        };
        clock.insert(id, timer);
        let is_own = timer.in_timer_thread;
        // Times that nobody has come to yet are one.
        if item.pending > 0 && timer.period_ns > 0 {
            return;
        }
        if is_own {
            clock.own.push_back(id);
        }
        self.submit(id);
    }

    /// Sees to it that the thread wakes in time (I-clock).
    fn wake_clock(&mut self) {
        let clock = &mut self.clock;
        let (wakes, has_own) = (clock.next(), !clock.own.is_empty());
        if wakes == Wakes::default() && !has_own {
            return;
        }
        if !clock.has_thread {
            clock.has_thread = true;
            self.owed.clock = true;
            return;
        }
        if has_own || wakes.are_before(clock.until) {
            self.owed.calls.extend(clock.sleeper.take());
        }
    }
}

/// The thread could not be started. The next timer that is set tries it again.
pub fn not_started() {
    if let Some(mut state) = state() {
        state.clock.has_thread = false;
    }
}

/// What the thread does. Functions of the program may end it; nothing here is to be cleaned up.
pub extern "C-unwind" fn main(_: *mut c_void) -> *mut c_void {
    loop {
        match call(Next::End, || Ok(next())) {
            Next::Call(begun) => begun.run(),
            Next::Apcs => {}
            Next::End => return core::ptr::null_mut(),
        }
    }
}

/// What the thread does next, for which it may sleep.
fn next() -> Next {
    let mut is_late = false;
    loop {
        let Some(mut state) = state() else { return Next::End };
        while let Some(id) = state.clock.first_due() {
            state.fire_timer(id);
        }
        while let Some(id) = state.clock.own.pop_front() {
            if let Some(begun) = state.take(id) {
                return Next::Call(begun);
            }
        }
        let wakes = state.clock.next();
        let wake = wakes.first();
        if wake.is_none() && is_late {
            state.clock.has_thread = false;
            return Next::End;
        }
        let seat = Seat::take();
        (state.clock.sleeper, state.clock.until) = (Some(seat), wakes);
        drop(state);
        let deadline = wake.unwrap_or_else(|| Deadline::after_ns(IDLE_NS));
        let was_called = seat.until_called_or(deadline, || leave(seat));
        is_late = !was_called && wake.is_none();
    }
}

/// The deadline of the thread has passed: nobody calls it any more. Returns false if it was called meanwhile.
fn leave(seat: Seat) -> bool {
    state().is_some_and(|mut state| state.clock.sleeper.take_if(|sleeper| *sleeper == seat).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::c_void;

    fn id(number: usize) -> Id<Item> {
        Id::of(core::ptr::without_provenance::<c_void>(1 << 60 | generation() << 48 | number)).expect("a number")
    }

    fn generation() -> usize {
        ntux_platform::liveness::generation() as usize & 0xFFF
    }

    fn clock(timers: &[(u64, u64)]) -> Clock {
        let mut clock = Clock::new();
        for (number, &(due, window_ns)) in timers.iter().enumerate() {
            let due = Some(Deadline::Monotonic(due));
            clock.insert(id(number + 1), &Timer { due, window_ns, ..Timer::default() });
        }
        clock
    }

    #[test]
    fn the_thread_wakes_for_as_much_as_possible_and_nothing_is_late() {
        for (timers, wake) in [
            (&[(100, 0), (250, 0)][..], 100),
            (&[(100, 75), (250, 0)], 100),
            (&[(100, 200), (250, 0)], 250),
            (&[(100, 200), (250, 100), (320, 0)], 250),
            (&[(100, 300), (250, 100), (320, 0)], 320),
        ] {
            assert_eq!(clock(timers).next().first(), Some(Deadline::Monotonic(wake)), "{timers:?}");
        }
        assert_eq!(clock(&[]).next().first(), None);
    }

    #[test]
    fn the_thread_is_called_only_if_it_sleeps_too_long() {
        let wakes = |monotonic, realtime| Wakes { monotonic, realtime };
        let sleeps = wakes(Some(100), Some(500));
        assert!(!sleeps.are_before(sleeps), "nothing has changed");
        assert!(!wakes(Some(100), Some(600)).are_before(sleeps) && !wakes(None, None).are_before(sleeps));
        assert!(wakes(Some(99), Some(500)).are_before(sleeps) && wakes(None, Some(499)).are_before(sleeps));
        assert!(wakes(None, Some(600)).are_before(wakes(Some(100), None)), "another clock");
    }
}
