// SPDX-License-Identifier: MIT OR Apache-2.0
//! Object lifetime: which process or descriptor keeps an object alive.

use super::Arena;
use super::descriptor::Keeper;
use crate::Result;
use crate::format::meta::{Meta, SlotState};
use crate::kind::Kind;

/// What keeps an object alive.
#[derive(Clone, Copy)]
pub(crate) enum Lifetime<'a> {
    /// The process that created it, until it closes it.
    Process,
    /// The copies of a descriptor.
    Descriptor(Keeper<'a>),
}

impl Lifetime<'_> {
    /// What keeps the new object alive; asked before anybody knows the object.
    pub(crate) fn kept_by(self, arena: &Arena, index: u32, peer: u32) -> Result<KeptBy> {
        match self {
            Lifetime::Process => Ok(KeptBy::Peer(peer)),
            Lifetime::Descriptor(keeper) => match keeper.family(arena, index)? {
                Some(family) => Ok(KeptBy::Family(family)),
                None => Ok(KeptBy::Byte),
            },
        }
    }

    /// Returns whether the kernel says that no descriptor of this object is left.
    pub(crate) fn is_unreferenced(self, arena: &Arena, index: u32, meta: Meta) -> bool {
        match self {
            Lifetime::Process => false,
            Lifetime::Descriptor(keeper) => keeper.is_unreferenced(arena, index, meta),
        }
    }
}

/// The keeper of an object, which ends with its keeper.
#[derive(Clone, Copy)]
pub(crate) enum KeptBy {
    /// The process that created it.
    Peer(u32),
    /// The processes that share its creator's mapping.
    Family(u32),
    /// Any copy of its descriptor.
    Byte,
}

impl KeptBy {
    pub(crate) fn live(self, kind: Kind, generation: u32, creator: u32) -> Meta {
        let kept_by = |keeper| Meta::new(SlotState::Live, kind.number(), generation, keeper).created_by(creator);
        match self {
            KeptBy::Peer(peer) => kept_by(peer),
            KeptBy::Family(family) => kept_by(family).held(),
            KeptBy::Byte => kept_by(0).held().locked(),
        }
    }
}
