// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tag of an object at rest says: who signaled it last, or, of a mutex, who acquired it last. For onlookers; nothing in the
//! core decides by it.
//!
//! ```text
//!  31        22 21                   0
//! +------------+----------------------+
//! |  peer + 1  |        thread        |      0: unknown; thread 0 of peer 0: nobody yet
//! +------------+----------------------+
//! ```
//! The number of the thread is that in its own namespace. Peer 0 here: unknown, because the process was not registered, or has a
//! number that does not fit.

use super::fields::{Bits, MARK, part};
use super::holder::Holder;

const THREAD: Bits = part(MARK, "thread");
const PEER: Bits = part(MARK, "peer");

/// A copy of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mark(pub u32);

impl Mark {
    /// Nobody has signaled, or acquired, the object since it was created.
    pub(crate) const NOBODY: Mark = Mark(1 << PEER.first);

    /// A thread of a process that is not registered.
    pub(crate) fn of_thread(thread: u64) -> Mark {
        Mark((thread & THREAD.mask()) as u32)
    }

    /// The thread that a holder names.
    pub(crate) fn of(holder: Holder) -> Mark {
        let peer = u64::from(holder.peer()) + 1;
        let peer = if peer <= PEER.mask() { peer } else { 0 };
        Mark(Mark::of_thread(holder.thread()).0 | (peer << PEER.first) as u32)
    }

    /// This one, or `other` if nobody is known here.
    #[inline(always)]
    pub(crate) fn or(self, other: impl FnOnce() -> Mark) -> Mark {
        if self == Mark::default() { other() } else { self }
    }

    /// The thread; 0 if there is none.
    pub(crate) fn thread(self) -> u32 {
        self.0 & THREAD.mask() as u32
    }

    /// The peer that the thread belongs to, if that is known.
    pub(crate) fn peer(self) -> Option<u32> {
        (u64::from(self.0 >> PEER.first) & PEER.mask()).checked_sub(1).map(|peer| peer as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_whom_it_was_made_for() {
        let last = (1 << THREAD.width) - 1;
        for (peer, thread) in [(0, 1), (7, 4711), (1022, last)] {
            let mark = Mark::of(Holder::new(peer, thread));
            assert_eq!((mark.peer(), u64::from(mark.thread())), (Some(peer), thread));
            assert_ne!(mark, Mark::NOBODY);
        }
        for peer in [1023, 1024, 4095] {
            assert_eq!(Mark::of(Holder::new(peer, 5)), Mark::of_thread(5), "no number that is another peer's");
        }
        assert_eq!((Mark::NOBODY.thread(), Mark::default().thread()), (0, 0));
        assert_ne!(Mark::NOBODY, Mark::default());
    }
}
