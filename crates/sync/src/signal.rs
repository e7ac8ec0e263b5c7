//! The operations that change an object without waiting: release, unlock, kill, set, reset, pulse.
//!
//! # Role
//! What an operation does to a value stands in [`crate::semaphore`], [`crate::mutex`] and [`crate::event`], as plain
//! functions from a word to a [`Step`]. This file makes the step happen: at once when nobody waits, as a claim for the
//! first waiter otherwise ([`crate::claim`]), through the admission word when somebody waits for several objects
//! ([`crate::admission`]).
//!
//! # Transitions of the object's word
//! | waiters | from | to |
//! | --- | --- | --- |
//! | none | at rest | at rest, new value: one exchange |
//! | wait-any | at rest | new value on offer, claimed for the first waiter |
//! | wait-all | at rest | claimed as the origin of an admitted operation, by anyone |
//!
//! The operation takes effect with its last exchange that claims or rests; it returns after it has seen the object at rest, so
//! everybody whom it satisfied is satisfied by then. Orders and deaths are those of the files named above.

use ntux_platform::atomic::Word64;

use crate::arena::Arena;
use crate::arena::format::ObjectSlot;
use crate::arena::meta::Kind;
use crate::claim::Ahead;
use crate::planted::{Bug, planted};
use crate::trace::{Operation, What};
use crate::waiter::Waiter;
use crate::word::{Claimant, ObjectWord, W, WA};
use crate::{Error, MutexState, Object, Result, event, mutex, semaphore};

/// An operation that changes one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    Set,
    Reset,
    Pulse,
    Release(u32),
    Unlock(u32),
    Kill(u32),
}

/// What an operation makes of a word at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It fails, and nothing changes.
    Refused(Error),
    /// It succeeds without a change; the previous value.
    Unchanged(u32),
    /// The count must be carried first.
    Carry(Claimant),
    /// A new word. `offers`: somebody may be able to take it who could not before.
    Changed { next: ObjectWord, previous: u32, offers: bool },
}

impl Signal {
    #[inline(always)]
    pub(crate) fn fits(self, kind: Kind) -> bool {
        match self {
            Signal::Set | Signal::Reset | Signal::Pulse => kind.is_event(),
            Signal::Release(_) => kind == Kind::Semaphore,
            Signal::Unlock(_) | Signal::Kill(_) => kind == Kind::Mutex,
        }
    }

    #[inline(always)]
    pub(crate) fn step(self, word: ObjectWord, kind: Kind, extra: &Word64) -> Step {
        match self {
            Signal::Set => event::set(word, kind),
            Signal::Reset => event::reset(word),
            Signal::Pulse => event::pulse(word, kind),
            Signal::Release(count) => semaphore::release(word, extra, count),
            Signal::Unlock(owner) => mutex::unlock(word, extra, owner),
            Signal::Kill(owner) => mutex::kill(word, extra, owner),
        }
    }
}

impl Signal {
    fn event(self, object: Object) -> What {
        let operation = match self {
            Signal::Set => Operation::Set,
            Signal::Reset => Operation::Reset,
            Signal::Pulse => Operation::Pulse,
            Signal::Release(_) => Operation::Release,
            Signal::Unlock(_) => Operation::Unlock,
            Signal::Kill(_) => Operation::Kill,
        };
        What::Signals { object: object.index(), operation }
    }
}

impl Arena {
    /// Carries out an operation; returns the previous value. Nobody waiting: one exchange, of what is probably there.
    #[inline(always)]
    fn signal(&self, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        let seen = slot.guess(waiter, object);
        let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
        if !signal.fits(kind) {
            return Err(Error::Invalid);
        }
        if let Step::Changed { next, previous, offers } = signal.step(seen, kind, &slot.extra) {
            let nobody_waits = !offers || !seen.has(W | WA);
            if nobody_waits && !seen.is_claimed() && slot.exchange_guess(waiter, object, seen, next) {
                return Ok(previous);
            }
        }
        self.signal_slowly(waiter, object, signal)
    }

    #[cold]
    fn signal_slowly(&self, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
        waiter.budget.renew();
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        while waiter.budget.round() {
            let seen = slot.load();
            let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
            if seen.is_claimed() {
                self.help(waiter, object.index(), seen)?;
                continue;
            }
            let mut ahead = Ahead::default();
            let (next, previous) = match signal.step(seen, kind, &slot.extra) {
                // What lies beside the word may be that of the object that was made in its place.
                Step::Refused(_) if slot.load() != seen => continue,
                Step::Refused(error) => return Err(error),
                Step::Unchanged(previous) => return Ok(previous),
                Step::Carry(claimant) => {
                    slot.exchange(seen, seen.claimed_for(claimant, 0));
                    continue;
                }
                Step::Changed { offers: true, .. } if seen.has(WA) && !planted(Bug::WaitAllUnseen) => {
                    self.trace(signal.event(object));
                    return self.announce(waiter, object, signal);
                }
                Step::Changed { next, previous, offers } => {
                    let offers = offers && seen.has(W);
                    let next = if offers { self.offer(waiter, object.index(), slot, next, &mut ahead) } else { next };
                    (next, previous)
                }
            };
            if planted(Bug::PulsePlain) && signal == Signal::Pulse && !next.is_claimed() && seen.value() == 0 {
                return Ok(0);
            }
            if slot.exchange(seen, next) {
                self.help_ahead(waiter, object.index(), next.advanced(), &mut ahead)?;
                // Not earlier: between a claim and its decision nothing is done that can wait.
                if next.is_claimed() {
                    self.trace(signal.event(object));
                }
                return Ok(previous);
            }
        }
        Err(Error::Corrupt)
    }

    /// The word of an object at rest, helped if necessary, and its slot and kind.
    fn at_rest(&self, waiter: &Waiter, object: Object) -> Result<(&ObjectSlot, Kind, ObjectWord)> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        while waiter.budget.round() {
            let seen = slot.load();
            let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
            if !seen.is_claimed() {
                return Ok((slot, kind, seen));
            }
            self.help(waiter, object.index(), seen)?;
        }
        Err(Error::Corrupt)
    }

    /// Adds `count` to a semaphore; returns the count before. Adding 0 is allowed.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind), `Overflow` (beyond the maximum).
    #[inline]
    pub fn semaphore_release(&self, waiter: &Waiter, object: Object, count: u32) -> Result<u32> {
        self.signal(waiter, object, Signal::Release(count))
    }

    /// Count and maximum of a semaphore.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn semaphore_read(&self, waiter: &Waiter, object: Object) -> Result<(u32, u32)> {
        waiter.budget.renew();
        while waiter.budget.round() {
            let (slot, Kind::Semaphore, word) = self.at_rest(waiter, object)? else {
                return Err(Error::Invalid);
            };
            let max = semaphore::max(&slot.extra);
            // What lies beside the word belongs to it only if the word is still the same.
            if slot.load() == word {
                return Ok((word.value(), max));
            }
        }
        Err(Error::Corrupt)
    }

    /// Lowers the recursion count of a mutex; returns the count before.
    ///
    /// Errors: `Invalid` (owner 0, another kind), `NoSuchObject`, `NotOwner`.
    #[inline]
    pub fn mutex_unlock(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<u32> {
        self.signal(waiter, object, Signal::Unlock(owner))
    }

    /// Declares the owner of a mutex dead: it becomes unowned, and whoever acquires it next is told.
    ///
    /// Errors: `Invalid` (owner 0, another kind), `NoSuchObject`, `NotOwner`.
    pub fn mutex_kill(&self, waiter: &Waiter, object: Object, owner: u32) -> Result<()> {
        self.signal(waiter, object, Signal::Kill(owner)).map(|_| ())
    }

    /// Owner, count and abandoned mark of a mutex.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn mutex_read(&self, waiter: &Waiter, object: Object) -> Result<MutexState> {
        waiter.budget.renew();
        while waiter.budget.round() {
            let (slot, Kind::Mutex, word) = self.at_rest(waiter, object)? else {
                return Err(Error::Invalid);
            };
            let count = mutex::count(word, &slot.extra);
            // What lies beside the word belongs to it only if the word is still the same.
            if !word.has(crate::word::SPILLED) || slot.load() == word {
                return Ok(MutexState { owner: word.value(), count, abandoned: word.has(crate::word::ABANDONED) });
            }
        }
        Err(Error::Corrupt)
    }

    /// Signals an event; returns whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    #[inline]
    pub fn event_set(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        self.signal(waiter, object, Signal::Set).map(|previous| previous != 0)
    }

    /// Makes an event unsignaled; returns whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    #[inline]
    pub fn event_reset(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        self.signal(waiter, object, Signal::Reset).map(|previous| previous != 0)
    }

    /// Satisfies whoever waits for an event now (one, or all of a manual-reset event), and leaves it unsignaled; returns
    /// whether it was signaled before.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn event_pulse(&self, waiter: &Waiter, object: Object) -> Result<bool> {
        self.signal(waiter, object, Signal::Pulse).map(|previous| previous != 0)
    }

    /// Whether an event is manual-reset, and whether it is signaled.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn event_read(&self, waiter: &Waiter, object: Object) -> Result<(bool, bool)> {
        waiter.budget.renew();
        match self.at_rest(waiter, object)? {
            (_, kind, word) if kind.is_event() => Ok((kind == Kind::ManualEvent, word.value() != 0)),
            _ => Err(Error::Invalid),
        }
    }
}
