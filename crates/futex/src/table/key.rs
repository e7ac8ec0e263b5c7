// SPDX-License-Identifier: MIT OR Apache-2.0
//! The key of a futex in a table.

use crate::Size;

/// Identifies a futex in its table by position, size and scope. Entries meet if and only if their keys are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(u64);

const SIZE_SHIFT: u32 = 60;
const SHARED: u64 = 1 << 62;
const MARK: u64 = 1 << 63;

impl Key {
    /// The key of a process's futex at that address.
    pub fn private(address: usize, size: Size) -> Key {
        Key(MARK | (size as u64) << SIZE_SHIFT | address as u64 & ((1 << SIZE_SHIFT) - 1))
    }

    /// The key of the futex at that place of shared memory.
    pub fn shared(place: u64, size: Size) -> Key {
        Key(MARK | SHARED | (size as u64) << SIZE_SHIFT | place)
    }

    pub(super) fn from_number(number: u64) -> Key {
        Key(number)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }

    /// The hash. Neighbours get different buckets.
    #[inline(always)]
    pub fn hash(self) -> u32 {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }
}
