// SPDX-License-Identifier: MIT OR Apache-2.0
//! The creator of an object, for checkers: as an onlooker learns it, and as if another process had created it.

use super::Arena;
use crate::Object;
use crate::format::meta::Meta;
use crate::format::peer::{BURYING, unpack};

impl Arena {
    /// The number of the process that created a live object, read as [`crate::inspect`] does: the slot of that process is the same
    /// before and after.
    pub fn creator_of(&self, object: Object) -> Option<u32> {
        let slot = self.object_slot(object.index())?;
        let index = Meta(slot.meta.load()).creator()?;
        let word = self.peer_word(index)?;
        let before = word.load();
        let meta = Meta(slot.meta.load());
        let is_known = meta.is_live(object) && meta.creator() == Some(index);
        let is_settled = before.high & BURYING == 0 && word.load() == before;
        unpack(before).filter(|_| is_known && is_settled).map(|process| process.pid)
    }

    /// From now on the process with this number created the object, and keeps it, if `keeps` says so. Nobody uses it yet.
    pub fn ascribe(&self, object: Object, pid: u32, keeps: bool) {
        let has_number = |index: &u32| self.process(*index).is_some_and(|process| process.pid == pid);
        let peer = (0..crate::format::limits::PEERS_USED).find(has_number).expect("a process that takes part");
        let slot = self.object_slot(object.index()).expect("a live object");
        let created = Meta(slot.meta.load()).created_by(peer);
        slot.meta.store(if keeps { created.kept_by(peer) } else { created }.0);
    }
}
