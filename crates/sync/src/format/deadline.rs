//! The word that says until when a wait sleeps at most, for onlookers.
//!
//! ```text
//!  63    62                                   0
//! +----+---------------------------------------+
//! |wall|  nanoseconds of that clock            |      0: not written; all ones: no deadline
//! +----+---------------------------------------+
//! ```

use ntux_platform::clock::Deadline;

use super::fields::{DEADLINE, part};

const WALL_CLOCK: u64 = part(DEADLINE, "wall_clock").flag();
const TIME: u64 = part(DEADLINE, "time").mask();
const NEVER: u64 = u64::MAX;
/// A later time is as good as none; 0 is not written.
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

/// None: not written.
pub(crate) fn unpack(word: u64) -> Option<Deadline> {
    match (word, word & WALL_CLOCK != 0) {
        (0, _) => None,
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
        assert_eq!(unpack(0), None);
        assert_eq!(unpack(pack(Deadline::Monotonic(u64::MAX))), Some(Deadline::Monotonic(LAST)));
    }
}
