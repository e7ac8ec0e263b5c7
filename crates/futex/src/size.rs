// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sizes of a futex.

/// The size of a futex word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Size {
    /// 8 bits; any address.
    Bits8,
    /// 16 bits; an even address, unless the table serves it ([`Mechanism`](crate::Mechanism)): so below.
    Bits16,
    /// 32 bits, the kernel's own size; an address divisible by 4.
    Bits32,
    /// 64 bits; an address divisible by 8.
    Bits64,
}

impl Size {
    /// All of them, the smallest first.
    pub const ALL: [Size; 4] = [Size::Bits8, Size::Bits16, Size::Bits32, Size::Bits64];

    /// Length of the word in bytes, which is also its alignment where it has to be aligned.
    pub const fn bytes(self) -> usize {
        1 << self as u8
    }

    /// Length of the word in bits.
    pub const fn bits(self) -> u32 {
        8 << self as u8
    }

    /// Returns whether a word of this size can hold `value`.
    pub const fn can_hold(self, value: u64) -> bool {
        self.bits() == 64 || value >> self.bits() == 0
    }
}
