// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of objects, and every rule that depends on the kind.
//!
//! Each kind has a file, which defines the contents of the object's word and of the data beside it, the effect of each
//! operation, and what a wait takes. Only this file distinguishes kinds: code that claims, scans, waits or admits calls
//! a method of [`Kind`] or [`Signal`].
//!
//! To add a kind: define its operations in [`crate::spec`]; write its file; add it to [`Kind`], [`New`] and [`Signal`].
//! The compiler then names each rule below that needs an answer for it. The faces come last.

pub(crate) mod end;
pub(crate) mod event;
pub(crate) mod mutex;
pub(crate) mod semaphore;
pub(crate) mod timer;

use ntux_platform::atomic::Word64;

use crate::format::layout::ObjectSlot;
use crate::format::meta::Meta;
use crate::format::object_word::{Claimant, FIRED, ObjectWord};
use crate::planted::{Bug, planted};
use crate::{Error, Result, spec};
pub(crate) use mutex::Carried;

/// The kind of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A count with a maximum.
    Semaphore,
    /// An owner and a recursion count.
    Mutex,
    /// An event that one waiter consumes.
    AutoEvent,
    /// An event that stays until reset.
    ManualEvent,
    /// A timer that one waiter consumes when it is due.
    SyncTimer,
    /// A timer that stays signaled from its due time until it is set again.
    ManualTimer,
    /// The end of an owner of the arena, which stays signaled.
    End,
}

/// What to create.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum New {
    /// A semaphore; `count` at most `max`.
    Semaphore {
        /// Units available at first.
        count: u32,
        /// Most units.
        max: u32,
    },
    /// A mutex; owner and recursion count both 0, or neither.
    Mutex {
        /// First owner, or 0.
        owner: u32,
        /// Its recursion count, or 0.
        count: u32,
    },
    /// An event.
    Event {
        /// Stays signaled until reset.
        manual: bool,
        /// Signaled at first.
        signaled: bool,
    },
    /// A timer, not armed and not signaled.
    Timer {
        /// Stays signaled until it is set again.
        manual: bool,
    },
    /// An end, which is signaled when its owner has ended.
    End {
        /// An id that an arena gives out ([`crate::Arena::owner_create`]).
        owner: u32,
    },
}

/// An operation that changes one object without waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Signals an event.
    Set,
    /// Makes an event unsignaled.
    Reset,
    /// Signals an event for its current waiters.
    Pulse,
    /// Adds to a semaphore.
    Release(u32),
    /// Releases a mutex once, by this owner.
    Unlock(u32),
    /// Declares this owner of a mutex dead.
    Kill(u32),
    /// Fires a timer; the number of the turn.
    Fire(u32),
    /// Signals a timer that a wait has taken in vain.
    GiveBack,
    /// Signals an end, whose owner has ended.
    Finish,
    /// Says with which code the owner of an end will end.
    Report(u32),
}

/// The initial state of a new object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub kind: Kind,
    pub value: u32,
    pub level: u32,
    pub flags: u64,
    pub extra: u64,
}

/// The effect of an operation on a word at rest.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) enum Step {
    /// It fails, and nothing changes.
    Refused(Error),
    /// It succeeds without a change, and returns the previous value.
    Unchanged(u32),
    /// The count must be carried first.
    Carry(Claimant),
    /// A new word. `offers`: a waiter that could not take it before may now be able to.
    Changed { next: ObjectWord, previous: u32, offers: bool },
}

/// What a wait can do with a word at rest.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) enum Access {
    /// It cannot acquire the object now.
    Closed,
    /// The count must be carried first.
    Carry(Claimant),
    /// It can. The word afterwards, which is the same if acquiring changes nothing.
    Open(ObjectWord),
}

impl New {
    /// Errors: `Invalid`, see [`New`].
    pub(crate) fn start(self) -> Result<Start> {
        match self {
            New::Semaphore { count, max } => semaphore::start(count, max),
            New::Mutex { owner, count } => mutex::start(owner, count),
            New::Event { manual, signaled } => Ok(event::start(manual, signaled)),
            New::Timer { manual } => Ok(timer::start(manual)),
            New::End { owner } => end::start(owner),
        }
    }
}

impl Start {
    /// The data beside the first word of the object, which follows `rest` in its slot.
    pub(crate) fn extra(self, rest: ObjectWord) -> u64 {
        match self.kind {
            Kind::Mutex => mutex::extra_at_start(self.extra, rest),
            _ => self.extra,
        }
    }
}

impl Kind {
    /// The kind that a slot has or had last. Rubbish reads as some kind: the results are then wrong, but defined.
    #[inline(always)]
    pub(crate) fn of(meta: Meta) -> Kind {
        if meta.is_timed() { Kind::of_timed(meta) } else { Kind::of_untimed(meta) }
    }

    #[cold]
    fn of_timed(meta: Meta) -> Kind {
        match meta.kind() & 0x3 {
            0 => Kind::SyncTimer,
            1 => Kind::ManualTimer,
            _ => Kind::End,
        }
    }

    /// The same, if it is known that it is neither a timer nor an end.
    #[inline(always)]
    pub(crate) fn of_untimed(meta: Meta) -> Kind {
        match meta.kind() & 0x3 {
            0 => Kind::Semaphore,
            1 => Kind::Mutex,
            2 => Kind::AutoEvent,
            _ => Kind::ManualEvent,
        }
    }

    /// As stored.
    pub(crate) fn number(self) -> u64 {
        match self {
            Kind::Semaphore => 0,
            Kind::Mutex => 1,
            Kind::AutoEvent => 2,
            Kind::ManualEvent => 3,
            Kind::SyncTimer => 8,
            Kind::ManualTimer => 9,
            Kind::End => 10,
        }
    }

    /// The word for it in all texts: `semaphore`, `mutex`, `event`, `timer` or `end`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Semaphore => "semaphore",
            Kind::Mutex => "mutex",
            Kind::AutoEvent | Kind::ManualEvent => "event",
            Kind::SyncTimer | Kind::ManualTimer => "timer",
            Kind::End => "end",
        }
    }

    /// The word for it in a table, which distinguishes events: `semaphore`, `mutex`, `auto`, `manual`, `timer` or
    /// `end`.
    pub fn exact_word(self) -> &'static str {
        match self {
            Kind::AutoEvent => "auto",
            Kind::ManualEvent => "manual",
            _ => self.word(),
        }
    }

    /// Returns true if it is an event of either sort.
    pub fn is_event(self) -> bool {
        matches!(self, Kind::AutoEvent | Kind::ManualEvent)
    }

    /// Returns true if it is a timer of either sort.
    #[inline(always)]
    pub fn is_timer(self) -> bool {
        matches!(self, Kind::SyncTimer | Kind::ManualTimer)
    }

    /// Returns true if the object becomes signaled without an operation on it: who waits for it looks ([`crate::protocol::timer`],
    /// [`crate::protocol::owner`]).
    #[inline(always)]
    pub(crate) fn is_timed(self) -> bool {
        self.is_timer() || self == Kind::End
    }

    /// Returns true if objects of the two kinds have the same operations: an event is an event, whatever resets it.
    pub(crate) fn is_like(self, other: Kind) -> bool {
        self == other || self.is_event() && other.is_event() || self.is_timer() && other.is_timer()
    }

    /// Returns true if a wait that acquires the object changes it.
    #[inline(always)]
    pub(crate) fn is_consumed(self) -> bool {
        !self.stays()
    }

    /// Returns true if it is available to everybody once it is signaled.
    #[inline(always)]
    fn stays(self) -> bool {
        matches!(self, Kind::ManualEvent | Kind::ManualTimer | Kind::End)
    }

    /// Returns what a wait with this owner id can do with a word at rest.
    #[inline(always)]
    pub(crate) fn access(self, word: ObjectWord, extra: &Word64, owner: u32) -> Access {
        match self {
            Kind::Mutex => mutex::access(word, extra, owner),
            Kind::Semaphore | Kind::AutoEvent | Kind::ManualEvent if word.value() == 0 => Access::Closed,
            Kind::Semaphore => Access::Open(semaphore::acquired(word)),
            Kind::AutoEvent => Access::Open(event::acquired(word)),
            Kind::ManualEvent => Access::Open(word),
            Kind::SyncTimer | Kind::ManualTimer | Kind::End => {
                self.access_timed(word).map_or(Access::Closed, Access::Open)
            }
        }
    }

    /// What [`Kind::access`] returns for a timer or an end: the word after a wait has taken it, if it is signaled.
    pub(crate) fn access_timed(self, word: ObjectWord) -> Option<ObjectWord> {
        let is_signaled = if self == Kind::End { end::is_signaled(word) } else { timer::is_signaled(word) };
        is_signaled.then(|| if self == Kind::SyncTimer { timer::acquired(word) } else { word })
    }

    /// Returns true if a waiter with this owner id could be given the object.
    pub(crate) fn admits(self, word: ObjectWord, extra: &Word64, owner: u32) -> bool {
        self != Kind::Mutex || !matches!(mutex::access(word, extra, owner), Access::Closed)
    }

    /// Returns true if any waiter may be given the object on offer, whatever its owner id.
    pub(crate) fn admits_anybody(self, word: ObjectWord) -> bool {
        self != Kind::Mutex || word.value() == 0
    }

    /// Returns true if the count must be carried before the object is claimed for a waiter.
    pub(crate) fn carries_first(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && mutex::must_carry_up(word)
    }

    /// Returns true if [`Kind::access`] also depends on the data beside the word, which belongs to it only if the word is
    /// unchanged afterwards.
    pub(crate) fn access_depends_on_beside(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && mutex::is_spilled(word)
    }

    /// The same for [`Kind::value`].
    pub(crate) fn value_depends_on_beside(self, word: ObjectWord) -> bool {
        matches!(self, Kind::Semaphore | Kind::End) || self.access_depends_on_beside(word)
    }

    /// Returns true if the acquisition of an object with this word reports that its owner was killed.
    #[inline(always)]
    pub(crate) fn was_abandoned(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && mutex::was_abandoned(word)
    }

    /// The word after a waiter with this owner id has taken its share.
    #[inline(always)]
    pub(crate) fn consumed(self, word: ObjectWord, owner: u32) -> ObjectWord {
        match self {
            Kind::Semaphore => semaphore::acquired(word),
            Kind::Mutex => mutex::acquired(word, owner),
            Kind::AutoEvent => event::acquired(word),
            Kind::SyncTimer => timer::acquired(word),
            Kind::ManualEvent | Kind::ManualTimer | Kind::End => word,
        }
    }

    /// The word when the operation that offered it is complete.
    pub(crate) fn rested(self, word: ObjectWord) -> ObjectWord {
        match self {
            Kind::AutoEvent | Kind::ManualEvent => event::rested(word),
            Kind::SyncTimer | Kind::ManualTimer => timer::rested(word),
            Kind::End => end::rested(word),
            Kind::Semaphore | Kind::Mutex => word,
        }
    }

    /// Returns true if everybody is served, in any order.
    pub(crate) fn is_broadcast(self, word: ObjectWord) -> bool {
        self.stays() && event::is_broadcast(word)
    }

    /// Returns true if something is left for others after a claim was granted or refused.
    pub(crate) fn remains_on_offer(self, word: ObjectWord, granted: bool) -> bool {
        match self {
            Kind::Semaphore => word.value() > 0,
            // Even after it was granted: others with the same owner id may also enter.
            Kind::Mutex => true,
            Kind::AutoEvent | Kind::SyncTimer => !granted,
            Kind::ManualEvent | Kind::ManualTimer | Kind::End => event::is_broadcast(word) || !granted,
        }
    }

    /// Returns true if the end of an owner changes such objects.
    pub(crate) fn can_end(self) -> bool {
        matches!(self, Kind::Mutex | Kind::End)
    }

    /// The owner of the arena or the program whose end changes the object: that of a mutex, or of an end that has not come. 0: none.
    pub(crate) fn ends_with(self, word: ObjectWord, extra: &Word64) -> u32 {
        match self {
            Kind::Mutex => word.value(),
            Kind::End => end::awaited(word, extra),
            _ => 0,
        }
    }

    /// Returns true if somebody owns it, or may be about to.
    #[inline(always)]
    pub(crate) fn is_owned(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && (word.value() != 0 || word.is_claimed())
    }

    /// Returns true if an admitted operation has something for a wait-all waiter on its origin.
    pub(crate) fn is_on_offer(self, word: ObjectWord) -> bool {
        match self {
            Kind::Mutex => true,
            Kind::SyncTimer | Kind::ManualTimer => timer::is_signaled(word),
            Kind::End => end::is_signaled(word),
            Kind::Semaphore | Kind::AutoEvent | Kind::ManualEvent => word.value() != 0,
        }
    }

    /// Returns true if an admitted operation has more on its origin than one waiter can take. `takes`: one is about to take its
    /// share.
    pub(crate) fn offers_several(self, word: ObjectWord, takes: bool) -> bool {
        match self {
            Kind::Semaphore => word.value() > u32::from(takes),
            Kind::ManualEvent | Kind::ManualTimer | Kind::End => true,
            Kind::AutoEvent | Kind::SyncTimer | Kind::Mutex => false,
        }
    }

    /// Returns whether, between two words of a claimed object, nobody can have joined its queue ahead of those that were
    /// in its wait set all the time, or it does not matter. If a semaphore had rested with a unit left, nobody would still be
    /// in its queue (I-claim-5); to rest without a unit takes a change for each unit.
    pub(crate) fn has_served_only(self, seen: ObjectWord, now: ObjectWord) -> bool {
        let is_serving = matches!(now.claimant(), Claimant::Waiter(_));
        match self {
            Kind::ManualEvent | Kind::ManualTimer | Kind::End => is_serving && event::is_broadcast(now),
            Kind::Semaphore => is_serving && seen.changes_until(now) <= u64::from(seen.value()),
            Kind::Mutex | Kind::AutoEvent | Kind::SyncTimer => false,
        }
    }

    /// Returns true if whoever is given this word wakes by itself, because an offer of a timer that fires is for those who sleep until it
    /// does (I-timer-3).
    #[inline(always)]
    pub(crate) fn wakes_itself(self, word: ObjectWord) -> bool {
        self.is_timer() && word.has(FIRED) && !planted(Bug::FiresAside)
    }

    /// The object's value in terms of the specification; none if no operation can have left this word. It is also right
    /// during a claim: the value then includes the unit on offer. A timer's is without what its schedule says.
    #[inline(always)]
    pub(crate) fn value(self, word: ObjectWord, extra: u64) -> Option<spec::Value> {
        match self {
            Kind::Semaphore => semaphore::value(word, extra).map(spec::Value::Semaphore),
            Kind::Mutex => mutex::value(word, extra).map(spec::Value::Mutex),
            Kind::AutoEvent => event::value(word, false).map(spec::Value::Event),
            Kind::ManualEvent => event::value(word, true).map(spec::Value::Event),
            Kind::SyncTimer => timer::value(word, false).map(spec::Value::Timer),
            Kind::ManualTimer => timer::value(word, true).map(spec::Value::Timer),
            Kind::End => end::value(word, extra).map(spec::Value::End),
        }
    }
}

impl Signal {
    /// Returns true if it can abandon a mutex: then the next owner is told that the last one was killed. No other operation can, because
    /// a mutex that has an owner has told it so already.
    #[inline(always)]
    pub(crate) fn abandons(self) -> bool {
        matches!(self, Signal::Kill(_))
    }

    /// Returns true if the operation applies to this kind.
    #[inline(always)]
    pub(crate) fn fits(self, kind: Kind) -> bool {
        match self {
            Signal::Set | Signal::Reset | Signal::Pulse => kind.is_event(),
            Signal::Release(_) => kind == Kind::Semaphore,
            Signal::Unlock(_) | Signal::Kill(_) => kind == Kind::Mutex,
            Signal::Fire(_) | Signal::GiveBack => kind.is_timer(),
            Signal::Finish | Signal::Report(_) => kind == Kind::End,
        }
    }

    /// Its effect on a word at rest.
    #[inline(always)]
    pub(crate) fn step(self, word: ObjectWord, kind: Kind, extra: &Word64) -> Step {
        match self {
            Signal::Set => event::set(word, kind),
            Signal::Reset => event::reset(word),
            Signal::Pulse => event::pulse(word, kind),
            Signal::Release(count) => semaphore::release(word, extra, count),
            Signal::Unlock(owner) => mutex::unlock(word, extra, owner),
            Signal::Kill(owner) => mutex::kill(word, extra, owner),
            Signal::Fire(number) => timer::fire(word, kind, number),
            Signal::GiveBack => timer::give_back(word, kind),
            Signal::Finish => end::finish(word),
            Signal::Report(code) => end::report(word, code),
        }
    }

    /// Its result, derived from the word that it left as an admitted operation, so it is the same for every helper.
    /// `offered`: it has made the object available.
    pub(crate) fn result(self, word: ObjectWord, extra: &Word64, offered: bool) -> Result<u32> {
        match self {
            Signal::Set | Signal::Pulse | Signal::Fire(_) | Signal::GiveBack | Signal::Finish => {
                Ok(u32::from(!offered))
            }
            Signal::Report(_) => Ok(u32::from(end::is_signaled(word))),
            Signal::Reset => Ok(word.value()),
            Signal::Release(count) => semaphore::released(word, count, offered),
            Signal::Unlock(owner) => mutex::unlocked(word, extra, owner, offered),
            Signal::Kill(_) => mutex::killed(offered),
        }
    }

    /// The form in which a waiter's slot stores a request.
    pub(crate) fn bits(self) -> u64 {
        let (number, argument) = match self {
            Signal::Set => (1u64, 0),
            Signal::Reset => (2, 0),
            Signal::Pulse => (3, 0),
            Signal::Release(count) => (4, count),
            Signal::Unlock(owner) => (5, owner),
            Signal::Kill(owner) => (6, owner),
            Signal::Fire(number) => (7, number),
            Signal::GiveBack => (8, 0),
            Signal::Finish => (9, 0),
            Signal::Report(code) => (10, code),
        };
        number << 32 | u64::from(argument)
    }

    /// The stored request; none for rubbish.
    pub(crate) fn of_bits(bits: u64) -> Option<Signal> {
        let argument = bits as u32;
        match bits >> 32 {
            1 => Some(Signal::Set),
            2 => Some(Signal::Reset),
            3 => Some(Signal::Pulse),
            4 => Some(Signal::Release(argument)),
            5 => Some(Signal::Unlock(argument)),
            6 => Some(Signal::Kill(argument)),
            7 => Some(Signal::Fire(argument)),
            8 => Some(Signal::GiveBack),
            9 => Some(Signal::Finish),
            10 => Some(Signal::Report(argument)),
            _ => None,
        }
    }
}

/// Helps a carry: a claim that moves a part of a count.
pub(crate) fn carried(slot: &ObjectSlot, seen: ObjectWord) -> Carried {
    mutex::carried(slot, seen)
}
