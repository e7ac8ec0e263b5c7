// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hashes of 128 bits, wide enough that different states practically never collide.

use std::hash::{Hash, Hasher};

/// The hash of a sequence of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// The hash of nothing.
    pub const ZERO: Self = Self([0, 0]);

    /// The hash of a value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> Self {
        let mut print = Print::default();
        value.hash(&mut print);
        print.0
    }

    /// The hash of the sequence with one number more.
    pub fn then(self, number: u64) -> Self {
        /// So that zeros count also in the hash of nothing (the golden ratio's bits).
        const ONE_MORE: u64 = 0x9e37_79b9_7f4a_7c15;
        let [mut a, mut b] = self.0;
        a = (a.wrapping_add(ONE_MORE) ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
        a ^= a >> 32;
        b = b.wrapping_add(number).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        b ^= b >> 29;
        Self([a, b.rotate_left(17).wrapping_add(a)])
    }

    /// The hash of the sequence, followed by another one.
    pub fn followed_by(self, other: Self) -> Self {
        self.then(other.0[0]).then(other.0[1])
    }

    /// Adds to, or takes from, a set of sequences: the order does not matter.
    pub fn toggle(self, other: Self) -> Self {
        Self([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }
}

/// Hashes whatever can be hashed.
#[derive(Default)]
struct Print(Fingerprint);

impl Hasher for Print {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.then(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_hashes_and_others_have_not() {
        let of = |value: &[Option<u32>]| Fingerprint::of(value);
        assert_eq!(of(&[Some(1), None]), of(&[Some(1), None]));
        assert_ne!(of(&[Some(1), None]), of(&[None, Some(1)]));
        assert_ne!(of(&[Some(0)]), of(&[Some(0), None]));
        assert_ne!(Fingerprint::ZERO.then(0), Fingerprint::ZERO);
    }
}
