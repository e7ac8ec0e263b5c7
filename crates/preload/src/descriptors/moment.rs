// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forks of this process, as far as the counting of descriptors must know: a descriptor that came while one was going on may or may not be
//! in the child.

use crate::c_library::next;
use crate::instances;
use ntux_platform::atomic::{Word32, Word64};

/// Counted forks that are going on (lower half), and those that were (upper half).
static FORKS: Word64 = Word64::new(0);

const FORK_GOING_ON: u64 = 1;

const FORK_ENDED: u64 = (1 << 32) - 1;

const FORK_BEFORE_NOW: u64 = 1 << 32;

/// Not 0 once forks are counted ([`counts_forks`]).
static COUNTING: Word32 = Word32::new(0);

/// Not 0 if the process was forked in a way that does not say when (`syscall`): no note counts any more.
pub(crate) static FORKED_UNSEEN: Word32 = Word32::new(0);

/// A moment before a descriptor came. It can be counted only if no fork was going on then, or has begun since.
#[derive(Clone, Copy)]
pub(crate) struct Moment(u64);

impl Moment {
    #[inline(always)]
    pub(crate) fn now() -> Moment {
        // While forks are not counted, nobody knows whether one is going on.
        Moment(if counts_forks() { FORKS.load() } else { FORK_GOING_ON })
    }

    pub(super) fn is_forkless_since(self) -> bool {
        self.0 as u32 == 0 && FORKS.load() == self.0
    }
}

/// Returns whether forks are counted. Each count is written thrice to a page that the fork has just made common, so it is copied. A process
/// with one thread that never met the device has nothing to note, and no other thread that could do it during a fork.
#[inline(always)]
#[unsafe(link_section = ".text.ntux_start")]
pub(super) fn counts_forks() -> bool {
    COUNTING.load() != 0 || begins_to_count()
}

#[inline(never)]
#[unsafe(link_section = ".text.ntux_start")]
fn begins_to_count() -> bool {
    let begins = instances::any() || !next::is_single_threaded();
    if begins {
        COUNTING.store(1);
    }
    begins
}

/// A thread is about to be made without the C library, which would not know of it.
pub(crate) fn count_forks() {
    COUNTING.store(1);
}

/// True while a fork is going on.
pub(super) fn is_forking() -> bool {
    FORKS.load() as u32 != 0
}

/// A fork begins. Forks are counted.
pub(super) fn begin_fork() {
    FORKS.fetch_add(FORK_GOING_ON);
}

/// A fork is over, in the process that forked. Returns false if its beginning was not counted: a handler that ran during the fork was the
/// first to use the device. None if forks are not counted.
#[unsafe(link_section = ".text.ntux_start")]
pub(super) fn end_fork() -> Option<bool> {
    if COUNTING.load() == 0 {
        return None;
    }
    let was_counted = is_forking();
    FORKS.fetch_add(if was_counted { FORK_ENDED } else { FORK_BEFORE_NOW });
    Some(was_counted)
}

/// A fork is over, in the child, which has one thread.
#[unsafe(link_section = ".text.ntux_start")]
pub(super) fn forget_parents_forks() {
    let forks = FORKS.load();
    if forks as u32 != 0 {
        FORKS.store(forks >> 32 << 32);
    }
}
