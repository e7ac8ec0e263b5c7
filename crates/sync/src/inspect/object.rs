// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object, and its queue.

use ntux_platform::atomic::{Pair, Word32, Word64};

use super::view::Look;
use super::{Reading, reading};
use crate::arena::wait_set::Place;
use crate::format::chunk_word::Link;
use crate::format::entry::Entry;
use crate::format::layout::ObjectSlot;
use crate::format::limits::{CHUNK_USED, INLINE_USED};
use crate::format::mark::Mark;
use crate::format::meta::{Meta, SlotState};
use crate::format::object_word::{Claimant, ObjectWord};
use crate::format::schedule::Schedule;
use crate::format::waiter_word::{WaiterState, WaiterWord};
use crate::kind::{Kind, timer};
use crate::{EndState, Object, TimerState, spec};

/// An object as it was at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectView {
    /// Its number.
    pub object: Object,
    /// The sequence number of its word: the difference between two snapshots is the number of changes.
    pub version: u64,
    /// False if it changed faster than it could be read, so its parts may be of several instants.
    pub stable: bool,
    /// Its name, if it is known to have one. Somebody chose it; what is no UTF-8 is U+FFFD.
    pub name: Option<String>,
    /// How far its life has come.
    pub life: Life,
    /// Its keeper.
    pub keeper: Keeper,
    /// The peer that created it, if that is known.
    pub creator: Option<u32>,
    /// Its kind and state. The state of a claimed object still includes the unit on offer.
    pub value: Value,
    /// The thread that signaled it last, or acquired it last if it is a mutex.
    pub last_by: LastBy,
    /// The incomplete operation on it, if any.
    pub claim: Claim,
    /// Its queue, in order of arrival, including entries that their waiters have left behind.
    pub queue: Vec<EntryView>,
    /// False if a part of the queue is rubbish, and not shown.
    pub queue_is_whole: bool,
}

/// How far the life of an object has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// Being created.
    Building,
    /// In use.
    Live,
    /// Closed, but somebody still waits for it, or an operation on it is incomplete.
    Closed,
    /// No such state.
    Rubbish,
}

/// Object lifetime: which process or descriptor keeps the object alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// Nothing: it is closed.
    Nobody,
    /// The peer with this index.
    Process(u32),
    /// Those that hold it, if any does.
    Processes,
    /// Its descriptors, which are only in this family of processes.
    Family(u32),
    /// Its descriptors; the kernel counts them.
    Descriptors,
}

/// Kind and state of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A count with a maximum.
    Semaphore(spec::Semaphore),
    /// An owner and a recursion count.
    Mutex(spec::Mutex),
    /// Signaled or not.
    Event(spec::Event),
    /// Signaled or not, and when it is due.
    Timer(TimerState),
    /// The end of an owner, as far as it was noticed.
    End(EndState),
    /// It is being created: the contents can be those of the previous object.
    Undecided,
    /// No operation could have left this.
    Rubbish,
}

impl Value {
    /// The kind of object that has this value, if that is known.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Value::Semaphore(_) => Some(Kind::Semaphore),
            Value::Mutex(_) => Some(Kind::Mutex),
            Value::Event(event) if event.manual => Some(Kind::ManualEvent),
            Value::Event(_) => Some(Kind::AutoEvent),
            Value::Timer(timer) if timer.manual => Some(Kind::ManualTimer),
            Value::Timer(_) => Some(Kind::SyncTimer),
            Value::End(_) => Some(Kind::End),
            Value::Undecided | Value::Rubbish => None,
        }
    }
}

/// The thread that signaled an object last (set or pulsed an event, released a semaphore), or acquired a mutex last. Only live objects at
/// rest have it. The thread that completes an operation notes whose it is. It cannot if the operation was begun by a thread that was
/// killed, or overtaken, before it could sign; or if a wait for several objects took the object without having to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastBy {
    /// Unknown.
    Unknown,
    /// Nobody has, since the object was created.
    Nobody,
    /// This thread, by its number in its own namespace.
    Thread {
        /// The index of its peer; if this process has ended, another one can have the index by now. None: unknown, or above 1,022.
        peer: Option<u32>,
        /// Its number.
        thread: u32,
    },
}

/// The incomplete operation on an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// None: the object is at rest.
    None,
    /// The object is on its way to the waiter with this index, in the wait whose ticket ends in these 32 bits.
    Waiter {
        /// Index of the waiter.
        index: u32,
        /// The low half of its ticket.
        ticket: u32,
    },
    /// Claimed by an attempt of a wait-all.
    All {
        /// The number of the attempt, or of its operation.
        attempt: u32,
    },
    /// A signal on it is in progress, wait-all waiters first; `offers` says whether it has made the object available.
    Signal {
        /// The number of the attempt.
        attempt: u32,
        /// There is something to take.
        offers: bool,
    },
    /// The recursion count moves a part of itself.
    Carry,
    /// A turn of a timer was announced, and has not taken effect ([`crate::protocol::timer`]): the value is that after it.
    Turn {
        /// The number of the turn.
        number: u32,
    },
    /// No such claim.
    Rubbish,
}

/// A place in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryView {
    /// The waiter's index.
    pub waiter: u32,
    /// Its wait.
    pub ticket: u64,
    /// It waits for all its objects. (False for the alert of such a wait.)
    pub all: bool,
    /// The object's index in the waiter's list.
    pub position: u32,
    /// If it counts.
    pub standing: Standing,
}

/// If an entry counts, and why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Its waiter waits, for this object.
    Waiting,
    /// Its waiter is not in all its queues yet.
    Queueing,
    /// Its wait is over: the next thread that meets the entry empties it.
    Over,
    /// Its waiter does not exist.
    Rubbish,
}

/// The undecoded contents of a slot.
struct Slot {
    word: ObjectWord,
    meta: Meta,
    extra: u64,
    schedule: Schedule,
}

impl ObjectView {
    /// Returns `None` if the slot is free and nobody waits there, or if it has no memory.
    pub(super) fn of(look: &Look<'_>, index: u32, chains: &mut Chains) -> Option<ObjectView> {
        let slot = look.object(index)?;
        let read = |word| Slot {
            word: ObjectWord(word),
            meta: Meta(slot.meta.load()),
            extra: slot.extra.load(),
            schedule: look.schedule(index),
        };
        let Reading { what: Slot { word, meta, extra, schedule }, stable } = reading(&slot.word, read);
        let (life, generation) = match meta.state() {
            SlotState::Live => (Life::Live, meta.generation()),
            SlotState::Building => (Life::Building, meta.generation()),
            SlotState::Free => (Life::Closed, meta.generation_before()),
            SlotState::Rubbish => (Life::Rubbish, meta.generation()),
        };
        let object = Object::new(index, generation);
        let (queue, queue_is_whole) = chains.queue(look, slot, object);
        let turn = if life == Life::Live { timer::pending(Kind::of(meta), word, schedule) } else { None };
        let claim = match (Claim::of(look, word), turn) {
            (Claim::None, Some(number)) => Claim::Turn { number },
            (claim, _) => claim,
        };
        let is_waited_for = queue.iter().any(|entry| matches!(entry.standing, Standing::Waiting | Standing::Queueing));
        if life == Life::Closed && !is_waited_for && claim == Claim::None {
            return None;
        }
        let (version, keeper) = (word.version(), Keeper::of(meta, life));
        let value = Value::of(meta, life, word, extra, schedule);
        let creator = meta.creator().filter(|_| life == Life::Live);
        let last_by =
            if life == Life::Live && claim == Claim::None { LastBy::of(word.mark()) } else { LastBy::Unknown };
        Some(ObjectView {
            object,
            version,
            stable,
            name: None,
            life,
            keeper,
            creator,
            value,
            last_by,
            claim,
            queue,
            queue_is_whole,
        })
    }

    /// How often it has changed since an earlier snapshot of the same object.
    pub fn changes_since(&self, earlier: &ObjectView) -> u64 {
        let word = |low| ObjectWord(Pair { low, high: 0 });
        word(earlier.version).changes_until(word(self.version))
    }

    /// Its current waiters, in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = &EntryView> {
        self.queue.iter().filter(|entry| entry.standing == Standing::Waiting)
    }
}

impl Keeper {
    fn of(meta: Meta, life: Life) -> Keeper {
        match life {
            Life::Closed | Life::Rubbish => Keeper::Nobody,
            _ if meta.is_shared() => Keeper::Processes,
            _ if !meta.is_held() => Keeper::Process(meta.keeper()),
            _ if meta.is_locked() => Keeper::Descriptors,
            _ => Keeper::Family(meta.keeper()),
        }
    }
}

impl Value {
    fn of(meta: Meta, life: Life, word: ObjectWord, extra: u64, schedule: Schedule) -> Value {
        if life == Life::Building {
            return Value::Undecided;
        }
        let kind = Kind::of(meta);
        // This decodes every number as some kind.
        let value = if kind.number() == meta.kind() { kind.value(word, extra) } else { None };
        match value {
            Some(spec::Value::Semaphore(semaphore)) => Value::Semaphore(semaphore),
            Some(spec::Value::Mutex(mutex)) => Value::Mutex(mutex),
            Some(spec::Value::Event(event)) => Value::Event(event),
            Some(spec::Value::Timer(_)) => timer::state(kind, word, schedule).map_or(Value::Rubbish, Value::Timer),
            Some(spec::Value::End(end)) => Value::End(end),
            None => Value::Rubbish,
        }
    }
}

impl LastBy {
    pub(super) fn of(mark: Mark) -> LastBy {
        match (mark, mark.thread()) {
            (Mark::NOBODY, _) => LastBy::Nobody,
            (_, 0) => LastBy::Unknown,
            (_, thread) => LastBy::Thread { peer: mark.peer(), thread },
        }
    }
}

impl Claim {
    fn of(look: &Look<'_>, word: ObjectWord) -> Claim {
        let tag = word.tag();
        match word.claimant() {
            Claimant::Nobody => Claim::None,
            Claimant::Waiter(index) if look.is_waiter(index) => Claim::Waiter { index, ticket: tag },
            Claimant::All => Claim::All { attempt: tag },
            Claimant::Origin => Claim::Signal { attempt: tag, offers: true },
            Claimant::OriginIdle => Claim::Signal { attempt: tag, offers: false },
            Claimant::CarryUp | Claimant::CarryDown => Claim::Carry,
            Claimant::Waiter(_) | Claimant::Rubbish => Claim::Rubbish,
        }
    }
}

/// The chunks that were read: each belongs to one queue.
pub(super) struct Chains {
    is_read: Vec<bool>,
}

impl Chains {
    pub fn new(chunks: u32) -> Chains {
        Chains { is_read: vec![false; chunks as usize] }
    }

    /// The entries of an object, in order of arrival, and whether these are all.
    fn queue(&mut self, look: &Look<'_>, slot: &ObjectSlot, object: Object) -> (Vec<EntryView>, bool) {
        let mut queue = Vec::new();
        read_places(look, &slot.wait_set[..INLINE_USED], object, &mut queue);
        let mut link: &Word32 = &slot.chunk;
        let whole = loop {
            let Some(index) = Link(link.load()).chunk() else { break true };
            // For this snapshot, a chunk that was linked after it began has no memory yet.
            let (Some(chunk), Some(is_read @ false)) = (look.chunk(index), self.is_read.get_mut(index as usize)) else {
                break false;
            };
            *is_read = true;
            read_places(look, &chunk.wait_set[..CHUNK_USED], object, &mut queue);
            link = &chunk.next;
        };
        queue.sort_by_key(|entry| look.age_rank(entry.ticket));
        (queue, whole)
    }
}

fn read_places(look: &Look<'_>, places: &[Word64], object: Object, queue: &mut Vec<EntryView>) {
    queue.extend(places.iter().filter_map(|word| Place(word).entry()).map(|entry| EntryView {
        waiter: entry.waiter(),
        ticket: entry.ticket().number(),
        all: entry.is_all(),
        position: entry.position() as u32,
        standing: standing(look, entry, object),
    }));
}

fn standing(look: &Look<'_>, entry: Entry, object: Object) -> Standing {
    if !look.is_waiter(entry.waiter()) {
        return Standing::Rubbish;
    }
    let Some(slot) = look.waiter(entry.waiter()) else { return Standing::Over };
    let listed = slot.list.get(entry.position());
    let read = |word| (WaiterWord(word), listed.is_some_and(|listed| listed.load() == object.0));
    let (word, is_listed) = reading(&slot.word, read).what;
    match word.state() {
        _ if word.ticket() != entry.ticket() || !is_listed => Standing::Over,
        WaiterState::Waiting => Standing::Waiting,
        WaiterState::Queueing => Standing::Queueing,
        _ => Standing::Over,
    }
}
