//! Object slots: taking one, giving it back, and finding those that nobody can use any more.
//!
//! # Picture
//! ```text
//! meta:   63    53   52     51       40   39    38   36 35  32 31          0
//!        +--------+--------+-----------+------+-------+------+------------+
//!        |   -    | locked |   peer    | held | state | kind | generation |
//!        +--------+--------+-----------+------+-------+------+------------+
//! object: generation in the upper 32 bits, index in the lower ones; never 0
//! ```
//! held: by descriptors; peer is then the family that answers for them, see [`super::descriptor`]. locked: the object's
//! own byte answers.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | Free | Building (same generation and old kind) | a creator; or a sweep, from a dead creator |
//! | Building | Live (new kind) | its creator, after it has written the object's word |
//! | Live | Free (next generation, same kind) | whoever closes it, or a sweep that found it unreferenced |
//!
//! # Invariants
//! * I-object-1: an operation loads the object's word *before* it looks at meta, and changes the word by compare-exchange.
//!   A creator advances the word between Building and Live. So an operation on an object that was closed and made anew
//!   meanwhile fails its compare-exchange: it can never hit the successor.
//! * I-object-2: the kind stays until the next Live, so that a claim which a closed object still carries can be finished.
//!
//! # Death
//! After any step the slot is Free (found by the pool), Building or Live of a dead peer (found by the sweep).

use ntux_platform::atomic::Word32;

use super::Arena;
use super::descriptor::Keeper;
use super::format::ObjectSlot;
use super::peers::Census;
use super::pool::Pool;
use crate::waiter::Waiter;
use crate::word::ObjectWord;
use crate::{Error, New, Object, RETRIES, Result, event, mutex, semaphore};

const STATE_SHIFT: u32 = 36;
const KIND_SHIFT: u32 = 32;
const HELD: u64 = 1 << 39;
const LOCKED: u64 = 1 << 52;
const PEER_SHIFT: u32 = 40;
const PEER_MASK: u64 = 0xfff;
/// Generations stay positive as a file offset, which is how a descriptor carries its object.
const GENERATION_MASK: u32 = 0x7fff_ffff;

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

impl Kind {
    /// Whether it is an event of either sort.
    pub fn is_event(self) -> bool {
        matches!(self, Kind::AutoEvent | Kind::ManualEvent)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free,
    Building,
    Live,
    Rubbish,
}

/// A copy of an object's meta word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta(u64);

impl Meta {
    fn new(state: State, kind: Kind, generation: u32, peer: u32) -> Meta {
        let state: u64 = match state {
            State::Free | State::Rubbish => 0,
            State::Building => 1,
            State::Live => 2,
        };
        let kind: u64 = match kind {
            Kind::Semaphore => 0,
            Kind::Mutex => 1,
            Kind::AutoEvent => 2,
            Kind::ManualEvent => 3,
        };
        Meta(u64::from(generation) | kind << KIND_SHIFT | state << STATE_SHIFT | u64::from(peer) << PEER_SHIFT)
    }

    fn state(self) -> State {
        match self.0 >> STATE_SHIFT & 0x7 {
            0 => State::Free,
            1 => State::Building,
            2 => State::Live,
            _ => State::Rubbish,
        }
    }

    /// Rubbish reads as some kind: the answers are wrong then, but they are answers.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        match self.0 >> KIND_SHIFT & 0x3 {
            0 => Kind::Semaphore,
            1 => Kind::Mutex,
            2 => Kind::AutoEvent,
            _ => Kind::ManualEvent,
        }
    }

    pub fn generation(self) -> u32 {
        self.0 as u32 & GENERATION_MASK
    }

    /// The generation that ended when the slot became free.
    fn generation_before(self) -> u32 {
        match self.generation() {
            0 | 1 => GENERATION_MASK,
            generation => generation - 1,
        }
    }

    #[inline(always)]
    pub(super) fn is_live(self, object: Object) -> bool {
        self.0 as u32 == object.generation() && self.0 >> STATE_SHIFT & 0x7 == 2
    }

    fn peer(self) -> u32 {
        (self.0 >> PEER_SHIFT & PEER_MASK) as u32
    }

    pub(super) fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    /// Of a held object: the family that answers for it unless it is locked.
    #[cfg(target_os = "linux")]
    pub(super) fn keeper(self) -> u32 {
        self.peer()
    }

    /// Whether the object is held and this family answers for it.
    #[cfg(target_os = "linux")]
    pub(super) fn is_kept_by(self, family: u32) -> bool {
        self.state() == State::Live && self.is_held() && !self.is_locked() && self.keeper() == family
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    fn locked(self) -> Meta {
        Meta(self.0 | LOCKED)
    }

    fn held(self) -> Meta {
        Meta(self.0 | HELD)
    }

    fn freed(self) -> Meta {
        let generation = match self.generation().wrapping_add(1) & GENERATION_MASK {
            0 => 1,
            next => next,
        };
        Meta::new(State::Free, self.kind(), generation, 0)
    }
}

impl Object {
    pub(crate) fn new(index: u32, generation: u32) -> Object {
        Object(u64::from(generation) << 32 | u64::from(index))
    }

    #[inline(always)]
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
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

impl Start {
    /// Errors: `Invalid`, see [`New`].
    pub(crate) fn of(new: New) -> Result<Start> {
        match new {
            New::Semaphore { count, max } => semaphore::start(count, max),
            New::Mutex { owner, count } => mutex::start(owner, count),
            New::Event { manual, signaled } => Ok(event::start(manual, signaled)),
        }
    }
}

impl ObjectSlot {
    pub(crate) fn load(&self) -> ObjectWord {
        ObjectWord(self.word.load())
    }

    /// A copy that only an exchange may rely on: what this thread left here, or both halves of the word, unchecked.
    #[inline(always)]
    pub(crate) fn guess(&self, waiter: &Waiter, object: Object) -> ObjectWord {
        waiter.recall(object).unwrap_or_else(|| ObjectWord(self.word.glance()))
    }

    /// As [`ObjectSlot::exchange`]; remembers what the thread left here.
    #[inline(always)]
    pub(crate) fn exchange_guess(&self, waiter: &Waiter, object: Object, seen: ObjectWord, next: ObjectWord) -> bool {
        let left = next.advanced();
        let done = self.word.compare_exchange(seen.0, left.0).is_ok();
        if done {
            waiter.remember(object, left);
        } else {
            waiter.forget(object);
        }
        done
    }

    /// Replaces `seen` by `next`, one step later.
    #[inline(always)]
    pub(crate) fn exchange(&self, seen: ObjectWord, next: ObjectWord) -> bool {
        self.word.compare_exchange(seen.0, next.advanced().0).is_ok()
    }

    /// The kind, if the object is alive. To be called after the word was loaded (I-object-1).
    #[inline(always)]
    pub(crate) fn kind_if_live(&self, object: Object) -> Option<Kind> {
        let meta = Meta(self.meta.load());
        meta.is_live(object).then(|| meta.kind())
    }

    /// The kind of what lives here or lived here last (I-object-2).
    pub(crate) fn kind(&self) -> Kind {
        Meta(self.meta.load()).kind()
    }

    /// What lives here or lived here last, as an object: an operation that began before it was closed goes on to its end.
    pub(crate) fn resident(&self, index: u32) -> Object {
        let meta = Meta(self.meta.load());
        let generation = if meta.state() == State::Live { meta.generation() } else { meta.generation_before() };
        Object::new(index, generation)
    }
}

impl Arena {
    /// Kind of a living object.
    ///
    /// Errors: `NoSuchObject`.
    pub fn kind(&self, object: Object) -> Result<Kind> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        slot.kind_if_live(object).ok_or(Error::NoSuchObject)
    }

    /// Gives an object's slot back. Waits that have begun go on to their own deadlines.
    ///
    /// Errors: `NoSuchObject`.
    pub fn close(&self, object: Object) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            if !meta.is_live(object) {
                return Err(Error::NoSuchObject);
            }
            if slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok() {
                self.object_pool().hint(object.index());
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// Makes this process the one that an object belongs to. An object whose process has ended is taken back when the
    /// arena runs out of slots; who goes on using it after its creator's end says so here. An object behind descriptors
    /// belongs to whoever has one, and stays so.
    ///
    /// Errors: `NoSuchObject`, `Exhausted`.
    pub fn adopt(&self, object: Object) -> Result<()> {
        let peer = self.peer()?;
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            if !meta.is_live(object) {
                return Err(Error::NoSuchObject);
            }
            if meta.is_held() {
                return Ok(());
            }
            let adopted = Meta::new(State::Live, meta.kind(), meta.generation(), peer);
            if slot.meta.compare_exchange(meta.0, adopted.0).is_ok() {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    pub(crate) fn create_object(&self, waiter: &Waiter, start: Start, custody: Custody<'_>) -> Result<Object> {
        waiter.fuel.fill();
        let peer = self.peer()?;
        let pool = self.object_pool();
        let take = |index| self.build(index, peer);
        let index = match pool.find(take) {
            Some(index) => index,
            None => self.search_unreferenced(custody, take).ok_or(Error::Exhausted)?,
        };
        let created = custody.answering(index, peer).and_then(|live| self.furnish(waiter, index, start, live));
        if created.is_err() && self.reclaim_own(index) {
            pool.hint(index);
        }
        created
    }

    /// Building to Free: the creator gives up.
    fn reclaim_own(&self, index: u32) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        let meta = Meta(slot.meta.load());
        meta.state() == State::Building && slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok()
    }

    #[cold]
    fn search_unreferenced(&self, custody: Custody<'_>, take: impl Fn(u32) -> bool) -> Option<u32> {
        let census = Census::new(self);
        self.object_pool().search(|index| self.reclaim(index, custody, &census) && take(index))
    }

    /// Free to Building.
    fn build(&self, index: u32, peer: u32) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        let meta = Meta(slot.meta.load());
        let building = Meta::new(State::Building, meta.kind(), meta.generation(), peer);
        meta.state() == State::Free && slot.meta.compare_exchange(meta.0, building.0).is_ok()
    }

    /// Building to Live. What the last object left claimed is finished first, as the kind that it was.
    fn furnish(&self, waiter: &Waiter, index: u32, start: Start, answering: Answering) -> Result<Object> {
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        for _ in 0..RETRIES {
            let rest = self.help(waiter, index, slot.load())?;
            let word = ObjectWord::fresh(rest, start.value, start.level).with(start.flags);
            if !slot.exchange(rest, word) {
                continue;
            }
            let is_mutex = start.kind == Kind::Mutex;
            slot.extra.store(if is_mutex { mutex::extra_at_start(start.extra, rest) } else { start.extra });
            let building = Meta(slot.meta.load());
            let generation = building.generation().max(1);
            let live = answering.live(start.kind, generation);
            let published = slot.meta.compare_exchange(building.0, live.0).is_ok();
            return if published { Ok(Object::new(index, generation)) } else { Err(Error::Corrupt) };
        }
        Err(Error::Corrupt)
    }

    /// Frees a slot that nobody can use any more; true when it is free now.
    fn reclaim(&self, index: u32, custody: Custody<'_>, census: &Census<'_>) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        let meta = Meta(slot.meta.load());
        let unreferenced = match meta.state() {
            State::Free => return true,
            State::Live if meta.is_held() => custody.is_abandoned(index, meta),
            State::Live | State::Building => census.is_peer_dead(meta.peer()),
            State::Rubbish => true,
        };
        unreferenced && slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok()
    }

    /// Looks at a few slots on each creation, so that objects whose last descriptor was closed do not pile up. Small arenas
    /// are left alone: asking the kernel costs more than the memory.
    #[cfg(target_os = "linux")]
    pub(crate) fn sweep_some(&self, slots: u32, custody: Custody<'_>) {
        const WORTH_SWEEPING: u32 = 4096;
        let pool = self.object_pool();
        if pool.used() < WORTH_SWEEPING.min(self.capacity().objects) {
            return;
        }
        for _ in 0..slots {
            let index = pool.turn();
            let Some(slot) = self.object_slot(index) else { return };
            let meta = Meta(slot.meta.load());
            if meta.state() == State::Live && meta.is_held() && custody.is_abandoned(index, meta) {
                self.free_object(index, meta);
            }
        }
    }

    /// How many slots were ever used.
    #[cfg(target_os = "linux")]
    pub(super) fn objects_used(&self) -> u32 {
        self.object_pool().used()
    }

    /// What is said about a slot now.
    #[cfg(target_os = "linux")]
    pub(super) fn meta(&self, index: u32) -> Option<Meta> {
        Some(Meta(self.object_slot(index)?.meta.load()))
    }

    /// Says that the object's own byte answers for it, unless meta changed since it was seen.
    #[cfg(target_os = "linux")]
    pub(super) fn lock_object(&self, index: u32, seen: Meta) {
        if let Some(slot) = self.object_slot(index) {
            let _ = slot.meta.compare_exchange(seen.0, seen.0 | LOCKED);
        }
    }

    /// To Free, unless meta changed since it was seen.
    pub(super) fn free_object(&self, index: u32, seen: Meta) {
        let Some(slot) = self.object_slot(index) else { return };
        if slot.meta.compare_exchange(seen.0, seen.freed().0).is_ok() {
            self.object_pool().hint(index);
        }
    }

    /// Frees what a dead process was building or owned.
    pub(crate) fn bury_objects(&self, peer: u32) {
        for index in 0..self.object_pool().used() {
            let Some(slot) = self.object_slot(index) else {
                return;
            };
            let meta = Meta(slot.meta.load());
            if meta.peer() == peer && meta.state() != State::Free && !meta.is_held() {
                self.free_object(index, meta);
            }
        }
    }

    fn object_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>> {
        Pool {
            words: &self.header().object_pool.0,
            capacity: self.capacity().objects,
            link: |index| self.object_slot(index).map(|slot| &slot.next_hint),
        }
    }
}

/// Who keeps an object alive.
#[derive(Clone, Copy)]
pub(crate) enum Custody<'a> {
    /// The process that created it, until it closes it.
    Process,
    /// The copies of a descriptor.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no descriptor objects there"))]
    Descriptor(Keeper<'a>),
}

impl Custody<'_> {
    /// Who will answer for the new object; before it is known to anybody.
    fn answering(self, index: u32, peer: u32) -> Result<Answering> {
        match self {
            Custody::Process => Ok(Answering::Peer(peer)),
            Custody::Descriptor(keeper) => match keeper.family(index)? {
                Some(family) => Ok(Answering::Family(family)),
                None => Ok(Answering::Byte),
            },
        }
    }

    /// Whether the kernel says that no descriptor of this object is left.
    fn is_abandoned(self, index: u32, meta: Meta) -> bool {
        match self {
            Custody::Process => false,
            Custody::Descriptor(keeper) => keeper.is_unreferenced(index, meta),
        }
    }
}

/// Whose end is the end of an object.
#[derive(Clone, Copy)]
enum Answering {
    /// The process that created it.
    Peer(u32),
    /// The processes that share its creator's mapping.
    Family(u32),
    /// Whoever has a copy of its descriptor.
    Byte,
}

impl Answering {
    fn live(self, kind: Kind, generation: u32) -> Meta {
        match self {
            Answering::Peer(peer) => Meta::new(State::Live, kind, generation, peer),
            Answering::Family(family) => Meta::new(State::Live, kind, generation, family).held(),
            Answering::Byte => Meta::new(State::Live, kind, generation, 0).held().locked(),
        }
    }
}
