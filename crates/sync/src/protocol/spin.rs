// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptive spin: how a wait looks again for a short while before it queues, and before it sleeps.
//!
//! `ntux_platform::waiting` decides whether it does, and for how long. This file remembers, for each thread, what the
//! waits at its latest objects have come to, and keeps the time of the wait in progress. Nothing of it is shared but the
//! [`Stamp`] that whoever decides a wait leaves beside the waiter's word: a hint, good for nothing else.

use std::cell::Cell;
use std::num::NonZeroU64;

use ntux_platform::atomic::Word32;
use ntux_platform::clock::{Deadline, monotonic_ns};
use ntux_platform::waiting::machine::{first_outlook, processor};
use ntux_platform::waiting::{History, Looked, Outcome, Outlook, Pace, Stamp, Traffic, WakePrice, stamped};

use crate::Object;
use crate::format::layout::WaiterSlot;

/// Objects whose waits a thread remembers apart; the others share a history.
const REMEMBERED: usize = 4;
/// Looks in a row, if the clock stands still.
const LOOKS_MOST: u32 = 1 << 14;
/// Pauses between two looks at the clock.
const PAUSES: u32 = 2;

/// What the first thread of this process that was woken has measured; 0 before.
static FIRST_PRICE: Word32 = Word32::new(0);

/// Where a thread looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Site {
    /// At the object, before it queues.
    Object,
    /// At its own word, before it sleeps.
    Queued,
}

/// The wait in progress.
#[derive(Clone, Copy, Default)]
struct Current {
    /// Index of its first object.
    object: u32,
    /// Looks that are forced: before it queues, and before it sleeps.
    forced: [u32; 2],
    /// Nanoseconds that may still be looked, if they are not.
    allowance_ns: u32,
    began_ns: u64,
    deadline_ns: u64,
    /// The thread's processor when it began.
    here: Option<u32>,
    /// When it looks at its object.
    pace: Pace,
    looked: Looked,
    /// From its start to the last look.
    looked_after_ns: u32,
    /// What others did to the object until then.
    traffic: Option<Traffic>,
    slept: bool,
}

impl Current {
    #[inline(always)]
    fn looks(&self) -> bool {
        self.allowance_ns > 0 || self.forced != [0; 2]
    }
}

/// How long one thread looks.
#[derive(Default)]
pub(crate) struct AdaptiveSpin {
    /// There is a wait in progress that may look, or one ended by an error.
    active: Cell<bool>,
    /// None before the first wait.
    outlook: Cell<Option<Outlook>>,
    current: Cell<Current>,
    price: Cell<WakePrice>,
    /// By index of the object plus one.
    histories: [Cell<(u32, History)>; REMEMBERED],
    /// What all its waits came to: it is expected of an object that is not remembered.
    overall: Cell<History>,
}

impl AdaptiveSpin {
    /// A wait for this object first begins that cannot be satisfied at once. `forced`: how often it looks, if that was said
    /// ([`crate::Arena::set_spins`]).
    #[inline(always)]
    pub(crate) fn begin(&self, forced: Option<u32>, object: Object, deadline: Deadline) {
        // A checker's threads do not wait for time to pass.
        let may_look = forced.is_some() || !cfg!(ntux_explore) && self.outlook().is_open();
        self.active.set(may_look);
        if may_look {
            self.begin_to_look(forced, object, deadline);
        }
    }

    #[inline(always)]
    fn outlook(&self) -> Outlook {
        self.outlook.get().unwrap_or_else(|| self.first_outlook())
    }

    #[cold]
    fn first_outlook(&self) -> Outlook {
        self.outlook.set(Some(first_outlook()));
        self.outlook.get().unwrap_or_default()
    }

    #[inline(never)]
    fn begin_to_look(&self, forced: Option<u32>, object: Object, deadline: Deadline) {
        self.current.set(match forced {
            Some(looks) => Current { forced: [looks; 2], ..Current::default() },
            None => self.adaptive(object.index(), deadline),
        });
    }

    /// When the wait in progress began, if its beginning has read the clock.
    #[inline(always)]
    pub(crate) fn began_ns(&self) -> Option<NonZeroU64> {
        if self.active.get() { NonZeroU64::new(self.current.get().began_ns) } else { None }
    }

    /// Returns true if the wait in progress spins.
    #[inline(always)]
    pub(crate) fn looks(&self) -> bool {
        self.active.get() && self.current.get().looks()
    }

    fn adaptive(&self, object: u32, deadline: Deadline) -> Current {
        if !self.price.get().is_known() {
            self.price.set(WakePrice::of_others(FIRST_PRICE.load()));
        }
        let (history, price) = (self.history(object), self.price.get());
        let here = processor().map(stamped);
        let (allowance_ns, pace) = (history.allowance_ns(price, here), history.pace(price));
        let began_ns = monotonic_ns();
        let deadline_ns = match deadline {
            Deadline::Never => u64::MAX,
            Deadline::Monotonic(ns) => ns,
            Deadline::Realtime(_) => began_ns.saturating_add(deadline.remaining_ns().unwrap_or(u64::MAX)),
        };
        Current { object, allowance_ns, began_ns, deadline_ns, here, pace, ..Current::default() }
    }

    /// Looks for as long as this wait may; `look` ends it with an answer. False when it never did.
    pub(crate) fn look(&self, site: Site, mut look: impl FnMut() -> Option<bool>) -> bool {
        if !self.looks() {
            return false;
        }
        let current = self.current.get();
        if current.allowance_ns > 0 {
            return self.look_adaptively(current, site, look);
        }
        let mut forced = current.forced;
        let looks = core::mem::take(&mut forced[usize::from(site == Site::Queued)]);
        self.current.set(Current { forced, ..current });
        let answer = (0..looks).find_map(|_| {
            let answer = look();
            if answer.is_none() {
                core::hint::spin_loop();
            }
            answer
        });
        answer.unwrap_or(false)
    }

    fn look_adaptively(&self, current: Current, site: Site, mut look: impl FnMut() -> Option<bool>) -> bool {
        let (allowance_ns, pace) = match site {
            // The rest is for the queue: there it is sure to be served.
            Site::Object => (current.allowance_ns / 4 * 3, current.pace),
            Site::Queued => (current.allowance_ns, Pace::default()),
        };
        let until_ns = current.deadline_ns.min(current.began_ns + u64::from(allowance_ns));
        let mut last_ns = monotonic_ns();
        let mut next_ns = current.began_ns + pace.first_ns();
        for _ in 0..LOOKS_MOST {
            let is_over = last_ns >= until_ns;
            if is_over || last_ns >= next_ns {
                if let Some(answer) = look() {
                    let looked_after_ns = (last_ns - current.began_ns) as u32;
                    self.current.set(Current { looked: Looked::Saw, looked_after_ns, ..current });
                    return answer;
                }
                next_ns = pace.next_ns(last_ns);
            }
            if is_over {
                break;
            }
            (0..PAUSES).for_each(|_| core::hint::spin_loop());
            last_ns = monotonic_ns();
        }
        let looked_after_ns = (last_ns - current.began_ns) as u32;
        self.current.set(Current { looked: Looked::InVain, looked_after_ns, ..current });
        false
    }

    /// Returns true if the wait in progress looks rarely, so that each look should win the object.
    pub(crate) fn looks_rarely(&self) -> bool {
        self.active.get() && self.current.get().pace.is_rare()
    }

    /// Others changed the object so often before the last look at it.
    pub(crate) fn saw_changes(&self, changes: u64) {
        let current = self.current.get();
        if self.active.get() && current.looked != Looked::No {
            let changes = changes + current.traffic.map_or(0, |before| before.changes);
            let ns = current.looked_after_ns.into();
            self.current.set(Current { traffic: Some(Traffic { ns, changes }), ..current });
        }
    }

    /// The wait will sleep.
    #[inline(always)]
    pub(crate) fn sleeps(&self) {
        if self.active.get() {
            let current = self.current.get();
            // What it saw was nothing to stay awake for.
            let looked = if current.looked == Looked::Saw { Looked::InVain } else { current.looked };
            self.current.set(Current { looked, slept: true, ..current });
        }
    }

    /// The wait has ended. `slot` is where it was decided, if the waiter was in a queue.
    #[inline(always)]
    pub(crate) fn is_over(&self, slot: Option<&WaiterSlot>) {
        if self.active.take() {
            self.learn_from(slot.map(stamp_of));
        } else if let (Some(outlook), Some(slot)) = (self.outlook.get(), slot)
            && outlook.is_surprised(stamp_of(slot).processor())
        {
            self.look_out(stamp_of(slot).processor(), processor().map(stamped));
        }
    }

    fn look_out(&self, decided_on: Option<u32>, here: Option<u32>) {
        self.outlook.set(Some(self.outlook().learnt(decided_on, here)));
    }

    #[inline(never)]
    fn learn_from(&self, stamp: Option<Stamp>) {
        let current = self.current.get();
        if current.began_ns == 0 || !current.slept && current.looked == Looked::No {
            return;
        }
        let decided_on = stamp.and_then(Stamp::processor);
        let decided_after_ns = match current.looked {
            Looked::Saw => Some(current.looked_after_ns.into()),
            _ => self.decided_after_ns(&current, stamp),
        };
        let Current { looked, traffic, .. } = current;
        self.look_out(decided_on, current.here);
        self.learn(current.object, Outcome { looked, decided_after_ns, decided_on, traffic });
    }

    /// How long after its beginning a wait was decided that has slept; also learns from that how long a wake takes.
    fn decided_after_ns(&self, current: &Current, stamp: Option<Stamp>) -> Option<u64> {
        let (stamp, now_ns) = (stamp?, monotonic_ns());
        let lasted_ns = now_ns.saturating_sub(current.began_ns);
        let age_ns = stamp.age_ns(now_ns, lasted_ns)?;
        let from_elsewhere = stamp.processor().is_none() || stamp.processor() != processor().map(stamped);
        // A wake from the same processor says little, but more than nothing.
        if current.slept && (from_elsewhere || !self.price.get().is_known()) {
            let price = self.price.get().measured(age_ns);
            self.price.set(price);
            if FIRST_PRICE.load() == 0 {
                FIRST_PRICE.store(price.ns());
            }
        }
        Some(lasted_ns - age_ns)
    }

    fn learn(&self, object: u32, outcome: Outcome) {
        let price = self.price.get();
        self.place(object).set((object + 1, self.history(object).learnt(price, outcome)));
        self.overall.set(self.overall.get().learnt(price, outcome));
    }

    fn history(&self, object: u32) -> History {
        match self.place(object).get() {
            (remembered, history) if remembered == object + 1 => history,
            _ => self.overall.get(),
        }
    }

    fn place(&self, object: u32) -> &Cell<(u32, History)> {
        &self.histories[object as usize % REMEMBERED]
    }
}

/// Leaves the stamp of a decision that this thread is about to make. It says the time if the waiter may be asleep, and will
/// want to know how long its wake took.
#[inline(always)]
pub(super) fn leave_stamp(slot: &WaiterSlot, now_ns: Option<u64>) {
    if !cfg!(ntux_explore) {
        slot.stamp.store(Stamp::new(processor(), now_ns).0);
    }
}

/// What was left there last.
fn stamp_of(slot: &WaiterSlot) -> Stamp {
    if cfg!(ntux_explore) { Stamp::default() } else { Stamp(slot.stamp.load()) }
}

#[cfg(all(test, not(ntux_explore)))]
mod tests {
    use super::*;

    /// A slot in which the last decision was made on this processor.
    fn decided_on(processor: u32) -> Box<WaiterSlot> {
        // SAFETY: zero bytes are a slot: it is made of atomic words.
        let slot: Box<WaiterSlot> = unsafe { Box::new(core::mem::zeroed()) };
        slot.stamp.store(Stamp::new(Some(processor), None).0);
        slot
    }

    /// A wait that is not satisfied at once, decided there; whether it has read the clock.
    fn waits(spin: &AdaptiveSpin, slot: &WaiterSlot) -> bool {
        spin.begin(None, Object::new(0, 1), Deadline::Never);
        let reads_clock = spin.began_ns().is_some();
        spin.is_over(Some(slot));
        reads_clock
    }

    #[test]
    fn a_thread_that_began_at_home_is_open_after_one_decision_elsewhere() {
        let spin = AdaptiveSpin::default();
        spin.outlook.set(Some(Outlook::Home(700)));
        let (here, elsewhere) = (decided_on(700), decided_on(701));
        assert!((0..100).all(|_| !waits(&spin, &here)), "it knows better");
        assert!(!waits(&spin, &elsewhere), "nobody could know");
        assert!(waits(&spin, &elsewhere) && waits(&spin, &elsewhere));
    }

    #[test]
    fn what_one_thread_expects_is_no_matter_of_another() {
        let (one, other) = (AdaptiveSpin::default(), AdaptiveSpin::default());
        one.outlook.set(Some(Outlook::Home(700)));
        other.outlook.set(Some(Outlook::default()));
        let here = decided_on(700);
        assert!(!waits(&one, &here) && waits(&other, &here) && !waits(&one, &here));
    }
}
