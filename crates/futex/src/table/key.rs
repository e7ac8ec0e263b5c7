//! Which futex an entry is queued for.

use crate::Size;

/// A futex as its table knows it: where it is, its size, and in which scope. Equal keys meet, others never do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(u64);

const SIZE_SHIFT: u32 = 60;
const SHARED: u64 = 1 << 62;
const MARK: u64 = 1 << 63;

impl Key {
    /// The futex of a process at that address.
    pub fn private(address: usize, size: Size) -> Key {
        Key(MARK | (size as u64) << SIZE_SHIFT | address as u64 & ((1 << SIZE_SHIFT) - 1))
    }

    /// The futex at that place of shared memory.
    pub fn shared(place: u64, size: Size) -> Key {
        Key(MARK | SHARED | (size as u64) << SIZE_SHIFT | place)
    }

    pub(super) fn from_number(number: u64) -> Key {
        Key(number)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }

    /// Neighbours get different buckets.
    #[inline(always)]
    pub fn hash(self) -> u32 {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }
}
