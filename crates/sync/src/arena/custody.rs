//! Who keeps an object alive: whose end is the end of the object.

use super::descriptor::Keeper;
use super::meta::{Kind, Meta, State};
use crate::Result;

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
    pub(super) fn answering(self, index: u32, peer: u32) -> Result<Answering> {
        match self {
            Custody::Process => Ok(Answering::Peer(peer)),
            Custody::Descriptor(keeper) => match keeper.family(index)? {
                Some(family) => Ok(Answering::Family(family)),
                None => Ok(Answering::Byte),
            },
        }
    }

    /// Whether the kernel says that no descriptor of this object is left.
    pub(super) fn is_abandoned(self, index: u32, meta: Meta) -> bool {
        match self {
            Custody::Process => false,
            Custody::Descriptor(keeper) => keeper.is_unreferenced(index, meta),
        }
    }
}

/// Whose end is the end of an object.
#[derive(Clone, Copy)]
pub(super) enum Answering {
    /// The process that created it.
    Peer(u32),
    /// The processes that share its creator's mapping.
    Family(u32),
    /// Whoever has a copy of its descriptor.
    Byte,
}

impl Answering {
    pub(super) fn live(self, kind: Kind, generation: u32) -> Meta {
        match self {
            Answering::Peer(peer) => Meta::new(State::Live, kind, generation, peer),
            Answering::Family(family) => Meta::new(State::Live, kind, generation, family).held(),
            Answering::Byte => Meta::new(State::Live, kind, generation, 0).held().locked(),
        }
    }
}
