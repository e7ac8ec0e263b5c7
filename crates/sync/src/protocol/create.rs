// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creates objects. Claims that the last object left in the slot are finished first, which can lead to any other
//! operation.
//!
//! The slots, their transitions and what a death leaves behind: [`crate::arena::objects`].

use super::claim::help;
use super::waiter::{Waiter, bury};
use crate::arena::Arena;
use crate::arena::lifetime::{KeptBy, Lifetime};
use crate::format::limits::RETRIES;
use crate::format::meta::Meta;
use crate::format::object_word::ObjectWord;
use crate::kind::{Start, timer};
use crate::{Error, Object, Result};

/// Creates an object in a free slot, or in one that nobody can use any more.
///
/// Errors: `Exhausted`.
pub(crate) fn create_object(arena: &Arena, waiter: &Waiter, start: Start, lifetime: Lifetime<'_>) -> Result<Object> {
    waiter.budget.renew();
    let peer = arena.peer(bury)?;
    waiter.belongs_to(peer);
    let pool = arena.object_pool();
    let take = |index| arena.build(index, peer);
    let from_dead = |index| arena.reclaim_if_gone(index, peer, lifetime) && take(index);
    let index = match pool.find(take, from_dead) {
        Some(index) => index,
        None => arena.search_unreferenced(lifetime, take).ok_or(Error::Exhausted)?,
    };
    let created = lifetime.kept_by(arena, index, peer).and_then(|live| furnish(arena, waiter, index, start, live));
    if created.is_err() && arena.reclaim_own(index) {
        pool.hint(index);
    }
    created
}

/// Building to Live. Finishes claims on the slot's last object first, according to its kind.
fn furnish(arena: &Arena, waiter: &Waiter, index: u32, start: Start, kept_by: KeptBy) -> Result<Object> {
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    let value = match start.kind.is_timer() {
        true => timer::value_at_start(arena.begin_schedule(index)?),
        false => start.value,
    };
    for _ in 0..RETRIES {
        let rest = help(arena, waiter, index, slot.load())?;
        let word = ObjectWord::fresh(rest, value, start.level).with(start.flags);
        if !slot.exchange(rest, word) {
            continue;
        }
        slot.extra.store(start.extra(rest));
        let building = Meta(slot.meta.load());
        let generation = building.generation().max(1);
        let live = kept_by.live(start.kind, generation, building.keeper());
        let published = slot.meta.compare_exchange(building.0, live.0).is_ok();
        return if published { Ok(Object::new(index, generation)) } else { Err(Error::Corrupt) };
    }
    Err(Error::Corrupt)
}
