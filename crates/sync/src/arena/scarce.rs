// SPDX-License-Identifier: MIT OR Apache-2.0
//! An arena with one chunk for all its wait sets, for checkers.

use super::Arena;
use crate::Object;
use crate::budget::WorkBudget;
use crate::format::entry::Entry;

impl Arena {
    /// Fills the wait sets of these objects, and gives all chunks but one to that of the `hoarder`; the last one is the first
    /// object's, and empty. The places are taken for ever, by who has waiter slot 0 and does not wait again.
    pub fn hoard_chunks(&self, hoarder: Object, objects: &[Object]) {
        let budget = WorkBudget::default();
        let squatter = self.waiter_slot(0).expect("an arena has a waiter").load();
        let entry = Entry::new(0, squatter.ticket(), 0, false);
        let put = |object: Object| {
            budget.renew();
            let slot = self.object_slot(object.index()).expect("an object");
            self.put(&budget, object.index(), slot, entry).expect("there is room")
        };
        for &object in objects {
            put(object);
        }
        while self.header().chunk_pool.0.fresh.load() + 1 < self.chunk_count() {
            put(hoarder);
        }
        put(objects[0]).empty(entry);
    }
}
