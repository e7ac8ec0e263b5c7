// SPDX-License-Identifier: MIT OR Apache-2.0
//! Object slots: takes and returns them, and finds those that nobody can use any more.
//!
//! # Picture
//! ```text
//! meta:   63       52 51       40   39     38    37   36 35  32 31          0
//!        +-----------+-----------+------+--------+-------+------+------------+
//!        |  creator  |  keeper   | held | locked | state | kind | generation |
//!        +-----------+-----------+------+--------+-------+------+------------+
//! object: generation in the upper 32 bits, index in the lower ones; never 0
//! ```
//! keeper: the process that holds the object; for a held object (*held* by descriptors) the family that made it, for onlookers:
//! who answers for it is in its claims, see [`super::descriptor`]. locked: of a held object, its own byte answers; of another one, it is
//! *shared*: who holds it is in its claims, see [`super::holds`]. creator: the process that made it, plus one; 0:
//! unknown. Only onlookers read it. The code is in [`crate::format::meta`] and [`super::lifetime`].
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | Free | Building (same generation and old kind) | a creator; or a sweep, from a dead creator |
//! | Building | Live (new kind) | its creator, after it has written the object's word |
//! | Live | Live, of another keeper | a process that adopts it |
//! | Live | Live, locked | a process that knows of copies that no family answers for |
//! | Live | Live, shared | a process that holds what another one holds, or that releases what is in use |
//! | Live | Live, of an unknown creator | the process that gets the slot of the creator, which is dead, before it has the slot |
//! | Live | Free (next generation, same kind) | a thread that closes it; one that releases the last hold, or finds that no living process holds it, if it is not in use; a sweep that found it unreferenced |
//!
//! # Invariants
//! * I-object-1: an operation loads the object's word *before* meta, and changes the word by compare-exchange. A
//!   creator advances the word between Building and Live, and the data beside it after that. So if the object was
//!   closed and the slot reused meanwhile, the compare-exchange fails: the operation can never hit the successor. An
//!   operation that continues although its object was closed does not begin with a word from Building; and data read
//!   beside the word counts only if the word is unchanged afterwards.
//! * I-object-2: the kind stays until the next Live, so that a claim on a closed object can still be finished.
//!
//! # Death
//! After any step the slot is Free (found by the pool), or Building or Live and owned by a dead peer (found by the
//! sweep).

use ntux_platform::atomic::Word32;

use super::Arena;
use super::lifetime::Lifetime;
use super::peers::LivenessCache;
use super::pool::Pool;
use crate::format::layout::ObjectSlot;
use crate::format::limits::RETRIES;
use crate::format::meta::{Meta, SlotState};
use crate::kind::Kind;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result};

impl ObjectSlot {
    /// The kind, if the object is alive. Call it after loading the word (I-object-1).
    #[inline(always)]
    pub(crate) fn kind_if_live(&self, object: Object) -> Option<Kind> {
        let meta = Meta(self.meta.load());
        meta.is_live(object).then(|| Kind::of(meta))
    }

    /// The same of an object that is no timer: for what is one exchange, without a look at a clock.
    #[inline(always)]
    pub(crate) fn kind_if_live_untimed(&self, object: Object) -> Option<Kind> {
        let meta = Meta(self.meta.load());
        meta.is_live_untimed(object).then(|| Kind::of_untimed(meta))
    }

    /// The kind, if [`ObjectSlot::still_has`] the object.
    #[inline(always)]
    pub(crate) fn kind_if_still_there(&self, object: Object) -> Option<Kind> {
        let meta = self.meta();
        is_still(meta, object).then(|| Kind::of(meta))
    }

    /// The same of an object that is no timer.
    #[inline(always)]
    pub(crate) fn kind_if_still_there_untimed(&self, object: Object) -> Option<Kind> {
        let meta = self.meta();
        (is_still(meta, object) && !meta.is_timed()).then(|| Kind::of_untimed(meta))
    }

    /// What the slot says of its object.
    #[inline(always)]
    pub(crate) fn meta(&self) -> Meta {
        Meta(self.meta.load())
    }

    /// The kind of the slot's current or last object (I-object-2).
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(Meta(self.meta.load()))
    }

    /// Changes meta, unless it changed since it was seen. (That a burial forgot the creator is no change: only onlookers read it.)
    fn change_meta(&self, seen: Meta, change: impl Fn(Meta) -> Meta) -> bool {
        let exchange = |seen: Meta| self.meta.compare_exchange(seen.0, change(seen).0).is_ok();
        exchange(seen) || exchange(seen.without_creator())
    }

    /// The slot's current or last object. An operation that began before the object was closed continues to its end.
    pub(crate) fn resident(&self, index: u32) -> Object {
        resident(Meta(self.meta.load()), index)
    }

    /// Returns true if this is the slot's current or last object, and no other one is being created; otherwise the word may
    /// already be that one's (I-object-1).
    pub(crate) fn still_has(&self, object: Object) -> bool {
        is_still(self.meta(), object)
    }
}

#[inline(always)]
fn is_still(meta: Meta, object: Object) -> bool {
    meta.state() != SlotState::Building && resident(meta, object.index()) == object
}

/// Makes a live object that one process holds this one's, unless meta changes meanwhile. Returns false if nothing has happened.
#[inline(always)]
fn hand_once(slot: &ObjectSlot, object: Object, peer: u32) -> bool {
    let meta = Meta(slot.meta.load());
    meta.is_live(object) && meta.is_kept() && slot.meta.compare_exchange(meta.0, meta.kept_by(peer).0).is_ok()
}

fn resident(meta: Meta, index: u32) -> Object {
    let generation = if meta.state() == SlotState::Live { meta.generation() } else { meta.generation_before() };
    Object::new(index, generation)
}

impl Arena {
    /// Returns the kind of a live object.
    ///
    /// Errors: `NoSuchObject`.
    pub(crate) fn kind_of(&self, object: Object) -> Result<Kind> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        slot.kind_if_live(object).ok_or(Error::NoSuchObject)
    }

    /// Live to Free.
    ///
    /// Errors: `NoSuchObject`.
    pub(crate) fn free(&self, object: Object) -> Result<()> {
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

    /// Makes an object belong to the process with this index.
    ///
    /// Errors: `NoSuchObject`.
    pub(crate) fn hand_to(&self, object: Object, peer: u32) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        match hand_once(slot, object, peer) {
            true => Ok(()),
            false => self.hand_slowly(object, peer),
        }
    }

    #[cold]
    #[inline(never)]
    fn hand_slowly(&self, object: Object, peer: u32) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            if !meta.is_live(object) {
                return Err(Error::NoSuchObject);
            }
            if !meta.is_kept() {
                return self.hold_if_not_held(object, peer);
            }
            if hand_once(slot, object, peer) {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// Building to Free: the creator gives up.
    pub(crate) fn reclaim_own(&self, index: u32) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        let meta = Meta(slot.meta.load());
        meta.state() == SlotState::Building && slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok()
    }

    #[cold]
    pub(crate) fn search_unreferenced(&self, lifetime: Lifetime<'_>, take: impl Fn(u32) -> bool) -> Option<u32> {
        let cache = LivenessCache::new(self);
        self.object_pool().search(|index| self.reclaim(index, lifetime, &cache) && take(index))
    }

    /// Free to Building.
    pub(crate) fn build(&self, index: u32, peer: u32) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        let meta = Meta(slot.meta.load());
        let building = Meta::new(SlotState::Building, meta.kind(), meta.generation(), peer);
        meta.state() == SlotState::Free && slot.meta.compare_exchange(meta.0, building.0).is_ok()
    }

    /// Frees a slot that nobody can use any more. Returns true if it is free now.
    fn reclaim(&self, index: u32, lifetime: Lifetime<'_>, cache: &LivenessCache<'_>) -> bool {
        let Some(slot) = self.object_slot(index) else {
            return false;
        };
        // Again if meta changes meanwhile: a burial may have freed the slot, or forgotten the creator.
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            let unreferenced = match meta.state() {
                SlotState::Free => return true,
                SlotState::Live if meta.is_held() => lifetime.is_unreferenced(self, index, meta),
                SlotState::Live if meta.is_shared() => {
                    return self.end_if_unheld(index, slot, &|peer| !cache.is_owner_dead(peer));
                }
                SlotState::Live => cache.is_owner_dead(meta.keeper()) && !self.is_resident_waited_for(index, slot),
                SlotState::Building => cache.is_owner_dead(meta.keeper()),
                SlotState::Rubbish => true,
            };
            if !unreferenced {
                return false;
            }
            if slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok() {
                return true;
            }
            if planted(Bug::ReclaimsOnce) {
                return false;
            }
        }
        false
    }

    /// Ends an object that no living process holds, unless it is in use. Returns true if it is over. `mine` is the calling process.
    #[cold]
    pub(super) fn end_if_nobodys(&self, object: Object, mine: u32) -> bool {
        let Some(meta) = self.meta(object.index()).filter(|meta| meta.is_live(object)) else { return true };
        let ended =
            !meta.is_kept_only_by(mine) && self.reclaim(object.index(), Lifetime::Process, &LivenessCache::new(self));
        if ended {
            self.object_pool().hint(object.index());
        }
        ended
    }

    /// Ends a shared object whose holders have numbers that nobody has any more. Returns true if its slot is free now.
    #[cold]
    #[inline(never)]
    fn end_if_gone(&self, index: u32, slot: &ObjectSlot, mine: u32) -> bool {
        self.end_if_unheld(index, slot, &|peer| !self.is_process_gone(peer, mine))
    }

    /// Returns true if a wait for the slot's current object is not over.
    fn is_resident_waited_for(&self, index: u32, slot: &ObjectSlot) -> bool {
        self.is_waited_for(slot, slot.resident(index))
    }

    /// Frees the slot of a process whose number nobody has any more, or now and then that of an object without descriptors; `mine`
    /// is the calling process. One question for the kernel, and none about its own; two or more about descriptors.
    #[cold]
    pub(crate) fn reclaim_if_gone(&self, index: u32, mine: u32, lifetime: Lifetime<'_>) -> bool {
        /// Slots that a pool grows by between two questions about descriptors. While they find something, it does not grow.
        const SELDOM: u32 = 8;
        let Some(slot) = self.object_slot(index) else { return false };
        let meta = Meta(slot.meta.load());
        if meta.is_kept_only_by(mine) {
            return false;
        }
        let gone = match meta.state() {
            SlotState::Live if meta.is_held() => {
                self.objects_used().is_multiple_of(SELDOM) && lifetime.is_unreferenced(self, index, meta)
            }
            SlotState::Live if meta.is_shared() => return self.end_if_gone(index, slot, mine),
            SlotState::Live | SlotState::Building => {
                self.is_process_gone(meta.keeper(), mine)
                    && (meta.state() == SlotState::Building || !self.is_resident_waited_for(index, slot))
            }
            SlotState::Free | SlotState::Rubbish => false,
        };
        gone && slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok()
    }

    /// Sweeps a few slots on each creation, so that objects whose last descriptor was closed do not pile up. Small
    /// arenas are looked through only when they would grow ([`Arena::reclaim_if_gone`]), because querying the kernel costs more
    /// than the memory.
    pub(crate) fn sweep_some(&self, slots: u32, lifetime: Lifetime<'_>) {
        const WORTH_SWEEPING: u32 = 4096;
        let pool = self.object_pool();
        if pool.used() < WORTH_SWEEPING.min(self.capacity.objects) {
            return;
        }
        for _ in 0..slots {
            let index = pool.turn();
            let Some(slot) = self.object_slot(index) else { return };
            let meta = Meta(slot.meta.load());
            if meta.state() == SlotState::Live && meta.is_held() && lifetime.is_unreferenced(self, index, meta) {
                self.free_object(index, meta);
            }
        }
    }

    /// How many slots were ever used.
    pub(crate) fn objects_used(&self) -> u32 {
        self.object_pool().used()
    }

    /// The current meta word of a slot.
    pub(super) fn meta(&self, index: u32) -> Option<Meta> {
        Some(Meta(self.object_slot(index)?.meta.load()))
    }

    /// Records that the object's own byte answers for it, unless meta has changed; returns whether it has not.
    pub(super) fn lock_object(&self, index: u32, seen: Meta) -> bool {
        self.object_slot(index).is_some_and(|slot| slot.change_meta(seen, Meta::locked))
    }

    /// To Free, unless meta changed since it was seen.
    pub(super) fn free_object(&self, index: u32, seen: Meta) {
        let Some(slot) = self.object_slot(index) else { return };
        if slot.change_meta(seen, Meta::freed) {
            self.object_pool().hint(index);
        }
    }

    /// Frees the objects that a dead process was building or owned, and forgets that it created others: its slot will be
    /// another process's.
    pub(crate) fn bury_objects(&self, peer: u32) {
        for index in 0..self.object_pool().used() {
            let Some(slot) = self.object_slot(index) else {
                return;
            };
            self.bury_object(index, slot, peer);
        }
    }

    /// Whatever others do with the object meanwhile: somebody may adopt it, hold it, or wait for it.
    fn bury_object(&self, index: u32, slot: &ObjectSlot, peer: u32) {
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            let is_own = meta.keeper() == peer && meta.state() != SlotState::Free && meta.is_kept();
            let is_known = meta.creator() == Some(peer) && !planted(Bug::CreatorKept);
            if is_own && meta.state() == SlotState::Live && self.is_resident_waited_for(index, slot) {
                self.share(slot, Object::new(index, meta.generation()), meta);
                continue;
            }
            let next = match (is_own, is_known) {
                (true, _) => meta.freed(),
                (false, true) if planted(Bug::ForgetBlind) => {
                    slot.meta.store(meta.without_creator().0);
                    break;
                }
                (false, true) => meta.without_creator(),
                (false, false) => break,
            };
            let is_done = slot.meta.compare_exchange(meta.0, next.0).is_ok();
            if is_done && is_own {
                return self.object_pool().hint(index);
            }
            if is_done || planted(Bug::ForgetOnce) {
                break;
            }
        }
        if Meta(slot.meta.load()).is_shared() {
            self.bury_hold(index, slot, peer);
        }
    }

    pub(crate) fn object_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>, impl Fn(u32) -> bool> {
        Pool {
            words: &self.header().object_pool.0,
            capacity: self.capacity.objects,
            link: |index| self.object_slot(index).map(|slot| &slot.next_hint),
            provide: |index| self.provide_object(index),
        }
    }

    pub(crate) fn waiter_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>, impl Fn(u32) -> bool> {
        Pool {
            words: &self.header().waiter_pool.0,
            capacity: self.capacity.waiters,
            link: |index| self.waiter_slot(index).map(|slot| &slot.next_hint),
            provide: |index| self.provide_waiter(index),
        }
    }
}
