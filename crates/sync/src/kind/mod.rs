//! The kinds of objects, and every rule that depends on the kind.
//!
//! A kind is a file here: what stands in the object's word and beside it, what each operation makes of that, what a wait takes.
//! This file asks which kind an object is, and nobody above it does: whoever claims, scans, waits or admits calls a method of
//! [`Kind`] or [`Signal`].
//!
//! To add a kind: say in [`crate::spec`] what its operations mean; write its file; add it to [`Kind`], [`New`] and [`Signal`].
//! The compiler then names each rule below that needs an answer for it. Last come the faces.

pub(crate) mod event;
pub(crate) mod mutex;
pub(crate) mod semaphore;

use ntux_platform::atomic::Word64;

use crate::format::layout::ObjectSlot;
use crate::format::meta::Meta;
use crate::format::object_word::{Claimant, ObjectWord};
use crate::{Error, Result, spec};
pub(crate) use mutex::Carried;

/// What an object is.
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
}

/// An operation that changes one object without waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    Set,
    Reset,
    Pulse,
    Release(u32),
    Unlock(u32),
    Kill(u32),
}

/// What a new object starts as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub kind: Kind,
    pub value: u32,
    pub level: u32,
    pub flags: u64,
    pub extra: u64,
}

/// What an operation makes of a word at rest.
#[derive(Clone, Copy, Debug)]
#[must_use]
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

/// What a wait finds in a word at rest.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) enum Access {
    /// It cannot acquire the object now.
    Closed,
    /// The count must be carried first.
    Carry(Claimant),
    /// It can; the word afterwards, the same one if acquiring changes nothing.
    Open(ObjectWord),
}

impl New {
    /// Errors: `Invalid`, see [`New`].
    pub(crate) fn start(self) -> Result<Start> {
        match self {
            New::Semaphore { count, max } => semaphore::start(count, max),
            New::Mutex { owner, count } => mutex::start(owner, count),
            New::Event { manual, signaled } => Ok(event::start(manual, signaled)),
        }
    }
}

impl Start {
    /// What lies beside the first word of the object, which follows `rest` in its slot.
    pub(crate) fn extra(self, rest: ObjectWord) -> u64 {
        match self.kind {
            Kind::Mutex => mutex::extra_at_start(self.extra, rest),
            Kind::Semaphore | Kind::AutoEvent | Kind::ManualEvent => self.extra,
        }
    }
}

impl Kind {
    /// The kind that a slot has or had last. Rubbish reads as some kind: the answers are wrong then, but they are answers.
    #[inline(always)]
    pub(crate) fn of(meta: Meta) -> Kind {
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
        }
    }

    /// Whether it is an event of either sort.
    pub fn is_event(self) -> bool {
        matches!(self, Kind::AutoEvent | Kind::ManualEvent)
    }

    /// Whether a wait that acquires the object changes it.
    #[inline(always)]
    pub(crate) fn is_consumed(self) -> bool {
        self != Kind::ManualEvent
    }

    /// Whether an object that is taken mostly comes free in a moment, so that looking again may save a sleep.
    pub(crate) fn is_held_briefly(self) -> bool {
        self == Kind::Mutex
    }

    /// What a wait with this owner id finds in a word at rest.
    #[inline(always)]
    pub(crate) fn access(self, word: ObjectWord, extra: &Word64, owner: u32) -> Access {
        match self {
            Kind::Mutex => mutex::access(word, extra, owner),
            _ if word.value() == 0 => Access::Closed,
            _ => Access::Open(self.consumed(word, owner)),
        }
    }

    /// Whether a waiter with this owner id could be given the object.
    pub(crate) fn admits(self, word: ObjectWord, extra: &Word64, owner: u32) -> bool {
        self != Kind::Mutex || !matches!(mutex::access(word, extra, owner), Access::Closed)
    }

    /// Whether what is on offer may be given to any waiter, whatever its owner id.
    pub(crate) fn admits_anybody(self, word: ObjectWord) -> bool {
        self != Kind::Mutex || word.value() == 0
    }

    /// Whether the count must be carried before the object is claimed for a waiter.
    pub(crate) fn carries_first(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && mutex::must_carry_up(word)
    }

    /// Whether [`Kind::access`] also depends on what lies beside the word, which belongs to it only if the word is still the
    /// same afterwards.
    pub(crate) fn access_depends_on_beside(self, word: ObjectWord) -> bool {
        self == Kind::Mutex && mutex::is_spilled(word)
    }

    /// The same of [`Kind::value`].
    pub(crate) fn value_depends_on_beside(self, word: ObjectWord) -> bool {
        self == Kind::Semaphore || self.access_depends_on_beside(word)
    }

    /// Whether who acquires an object with this word is to be told that its owner was killed.
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
            Kind::ManualEvent => word,
        }
    }

    /// The word when the operation that offered it is over.
    pub(crate) fn rested(self, word: ObjectWord) -> ObjectWord {
        match self {
            Kind::AutoEvent | Kind::ManualEvent => event::rested(word),
            Kind::Semaphore | Kind::Mutex => word,
        }
    }

    /// Whether everybody is served, in any order.
    pub(crate) fn is_broadcast(self, word: ObjectWord) -> bool {
        self == Kind::ManualEvent && event::is_broadcast(word)
    }

    /// Whether something is left for others after a claim was granted or refused.
    pub(crate) fn remains_on_offer(self, word: ObjectWord, granted: bool) -> bool {
        match self {
            Kind::Semaphore => word.value() > 0,
            // Also after it was granted: others with the same owner id may enter too.
            Kind::Mutex => true,
            Kind::AutoEvent => !granted,
            Kind::ManualEvent => event::is_broadcast(word) || !granted,
        }
    }

    /// Whether an admitted operation has something for a wait-all waiter on its origin.
    pub(crate) fn is_on_offer(self, word: ObjectWord) -> bool {
        self == Kind::Mutex || word.value() != 0
    }

    /// Whether an admitted operation has more on its origin than one waiter can take. `takes`: one is about to take its share.
    pub(crate) fn offers_several(self, word: ObjectWord, takes: bool) -> bool {
        match self {
            Kind::Semaphore => word.value() > u32::from(takes),
            Kind::ManualEvent => true,
            Kind::AutoEvent | Kind::Mutex => false,
        }
    }

    /// Whether between two words of a claimed object nobody can have joined its queue before those who stood in its wait set
    /// all the time, or it does not matter. A semaphore that had rested with a unit left would have left nobody standing
    /// (I-claim-5); to rest without a unit takes a change for each that there was.
    pub(crate) fn has_served_only(self, seen: ObjectWord, now: ObjectWord) -> bool {
        let is_serving = matches!(now.claimant(), Claimant::Waiter(_));
        match self {
            Kind::ManualEvent => is_serving && event::is_broadcast(now),
            Kind::Semaphore => is_serving && seen.changes_until(now) <= u64::from(seen.value()),
            Kind::Mutex | Kind::AutoEvent => false,
        }
    }

    /// What the object is, as the specification says it; none if no operation can have left this behind. Right also while a
    /// claim is half-way: the value then includes the unit that is on its way.
    #[inline(always)]
    pub(crate) fn value(self, word: ObjectWord, extra: u64) -> Option<spec::Value> {
        match self {
            Kind::Semaphore => semaphore::value(word, extra).map(spec::Value::Semaphore),
            Kind::Mutex => mutex::value(word, extra).map(spec::Value::Mutex),
            Kind::AutoEvent => event::value(word, false).map(spec::Value::Event),
            Kind::ManualEvent => event::value(word, true).map(spec::Value::Event),
        }
    }
}

impl Signal {
    /// Whether it is an operation on this kind.
    #[inline(always)]
    pub(crate) fn fits(self, kind: Kind) -> bool {
        match self {
            Signal::Set | Signal::Reset | Signal::Pulse => kind.is_event(),
            Signal::Release(_) => kind == Kind::Semaphore,
            Signal::Unlock(_) | Signal::Kill(_) => kind == Kind::Mutex,
        }
    }

    /// What it makes of a word at rest.
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

    /// Its result, read off the word that it left behind as an admitted operation: the same for every helper. `offered`: it has
    /// made the object available.
    pub(crate) fn result(self, word: ObjectWord, extra: &Word64, offered: bool) -> Result<u32> {
        match self {
            Signal::Set | Signal::Pulse => Ok(u32::from(!offered)),
            Signal::Reset => Ok(word.value()),
            Signal::Release(count) => semaphore::released(word, count, offered),
            Signal::Unlock(owner) => mutex::unlocked(word, extra, owner, offered),
            Signal::Kill(_) => mutex::killed(offered),
        }
    }

    /// As a request is stored in its waiter's slot.
    pub(crate) fn bits(self) -> u64 {
        let (number, argument) = match self {
            Signal::Set => (1u64, 0),
            Signal::Reset => (2, 0),
            Signal::Pulse => (3, 0),
            Signal::Release(count) => (4, count),
            Signal::Unlock(owner) => (5, owner),
            Signal::Kill(owner) => (6, owner),
        };
        number << 32 | u64::from(argument)
    }

    /// The request that is stored so; none for rubbish.
    pub(crate) fn of_bits(bits: u64) -> Option<Signal> {
        let argument = bits as u32;
        match bits >> 32 {
            1 => Some(Signal::Set),
            2 => Some(Signal::Reset),
            3 => Some(Signal::Pulse),
            4 => Some(Signal::Release(argument)),
            5 => Some(Signal::Unlock(argument)),
            6 => Some(Signal::Kill(argument)),
            _ => None,
        }
    }
}

/// Helps a claim that carries a part of a count.
pub(crate) fn carried(slot: &ObjectSlot, seen: ObjectWord) -> Carried {
    mutex::carried(slot, seen)
}
