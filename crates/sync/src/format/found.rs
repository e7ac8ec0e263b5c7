// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a wait found at an object when it joined its queue: the end of the version of the object's word, and its mark. In one word, which
//! onlookers alone read.

use super::fields::{Bits, FOUND, part};
use super::mark::Mark;
use super::object_word::ObjectWord;

const MARK: Bits = part(FOUND, "mark");
const VERSION: Bits = part(FOUND, "version");

/// Packs the word that was there before the wait raised its flag.
#[inline(always)]
pub(crate) fn pack(seen: ObjectWord) -> u64 {
    seen.low() << VERSION.shift() | u64::from(seen.tag())
}

/// The end of the version, and the mark.
pub(crate) fn unpack(word: u64) -> (u32, Mark) {
    let number = |bits: Bits| (word >> bits.shift() & bits.mask()) as u32;
    (number(VERSION), Mark(number(MARK)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::holder::Holder;
    use crate::format::object_word::W;

    #[test]
    fn the_end_of_the_version_and_the_mark_come_back() {
        let mark = Mark::of(Holder::new(7, 4711));
        let word = ObjectWord::default().with_level(21).with_value(77).marked(mark).advanced().advanced();
        for word in [word, word.with(W)] {
            assert_eq!(unpack(pack(word)), (2, mark));
        }
    }
}
