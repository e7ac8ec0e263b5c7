// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread keeps about *families*. A family is a process, as the claims on objects know it ([`ntux_sync::Arena::found_family`]): what a
//! thread that forks has founded for its child, and which families it has found to be gone. The rules are in `descriptors/forking`.

use core::cell::Cell;
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::protection;
use ntux_sync::{Gone, Page};

/// The families of one instance that a thread has found to be gone.
pub(crate) struct KnownGone {
    tag: Cell<u32>,
    gone: Gone,
}

impl KnownGone {
    pub(crate) fn of(&self, tag: u32) -> &Gone {
        if self.tag.replace(tag) != tag {
            self.gone.forget();
        }
        &self.gone
    }
}

/// Instances of which a child gets a family.
pub(crate) const FORK_MARKS: usize = 4;

/// The families that a thread that forks has founded for its child.
pub(crate) struct ForkMarks([ForkMark; FORK_MARKS]);

struct ForkMark {
    tag: Word32,
    family: Word32,
    /// Where the family's page is; 0 for none.
    address: Word64,
}

impl ForkMarks {
    /// The place and the family of this instance's, which is founded now if there is none.
    pub(crate) fn get_or(&self, tag: u32, found: impl FnOnce() -> Option<Page>) -> Option<(usize, u32)> {
        let number = self.0.iter().position(|place| matches!(place.tag.load(), found if found == tag || found == 0))?;
        let place = &self.0[number];
        if place.tag.load() == 0 {
            place.tag.store(tag);
            if let Some((family, address)) = found().map(Page::into_parts) {
                place.family.store(family);
                place.address.store(address as u64);
            }
        }
        (place.address.load() != 0).then(|| (number, place.family.load()))
    }

    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|place| place.address.load() != 0)
    }

    pub(crate) fn unmap(&self) {
        for place in &self.0 {
            let address = place.address.load();
            if address != 0 {
                // SAFETY: mapped by `get_or`, of this length; nothing refers to it.
                let _ = unsafe { protection::free(address as usize, protection::page_size()) };
            }
        }
        self.forget();
    }

    /// Calls `adopt` with the tag of the instance, the family and its page, for each family; then there is none any more.
    #[unsafe(link_section = ".text.ntux_start")]
    pub(crate) fn hand_over(&self, adopt: impl Fn(u32, u32, usize)) {
        for place in &self.0 {
            let address = place.address.load();
            if address != 0 {
                adopt(place.tag.load(), place.family.load(), address as usize);
            }
        }
        self.forget();
    }

    /// There is none any more.
    pub(crate) fn forget(&self) {
        for place in &self.0 {
            if place.tag.load() != 0 {
                place.address.store(0);
                place.tag.store(0);
            }
        }
    }
}
