// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variants of a file, the same for the same number: what makes parsers fail is mostly a field at one of its limits, or a short file.

#[path = "../../../crates/platform/tests/random/random.rs"]
mod random;

use random::Random;

/// Numbers that are limits of something.
const LIMITS: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX - 63,
    u64::MAX,
];

/// A variant of a file: one to four changes.
pub fn variant(seed: &[u8], number: u64) -> Vec<u8> {
    let (mut random, mut bytes) = (Random(number), seed.to_vec());
    for _ in 0..=random.below(4) {
        change(&mut bytes, &mut random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.next() as u8);
        return;
    }
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at),
        3 => {
            let part = bytes[at..].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, part.into_iter().take(64));
        }
        // A field of 1, 2, 4 or 8 bytes, which mostly stands at a multiple of its size.
        _ => {
            let size = 1 << random.below(4);
            let at = if random.below(4) == 0 { at } else { at / size * size };
            let value = LIMITS[random.below(LIMITS.len())].wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let end = bytes.len().min(at + size);
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
    }
}
