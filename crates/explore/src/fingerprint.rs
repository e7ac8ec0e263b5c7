//! Hashes of 128 bits, wide enough that two different states practically never collide.

/// The hash of a sequence of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// The hash of nothing.
    pub const ZERO: Self = Self([0, 0]);

    /// The hash of the sequence with one number more.
    pub fn then(self, number: u64) -> Self {
        let [mut a, mut b] = self.0;
        a = (a ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
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
