//! How much one operation may do before it concludes that it looks at rubbish.
//!
//! Every loop over shared memory ends sooner, unless other threads get on with their work in between. Where the memory
//! is rubbish that is not so: what is helped never comes to rest, a bag has no end, and each loop is inside another
//! one. So all loops of one operation burn the same fuel, and the operation ends with `Corrupt` when there is none
//! left.
//!
//! Only the loops that stand alone, over one word, have a bound of their own, [`crate::RETRIES`].

use std::cell::Cell;

/// What an operation begins with. The most that a sound memory asks for is a release that serves 65,536 waiters one
/// after the other: 4,096 passes over 2,114 chunks, half of this, whoever else helps (`claim::Ahead`). A second or two of
/// work. A checker has few waiters, and no time.
pub(crate) const TANK: u32 = if cfg!(ntux_explore) { 1 << 18 } else { 1 << 24 };
/// One round of a loop: an exchange or two, perhaps a wake.
const ROUND: u32 = 4;
/// One chunk of a bag.
const CHUNK: u32 = 1;

/// What is left for the operation that a thread is in.
#[derive(Default)]
pub(crate) struct Fuel(Cell<u32>);

impl Fuel {
    /// An operation begins.
    pub(crate) fn fill(&self) {
        self.0.set(TANK);
    }

    /// Burns enough for one round of a loop. False when there is not enough: the loop must end.
    pub(crate) fn round(&self) -> bool {
        self.burn(ROUND)
    }

    /// Burns enough to look at one chunk of a bag.
    pub(crate) fn chunk(&self) -> bool {
        self.burn(CHUNK)
    }

    fn burn(&self, amount: u32) -> bool {
        let left = self.0.get().checked_sub(amount);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

#[cfg(all(test, not(ntux_explore)))]
mod tests {
    use super::*;

    #[test]
    fn a_tank_lasts_for_the_largest_release_and_not_for_ever() {
        let fuel = Fuel::default();
        assert!(!fuel.round(), "nothing before the first operation");
        fuel.fill();
        let (waiters, passes, chunks) = (1 << 16, 1 << 12, 2_114);
        assert!((0..passes * chunks).all(|_| fuel.chunk()) && (0..3 * waiters).all(|_| fuel.round()));
        assert!(!(0..TANK).all(|_| fuel.chunk()));
        assert!(!fuel.chunk() && !fuel.round());
    }
}
