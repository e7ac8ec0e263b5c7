// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word that says until when a wait sleeps at most, for onlookers.
//!
//! ```text
//!  63    62                                   0
//! +----+---------------------------------------+
//! |wall|  nanoseconds of that clock            |      0: it does not sleep; all ones: no deadline
//! +----+---------------------------------------+
//! ```

use ntux_platform::clock::Deadline;

use super::fields::{DEADLINE, part};

const WALL_CLOCK: u64 = part(DEADLINE, "wall_clock").flag();
const TIME: u64 = part(DEADLINE, "time").mask();
const NEVER: u64 = u64::MAX;
/// The thread does not sleep: it never has, or it is back.
pub(crate) const AWAKE: u64 = 0;
/// A later time is as good as none.
const LAST: u64 = TIME - 1;

#[inline(always)]
pub(crate) fn pack(deadline: Deadline) -> u64 {
    match deadline {
        Deadline::Never => NEVER,
        Deadline::Monotonic(ns) => pack_time(ns),
        Deadline::Realtime(ns) => pack_time(ns) | WALL_CLOCK,
    }
}

/// Apart: most waits have no deadline.
#[inline(never)]
fn pack_time(ns: u64) -> u64 {
    ns.clamp(1, LAST)
}

/// None: it does not sleep.
pub(crate) fn unpack(word: u64) -> Option<Deadline> {
    match (word, word & WALL_CLOCK != 0) {
        (AWAKE, _) => None,
        (NEVER, _) => Some(Deadline::Never),
        (word, false) => Some(Deadline::Monotonic(word)),
        (word, true) => Some(Deadline::Realtime(word & TIME)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_comes_back() {
        for deadline in [Deadline::Never, Deadline::Monotonic(7), Deadline::Realtime(1), Deadline::Realtime(LAST)] {
            assert_eq!(unpack(pack(deadline)), Some(deadline));
        }
        assert_eq!(unpack(AWAKE), None);
        assert_eq!(unpack(pack(Deadline::Monotonic(u64::MAX))), Some(Deadline::Monotonic(LAST)));
    }
}
